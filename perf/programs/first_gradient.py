"""``first_gradient replay|eager``: seconds from the first import to the first gradient of Rosenbrock."""

from time import perf_counter

START = perf_counter()

import json  # noqa: E402  (the clock starts before everything else)
import sys  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import tapegrad  # noqa: E402


def f(x: tapegrad.Tensor) -> tapegrad.Tensor:
    """Compute the chained Rosenbrock function, here again so that nothing but the library is imported."""
    return tapegrad.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def main(mode: str) -> None:
    """Print the seconds; the minimum's gradient is checked after the clock has stopped."""
    x0 = np.ones(10)
    gradient: Any
    if mode == "replay":
        gradient = tapegrad.value_and_grad(tapegrad.jit(f))(x0)[1]
    else:
        x = tapegrad.tensor(x0)
        f(x).backward()
        gradient = x.grad
    seconds = perf_counter() - START
    if np.any(gradient != 0):
        raise SystemExit(f"wrong gradient: {gradient}")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1])
