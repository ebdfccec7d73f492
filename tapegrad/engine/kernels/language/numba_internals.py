"""Private names of Numba that the package leans on: every one of them, and what it is for.

Any version may change them: `pyproject.toml` bounds Numba, and the tests run with the oldest and the newest that it
allows. With ``TAPEGRAD_TRANSLATE=0`` plain `numba.njit` compiles the same functions without the translator.

Functions that the translator writes, or Numba in its place:

    cpu_target                 Numba's target: its code generator, and the lowering of intrinsics
    JITCodeLibrary             base of our libraries: modules of functions, and their machine code
    CompileResult              a function that Numba has compiled, as the cache restores it
    CFunc                      a function with an address of C, whose cache and compiler can be ours
    rtsys                      Numba's runtime, which functions that return arrays need when they are restored
    dumps                      the pickling of compiled functions for the cache

Numba's compiler with passes of our choice, by the hooks of `CompilerBase` that its manual describes:

    Compiler, PassManager, typed_passes, untyped_passes

The rest:

    lower_constant              compiled functions as global variables of `@njit` functions

Where Numba has been imported (`if_imported`):

    numba.core.compiler_lock.global_compiler_lock       the compiler's lock, held across a fork
    numba.core.dispatcher._DispatcherBase._compile_for_args
                                                        what compiles an `@njit` function for new types of arguments
    numba.np.ufunc.parallel._is_initialized             whether ``numba.set_num_threads`` has set a limit
"""

from numba.core import typed_passes, untyped_passes
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import lower_constant
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

__all__ = [
    "CFunc",
    "CompileResult",
    "Compiler",
    "JITCodeLibrary",
    "PassManager",
    "cpu_target",
    "dumps",
    "lower_constant",
    "rtsys",
    "typed_passes",
    "untyped_passes",
]
