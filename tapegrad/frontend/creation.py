"""Make Tensors."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.array_checks import check_dtype, plain, refuse_subclass
from tapegrad.frontend.modes import modes, thread
from tapegrad.frontend.record import as_float, read_now, unary
from tapegrad.frontend.shape import check_order
from tapegrad.frontend.tensor import Tensor, bind_methods, copy_of, from_array, is_tensor
from tapegrad.ops import CODES

_FLOAT64 = np.dtype(np.float64)


def _check_constant(constant: Any) -> None:
    if constant is not None and not isinstance(constant, bool | np.bool_):
        raise TypeError(f"constant must be True, False or None, not {constant!r}")


def _checked(array: np.ndarray, constant: bool | None) -> Tensor:
    """A Tensor on an array, if dtype and `constant` go together."""
    _check_constant(constant)
    check_dtype(array.dtype, "tensor")
    if constant is not None and not constant and array.dtype.kind != "f":
        raise ValueError(
            f"a Tensor of dtype {array.dtype} is always constant; write tensor(..., dtype=float)"
        )
    return from_array(array, constant=bool(constant))


def tensor(data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True) -> Tensor:
    """A Tensor with a copy of `data`.

    Parameters
    ----------
    data
        Array, number, nested sequence or Tensor. From a Tensor the contents are taken, not the graph.
    dtype
        float64 or float32 to be differentiable; integers and booleans are constants. NumPy's choice by default.
    constant
        ``True``: no gradient flows into it.
    copy
        ``False``: use an array's own memory where that is possible. What is written to the array afterwards, the
        tape does not know of: see `asarray`.

    Raises
    ------
    UnsupportedError
        For float16, complex and other dtypes that are not supported.
    ValueError
        For ``constant=False`` with integers or booleans.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1, 2], dtype=float)
    Tensor([1., 2.])
    """
    if type(data) is np.ndarray and data.dtype is _FLOAT64 and dtype is None and constant is None and copy:
        made = copy_of(data, False) if not modes.active else None
        if made is not None:
            return made
    source = data.data if is_tensor(data) else data
    refuse_subclass(source, "tensor")
    if modes.active and thread.tape.recording and isinstance(source, np.ndarray):
        target = source.dtype if dtype is None else np.dtype(dtype)
        if copy or target != source.dtype:
            return _recorded_copy(data.detach() if is_tensor(data) else source, target, constant)
    return _checked(np.array(source, dtype) if copy else np.asarray(source, dtype), constant)


def _recorded_copy(source: Any, dtype: np.dtype[Any], constant: bool | None) -> Tensor:
    """A copy, of an array or of a constant, that each replay makes anew."""
    _check_constant(constant)
    dtype = dtype.newbyteorder("=")
    if dtype.kind != "f":
        return _checked(np.array(read_now(source), dtype), constant)
    check_dtype(dtype, "tensor")
    copy = unary(CODES["positive"], as_float(source, dtype, thread.tape, False))
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
    """`a` as a Tensor: a Tensor as it is, an array without a copy of its memory.

    Parameters
    ----------
    a
        Array, number, nested sequence or Tensor.
    dtype, order, device, copy, like
        As for ``numpy.asarray``.
    constant
        ``True``: no gradient flows into it.

    Notes
    -----
    The Tensor and the array share memory, so each sees what is written to the other. The tape keeps old contents
    where a write goes through the Tensor, but it does not see one that goes through the array, nor one to
    ``t.data``: a graph that was recorded before gives wrong gradients after it. With ``TAPEGRAD_CHECK=1`` in the
    environment `backward` says so instead: it raises `ChangedValueError`.
    """
    _check_constant(constant)
    if not is_tensor(a):
        refuse_subclass(a, "asarray")
        array = np.asarray(a, dtype, order, device=device, copy=copy, like=like)
        if array is a or not (modes.active and thread.tape.recording):
            return _checked(array, constant)
        return tensor(a, dtype, constant=constant, copy=bool(copy))
    check_order(order, "asarray")
    if dtype is not None and np.dtype(dtype).newbyteorder("=") != a.dtype:
        if copy is False:
            raise ValueError("asarray: a copy is needed to convert the dtype")
        a = a.astype(dtype)
    elif copy:
        a = a.copy()
    if constant is None or a.constant == constant:
        return a  # type: ignore[no-any-return]
    return tensor(a, constant=constant, copy=False)


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """A creation function of NumPy's, with its very arguments, that makes a Tensor."""

    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if isinstance(made, tuple):  # linspace(retstep=True)
            return _checked(made[0], constant), made[1]
        return _checked(made, constant)

    return _described(make, function)


def _maker_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a function whose first argument is an example of shape and dtype."""

    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Tensor:
        args = (*map(_example, args[:1]), *args[1:])
        kwargs = {k: _example(v) if k in ("a", "prototype") else v for k, v in kwargs.items()}
        return _checked(np.asarray(function(*args, **kwargs)), constant)

    return _described(make, function)


def _example(a: Any) -> Any:
    """An array of a Tensor's shape and dtype, whose contents nobody looks at."""
    return a.data_or_traced() if is_tensor(a) else plain(a, "a creation function")


def _described(make: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the name and the arguments of NumPy's."""
    name = function.__name__
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{_SUMMARIES[name]} A Tensor, with the arguments of ``numpy.{name}`` and `constant`."
    try:
        known = inspect.signature(function)
    except ValueError:  # NumPy before 2.4 does not say it of what is written in C
        return make
    constant = inspect.Parameter("constant", inspect.Parameter.KEYWORD_ONLY, default=None)
    vars(make)["__signature__"] = known.replace(parameters=[*known.parameters.values(), constant])
    return make


_SUMMARIES = {
    "zeros": "Zeros.",
    "ones": "Ones.",
    "empty": "Memory whose contents are not set.",
    "full": "`fill_value` everywhere.",
    "eye": "Ones on the `k`-th diagonal, zeros elsewhere.",
    "arange": "Numbers from `start` to before `stop` in steps.",
    "linspace": "`num` numbers at equal distances from `start` to `stop`.",
    "zeros_like": "Zeros of the shape and dtype of `a`.",
    "ones_like": "Ones of the shape and dtype of `a`.",
    "empty_like": "Memory of the shape and dtype of `prototype` whose contents are not set.",
    "full_like": "`fill_value` in the shape and dtype of `a`.",
}
_LIKE = {name: _maker_like(getattr(np, name)) for name in _SUMMARIES if name.endswith("_like")}
_MADE = {name: _maker(getattr(np, name)) for name in _SUMMARIES if name not in _LIKE}
CREATION: dict[str, Callable[..., Any]] = {"tensor": tensor, "asarray": asarray, **_MADE, **_LIKE}
FUNCTIONS = _LIKE


def _new(cls: type[Tensor], data: Any = None, dtype: Any = None, **arguments: Any) -> Tensor:
    """The user's way to make a Tensor by its class; `from_slot` and `from_array` go by ``object.__new__``."""
    return tensor(data, dtype, **arguments)


bind_methods(__new__=_new)
