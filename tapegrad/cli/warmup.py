"""``tapegrad warmup``."""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tapegrad.cli.progress import with_progress


def run(options: argparse.Namespace) -> int:
    """Compile the engine and every kernel that is not cached yet, on all processors.

    Return 1 if there is no folder to keep them in.
    """
    import tapegrad.optimize.curves.many_curves
    import tapegrad.optimize.native.descent
    import tapegrad.optimize.native.single_fit
    import tapegrad.optimize.native.sparse.sparse_single_fit  # noqa: F401  these, and what they import, define all entry points
    from tapegrad.engine import kernel_table
    from tapegrad.engine.codegen.store import cache
    from tapegrad.engine.codegen.store.announcer import announcer
    from tapegrad.engine.runtime.operating_system import processors

    if not cache.writable():
        print("tapegrad warmup: no folder can be written, so nothing can be kept", file=sys.stderr)
        return 1
    kernels = kernel_table.kernels()
    missing = [name for name in kernels if not kernel_table.is_cached(name)]
    engine = kernel_table.engine()
    announcer.be_quiet()
    begun = time.perf_counter()
    loads: list[tuple[str, Callable[[], object]]] = [(str(k), partial(kernel_table.load, k)) for k in missing]
    with ThreadPoolExecutor(processors()) as pool:  # LLVM leaves Python to other threads
        steps = [(name, pool.submit(compile_)) for name, compile_ in (*engine.items(), *loads)]
        for _, compilation in with_progress(steps, lambda step: f"compiling {step[0]}"):
            compilation.result()
    seconds = time.perf_counter() - begun
    compiled = f"{len(engine)} parts of the engine and {len(missing)} kernels compiled in {seconds:.1f} s"
    print(f"{compiled}, {len(kernels) - len(missing)} kernels were cached already")
    return 0
