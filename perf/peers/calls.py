"""Calls of a function by each library, forwards and with its gradient, as its users would write it.

Everybody is asked for the same: forwards the result with its graph recorded; for the gradient the same, then ones as
the cotangent of the result, and from them the gradients of all operands, in memory that nobody else writes to. A
replayed gradient is that of the result's sum.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from perf.function_calls import Call
from perf.peers.base import load
from perf.workloads import Answer, Array
from tapegrad.testing.namespaces import PeerNames
from tapegrad.testing.timer import Contender


def vector(arrays: Sequence[Any]) -> Answer:
    """Several arrays as one answer."""
    return (np.concatenate([np.asarray(x, np.float64).reshape(-1) for x in arrays]),)


def _gradients(found: Sequence[Any], arrays: list[Array]) -> Answer:
    """Gradients as one answer; one that is missing is zero."""
    pairs = zip(found, arrays, strict=True)
    return vector([np.zeros_like(x) if gradient is None else gradient for gradient, x in pairs])


def _eager(library: Any, call: Call, arrays: list[Array], backward: bool) -> tuple[Any, ...]:
    xs = [library.tensor(x) for x in arrays]
    if not backward:
        return partial(call.first, library, *xs), lambda y: vector([y.detach().data])

    def gradient() -> list[Any]:
        call.first(library, *xs).backward(accumulate=False)
        return [x.grad for x in xs]

    return gradient, lambda found: _gradients(found, arrays)


def _replay(library: Any, call: Call, arrays: list[Array], backward: bool) -> tuple[Any, ...]:
    if not backward:
        return partial(library.jit(partial(call.first, library)), *arrays), lambda y: vector([y])
    function = library.jit(lambda *xs: library.sum(call.first(library, *xs)))
    gradient = library.grad(function, argnums=tuple(range(len(arrays))))
    return partial(gradient, *arrays), vector


def _torch_names(torch: Any) -> PeerNames:
    """Return PyTorch under NumPy's names."""
    own = {
        "cross": torch.linalg.cross,
        "cumprod": torch.cumprod,
        "expand_dims": torch.unsqueeze,
        "matrix_transpose": lambda x: x.mT,
        "permute_dims": torch.permute,
        "power": torch.pow,
        "repeat": torch.repeat_interleave,
        "softplus": torch.nn.functional.softplus,
        "sort": lambda x: torch.sort(x).values,
        "std": lambda x: torch.std(x, correction=0),
        "transpose": torch.permute,
        "var": lambda x: torch.var(x, correction=0),
    }
    return PeerNames(torch, own)


def _torch(library: Any, call: Call, arrays: list[Array], backward: bool) -> tuple[Any, ...]:
    torch = load("torch")
    xp = _torch_names(torch)
    xs = [torch.tensor(x, requires_grad=True) for x in arrays]
    if not backward:
        return partial(call.first, xp, *xs), lambda y: vector([y.detach().numpy()])

    def gradient() -> list[Any]:
        for x in xs:
            x.grad = None
        y = call.first(xp, *xs)
        y.backward(
            torch.ones_like(y)
        )  # made in the call, as everybody's: else a view's gradient is a view of it
        return [x.grad for x in xs]

    return gradient, lambda found: _gradients(found, arrays)


def _mygrad(library: Any, call: Call, arrays: list[Array], backward: bool) -> tuple[Any, ...]:
    mygrad = load("mygrad")
    xs = [mygrad.tensor(x) for x in arrays]
    if not backward:
        return partial(call.first, mygrad, *xs), lambda y: vector([y.data])

    def gradient() -> list[Any]:
        call.first(mygrad, *xs).backward()
        return [x.grad for x in xs]

    return gradient, lambda found: _gradients(found, arrays)


_MAKERS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "eager": _eager, "replay": _replay, "torch": _torch, "MyGrad": _mygrad,
}  # fmt: skip
PACKAGES = {"eager": "tapegrad", "replay": "tapegrad", "torch": "torch", "MyGrad": "mygrad"}


def caller(kind: str, library: Any, call: Call, arrays: list[Array], backward: bool) -> Contender:
    """Return the contender of a kind, of which `PACKAGES` has the names; `library` is tapegrad."""
    return Contender(kind, *_MAKERS[kind](library, call, arrays, backward))
