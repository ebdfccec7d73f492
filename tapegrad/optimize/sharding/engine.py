"""Engines: what evaluates the parts and adds the results."""

import os

from tapegrad.optimize.sharding.journal import Journal
from tapegrad.optimize.sharding.recordings import Point, Recordings
from tapegrad.optimize.sharding.tree import Value


class Engine:
    """Threads, processes or machines that have the parts."""

    def total(self, recordings: Recordings, point: Point) -> Value:
        """Return the sum over all parts, added in the fixed tree.

        Raises
        ------
        Exception
            What a part has raised, with a note of its number and where it comes from.
        """
        raise NotImplementedError

    def journal(self, path: str | os.PathLike[str]) -> Journal | None:
        """Open a journal; `None` where another process has it."""
        return Journal(path)

    def close(self) -> None:
        """Give up what belongs to the engine. Executors that were given stay."""
