"""Arguments of ufuncs: `out`, `where`, `casting`, `order`, `dtype` and `subok`.

A function is made from a computation on operands alone. Functions of the op table come here only if one of these
arguments is given.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.layouts import in_order
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.outputs import deliver_broadcast, one_output
from tapegrad.frontend.recording.record import (
    apply_by_xarray,
    as_float,
    holds_data_arrays,
    list_as_tensor,
    read_now,
)
from tapegrad.frontend.tensor.array_checks import check_dtype, plain, refuse_complex
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.ops.documentation import argument_names

_PARAMETER = inspect.Parameter
_KEYWORDS: dict[str, Any] = {
    "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True,
}  # fmt: skip


class Ufunc(NamedTuple):
    """Function of operands that broadcast.

    Attributes
    ----------
    name
        In full, for messages.
    compute
        The results of operands of any kind: one, or a tuple of several.
    rules
        NumPy's ufunc whose rules for dtypes hold.
    """

    name: str
    compute: Callable[..., Any]
    rules: np.ufunc


def with_arguments(ufunc: Ufunc) -> Callable[..., Any]:
    """Make the function with all arguments of a ufunc."""

    def call(
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: Any = True,
        signature: Any = None,
    ) -> Any:
        operands, targets = _split(ufunc, args, out)
        if holds_data_arrays(operands) and targets == (None,) * len(targets) and where is True:
            return apply_by_xarray(ufunc.rules, operands)
        if order not in (None, "C", "F", "A", "K"):
            raise ValueError(f"{ufunc.name}: order must be one of 'C', 'F', 'A' or 'K', not {order!r}")
        if dtype is not None or signature is not None or casting != "same_kind":
            operands = _converted(ufunc, operands, dtype if signature is None else signature, casting)
        results = ufunc.compute(*operands)
        if order == "F":
            results = _by_columns(results, ufunc.name)
        if len(targets) == 1:
            return deliver_broadcast(results, *targets, where, casting, name=ufunc.name)
        each = zip(results, targets, strict=True)
        return tuple(deliver_broadcast(*pair, where, casting, name=ufunc.name) for pair in each)

    call.__name__ = call.__qualname__ = ufunc.rules.__name__
    vars(call)["__signature__"] = signature_of(argument_names(ufunc.rules.nin), ufunc.rules.nout)
    return call


def _by_columns(results: Any, name: str) -> Any:
    """Return one result or several in Fortran order; plain booleans unchanged."""
    if isinstance(results, tuple):
        return tuple(_by_columns(each, name) for each in results)
    return in_order(results, "F", name) if is_tensor(results) else np.asfortranarray(results)


@functools.cache  # three hundred functions have twenty signatures
def signature_of(operands: tuple[str, ...], results: int = 1) -> inspect.Signature:
    """Return the signature of a function of operands of these names and this number of results, as NumPy writes it."""
    names = [*operands, *(f"out{k + 1}" for k in range(results if results > 1 else 0))]
    positional = [
        _PARAMETER(name, _PARAMETER.POSITIONAL_ONLY, default=None if "out" in name else _PARAMETER.empty)
        for name in names
    ]
    out = _PARAMETER(
        "out", _PARAMETER.POSITIONAL_OR_KEYWORD, default=None if results == 1 else (None,) * results
    )
    keywords = [_PARAMETER(name, _PARAMETER.KEYWORD_ONLY, default=value) for name, value in _KEYWORDS.items()]
    return inspect.Signature([*positional, out, *keywords])


def _split(ufunc: Ufunc, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the operands, and the `out` of each result."""
    count, results = ufunc.rules.nin, ufunc.rules.nout
    operands, outputs = args[:count], args[count:]
    if not count <= len(args) <= count + results:
        raise TypeError(
            f"{ufunc.name} takes {count} operands and up to {results} outputs, not {len(args)} arguments"
        )
    if outputs and any(each is not None for each in (out if isinstance(out, tuple) else (out,))):
        raise TypeError(f"{ufunc.name}: 'out' is given by position and by name")
    if outputs:
        outputs += (None,) * (results - len(outputs))
    elif results == 1 or isinstance(out, tuple):
        outputs = out if isinstance(out, tuple) else (out,)
    elif out is not None:
        raise TypeError(f"{ufunc.name}: 'out' must be a tuple of {results} Tensors or arrays")
    else:
        outputs = (None,) * results
    if len(outputs) != results:
        raise ValueError(f"{ufunc.name}: 'out' has {len(outputs)} entries; there are {results} results")
    return operands, tuple(one_output(output, ufunc.name) for output in outputs)


# --- dtypes ----------------------------------------------------------------------------------------------------


def _converted(ufunc: Ufunc, operands: tuple[Any, ...], dtype: Any, casting: Any) -> tuple[Any, ...]:
    """Convert operands to the dtypes in which NumPy would compute; raise if `casting` does not allow it."""
    count, results = ufunc.rules.nin, ufunc.rules.nout
    operands = tuple(list_as_tensor(x, ufunc.name) if holds_tensors(x) else x for x in operands)
    kinds = (*map(kind_of, operands), *[None] * results)
    loop = _loop(dtype, count, results)
    found: Any = ufunc.rules.resolve_dtypes(kinds, signature=loop, casting=casting)
    if dtype is None:
        return operands
    return tuple(
        in_dtype(value, kind, ufunc.name) for value, kind in zip(operands, found[:count], strict=True)
    )


def _loop(dtype: Any, count: int, results: int) -> tuple[Any, ...]:
    """Return the requested dtypes: of the results by `dtype`, or of everything as in ``"dd->d"``."""
    if isinstance(dtype, str) and "->" in dtype:
        return tuple(np.dtype(letter) for letter in dtype.replace("->", ""))
    if isinstance(dtype, tuple):
        return tuple(None if each is None else np.dtype(each) for each in dtype)
    return (*[None] * count, *[None if dtype is None else np.dtype(dtype)] * results)


def kind_of(value: Any) -> Any:
    """Return the dtype of an operand, or the type of a Python number, which is weak."""
    recorder = thread.mode.recorder
    if type(value) in (int, float):
        return type(value)
    if is_tensor(value) and recorder is not None and recorder.is_weak(value):
        return float
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def in_one_dtype(name: str, *operands: Any, takes_complex: bool = False) -> list[Any]:
    """Return operands as Tensors of the dtype that they promote to, of floats; float64 for integers alone."""
    operands = tuple(list_as_tensor(x, name) if holds_tensors(x) else x for x in operands)
    kinds = [kind(0) if isinstance(kind, type) else kind for kind in map(kind_of, operands)]
    dtype = np.result_type(*kinds)
    if dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    if dtype.kind == "c" and not takes_complex:
        refuse_complex(dtype, name)
    return [in_dtype(value, dtype, name) for value in operands]


def in_dtype(value: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Return an operand as a Tensor of a dtype."""
    check_dtype(dtype, name, takes_complex=True)
    if not is_tensor(value):
        value = plain(value, name)
        if dtype.kind in DIFFERENTIABLE_KINDS:
            return as_float(value, dtype, thread.mode.tape, True)
        return from_array(read_now(value).astype(dtype), constant=True)
    if (
        dtype.kind not in DIFFERENTIABLE_KINDS
        and value.dtype.kind in DIFFERENTIABLE_KINDS
        and not value.constant
    ):
        raise UnsupportedError(
            f"{name}: a result of {dtype} would have no gradient; convert the operand with astype, or use t.detach()"
        )
    return value.astype(dtype, copy=False)
