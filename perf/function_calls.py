"""Calls of each function of the namespace to be measured. They are found there, so that none is forgotten.

A function is called with one vector, two vectors, a matrix or two, whichever gives a gradient first. `CALLS` says it
for those that need more, or whose result would be much larger than their operands.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from math import isqrt
from typing import Any

import numpy as np

from perf.peers import tapegrad
from perf.workloads import Array

_SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "v": lambda n: (n,),
    "s": lambda n: (isqrt(n),),
    "m": lambda n: (isqrt(n), isqrt(n)),
    "t": lambda n: (n // 3, 3),
    "c": lambda n: (2, max(n // 4, 1), 2),
}
_TRIED = ("v", "vv", "m", "mm", "vvv")


def _filled(xp: Any, x: Any) -> Any:
    xp.fill_diagonal(x, 0.5)
    return x


@dataclass(frozen=True)
class Call:
    """A call ``function(xp, *arrays)``, and a letter for the shape of each array.

    ``v`` has `n` elements, ``s`` their square root; ``m`` is a square matrix, ``t`` has rows of three, ``c`` has three
    axes.
    """

    function: Callable[..., Any]
    shapes: str
    domains: tuple[tuple[float, float], ...] = ()

    def arrays(self, n: int) -> list[Array]:
        """Return the operands with about `n` elements each; the same numbers every time."""
        rng = np.random.default_rng(n)
        domains = self.domains or ((0.1, 0.9),) * len(self.shapes)
        return [
            rng.uniform(low, high, _SHAPES[letter](n))
            for letter, (low, high) in zip(self.shapes, domains, strict=True)
        ]

    def first(self, xp: Any, *arrays: Any) -> Any:
        """Return the result; of several the first that has elements."""
        result = self.function(xp, *arrays)
        return result[0] if isinstance(result, list | tuple) else result


def _call(shapes: str, function: Callable[..., Any]) -> Call:
    return Call(function, shapes)


def _written(write: Callable[..., Any]) -> Call:
    """Make a function that writes into its first argument: here into a copy of `x`, from another array."""

    def call(xp: Any, x: Any, y: Any) -> Any:
        target = x * 1.0
        write(xp, target, y)
        return target

    return Call(call, "vv")


CALLS: dict[str, Call] = {
    "apply_along_axis": _call("m", lambda xp, x: xp.apply_along_axis(lambda row: row * 2.0, 1, x[:3])),
    "apply_over_axes": _call("m", lambda xp, x: xp.apply_over_axes(xp.sum, x, [0])),
    "copyto": _written(lambda xp, x, y: xp.copyto(x, y)),
    "fill_diagonal": _call("m", lambda xp, x: _filled(xp, x * 1.0)),
    "place": _written(lambda xp, x, y: xp.place(x, np.arange(x.shape[0]) % 2 == 0, y)),
    "put": _written(lambda xp, x, y: xp.put(x, np.arange(0, x.shape[0], 2), y)),
    "put_along_axis": _written(lambda xp, x, y: xp.put_along_axis(x, np.arange(5), y[:5], 0)),
    "putmask": _written(lambda xp, x, y: xp.putmask(x, np.arange(x.shape[0]) % 2 == 0, y)),
    "sliding_window_view": _call("v", lambda xp, x: xp.sliding_window_view(x, 3)),
    "vectorize": _call("s", lambda xp, x: xp.vectorize(lambda v: v * 2.0)(x[:10])),
    "atleast_1d": _call("v", lambda xp, x: xp.atleast_1d(x[0])),
    "append": _call("vv", lambda xp, x, y: xp.append(x, y)),
    "array_split": _call("v", lambda xp, x: xp.array_split(x, 2)),
    "broadcast_arrays": _call("ss", lambda xp, x, y: xp.broadcast_arrays(x[None], y[:, None])),
    "broadcast_to": _call("v", lambda xp, x: xp.broadcast_to(x, (2, *x.shape))),
    "choose": _call("vv", lambda xp, x, y: xp.choose(np.arange(x.shape[0]) % 2, [x, y])),
    "clip": _call("v", lambda xp, x: xp.clip(x, 0.3, 0.6)),
    "column_stack": _call("vv", lambda xp, x, y: xp.column_stack((x, y))),
    "compress": _call("v", lambda xp, x: xp.compress(np.arange(x.shape[0]) % 2 == 0, x)),
    "concatenate": _call("vv", lambda xp, x, y: xp.concatenate((x, y))),
    "convolve": _call("vs", lambda xp, x, y: xp.convolve(x, y[:3])),
    "corrcoef": _call("c", lambda xp, x: xp.corrcoef(x.reshape(4, -1)[:, : x.shape[1]])),
    "correlate": _call("vs", lambda xp, x, y: xp.correlate(x, y[:3])),
    "cov": _call("c", lambda xp, x: xp.cov(x.reshape(4, -1)[:, : x.shape[1]])),
    "cross": _call("tt", lambda xp, x, y: xp.cross(x, y)),
    "cumprod": Call(lambda xp, x: xp.cumprod(x, 0), "v", ((0.999, 1.001),)),
    "cumsum": _call("v", lambda xp, x: xp.cumsum(x, 0)),
    "delete": _call("v", lambda xp, x: xp.delete(x, 3)),
    "diagflat": _call("s", lambda xp, x: xp.diagflat(x)),
    "diag": _call("m", lambda xp, x: xp.diag(x)),
    "dsplit": _call("c", lambda xp, x: xp.dsplit(x, 2)),
    "dstack": _call("vv", lambda xp, x, y: xp.dstack((x, y))),
    "einsum": _call("mm", lambda xp, x, y: xp.einsum("ij,jk->ik", x, y)),
    "expand_dims": _call("v", lambda xp, x: xp.expand_dims(x, 0)),
    "extract": _call("v", lambda xp, x: xp.extract(np.arange(x.shape[0]) % 2 == 0, x)),
    "flip": _call("v", lambda xp, x: xp.flip(x, (0,))),
    "hsplit": _call("m", lambda xp, x: xp.hsplit(x, 1)),
    "hstack": _call("vv", lambda xp, x, y: xp.hstack((x, y))),
    "insert": _call("v", lambda xp, x: xp.insert(x, 2, 0.5)),
    "interp": _call("v", lambda xp, x: xp.interp(x, np.linspace(0, 1, 5), np.arange(5.0) ** 2)),
    "intersect1d": _call("v", lambda xp, x: xp.intersect1d(x, x)),
    "kron": _call("ss", lambda xp, x, y: xp.kron(x, y)),
    "ldexp": _call("v", lambda xp, x: xp.ldexp(x, 2)),
    "linalg.cross": _call("tt", lambda xp, x, y: xp.linalg.cross(x, y)),
    "linalg.outer": _call("ss", lambda xp, x, y: xp.linalg.outer(x, y)),
    "linalg.matrix_power": _call("m", lambda xp, x: xp.linalg.matrix_power(x / x.shape[0], 3)),
    "linalg.multi_dot": _call("mm", lambda xp, x, y: xp.linalg.multi_dot([x, y])),
    "log_softmax": _call("v", lambda xp, x: xp.log_softmax(x, 0)),
    "logsumexp": _call("v", lambda xp, x: xp.logsumexp(x, 0)),
    "matvec": _call("ms", lambda xp, x, y: xp.matvec(x, y)),
    "meshgrid": _call("ss", lambda xp, x, y: xp.meshgrid(x, y)),
    "moveaxis": _call("m", lambda xp, x: xp.moveaxis(x, 0, 1)),
    "nanpercentile": _call("v", lambda xp, x: xp.nanpercentile(x, 30.0)),
    "nanquantile": _call("v", lambda xp, x: xp.nanquantile(x, 0.3)),
    "outer": _call("ss", lambda xp, x, y: xp.outer(x, y)),
    "pad": _call("v", lambda xp, x: xp.pad(x, 1)),
    "partition": _call("v", lambda xp, x: xp.partition(x, x.shape[0] // 2)),
    "percentile": _call("v", lambda xp, x: xp.percentile(x, 30.0)),
    "piecewise": _call("v", lambda xp, x: xp.piecewise(x, [x < 0.5], [lambda v: v * 2, lambda v: v])),
    "polymul": _call("vs", lambda xp, x, y: xp.polymul(x, y[:3])),
    "polyval": _call("v", lambda xp, x: xp.polyval(np.array([1.0, 2.0, 3.0]), x)),
    "prod": Call(lambda xp, x: xp.prod(x), "v", ((0.999, 1.001),)),
    "quantile": _call("v", lambda xp, x: xp.quantile(x, 0.3)),
    "repeat": _call("v", lambda xp, x: xp.repeat(x, 2)),
    "reshape": _call("v", lambda xp, x: xp.reshape(x, (-1, 2))),
    "resize": _call("v", lambda xp, x: xp.resize(x, (2, x.shape[0]))),
    "roll": _call("v", lambda xp, x: xp.roll(x, 3)),
    "rollaxis": _call("m", lambda xp, x: xp.rollaxis(x, 1)),
    "select": _call("v", lambda xp, x: xp.select([x < 0.3, x > 0.6], [x * 2, x], 0.0)),
    "softmax": _call("v", lambda xp, x: xp.softmax(x, 0)),
    "split": _call("v", lambda xp, x: xp.split(x, 2)),
    "squeeze": _call("v", lambda xp, x: xp.squeeze(x)),
    "stack": _call("vv", lambda xp, x, y: xp.stack((x, y))),
    "swapaxes": _call("m", lambda xp, x: xp.swapaxes(x, 0, 1)),
    "take": _call("v", lambda xp, x: xp.take(x, xp.asarray(np.arange(0, x.shape[0], 2)))),
    "take_along_axis": _call(
        "v", lambda xp, x: xp.take_along_axis(x, xp.asarray(np.arange(0, x.shape[0], 2)), 0)
    ),
    "tensordot": _call("mm", lambda xp, x, y: xp.tensordot(x, y, 1)),
    "tile": _call("v", lambda xp, x: xp.tile(x, (2,))),
    "transpose": _call("m", lambda xp, x: xp.transpose(x, (1, 0))),
    "tril": _call("m", lambda xp, x: xp.tril(x)),
    "triu": _call("m", lambda xp, x: xp.triu(x)),
    "unstack": _call("c", lambda xp, x: xp.unstack(x)),
    "vander": _call("v", lambda xp, x: xp.vander(x, 3)),
    "vecmat": _call("sm", lambda xp, x, y: xp.vecmat(x, y)),
    "vsplit": _call("m", lambda xp, x: xp.vsplit(x, 1)),
    "vstack": _call("vv", lambda xp, x, y: xp.vstack((x, y))),
    "where": _call("vv", lambda xp, x, y: xp.where(x > 0.5, x, y)),
}
# What has no name in the namespace.
OPERATORS: dict[str, Call] = {
    "x + 1.0": _call("v", lambda xp, x: x + 1.0),
    "x @ y": _call("mm", lambda xp, x, y: x @ y),
    "x[3]": _call("v", lambda xp, x: x[3]),
    "x[1:]": _call("v", lambda xp, x: x[1:]),
    "x[:, 1:]": _call("m", lambda xp, x: x[:, 1:]),
    "x[::2]": _call("v", lambda xp, x: x[::2]),
    "x[rows]": _call("v", lambda xp, x: x[np.arange(0, x.shape[0], 2)]),
    "x[mask]": _call("v", lambda xp, x: x[np.arange(x.shape[0]) % 2 == 0]),
    "x[None]": _call("v", lambda xp, x: x[None]),
    "x[1:] = y": _written(lambda xp, x, y: x.__setitem__(slice(1, None), y[1:])),
    "x.T": _call("m", lambda xp, x: x.T),
}


def named(name: str, xp: Any, *arrays: Any) -> Any:
    """Call a function by its name, which may begin with ``linalg.``."""
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp(*arrays)


def differentiates(library: Any, call: Call) -> bool:
    """Return whether a gradient flows back through a call."""
    xs = [library.tensor(x) for x in call.arrays(10)]
    try:
        result = call.first(library, *xs)
        if not isinstance(result, library.Tensor) or result.constant or any(result is x for x in xs):
            return False
        result.backward()
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return False
    return any(x.grad is not None for x in xs)


def _tried(library: Any, name: str, domains: tuple[tuple[float, float], ...]) -> Iterator[Call]:
    """Return the calls of a function, those that are given before those that are tried."""
    if name in CALLS:
        yield CALLS[name]
        return
    function = partial(named, name)
    if domains:
        yield Call(function, "v" * len(domains), domains)
    yield from (Call(function, shapes) for shapes in _TRIED)


def functions() -> dict[str, Any]:
    """Return the functions of the namespace by name, each once under the name of NumPy's that it has itself."""
    protocols = import_module("tapegrad.frontend.numpy_face.numpy_protocols")
    found: dict[str, Any] = {**protocols.FUNCTIONS}
    found |= {f"linalg.{name}": function for name, function in protocols.LINALG.items()}
    once: dict[int, str] = {}
    for name, function in found.items():
        if id(function) not in once or name == function.__name__:
            once[id(function)] = name
    return {name: found[name] for name in sorted(once.values())}


@cache
def calls() -> dict[str, Call]:
    """Return every function that differentiates, and its call."""
    library = tapegrad()
    rows = {row.name: row.domains for row in import_module("tapegrad.ops").ELEMENTWISE}
    found = dict(OPERATORS)
    for name in functions():
        tried = _tried(library, name, rows.get(name, ()))
        call = next((each for each in tried if differentiates(library, each)), None)
        if call is not None:
            found[name] = call
    return found
