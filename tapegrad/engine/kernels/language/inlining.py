"""Compilation flags of the functions that only kernels call."""

from typing import Any

from tapegrad.engine.kernels.language.deferred import helpers
from tapegrad.engine.kernels.language.linking import LoopPartCompiler, PartCompiler

_NOINLINE_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PartCompiler,
}

# Inlined by Numba, before types are known, so that a constant argument is a constant in the body.
always_inline = helpers(error_model="numpy", inline="always")
# A function of its own, compiled once for each combination of argument types.
noinline = helpers(**_NOINLINE_OPTIONS)
# `noinline` with sums that may be reordered, so that they are vectorised. nan and inf are treated exactly.
noinline_reordered = helpers(fastmath={"reassoc", "contract"}, **_NOINLINE_OPTIONS)
# A loop over elements called by plain functions: it is vectorised, they are not.
noinline_loop = helpers(**{**_NOINLINE_OPTIONS, "pipeline_class": LoopPartCompiler})
