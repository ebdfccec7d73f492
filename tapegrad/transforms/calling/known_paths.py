"""Fast paths of earlier calls, for calls that alternate: between shapes, or between the sides of a branch."""

import functools
from typing import Any
from weakref import ref

from tapegrad.engine.codegen.python_calls.array_calls import first_of, fixed_of
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.words.frames import hide_frames
from tapegrad.transforms.calling.fast_path import Path

_MAX_PATHS = 8  # that are tried; each that does not serve a call takes 0.2 us


class AlternatingCalls:
    """Callable whose fast path tries those of earlier calls, too.

    Attributes
    ----------
    latest
        The path of the last call that was served without one. Others are known as long as their recordings are kept.
    """

    def __init__(self) -> None:
        self._fast: Path | None = None
        self.latest: Path | None = None
        self._calls: list[Any] = []  # what C tries, once there are several
        self._known: list[ref[Path]] = []

    def _keep(self, path: Path | None) -> None:
        """Have calls served by a path from now on, besides those of earlier calls."""
        if thread.mode.nan_on_failure:
            return  # C does not look at it
        before, self.latest = self.latest, path
        if self._fast is None:
            self._fast = path
        elif path is not before:
            if not self._calls:
                self._add(before)
                self._fast = first_of(self._calls)
            self._add(path)

    def _add(self, path: Path | None) -> None:
        """Have a path tried as long as it lives."""
        if path is None or any(call is fixed_of(path) for call in self._calls):
            return
        self._calls.insert(0, fixed_of(path))
        del self._calls[_MAX_PATHS:]
        known = ref(path, functools.partial(_forget, self._calls, fixed_of(path)[0]))
        self._known = [known, *(each for each in self._known if each() is not None)][:_MAX_PATHS]

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Serve a call that no path serves."""
        try:
            return self._by_python(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the result for any arguments."""
        raise NotImplementedError

    def _run_observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compute the result by Python, which notes replays where they are observed."""
        self._by_python(args, kwargs)


def _forget(calls: list[Any], fields: Any, _: ref[Path]) -> None:
    """Drop the entry point that has these fields."""
    calls[:] = [call for call in calls if call[0] is not fields]
