"""``growth forward|interleaved PASSES``: the most that resident memory grows in a long loop."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad
from perf.programs.resident import resident

WARM_UP = 1_000
X0 = np.array([0.3, 0.5, 0.7])


def forward() -> Callable[[], None]:
    """Forward passes on one leaf whose results are dropped and never differentiated."""
    x = tapegrad.tensor(X0)

    def step() -> None:
        tapegrad.sum(tapegrad.sin(x) * x + x)

    return step


def interleaved() -> Callable[[], None]:
    """Two graphs on one leaf, built in turns; one is differentiated at once, the other in the next step."""
    x = tapegrad.tensor(X0)
    kept: list[Any] = [tapegrad.sum(tapegrad.sin(x) * x)]
    expected = 2 * X0 + 1 + np.cos(X0) * X0 + np.sin(X0)

    def step() -> None:
        a, b = x * x, tapegrad.sin(x)
        a, b = a + x, b * x
        a, b = tapegrad.sum(a), tapegrad.sum(b)
        a.backward()
        kept.pop().backward()
        kept.append(b)
        if x.grad is None or not np.allclose(x.grad, expected, rtol=1e-12, atol=0):
            raise SystemExit(f"wrong gradient {x.grad} instead of {expected}")
        x.null_grad()

    return step


KINDS = {
    "forward": ("never differentiated", forward),
    "interleaved": ("forward and backward, interleaved graphs", interleaved),
}


def main(kind: str, passes: int) -> None:
    """Measure after a short warm-up, then twenty times on the way."""
    what, make = KINDS[kind]
    step = make()
    for _ in range(WARM_UP):
        step()
    before, most = resident(), 0
    for _ in range(20):
        for _ in range(passes // 20):
            step()
        most = max(most, resident() - before)
    print(json.dumps({"what": what, "bytes": most}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
