"""Texts of numbers: f-strings, ``format(t, spec)``, ``"%f" % t`` and logging show the value of a Tensor.

No gradient is lost by a text. While a function is being recorded the text is guarded: a replay that would give another
one stops, and the function is recorded for it.
"""

import dis
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from tapegrad.frontend.conversions import conversion
from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods


def _format(x: Tensor, spec: str) -> str:
    if not spec:
        return str(x)
    if x.size != 1:
        raise TypeError(
            f"a format is for one number, and this Tensor has shape {x.shape}; format its elements"
        )
    return str(_shown(x, _formatted, spec))


def _formatted(array: Any, spec: str) -> str:
    return format(array.item(), spec)


def _float(x: Tensor) -> float:
    return float(_shown(x, _number)) if _is_shown(x, sys._getframe(1)) else conversion.as_float_number(x)


def _int(x: Tensor) -> int:
    shown = _is_shown(x, sys._getframe(1)) and not x._traced()  # an integer is guarded as such in a recording
    return int(x.data_or_traced().item()) if shown else conversion.as_int_number(x)


def _is_shown(x: Tensor, asker: types.FrameType) -> bool:
    """Return whether a number that a gradient can flow back from is asked for by ``text % number``."""
    needed = x._traced() or (thread.mode.differentiate and not x.constant)
    return needed and x.size == 1 and x.dtype.kind == "f" and _formats_text(asker.f_code, asker.f_lasti)


@functools.lru_cache(1024)
def _formats_text(code: types.CodeType, offset: int) -> bool:
    """Return whether an instruction is ``%``: only text asks its right operand for a plain number there."""
    found = (each for each in dis.get_instructions(code) if each.offset == offset)
    return any(each.opname == "BINARY_OP" and each.argrepr in ("%", "%=") for each in found)


def _shown(x: Tensor, function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function of the value gives for a text; guarded while recording.

    A function of a custom op cannot guard what is recorded around it.
    """
    if not x._traced():
        return function(x.data_or_traced(), *args)
    if not is_computed(x):
        x._refuse("a text")
    return call_guarded(function, x, *args)


def _number(array: Any) -> Any:
    return array.item()


bind_methods(__format__=_format, __float__=_float, __int__=_int)
