"""``tape_bytes scale|sine COUNT``: resident memory that a recorded chain of COUNT instructions takes."""

import gc
import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import tapegrad
from perf.programs.resident import resident

# Kind: the expression, one step of it, bytes of primal that the reverse sweep needs of every step.
KINDS: dict[str, tuple[str, Callable[[Any], Any], int]] = {
    "scale": ("x = x * c", lambda x: x * 0.9999999, 0),
    "sine": ("x = sin(x)", tapegrad.sin, 8),
}


def record(step: Callable[[Any], Any], leaf: Any, count: int) -> Any:
    """Return the end of a chain of `count` steps."""
    x = leaf
    for _ in range(count):
        x = step(x)
    return x


def main(kind: str, count: int) -> None:
    """Measure after a first, short chain has loaded what there is to load."""
    expression, step, kept = KINDS[kind]
    leaf = tapegrad.tensor(0.5)
    record(step, leaf, 1_000).backward()
    gc.collect()
    before, start = resident(), perf_counter()
    end = record(step, leaf, count)
    seconds = perf_counter() - start
    found = {"bytes": resident() - before, "instructions": count, "kept": kept, "expression": expression}
    end.backward()  # the whole chain was alive until here
    print(json.dumps({**found, "seconds_each": seconds / count}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
