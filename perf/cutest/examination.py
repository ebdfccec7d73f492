"""Examination of problems by processes of their own: one processor each, so that neither library has threads."""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import Any
from unittest import mock

import numpy as np

import tapegrad as tg
from perf.cutest.answers import ByTapegrad, Directions, by_jax, distance, limited, values_of
from perf.cutest.array import unwrapped, wrapped
from perf.cutest.loading import Collection, on_jax, on_stand_ins
from perf.cutest.problem import Problem
from perf.cutest.referee import opinions
from perf.cutest.times import times
from perf.peers import load
from perf.progress import progress

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
_MAX_PROBLEMS = 10  # of a process: what both libraries have compiled stays in memory
_LONGEST = 90.0  # CPU seconds for what is asked of a problem beside its quantities
TOLERANCE = 1e-10  # of a quantity, in parts of its largest element
_COPIES: list[Collection] = []  # of a worker: on the stand-ins, on JAX


@dataclass
class Examination:
    """What was found out about a problem.

    For each quantity there is a distance from JAX's answer, or a failure in words; of those that differ, which of the
    two is right by differences.
    """

    name: str
    variables: int = 0
    constraints: int = 0
    distances: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    opinions: dict[str, str] = field(default_factory=dict)
    times: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def examine_all(problems: Sequence[str], workers: int) -> list[Examination]:
    """Examine problems, with a line of progress now and then."""
    found: list[Examination] = []
    every, count = iter(progress(problems)), workers * _MAX_PROBLEMS
    with mock.patch.dict(os.environ, _ONE_THREAD):
        while some := list(islice(every, count)):
            with ProcessPoolExecutor(workers, get_context("spawn"), _prepare, (workers,)) as pool:
                found += pool.map(examine, some)
    return found


def _prepare(workers: int) -> None:
    """Take a processor of one's own, and import both copies."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[os.getpid() % workers % len(processors)]})
    _COPIES[:] = on_stand_ins(), on_jax()


def examine(where: str) -> Examination:
    """Examine one problem at its start."""
    found = Examination(where.rpartition(".")[2])
    try:
        ours, theirs = (copy.problem(where) for copy in _COPIES)
        _examine(found, ours, theirs)
    except Exception as error:
        found.error = f"{type(error).__name__}: {error}"
    return found


def _examine(found: Examination, ours: Any, theirs: Any) -> None:
    by_theirs, by_ours = Problem(theirs, load("jax.numpy")), Problem(ours, tg, wrapped, unwrapped)
    at = Directions.of(by_theirs)
    found.variables, found.constraints = at.start.size, at.multipliers.size
    answers = by_jax(by_theirs, at)
    values = {"start": by_ours.start, **values_of(ByTapegrad(by_ours, at, fuse=False).calls())}
    answers["start"] = at.start
    found.failures = {name: value for name, value in values.items() if isinstance(value, str)}
    arrays = {name: value for name, value in values.items() if not isinstance(value, str)}
    found.distances = {name: distance(value, answers[name]) for name, value in arrays.items()}
    differing = {name: arrays[name] for name, gap in found.distances.items() if not gap <= TOLERANCE}
    with limited(_LONGEST):
        found.opinions = opinions(ours, at, differing, answers)
    with limited(_LONGEST):
        found.times = times(by_ours, by_theirs, at, answers)
