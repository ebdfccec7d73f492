"""``long_chain eager|replay COUNT``: the gradient of a chain of COUNT instructions, against plain floats."""

import json
import math
import sys
from time import perf_counter
from typing import Any

import numpy as np

import tapegrad

X0 = 0.8
SCALE = 1.0000001


def chain(x: Any, count: int) -> Any:
    """``sin`` and a scaling in turns: falls so slowly that the gradient never underflows."""
    for _ in range(count // 2):
        x = tapegrad.sin(x) * SCALE
    return x


def expected(count: int) -> float:
    """Return the derivative at `X0`."""
    x, slope = X0, 1.0
    for _ in range(count // 2):
        x, slope = math.sin(x) * SCALE, slope * math.cos(x) * SCALE
    return slope


def main(mode: str, count: int) -> None:
    """Print the error of the gradient and the seconds of both halves."""
    gradient: Any
    start = perf_counter()
    if mode == "eager":
        x = tapegrad.tensor(X0)
        end = chain(x, count)
        middle, then = perf_counter(), "backward"
        end.backward()
        gradient = x.grad
    else:
        function = tapegrad.value_and_grad(tapegrad.jit(lambda x: chain(x, count)))
        function(np.float64(X0))
        middle, then = perf_counter(), "for the first replay"
        gradient = function(np.float64(X0))[1]
    seconds, wanted = perf_counter() - middle, expected(count)
    error = abs(float(gradient) / wanted - 1)
    print(json.dumps({"error": error, "forward": middle - start, "reverse": seconds, "then": then}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
