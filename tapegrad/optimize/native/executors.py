"""Blocks of problems, solved by the workers of an executor: other processes, or other machines."""

import functools
import pickle
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from tapegrad.optimize.native.sharing import Results, reporting
from tapegrad.optimize.searches.interruption import interrupts

_MIN_BLOCKS = 64
_MAX_BLOCK_PROBLEMS = 4096
MAX_TRIES = 3
_POLL_INTERVAL_S = 1.0  # `wait` does not report blocks that are cancelled
LOST = (BrokenExecutor, CancelledError)  # its workers have died, or it was shut down


class BlockProblem(Protocol):
    """Problem that is solved in blocks. It is pickled; a worker keeps it, with its recordings, for other blocks."""

    def solve_block(self, part: Any) -> Results:
        """Solve a block on one thread."""


def run_elsewhere(
    executor: Any,
    problem: BlockProblem,
    part: Callable[[slice], Any],
    results: Results,
    who: str,
    progress: Any,
) -> None:
    """Solve a problem in blocks by the workers of an executor.

    Parameters
    ----------
    executor, who
        As for `_WorkerBlocks`.
    problem, part
        The problem, and a function that returns what `BlockProblem.solve_block` takes for a block.
    results
        `Results` that are filled in.
    progress
        As for `run_shared`.
    """
    content, count = packed(problem, who), len(next(iter(vars(results).values())))
    blocks = _blocks_of(count)
    with reporting(progress) as report:
        solved = _WorkerBlocks(executor, _solve_block, who).solve(
            [(content, part(block)) for block in blocks],
            lambda done: report(min(done * blocks[0].stop, count), count),
        )
    for number, values in solved.items():
        results.enter(blocks[number], values)


def _blocks_of(count: int) -> list[slice]:
    """Cut problems into blocks, by their number alone, so that results do not depend on the workers."""
    size = min(-(-count // _MIN_BLOCKS), _MAX_BLOCK_PROBLEMS)
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def packed(value: Any, who: str) -> bytes:
    """Pickle what all blocks share, by cloudpickle if it is installed: it takes lambdas."""
    module: Any = pickle if find_spec("cloudpickle") is None else import_module("cloudpickle")
    try:
        content: bytes = module.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(
            f"{who}: the function cannot be sent to the executor's workers ({error}); define it at the top of a module,"
            " or install cloudpickle"
        ) from error
    return content


@functools.lru_cache(maxsize=4)
def _problem_of(content: bytes) -> BlockProblem:
    problem: BlockProblem = pickle.loads(content)  # sent by the process that it works for
    return problem


def _solve_block(content: bytes, part: Any) -> dict[str, np.ndarray]:
    """Solve a block, in a worker; return the results by name."""
    return vars(_problem_of(content).solve_block(part))


class ExecutorSource:
    """An executor, or a function that makes one: it is called again when the workers of one are lost.

    Attributes
    ----------
    can_renew
        Whether it is a function.

    Raises
    ------
    TypeError
        If it is neither, or makes something else.
    """

    def __init__(self, executor: Any, who: str) -> None:
        self._given, self._who = executor, who
        self.can_renew = not _is_executor(executor)
        if self.can_renew and not callable(executor):
            raise self._no_executor(executor)
        self._own: Executor | None = None

    def current(self) -> Any:
        """Return the executor."""
        if not self.can_renew:
            return self._given
        return self.renewed() if self._own is None else self._own

    def renewed(self) -> Any:
        """Return another executor than before, if there is a function that makes it."""
        if not self.can_renew:
            return self._given
        self.close()
        made = self._given()
        if not _is_executor(made):
            raise self._no_executor(made)
        self._own = made
        return made

    def close(self) -> None:
        """Shut down what the function has made."""
        if self._own is not None:
            self._own.shutdown(wait=True)
            self._own = None

    def _no_executor(self, given: Any) -> TypeError:
        what = f"executor={self._given!r}" + ("" if given is self._given else f" made {given!r}")
        return TypeError(f"{self._who}: {what}; it must be an Executor, or a function that makes one")


class _WorkerBlocks:
    """Blocks that an executor's workers solve.

    Parameters
    ----------
    executor
        As for `ExecutorSource`.
    work
        Is called by workers with the arguments of a block.
    who
        The function that the user called, for messages.
    """

    def __init__(self, executor: Any, work: Callable[..., Any], who: str) -> None:
        self._source, self._work, self._who = ExecutorSource(executor, who), work, who

    def solve(self, arguments: Sequence[tuple[Any, ...]], tell: Callable[[int], Any]) -> dict[int, Any]:
        """Return the results of all blocks by number; blocks that were lost with a worker are solved again.

        After Ctrl-C they are those of the blocks that are done.
        """
        results: dict[int, Any] = {}
        try:
            for _ in range(MAX_TRIES):
                left = [number for number in range(len(arguments)) if number not in results]
                lost = self._round(arguments, left, results, tell)
                if lost is None:
                    return results
                if not self._source.can_renew:
                    raise RuntimeError(
                        f"{self._who}: the executor lost its workers ({str(lost) or type(lost).__name__}), with"
                        f" {len(results)} of {len(arguments)} blocks done; given a function that makes an executor,"
                        f" {self._who} makes a new one and goes on"
                    ) from lost
            raise RuntimeError(
                f"{self._who}: workers were lost {MAX_TRIES} times, with"
                f" {len(results)} of {len(arguments)} blocks done"
            ) from lost
        except KeyboardInterrupt:
            if interrupts.is_second():
                raise
            return results
        finally:
            self._source.close()

    def _round(
        self,
        arguments: Sequence[tuple[Any, ...]],
        left: list[int],
        results: dict[int, Any],
        tell: Callable[[int], Any],
    ) -> Exception | None:
        """Solve the blocks that are left; return how workers were lost, if they were."""
        executor, waiting, lost = self._source.renewed(), dict[Future[Any], int](), None
        try:
            try:
                for number in left:
                    waiting[executor.submit(self._work, *arguments[number])] = number
            except LOST as error:
                lost = error
            while waiting:
                for future in done_of(waiting):
                    number = waiting.pop(future)
                    try:
                        results[number] = future.result()
                    except LOST as error:
                        lost = error
                tell(len(results))
        finally:
            for future in waiting:
                future.cancel()
        return lost


def _is_executor(given: Any) -> bool:
    return hasattr(given, "submit") and not isinstance(given, type)


def done_of(waiting: Collection[Future[Any]]) -> set[Future[Any]]:
    """Wait until some blocks are done or cancelled."""
    done, rest = wait(waiting, _POLL_INTERVAL_S, FIRST_COMPLETED)
    return done | {future for future in rest if future.cancelled()}
