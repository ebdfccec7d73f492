"""Language of kernels: frames, raw memory, inlining, LAPACK and matrix products.

In reading order; each imports only those above it:

    frame                          the frame: the struct that a kernel reads
    numba_internals                the private names of Numba that the package leans on
    llvm_types                     LLVM's types, and instructions for intrinsics
    library                        numbers of library loops, which kernels call by address
    linking                        linking of compiled functions
    inlining                       functions that only compiled code calls, inlined and separate, and intrinsics
    raw_memory                     loads, stores and calls by address
    matmul                         matrix products
    lapack                         LAPACK's routines, copies and triangles, which kernels of matrices share
    dtypes                         constants of dtypes, and entry points made of a kernel and a dtype
    odometer                       iteration over the elements of strided arrays
    segment_frame                  the frame of a segment
    status                         statuses that a kernel returns; 0 is success
    strided                        order and bounds of strided arrays

Numba is imported when code is translated or compiled: its import takes 0.2 s, all else of the package 0.3 s, and code
from the cache folder or from a wheel needs none of it. Its modules, and those of this folder that import it, are named
below.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class LateModule(ModuleType):
    """A module that is imported when it is first asked for a name."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


numba, types, extending = map(LateModule, ("numba", "numba.core.types", "numba.extending"))
linking, numba_internals = (LateModule(f"{__name__}.{name}") for name in ("linking", "numba_internals"))


def is_jitted(value: Any) -> bool:
    """Return whether `@njit` has made a function."""
    return "numba" in sys.modules and extending.is_jitted(value)


def setting(name: str) -> Any:
    """Return a setting in `numba.config`, which programs and a file may change; otherwise that of the environment."""
    if "numba" in sys.modules or os.path.exists(".numba_config.yaml"):
        return getattr(numba.config, name)
    return os.environ.get(f"NUMBA_{name}")


def if_imported(module: str, name: str) -> Any:
    """Return what one of Numba's modules has under a name, or `None` if it has not been imported."""
    return getattr(sys.modules.get(module), name, None)
