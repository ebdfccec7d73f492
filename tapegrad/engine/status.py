"""From the error numbers of compiled code to exceptions that say what happened and what to write instead."""

from typing import Any

from tapegrad.engine.kernels.status import OUT_OF_RANGE
from tapegrad.engine.tape.layout import (
    E_MEMORY,
    E_NDIM,
    E_OUTSIDE,
    E_READ_ONLY,
    E_SHAPES,
    E_STATUS,
    E_SUPERSEDED,
    MAX_NDIM,
)


def raise_for(code: int, op: str, shapes: list[tuple[int, ...]]) -> Any:
    """Raise the exception for an error number of a recording function."""
    listed = ", ".join(map(str, shapes))
    if code == E_SHAPES:
        raise ValueError(f"{op}: operands of shapes {listed} do not broadcast")
    if code == E_NDIM:
        raise ValueError(f"{op}: more than {MAX_NDIM} dimensions are not supported")
    if code == E_MEMORY:
        raise MemoryError(f"{op}: not enough memory for the result of operands of shapes {listed}")
    if code == E_OUTSIDE:
        raise ValueError(
            f"{op}: an array of shape {listed} reaches outside of the memory that it is to be a view of"
        )
    if code == E_READ_ONLY:
        raise ValueError(f"{op}: assignment destination is read-only")
    if code == E_STATUS - OUT_OF_RANGE:
        raise IndexError(f"{op}: an index array names a row, or a column, that does not exist")
    if code == E_SUPERSEDED:
        raise RuntimeError(
            f"{op}: another thread has written to a Tensor in the midst of this; operands of shapes {listed}."
            " Let one thread at a time work with a Tensor that is written to"
        )
    if code <= E_STATUS:
        raise RuntimeError(
            f"{op}: the kernel stopped with status {E_STATUS - code}; operands of shapes {listed}"
        )
    raise RuntimeError(f"{op}: error {code} from the engine; operands of shapes {listed}")


def checked(slot: int, what: str, shape: tuple[int, ...]) -> int:
    """A slot that the engine has made; an exception if it is an error number."""
    if slot < 0:
        raise_for(slot, what, [shape])
    return slot
