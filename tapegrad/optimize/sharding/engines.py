"""Choice of the engine by what the user passes as `executor`."""

from typing import Any

from tapegrad.optimize.sharding.engine import Engine
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.threads import ThreadEngine


def engine_of(executor: Any, parts: list[Any], store: Store, threads: int, progress: bool) -> Engine:
    """Return the engine for an executor. The module of each is imported when it is asked for.

    Raises
    ------
    TypeError
        For an object that is none.
    """
    if executor is None:
        return ThreadEngine(parts, store, progress, threads)
    client = executor if hasattr(executor, "nthreads") else getattr(executor, "_client", None)
    if client is not None and hasattr(client, "scatter"):  # of Dask, or its executor
        from tapegrad.optimize.sharding.dask import DaskEngine

        return DaskEngine(parts, store, progress, client)
    if hasattr(executor, "bcast"):  # an intracommunicator
        from tapegrad.optimize.sharding.mpi import MpiEngine

        return MpiEngine(parts, store, progress, executor)
    from tapegrad.optimize.sharding.executors import ExecutorEngine

    if hasattr(executor, "cluster_resources"):  # the module ray
        from tapegrad.optimize.sharding.ray import makers

        executor = makers(executor)
    several = executor if isinstance(executor, list | tuple) else [executor]
    return ExecutorEngine(parts, store, progress, list(several))
