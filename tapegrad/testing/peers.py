"""Contenders of a benchmark: a function written in NumPy's words and its derivatives, by this and other libraries.

A maker is called with the function, an example of its argument, and the name of a quantity. It returns a function of
the argument, for a product also of the direction. This takes and returns NumPy arrays: each library converts what it
has to.
"""

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from types import FunctionType
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.creation import tensor
from tapegrad.testing.namespaces import NamespaceCopies, PeerNames
from tapegrad.testing.timer import Answer
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.jacobians.hessian import hvp
from tapegrad.transforms.jit import jit

QUANTITIES = "value", "gradient", "hvp"
_LIKE_SCIPY = "autograd", "jax"  # packages with modules of NumPy's and SciPy's names
_CASADI_NAMES = {
    "abs": "fabs", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "maximum": "fmax",
    "minimum": "fmin", "sum": "sum1", "where": "if_else",
}  # fmt: skip
_MAX_CASADI_ELEMENTS = 1_000  # expressions of single numbers: beyond, they take minutes to set up
Function = Callable[..., Any]


@contextmanager
def imported(names: Iterable[str]) -> Iterator[dict[str, str]]:
    """Import libraries and yield the versions of those that are installed. JAX has double precision meanwhile."""
    versions: dict[str, str] = {}
    for name in names:
        # Warnings of other people's packages say nothing of the function
        with warnings.catch_warnings(action="ignore"), suppress(ImportError):
            importlib.import_module(f"{name}.scipy.special" if name in _LIKE_SCIPY else name)
            versions[name] = version(name)
    if "jax" not in versions:
        yield versions
        return
    config: Any = sys.modules["jax"].config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    try:
        yield versions
    finally:
        config.update("jax_enable_x64", before)


def read(result: Any) -> Answer:
    """Return the answer in the result of a call: value and gradient, or one array."""
    return tuple(map(np.asarray, result if isinstance(result, tuple) else (result,)))


def _copy(f: Function, modules: dict[str, Any], asarray: Callable[[np.ndarray], Any]) -> Any:
    """Return a function with other modules in place of NumPy and tapegrad."""
    if not isinstance(f, FunctionType):
        raise TypeError(f"only a function of Python can have another namespace, not {type(f).__name__}")
    return NamespaceCopies(modules, asarray).function(f)


def _copy_like_scipy(f: Function, package: str, asarray: str) -> Any:
    """Return a function with the modules of a package that names them as NumPy and SciPy do."""
    numpy, scipy = importlib.import_module(f"{package}.numpy"), importlib.import_module(f"{package}.scipy")
    modules = {"numpy": numpy, "tapegrad": numpy, "scipy": scipy, "tapegrad.special": scipy.special}
    return _copy(f, modules, getattr(numpy, asarray))


def _eager(f: Function, x: np.ndarray, quantity: str) -> Any:
    return {"value": lambda x: f(tensor(x)).item(), "gradient": value_and_grad(f), "hvp": hvp(f)}[quantity]


def _replay(f: Function, x: np.ndarray, quantity: str) -> Any:
    recorded = jit(f, fuse=True)  # at once: else a thread compiles segments while contenders are timed
    return {"value": recorded, "gradient": value_and_grad(recorded), "hvp": hvp(recorded)}[quantity]


def _numpy(f: Function, x: np.ndarray, quantity: str) -> Any:
    return f


def _jax(f: Function, x: np.ndarray, quantity: str) -> Any:
    jax, copy = importlib.import_module("jax"), _copy_like_scipy(f, "jax", "asarray")
    product = lambda x, v: jax.jvp(jax.grad(copy), (x,), (v,))[1]  # noqa: E731
    call = jax.jit({"value": copy, "gradient": jax.value_and_grad(copy), "hvp": product}[quantity])
    return lambda *given: read(call(*given))


def _autograd(f: Function, x: np.ndarray, quantity: str) -> Any:
    library, copy = importlib.import_module("autograd"), _copy_like_scipy(f, "autograd", "array")
    product = library.hessian_vector_product
    return {"value": copy, "gradient": library.value_and_grad(copy), "hvp": product(copy)}[quantity]


def _torch(f: Function, x: np.ndarray, quantity: str) -> Any:
    torch = importlib.import_module("torch")
    names = PeerNames(torch, {"array": torch.as_tensor, "power": torch.pow, "transpose": torch.permute})
    modules = {
        "numpy": names,
        "tapegrad": names,
        "scipy.special": torch.special,
        "tapegrad.special": torch.special,
    }
    copy, differentiate = _copy(f, modules, torch.as_tensor), torch.autograd.grad

    def call(x: np.ndarray, v: np.ndarray | None = None) -> Any:
        argument = torch.tensor(x, requires_grad=quantity != "value")
        value = copy(argument)
        if quantity == "value":
            return value.item()
        (slope,) = differentiate(value, argument, create_graph=v is not None)
        if v is None:
            return value.item(), slope.numpy()
        return differentiate(slope, argument, torch.as_tensor(v))[0].numpy()

    return call


def _casadi(f: Function, x: np.ndarray, quantity: str) -> Any:
    casadi = importlib.import_module("casadi")
    if x.ndim != 1 or x.size > _MAX_CASADI_ELEMENTS or x.dtype != np.float64:
        raise ValueError(f"only vectors of at most {_MAX_CASADI_ELEMENTS} elements, float64")
    names = PeerNames(casadi, {name: getattr(casadi, theirs) for name, theirs in _CASADI_NAMES.items()})
    at, along = casadi.SX.sym("x", x.size), casadi.SX.sym("v", x.size)
    value = _copy(f, {"numpy": names, "tapegrad": names}, casadi.DM)(at)
    slope = casadi.gradient(value, at)
    results = {"value": [value], "gradient": [value, slope], "hvp": [casadi.jtimes(slope, at, along)]}[
        quantity
    ]
    function = casadi.Function("f", [at, along], [casadi.densify(each) for each in results])
    buffer, evaluate = function.buffer()  # which have bare addresses: `call` keeps the function alive

    def call(*given: np.ndarray, alive: Any = function) -> tuple[np.ndarray, ...]:
        found = tuple(np.empty(() if each is value else x.shape) for each in results)
        for number, array in enumerate(given):
            buffer.set_arg(number, array.data)
        for number, array in enumerate(found):
            buffer.set_res(number, array.data)
        evaluate()
        return found

    return call


OWN = {"tapegrad eager": _eager, "tapegrad replay": _replay}
PEERS = {"numpy": _numpy, "jax": _jax, "autograd": _autograd, "torch": _torch, "casadi": _casadi}
MAKERS = {**OWN, **PEERS}
