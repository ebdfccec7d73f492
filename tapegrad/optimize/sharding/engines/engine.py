"""Engines: what evaluates the parts and adds the results."""

import os
from typing import Any

from tapegrad.optimize.sharding.journal import Journal
from tapegrad.optimize.sharding.recordings import EvaluationPoint, PartRecordings
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Value


def bounds_of_runs(count: int, workers: int) -> list[int]:
    """Return where the runs of neighbouring parts begin, one for each worker, and where the last one ends."""
    return [count * k // workers for k in range(workers + 1)]


class Engine:
    """Threads, processes or machines that have the parts.

    Parameters
    ----------
    parts
        The parts, as they were given.
    store
        The parts in this process. Engines of other processes record functions for some of them.
    progress
        Whether an evaluation that takes longer than a second shows how far it is.
    """

    def __init__(self, parts: list[Any], store: Store, progress: bool) -> None:
        self.parts, self.store, self.progress = parts, store, progress

    def total(self, recordings: PartRecordings, point: EvaluationPoint) -> Value:
        """Return the sum over all parts, added in the fixed tree.

        Raises
        ------
        Exception
            What a part has raised, with a note of its number and where it comes from.
        """
        raise NotImplementedError

    def journal(self, path: str | os.PathLike[str]) -> Any:
        """Open a journal, of this process or of several."""
        return Journal(path)

    def close(self) -> None:
        """Give up what belongs to the engine. Executors that were given stay."""

    def learn(
        self, recordings: PartRecordings, point: EvaluationPoint, number: int, learned: set[int]
    ) -> None:
        """Record what is computed, for a part that a worker has no recording for.

        Raises
        ------
        TypeError
            If it is among those that were `learned` for this evaluation: the worker does not find what it was sent.
        """
        if number in learned:
            raise TypeError(
                f"sharded: part {number} has values that another process cannot find again; have parts of arrays,"
                " numbers and text"
            )
        learned.add(number)
        self.store.value(recordings.evaluate, point, number, point.signature)
