"""`register_pytensor`: a linker and a mode of PyTensor's that compute graphs by replays."""

import functools
from typing import Any

import numpy as np

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.graph import graph_function
from tapegrad.transforms.jit import jit

_MODE = "TAPEGRAD"
# Rewrites to Ops of other compilers, and those that write into operands: recordings plan their memory themselves.
_EXCLUDED = (
    "cxx_only", "BlasOpt", "fusion", "inplace", "local_careduce_fusion", "scan_save_mem_prealloc", "numba", "jax",
    "reuse_decomposition_multiple_solves", "scan_split_non_sequence_decomposition_and_solve",
)  # fmt: skip


@functools.cache
def register_pytensor() -> None:
    """Register the mode "TAPEGRAD" with PyTensor: ``pytensor.function(..., mode="TAPEGRAD")``.

    Functions are recorded for each set of shapes and dtypes that they are called with, and replayed: no C compiler and
    no compilation by Numba. Graphs that draw random numbers are computed by NumPy and PyTensor, node by node.

    Raises
    ------
    ModuleNotFoundError
        If PyTensor is not installed.

    Examples
    --------
    >>> import pymc as pm, tapegrad as tg  # doctest: +SKIP
    >>> tg.interop.register_pytensor()  # doctest: +SKIP
    >>> with model:  # doctest: +SKIP
    ...     pm.sample(compile_kwargs={"mode": "TAPEGRAD"})
    """
    mode = needed("pytensor.compile.mode", "pytensor")
    basic = needed("pytensor.link.basic", "pytensor")
    query = needed("pytensor.graph.rewriting.db", "pytensor").RewriteDatabaseQuery

    class Linker(basic.JITLinker):  # type: ignore[misc, name-defined]  # PyTensor is imported late
        """A linker that records graphs and replays them."""

        incompatible_rewrites = _EXCLUDED

        def fgraph_convert(self, fgraph: Any, *_: Any, **__: Any) -> Any:
            """Return the function of a graph, whose inputs are its arguments, shared variables included."""
            return graph_function(
                "graph", fgraph.inputs, fgraph.outputs, rewrites=(), as_list=True, updates_state=True
            )

        def create_thunk_inputs(self, storage_map: Any) -> list[Any]:
            """Return the storage of the arguments."""
            return [storage_map[variable] for variable in self.fgraph.inputs]

        def jit_compile(self, fn: Any) -> Any:
            """Return the function that is replayed, but of random numbers."""
            replayed = fn if fn.draws else jit(fn)

            def call(*values: Any) -> list[Any]:
                return [
                    np.asarray(each) if isinstance(each, np.generic) else each for each in replayed(*values)
                ]

            return call

    linker = Linker()
    mode.register_linker(_MODE.lower(), linker)
    mode.register_mode(_MODE, mode.Mode(linker, query(include=["fast_run"], exclude=list(_EXCLUDED))))
