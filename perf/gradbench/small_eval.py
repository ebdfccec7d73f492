"""``python -m perf.gradbench.small_eval``: an eval of small inputs for all modules, in GradBench's protocol.

Inputs and outputs are in a file, which a test computes anew without automatic differentiation.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("small.json")
TOLERANCE = 1e-6  # of the outputs that differences have found
LOOSER = {"particle": 2e-5}  # what a descent leaves whose last step is shorter than 1e-5


def close(found: Any, wanted: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether an output is the right one: in its structure, and in its numbers by the largest of them."""
    if isinstance(wanted, dict):
        same = isinstance(found, dict) and found.keys() == wanted.keys()
        return same and all(close(found[key], each, tolerance) for key, each in wanted.items())
    try:
        found, wanted = np.array(found, dtype=float), np.array(wanted, dtype=float)
    except (TypeError, ValueError):
        return False
    bound = tolerance * max(1.0, np.max(np.abs(wanted)))
    return found.shape == wanted.shape and bool(np.all(np.abs(found - wanted) <= bound))


class Asking:
    """The side of the eval: numbered messages, one after the other."""

    def __init__(self) -> None:
        self.sent = 0

    def ask(self, kind: str, **rest: Any) -> dict[str, Any]:
        """Send a message, and return the response to it."""
        print(json.dumps({"id": self.sent, "kind": kind} | rest), flush=True)
        response: dict[str, Any] = json.loads(input())
        if response["id"] != self.sent:
            raise ValueError(f"expected message ID {self.sent}, got {response['id']}")
        self.sent += 1
        return response

    def evaluate(self, module: str, function: str, given: Any, wanted: Any) -> None:
        """Ask for an output, and tell whether it is right."""
        if isinstance(given, dict):
            given = given | {"min_runs": 2, "min_seconds": 0}
        number, named = self.sent, {"module": module, "function": function}
        response = self.ask("evaluate", **named, input=given, description=f"{module}, small")
        if response["success"]:
            valid = close(response["output"], wanted, LOOSER.get(module, TOLERANCE))
            wrong = {} if valid else {"error": f"{response['output']} instead of {wanted}"[:2000]}
            self.ask("analysis", of=number, valid=valid, **wrong)


def main() -> int:
    """Ask for all cases; 1 if the tool lacks a module."""
    asking, known = Asking(), set()
    asking.ask("start", eval="small")
    for case in json.loads(FILE.read_text()):
        if case[0] not in known and not asking.ask("define", module=case[0])["success"]:
            return 1
        known.add(case[0])
        asking.evaluate(*case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
