"""Calls of replayed functions with Tensors: constants are replayed as arrays; where a gradient may flow, nothing is."""

from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.pytree import flatten, unflatten

Call = tuple[tuple[Any, ...], dict[str, Any]]


def as_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """Return the arguments with arrays in place of Tensors; `None` if the result may have to be differentiated."""
    leaves, definition = flatten((args, kwargs))
    mode = thread.mode
    if mode.nested or (mode.differentiate and any(is_tensor(leaf) and not leaf.constant for leaf in leaves)):
        return None
    found: Call = unflatten(definition, [leaf.data if is_tensor(leaf) else leaf for leaf in leaves])
    return found


def as_tensors(result: Any) -> Any:
    """Return the result of a replay with constants in place of arrays of floats and complex numbers."""
    leaves, definition = flatten(result)
    return unflatten(definition, [_constant(leaf) for leaf in leaves])


def _constant(leaf: Any) -> Any:
    is_number = isinstance(leaf, np.ndarray | np.inexact) and leaf.dtype.kind in DIFFERENTIABLE_KINDS
    return from_array(leaf, constant=True) if is_number else leaf


def tell_of_tensors(traces: Any, name: str) -> None:
    """Note a call with Tensors that runs the function operation by operation; warn of the first one."""
    traces.unrecorded += 1
    traces.tell_once(
        "tensors",
        f"jit({name}) was called with a Tensor that a gradient may be asked of, so {name} ran operation by operation:"
        " only calls with arrays are replayed. Pass arrays, x.data or what numpy.zeros makes, and take gradients from"
        " tg.value_and_grad(f)(x.data)",
    )
