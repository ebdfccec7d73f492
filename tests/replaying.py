"""What several tests of replays share."""

from pathlib import Path


def resident_bytes() -> int:
    """Memory of this process that is in use now; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0
