"""``tapegrad warmup``."""

import argparse
import sys
import time

from tapegrad.engine.runtime.messages.progress import Progress


def run(options: argparse.Namespace) -> int:
    """Compile everything that can be compiled before it is needed and is not cached yet, on all processors.

    Return 1 if there is no folder to keep it in, or nothing but Numba to compile it with.
    """
    from tapegrad.engine import ahead_of_time
    from tapegrad.engine.codegen.ir.target import host
    from tapegrad.engine.codegen.machine import objects
    from tapegrad.engine.codegen.store import cache
    from tapegrad.engine.runtime.switches import TRANSLATES

    if not cache.writable():
        print("tapegrad warmup: no folder can be written, so nothing can be kept", file=sys.stderr)
        return 1
    if not TRANSLATES:
        print("tapegrad warmup: TAPEGRAD_TRANSLATE=0 leaves it to Numba, at first use", file=sys.stderr)
        return 1
    begun = time.perf_counter()
    ahead_of_time.import_all()
    units = ahead_of_time.units(host())
    kept = sum(objects.is_kept(unit, host()) for unit in units)
    count = 0
    with Progress(delay=0.0) as line:
        for unit, _, share in ahead_of_time.compiled(units, host()):
            count += 1
            line.show(f"[{share:.0%}] {unit.name}")
    print(
        f"{count - kept} functions compiled in {time.perf_counter() - begun:.1f} s, {kept} were there already"
    )
    return 0
