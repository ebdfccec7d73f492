"""Derivatives of structural ops as expressions on Tensors.

Those of a linear op follow from its row. All others are stated beside the functions that record the ops, in `frontend`;
those of users' ops here.
"""

from tapegrad.autodiff.custom import tensor_rules as custom
from tapegrad.autodiff.graph_view import Geometry
from tapegrad.autodiff.rules import linear_rules
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.rules import RULES, Rules, Step, Value, state_rules
from tapegrad.frontend.tensor.modes import with_choice_of
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops.structural.indexing import EmbedParams


def reverse(step: SweepStep, y_bar: Value) -> dict[int, Value]:
    """Return the contribution to the cotangent of each operand that needs one."""
    if step.row.linear:
        return linear_rules.reverse(step, y_bar)
    with with_choice_of(step.params):
        return _stated(step).reverse(step, y_bar)


def forward(step: SweepStep, dots: list[Value | None]) -> Value:
    """Return the tangent of the result, given those of the operands; `None` stands for zero."""
    if step.row.linear:
        return linear_rules.forward(step, dots)
    with with_choice_of(step.params):
        return _stated(step).forward(step, *dots)


def regions_of(step: SweepStep) -> list[Geometry]:
    """Return the regions of the result that the operands are added to as they are; none of an op that does more."""
    if step.row.params is not EmbedParams:
        return []
    whole, found = step.geometry(step.result), []
    for j, region in enumerate(step.params.regions):
        own = step.view(j)
        if own.shape != region.extents or own.steps != own._replace(strides=region.other_strides).steps:
            return []
        view = View(region.offset, region.extents, region.strides, whole.dtype)
        found.append(whole._replace(view=view))
    return found


def _stated(step: SweepStep) -> Rules:
    if step.row.name not in RULES:
        raise UnsupportedError(f"{step.row.name}: its second derivative has no rule")
    return RULES[step.row.name]


# --- users' ops ------------------------------------------------------------------------------------------------


def _custom_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    arguments = (step.params.descriptor, step.x(0), step.x(2), step.y, step.dense(y_bar, -1))
    x_bar = custom.reverse_rule(*arguments)
    return {} if x_bar is None else {0: x_bar}


def _custom_forward(step: Step, x_dot: Value, *_: None) -> Tensor:
    arguments = (step.params.descriptor, step.x(0), step.x(2), step.y, step.dense(x_dot, 0))
    return custom.forward_rule(*arguments)


state_rules("custom", _custom_reverse, _custom_forward)
