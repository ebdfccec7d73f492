"""Results of a search that has converged, or not: then a derivative of them raises."""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.errors import NotConvergedError
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.reached_values import ReachedValues, packed, raises
from tapegrad.loops.body import on_recording
from tapegrad.program.archive.contents import OpKind, ReadContents, add_kind
from tapegrad.program.archive.fields import extents_of, field, integers


class ConvergedOp(ReachedValues):
    """Solution of a search, a vector; the other operand is not zero if the search has not converged."""

    solver = "a search"
    failed = 0

    def error(self, duals: Any, ys: Any, *rest: Any) -> BaseException | None:
        """Return the exception for a cotangent or a tangent of a solution that was not found."""
        if not rest[0] or not (duals != 0).any():
            return None
        return NotConvergedError(
            "there is no derivative of a solution that was not found: the search has ended with success=False. Look at"
            " the result's message, start nearer to the solution, or allow more iterations; check=False takes the last"
            " iterate for a solution"
        )


def converged(x: Any, failed: Any) -> Any:
    """Return a solution, a vector, whose derivatives raise if a flag is not zero, or are nan (`raises`)."""
    if not is_tensor(x) or x.constant:
        return x
    op = ConvergedOp(x.shape, is_strict=raises())
    flag = failed.astype(x.dtype) if is_tensor(failed) else np.asarray(failed, x.dtype)
    return op(x, on_recording(flag))


def _unpacked(record: dict[str, Any], contents: ReadContents) -> Call:
    shape = extents_of(integers(record.get("shape"), 0, 1 << 40, "a solution"), 8, "a solution")
    of_cotangents = field(record, "cotangents", bool)
    op = ConvergedOp(shape, of_cotangents, field(record, "strict", bool))
    shapes = [shape] * (2 if of_cotangents else 1) + [()]
    specs = tuple(ArraySpec(each, np.dtype(float), int(np.prod(each, dtype=int))) for each in shapes)
    return op.call_for(specs, specs[:1])


add_kind(OpKind("converged", ConvergedOp, packed, _unpacked))
