"""Operations on values that have no operator in Python: one instruction each, or a few."""

import functools
import operator
from collections.abc import Iterable, Sequence

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.types import Type


def fma(a: Value, b: Operand, c: Operand) -> Value:
    """``a*b + c``, rounded once. Outside of the mathematics nothing is contracted."""
    return a.body.intrinsic("fma", a, _like(a, b), _like(a, c))


def _like(x: Value, other: Operand) -> Value:
    return other if isinstance(other, Value) else x.like(other)


def select(condition: Value, x: Operand, y: Operand) -> Value:
    """`x` in the lanes where `condition` holds, `y` in the others."""
    if not isinstance(x, Value):
        assert isinstance(y, Value)
        x = y.like(x)
    y = _like(x, y)
    return x.body.emit(x.type, f"select {condition}, {x}, {y}")


def absolute(x: Value) -> Value:
    return x.body.intrinsic("fabs", x)


def sqrt(x: Value) -> Value:
    return x.body.intrinsic("sqrt", x)


def rint(x: Value) -> Value:
    """Round to the nearest integer, ties to even."""
    return x.body.intrinsic("rint", x)


def floor(x: Value) -> Value:
    return x.body.intrinsic("floor", x)


def ceil(x: Value) -> Value:
    return x.body.intrinsic("ceil", x)


def trunc(x: Value) -> Value:
    return x.body.intrinsic("trunc", x)


def copysign(x: Value, sign: Operand) -> Value:
    return x.body.intrinsic("copysign", x, _like(x, sign))


def square(x: Value) -> Value:
    return x * x


def is_nan(x: Value) -> Value:
    return x.unequal(x)


def either_is_nan(x: Value, y: Value) -> Value:
    """Return whether either is NaN, in one comparison."""
    return x.body.emit(x.type.of("i1"), f"fcmp uno {x}, {y.text}")


def larger(x: Value, y: Operand) -> Value:
    """Return the larger one; `y` if either is NaN. A single instruction on most processors."""
    other = _like(x, y)
    return select(x > other, x, other)


def smaller(x: Value, y: Operand) -> Value:
    """Return the smaller one; `y` if either is NaN."""
    other = _like(x, y)
    return select(x < other, x, other)


def between(x: Value, low: float, high: float) -> Value:
    """`x` moved into an interval; NaN stays NaN."""
    limited = select(x < low, low, x)
    return select(limited > high, high, limited)


def bits(x: Value) -> Value:
    """Return the bits of a float as an integer."""
    return x.body.convert("bitcast", x, f"i{x.type.bits}")


def from_bits(x: Value) -> Value:
    """Return the float64 whose bits an integer has."""
    return x.body.convert("bitcast", x, "double")


def widened(x: Value) -> Value:
    """`x` as float64."""
    return x.body.convert("fpext", x, "double")


def narrowed(x: Value) -> Value:
    """`x` as float32."""
    return x.body.convert("fptrunc", x, "float")


def lanes_of(x: Value, first: int, lanes: int) -> Value:
    """Extract some lanes of a vector."""
    return shuffled(x, x, range(first, first + lanes))


def halves(x: Value) -> tuple[Value, Value]:
    """Both halves of a vector."""
    lanes = x.type.lanes // 2
    return lanes_of(x, 0, lanes), lanes_of(x, lanes, lanes)


def joined(x: Value, y: Value) -> Value:
    """Concatenate the lanes of two vectors."""
    return shuffled(x, y, range(2 * x.type.lanes))


def shuffled(x: Value, y: Value, numbers: Iterable[int]) -> Value:
    """Shuffle the lanes of two vectors, which are numbered consecutively."""
    picked = [f"i32 {number}" for number in numbers]
    type_ = Type(x.type.element, len(picked))
    return x.body.emit(type_, f"shufflevector {x}, {y}, <{len(picked)} x i32> <{', '.join(picked)}>")


def transposed(rows: Sequence[Value | None], count: int) -> list[Value]:
    """Return the first lanes of as many rows as a vector has lanes, each as a vector; `None` is a row of anything."""
    return [found for j in range(count) if (found := _column(rows, len(rows) // 2, j)) is not None]


def _column(rows: Sequence[Value | None], step: int, j: int) -> Value | None:
    """Return row `j` after the exchange of blocks of `step`, and of the smaller ones before it (Eklundh 1972)."""
    if step == 0:
        return rows[j]
    first, second = (_column(rows, step // 2, i) for i in (j & ~step, j | step))
    if first is None and second is None:
        return None
    some = first or second
    assert some is not None
    shift, lanes = j & step, range(len(rows))
    return shuffled(
        first or some,
        second or some,
        [k + shift if not k & step else len(lanes) + k - (step - shift) for k in lanes],
    )


MAGIC = 6755399441055744.0  # 1.5 * 2**52: a sum with it has the integer in its low bits


def integer(x: Value) -> Value:
    """Return the 64-bit integer whose low 51 bits and sign are those of a whole number below 2**51."""
    return bits(x + MAGIC) - int.from_bytes(b"\x43\x38" + bytes(6), "big")


def power_of_two(k: Value) -> Value:
    """``2.0**k`` for a whole number from -1022 to 1023, given as a float64."""
    return from_bits((bits(k + MAGIC) << 52) + (1023 << 52))


def total_of(terms: Iterable[Value]) -> Value:
    """Add terms from the first to the last."""
    return functools.reduce(operator.add, terms)


def _scaled_at_once(x: Value, k: Value) -> Value:
    """Return the same by one instruction of AVX-512, which rounds once as the second of two steps does."""
    if x.type.lanes > 8:
        return joined(*(_scaled_at_once(*each) for each in zip(halves(x), halves(k), strict=True)))
    every, as_usual = x.body.named(Type("i8"), "-1"), x.body.named(Type("i32"), "4")
    name = "@llvm.x86.avx512.mask.scalef.pd.512"
    return x.body.emit(x.type, x.body.call(str(x.type), name, (x, k, x, every, as_usual)))


def scaled(x: Value, k: Value) -> Value:
    """``x * 2.0**k`` for a whole number from -2040 to 2040: in two steps, for results may be denormal or infinite."""
    if x.body.target.has_masks and x.type.element == "double" and x.type.lanes in (8, 16):
        return _scaled_at_once(x, k)
    half = rint(k * 0.5)
    return x * power_of_two(half) * power_of_two(k - half)


def lane_of(x: Value, number: int) -> Value:
    """Return an element of a vector."""
    return x.body.emit(Type(x.type.element), f"extractelement {x}, i32 {number}")


def first_lane(x: Value) -> Value:
    """Return the first element of a vector."""
    return lane_of(x, 0)
