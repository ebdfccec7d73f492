"""Settings of the process that all contenders share. Both help the peers at least as much as tapegrad.

Measured on two cores with 1,000,000 elements: where memory is returned to the system after every call, page
faults cost more than the arithmetic; where two OpenMP threads come to share a core, one spins through whole
time slices while the other waits for it, and a call of torch takes 220 ms instead of 14. On a busy machine
the second is only damped, not cured: measure on an idle one.
"""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of glibc's mallopt
_SPINS = "20000"  # about a millisecond: less leaves two threads waiting to be woken, more wastes time slices


def configure() -> None:
    """Keep freed memory in the process and let OpenMP threads spin briefly; before any peer is imported."""
    os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
    if sys.platform == "linux":
        adjust = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if adjust is not None:
            adjust(_TRIM_THRESHOLD, -1)
            adjust(_MMAP_MAX, 0)
