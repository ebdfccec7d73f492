"""Conversations of an eval and a tool, two processes that send each other lines of JSON, and the score of a tool."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from threading import Timer
from time import perf_counter
from typing import IO, Any

ALIKE = ("saddle", "particle")  # functions that are ways to one answer, of which GradBench counts the fastest


@dataclass
class Evaluation:
    """What a tool has said to a message, and the eval to that."""

    module: str
    function: str
    seconds: list[float]  # of each run
    error: str = ""
    valid: bool = False


@dataclass(frozen=True)
class Speaker:
    """A process that takes part: its command, and variables of its environment."""

    command: Sequence[str]
    environment: Mapping[str, str]

    def start(self, folder: Path, complaints: IO[str]) -> "subprocess.Popen[str]":
        """Start it on one processor: GradBench compares tools by one thread."""
        pipe, command, variables = subprocess.PIPE, self.command, self.environment
        started: subprocess.Popen[str] = subprocess.Popen(
            command, cwd=folder, env=variables, stdin=pipe, stdout=pipe, stderr=complaints, text=True
        )
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(started.pid, {min(os.sched_getaffinity(0))})
        return started


@dataclass(frozen=True)
class Session:
    """What was evaluated until the eval had no message left, or else what went wrong."""

    evaluations: list[Evaluation]
    failure: str = ""

    def seconds(self) -> float:
        """Return the inverse of GradBench's score: the sum of the workloads' mean times, first runs included."""
        means = [fmean(each.seconds) for each in self.evaluations if each.seconds]
        return min(means) if self.evaluations[0].module in ALIKE else sum(means)

    @property
    def valid(self) -> int:
        return sum(each.valid for each in self.evaluations)

    @property
    def complete(self) -> bool:
        return not self.failure and bool(self.evaluations) and self.valid == len(self.evaluations)


def converse(of_eval: Speaker, of_tool: Speaker, folder: Path, limit: float) -> Session:
    """Hand each message of the eval to the tool, and the response back, for at most `limit` seconds."""
    evaluations: dict[int, Evaluation] = {}
    with tempfile.TemporaryFile("w+") as complaints:
        processes = [each.start(folder, complaints) for each in (of_eval, of_tool)]
        watches, deadline = [Timer(limit, each.kill) for each in processes], perf_counter() + limit
        for watch in watches:
            watch.start()
        try:
            answered = _forward(processes, evaluations) and not processes[0].wait()
        except (BrokenPipeError, json.JSONDecodeError):
            answered = False
        in_time = perf_counter() < deadline
        for watch, each in zip(watches, processes, strict=True):
            watch.cancel()
            each.kill()
            each.communicate()
        complaints.seek(0)
        last = (complaints.read().strip().splitlines() or ["ended early"])[-1]
    failure = "" if answered and in_time else last if in_time else f"more than {limit:.0f} s"
    return Session(list(evaluations.values()), failure)


def _forward(processes: Sequence["subprocess.Popen[str]"], evaluations: dict[int, Evaluation]) -> bool:
    """Return whether all messages were answered."""
    (messages, back), (responses, on) = ((each.stdout, each.stdin) for each in processes)
    assert messages
    assert responses
    for message in messages:
        print(message, end="", file=on, flush=True)
        response = responses.readline()
        if not response:
            return False
        _note(json.loads(message), json.loads(response), evaluations)
        print(response, end="", file=back, flush=True)
    return True


def _note(message: dict[str, Any], response: dict[str, Any], evaluations: dict[int, Evaluation]) -> None:
    if message["kind"] == "evaluate":
        timings = response.get("timings") or []
        evaluations[message["id"]] = Evaluation(
            message["module"], message["function"],
            [each["nanoseconds"] / 1e9 for each in timings if each["name"] == "evaluate"],
            response.get("error") or "",
        )  # fmt: skip
    elif message["kind"] == "analysis":
        evaluations[message["of"]].valid = message["valid"]
        evaluations[message["of"]].error = message.get("error") or ""
