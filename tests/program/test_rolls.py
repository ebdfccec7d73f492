"""Rolled arrays inside of segments: the bits of the copies that they are made of."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import segments_alike
from tapegrad.engine.codegen.ir.target import host
from tapegrad.ops import COPY
from tapegrad.program.streams.spec import VALUE_AND_GRAD, ProgramSpec

DTYPES = (np.float64, np.float32)
SHAPES = ((70,), (300,), (17, 16), (40, 33), (256, 16), (5, 64), (3, 7, 20), (4, 16, 9), (2, 3, 4, 17))


class Program:
    """A function of one array: rolls along axes and over all elements, parts that are joined, and what follows."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.shape = SHAPES[seed % len(SHAPES)]
        self._steps = rng.integers(0, 1 << 20, (6, 4)).tolist()

    def __call__(self, x: Any, s: Any) -> Any:
        values = [tg.reshape(x[: int(np.prod(self.shape))], self.shape)]
        for kind, shift, axis, other in self._steps:
            a, b = values[-1], values[other % len(values)]
            values.append(self._moved(b, kind, shift, axis % len(self.shape)) * s + a * 0.5)
            if kind % 5 == 0:
                values.append(tg.sin(values[-1]) * values[other % len(values)])
        return sum(tg.sum(value * value) * (0.1 + 0.05 * k) for k, value in enumerate(values)) + tg.sum(x)

    def _moved(self, a: Any, kind: int, shift: int, axis: int) -> Any:
        extent = self.shape[axis]
        kinds = (
            lambda: tg.roll(a, shift % (2 * extent) - extent, axis),
            lambda: tg.roll(a, (1, -1, 2)[shift % 3], axis),
            lambda: tg.roll(a, shift % 50 - 25),
            lambda: tg.roll(a.T, 1, axis).T,
            lambda: tg.concatenate([a[shift % 3 + 1 :], a[: shift % 3 + 1]]),
            lambda: tg.concatenate([tg.cos(a)[..., :2], a[..., 2:]], axis=-1),
        )
        return kinds[kind % len(kinds)]()


def drawn(seed: int, dtype: Any) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4096)
    special = x.copy()
    special[rng.random(x.size) < 0.01] = rng.choice([0.0, -0.0, np.inf, np.nan, 1e300, 5e-324])
    return [(each.astype(dtype), dtype(0.75)) for each in (x, special)]


@daily(every=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(36))
def test_random_programs(seed: int) -> None:
    ways = ("gradient", "tangent") if seed % 3 else ("product",)
    with np.errstate(all="ignore"):
        segments_alike(Program(seed), drawn(seed, DTYPES[seed // 2 % 2]), ways)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shift", [1, -1, 15, 16, 17, 31])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_every_element_is_where_numpy_has_it(axis: Any, shift: int, dtype: Any) -> None:
    x = np.arange(40 * 32, dtype=dtype).reshape(40, 32)
    moved = tg.jit(lambda x: tg.roll(x, shift, axis) + x, fuse=True)
    np.testing.assert_array_equal(moved(x), np.roll(x, shift, axis) + x)


def test_rolled_arrays_are_not_stored() -> None:
    """A step of the heat equation on a torus is one segment, which reads the array at each distance."""

    def step(u: Any) -> Any:
        around = tg.roll(u, 1, 0) + tg.roll(u, -1, 0) + tg.roll(u, 1, 1) + tg.roll(u, -1, 1)
        return u + 0.2 * (around - 4 * u)

    u = np.random.default_rng(1).normal(size=(40, 32))
    f = tg.jit(step, fuse=True)
    np.testing.assert_allclose(f(u), step(u), rtol=1e-14)
    (segment,) = f.tape(u).segments
    if host().lanes >= 8:
        for part in ("[roll 32 of 1280]", "[roll 1248 of 1280]", "[roll 1 of 32]", "[roll 31 of 32]"):
            assert f"x0{part}" in str(segment)


@pytest.mark.skipif(host().lanes < 8, reason="rolled arrays are stored")
def test_cotangents_of_rolled_arrays_are_read_where_they_are() -> None:
    """No copy is a row of its own, in neither sweep of two steps of the heat equation."""

    def function(x: Any) -> Any:
        u = tg.reshape(x, (40, 32))
        for _ in range(2):
            around = tg.roll(u, 1, 0) + tg.roll(u, -1, 0) + tg.roll(u, 1, 1) + tg.roll(u, -1, 1)
            u = u + 0.2 * (around - 4 * u)
        return tg.sum(u * u)

    x = np.random.default_rng(1).normal(size=40 * 32)
    f = tg.jit(function, fuse=True)
    np.testing.assert_allclose(tg.value_and_grad(f)(x)[1], tg.grad(function)(x), rtol=1e-13)
    trace, _ = f.run(f.arguments((x,), {}), ProgramSpec())
    program = trace.program(ProgramSpec(VALUE_AND_GRAD, (0,)))
    assert not np.isin(program.forward.op, [COPY]).any()
    assert len(program.reverse) == 0
