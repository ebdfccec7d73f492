"""Machine and versions of a measurement."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "tapegrad", "numpy", "numba", "scipy", "torch", "jax", "jaxlib", "autograd", "mygrad", "casadi", "cvxpy", "ipyopt",
    "nutpie", "pymc", "sif2jax",
)  # fmt: skip


def _processor() -> str:
    """Return the processor's model name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def describe() -> dict[str, Any]:
    """Processor, cores, system, load and versions; a high load means that the figures are noisy."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
    }
