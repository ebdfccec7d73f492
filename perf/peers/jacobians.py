"""Residuals, and their Jacobian by forward mode."""

import importlib
from functools import partial
from typing import Any

from perf.peers.base import (
    Peer,
    Unavailable,
    casadi,
    jax_device,
    jax_numpy,
    load,
    one,
    recorded,
    table,
    tapegrad,
)
from perf.workloads import Array, Workload


def _residuals(workload: Workload, x: Array) -> tuple[Any, ...]:
    return partial(recorded(workload), x), one


def _replay(workload: Workload, x: Array) -> tuple[Any, ...]:
    return partial(tapegrad().jacfwd(recorded(workload)), x), one


def _torch_func(workload: Workload, x: Array) -> tuple[Any, ...]:
    torch = load("torch")
    jacobian = load("torch.func").jacfwd(workload.over(torch, torch.tensor))
    return partial(jacobian, torch.tensor(x)), one, partial(torch.set_num_threads, 2)


def _autograd(workload: Workload, x: Array) -> tuple[Any, ...]:
    """Row by row: ``autograd.jacobian`` is of reverse mode."""
    jacobian = load("autograd").jacobian
    return partial(jacobian(workload.over(load("autograd.numpy"))), x), one


def _jax(jax: Any) -> Any:
    return jax.jacfwd


def _jacobian(casadi: Any, value: Any, x: Any) -> list[Any]:
    return [casadi.jacobian(value, x)]


def _baseline(workload: Workload, x: Array) -> tuple[Any, ...]:
    load("numba")
    if not workload.data:
        raise Unavailable("no baseline was written for this function")
    return partial(importlib.import_module("perf.fused_baselines").gauss_jacobian, x, workload.data[0]), one


RESIDUALS = table(Peer("tapegrad replay", "tapegrad", _residuals))

JACOBIANS = table(
    Peer("tapegrad replay", "tapegrad", _replay),
    Peer("torch.func.jacfwd", "torch", _torch_func),
    Peer("JAX jit, NumPy in and out", "jax", jax_numpy(_jax)),
    Peer("JAX jit, device arrays", "jax", jax_device(_jax)),
    Peer("HIPS autograd, reverse", "autograd", _autograd),
    Peer("CasADi, buffer API", "casadi", partial(casadi, _jacobian)),
    Peer("by hand, fused Numba loop", "numba", _baseline),
)
