"""Number of processors that the system lets this process use."""

import os
from collections.abc import Iterator
from pathlib import Path

_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def processors() -> int:
    """Processors that this thread may run on, or as many as the share of time of its container is worth."""
    mask = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return max(1, int(min([len(mask), *shares()])))


def shares() -> Iterator[float]:
    """Return the limits of processor time, in processors, of the control groups of this process."""
    for group in _groups():
        try:
            yield _share(group)
        except (OSError, ValueError, ZeroDivisionError):  # no such file; "max", which is no limit
            continue


def _groups() -> Iterator[Path]:
    """Return the folders of the control groups of this process: its own, and their parents."""
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except OSError:  # a system without control groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            root = _GROUPS / "cpu" if controllers else _GROUPS
            # In a container, its path outside may be given: then nothing is there.
            own = root / path.lstrip("/")
            yield from (own, *own.parents[: len(own.parts) - len(root.parts)])


def _share(group: Path) -> float:
    """Return the limit of one group, of version 2 or 1 of their interface."""
    if (group / "cpu.max").exists():
        quota, period = (group / "cpu.max").read_text().split()
    else:
        quota, period = (
            (group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
        )  # fmt: skip
    limit = int(quota) / int(period)
    return limit if limit > 0 else float("inf")  # version 1 has -1 for no limit
