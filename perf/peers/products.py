"""The product of a Hessian and a vector."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from perf.peers.base import Peer, casadi, jax_device, jax_numpy, load, one, recorded, table, tapegrad
from perf.second_order import direction
from perf.workloads import Array, Workload


def _replay(workload: Workload, x: Array) -> tuple[Any, ...]:
    return partial(tapegrad().hvp(recorded(workload)), x, direction(x)), one


def _unrecorded(workload: Workload, x: Array) -> tuple[Any, ...]:
    library = tapegrad()
    return partial(library.hvp(workload.over(library)), x, direction(x)), one


def _eager(workload: Workload, x0: Array) -> tuple[Any, ...]:
    """Run a second `backward` through the gradient of the first."""
    library = tapegrad()
    tensor, function, v = library.tensor, workload.over(library), direction(x0)

    def call() -> Any:
        x = tensor(x0)
        function(x).backward(create_graph=True)
        gradient = x.grad
        x.null_grad()
        (gradient @ v).backward(inputs=x)
        return x.grad

    return call, one


def _torch(workload: Workload, x0: Array) -> tuple[Any, ...]:
    """Run a second sweep through the gradient of the first."""
    torch = load("torch")
    function, differentiate = workload.over(torch), torch.autograd.grad
    x, v = torch.tensor(x0, requires_grad=True), torch.tensor(direction(x0))

    def call() -> Any:
        (gradient,) = differentiate(function(x), x, create_graph=True)
        return differentiate(gradient @ v, x)[0]

    return call, one, partial(torch.set_num_threads, 2)


def _torch_func(workload: Workload, x0: Array) -> tuple[Any, ...]:
    """Return the tangent of the gradient."""
    torch = load("torch")
    gradient = load("torch.func").grad(workload.over(torch))
    x, v, push = torch.tensor(x0), torch.tensor(direction(x0)), torch.func.jvp
    return lambda: push(gradient, (x,), (v,))[1], one, partial(torch.set_num_threads, 2)


def _jax(jax: Any) -> Callable[[Any], Any]:
    return lambda f: lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]


def _with_direction(prepare: Callable[..., tuple[Any, ...]]) -> Callable[[Workload, Array], tuple[Any, ...]]:
    return lambda workload, x: prepare(workload, x, direction(x))


def _autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    product = load("autograd").hessian_vector_product
    return partial(product(workload.over(load("autograd.numpy"))), x, direction(x)), one


def _product(casadi: Any, value: Any, x: Any, v: Any) -> list[Any]:
    return [casadi.jtimes(casadi.gradient(value, x), x, v)]


def _baseline(workload: Workload, x: Array) -> tuple[Any, ...]:
    load("numba")
    return partial(importlib.import_module("perf.fused_baselines").rosenbrock_product, x, direction(x)), one


PRODUCTS = table(
    Peer("tapegrad replay", "tapegrad", _replay),
    Peer("tapegrad, not recorded", "tapegrad", _unrecorded),
    Peer("tapegrad eager, backward twice", "tapegrad", _eager),
    Peer("torch eager, backward twice", "torch", _torch),
    Peer("torch.func, jvp of grad", "torch", _torch_func),
    Peer("JAX jit, NumPy in and out", "jax", _with_direction(jax_numpy(_jax))),
    Peer("JAX jit, device arrays", "jax", _with_direction(jax_device(_jax))),
    Peer("HIPS autograd", "autograd", _autograd),
    Peer("CasADi, buffer API", "casadi", _with_direction(partial(casadi, _product)), largest=1_000),
    Peer("by hand, fused Numba loop", "numba", _baseline),
)
