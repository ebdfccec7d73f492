"""Functions that create Tensors."""

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.frontend.recording.layouts import in_order
from tapegrad.frontend.recording.lists import holds_tensors, in_numbers, stacked
from tapegrad.frontend.recording.record import MAX_COPIED_ELEMENTS, as_float, list_as_tensor, read_now, unary
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.array_checks import check_dtype, plain, refuse_lost_parts, refuse_subclass
from tapegrad.frontend.tensor.modes import entered, thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, copy_of, from_array, is_tensor
from tapegrad.frontend.words.numpy_docs import CREATION as DOCS
from tapegrad.frontend.words.numpy_docs import describe
from tapegrad.ops import COPY

_FLOAT64 = np.dtype(np.float64)
_NUMERIC = "biufc"  # kinds of dtypes of Tensors; other arrays, such as objects and text, remain NumPy's


def _check_constant(constant: Any, dtype: np.dtype[Any]) -> None:
    if constant is None:
        return
    if not isinstance(constant, bool | np.bool_):
        raise TypeError(f"constant must be True, False or None, not {constant!r}")
    if not constant and dtype.kind not in DIFFERENTIABLE_KINDS:
        raise ValueError(f"a Tensor of dtype {dtype} is always constant; write tensor(..., dtype=float)")


def _checked(array: np.ndarray, constant: bool | None) -> Tensor:
    """Make a Tensor of an array, if dtype and `constant` are compatible."""
    refuse_subclass(array, "tensor")
    check_dtype(array.dtype, "tensor", takes_complex=True)
    _check_constant(constant, array.dtype)
    return from_array(array, constant=bool(constant))


def _unless_plain(array: np.ndarray, constant: bool | None) -> Any:
    """Make a Tensor of an array; arrays of objects, text, dates or records are returned as they are."""
    return array if array.dtype.kind not in _NUMERIC and constant is None else _checked(array, constant)


def tensor(data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True) -> Tensor:
    """Create a Tensor with a copy of `data`.

    Parameters
    ----------
    data : array_like or Tensor
        Array, number or nested sequence. From a Tensor the contents are taken, not the graph; a list of Tensors
        stays in the graph, as for `array`.
    dtype : data-type, optional
        float64, float32, complex128 or complex64 to be differentiable; integers and booleans are constants. NumPy's
        choice by default.
    constant : bool, optional
        If True, no gradient flows into the Tensor.
    copy : bool, default True
        If False, use an array's own memory where that is possible. The tape does not see what is written to the array
        afterwards: see `asarray`.

    Returns
    -------
    Tensor
        Has the shape of `data`, and is a leaf of the graph, or a constant.

    Raises
    ------
    UnsupportedError
        For float16, longdouble and other dtypes that are not supported.
    ValueError
        For ``constant=False`` with integers or booleans.

    See Also
    --------
    array : The same, but a Tensor stays in the graph.
    asarray : Use the memory of an array instead of copying it.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1, 2], dtype=float)
    >>> x
    Tensor([1., 2.])
    >>> (x * x).backward()
    >>> x.grad
    array([2., 4.])
    """
    if dtype is None and constant is None and copy:
        array = np.array(data) if type(data) is float else data
        if type(array) is np.ndarray and array.dtype is _FLOAT64:
            made = copy_of(array, False) if not entered or thread.mode.recorder is None else None
            if made is not None:
                return made
    if holds_tensors(data):
        joined = _of_list(data, dtype, constant)
        if not joined.constant or constant or thread.mode.recorder is not None:
            return joined
        data = joined  # a list of constants makes a leaf, as a list of numbers does
    source = data.data if is_tensor(data) else data
    refuse_subclass(source, "tensor")
    refuse_lost_parts(source, dtype, "tensor")
    if thread.mode.recorder is not None and isinstance(source, np.ndarray):
        target = source.dtype if dtype is None else np.dtype(dtype)
        if copy or target != source.dtype:
            return _recorded_copy(data.detach() if is_tensor(data) else source, target, constant)
    return (
        _copied(np.array(source, dtype), constant) if copy else _checked(np.asarray(source, dtype), constant)
    )


def _copied(array: np.ndarray, constant: bool | None) -> Tensor:
    """Make a Tensor of an array without other users: one of few numbers on the tape, where its first op takes 0.3 us.

    The first op of a Tensor that is not there takes 8 us.
    """
    is_small = array.size <= MAX_COPIED_ELEMENTS and array.dtype.kind in DIFFERENTIABLE_KINDS
    if is_small and array.dtype in DTYPE_CODES and not constant and thread.mode.recorder is None:
        _check_constant(constant, array.dtype)
        made = copy_of(array, False)
        if made is not None:
            return made
    return _checked(array, constant)


def _of_list(value: Any, dtype: Any, constant: bool | None) -> Tensor:
    """Return a list that contains Tensors as a Tensor in their graph."""
    x = list_as_tensor(value, "array")
    x = x if dtype is None else x.astype(dtype, copy=False)
    _check_constant(constant, x.dtype)
    if constant:
        return x.detach()
    return tensor(x, constant=False, copy=False) if constant is False and x.constant else x


def _recorded_copy(source: Any, dtype: np.dtype[Any], constant: bool | None) -> Tensor:
    """Copy an array or a constant by an instruction, so that each replay copies it again."""
    dtype = dtype.newbyteorder("=")
    _check_constant(constant, dtype)
    if dtype.kind not in DIFFERENTIABLE_KINDS:
        return _checked(np.array(read_now(source), dtype), constant)
    check_dtype(dtype, "tensor", takes_complex=True)
    copy = unary(COPY, as_float(source, dtype, thread.mode.tape, False))
    return copy.detach() if constant else copy


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    constant: bool | None = None,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Tensor:
    """Convert the input to a Tensor: return a Tensor as it is, and use the memory of an array.

    Parameters
    ----------
    a : array_like or Tensor
        Array, number, nested sequence or Tensor.
    dtype : data-type, optional
        As for ``numpy.asarray``; floats and complex numbers are differentiable.
    order : {'C', 'F', 'K', 'A'}, optional
        As for ``numpy.asarray``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.
    device, copy, like
        As for ``numpy.asarray``.

    Returns
    -------
    Tensor
        `a` itself if it is a Tensor that has the dtype and is a constant as asked for. Of objects, text and dates
        NumPy's array, which takes no part in derivatives.

    Raises
    ------
    UnsupportedError
        For dtypes that are not supported, and classes of arrays with an arithmetic of their own.
    ValueError
        If ``copy=False`` and a copy is needed, and for ``constant=False`` with integers or booleans.

    Notes
    -----
    The Tensor and the array share memory, so each sees what is written to the other. The tape keeps old contents
    where a write is made through the Tensor, but it does not see one that is made through the array, nor one to
    ``t.data``: a graph that was recorded before gives wrong gradients after it. With ``TAPEGRAD_CHECK=1`` in the
    environment, `backward` raises `ChangedValueError` instead.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> a = np.zeros(2)
    >>> t = tg.asarray(a)
    >>> t[0] = 5.0
    >>> a
    array([5., 0.])
    """
    if holds_tensors(a):
        if copy is False:
            raise ValueError("asarray: the elements of a list are copied, which copy=False forbids")
        made: Tensor = in_order(_of_list(a, dtype, constant), order, "asarray")
        return made
    if not is_tensor(a):
        refuse_subclass(a, "asarray")
        refuse_lost_parts(a, dtype, "asarray")
        seen = np.asarray(a, dtype, order, device=device, copy=copy)
        if seen is a or thread.mode.recorder is None or seen.dtype.kind not in _NUMERIC:
            return _unless_plain(seen, constant)  # type: ignore[no-any-return]
        return tensor(a, dtype, constant=constant, copy=bool(copy))
    x: Tensor = a
    if dtype is not None and np.dtype(dtype).newbyteorder("=") != x.dtype:
        if copy is False:
            raise ValueError("asarray: a copy is needed to convert the dtype")
        x = x.astype(dtype)
    elif copy:
        x = x.copy("K" if order is None else order)
    x = in_order(x, order, "asarray")
    _check_constant(constant, x.dtype)
    return x if constant is None or x.constant == constant else tensor(x, constant=constant, copy=False)


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
    constant: bool | None = None,
) -> Tensor:
    """Create a Tensor of numbers, arrays and Tensors, through which gradients flow to the Tensors.

    Parameters
    ----------
    object : array_like, Tensor or nested sequence of Tensors
        Of Tensors and of lists with Tensors in them a recorded copy is made. Anything else becomes a leaf of the graph.
    dtype : data-type, optional
        Dtype of the result; by default the one that NumPy finds for the elements.
    copy : bool or None, default True
        If False, raise instead of copying; if None, copy where that is needed.
    order : {'K', 'A', 'C', 'F'}, default 'K'
        Memory order of the result.
    subok : bool, default False
        Accepted because ``numpy.array`` has it; ignored.
    ndmin : int, default 0
        Dimensions that the result has at least; those that are missing come first.
    like
        As for ``numpy.array``.
    constant : bool, optional
        If True, no gradient flows through the Tensor.

    Returns
    -------
    Tensor
        Its gradient flows to each Tensor in `object`.

    Raises
    ------
    ValueError
        If the parts of a list differ in shape, if ``copy=False`` and a copy is needed, and for ``constant=False`` with
        integers or booleans.

    See Also
    --------
    tensor : Takes the contents of a Tensor, not the graph.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor(0.5)
    >>> c, s = tg.cos(a), tg.sin(a)
    >>> rotation = tg.array([[c, -s], [s, c]])
    >>> tg.sum(rotation @ [1.0, 0.0]).backward()
    >>> a.grad
    array(0.39815702)
    """
    if type(object) is list and object and type(object[0]) is Tensor:
        is_plain = dtype is None and constant is None and copy and order == "K" and ndmin == 0
        made = stacked(object) if is_plain else None
        if made is not None:
            return made
    x = asarray(object, dtype, order, constant=constant, copy=copy, like=like)
    missing = operator.index(ndmin) - x.ndim
    if missing <= 0:
        return x
    shape = (1,) * missing + x.shape
    if thread.mode.recorder is not None or is_tensor(object) or holds_tensors(object):
        return reshape(x, shape)
    return finished((x.data_or_traced() if is_tensor(x) else np.asarray(x)).reshape(shape), constant)


def finished(value: Any, constant: bool | None) -> Tensor:
    """Return the result of a creation function as a Tensor, constant if requested."""
    made: Tensor = asarray(value, constant=constant) if is_tensor(value) else _unless_plain(value, constant)
    return made


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a creation function from NumPy's, with the same arguments and `constant`."""

    def make(*args: Any, constant: bool | None = None, like: Any = None, **kwargs: Any) -> Any:
        return finished(function(*args, **kwargs), constant)

    return _described(make, function)


def _maker_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a creation function whose first argument is an example of shape and dtype."""

    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Tensor:
        args = (*map(example, args[:1]), *args[1:])
        kwargs = {k: example(v) if k in ("a", "prototype") else v for k, v in kwargs.items()}
        return finished(np.asarray(function(*args, **kwargs)), constant)

    return _described(make, function)


def example(a: Any) -> Any:
    """Return an array of a Tensor's shape and dtype, with arbitrary contents."""
    if holds_tensors(a):
        return in_numbers(a, "a creation function")
    return a.data_or_traced() if is_tensor(a) else plain(a, "a creation function")


def _described(make: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy name, signature and docstring from NumPy's function."""
    describe(named(make, function), function.__name__)
    return make


def named(make: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Set the name of NumPy's function, and its signature with `constant`."""
    make.__name__ = make.__qualname__ = function.__name__
    known = _signature(function)
    if known is not None:
        constant = inspect.Parameter("constant", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = sorted([*known.parameters.values(), constant], key=lambda parameter: parameter.kind)
        vars(make)["__signature__"] = known.replace(parameters=parameters)
    return make


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    text = getattr(inspect.unwrap(function), "__text_signature__", None) or "$"
    if "$" not in text:  # of a function written in C; `inspect` would compile its tokenizer first, for 10 ms
        return inspect.signature(eval(f"(lambda {text.strip()[1:-1]}: None)"))
    try:
        return inspect.signature(function)
    except ValueError:  # NumPy before 2.4 has no signature of functions written in C
        return None


_LIKE = {name: _maker_like(getattr(np, name)) for name in DOCS if name.endswith("_like")}
MADE = {name: _maker(getattr(np, name)) for name in DOCS if name not in _LIKE}
CREATION: dict[str, Callable[..., Any]] = {
    "tensor": tensor,
    "array": array,
    "asarray": asarray,
    **MADE,
    **_LIKE,
}
FUNCTIONS = _LIKE


def _new(
    cls: type[Tensor], data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True
) -> Tensor:
    """Make a Tensor by a call of its class. `from_slot` and `from_array` use ``object.__new__``."""
    return tensor(data, dtype, constant=constant, copy=copy)


_new.__qualname__ = Tensor.__qualname__  # the name in a TypeError about the arguments
bind_methods(__new__=_new)
