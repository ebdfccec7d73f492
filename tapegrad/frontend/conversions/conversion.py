"""Conversion of Tensors to plain numbers and arrays, to copies and to other dtypes.

Eager code allows it where it is explicit. While a function is being recorded, a value that depends on its arguments
either raises or becomes a guard: a replay with another value stops there, and that branch is recorded too.
"""

import functools
import warnings
from typing import Any, NoReturn

import numpy as np

from tapegrad.engine.tape import memory
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.errors import LostGradientWarning, TracedValueError, UnsupportedError
from tapegrad.frontend.recording.layouts import copied_in_order, in_order, made_in_order
from tapegrad.frontend.recording.record import as_boolean, cast, unary
from tapegrad.frontend.recording.rules import Step, Value, state_transpose
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.array_checks import check_dtype, refuse_complex
from tapegrad.frontend.tensor.modes import EAGER, current, no_grad, restoring, thread, watch_now
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.call_site import CallSite, Wording, nothing_to_add, refusal
from tapegrad.frontend.words.frames import program_level
from tapegrad.frontend.words.refusal_hints import (
    asked_array,
    asks_for_operator,
    boxed,
    hint_for_array,
    hint_for_library,
    hint_for_number,
    no_njit,
    remedy_first,
)
from tapegrad.ops import CODES, COPY
from tapegrad.ops.structural.control import TruthGuardParams

_TRUTH = CODES["truth_guard"]
_LOST = (
    "float() of a Tensor that a gradient can flow back from gives a constant (assigning it to an element of a NumPy"
    " array and math functions call it, too): compute with the Tensor itself, make the array by"
    " tapegrad.zeros, or write t.item() if a number is meant"
)

_NO_PICKLE = (
    "a computed Tensor cannot be pickled, nor copied by the module copy, because its graph would be lost: pickle or"
    " copy t.detach(), which is a constant, or tensor(t.data), which is a new leaf; t.copy() stays in the graph"
)


def guarded_array(tensor: Any) -> np.ndarray:
    """Return the contents of a recorded Tensor, guarded byte for byte."""
    recorder = thread.mode.recorder
    if tensor._tape is not recorder and recorder is not None:
        tensor = recorder.lift(tensor)
    array: np.ndarray = tensor.data_or_traced()
    if array.dtype not in DTYPE_CODES and tensor._base is not None:
        guarded_array(
            tensor._base
        )  # stricter than needed for unused bytes: at worst an unnecessary new recording
        return array.copy()
    if not array.flags.c_contiguous:
        tensor = contiguous(tensor)
        array = tensor.data_or_traced()
    tape = tensor._tape
    seen = tape.widened(array)
    tape.guard_bytes(DTYPE_CODES[seen.dtype], tensor._slot_on(tape), seen)
    return array.copy()


def concrete_array(tensor: Any, what: str, hint: Wording = nothing_to_add) -> np.ndarray:
    """Return the contents as NumPy sees them; `hint` ends the error's sentence.

    While a function is being recorded they are guarded; floats that depend on an argument raise.
    """
    guarded = tensor._recorded() and tensor.dtype.kind not in DIFFERENTIABLE_KINDS
    if tensor._traced() and not guarded:
        tensor._refuse(what, hint)
    tensor._check_run()
    tensor.check_escape(what, hint)
    return _looked_at(tensor)


def _looked_at(tensor: Any) -> np.ndarray:
    """Return the contents for a branch that depends on nothing else in them; guarded while recording."""
    if tensor._recorded():
        return guarded_array(tensor)
    array: np.ndarray = tensor.data_or_traced()
    watch_now(array)
    return array


def _one_element(tensor: Any, what: str) -> None:
    if tensor.size != 1:
        raise TypeError(
            f"{what} of a Tensor of shape {tensor.shape}: only a Tensor of one element can be converted"
        )


def item(x: Tensor, *index: Any) -> Any:
    """Return an element as a Python number.

    Parameters
    ----------
    *index : int or tuple of int
        Which element: a number counts in C order, several numbers or a tuple are an index. It may be left out where
        there is only one element.

    Returns
    -------
    float, int or bool
        A plain number; no gradient flows through it.

    Raises
    ------
    ValueError
        Without an index, if there is not exactly one element.
    TracedValueError
        While a function is being recorded or differentiated by a transform, for a value that depends on its arguments.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1.0, 2.0]).item(1)
    2.0
    """
    if not index and x.size != 1:
        raise ValueError(
            f"item() of a Tensor of shape {x.shape}: only a Tensor of one element can be converted; give an index"
        )
    return concrete_array(x, "item()").item(*index)


def as_float_number(x: Tensor) -> float:
    """Return the only element as a float of Python; refuse it, guard it or warn where it would lose a gradient."""
    return float(_number(x))


def _complex(x: Tensor) -> complex:
    return complex(_number(x, "complex()"))


def _number(x: Tensor, what: str = "float()") -> Any:
    """Return the only element; warn at the call site if a gradient could flow back from it."""
    _one_element(x, what)
    if x.dtype.kind == "c" and what != "complex()":
        refuse_complex(x.dtype, what)
    number = concrete_array(x, what, hint_for_number).item()
    number = number if type(number) is complex else float(number)
    mode = thread.mode
    if not mode.leaves and mode.differentiate and mode.tape is EAGER and not x.constant:
        if thread.refuses_numbers:
            raise LostGradientWarning(_LOST)
        warnings.warn(_LOST, LostGradientWarning, stacklevel=program_level())
    return number


def as_int_number(x: Tensor) -> int:
    """Return the only element as an integer of Python, guarded by value in a recording."""
    _one_element(x, "int()")
    if x.dtype.kind == "c":
        refuse_complex(x.dtype, "int()")
    if x._traced() and x.dtype.kind in DIFFERENTIABLE_KINDS:
        return _guarded_int(x)
    return int(concrete_array(x, "int()").item())


def _index(x: Tensor) -> int:
    if x.dtype.kind not in "iu" or x.shape:
        raise TypeError("only a 0-dimensional Tensor of integers can be an index")
    return int(concrete_array(x, "index").item())


def _bool(x: Tensor) -> bool:
    if x.size != 1:
        raise ValueError(f"the truth value of a Tensor of shape {x.shape} is ambiguous; use where()")
    if not x._traced():
        return bool(_looked_at(x).item())
    truth = bool(x.data_or_traced().item())
    tape: Any = x._tape
    code = DTYPE_CODES[x._describe().dtype]
    tape.guard(_TRUTH, code, x._slot_on(tape), TruthGuardParams(truth), bytes([truth]))
    return truth


def numpy(x: Tensor) -> np.ndarray:
    """Return the primal as a NumPy array on the Tensor's own memory.

    Returns
    -------
    numpy.ndarray
        The same as the property `data`: what is computed with it is not differentiated.

    Raises
    ------
    TracedValueError
        While a function is being recorded or differentiated by a transform, for a value that depends on its arguments.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1.0, 2.0]).numpy()
    array([1., 2.])
    """
    return x.escaped("numpy()")


def tolist(x: Tensor) -> Any:
    """Return the elements as nested lists: of Python numbers, or of Tensors inside of a transform.

    Returns
    -------
    list, number or Tensor
        Nested as deep as the Tensor has dimensions. While a function is being recorded or differentiated by a
        transform, elements that depend on its arguments are Tensors of no dimensions, which later writes to this
        Tensor do not change; gradients flow through them. In eager code they are plain numbers.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.tensor([[1.0], [2.0]]).tolist()
    [[1.0], [2.0]]
    >>> def product(x):
    ...     a, b = x.tolist()
    ...     return a * b
    >>> tg.grad(product)(np.array([2.0, 3.0]))
    array([3., 2.])
    """
    return _nested(copy(x)) if _loses(x) else concrete_array(x, "tolist()").tolist()


def _nested(x: Tensor) -> Any:
    return [_nested(row) for row in x] if x.ndim else x


def _loses(x: Tensor) -> bool:
    """Return whether plain numbers of a Tensor's elements would lose a gradient, or be frozen in a recording."""
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return False
    mode = thread.mode
    if x._traced():
        return True
    return bool(mode.leaves or mode.outside) and mode.differentiate and x._is_differentiated(mode)


def _array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    if asks_for_operator():
        return boxed(x)
    array = _leaving(x, hint_for_array)
    if copy is False and dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError("a copy is needed to convert the dtype")
    return np.array(array, dtype, copy=bool(copy)) if copy else array.astype(dtype or array.dtype, copy=False)


def _leaving(x: Tensor, hint: Wording = nothing_to_add) -> np.ndarray:
    """Return the contents for use as a plain array; raise if that would lose a gradient."""
    if x.dtype.kind in DIFFERENTIABLE_KINDS and (x._traced() or (current()[1] and not x.constant)):
        _refuse_array(x, hint)
    return _looked_at(x)


def _dlpack(
    x: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    array = _leaving(x)
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _dlpack_device(x: Tensor) -> Any:
    return x.data_or_traced().__dlpack_device__()


def _refuse_array(x: Tensor, hint: Wording) -> NoReturn:
    """Raise if NumPy, or one of its functions, asks for a Tensor as a plain array."""
    if x._traced():
        x._refuse(asked_array, hint)
    x.check_escape(asked_array, hint)

    def text(site: CallSite) -> str:
        return remedy_first(site) + (
            f"{site.function_name() or 'NumPy'} asks for this Tensor as a plain array, which would lose its gradient"
            f"{site.place}: call .data, .detach() or .item() to leave the graph, or use a function of tapegrad"
            + hint(site)
        )

    raise refusal(UnsupportedError, text)


def _reduce(x: Tensor) -> Any:
    if x._traced():
        x._refuse("a copy or a pickle")
    if x._slot >= 0 and not x.constant and x._describe()[memory.D_PRODUCER] != NONE:
        raise refusal(TypeError, lambda site: _NO_PICKLE + hint_for_library(site))
    return _rebuild, (x.data, x.constant)


class _NoNumbaType:
    """Numba's type of a Tensor as an argument: refused where Numba looks into it.

    Numba first asks whether there is one; an error at that question is printed by Python 3.14, and not raised.
    """

    def __getattr__(self, name: str) -> object:
        raise refusal(UnsupportedError, no_njit, ("numpy", "scipy", "numba"))


def _numba_type(x: Tensor) -> object:
    return _NoNumbaType()


def _copy(x: Tensor) -> Tensor:
    mode = thread.mode
    if mode.recorder is not None or mode.leaves or mode.outside:  # inside of a transform
        return copy(x)
    _, (array, constant) = _reduce(x)
    return from_array(array.copy(), constant)


def _deepcopy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy a Tensor for `copy.deepcopy`, which enters the returned value in its memo."""
    return _copy(x)


@restoring
def detach(x: Tensor) -> Tensor:
    """Return a constant with a copy of the contents: no gradient flows through it.

    Returns
    -------
    Tensor
        Same shape and dtype, in C order.

    See Also
    --------
    tapegrad.stop_gradient : The same for structures of Tensors.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor(3.0)
    >>> (x * x.detach()).backward()
    >>> x.grad
    array(3.)
    """
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return contiguous(x)
    with no_grad():
        return unary(COPY, x)


def copy(x: Tensor, order: str = "C") -> Tensor:
    """Return a copy on memory of its own; the gradient flows through it.

    Parameters
    ----------
    order : {'C', 'F', 'K', 'A'}, default 'C'
        Memory order of the copy.

    Returns
    -------
    Tensor
        Same shape and dtype.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> y = x.copy()
    >>> y[0] = 5.0
    >>> x
    Tensor([1., 2.])
    """
    return copied_in_order(x, order, "Tensor.copy")


def astype(
    x: Tensor, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Tensor:
    """Convert the elements to another dtype.

    Parameters
    ----------
    dtype : data-type
        Floats or complex numbers in double or single precision, integers or booleans; always taken in the machine's
        byte order.
    order : {'C', 'F', 'K', 'A'}, default 'K'
        Memory order of the result.
    casting : str, default 'unsafe'
        Which conversions are allowed, as for ``numpy.ndarray.astype``.
    subok : bool, default True
        Accepted because ``numpy.ndarray.astype`` has it; ignored.
    copy : bool, default True
        If False, return the Tensor itself where it has the dtype already.

    Returns
    -------
    Tensor
        Gradients flow through conversions between floats and complex numbers. Integers and booleans are constants.

    Raises
    ------
    TypeError
        If `casting` does not allow the conversion, and for dtypes that are not supported (`UnsupportedError`), such as
        floats for complex numbers, whose imaginary parts would be lost: write ``z.real``.
    UnsupportedError
        While a function is being recorded, for integers of another dtype than int64 made of floats that depend on
        its arguments.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1.5, 2.5]).astype("float32")
    Tensor([1.5, 2.5], dtype=float32)
    """
    target, own = _supported(np.dtype(dtype)), x.dtype
    if casting != "unsafe" and not np.can_cast(own, target, casting):
        raise TypeError(f"astype: cannot convert {own} to {target} according to the rule {casting!r}")
    if target == own:
        return copied_in_order(x, order, "astype") if copy else in_order(x, order, "astype")
    return made_in_order(functools.partial(_converted, target=target), x, order, "astype")


@functools.cache
def _supported(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a target dtype in the machine's byte order; raise if it is not supported."""
    target = dtype.newbyteorder("=")
    check_dtype(target, "astype", takes_complex=True)
    return target


def _converted(x: Tensor, target: np.dtype[Any]) -> Tensor:
    """Convert the elements to a dtype that is not their own."""
    own: np.dtype[Any] = x.dtype
    tape = current()[0]
    if own.kind == "c" and target.kind not in "cb":
        refuse_complex(own, f"astype({target})")
    if target.kind in DIFFERENTIABLE_KINDS or own.kind not in DIFFERENTIABLE_KINDS:
        return cast(x, target, tape)
    if target.kind == "b":
        if tape.recording:
            return as_boolean(x, tape)
        return from_array(x.data_or_traced().astype(bool), constant=True)
    if x._recorded() and target == np.int64:
        return cast(x, target, tape)
    if x._traced():
        raise UnsupportedError(
            f"astype({target}) of a value that is being recorded: use astype(int), or floor(), rint() or trunc(), which"
            " stay in floating point"
        )
    watch_now(x.data_or_traced())
    return from_array(x.data_or_traced().astype(target), constant=True)


def _rebuild(array: np.ndarray, constant: bool) -> Tensor:
    """Make the Tensor that a pickle describes."""
    return from_array(array, constant)


def _guarded_int(tensor: Any) -> int:
    """Return ``int()`` of a recorded float, guarded by its integer part."""
    whole = unary(CODES["trunc"], tensor)
    array = whole.data_or_traced()
    tape = thread.mode.recorder
    assert tape is not None
    assert tape is tensor._tape
    if not np.isfinite(array).all():
        raise TracedValueError(
            f"int() of {array.item()}, which has no integer value, while a function is being recorded"
        )
    tape.guard_bytes(DTYPE_CODES[array.dtype], whole._slot, array)
    return int(array.item())


def _refuse_value(x: Tensor) -> object:
    """Refuse autograd's attribute for the number inside of a traced value."""
    raise AttributeError(
        "'Tensor' object has no attribute '_value'; write tapegrad.stop_gradient(t), or t.data outside of transforms"
    )


bind_methods(
    item=item,
    numpy=numpy,
    tolist=tolist,
    detach=detach,
    copy=copy,
    astype=astype,
    __complex__=_complex,
    __index__=_index,
    __bool__=_bool,
    __array__=_array,
    __dlpack__=_dlpack,
    __dlpack_device__=_dlpack_device,
    __reduce__=_reduce,
    _numba_type_=property(_numba_type),
    _value=property(_refuse_value),
    __copy__=_copy,
    __deepcopy__=_deepcopy,
)


# --- derivatives -----------------------------------------------------------------------------------------------


@state_transpose
def cast_back(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a conversion of dtype: convert back."""
    if isinstance(y_bar, float):
        return {0: y_bar}
    dtype = step.view(0).dtype
    real = y_bar.real if dtype.kind == "f" else y_bar  # of a complex cotangent a float has the real part
    return {0: real.astype(dtype, copy=False)}
