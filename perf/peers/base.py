"""Base of peers and of their adapters."""

import importlib
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from perf.workloads import Answer, Array, Workload
from tapegrad.testing.timer import Contender

TAPEGRAD = ("tensor", "jit", "value_and_grad", "hvp", "hessian", "jacfwd", "sum", "sin", "exp")


class Unavailable(Exception):
    """This peer cannot take part; the message says why."""


@dataclass(frozen=True)
class Peer:
    """An adapter: `prepare` makes a contender's `call`, and perhaps `read` and `before`."""

    name: str
    package: str
    prepare: Callable[..., tuple[Any, ...]]
    largest: int | None = None  # sizes beyond take minutes to set up

    def enter(self, workload: Workload, x: Array) -> Contender:
        """Return this peer's contender on `workload` at `x`; raise `Unavailable`."""
        if self.largest is not None and x.size > self.largest:
            raise Unavailable(f"left out beyond {self.largest} elements")
        return Contender(self.name, *self.prepare(workload, x))


def table(*peers: Peer) -> dict[str, Peer]:
    """Peers by their names."""
    return {peer.name: peer for peer in peers}


def enter(
    peers: Mapping[str, Peer],
    workload: Workload,
    x: Array,
    without: Collection[str] = (),
    names: Iterable[str] | None = None,
) -> tuple[list[Contender], list[str]]:
    """Return the contenders on `workload` at `x`, and a note on each peer that is left out.

    Parameters
    ----------
    peers : mapping of str to Peer
        The table of a derivative.
    workload : Workload
        What is differentiated.
    x : ndarray
        Its input.
    without : collection of str
        Packages to leave out.
    names : iterable of str, optional
        The peers wanted; all of the table by default.
    """
    contenders, notes = [], []
    for peer in peers.values() if names is None else [peers[name] for name in names]:
        try:
            if peer.package in without:
                raise Unavailable("left out on request")
            contenders.append(peer.enter(workload, x))
        except Unavailable as reason:
            notes.append(f"{peer.name}: {reason}")
    return contenders, notes


def load(name: str) -> Any:
    """Import a module, without the warnings that other people's packages give."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable(f"not installed ({error})") from error


def tapegrad() -> Any:
    """Import the library itself; that it is missing is an error, not a note."""
    try:
        module = importlib.import_module("tapegrad")
    except ImportError as error:
        raise RuntimeError(f"tapegrad cannot be imported ({error}); try `pip install -e .`") from error
    missing = [name for name in TAPEGRAD if not hasattr(module, name)]
    if missing:
        raise RuntimeError(f"tapegrad in {module.__path__[0]} has no {', '.join(missing)}")
    return module


def jax() -> Any:
    """JAX, in float64."""
    module = load("jax")
    module.config.update("jax_enable_x64", True)
    return module


def recorded(workload: Workload) -> Any:
    """Record a workload by tapegrad, whose segments are compiled before anything is timed, as the others' code is."""
    library = tapegrad()
    return library.jit(workload.over(library), fuse=True)


def one(result: Any) -> Answer:
    """Return the answer that is a single array."""
    return (np.asarray(result),)


# --- transforms of JAX and expressions of CasADi ---------------------------------------------------------------------


def jax_numpy(make: Callable[[Any], Callable[[Any], Any]]) -> Callable[..., tuple[Any, ...]]:
    """``make(jax)`` is a transform of a function: jitted, and called with and made into NumPy arrays."""

    def prepare(workload: Workload, x: Array, *more: Array) -> tuple[Any, ...]:
        function = _jitted(make, workload)
        return lambda: np.asarray(function(x, *more)), one

    return prepare


def jax_device(make: Callable[[Any], Callable[[Any], Any]]) -> Callable[..., tuple[Any, ...]]:
    """Return a contender on arrays that are on JAX's device already, and left there."""

    def prepare(workload: Workload, x: Array, *more: Array) -> tuple[Any, ...]:
        function, wait = _jitted(make, workload), jax().block_until_ready
        placed = [jax().device_put(each) for each in (x, *more)]
        return lambda: wait(function(*placed)), one

    return prepare


def _jitted(make: Callable[[Any], Callable[[Any], Any]], workload: Workload) -> Any:
    library, namespace = jax(), load("jax.numpy")
    return library.jit(make(library)(workload.over(namespace, namespace.asarray)))


def casadi(
    expressions: Callable[..., list[Any]], workload: Workload, *inputs: Array, fresh: bool = False
) -> tuple[Any, ...]:
    """CasADi's buffer API: no conversion at all, the arrays are read and written in place.

    ``expressions(casadi, value, *symbols)`` are the results, scalars, vectors or matrices. With `fresh`, each call is
    given its inputs, whose sizes CasADi checks, and returns new arrays, as calls of other contenders do.
    """
    library = load("casadi")
    symbols = [library.SX.sym(f"x{i}", each.size) for i, each in enumerate(inputs)]
    namespace = SimpleNamespace(sum=library.sum1, sin=library.sin, exp=library.exp)
    value = workload.over(namespace, library.DM)(symbols[0])
    outputs = [library.densify(each) for each in expressions(library, value, *symbols)]
    function = library.Function("function", symbols, outputs)
    buffer, evaluate = function.buffer()
    shapes = [each.shape for each in outputs]

    def bind() -> list[Array]:
        results = [np.empty(shape, order="F") for shape in shapes]
        for i, each in enumerate(inputs):
            buffer.set_arg(i, memoryview(each.data))
        for i, result in enumerate(results):
            buffer.set_res(i, memoryview(result.reshape(-1, order="F").data))
        return results

    def call() -> list[Array]:
        found = bind()
        evaluate()
        return found

    bound = bind()

    def read(
        found: Any, alive: Any = (function, buffer, inputs)
    ) -> Answer:  # `evaluate` holds bare addresses
        return tuple(result.squeeze() for result in (found if fresh else bound))

    return (call if fresh else evaluate), read
