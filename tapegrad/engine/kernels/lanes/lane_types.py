"""Numba's types of vectors and masks, and their operators.

It is executed when code on lanes is translated or compiled, for it extends Numba.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, models, register_model, type_callable

from tapegrad.engine.kernels.lanes import LANE_BYTES
from tapegrad.engine.kernels.language.llvm_types import f32, f64
from tapegrad.engine.kernels.language.numba_internals import cpu_target


class Lanes(types.Type):
    """Numba type of a vector with a number in each lane."""

    def __init__(self, element: Any) -> None:
        super().__init__(f"Lanes({element})")
        self.element = element
        self.count = LANE_BYTES * 8 // element.bitwidth
        self.vector = ir.VectorType(f64 if element.bitwidth == 64 else f32, self.count)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.vector)


class Mask(types.Type):
    """Numba type of a mask: an integer in each lane, as wide as the numbers, negative where the mask holds."""

    def __init__(self, bits: int) -> None:
        super().__init__(f"Mask({bits})")
        self.count = LANE_BYTES * 8 // bits
        self.vector = ir.VectorType(ir.IntType(bits), self.count)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Mask) -> None:
        super().__init__(manager, kind, kind.vector)


# --- arithmetic ------------------------------------------------------------------------------------------------


def _define_operator(function: Any, instruction: str, kind: type) -> None:
    """Define an operator on two vectors or masks by an instruction of LLVM."""

    @type_callable(function)
    def _typed(context: Any) -> Any:
        return lambda a, b: a if isinstance(a, kind) and a == b else None

    @lower_builtin(function, kind, kind)
    def _lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define_operator(_function, _instruction, Lanes)
_define_operator(operator.and_, "and_", Mask)
_define_operator(operator.or_, "or_", Mask)
# They are known to a compilation that has begun.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
