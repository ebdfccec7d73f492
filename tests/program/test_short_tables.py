"""Tables of a few short lines in segments: the bits of the rows, with elements of lines read and added to alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import segments_alike
from tapegrad.program.fusion.grouping import scalars
from tapegrad.special import logsumexp

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, -1e300, 1.0, -1.0)
DTYPES = (np.float64, np.float32)
WEIGHTS = np.random.default_rng(5).normal(size=(16, 16))
SIZES = (2, 3, 5, 7, 8, 9, 15, 16)


def _markov(x: Any, s: Any) -> Any:
    """The forward algorithm: each state is read for a line of transitions, and is an element of the next line."""
    n = int(np.sqrt(len(x)))
    logits, state = x[: n * n].reshape(n, n) * s, x[n * n :]
    transition = logits - logsumexp(logits, axis=1, keepdims=True)
    for k in range(6):
        state = logsumexp(state[:, None] + transition, axis=0) - 0.5 * (x[n * n :] - k) ** 2
    return logsumexp(state)


def _markov_of_rows(x: Any, s: Any) -> Any:
    """The same with the transitions to a state in a line, along which is summed."""
    n = int(np.sqrt(len(x)))
    logits, state = x[: n * n].reshape(n, n) * s, x[n * n :]
    transition = logits - logsumexp(logits, axis=0, keepdims=True)
    for k in range(6):
        state = logsumexp(state + transition, axis=1) - 0.5 * (x[n * n :] - k) ** 2
    return logsumexp(state)


MODELS = (_markov, _markov_of_rows)


def _drawn(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Numbers, the same with special ones among them, with many -inf, with ties, and far apart."""
    x = rng.normal(size=count)
    special, mixed = x.copy(), x.copy()
    special[rng.random(count) < 0.03] = rng.choice(SPECIAL)
    many = rng.random(count) < 0.15
    mixed[many] = rng.choice(SPECIAL, np.count_nonzero(many))
    return [x, special, mixed, np.where(rng.random(count) < 0.4, -np.inf, x), np.round(x), 400.0 * x]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@daily("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("model", MODELS)
def test_hidden_markov_models(model: Any, n: int, dtype: Any) -> None:
    inputs = [(x.astype(dtype), dtype(0.7)) for x in _drawn(np.random.default_rng(n), n * n + n)]
    segments_alike(model, inputs, ("value", "gradient", "tangent"))


@pytest.mark.parametrize("model", MODELS)
def test_in_all_derivatives(model: Any) -> None:
    x = np.random.default_rng(2).normal(size=12)
    segments_alike(model, [(x, np.float64(0.7))], ("jacobian", "hessian", "product"))


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_in_one_segment(model: Any, n: int) -> None:
    """Forwards a line of states goes through registers, and so do its cotangents."""
    f = tg.jit(model, fuse=True)
    inputs = np.random.default_rng(3).normal(size=n * n + n), np.float64(0.7)
    tg.grad(f)(*inputs)
    segments = [each for each in f.tape(*inputs).segments if each.computes == "value_and_grad"]
    forward, reverse = (
        [each.arithmetic for each in segments if any(kind in line for line in each.arithmetic)]
        for kind in ("= logsumexp", "_bar*exp(")
    )
    sums = [line for lines in forward for line in lines if "= logsumexp" in line]
    assert (len(sums), len(forward), len(reverse)) == (7, 1, 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(13, 8), (8, 3), (3, 12), (2, 2), (16, 5), (5, 17)])
def test_sums_of_exponentials_along_and_across(shape: tuple[int, int]) -> None:
    """As many results as there are lines, or as a line has elements."""

    def function(x: Any, s: Any) -> Any:
        table = tg.sin(x.reshape(shape)) * s + x.reshape(shape)
        along, across = logsumexp(table, axis=1), logsumexp(table, axis=0)
        return tg.sum(along * along) + tg.sum(across[None, :] * table * along[:, None])

    rng = np.random.default_rng(shape[0])
    inputs = [(x, np.float64(0.7)) for x in _drawn(rng, shape[0] * shape[1])]
    segments_alike(function, inputs, ("value", "gradient", "tangent"))


# --- programs that are drawn -----------------------------------------------------------------------------------------


class Program:
    """A function of a table and of two lines, drawn at random."""

    def __init__(self, seed: int, steps: int = 8) -> None:
        rng = np.random.default_rng(seed)
        self._choices = [[int(each) for each in rng.integers(0, 1 << 30, 6)] for _ in range(steps)]
        self.m, self.n = (int(each) for each in rng.integers(2, 17, 2))
        if seed % 2:
            self.n = self.m

    @property
    def size(self) -> int:
        return self.m * self.n + self.m + self.n

    def __call__(self, x: Any, s: Any) -> Any:
        whole = self.m * self.n
        table = x[:whole].reshape(self.m, self.n)
        values: list[Any] = [x[whole : whole + self.m], x[whole + self.m :], table, table * s]
        for choice in self._choices:
            made = self._step(values, choice)
            if made is not None and 0 < np.prod(np.shape(made)) <= 256:
                values.append(made)
        total: Any = 0.0
        for k, value in enumerate(values):
            total = total + tg.sum(value * (0.5 + 0.25 * k))
        return total

    def _step(self, values: list[Any], choice: list[int]) -> Any:
        tables = [v for v in values if np.ndim(v) == 2]
        lines = [v for v in values if np.ndim(v) == 1 and len(v) > 1]
        table = tables[choice[0] % len(tables)] if choice[1] % 3 else tables[-1]
        line = lines[choice[2] % len(lines)] if choice[3] % 2 else lines[-1]
        k, axis = choice[4], choice[4] % 2
        (down,) = [v for v in lines if len(v) == table.shape[0]][-1:] or [None]
        (along,) = [v for v in lines if len(v) == table.shape[1]][-1:] or [None]
        steps: list[Callable[[], Any]] = [
            lambda: None if down is None else down[:, None] + table,
            lambda: None if along is None else along + table,
            lambda: logsumexp(table, axis=axis),
            lambda: None if down is None else logsumexp(down[:, None] + table, axis=0),
            lambda: None if down is None or along is None else down[:, None] * along,
            lambda: tg.sum(table, axis=axis),
            lambda: tg.exp(table * 0.25),
            lambda: line * line[k % len(line)],
            lambda: line - tg.sum(line) * 0.1,
            lambda: table * WEIGHTS[: table.shape[0], : table.shape[1]],
            lambda: table[k % table.shape[0]],
            lambda: table[:, k % table.shape[1]],
            lambda: tg.maximum(table, 0.5),
            lambda: None if down is None else table / (down[:, None] ** 2 + 1.0),
            lambda: tg.where(line > 0.0, line, line[k % len(line)] * line),
            lambda: tg.stack([line[j] * line for j in range(min(len(line), 3))]),
            lambda: tg.max(table, axis=axis),
            lambda: table + line[k % len(line)],
        ]
        return steps[choice[5] % len(steps)]()


@daily(every=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 3 == 0:  # numbers whether it pays or not, beside lines
        monkeypatch.setattr(scalars, "_ELEMENT_NS", 0.0)
        monkeypatch.setattr(scalars, "_FUNCTION_NS", 0.0)
    program, dtype = Program(seed), DTYPES[seed % 5 == 0]
    inputs = [(x.astype(dtype), dtype(0.75)) for x in _drawn(np.random.default_rng(seed), program.size)]
    segments_alike(program, inputs, ("product",) if seed % 4 == 0 else ("gradient", "tangent"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_to_elements_of_a_line(dtype: Any) -> None:
    """Each with what rounding loses; several lines at once, and one element again and again."""
    rng = np.random.default_rng(8)

    def function(x: Any, s: Any) -> Any:
        table, line = x[:40].reshape(5, 8), tg.sin(x[40:]) * s
        moved = line[:, None] * table + line[3] * table[1] - line[3:4] * table[2]
        return tg.sum(moved * table) + tg.sum(line * line[0])

    inputs: list[tuple[Any, ...]] = [
        ((rng.normal(size=45) * 10.0 ** rng.integers(-8, 9, 45)).astype(dtype), dtype(1)) for _ in range(10)
    ]
    inputs += [
        (np.where(np.arange(45) == k, v, 1).astype(dtype), dtype(1)) for v in SPECIAL for k in (0, 12, 43)
    ]
    segments_alike(function, inputs, ("value", "gradient"))
