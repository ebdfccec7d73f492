"""Choice of the engine by what the user passes as `executor`."""

from typing import Any

from tapegrad.optimize.sharding.engine import Engine
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.threads import ThreadEngine


def engine_of(executor: Any, parts: list[Any], store: Store, threads: int, keep: int, progress: bool) -> Engine:
    """Return the engine for an executor.

    Raises
    ------
    TypeError
        For an object that is none.
    """
    if executor is None:
        return ThreadEngine(store, threads, progress)
    from tapegrad.optimize.sharding.executors import ExecutorEngine

    several = executor if isinstance(executor, list | tuple) else [executor]
    return ExecutorEngine(list(several), parts, store, keep, progress)
