"""LLVM's types, by LLVM's names: of one element, or of a vector with some lanes."""

from dataclasses import dataclass, replace

_SUFFIXES = {"double": "f64", "float": "f32"}  # as intrinsics are named
_BITS = {"double": 64, "float": 32, "i64": 64, "i32": 32, "i8": 8, "i1": 1}


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
