"""Actors of Ray as executors of one worker each."""

import functools
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any


class _Actor:
    """Worker: what an actor of Ray runs."""

    def run(self, work: Callable[..., Any], *args: Any) -> Any:
        return work(*args)


class RayExecutor(Executor):
    """Actor of Ray, which is placed where a processor is free, and keeps what it was sent.

    Parameters
    ----------
    ray
        The module.
    """

    _max_workers = 1

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._actor = ray.remote(_Actor).remote()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the actor call a function."""
        answer: Future[Any] = Future()
        self._actor.run.remote(fn, *args).future().add_done_callback(functools.partial(self._enter, answer))
        return answer

    def _enter(self, answer: Future[Any], done: Future[Any]) -> None:
        """Enter what an actor has returned or raised in a future."""
        if not answer.set_running_or_notify_cancel():
            return
        error = done.exception()
        exceptions = self._ray.exceptions
        if error is None:
            answer.set_result(done.result())
        elif isinstance(error, exceptions.RayTaskError):
            answer.set_exception(error.cause)
        elif isinstance(error, exceptions.RayActorError):
            answer.set_exception(BrokenExecutor(str(error)))
        else:
            answer.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the actor."""
        self._ray.kill(self._actor)


def makers(ray: Any) -> list[Callable[[], RayExecutor]]:
    """Return functions that make executors, one for each processor of the cluster."""
    if not ray.is_initialized():
        ray.init()
    return [functools.partial(RayExecutor, ray)] * max(int(ray.cluster_resources().get("CPU", 1)), 1)
