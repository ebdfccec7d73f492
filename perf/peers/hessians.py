"""The dense Hessian."""

from functools import partial
from typing import Any

from perf.peers.base import Peer, casadi, jax_device, jax_numpy, load, one, recorded, table, tapegrad
from perf.workloads import Array, Workload


def _replay(workload: Workload, x: Array) -> tuple[Any, ...]:
    return partial(tapegrad().hessian(recorded(workload)), x), one


def _torch_func(workload: Workload, x: Array) -> tuple[Any, ...]:
    torch = load("torch")
    hessian = load("torch.func").hessian(workload.over(torch))
    return partial(hessian, torch.tensor(x)), one, partial(torch.set_num_threads, 2)


def _torch_autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    torch = load("torch")
    hessian, function = torch.autograd.functional.hessian, workload.over(torch)
    return partial(hessian, function, torch.tensor(x)), one, partial(torch.set_num_threads, 2)


def _autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    hessian = load("autograd").hessian
    return partial(hessian(workload.over(load("autograd.numpy"))), x), one


def _jax(jax: Any) -> Any:
    return jax.hessian


def _hessian(casadi: Any, value: Any, x: Any) -> list[Any]:
    """CasADi knows which elements are zero and computes the others alone."""
    return [casadi.hessian(value, x)[0]]


HESSIANS = table(
    Peer("tapegrad replay", "tapegrad", _replay),
    Peer("torch.func.hessian", "torch", _torch_func),
    Peer("torch.autograd.functional.hessian", "torch", _torch_autograd),
    Peer("JAX jit, NumPy in and out", "jax", jax_numpy(_jax)),
    Peer("JAX jit, device arrays", "jax", jax_device(_jax)),
    Peer("HIPS autograd", "autograd", _autograd),
    Peer("CasADi, buffer API, sparse", "casadi", partial(casadi, _hessian), largest=1_000),
)
