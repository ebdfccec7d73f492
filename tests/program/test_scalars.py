"""Arrays of few elements as numbers in registers: the bits of the rows, for products, parts, stacks and sums."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import segments_alike
from tapegrad.program.fusion.grouping import scalars

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, -1e300, 1.0, -1.0)
DTYPES = (np.float64, np.float32)
CONSTANTS = np.random.default_rng(9).uniform(0.5, 1.5, 64)


def drawn(seed: int, count: int, dtype: Any) -> list[tuple[Any, ...]]:
    """Numbers, and the same with special ones among them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2.0, count)
    special = x.copy()
    special[rng.random(count) < 0.25] = rng.choice(SPECIAL)
    mixed = np.where(rng.random(count) < 0.3, rng.choice(SPECIAL, count), x)
    with np.errstate(all="ignore"):
        return [(each.astype(dtype), dtype(0.75)) for each in (x, special, mixed)]


# --- programs of small arrays ----------------------------------------------------------------------------------------


def _matrix(x: Any, m: int, n: int) -> Any:
    return x[: m * n].reshape(m, n)


class Program:
    """A function of small arrays, drawn at random: products, parts, stacks, sums and functions of earlier results."""

    def __init__(self, seed: int, steps: int = 9) -> None:
        self._rng = np.random.default_rng(seed)
        self._choices = [self._rng.integers(0, 1 << 30, 8) for _ in range(steps)]

    def __call__(self, x: Any, s: Any) -> Any:
        values: list[Any] = [x, _matrix(x, 2, 2), _matrix(x, 3, 3), _matrix(x, 2, 3), s]
        for choice in self._choices:
            made = self._step(values, [int(each) for each in choice])
            if made is not None and 0 < np.prod(np.shape(made)) <= 16:
                values.append(made)
        total = values[-1].sum()
        for k, value in enumerate(values):
            total = total + tg.sum(value * (0.5 + 0.25 * k))
        return total

    def _step(self, values: list[Any], choice: list[int]) -> Any:
        a, b = values[choice[0] % len(values)], values[choice[1] % len(values)]
        if choice[2] % 3:
            a = values[-1]
        shape = np.shape(a)
        steps: list[Callable[[], Any]] = [
            lambda: self._product(values, a),
            lambda: tg.stack([a, a * 0.5]) if np.prod(shape) <= 8 else a[::-1],
            lambda: tg.sum(a, axis=choice[3] % len(shape)) if shape else a * a,
            lambda: a[choice[3] % shape[0]] if shape else tg.array([a, 1.5, a]),
            lambda: (
                a.T
                if len(shape) == 2
                else a[: max(1, len(a) - 1)]
                if shape
                else tg.array([[a, 0.5], [0.25, a]])
            ),
            lambda: self._together(a, b, choice[3]),
            lambda: (tg.sin, tg.sqrt, tg.exp, tg.log1p)[choice[3] % 4](a * 0.25),
            lambda: a - tg.mean(a),
            lambda: a * self._constant(shape, choice[3]),
            lambda: (
                self._constant((2, *shape[-1:]), choice[3]) @ a
                if len(shape) in (1, 2) and shape[0] == shape[-1]
                else None
            ),
            lambda: (
                self._together(a[..., None], b, 1)
                if np.prod(shape) * np.prod(np.shape(b)) <= 16
                else a / (b.sum() + 2.0)
            ),
        ]
        return steps[choice[4] % len(steps)]()

    @staticmethod
    def _product(values: Sequence[Any], a: Any) -> Any:
        shape = np.shape(a)
        fitting = [
            v
            for v in values
            if shape and np.ndim(v) in (1, 2) and np.shape(v)[0] == shape[-1] and np.ndim(a) <= 2
        ]
        return a @ fitting[-1] if fitting else None

    @staticmethod
    def _constant(shape: tuple[int, ...], choice: int) -> Any:
        """Return a part of an array of the closure: from its end, every other element, transposed, or one for all."""
        size = int(np.prod(shape))
        line = CONSTANTS[choice % 4 :]
        forms = (line[size - 1 :: -1] if size else line[:0], line[: 2 * size : 2], line[:size], line[:1])
        form = forms[choice // 4 % len(forms)]
        return np.broadcast_to(form[0], shape) if form.size == 1 else form.reshape(shape[::-1]).T

    @staticmethod
    def _together(a: Any, b: Any, choice: int) -> Any:
        try:
            np.broadcast_shapes(np.shape(a), np.shape(b))
        except ValueError:
            return None
        return (a + b, a * b, a / b, tg.maximum(a, b), tg.where(a > b, a, b * 0.5))[choice % 5]


@daily(every=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # whether it pays or not
        monkeypatch.setattr(scalars, "_ELEMENT_NS", 0.0)
        monkeypatch.setattr(scalars, "_FUNCTION_NS", 0.0)
    segments_alike(
        Program(seed),
        drawn(seed, 12, DTYPES[seed // 2 % 2]),
        ("gradient", "tangent") if seed % 3 else ("product",),
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_few_numbers(dtype: Any) -> None:
    """In the order of the lanes of a line, with what rounding loses."""
    rng = np.random.default_rng(3)

    def sums(x: Any, s: Any) -> Any:
        rows = [tg.stack([x[k] * s for k in range(n)]) for n in range(1, len(x) + 1)]
        return tg.stack([tg.sum(row) for row in rows[:8]]) @ tg.stack([tg.sum(row) for row in rows[8:]])

    inputs: list[tuple[Any, ...]] = [
        ((rng.normal(size=16) * 10.0 ** rng.integers(-8, 9, 16)).astype(dtype), dtype(1)) for _ in range(20)
    ]
    inputs += [
        (np.where(np.arange(16) == k, value, 1).astype(dtype), dtype(1)) for k, value in enumerate(SPECIAL)
    ]
    segments_alike(sums, inputs, ("gradient",))


# --- what is written out ---------------------------------------------------------------------------------------------


def filtered(x: Any) -> Any:
    """Return the log-likelihood of a Kalman filter with two states."""
    step, level = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.3, 0.9, 1.4, 2.2, 2.1])
    state, cov = np.zeros(2), np.eye(2)
    noise, total = tg.stack([tg.stack([x[0], 0.0 * x[0]]), tg.stack([0.0 * x[0], x[1]])]), 0.0
    for y in level:
        state, cov = step @ state, step @ cov @ step.T + noise
        error, spread = y - state[0], cov[0, 0] + x[2]
        gain = cov[:, 0] / spread
        state, cov = state + gain * error, cov - gain[:, None] * cov[0][None, :]
        total = total - 0.5 * (tg.log(spread) + error * error / spread)
    return total


def integrated(x: Any) -> Any:
    """Return a number of a system of two equations after five steps."""
    z = tg.stack([x[0], x[1]])
    for _ in range(5):
        z = z + 0.1 * tg.stack([z[0] * (1.0 - z[1]), x[2] * z[1] * (z[0] - 1.0)])
    return tg.sum(z * z)


def turned(x: Any) -> Any:
    """Return the distance of the end of a chain of three joints from a place."""
    frame, end = np.eye(3), np.zeros(3)
    for angle in x:
        c, s = tg.cos(angle), tg.sin(angle)
        frame = frame @ tg.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        end = end + frame @ np.array([0.3, 0.1, 0.2])
    return tg.sum((end - 0.5) ** 2)


X = np.array([0.6, 0.8, 1.1])


@pytest.mark.parametrize("function", [filtered, integrated, turned])
def test_no_instruction_is_left(function: Callable[[Any], Any]) -> None:
    f = tg.jit(function, fuse=True)
    value, gradient = tg.value_and_grad(f)(X)
    expected, slopes = tg.value_and_grad(tg.jit(function, fuse=False))(X)
    assert value == expected
    np.testing.assert_array_equal(gradient, slopes)
    tape = f.tape(X)
    inside = {number for each in tape.segments for number in each.instructions}
    listed = dict(re.findall(r"^ *(\d+)  (?:.* = )?(\w+)\(", str(tape).split("segments")[0], re.MULTILINE))
    alone = {name for number, name in listed.items() if int(number) not in inside}
    assert alone <= {"guard", "multiply"}, "a product by zero has no neighbour"
    assert {"matmul", "positive"}.isdisjoint(alone)
    assert len(inside) > 15


def test_the_arithmetic_is_what_is_computed() -> None:
    f = tg.jit(integrated, fuse=True)
    value = f(X)
    (segment,) = [each for each in f.tape(X).segments if each.computes == "forward"]
    lines: dict[str, Any] = {"x0": X}
    for statement in segment.arithmetic:
        exec(_with_identifiers(statement), lines)
    np.testing.assert_allclose(lines[f"v{max(segment.instructions)}"], value, rtol=1e-14)


def _with_identifiers(statement: str) -> str:
    """Return a statement with names of elements, ``v2.0``, that Python takes."""
    return re.sub(r"\b(v\d+)\.(\d+)", r"\1_\2", statement)


def rosenbrock(x: Any) -> Any:
    return tg.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_vectors_stay_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    original = scalars._written_out
    monkeypatch.setattr(scalars, "_written_out", lambda *given: written.append(given) or original(*given))
    for size in (3, 10, 16):
        tg.value_and_grad(tg.jit(rosenbrock, fuse=True))(np.linspace(0.5, 1.5, size))
    assert not written
    tg.value_and_grad(tg.jit(lambda x: integrated(x) * 1.5, fuse=True))(X)
    assert written


ZEROS = """
import numpy as np, tapegrad as tg
def f(s):
    v = tg.array([s, 1.5, s])  # no tangent of the second element
    return v @ v + tg.sum(v * 1.75)
print(*(tg.jvp(tg.jit(f, fuse=fuse), (np.float64(0.75),), (np.float64(0.5),))[1] for fuse in (False, True)))
"""


def test_zeros_are_in_memory_for_rows_that_read_them() -> None:
    variables = {**os.environ, "MALLOC_PERTURB_": "170"}  # other memory is filled with it
    done = subprocess.run(
        [sys.executable, "-c", ZEROS], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3.25 3.25\n"


def test_recipes_tell_products_apart() -> None:
    """The strides of matrices stand beside the frames: those of a product with the transposed one are the same."""
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    for matrix in (a, a.T):

        def image(x: Any, matrix: Any = matrix) -> Any:
            return tg.sum((matrix @ tg.stack([x[0], x[1]])) * np.array([1.0, 10.0]))

        for fuse in (True, False):
            np.testing.assert_array_equal(tg.grad(tg.jit(image, fuse=fuse))(X[:2]), matrix.T @ [1.0, 10.0])


BACKWARDS = np.arange(1.0, 7.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: tg.stack([x[0], x[1]]) * BACKWARDS[1::-1] + x[2] * s,
        lambda x, s: BACKWARDS.reshape(2, 3)[::-1, ::-1] @ tg.stack([x[0], x[1], x[2] * s]),
        lambda x, s: tg.sum(tg.stack([x[0], x[1]])[:, None] * BACKWARDS.reshape(2, 3)[::-1], axis=0),
    ],
)
def test_arrays_of_the_closure_from_their_ends(function: Callable[..., Any]) -> None:
    """What lies before the first element that is read belongs to another array, by made-up addresses."""

    def summed(x: Any, s: Any) -> Any:
        y = function(x, s)
        return tg.sum(y * y) + tg.sum(tg.stack([y[0], y[1]]) * BACKWARDS[4:2:-1])

    segments_alike(summed, drawn(2, 3, np.float64), ("gradient", "tangent"))


def test_stacks_of_products() -> None:
    """The kernel is called for each matrix of a stack."""

    def of_stacks(x: Any, s: Any) -> Any:
        stack = tg.reshape(tg.stack([x[0], x[1], x[2] * s] * 4), (3, 2, 2))
        y = stack @ tg.stack([x[0], x[1]])
        return tg.sum((stack @ stack)[1] * y[2]) + tg.sum(tg.reshape(stack, (3, 1, 4)) @ np.arange(1.0, 5.0))

    segments_alike(of_stacks, drawn(4, 3, np.float64)[:1], ("gradient", "tangent"))
