"""Value and gradient."""

import ctypes
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from perf.peers.base import Peer, Unavailable, casadi, jax, load, recorded, table, tapegrad
from perf.workloads import Answer, Array, Workload


def _tapegrad_replay(workload: Workload, x: Array) -> tuple[Any, ...]:
    return (partial(tapegrad().value_and_grad(recorded(workload)), x),)


def _tapegrad_buffers(workload: Workload, x: Array) -> tuple[Any, ...]:
    """Call the C function of a compiled one by ctypes: it reads and writes given arrays."""
    compiled = tapegrad().compile(tapegrad().value_and_grad(recorded(workload)), x)
    pointer, gradient = (
        compiled.cfunc("double(int n, const double *x, double *g, void *user)"),
        np.empty_like(x),
    )
    addresses = [each.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for each in (x, gradient)]

    def read(value: float, alive: Any = pointer) -> Answer:
        return value, gradient

    return partial(pointer.ctypes, x.size, *addresses, pointer.user_data), read


def _eager(library: Callable[[], Any], workload: Workload, x0: Array) -> tuple[Any, ...]:
    """Make a Tensor of the input, call the function and `backward`: the same calls in tapegrad and in MyGrad."""
    tensor, function = library().tensor, workload.over(library())

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
    library = jax()
    return library, library.jit(library.value_and_grad(workload.over(load("jax.numpy"))))


def _jax_numpy(workload: Workload, x: Array) -> tuple[Any, ...]:
    _, function = _jax_function(workload)

    def call() -> Answer:
        value, gradient = function(x)
        return float(value), np.asarray(gradient)

    return (call,)


def _jax_device(workload: Workload, x: Array) -> tuple[Any, ...]:
    library, function = _jax_function(workload)
    placed, wait = library.device_put(x), library.block_until_ready

    def call() -> Any:
        return wait(function(placed))

    return call, lambda result: (float(result[0]), np.asarray(result[1]))


def _pytensor(workload: Workload, x0: Array) -> tuple[Any, ...]:
    """Compile by Numba what PyTensor has fused; the input is not copied."""
    library, tensor = load("pytensor"), load("pytensor.tensor")
    x = tensor.vector("x")
    value = workload.over(tensor)(x)
    function = library.function(
        [library.In(x, borrow=True)], [value, library.grad(value, x)], mode="NUMBA", trust_input=True
    )
    return partial(function, x0), lambda result: (float(result[0]), np.asarray(result[1]))


def _autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    transform = load("autograd").value_and_grad
    return (partial(transform(workload.over(load("autograd.numpy"))), x),)


def _value_and_gradient(casadi: Any, value: Any, x: Any) -> list[Any]:
    return [value, casadi.gradient(value, x)]


def _baseline(workload: Workload, x: Array) -> tuple[Any, ...]:
    load("numba")
    loops = importlib.import_module("perf.fused_baselines").BASELINES
    if workload.name not in loops:
        raise Unavailable("no baseline was written for this function")
    return (partial(loops[workload.name], x),)


GRADIENTS = table(
    Peer("tapegrad replay", "tapegrad", _tapegrad_replay),
    Peer("tapegrad eager", "tapegrad", partial(_eager, tapegrad)),
    Peer("torch eager", "torch", partial(_torch, threads=2)),
    Peer("torch eager, one thread", "torch", partial(_torch, threads=1)),
    Peer("JAX jit, NumPy in and out", "jax", _jax_numpy),
    Peer("JAX jit, device arrays", "jax", _jax_device),
    Peer("PyTensor, by Numba", "pytensor", _pytensor),
    Peer("HIPS autograd", "autograd", _autograd),
    Peer("MyGrad", "mygrad", partial(_eager, partial(load, "mygrad"))),
    Peer("CasADi, buffer API", "casadi", partial(casadi, _value_and_gradient), largest=1_000),
    Peer("CasADi, new arrays", "casadi", partial(casadi, _value_and_gradient, fresh=True), largest=1_000),
    Peer("tapegrad C function, buffers", "tapegrad", _tapegrad_buffers),
    Peer("by hand, fused Numba loop", "numba", _baseline),
)
