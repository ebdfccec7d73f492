"""Public functions of rows: a fast path for the operands alone, all other arguments behind them."""

from collections.abc import Callable
from typing import Any

from tapegrad.frontend.recording.record import apply, apply_to_any, binary, unary
from tapegrad.frontend.tensor.tensor import Tensor, elementwise
from tapegrad.ops import CODES


def make_unary_function(code: int, with_arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function ``op(x)``; a call with further arguments goes to `with_arguments`."""

    def function(x: Any, /, *out: Any, **options: Any) -> Any:
        if out or options:
            return with_arguments(x, *out, **options)
        made = elementwise[0](code, x)
        if made is not None:
            return made
        return unary(code, x) if type(x) is Tensor else apply_to_any(code, x)

    return function


def make_binary_function(code: int, with_arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function ``op(x1, x2)``; a call with further arguments goes to `with_arguments`."""
    record, reflected = binary(code), binary(code, is_reflected=True)

    def function(x1: Any, x2: Any, /, *out: Any, **options: Any) -> Any:
        if out or options:
            return with_arguments(x1, x2, *out, **options)
        made = elementwise[0](code, x1, x2)
        if made is not None:
            return made
        if type(x1) is Tensor:
            return record(x1, x2)
        return reflected(x2, x1) if type(x2) is Tensor else apply_to_any(code, x1, x2)

    return function


_SELECT = CODES["where"]


def select(condition: Any, x: Any, y: Any) -> Tensor:
    """Compute ``where(condition, x, y)``."""
    return apply(_SELECT, condition, x, y)
