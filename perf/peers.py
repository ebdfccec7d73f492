"""How each library gives the value and the gradient of a workload, as its users would write it.

A peer that is not installed, or has nothing for a workload, is left out with a note.
"""

import importlib
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from perf.timer import Contender
from perf.workloads import Answer, Array, Workload

TAPEGRAD = ("tensor", "jit", "value_and_grad", "sum", "sin")


class Unavailable(Exception):
    """This peer cannot take part; the message says why."""


@dataclass(frozen=True)
class Peer:
    """An adapter: `prepare` makes a contender's `call`, and perhaps `read` and `before`."""

    name: str
    package: str
    prepare: Callable[[Workload, Array], tuple[Any, ...]]
    largest: int | None = None  # sizes beyond take minutes to set up

    def enter(self, workload: Workload, x: Array) -> Contender:
        """This peer on `workload` at `x`; raises `Unavailable`."""
        if self.largest is not None and x.size > self.largest:
            raise Unavailable(f"left out beyond {self.largest} elements")
        return Contender(self.name, *self.prepare(workload, x))


def load(name: str) -> Any:
    """Import a module, without the warnings that other people's packages give."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable(f"not installed ({error})") from error


def tapegrad() -> Any:
    """The library itself; that it is missing is an error, not a note."""
    try:
        module = importlib.import_module("tapegrad")
    except ImportError as error:
        raise RuntimeError(f"tapegrad cannot be imported ({error}); try `pip install -e .`") from error
    missing = [name for name in TAPEGRAD if not hasattr(module, name)]
    if missing:
        raise RuntimeError(f"tapegrad in {module.__path__[0]} has no {', '.join(missing)}")
    return module


def _tapegrad_replay(workload: Workload, x: Array) -> tuple[Any, ...]:
    library = tapegrad()
    return (partial(library.value_and_grad(library.jit(workload.over(library))), x),)


def _tapegrad_eager(workload: Workload, x0: Array) -> tuple[Any, ...]:
    library = tapegrad()
    tensor, function = library.tensor, workload.over(library)

    def call() -> Any:
        x = tensor(x0)
        value = function(x)
        value.backward()
        return value, x.grad

    return call, _read_items


def _read_items(result: Any) -> Answer:
    value, gradient = result
    return value.item(), np.asarray(gradient)


def _torch(workload: Workload, x0: Array, threads: int) -> tuple[Any, ...]:
    torch = load("torch")
    function = workload.over(torch)
    x = torch.tensor(x0, dtype=torch.float64, requires_grad=True)

    def call() -> Any:
        x.grad = None
        value = function(x)
        value.backward()
        return value, x.grad

    return call, _read_items, partial(torch.set_num_threads, threads)


def _jax_function(workload: Workload) -> tuple[Any, Any]:
    jax = load("jax")
    jax.config.update("jax_enable_x64", True)
    return jax, jax.jit(jax.value_and_grad(workload.over(load("jax.numpy"))))


def _jax_numpy(workload: Workload, x: Array) -> tuple[Any, ...]:
    _, function = _jax_function(workload)

    def call() -> Answer:
        value, gradient = function(x)
        return float(value), np.asarray(gradient)

    return (call,)


def _jax_device(workload: Workload, x: Array) -> tuple[Any, ...]:
    jax, function = _jax_function(workload)
    placed, wait = jax.device_put(x), jax.block_until_ready

    def call() -> Any:
        return wait(function(placed))

    return call, lambda result: (float(result[0]), np.asarray(result[1]))


def _autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    transform = load("autograd").value_and_grad
    return (partial(transform(workload.over(load("autograd.numpy"))), x),)


def _mygrad(workload: Workload, x0: Array) -> tuple[Any, ...]:
    library = load("mygrad")
    tensor, function = library.tensor, workload.over(library)

    def call() -> Any:
        x = tensor(x0)
        value = function(x)
        value.backward()
        return value, x.grad

    return call, _read_items


def _casadi(workload: Workload, x: Array) -> tuple[Any, ...]:
    """The buffer API: no conversion at all, the arrays are read and written where they lie."""
    casadi = load("casadi")
    symbol = casadi.SX.sym("x", x.size)
    value = workload.over(SimpleNamespace(sum=casadi.sum1, sin=casadi.sin))(symbol)
    function = casadi.Function("function", [symbol], [value, casadi.gradient(value, symbol)])
    buffer, evaluate = function.buffer()
    results = np.empty(1), np.empty(x.size)
    buffer.set_arg(0, memoryview(x.data))
    for i, result in enumerate(results):
        buffer.set_res(i, memoryview(result.data))

    def read(_: Any, alive: Any = (function, buffer)) -> Answer:  # `evaluate` holds bare addresses
        return float(results[0][0]), results[1]

    return evaluate, read


def _by_hand(workload: Workload, x: Array) -> tuple[Any, ...]:
    load("numba")
    loops = importlib.import_module("perf.by_hand").BY_HAND
    if workload.name not in loops:
        raise Unavailable("nobody has written this one by hand")
    return (partial(loops[workload.name], x),)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("tapegrad replay", "tapegrad", _tapegrad_replay),
        Peer("tapegrad eager", "tapegrad", _tapegrad_eager),
        Peer("torch eager", "torch", partial(_torch, threads=2)),
        Peer("torch eager, one thread", "torch", partial(_torch, threads=1)),
        Peer("JAX jit, NumPy in and out", "jax", _jax_numpy),
        Peer("JAX jit, device arrays", "jax", _jax_device),
        Peer("HIPS autograd", "autograd", _autograd),
        Peer("MyGrad", "mygrad", _mygrad),
        Peer("CasADi, buffer API", "casadi", _casadi, largest=1_000),
        Peer("by hand, fused Numba loop", "numba", _by_hand),
    )
}


def enter(
    workload: Workload, x: Array, without: Collection[str] = (), names: Collection[str] | None = None
) -> tuple[list[Contender], list[str]]:
    """The contenders on `workload` at `x`, and a note on each peer that is left out.

    Parameters
    ----------
    workload : Workload
        What is differentiated.
    x : ndarray
        Its input.
    without : collection of str
        Packages to leave out.
    names : collection of str, optional
        The peers wanted; all of them by default.
    """
    contenders, notes = [], []
    for peer in PEERS.values() if names is None else [PEERS[name] for name in names]:
        try:
            if peer.package in without:
                raise Unavailable("left out on request")
            contenders.append(peer.enter(workload, x))
        except Unavailable as reason:
            notes.append(f"{peer.name}: {reason}")
    return contenders, notes
