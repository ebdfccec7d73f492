"""``long_laplace COUNT``: a marginal likelihood over a chain of COUNT effects, its gradient, and their memory."""

import json
import resource
import sys
from time import perf_counter
from typing import Any

import numpy as np

import tapegrad as tg
from perf.figures.random_effects import THETA, Chain

CALLS = 5


def main(count: int) -> None:
    """Print the most bytes that were resident, the seconds of an evaluation, and the error against bands by SciPy."""
    chain = Chain(count)
    (value, slopes), mode = chain.reference()

    def joint(theta: Any, u: Any) -> Any:
        return chain.joint(tg, theta, u)

    marginal, seconds = tg.value_and_grad(tg.laplace(tg.jit(joint), random=1)), []
    for _ in range(CALLS + 1):
        start = perf_counter()
        found, gradient = marginal(THETA, mode)
        seconds.append(perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = max(abs(found / value - 1), float(np.abs(gradient / slopes - 1).max()))
    print(
        json.dumps(
            {
                "error": error,
                "bytes": peak if sys.platform == "darwin" else 1024 * peak,
                "first": seconds[0],
                "seconds": min(seconds[1:]),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
