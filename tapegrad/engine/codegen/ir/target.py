"""Targets of the emitter: a processor, and how many elements it computes at once."""

import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numba

_MASKED, _WIDE, _NARROW = 16, 8, 4


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
def host() -> Target:
    """Return the processor of this process, or the one that the environment tells Numba to compile for."""
    chosen, features = numba.config.CPU_FEATURES, llvm.get_host_cpu_features().flatten()
    features = features if chosen is None else chosen
    lanes = _MASKED if "+avx512f" in features else _WIDE if "+avx2" in features else _NARROW
    return Target(
        llvm.get_process_triple(), numba.config.CPU_NAME or llvm.get_host_cpu_name(), features, lanes
    )


def x86_64_v3() -> Target:
    """Return the processors of the x86-64-v3 level: AVX2 and FMA, without AVX-512."""
    return Target(llvm.get_process_triple(), "x86-64-v3", "", _WIDE)


def aarch64() -> Target:
    """Any 64-bit ARM processor, by its NEON registers."""
    return Target("aarch64-unknown-linux-gnu", "generic", "+neon", _NARROW)
