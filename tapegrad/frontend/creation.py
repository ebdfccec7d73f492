"""Functions that create Tensors."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.array_checks import check_dtype, plain, refuse_subclass
from tapegrad.frontend.modes import thread
from tapegrad.frontend.numpy_docs import CREATION as WORDS
from tapegrad.frontend.numpy_docs import describe
from tapegrad.frontend.record import as_float, read_now, unary
from tapegrad.frontend.shape import check_order
from tapegrad.frontend.tensor import Tensor, bind_methods, copy_of, from_array, is_tensor
from tapegrad.ops import COPY

_FLOAT64 = np.dtype(np.float64)


def _check_constant(constant: Any) -> None:
    if constant is not None and not isinstance(constant, bool | np.bool_):
        raise TypeError(f"constant must be True, False or None, not {constant!r}")


def _checked(array: np.ndarray, constant: bool | None) -> Tensor:
    """Make a Tensor of an array, if dtype and `constant` are compatible."""
    _check_constant(constant)
    check_dtype(array.dtype, "tensor")
    if constant is not None and not constant and array.dtype.kind != "f":
        raise ValueError(
            f"a Tensor of dtype {array.dtype} is always constant; write tensor(..., dtype=float)"
        )
    return from_array(array, constant=bool(constant))


def tensor(data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True) -> Tensor:
    """Create a Tensor with a copy of `data`.

    Parameters
    ----------
    data : array_like or Tensor
        Array, number or nested sequence. From a Tensor the contents are taken, not the graph.
    dtype : data-type, optional
        float64 or float32 to be differentiable; integers and booleans are constants. NumPy's choice by default.
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
        For float16, complex numbers and other dtypes that are not supported.
    ValueError
        For ``constant=False`` with integers or booleans.

    See Also
    --------
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
    if type(data) is np.ndarray and data.dtype is _FLOAT64 and dtype is None and constant is None and copy:
        made = copy_of(data, False) if thread.mode.recorder is None else None
        if made is not None:
            return made
    source = data.data if is_tensor(data) else data
    refuse_subclass(source, "tensor")
    if thread.mode.recorder is not None and isinstance(source, np.ndarray):
        target = source.dtype if dtype is None else np.dtype(dtype)
        if copy or target != source.dtype:
            return _recorded_copy(data.detach() if is_tensor(data) else source, target, constant)
    return _checked(np.array(source, dtype) if copy else np.asarray(source, dtype), constant)


def _recorded_copy(source: Any, dtype: np.dtype[Any], constant: bool | None) -> Tensor:
    """Copy an array or a constant by an instruction, so that each replay copies it again."""
    _check_constant(constant)
    dtype = dtype.newbyteorder("=")
    if dtype.kind != "f":
        return _checked(np.array(read_now(source), dtype), constant)
    check_dtype(dtype, "tensor")
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
        As for ``numpy.asarray``; float64 and float32 are differentiable.
    order : {'C', 'K', 'A'}, optional
        As for ``numpy.asarray``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.
    device, copy, like
        As for ``numpy.asarray``.

    Returns
    -------
    Tensor
        `a` itself if it is a Tensor that has the dtype and is a constant as asked for.

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
    _check_constant(constant)
    if not is_tensor(a):
        refuse_subclass(a, "asarray")
        array = np.asarray(a, dtype, order, device=device, copy=copy, like=like)
        if array is a or thread.mode.recorder is None:
            return _checked(array, constant)
        return tensor(a, dtype, constant=constant, copy=bool(copy))
    check_order(order, "asarray")
    x: Tensor = a
    if dtype is not None and np.dtype(dtype).newbyteorder("=") != x.dtype:
        if copy is False:
            raise ValueError("asarray: a copy is needed to convert the dtype")
        x = x.astype(dtype)
    elif copy:
        x = x.copy()
    return x if constant is None or x.constant == constant else tensor(x, constant=constant, copy=False)


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a creation function from NumPy's, with the same arguments and `constant`."""

    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if isinstance(made, tuple):  # linspace(retstep=True)
            return _checked(made[0], constant), made[1]
        return _checked(made, constant)

    return _described(make, function)


def _maker_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a creation function whose first argument is an example of shape and dtype."""

    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Tensor:
        args = (*map(_example, args[:1]), *args[1:])
        kwargs = {k: _example(v) if k in ("a", "prototype") else v for k, v in kwargs.items()}
        return _checked(np.asarray(function(*args, **kwargs)), constant)

    return _described(make, function)


def _example(a: Any) -> Any:
    """Return an array of a Tensor's shape and dtype; its contents are not used."""
    return a.data_or_traced() if is_tensor(a) else plain(a, "a creation function")


def _described(make: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the name and the arguments of NumPy's."""
    name = function.__name__
    make.__name__ = make.__qualname__ = name
    known = _signature(function)
    if known is not None:
        constant = inspect.Parameter("constant", inspect.Parameter.KEYWORD_ONLY, default=None)
        vars(make)["__signature__"] = known.replace(parameters=[*known.parameters.values(), constant])
    describe(make, name)
    return make


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # NumPy before 2.4 does not say it of what is written in C
        return None


_LIKE = {name: _maker_like(getattr(np, name)) for name in WORDS if name.endswith("_like")}
_MADE = {name: _maker(getattr(np, name)) for name in WORDS if name not in _LIKE}
CREATION: dict[str, Callable[..., Any]] = {"tensor": tensor, "asarray": asarray, **_MADE, **_LIKE}
FUNCTIONS = _LIKE


def _new(
    cls: type[Tensor], data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True
) -> Tensor:
    """Make a Tensor by calling its class. `from_slot` and `from_array` use ``object.__new__``."""
    return tensor(data, dtype, constant=constant, copy=copy)


_new.__qualname__ = Tensor.__qualname__  # what a TypeError about the arguments calls it
bind_methods(__new__=_new)
