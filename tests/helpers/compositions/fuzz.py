"""Driver of random programs: ``python -m helpers.compositions.fuzz --count 2000`` in the folder of the tests.

Programs run in child processes, which a fault may end: the parent names the seed, and goes on behind it. What fails is
shrunk, and printed as a script.
"""

import argparse
import collections
import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
_SILENCE_S = 120  # a child that says nothing for so long hangs
_BATCH = 100  # programs of a child


@dataclass(frozen=True)
class Report:
    """What a child said of a program that failed."""

    seed: int
    mode: str
    text: str


def findings(
    first: int,
    count: int,
    features: str = "",
    seconds: float = 20.0,
    environment: dict[str, str] | None = None,
    without: str = "",
) -> Iterator[Report | dict[str, int]]:
    """Yield reports of failing programs of some seeds, and the counts of each child."""
    seed, end = first, first + count
    while seed < end:
        stop = min(seed + _BATCH, end)
        command = [sys.executable, "-m", "helpers.compositions.child", str(seed), str(stop)]
        command += ["--features", features, "--shrink", str(seconds), "--without", without]
        last, status = seed - 1, 0
        with subprocess.Popen(
            command, cwd=TESTS, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True
        ) as child:
            try:
                for message in _messages(child):
                    last = message.get("begin", last)
                    if "begin" not in message:
                        yield Report(**message) if "seed" in message else message
                status = child.wait()
            finally:  # who asks for no more findings wants no more programs
                child.kill()
        if status:
            how = "hangs" if status == -9 else f"ends the process with status {status}"
            yield Report(last, "process", f"seed {last} {how}")
            stop = last + 1
        seed = stop


def _messages(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Yield what a child says, and end it if it says nothing for long."""
    assert child.stdout is not None
    while True:
        ready, _, _ = select.select([child.stdout], [], [], _SILENCE_S)
        if not ready:
            child.kill()
            return
        line = child.stdout.readline()
        if not line:
            return
        if line.startswith("{"):
            yield json.loads(line)


def main() -> None:
    """Run programs, and print what fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--features", default="", help="features of all programs, separated by commas")
    parser.add_argument("--without", default="", help="features of none")
    parser.add_argument("--shrink", type=float, default=20.0, help="seconds for making a program smaller")
    parser.add_argument("--stop", action="store_true", help="stop at the first finding")
    options = parser.parse_args()
    begin, totals, number = time.monotonic(), collections.Counter[str](), itertools.count(1)
    for found in findings(
        options.first, options.count, options.features, options.shrink, without=options.without
    ):
        if isinstance(found, dict):
            totals.update(found)
            continue
        print(f"# --- {next(number)}: seed {found.seed}, {found.mode}\n{found.text}", flush=True)
        if options.stop:
            break
    print(f"{dict(totals)}, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
