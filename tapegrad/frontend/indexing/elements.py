"""Elements of Tensors that are written to: each keeps the number that it had when it was read, as NumPy's scalars do.

An element that an index of integers selects is a view, which costs nothing, as long as its array has not been written
to. With the first write those that are still there become copies, and what is read afterwards is one at once.
"""

import gc
from typing import Any

import numpy as np

from tapegrad.engine.tape import slots
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor


def begin_writes(base: Tensor, written: Tensor) -> None:
    """Let elements of an array keep their numbers before the first write to it, through itself or a view."""
    tape, handles = thread.mode.tape, 1 + (written is not base)
    if base._tape is tape and base._slot >= 0 and slots.may_show_elements(tape.header, base._slot, handles):
        referrers = gc.get_referrers(base)  # a list of its elements would cost each of them
        for element in [each for each in referrers if _is_element(each, base)]:
            _keep_number(element)
    base._version = 1


def _is_element(value: Any, base: Tensor) -> bool:
    if not is_tensor(value) or value._base is not base:
        return False
    return hasattr(value, "_element") and not value.shape


@restoring
def apart(element: Tensor) -> Tensor:
    """Return a copy of an element, through which gradients flow to the array, under `no_grad` too."""
    if element._tape is None:
        copy = from_array(np.array(element.data_or_traced()), constant=True)
    else:
        if not thread.mode.differentiate:
            thread.mode = thread.mode.but(differentiate=True)
        copy = contiguous(element)
    copy._element = True
    return copy


def _keep_number(element: Tensor) -> None:
    """Turn a view into a copy."""
    copy = apart(element)
    element._slot, copy._slot = copy._slot, element._slot
    element._base, element._version, element._array = None, 0, copy._array
