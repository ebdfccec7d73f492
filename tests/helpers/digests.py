"""Digests of results: a line for each case of the structural ops, and for each of some random programs.

``python tests/helpers/digests.py`` prints them, so that processes that compile in different ways can be compared.
"""

import hashlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import tapegrad as tg
from autodiff.test_structural_rules import CASES, OTHERS, operands
from helpers.compositions.sample import EVERY, Sample


def digest(*results: Any) -> str:
    """Return what identifies the bits of arrays, and structures of them."""
    parts = [np.asarray(each).tobytes() for result in results for each in _flat(result)]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]


def _flat(result: Any) -> Iterator[Any]:
    if isinstance(result, tuple | list):
        for each in result:
            yield from _flat(each)
    else:
        yield getattr(result, "data", result) if isinstance(result, tg.Tensor) else result


def of_structural_ops() -> Iterator[tuple[str, str]]:
    """Yield values, gradients, tangents and products with Hessians of each case, eager and replayed."""
    for name, cases in {**CASES, **OTHERS}.items():
        for k, (function, shapes) in enumerate(cases):
            xs, (dots, *_) = operands(shapes)
            every = tuple(range(len(xs)))

            def number(*xs: Any, function: Any = function) -> Any:
                y = function(*xs)
                return tg.sum(y * y)

            for way, f in (("eager", number), ("replayed", tg.jit(number))):
                found = (
                    tg.value_and_grad(f, every)(*xs),
                    tg.jvp(f, xs, dots),
                    tg.hvp(f, every)(*xs, tuple(dots)),
                )
                yield f"{name}-{k} {way}", digest(*found)


def of_random_programs(count: int = 40) -> Iterator[tuple[str, str]]:
    """Yield values and gradients of programs with views and in-place writes, eager, replayed and fused."""
    for seed in range(count):
        sample = Sample(seed, 30)
        for way, f in (
            ("eager", sample.number),
            ("replayed", tg.jit(sample.number)),
            ("fused", tg.jit(sample.number, fuse=True)),
        ):
            yield f"program {seed} {way}", digest(tg.value_and_grad(f, EVERY)(*sample.inputs))


def main() -> None:
    """Print a line for each case."""
    warnings.simplefilter("ignore")
    for name, found in (*of_structural_ops(), *of_random_programs()):
        print(f"{name}: {found}")


if __name__ == "__main__":
    main()
