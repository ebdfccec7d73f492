"""Functions of `scipy.linalg` that differ from NumPy's of the same name, and those that are written with others."""

import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.words.scipys_functions import EXPRESSIONS
from tapegrad.interop.in_place.arguments import array_of, named, signature_of

# Functions whose replacement, as messages tell it, computes all that SciPy's does
_WRITTEN = (
    "cholesky", "companion", "eigh_tridiagonal", "eigvalsh_tridiagonal", "expm_frechet", "fractional_matrix_power",
    "khatri_rao", "leslie", "pinvh", "polar", "signm", "solve_circulant", "subspace_angles",
)  # fmt: skip


def written(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that the replacement of a function of SciPy states, with those arguments that it names."""
    expression, _, definition = EXPRESSIONS[name].partition(" with ")
    parameters = signature_of(theirs).parameters.values()
    used = [each for each in parameters if re.search(rf"\b{each.name}\b", EXPRESSIONS[name])]
    names = ", ".join(each.name for each in used)
    lines = f"{names}, = map(lists, ({names},))", definition, f"return {expression}"
    variables = {"np": np, "tapegrad": importlib.import_module("tapegrad"), "lists": _array_of_list}
    exec(f"def written({names}):\n " + "\n ".join(lines), variables)
    function: Any = variables["written"]
    function.__defaults__ = tuple(each.default for each in used if each.default is not each.empty)
    return function  # type: ignore[no-any-return]


def _array_of_list(value: Any) -> Any:
    return array_of(value) if isinstance(value, list) else value


def qr(a: Any, mode: str = "full") -> Any:
    """Compute factors Q and R."""
    modes = {"full": "complete", "economic": "reduced", "r": "complete"}
    if mode not in modes:
        raise UnsupportedError(
            f"scipy.linalg.qr: mode={mode!r} is not for Tensors; write one of {', '.join(modes)}"
        )
    factors = tuple(linalg.qr(a, modes[mode]))
    return factors[1:] if mode == "r" else factors


def eig(a: Any, right: bool = True) -> Any:
    """Compute eigenvalues and right eigenvectors."""
    return tuple(linalg.eig(a)) if right else linalg.eigvals(a)


def eigh(a: Any, lower: bool = True, eigvals_only: bool = False) -> Any:
    """Compute eigenvalues and eigenvectors of a Hermitian matrix."""
    pair = tuple(linalg.eigh(a, "L" if lower else "U"))
    return pair[0] if eigvals_only else pair


def eigvalsh(a: Any, lower: bool = True) -> Any:
    """Compute eigenvalues of a Hermitian matrix."""
    return linalg.eigvalsh(a, "L" if lower else "U")


def lstsq(a: Any, b: Any, cond: float | None = None) -> Any:
    """Solve a linear least-squares problem."""
    x, residues, rank, s = linalg.lstsq(a, b, np.finfo(float).eps if cond is None else cond)
    return x, residues[0] if np.ndim(b) == 1 and residues.size else residues, rank, s


def pinv(a: Any, rtol: Any = None) -> Any:
    """Compute the pseudo-inverse."""
    return linalg.pinv(a, rtol=rtol)


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions by their names."""
    import scipy.linalg

    there = [(name, getattr(scipy.linalg, name)) for name in _WRITTEN if hasattr(scipy.linalg, name)]
    own = named(qr, eig, eigh, eigvalsh, lstsq, pinv)
    return own | {name: written(f"scipy.linalg.{name}", theirs) for name, theirs in there}
