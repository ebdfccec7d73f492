"""``tapegrad warmup``."""

import argparse
import sys
import time

from tapegrad.cli.progress import Progress


def run(options: argparse.Namespace) -> int:
    """Compile the engine and every kernel that are not cached yet; 1 if there is no folder to keep them in."""
    import tapegrad  # noqa: F401  defines the engine's entry points
    from tapegrad.engine import kernel_table
    from tapegrad.engine.runtime import cache
    from tapegrad.engine.runtime.announcer import announcer

    if not cache.writable():
        print("tapegrad warmup: no folder can be written, so nothing can be kept", file=sys.stderr)
        return 1
    kernels = kernel_table.kernels()
    missing = [name for name in kernels if not kernel_table.is_cached(name)]
    engine = kernel_table.engine()
    announcer.be_quiet()
    begun = time.perf_counter()
    with Progress(len(engine) + len(missing)) as progress:
        for entry_point, compile_ in engine.items():
            progress.step(f"compiling {entry_point}")
            compile_()
        for name in missing:
            progress.step(f"compiling {name}")
            kernel_table.load(name)
    seconds = time.perf_counter() - begun
    compiled = f"{len(engine)} parts of the engine and {len(missing)} kernels compiled in {seconds:.1f} s"
    print(f"{compiled}, {len(kernels) - len(missing)} kernels were cached already")
    return 0
