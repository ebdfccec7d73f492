"""Exceptions for the error numbers of compiled code: what happened, and what to write instead."""

from typing import Any

from numpy.linalg import LinAlgError

from tapegrad.engine.kernels.language.status import (
    CALL_FAILED,
    INTERRUPTED,
    NO_REAL_RESULT,
    NOT_CONVERGED,
    NOT_DIFFERENTIABLE,
    NOT_FINITE,
    NOT_POSITIVE_DEFINITE,
    OUT_OF_MEMORY,
    OUT_OF_RANGE,
    PHASE_DEPENDENT,
    SINGULAR,
)
from tapegrad.engine.tape.fields.layout import (
    E_MEMORY,
    E_NDIM,
    E_OUTSIDE,
    E_READ_ONLY,
    E_SHAPES,
    E_STATUS,
    E_SUPERSEDED,
    MAX_NDIM,
)

_OF_MATRICES = {
    SINGULAR: "a matrix is singular",
    NOT_POSITIVE_DEFINITE: "a matrix is not positive definite",
    NOT_CONVERGED: "an iteration of LAPACK's did not converge",
    NOT_DIFFERENTIABLE: (
        "a matrix has repeated eigenvalues, or repeated or zero singular values, and by these the derivative is not"
        " determined"
    ),
    NO_REAL_RESULT: "the result of a real matrix is complex; convert the matrix with astype(complex)",
    NOT_FINITE: "a matrix has elements that are nan or infinite",
    PHASE_DEPENDENT: (
        "the function depends on the phases of complex eigenvectors or singular vectors, which are not determined, and"
        " so is its derivative; use abs(v)**2, v * conj(v[k]), or the projector v @ v.conj().T"
    ),
}
_OTHERS = {
    CALL_FAILED: "a custom op raised an exception",
    INTERRUPTED: "it was interrupted",
    OUT_OF_RANGE: "an index array names a row that does not exist",
    OUT_OF_MEMORY: "there was not enough memory",
}


def reason_of(status: int) -> str:
    """Return the reason for which a kernel stopped; empty for a guard, whose line says more."""
    return _OF_MATRICES.get(status) or _OTHERS.get(status, "")


def error_of_matrices(status: int, where: str) -> LinAlgError | None:
    """Return the exception for a status of kernels of linear algebra; `None` for any other one."""
    reason = _OF_MATRICES.get(status)
    return LinAlgError(f"{where}: {reason}") if reason else None


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
    if error := error_of_matrices(E_STATUS - code, op):
        raise error
    if code <= E_STATUS:
        raise RuntimeError(
            f"{op}: the kernel stopped with status {E_STATUS - code}; operands of shapes {listed}"
        )
    raise RuntimeError(f"{op}: error {code} from the engine; operands of shapes {listed}")


def checked(slot: int, what: str, shape: tuple[int, ...]) -> int:
    """Return a slot that the engine has made; raise if it is an error number."""
    if slot < 0:
        raise_for(slot, what, [shape])
    return slot
