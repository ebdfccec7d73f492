"""Progress on stderr."""

from types import TracebackType

from tapegrad.engine.runtime import messages


class Progress:
    """One line that is written over and over while stderr is a terminal; nothing where it is not.

    Parameters
    ----------
    total : int
        Number of steps.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        messages.show("")

    def step(self, text: str) -> None:
        """Announce the next step."""
        self._done += 1
        messages.show(f"[{self._done}/{self._total}] {text}")
