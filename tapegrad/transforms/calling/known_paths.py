"""Fast paths of earlier calls, for calls that alternate: between shapes, or between the sides of a branch."""

from typing import Any
from weakref import ref

from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.words.frames import hide_frames
from tapegrad.transforms.calling.fast_path import Path

_MAX_OTHER_PATHS = 4  # that are tried beside the one that is called first


class AlternatingCalls:
    """Callable with one fast path that knows others.

    The path of the last call is called first. Those before it are known as long as their recordings are kept.
    """

    def __init__(self) -> None:
        self._fast: Path | None = None
        self._others: tuple[ref[Path], ...] = ()

    def _keep(self, path: Path | None) -> None:
        """Have a path called first from now on."""
        before, self._fast = self._fast, path
        if before is not None and before is not path:
            others = (other for other in self._others if other() not in (before, path, None))
            self._others = (ref(before), *others)[:_MAX_OTHER_PATHS]

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Serve a call that the first path does not serve."""
        try:
            found = self._by_others(args, kwargs)
            return self._by_python(args, kwargs) if found is None else found
        except Exception as error:
            hide_frames(error)
            raise

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the result for any arguments."""
        raise NotImplementedError

    def _by_others(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the first other path that serves these arguments does, or `None`."""
        mode = thread.mode
        if kwargs or mode.nested or mode.observed:
            return None
        for other in self._others:
            path = other()
            found = None if path is None else path(*args)
            if found is not None:
                self._keep(path)
                return found
        return None
