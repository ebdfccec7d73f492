"""``first_hessian "replay"|"not recorded"``: seconds from the first import to the first Hessian of Rosenbrock."""

from time import perf_counter

START = perf_counter()

import json  # noqa: E402  (the clock starts before everything else)
import sys  # noqa: E402

import numpy as np  # noqa: E402

import tapegrad  # noqa: E402

N = 10


def f(x: tapegrad.Tensor) -> tapegrad.Tensor:
    """Compute the chained Rosenbrock function, here again so that nothing but the library is imported."""
    return tapegrad.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def main(mode: str) -> None:
    """Print the seconds; the minimum's Hessian is checked after the clock has stopped."""
    hessian = tapegrad.hessian(tapegrad.jit(f) if mode == "replay" else f)(np.ones(N))
    seconds = perf_counter() - START
    beside = np.diag(np.full(N - 1, -400.0), 1)
    wanted = np.diag([802.0, *[1002.0] * (N - 2), 200.0]) + beside + beside.T
    if not np.allclose(hessian, wanted, rtol=1e-12, atol=1e-9):
        raise SystemExit(f"wrong Hessian: {hessian}")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1])
