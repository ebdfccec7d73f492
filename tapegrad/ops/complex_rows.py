"""Rows for complex operands that have no counterpart among real ones, and the choice of a row by its operands.

Beside those of `elementwise` that take complex operands as they stand: functions of complex numbers that are not
analytic, or whose derivative reads other values than that of real ones; and mixed rows, of a complex and a real
operand. A mixed row has less arithmetic, its real operand needs no cast, and has a real cotangent. All of them take
real operands too, for which they are what the row is that they stand for.
"""

from typing import NamedTuple

from tapegrad.ops.row import Domain, Op

_ANY: Domain = (-4.0, 4.0)
_POSITIVE: Domain = (0.1, 4.0)

# Where a part is larger, 1/cosh(x0)**2 is 0: the exponential need not be computed, which overflows further out.
FAR = "400"

# angle'(0) = 0 and sign'(0) = 0, as abs'(0) is. The gradient of the angle is i*x/abs(x)**2, by one division.
_OF_COMPLEX = (
    Op(
        "conjugate", "arithmetic", "conjugate(x0)", ("1",), (_ANY,), "conjugate", home=None, takes_complex=True,
        complex_partials=("0",), conjugate_partials=("1",),
    ),
    Op(
        "angle", "trigonometric", "angle(x0)", ("0",), (_POSITIVE,), home=None, takes_complex=True, real_result=True,
        complex_partials=("where(x0==0, 0, 1j/conjugate(x0))",),
    ),
    Op(
        "complex_sign", "arithmetic", "sign(x0)", ("0",), (_ANY,), home=None, takes_complex=True,
        complex_partials=("where(x0==0, 0, 0.5/absolute(x0))",),
        conjugate_partials=("where(x0==0, 0, -0.5*square(y)/absolute(x0))",),
    ),
    # 1+square(y) has no digits left far from the real axis
    Op(
        "complex_tan", "trigonometric", "tan(x0)", ("1+square(y)",), ((-1.5, 1.5),), home=None, takes_complex=True,
        complex_partials=(f"where(absolute(imag(x0))>{FAR}, 0, square(1/cos(x0)))",),
    ),
)  # fmt: skip


def _mixed(name: str, primal: str, partials: tuple[str, str], real: int, *domains: Domain) -> Op:
    return Op(
        name, "arithmetic", primal, partials, domains, home=None, takes_complex=True, real_operands=(real,)
    )


_MIXED = (
    _mixed("add_real", "x0+x1", ("1", "1"), 1, _ANY, _ANY),
    _mixed("subtract_real", "x0-x1", ("1", "-1"), 1, _ANY, _ANY),
    _mixed("subtract_from_real", "x0-x1", ("1", "-1"), 0, _ANY, _ANY),
    _mixed("multiply_real", "x0*x1", ("x1", "x0"), 1, _ANY, _ANY),
    _mixed("masked_multiply_real", "where((x0==0)|(x1==0), 0, x0*x1)", ("x1", "x0"), 1, _ANY, _ANY),
    _mixed("divide_by_real", "x0/x1", ("1/x1", "-y/x1"), 1, _ANY, _POSITIVE),
)
COMPLEX: tuple[Op, ...] = (*_OF_COMPLEX, *_MIXED)


class ChosenRow(NamedTuple):
    """The row that computes an op of certain operands.

    Attributes
    ----------
    name
        Name of the row.
    swapped
        True if it takes the two operands in the other order.
    """

    name: str
    swapped: bool = False


# By the name of an op, and for each operand whether it is complex.
_ROWS: dict[tuple[str, tuple[bool, ...]], ChosenRow] = {
    ("sign", (True,)): ChosenRow("complex_sign"),
    ("tan", (True,)): ChosenRow("complex_tan"),
    ("hyp0f1", (False, True)): ChosenRow("complex_hyp0f1"),
    ("add", (True, False)): ChosenRow("add_real"),
    ("add", (False, True)): ChosenRow("add_real", swapped=True),
    ("subtract", (True, False)): ChosenRow("subtract_real"),
    ("subtract", (False, True)): ChosenRow("subtract_from_real"),
    ("multiply", (True, False)): ChosenRow("multiply_real"),
    ("multiply", (False, True)): ChosenRow("multiply_real", swapped=True),
    ("masked_multiply", (True, False)): ChosenRow("masked_multiply_real"),
    ("masked_multiply", (False, True)): ChosenRow("masked_multiply_real", swapped=True),
    ("divide", (True, False)): ChosenRow("divide_by_real"),
}


def choose_row(op: Op, are_complex: tuple[bool, ...]) -> ChosenRow | None:
    """Return the row that computes an op whose operands are complex or real; conditions are real ones.

    The row of the op itself takes real operands alone, or complex ones alone: what has no mixed row is to be cast.

    Returns
    -------
    ChosenRow or None
        `None` if the op does not take complex operands, or not in the place of one of these.

    Examples
    --------
    >>> from tapegrad.ops import BY_NAME, choose_row
    >>> choose_row(BY_NAME["multiply"], (False, True))
    ChosenRow(name='multiply_real', swapped=True)
    >>> choose_row(BY_NAME["exp"], (True,))
    ChosenRow(name='exp', swapped=False)
    >>> choose_row(BY_NAME["floor"], (True,)) is None
    True
    """
    if not any(are_complex):
        return ChosenRow(op.name)
    if any(are_complex[j] for j in op.real_operands):
        return None
    chosen = _ROWS.get((op.name, are_complex))
    return chosen or (ChosenRow(op.name) if op.takes_complex else None)
