"""Certificates of recorded functions: once for each program where that is switched on, and where they are asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.errors import CertificateError, name_of
from tapegrad.program.certificates.certificate import Certificate, CertifiedReplay
from tapegrad.program.certificates.checks import MAX_NOISE_FACTOR, relative_difference
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import FORWARD, JVP, VJP, ProgramSpec
from tapegrad.program.traces.source_lines import SourceLines, lines_of
from tapegrad.program.traces.trace import Trace

# Of the largest element, between an instance over lanes and alone; with floats of single precision its root.
_MAX_LANE_DIFFERENCE = 2.0**-40


def is_certified(certify: bool | None) -> bool:
    """Return whether recordings are certified, given the argument `certify` of `jit`; by default the switch says."""
    return switch.derivatives if certify is None else certify


def certify(owner: Any, trace: Trace, arguments: Arguments, spec: ProgramSpec) -> Certificate:
    """Return the certificate of a program of a recording of `owner`, a function that is replayed."""

    def record(fuse: Any, roll: bool | None) -> Trace:
        return Trace(owner.function, arguments, fuse, roll=roll)

    def plain() -> RecordedTape:
        return trace.recording if trace.recording.origins is None else record(False, False).recording

    def lines() -> SourceLines:
        return lines_of(trace, lambda: record(owner.fuse, owner.roll))

    made = CertifiedReplay(name_of(owner.function), trace, spec, arguments.arrays, plain, lines)
    found = made.certificate()
    trace.certified[spec] = made
    return found


def certify_once(owner: Any, trace: Trace, arguments: Arguments, spec: ProgramSpec) -> None:
    """Certify a program at its first replay, and once more where it is fused later."""
    if spec not in trace.certified:
        certify(owner, trace, arguments, spec)


def derivatives_of(spec: ProgramSpec, trace: Trace) -> list[ProgramSpec]:
    """Return the specs that a certificate of a call is made of: of values, the derivatives by all inputs as well."""
    if spec.kind != FORWARD:
        return [spec]
    wrt = tuple(k for k, each in enumerate(trace.arg_specs) if each.dtype.kind in "fc")
    return [spec, *([ProgramSpec(VJP, wrt), ProgramSpec(JVP, wrt, values=True)] if wrt else [])]


def joined(title: str, parts: list[Certificate]) -> Certificate:
    """Return the checks of several programs as one certificate."""
    checks = [check for part in parts for check in part]
    made: Certificate = Certificate.of(checks, f"certificate of {title}")
    return made


def check_lanes(
    title: str,
    number: int,
    arrays: list[np.ndarray],
    alone: list[np.ndarray],
    epsilon: float,
    near: Callable[[], list[np.ndarray] | None],
) -> None:
    """Hold the results of an instance that was computed over lanes against those of the instance by itself.

    Parameters
    ----------
    epsilon
        Epsilon of the narrowest floats on the way.
    near
        Returns the results of the instance with other rounding errors of its inputs, `None` on another branch.

    Raises
    ------
    CertificateError
        If they differ by more than the order of sums may change.
    """
    for k, (array, result) in enumerate(zip(arrays, alone, strict=True)):
        bound = np.sqrt(_MAX_LANE_DIFFERENCE) if epsilon > 1e-10 else _MAX_LANE_DIFFERENCE
        if relative_difference(result, array)[0] > bound and not _is_rounding(k, array, result, near()):
            raise CertificateError(
                f"vmap of {title}: result {k} of instance {number} differs between lanes and that instance by itself;"
                " unless it depends on signs of singular vectors or eigenvectors, which are free, this is a fault of"
                " tapegrad: please report it with the function and its arguments, and write a loop over the instances"
                " in place of vmap"
            )


def _is_rounding(k: int, array: np.ndarray, result: np.ndarray, near: list[np.ndarray] | None) -> bool:
    """Return whether rounding the inputs otherwise changes result `k` as much: what cancels on the way shows it."""
    if near is None:
        return False
    change = np.abs(near[k] - result)
    noise = MAX_NOISE_FACTOR * float(change[np.isfinite(change)].max(initial=0.0))
    return np.allclose(array, result, rtol=0, atol=noise, equal_nan=True)
