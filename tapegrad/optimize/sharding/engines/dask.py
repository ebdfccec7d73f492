"""Evaluation of parts on a Dask cluster: parts stay where they are, and sums are made near them."""

import contextlib
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.optimize.native.executors import MAX_TRIES
from tapegrad.optimize.sharding.engines.engine import Engine, bounds_of_runs
from tapegrad.optimize.sharding.engines.workers import (
    Answer,
    MissingContent,
    UnknownPart,
    evaluate_run,
    known_table,
)
from tapegrad.optimize.sharding.lazy_arrays import DaskPartition, portable, with_leaves
from tapegrad.optimize.sharding.recordings import EvaluationPoint, PartRecordings
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Value, joined, total
from tapegrad.pytree import flatten

# By tasks an evaluation takes 27 ms at least, 2 ms by actors; but the answers of all actors come to this process.
_MAX_ACTORS = 8
_ARITY = 8  # answers that one task joins
_POLL_INTERVAL_S = 0.5
_MAX_EMBEDDED_BYTES = 1 << 16  # in a graph; what is larger is scattered


class RunOfParts:
    """Neighbouring parts on one worker: a result of Dask's that later tasks depend on, or an actor."""

    def __init__(self, parts: list[Any], first: int, count: int, keep: int) -> None:
        self._arguments = parts, first, count, keep
        self._first, self._end = first, first + len(parts)
        self._store = Store(lambda number: parts[number - first], count, keep)

    def __reduce__(self) -> Any:
        parts, *rest = self._arguments
        return RunOfParts, (list(map(portable, parts)), *rest)

    def evaluate(self, key: Any, content: bytes, point: EvaluationPoint) -> Answer:
        """Evaluate the parts by evaluators that are known, or are sent."""
        table = known_table(key, content)
        if table is None:
            return MissingContent(True, ())
        return evaluate_run(self._store, table, point, self._first, self._end)


def _evaluate(run: RunOfParts, table: tuple[Any, bytes], point: EvaluationPoint) -> Answer:
    return run.evaluate(*table, point)


def _joined(answers: list[Answer]) -> Answer:
    """Add nodes of neighbouring runs, on a worker; hand on what is no node."""
    others = (answer for answer in answers if not isinstance(answer, list))
    return next(others, None) or joined(node for answer in answers for node in answer)  # type: ignore[union-attr]


class DaskEngine(Engine):
    """Workers of a Dask cluster, each with runs of neighbouring parts, one for each of its threads.

    Up to eight runs are actors, which are called without the scheduler; more of them are results of tasks, whose sums
    are made by a tree of tasks near them. Parts that are read are read again by another worker if one is lost; arrays
    in memory are sent once more.

    Parameters
    ----------
    parts, store, progress
        As for `Engine`.
    client
        A `distributed.Client`.
    """

    def __init__(self, parts: list[Any], store: Store, progress: bool, client: Any) -> None:
        super().__init__(parts, store, progress)
        self._client = client
        self._runs: list[Any] = []  # actors or futures, in order
        self._are_actors = True
        self._known: set[Any] = set()  # keys of tables that actors have been sent
        self._table: tuple[Any, Any] = (None, None)  # key of that of tasks, and the future of its content

    def total(self, recordings: PartRecordings, point: EvaluationPoint) -> Value:
        learned: set[int] = set()
        if not recordings.table:
            self.learn(recordings, point, 0, set())
        for _ in range(MAX_TRIES + 1):
            try:
                return self._total(recordings, point, learned)
            except _lost() as error:
                if getattr(error, "__notes__", ()):  # of a part
                    raise
                lost, self._runs, self._known, self._table = error, [], set(), (None, None)
        raise RuntimeError(f"sharded: workers of Dask were lost {MAX_TRIES + 1} times") from lost

    def _total(self, recordings: PartRecordings, point: EvaluationPoint, learned: set[int]) -> Value:
        self._runs = self._runs or self._pinned()
        by = self._by_actors if self._are_actors else self._by_tasks
        while True:
            with Progress(self.progress) as line:
                answer = by(recordings, point, line)
            if not isinstance(answer, UnknownPart):
                return total(answer)  # type: ignore[arg-type]
            self.learn(recordings, point, answer.part, learned)

    def _by_actors(self, recordings: PartRecordings, point: EvaluationPoint, line: Progress) -> Answer:
        key, content = recordings.travelling()
        is_new = key not in self._known
        calls = [run.evaluate(key, content if is_new else b"", point) for run in self._runs]
        self._known.add(key)
        answers = []
        for run, call in zip(self._runs, calls, strict=True):
            answer = call.result()
            if isinstance(answer, MissingContent):  # it was sent others meanwhile
                answer = run.evaluate(key, content, point).result()
            answers.append(answer)
            if line.due:
                line.show(f"sharded: {len(answers)} of {len(calls)} runs of parts")
        return _joined(answers)

    def _by_tasks(self, recordings: PartRecordings, point: EvaluationPoint, line: Progress) -> Answer:
        submit, table = self._client.submit, self._table_of(recordings)
        where = self._scattered(point) if point.x.nbytes > _MAX_EMBEDDED_BYTES else point
        level = [submit(_evaluate, run, table, where, pure=False) for run in self._runs]
        tasks = [*level]
        try:
            while len(level) > 1:
                level = [
                    submit(_joined, level[k : k + _ARITY], pure=False) for k in range(0, len(level), _ARITY)
                ]
                tasks += level
            while self.progress and not level[0].done():
                _wait(level[0])
                if line.due:
                    line.show(f"sharded: {sum(task.done() for task in tasks)} of {len(tasks)} tasks")
            answer: Answer = level[0].result()
            return answer
        except BaseException:
            self._client.cancel(tasks)
            raise

    def _scattered(self, value: Any) -> Any:
        """Send a value to all workers; in a list, for Dask scatters each item of a tuple."""
        return self._client.scatter([value], broadcast=True, hash=False)[0]

    def _table_of(self, recordings: PartRecordings) -> Any:
        """Return the evaluators on all workers, which are sent once."""
        key, content = recordings.travelling()
        if self._table[0] != key:
            self._table = key, self._scattered((key, content))
        return self._table[1]

    def _pinned(self) -> list[Any]:
        """Give runs of parts to the workers, as many as these have threads."""
        threads = self._client.nthreads()
        if not threads:
            raise RuntimeError("sharded: the Dask cluster has no workers")
        workers = [address for address, number in sorted(threads.items()) for _ in range(number)]
        bounds = bounds_of_runs(len(self.parts), len(workers))
        runs = [each for each in zip(workers, bounds[:-1], bounds[1:], strict=True) if each[1] < each[2]]
        self._are_actors = len(runs) <= _MAX_ACTORS
        futures = [self._pinned_run(*each) for each in runs]
        return [future.result() for future in futures] if self._are_actors else futures

    def _pinned_run(self, worker: str, first: int, end: int) -> Any:
        parts: Any = [self._sent(part) for part in self.parts[first:end]]
        if (
            sum(leaf.nbytes for leaf in flatten(parts)[0] if isinstance(leaf, np.ndarray))
            > _MAX_EMBEDDED_BYTES
        ):
            parts = self._client.scatter([parts], workers=[worker], hash=False)[0]
        where = {"workers": [worker], "allow_other_workers": True, "actor": self._are_actors, "pure": False}
        return self._client.submit(RunOfParts, parts, first, len(self.parts), self.store.keep, **where)

    def _sent(self, part: Any) -> Any:
        """Return a part with futures in place of partitions of Dask's."""
        if callable(part):
            return part
        return with_leaves(portable(part), self._computed)

    def _computed(self, leaf: Any) -> Any:
        return self._client.compute(leaf.delayed) if isinstance(leaf, DaskPartition) else leaf


def _lost() -> tuple[type[Exception], ...]:
    """Return what Dask raises where a worker has gone."""
    from distributed import KilledWorker  # noqa: PLC0415  an extra

    return CancelledError, KilledWorker, OSError


def _wait(future: Any) -> None:
    """Wait for a while."""
    from distributed import TimeoutError, wait  # noqa: PLC0415  an extra

    with contextlib.suppress(TimeoutError):
        wait(future, timeout=_POLL_INTERVAL_S)
