"""Complex values: pairs of values, with Python's operators for complex arithmetic.

Beside a real value, the arithmetic is that of a complex and a real operand (C99, Annex G): a real one has no imaginary
part, not one of 0. So ``1.0 + z`` keeps the sign of a zero, and ``2.0 * z`` has no NaN where a part is infinite. Texts
of the table have NumPy's signs instead (`codegen.rows.complex_expressions`).
Nothing is contracted: a product is rounded as two products and a sum each.
"""

from collections.abc import Callable, Sequence
from typing import Union

from tapegrad.engine.codegen.ir.body import Body, Operand, Value
from tapegrad.engine.codegen.ir.operations import is_nan, lane_of, select, shuffled
from tapegrad.engine.codegen.ir.types import Type

Number = Union[Value, "ComplexValue"]


class ComplexValue:
    """A complex number, or a vector of them: a value of real and one of imaginary parts."""

    __slots__ = ("im", "re")

    def __init__(self, re: Value, im: Value) -> None:
        self.re, self.im = re, im

    @property
    def body(self) -> Body:
        return self.re.body

    @property
    def type(self) -> Type:
        """The type of a part."""
        return self.re.type

    def __add__(self, other: "ComplexValue | Operand") -> "ComplexValue":
        if isinstance(other, ComplexValue):
            return ComplexValue(self.re + other.re, self.im + other.im)
        return ComplexValue(self.re + other, self.im)

    def __radd__(self, other: Operand) -> "ComplexValue":
        return ComplexValue(other + self.re, self.im)

    def __sub__(self, other: "ComplexValue | Operand") -> "ComplexValue":
        if isinstance(other, ComplexValue):
            return ComplexValue(self.re - other.re, self.im - other.im)
        return ComplexValue(self.re - other, self.im)

    def __rsub__(self, other: Operand) -> "ComplexValue":
        return ComplexValue(other - self.re, -self.im)

    def __mul__(self, other: "ComplexValue | Operand") -> "ComplexValue":
        if isinstance(other, ComplexValue):
            return ComplexValue(
                self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
            )
        return ComplexValue(self.re * other, self.im * other)

    def __rmul__(self, other: Operand) -> "ComplexValue":
        return ComplexValue(other * self.re, other * self.im)

    def __neg__(self) -> "ComplexValue":
        return ComplexValue(-self.re, -self.im)

    def over(self, divisor: Operand) -> "ComplexValue":
        """Divide by a real number."""
        return ComplexValue(self.re / divisor, self.im / divisor)

    def times_i(self, factor: Operand = 1.0) -> "ComplexValue":
        """Multiply by an imaginary number, which has no real part."""
        return ComplexValue(-(self.im * factor), self.re * factor)

    def equal(self, other: "ComplexValue | Operand") -> Value:
        """Compare; false where a part is NaN."""
        if isinstance(other, ComplexValue):
            return self.re.equal(other.re) & self.im.equal(other.im)
        return self.re.equal(other) & self.im.equal(0.0)

    def unequal(self, other: "ComplexValue | Operand") -> Value:
        """Compare; true where a part is NaN."""
        if isinstance(other, ComplexValue):
            return self.re.unequal(other.re) | self.im.unequal(other.im)
        return self.re.unequal(other) | self.im.unequal(0.0)


def as_complex(x: Number) -> ComplexValue:
    """Return a value as a complex one: a real one with an imaginary part of 0."""
    return x if isinstance(x, ComplexValue) else ComplexValue(x, x.like(0.0))


def real_part(x: Number) -> Value:
    return x.re if isinstance(x, ComplexValue) else x


def imaginary_part(x: Number) -> Value:
    return x.im if isinstance(x, ComplexValue) else x.like(0.0)


def conjugate(x: Number) -> Number:
    return ComplexValue(x.re, -x.im) if isinstance(x, ComplexValue) else x


def parts_of(x: Number) -> tuple[Value, ...]:
    """Return real and imaginary part of a complex value, or a real one alone."""
    return (x.re, x.im) if isinstance(x, ComplexValue) else (x,)


def from_parts(parts: Sequence[Value]) -> Number:
    """Return the number that has such parts."""
    return ComplexValue(*parts) if len(parts) == 2 else parts[0]


def by_parts(function: Callable[..., Value], *numbers: Number) -> Number:
    """Apply a function to the parts of numbers of one kind: to the real ones, and to the imaginary ones."""
    return from_parts([function(*parts) for parts in zip(*map(parts_of, numbers), strict=True)])


def equals(x: Number, y: Number) -> Value:
    """Compare two values; false where a part is NaN."""
    return y.equal(x) if isinstance(y, ComplexValue) and isinstance(x, Value) else x.equal(y)  # type: ignore[arg-type]


def differs(x: Number, y: Number) -> Value:
    """Compare two values; true where a part is NaN."""
    return y.unequal(x) if isinstance(y, ComplexValue) and isinstance(x, Value) else x.unequal(y)  # type: ignore[arg-type]


def choose(condition: Value, x: Number, y: Number) -> Number:
    """Select by part: `x` in the lanes where `condition` holds, `y` in the others."""
    if isinstance(x, Value) and isinstance(y, Value):
        return select(condition, x, y)
    x, y = as_complex(x), as_complex(y)
    return ComplexValue(select(condition, x.re, y.re), select(condition, x.im, y.im))


def has_nan(x: Number) -> Value:
    """Return whether a part is NaN."""
    return _either(x, is_nan)


def has_infinity(x: Number) -> Value:
    """Return whether a part is infinite."""
    return _either(x, lambda part: part.body.intrinsic("fabs", part).equal(float("inf")))


def is_zero(x: Number) -> Value:
    """Return whether all parts are 0."""
    return x.equal(0.0)


def _either(x: Number, holds: Callable[[Value], Value]) -> Value:
    first, *others = map(holds, parts_of(x))
    return first | others[0] if others else first


# --- in vectors of twice as many lanes, as they lie in memory --------------------------------------------------------


def interleaved(x: ComplexValue) -> Value:
    """Return the parts of each number side by side."""
    lanes = max(x.type.lanes, 1)
    return shuffled(x.re, x.im, (lane for k in range(lanes) for lane in (k, lanes + k)))


def separated(x: Value) -> ComplexValue:
    """Return the numbers whose parts are side by side."""
    return ComplexValue(shuffled(x, x, range(0, x.type.lanes, 2)), shuffled(x, x, range(1, x.type.lanes, 2)))


def twice(mask: Value) -> Value:
    """Return a mask for both parts of each number."""
    lanes = range(mask.type.lanes)
    if mask.is_constant:
        each = mask.text.strip("<>").split(", ")
        return mask.body.named(
            Type("i1", 2 * len(each)), f"<{', '.join(each[k] for k in lanes for _ in (0, 1))}>"
        )
    return shuffled(mask, mask, (k for k in lanes for _ in (0, 1)))


def copies(element: Value, lanes: int = 0) -> Number:
    """Broadcast an element of memory to all lanes: a number, or a pair."""
    body, part = element.body, element.type.part
    if not element.type.is_pair:
        return body.splat(element, lanes)
    parts = (body.emit(part, f"extractelement {element}, i32 {k}") for k in range(2))
    return ComplexValue(*(body.splat(each, lanes) for each in parts))


def spread(x: Number, lane: int) -> Number:
    """Return a lane of a vector in all lanes.

    It is taken out first: in place of a shuffle LLVM 22 takes lane 0 where AVX-512 compares what is computed from it.
    """
    return by_parts(lambda part: part.body.splat(lane_of(part, lane), part.type.lanes), x)


def with_lane(x: Number, lane: int, other: Number) -> Number:
    """Return a vector with one lane of another one."""
    lanes = x.type.lanes
    places = [lanes + k if k == lane else k for k in range(lanes)]
    return by_parts(lambda part, from_other: shuffled(part, from_other, places), x, other)
