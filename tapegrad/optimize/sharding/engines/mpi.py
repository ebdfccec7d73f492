"""Evaluation of parts by all processes of an MPI program, each of which calls the same functions."""

import os
from collections.abc import Callable
from typing import Any

from tapegrad.optimize.sharding.engines.engine import Engine, bounds_of_runs
from tapegrad.optimize.sharding.engines.workers import portable_error
from tapegrad.optimize.sharding.journal import Journal
from tapegrad.optimize.sharding.recordings import EvaluationPoint, PartRecordings
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Node, Value, joined, nodes_of, total


class MpiEngine(Engine):
    """Processes of a communicator, each with a run of neighbouring parts.

    The first one says where parts are evaluated, so that all have the same bits. Sums go up a tree of processes, and
    the result comes down another one: messages of log2(processes) rounds.

    Parameters
    ----------
    parts, store, progress
        As for `Engine`.
    communicator
        An ``mpi4py.MPI.Comm``.
    """

    def __init__(self, parts: list[Any], store: Store, progress: bool, communicator: Any) -> None:
        super().__init__(parts, store, progress)
        self._communicator = communicator
        self._rank, self._size = communicator.Get_rank(), communicator.Get_size()

    def journal(self, path: str | os.PathLike[str]) -> "SharedJournal":
        return SharedJournal(self._communicator, path)

    def total(self, recordings: PartRecordings, point: EvaluationPoint) -> Value:
        point = self._communicator.bcast(point)
        outcome = self._communicator.bcast(self._reduced(self._own(recordings, point)))
        if isinstance(outcome, BaseException):
            raise outcome
        return total(outcome)

    def _own(self, recordings: PartRecordings, point: EvaluationPoint) -> list[Node] | Exception:
        """Evaluate the parts of this process; return what was raised, for the others wait for an answer."""
        first, end = bounds_of_runs(len(self.parts), self._size)[self._rank : self._rank + 2]
        evaluate, further = recordings.evaluate, point.signature
        values = (self.store.value(evaluate, point, number, further) for number in range(first, end))
        try:
            return nodes_of(values, first)
        except Exception as error:
            return portable_error(error)

    def _reduced(self, outcome: list[Node] | Exception) -> list[Node] | Exception | None:
        """Return the nodes of all processes to the first one, and `None` to the others."""
        step = 1
        while step < self._size:
            if self._rank % (2 * step):
                self._communicator.send(outcome, self._rank - step)
                return None
            if self._rank + step < self._size:
                outcome = _joined(outcome, self._communicator.recv(source=self._rank + step))
            step *= 2
        return outcome


def _joined(left: list[Node] | Exception, right: list[Node] | Exception) -> list[Node] | Exception:
    failed = next((each for each in (left, right) if isinstance(each, Exception)), None)
    return failed or joined([*left, *right])  # type: ignore[misc]


class SharedJournal:
    """Journal of the first process, which the others follow: all compute an evaluation, or none does."""

    def __init__(self, communicator: Any, path: str | os.PathLike[str]) -> None:
        self._communicator = communicator
        failure: BaseException | None = None
        self._journal: Journal | None = None
        if communicator.Get_rank() == 0:
            try:
                self._journal = Journal(path)
            except (OSError, ValueError) as error:
                failure = error
        failure = communicator.bcast(failure)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()

    def answer(self, kind: str, point: EvaluationPoint, compute: Callable[[EvaluationPoint], Value]) -> Value:
        """Return the value of an evaluation, from the file or computed, in all processes."""
        if self._journal is None:
            return self._followed(compute)
        computing = False

        def announced(point: EvaluationPoint) -> Value:
            nonlocal computing
            self._communicator.bcast(("compute", point))
            computing = True
            value = compute(point)
            computing = False
            return value

        try:
            value = self._journal.answer(kind, point, announced)
        except Exception as error:
            if not computing:  # else it is raised everywhere
                self._communicator.bcast(("raise", error))
            raise
        self._communicator.bcast(("return", value))
        return value

    def _followed(self, compute: Callable[[EvaluationPoint], Value]) -> Value:
        """Do what the first process does."""
        while True:
            verb, content = self._communicator.bcast(None)
            if verb == "return":
                value: Value = content
                return value
            if verb == "raise":
                raise content
            compute(content)
