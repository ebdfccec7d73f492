"""LLVM's types, by LLVM's names: of one element, or of a vector with some lanes.

A complex number in memory is a pair, ``<2 x double>``, which is a type of elements: re and im side by side.
"""

from dataclasses import dataclass, replace

_PARTS = {"<2 x double>": "double", "<2 x float>": "float"}
_PAIRS = {part: pair for pair, part in _PARTS.items()}
# as intrinsics are named
_SUFFIXES = {"double": "f64", "float": "f32", "<2 x double>": "v2f64", "<2 x float>": "v2f32"}
_BITS = {
    "double": 64,
    "float": 32,
    "i64": 64,
    "i32": 32,
    "i8": 8,
    "i1": 1,
    "<2 x double>": 128,
    "<2 x float>": 64,
}


@dataclass(frozen=True)
class Type:
    """An element type; `lanes` is 0 for a scalar."""

    element: str
    lanes: int = 0

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.element}>" if self.lanes else self.element

    @property
    def is_float(self) -> bool:
        return self.element in _SUFFIXES

    @property
    def bytes(self) -> int:
        """Size of an element in memory; a truth value takes one byte there."""
        return max(_BITS[self.element] // 8, 1)

    @property
    def is_pair(self) -> bool:
        """True of the pairs that complex numbers are in memory."""
        return self.element in _PARTS

    @property
    def part(self) -> "Type":
        """The type of the parts of pairs; other types are their own."""
        return self.of(_PARTS.get(self.element, self.element))

    @property
    def pair(self) -> "Type":
        """The type of the pairs that have parts of this type."""
        return self.of(_PAIRS[self.element])

    @property
    def align(self) -> int:
        """Bytes of which the address of an element is a multiple: of a pair, those of its parts."""
        return self.part.bytes

    @property
    def bits(self) -> int:
        return _BITS[self.element]

    @property
    def suffix(self) -> str:
        """The type as it stands in the name of an intrinsic."""
        element = _SUFFIXES.get(self.element, self.element)
        return f"v{self.lanes}{element}" if self.lanes else element

    def of(self, element: str) -> "Type":
        """Return the type of as many lanes of another element type."""
        return replace(self, element=element)


I64 = Type("i64")
