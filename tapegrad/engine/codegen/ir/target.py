"""Targets of the emitter: a processor, and how many elements it computes at once.

Code is compiled for this processor, or for one of the levels of x86-64 that compilers agreed on: what a wheel brings
runs on all processors of a level.
"""

import functools
import hashlib
import os
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from tapegrad.engine.kernels.language import setting
from tapegrad.engine.runtime.messages import stderr

_MASKED, _WIDE, _NARROW = 16, 8, 4
_VARIABLE = "TAPEGRAD_CPU"
# What processors of a level have (System V ABI for x86-64, 3.1.1), each beside what those of the level above it have.
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
FALLBACK = "x86-64"
LEVELS = {FALLBACK: ((), _NARROW), "x86-64-v3": (_V3, _WIDE), "x86-64-v4": (_V4, _MASKED)}


@dataclass(frozen=True)
class Target:
    """A processor, by LLVM's names for it.

    Attributes
    ----------
    lanes
        Elements of a vector value of whatever type: as many float64 as two of the processor's registers hold. One
        register would leave it waiting for results, more than two would not fit beside one another.
    """

    triple: str
    cpu: str
    features: str
    lanes: int

    @property
    def has_masks(self) -> bool:
        """True if masked loads and stores take no longer than whole ones."""
        return self.lanes >= _MASKED

    @property
    def level(self) -> str:
        """The level of x86-64 with as many lanes whose code it runs; of other processors a name of their own."""
        return _level_of(self)

    def symbol(self, *parts: object) -> str:
        """Return the suffix of symbols of functions for this processor."""
        return ".".join(map(str, ("tapegrad", *parts, self.lanes)))

    def machine(self, optimizes: bool = False) -> Any:
        """Return LLVM's code generator, at level 1 of four for emitted code.

        With `optimizes` it is the one that Numba has, for functions that LLVM's passes have gone over.
        """
        target = llvm.Target.from_triple(self.triple)
        processor = {"cpu": self.cpu, "features": self.features, "codemodel": "jitdefault"}
        if not optimizes:
            return target.create_target_machine(opt=1, reloc="default", **processor)
        is_x86 = target.name.startswith("x86")
        return target.create_target_machine(
            opt=3, reloc="static" if is_x86 else "default", jit=True, **processor
        )


@functools.cache
def _level_of(target: Target) -> str:
    runs = {target.cpu, *_levels(target.features)} if target.triple.startswith("x86_64") else ()
    found = [level for level, (_, lanes) in LEVELS.items() if level in runs and lanes == target.lanes]
    return found[0] if found else hashlib.sha256(repr(target).encode()).hexdigest()[:16]


@functools.cache
def host() -> Target:
    """Return the processor of this process, the level of it that ``TAPEGRAD_CPU`` names, or what Numba compiles for."""
    name, chosen = setting("CPU_NAME"), setting("CPU_FEATURES")
    features = llvm.get_host_cpu_features().flatten()
    level = os.environ.get(_VARIABLE)
    if _only_compiled:
        return of_level(_only_compiled[-1])
    if level in _levels(features):
        return of_level(level)
    if level:
        stderr.tell(f"{_VARIABLE}={level} is not used: this processor runs {', '.join(_levels(features))}")
    if chosen is not None or str(name).lower() == "generic":
        features = chosen or ""
    lanes = _MASKED if "+avx512f" in features else _WIDE if "+avx2" in features else _NARROW
    return Target(llvm.get_process_triple(), name or llvm.get_host_cpu_name(), features, lanes)


_only_compiled: list[str] = []


def only_compile_for(level: str) -> None:
    """Let this process compile for a level of x86-64 that it may not run itself: it must call nothing."""
    _only_compiled.append(level)
    host.cache_clear()


def of_level(level: str) -> Target:
    """Return the processors of a level of x86-64."""
    return Target(llvm.get_process_triple(), level, "", LEVELS[level][1])


def _levels(features: str) -> list[str]:
    """Return the levels that a processor with these features runs."""
    has = set(features.split(","))
    return [level for level, (needed, _) in LEVELS.items() if has.issuperset(f"+{each}" for each in needed)]


def aarch64() -> Target:
    """Any 64-bit ARM processor, by its NEON registers."""
    return Target("aarch64-unknown-linux-gnu", "generic", "+neon", _NARROW)
