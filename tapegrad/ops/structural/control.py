"""Ops that check, guard, or call Python.

The records of the parameters, then the rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tapegrad.ops.params import OperandView
from tapegrad.ops.row import Structural

_ALL = ("f64", "f32", "i64", "b8")


class DeterminedParams(NamedTuple):
    """Parameters of a checked copy: the number of values, and the number of flags."""

    size: int
    truths: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        values, truths = operands
        fits = (values.size, result.size, truths.size) == (self.size, self.size, self.truths)
        if fits and all(view.contiguous for view in (values, truths, result)):
            return ""
        return f"{self}: shapes {values.shape}, {truths.shape} and {result.shape}"


class CustomParams(NamedTuple):
    """Parameters of a user's op: the address of its descriptor (see `kernels.callback`), and its number in prints."""

    descriptor: int
    number: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        packed = all(len(view.shape) == 1 and view.contiguous for view in (*operands, result))
        return (
            ""
            if packed and self.descriptor != 0
            else f"nothing is called, or not on contiguous slots: {self}"
        )


class GuardParams(NamedTuple):
    """Parameters of `guard`: the number of bytes to compare, and the address of the expected ones."""

    bytes: int
    address: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        (guarded,) = operands
        inside = guarded.contiguous and 0 <= self.bytes <= guarded.size * guarded.itemsize
        if inside and (self.address != 0 or self.bytes == 0):
            return ""
        return f"{self.bytes} bytes of an operand of shape {guarded.shape} are compared with those at {self.address}"


class TruthGuardParams(NamedTuple):
    """Parameters of `truth_guard`: the truth value, 0 or 1, that the element must have."""

    truth: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        fits = operands[0].size == 1 and self.truth in (0, 1)
        return "" if fits else f"truth {self.truth} of shape {operands[0].shape}"


# --- rows ------------------------------------------------------------------------------------------------------


CONTROL: tuple[Structural, ...] = (
    # x0: values, x1: flags; a sweep stops if a flag is set
    Structural(
        "determined",
        "opaque",
        "control.checked_copy.determined_{direction}_{dtype}",
        (("x1",), None),
        DeterminedParams,
        fixed_dtypes={1: "b8"},
        writes=(0,),
        transpose="as_it_is",
        batching="determined",
        pattern="elements",
    ),
    # A user's op. x0: float operands end to end, x1: descriptor of the functions, x2: other operands as float64
    Structural(
        "custom",
        "callback",
        "control.callback.custom_{direction}",
        (("x0", "x2", "y"), None, None),
        CustomParams,
        fixed_dtypes={1: "i64", 2: "f64"},
        pattern="whole",
    ),
    # A replay stops if a value differs from the one that Python saw while recording
    Structural(
        "guard",
        "guard",
        "control.guard.guard_{direction}",
        (None,),
        GuardParams,
        dtypes=_ALL,
        result="b8",
    ),
    Structural(
        "truth_guard",
        "guard",
        "control.guard.truth_guard_{direction}_{dtype}",
        (None,),
        TruthGuardParams,
        dtypes=_ALL,
        result="b8",
    ),
)
