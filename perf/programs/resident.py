"""Resident memory of this process."""

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes that are resident now; where the system does not tell, the most that ever were."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
