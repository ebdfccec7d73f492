"""``python -m perf.gradbench``: the tool, which answers the messages of an eval on standard input and output."""

import json
import sys
import traceback
from typing import Any

from perf.gradbench.bundle import BA
from perf.gradbench.clusters import GMM, KMEANS
from perf.gradbench.elementary import DET, HELLO, LLSQ, LSE, ODE
from perf.gradbench.hand import HT
from perf.gradbench.lstm import LSTM
from perf.gradbench.nested import PARTICLE, SADDLE

MODULES = {
    "hello": HELLO, "llsq": LLSQ, "lse": LSE, "ode": ODE, "gmm": GMM, "kmeans": KMEANS, "ba": BA, "ht": HT,
    "lstm": LSTM, "det": DET, "saddle": SADDLE, "particle": PARTICLE,
}  # fmt: skip


def respond(message: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a message, without its number."""
    match message["kind"]:
        case "start":
            return {"tool": "tapegrad"}
        case "define":
            return {"success": message["module"] in MODULES}
        case "evaluate":
            try:
                return MODULES[message["module"]][message["function"]].respond(message["input"])
            except Exception:  # whatever it is, the eval is told
                return {"success": False, "error": traceback.format_exc()}
    return {}


def main() -> None:
    """Answer until there is no message left."""
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"]} | respond(message)), flush=True)


if __name__ == "__main__":
    main()
