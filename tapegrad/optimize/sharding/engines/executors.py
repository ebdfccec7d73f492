"""Evaluation of parts by the workers of executors, of which some may be lost, and some be slow."""

import itertools
import uuid
from concurrent.futures import Future
from statistics import median
from time import perf_counter
from typing import Any

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.engine.threads import allowed
from tapegrad.optimize.native.executors import LOST, MAX_TRIES, ExecutorSource, done_of, packed
from tapegrad.optimize.sharding.engines.engine import Engine, bounds_of_runs
from tapegrad.optimize.sharding.engines.workers import MissingContent, RunTask, UnknownPart, evaluate
from tapegrad.optimize.sharding.lazy_arrays import portable
from tapegrad.optimize.sharding.recordings import EvaluationPoint, PartRecordings
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Node, Value, total

_RUNS_PER_WORKER = 4  # of an executor that gives tasks to any of its workers
# A run that takes so many times as long as others, and at least so long, is given to another worker as well.
_SLOW, _SLOW_S = 3.0, 1.0


class Place:
    """An executor, and what its workers have been sent.

    Attributes
    ----------
    source
        Where the executor is from.
    parts, tables
        Numbers of parts, and keys of tables of evaluators.
    is_lost
        Whether its workers are gone, and there are no others.
    """

    def __init__(self, source: ExecutorSource) -> None:
        self.source = source
        self.parts: set[int] = set()
        self.tables: set[Any] = set()
        self.is_lost = False

    @property
    def workers(self) -> int:
        """Number of its workers; where it does not say, that of the processors of this machine."""
        executor = self.source.current()
        count = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
        return int(count or allowed())

    def renew(self) -> None:
        """Make another executor, if that can be."""
        self.parts, self.tables = set(), set()
        self.is_lost = not self.source.can_renew
        self.source.renewed()


class ExecutorEngine(Engine):
    """Workers of executors, which take runs of neighbouring parts.

    Parameters
    ----------
    parts, store, progress
        As for `Engine`.
    executors
        Executors, or functions that make them. With one, each of its workers comes to have the parts of the runs that
        it is given; with several, each has the parts of one run.
    """

    def __init__(self, parts: list[Any], store: Store, progress: bool, executors: list[Any]) -> None:
        super().__init__(parts, store, progress)
        self._places = [Place(ExecutorSource(executor, "sharded")) for executor in executors]
        self._name = uuid.uuid4().hex

    def total(self, recordings: PartRecordings, point: EvaluationPoint) -> Value:
        with Progress(self.progress) as line:
            return _RunsOnWorkers(self, recordings, point).total(line)

    def close(self) -> None:
        for place in self._places:
            place.source.close()

    @property
    def places(self) -> list[Place]:
        """The executors that have workers."""
        return [place for place in self._places if not place.is_lost]

    def runs(self) -> list[tuple[int, int]]:
        """Return the first and the last number, and one, of each run of parts."""
        places = self.places
        wanted = len(places) if len(places) > 1 else places[0].workers * _RUNS_PER_WORKER
        runs = itertools.pairwise(bounds_of_runs(len(self.parts), wanted))
        return [(first, end) for first, end in runs if first < end]

    def task(
        self,
        place: Place,
        run: tuple[int, int],
        table: tuple[tuple[Any, ...], bytes],
        point: EvaluationPoint,
        missing: MissingContent | None,
    ) -> RunTask:
        """Return the task for a run, with all that the workers of a place have not been sent, or miss."""
        key, content = table
        numbers = set(range(*run)) - place.parts if missing is None else set(missing.parts)
        parts = {number: packed(portable(self.parts[number]), "sharded") for number in sorted(numbers)}
        sends_table = key not in place.tables if missing is None else missing.table
        place.parts |= numbers
        place.tables.add(key)
        return RunTask(
            self._name,
            len(self.parts),
            self.store.keep,
            *run,
            point,
            key,
            content if sends_table else b"",
            parts,
        )


class _Waiting:
    """A run that a worker has been given."""

    def __init__(self, run: int, place: Place, executor: Any) -> None:
        self.run, self.place, self.executor, self.begun = run, place, executor, perf_counter()


class _RunsOnWorkers:
    """Evaluation of all parts, in runs that workers are given."""

    def __init__(self, engine: ExecutorEngine, recordings: PartRecordings, point: EvaluationPoint) -> None:
        self._engine, self._recordings, self._point = engine, recordings, point
        self._runs = engine.runs()
        self._nodes: dict[int, list[Node]] = {}
        self._waiting: dict[Future[Any], _Waiting] = {}
        self._seconds: list[float] = []  # that runs have taken
        self._copied: set[int] = set()  # runs that two workers have
        self._learned: set[int] = set()
        self._missed: set[int] = set()  # runs that a worker had not all for
        self._losses = 0

    def total(self, line: Progress) -> Value:
        if not self._recordings.table:
            self._engine.learn(self._recordings, self._point, 0, set())
        self._table = self._recordings.travelling()
        try:
            for number in range(len(self._runs)):
                self._submit(number)
            while len(self._nodes) < len(self._runs):
                for future in done_of(self._waiting):
                    self._take(future)
                self._copy_slow()
                if line.due:
                    done = sum(end - first for first, end in map(self._runs.__getitem__, self._nodes))
                    line.show(f"sharded: {done} of {self._runs[-1][1]} parts")
        finally:
            for future in self._waiting:
                future.cancel()
        return total(node for number in range(len(self._runs)) for node in self._nodes[number])

    def _submit(self, number: int, missing: MissingContent | None = None, place: Place | None = None) -> None:
        """Give a run to a worker."""
        while True:
            places = self._engine.places
            chosen = place or places[number % len(places)]
            executor = chosen.source.current()
            task = self._engine.task(chosen, self._runs[number], self._table, self._point, missing)
            try:
                self._waiting[executor.submit(evaluate, task)] = _Waiting(number, chosen, executor)
                return
            except (*LOST, RuntimeError) as error:  # the latter if it was shut down
                self._note_loss(chosen, executor, error)
            missing = place = None

    def _take(self, future: Future[Any]) -> None:
        """Take what a worker has answered."""
        waiting = self._waiting.pop(future)
        number = waiting.run
        if number in self._nodes:
            return  # a copy was faster
        try:
            answer = future.result()
        except LOST as error:
            self._note_loss(waiting.place, waiting.executor, error)
            answer = None
        if isinstance(answer, list):
            self._nodes[number] = answer
            self._seconds.append(perf_counter() - waiting.begun)
        elif isinstance(answer, MissingContent):
            # A worker that keeps forgetting is sent everything with the task.
            everything = MissingContent(True, tuple(range(*self._runs[number])))
            self._submit(number, everything if number in self._missed else answer, waiting.place)
            self._missed.add(number)
        elif isinstance(answer, UnknownPart):
            self._engine.learn(self._recordings, self._point, answer.part, self._learned)
            self._table = self._recordings.travelling()
            self._submit(number)
        elif not any(other.run == number for other in self._waiting.values()):
            self._submit(number)

    def _note_loss(self, place: Place, executor: Any, error: Exception) -> None:
        """Make another executor in place of one that has lost its workers, or go on with the others."""
        if place.is_lost or place.source.current() is not executor:
            return  # noted before, by another run
        self._losses += 1
        done = f"with {len(self._nodes)} of {len(self._runs)} runs of parts done"
        if place.source.can_renew and self._losses > MAX_TRIES:
            raise RuntimeError(f"sharded: workers were lost {self._losses} times, {done}") from error
        place.renew()
        if not self._engine.places:
            raise RuntimeError(
                f"sharded: the executor lost its workers ({str(error) or type(error).__name__}), {done}; given a"
                " function that makes an executor, sharded makes a new one and goes on"
            ) from error

    def _copy_slow(self) -> None:
        """Give runs that take long to workers that have nothing to do, as well."""
        if not self._seconds:
            return
        limit = max(_SLOW * median(self._seconds), _SLOW_S)
        late = [
            each
            for each in self._waiting.values()
            if perf_counter() - each.begun > limit and each.run not in self._copied
        ]
        for each in late:
            busy = [other.place for other in self._waiting.values()]
            idle = next((p for p in self._engine.places if busy.count(p) < p.workers), None)
            if idle is not None:
                self._copied.add(each.run)
                self._submit(each.run, None, idle)
