"""Pairs of programs of one shape that differ in what aliases what: as a script, one process of several.

``python aliases.py first count process`` runs programs drawn from seeds first, first + 1, ..., and compares segments
with rows, bit for bit. For each program each process has another way in which closed-over arrays and the argument lie
in memory; with one cache folder they meet each other's recipes.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tapegrad as tg
from tapegrad.special import logsumexp

LINES = (2, 3, 4, 16, 17)
LENGTHS = (8, 64, 72)
REDUCTIONS = (tg.max, tg.min, logsumexp, tg.sum)
UNARY = (tg.sin, tg.square, tg.negative, tg.cumsum, tg.sort, tg.tanh)
BINARY = (tg.add, tg.multiply, tg.subtract, tg.maximum)
TRANSFORMS: tuple[Callable[[Any], Callable[[Any], Any]], ...] = (
    lambda f: f,
    lambda f: tg.value_and_grad(f),
    lambda f: tg.value_and_grad(f),
    lambda f: lambda x: tg.jvp(f, (x,), (np.cos(x),)),
    lambda f: lambda x: tg.jacobian(f)(x),
    lambda f: lambda x: tg.vmap(f)(np.stack([x, x * 0.5, x + 1.0])),
    lambda f: lambda x: tg.vmap(tg.grad(f))(np.stack([x, x * 0.5, x + 1.0])),
)


class Arrays(NamedTuple):
    """Tables, as many lines as a table has, and the argument, which looks like the tables."""

    a: np.ndarray
    b: np.ndarray
    lines: Sequence[np.ndarray]
    x: np.ndarray


def _apart(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, b, [line.copy() for line in memory[: len(a)]], a + b)


def _lines_of_a(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, b, [memory[0], *a[1:]], a + b)


def _lines_of_both(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, b, [memory[0], *b[:-1]], a + b)


def _one_line(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, b, [b[-1]] * len(a), a + b)


def _one_table(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, a, [memory[0], *a[1:]], b)


def _overlapping_tables(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(memory[: len(a)], memory[1 : len(a) + 1], list(memory[2 : len(a) + 2]), a + b)


def _across_lines(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    flat, length = memory.reshape(-1), a.shape[1]
    lines = [flat[k * length + 3 : (k + 1) * length + 3] for k in range(len(a))]
    return Arrays(memory[: len(a)], b, lines, a + b)


def _side_by_side(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    size = len(a)
    return Arrays(memory[:size], memory[size : 2 * size], list(memory[2 * size : 3 * size]), memory[:size])


def _of_the_argument(a: np.ndarray, b: np.ndarray, memory: np.ndarray) -> Arrays:
    return Arrays(a, b, [memory[0], *b[1:]], b)


WAYS = (
    _apart, _lines_of_a, _lines_of_both, _one_line, _one_table, _overlapping_tables, _across_lines, _side_by_side,
    _of_the_argument,
)  # fmt: skip


def draw(seed: int) -> tuple[tuple[int, int], Callable[[Arrays], Callable[[Any], Any]], int]:
    """Draw the shape of a table, a program that closes over arrays, and the number of a transform.

    What is drawn does not depend on the arrays.
    """
    rng = np.random.default_rng(seed)
    shape = int(rng.choice(LINES)), int(rng.choice(LENGTHS))
    steps = [tuple(rng.integers(1 << 30, size=5).tolist()) for _ in range(rng.integers(4, 9))]
    transform = int(rng.integers(len(TRANSFORMS)))

    def closed(arrays: Arrays) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            tables, lines = [x, arrays.a, arrays.b], [*arrays.lines, x[0], arrays.a[1]]
            for kind, op, first, second, further in steps:
                table, other = tables[first % len(tables)], tables[second % len(tables)]
                line = lines[second % len(lines)]
                match kind % 6:
                    case 0:
                        tables.append(BINARY[op % len(BINARY)](table, other))
                    case 1:
                        tables.append(BINARY[op % len(BINARY)](table, line))
                    case 2 | 3:
                        of = table * x if further % 3 else table
                        lines.append(REDUCTIONS[op % len(REDUCTIONS)](of, axis=0))
                    case 4:
                        lines.append(UNARY[op % len(UNARY)](line))
                    case _:
                        written = table * x
                        written[further % shape[0]] = line
                        tables.append(written)
            total = sum(tg.sum(each * lines[0]) for each in tables[-2:])
            return (
                total + sum(tg.sum(each * x[1]) for each in lines[-2:]) + tg.sum(lines[0] * lines[1] * x[0])
            )

        return f

    return shape, closed, transform


def arrays_of(seed: int, way: int, shape: tuple[int, int]) -> Arrays:
    """Return arrays that lie in memory as `way` says, with contents of their own."""
    rng = np.random.default_rng([seed, way])
    a, b = rng.uniform(-2, 2, (2, *shape))
    return WAYS[way](a.copy(), b.copy(), rng.uniform(-2, 2, (3 * len(a), a.shape[1])))


def _results(f: Callable[[Any], Any], arrays: Arrays) -> list[np.ndarray]:
    """Return what a function gives for the argument, and for another one once a closed-over array has changed."""
    kept, other = arrays.a.copy(), arrays.x[::-1].copy()
    first = f(arrays.x)
    arrays.a[1:] *= -0.5
    second = f(other)
    arrays.a[...] = kept
    each = [results if isinstance(results, tuple) else (results,) for results in (first, second)]
    return [np.asarray(result) for results in each for result in results]


def differs(seed: int, way: int) -> str:
    """Say what is wrong with a program; nothing if segments give the bits of rows."""
    shape, closed, transform = draw(seed)
    arrays = arrays_of(seed, way, shape)
    f, found = closed(arrays), list[list[np.ndarray]]()
    for fuse in (False, True):
        try:
            found.append(_results(TRANSFORMS[transform](tg.jit(f, fuse=fuse)), arrays))
        except Exception as error:
            return f"seed {seed}, {WAYS[way].__name__}, fuse={fuse}: {error!r}"
    if all(np.array_equal(*each, equal_nan=True) for each in zip(*found, strict=True)):
        return ""
    return f"seed {seed}, {WAYS[way].__name__}: {found}"


def main() -> None:
    """Print what is wrong, and the number of programs."""
    first, count, process = map(int, sys.argv[1:])
    said = []
    for seed in range(first, first + count):
        ways = np.random.default_rng(seed).permutation(len(WAYS))
        said.append(differs(seed, int(ways[process % len(WAYS)])))
    wrong = [each for each in said if each]
    print("\n".join([*wrong, f"{len(wrong)} of {count}"]))


if __name__ == "__main__":
    main()
