"""``tapegrad warmup``."""

import argparse
import sys
import time

from tapegrad.cli.progress import Progress


def run(options: argparse.Namespace) -> int:
    """Compile every kernel that is not cached yet; 1 if there is no folder to keep them in."""
    from tapegrad import cache, loader

    if cache.folder() is None:
        print("tapegrad warmup: no folder can be written, so nothing can be kept", file=sys.stderr)
        return 1
    kernels = loader.kernels()
    missing = [name for name in kernels if not loader.is_cached(name)]
    begun = time.perf_counter()
    with Progress(len(missing)) as progress:
        for name in missing:
            progress.step(f"compiling {name}")
            loader.load(name)
    seconds = time.perf_counter() - begun
    cached = len(kernels) - len(missing)
    print(f"{len(missing)} kernels compiled in {seconds:.1f} s, {cached} were cached already")
    return 0
