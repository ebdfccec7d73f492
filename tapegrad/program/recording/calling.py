"""Calls of the functions given to transforms, and checks of their results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import TracedValueError
from tapegrad.foreign import is_xarray
from tapegrad.frontend.tensor.array_checks import refuse_complex_result, refuse_subclass
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, unflatten

_NUMBERS = (np.ndarray, np.generic, float, int, complex)


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    """Call a function with Tensors.

    Where a library asks for a float and puts an error of its own in place of ours, which says why there is none, ours
    is raised. Where it drops ours, its own error gets a note.
    """
    try:
        return without_labels(function(*args, **(kwargs or {})))
    except TracedValueError:
        raise
    except Exception as error:
        if isinstance(error.__cause__, TracedValueError):
            raise error.__cause__.with_traceback(error.__traceback__) from None
        if thread.refused is not None:
            error.add_note(f"Earlier in this call a Tensor was refused: {thread.refused}")
        raise
    finally:
        thread.refused = None


def without_labels(result: Any) -> Any:
    """Return the array or the Tensor in a result that is a DataArray, which operations of xarray return."""
    return result.data if is_xarray(result) and hasattr(result, "data") else result


def value_and_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Take apart what a function returned: a pair of a value and anything else with `has_aux`, otherwise the value.

    Raises
    ------
    TypeError
        If it is no pair; `name` is that of the transform.
    """
    if not has_aux:
        return result, None
    if isinstance(result, tuple) and len(result) == 2:
        return without_labels(result[0]), result[1]
    raise TypeError(
        f"{name}: with has_aux=True the function must return a pair (value, aux), but it returned {_described(result)}"
    )


def aux_arrays(aux: Any) -> Any:
    """Return what a function returned beside its value, with arrays and NumPy scalars in place of Tensors."""
    leaves, definition = flatten(aux)
    return unflatten(
        definition, [leaf.data_or_traced().copy()[()] if is_tensor(leaf) else leaf for leaf in leaves]
    )


def check_numbers(name: str, values: Sequence[Any]) -> None:
    """Refuse results that are neither Tensors nor numbers, nor arrays of such.

    Raises
    ------
    TypeError
        For ``None``, strings, functions and whatever else has no derivative; `name` is that of the transform.
    """
    for value in values:
        if is_tensor(value):
            continue
        refuse_subclass(value, f"{name}: the result of the function")
        if not isinstance(value, _NUMBERS) or np.asarray(value).dtype.kind not in "biufc":
            hint = " (is a return statement missing?)" if value is None else ""
            raise TypeError(
                f"{name}: the function returned {_described(value)}{hint}, which has no derivative; return Tensors, or"
                " numbers and arrays of numbers where the result is constant"
            )


def one_array(name: str, value: Any) -> np.ndarray:
    """Return the one result of a function as an array, whether it depends on the arguments or not.

    Raises
    ------
    TypeError
        If it is not one Tensor, number or array, or holds booleans or complex numbers.
    """
    if isinstance(value, tuple | list | dict):
        needed = "one array" if name == "jacobian" else "one number"
        raise TypeError(
            f"{name} needs {needed}, but the function returned a {type(value).__name__} of {len(value)}. For further"
            f" outputs beside it: {name}(f, has_aux=True)"
        )
    check_numbers(name, [value])
    array = value.data_or_traced() if is_tensor(value) else np.asarray(value)
    if array.dtype.kind == "c":
        refuse_complex_result(array.dtype, name)
    if array.dtype.kind == "b":
        raise TypeError(f"{name}: the function returned booleans, not a Tensor of floats")
    return array


def check_scalar(name: str, array: Any) -> None:
    """Refuse a result that is not a single number; one in an array of one element is, as for SciPy's optimisers."""
    if array.size != 1:
        raise ValueError(
            f"{name}: the function returned shape {array.shape}, but only a single number has a gradient; sum() it, or"
            " use jacobian"
        )


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, np.ndarray | np.generic):
        return f"an array of dtype {value.dtype}"
    return f"an object of type {type(value).__name__}"
