"""Evaluation of parts by threads of this process."""

import itertools
from concurrent.futures import ThreadPoolExecutor, wait
from time import perf_counter_ns
from typing import Any

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.optimize.sharding.engines.engine import Engine
from tapegrad.optimize.sharding.recordings import EvaluationPoint, PartRecordings
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Node, Value, nodes_of, total

_RUNS_PER_THREAD = 8
# Parts that take less are evaluated by the caller alone: two threads would wait for each other's Python. Measured:
# of 28 us each, two threads do a part in 25 us; of 15 us, in 21.
_ALONE_NS = 30_000


class ThreadEngine(Engine):
    """Threads that take runs of neighbouring parts; the caller is one of them, and waits for none that has not begun.

    Replays release the GIL, so that threads wait for each other in the Python between them alone, a few us a part.
    """

    def __init__(self, parts: list[Any], store: Store, progress: bool, threads: int) -> None:
        super().__init__(parts, store, progress)
        self._threads = threads
        self._pool = ThreadPoolExecutor(max(threads - 1, 1), "tapegrad-sharded")  # which starts none yet
        self._took: dict[PartRecordings, float] = {}  # ns a part in the last evaluation

    def total(self, recordings: PartRecordings, point: EvaluationPoint) -> Value:
        threads = 1 if self._took.get(recordings, _ALONE_NS) < _ALONE_NS else self._threads
        evaluation = _SharedRuns(self.store, recordings, point, threads)
        helpers = [self._pool.submit(evaluation.run) for _ in range(min(threads, len(evaluation.nodes)) - 1)]
        try:
            begin = perf_counter_ns()
            with Progress(self.progress) as line:
                evaluation.run(line)
            took = perf_counter_ns() - begin
        except BaseException:
            evaluation.stopped = True
            raise
        finally:
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        value = total(itertools.chain.from_iterable(evaluation.nodes))
        self._took[recordings] = took * (1 + len(begun)) / self.store.count
        return value

    def close(self) -> None:
        self._threads = 1  # of evaluations that come later
        self._pool.shutdown()


class _Stopped(Exception):
    """Another thread has failed, or was interrupted."""


class _SharedRuns:
    """Evaluation of all parts, in runs of neighbouring ones that threads share.

    Attributes
    ----------
    nodes
        Nodes of the sum, by run.
    stopped
        Whether threads are to end.
    """

    def __init__(
        self, store: Store, recordings: PartRecordings, point: EvaluationPoint, threads: int
    ) -> None:
        self._store, self._recordings, self._point = store, recordings, point
        self._args = point.signature
        self._length = max(store.count // (_RUNS_PER_THREAD * threads), 1)
        self.nodes: list[list[Node]] = [[] for _ in range(0, store.count, self._length)]
        self._numbers = itertools.count()  # whose `next` is atomic
        self.stopped = False

    def run(self, line: Progress | None = None) -> None:
        """Evaluate runs until none is left."""
        for number in self._numbers:
            if number >= len(self.nodes):
                return
            first = number * self._length
            end = min(first + self._length, self._store.count)
            try:
                self.nodes[number] = nodes_of(map(self._part, range(first, end)), first)
            except _Stopped:
                return
            if line is not None and line.due:
                line.show(f"sharded: {end} of {self._store.count} parts")

    def _part(self, number: int) -> Value:
        if self.stopped:
            raise _Stopped
        try:
            return self._store.value(self._recordings.evaluate, self._point, number, self._args)
        except Exception:
            self.stopped = True
            raise
