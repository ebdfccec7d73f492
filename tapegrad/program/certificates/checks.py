"""Checks of a program at some inputs: memory, tiers, values, and the adjoint identity <w, J v> = <J' w, v>."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.inspection.tape_view import epsilon_of
from tapegrad.engine.inspection.verify.directions import random_direction
from tapegrad.errors import UnsupportedError
from tapegrad.program.certificates.executions import FILLS, Execution, StoppedError, executed
from tapegrad.program.certificates.products import (
    PlainPrograms,
    Point,
    differentiates_first,
    directions_given,
    inner,
    pulled_by,
)
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.streams.spec import COLUMNS, JVP, NEVER

_OTHER_POINTS, _POINT_STEP = 3, 1e-4  # near the inputs, where a kink at them is none; relative
MAX_NOISE_FACTOR = 1e3  # times what rounding the inputs makes: up to there nothing can be told
_MIN_SHARE = 1e-3  # of an element in an even direction


class ProgramCheck(NamedTuple):
    """Check of a program.

    Attributes
    ----------
    name : str
        ``twice``, ``tiers``, ``values`` or ``adjoint``.
    of : str
        Kind of the program.
    difference : float
        The largest relative difference that was found.
    bound : float
        Its bound; 0 where the same bits are promised.
    holds : bool
        Whether the check holds; True where nothing can be told.
    note : str
        What was compared, or why nothing can be told.
    """

    name: str
    of: str
    difference: float
    bound: float
    holds: bool
    note: str


@dataclass(frozen=True)
class CertifiedProgram:
    """A program that is certified, the plain programs of its recording, and the inputs of a replay."""

    program: Program
    plain: PlainPrograms
    inputs: Sequence[np.ndarray]

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace(self.program)

    @property
    def kind(self) -> str:
        return self.program.spec.kind

    def executed(self, point: Point, fill: int = FILLS[0]) -> Execution:
        """Execute the program."""
        return executed(self._workspace, [*point.inputs, *directions_given(self.program, point)], fill)


@np.errstate(all="ignore")
def checks_of(subject: CertifiedProgram) -> list[ProgramCheck]:
    """Return the checks of a program.

    Raises
    ------
    StoppedError
        If it stops at these inputs.
    """
    program, kind = subject.program, subject.kind
    if kind == COLUMNS:
        return []
    point = _random_point(subject, np.random.default_rng(0))
    found = subject.executed(point)
    again = subject.executed(point, FILLS[1])
    checks = [_same("twice", kind, found, again, "two executions, in memory of other contents")]
    if program.fused:
        rows = make_program(program.recording, program.tape, program.spec, NEVER)
        by_rows = replace(subject, program=rows).executed(point)
        checks.append(_same("tiers", kind, found, by_rows, "segments, and their instructions one by one"))
    pushed = subject.plain.pushed(point)
    checks.append(_values(subject, point, found.values, pushed.values))
    if point.tangents:
        checks.append(_adjoint(subject, point, found, pushed))
    return checks


def _same(name: str, kind: str, left: Execution, right: Execution, note: str) -> ProgramCheck:
    """Compare all bits, but for those of NaN."""
    pairs = zip((*left.values, *left.derivatives), (*right.values, *right.derivatives), strict=True)
    difference = max((relative_difference(a, b)[0] for a, b in pairs), default=0.0)
    return ProgramCheck(name, kind, difference, 0.0, difference == 0, note)


def _values(
    subject: CertifiedProgram, point: Point, values: list[np.ndarray], plain: list[np.ndarray]
) -> ProgramCheck:
    """Compare results with those of the plain recording, whose arrays lie otherwise: sums add up in another order."""
    bound, note = rounding_bound(subject.program), "the results, and those of the recording as it is"
    difference, size = max(
        (relative_difference(a, b) for a, b in zip(values, plain, strict=False)), default=(0.0, 0.0)
    )
    check = ProgramCheck("values", subject.kind, difference, bound, difference <= bound, note)
    return check if check.holds else _unless_rounding(subject, point, check, size, 0)


def relative_difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the largest difference by the largest element, and that; infinity where one alone is not finite."""
    if np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return 0.0, 0.0
    size = float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) or 1.0
    wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    apart = np.abs(np.subtract(a, b, dtype=np.result_type(a, np.float64)))[wrong]
    return float(np.where(np.isfinite(apart), apart / size, np.inf).max()), size


# --- the adjoint identity ----------------------------------------------------------------------------------------


def _random_point(subject: CertifiedProgram, rng: np.random.Generator) -> Point:
    """Return the inputs with random directions; of outputs that are not differentiated these are zero."""
    outputs, spec = subject.program.outputs, subject.program.spec
    count = 1 if differentiates_first(spec) else len(outputs)
    tangents = [_random(subject.inputs[k], rng) for k in spec.wrt]
    cotangents = [_random(np.zeros(view.shape, view.dtype), rng, k < count) for k, view in enumerate(outputs)]
    return Point(subject.inputs, tangents, cotangents)


def _random(like: np.ndarray, rng: np.random.Generator, wanted: bool = True) -> np.ndarray:
    """Return numbers near one with random signs; zeros where they are not wanted, and for integers."""
    if not wanted or like.dtype.kind not in "fc":
        return np.zeros(like.shape, like.dtype)
    drawn: Any = random_direction(rng, like.shape)
    if like.dtype.kind == "c":
        drawn = drawn * np.exp(2j * np.pi * rng.uniform(size=like.shape))
    return np.asarray(drawn, like.dtype)


def _adjoint(subject: CertifiedProgram, point: Point, found: Execution, pushed: Execution) -> ProgramCheck:
    """Check the identity along a random direction, then along one in which all elements have like shares."""
    if not subject.plain.has_tangents:
        return _untold(subject, "a custom op has no jvp")
    try:
        check, size = _compared(subject, point, found, pushed)
    except UnsupportedError as error:
        return _untold(subject, str(error))
    if check.holds and subject.kind != JVP:
        point = point._replace(tangents=_even(point.tangents, pulled_by(subject.program, found, point)))
        check, size = _compared(subject, point, found)
    return check if check.holds else _confirmed(subject, point, check, size)


def _untold(subject: CertifiedProgram, reason: str) -> ProgramCheck:
    return ProgramCheck("adjoint", subject.kind, 0.0, 0.0, True, f"nothing can be told: {reason}")


def _even(tangents: list[np.ndarray], cotangents: list[np.ndarray]) -> list[np.ndarray]:
    """Return tangents whose elements have like shares in the inner product with some cotangents."""
    sizes = [np.abs(cotangent).astype(np.float64) for cotangent in cotangents]
    mean = sum(float(size.sum()) for size in sizes) / max(sum(size.size for size in sizes), 1)
    if not 0 < mean < np.inf:
        return tangents
    shares = [mean / (size + _MIN_SHARE * mean) for size in sizes]
    return [np.asarray(each * share, each.dtype) for each, share in zip(tangents, shares, strict=True)]


def _compared(
    subject: CertifiedProgram, point: Point, found: Execution | None = None, pushed: Execution | None = None
) -> tuple[ProgramCheck, float]:
    """Compare both sides of the identity; return the sum of magnitudes, too.

    `found` and `pushed` are executions of the program and of the plain one at this point, if there have been any.
    """
    found = found or subject.executed(point)
    if subject.kind == JVP:
        cotangents, tangents = subject.plain.pulled(point), found.derivatives
    else:
        cotangents = pulled_by(subject.program, found, point)
        tangents = (pushed or subject.plain.pushed(point)).derivatives
    (reverse, size), (forward, other) = inner(cotangents, point.tangents), inner(point.cotangents, tangents)
    bound, size = rounding_bound(subject.program), max(size, other)
    if not np.isfinite([reverse, forward, size]).all():
        return _untold(subject, "derivatives are not finite here"), size
    difference = abs(reverse - forward) / size if size else 0.0
    note = f"<J' w, v> = {reverse:.10g}, <w, J v> = {forward:.10g}"
    return ProgramCheck("adjoint", subject.kind, difference, bound, difference <= bound, note), size


def rounding_bound(program: Program) -> float:
    """Return the square root of the epsilon of a recording's narrowest floats: errors are below if nothing cancels."""
    return float(np.sqrt(epsilon_of(program.tape)))


def _confirmed(subject: CertifiedProgram, point: Point, check: ProgramCheck, size: float) -> ProgramCheck:
    """Tell a fault from a kink, which points near it do not have, and from rounding errors."""
    rng = np.random.default_rng(1)
    near = [_tried(subject, _moved(point, _POINT_STEP, rng)) for _ in range(_OTHER_POINTS)]
    told = [other for other in near if other is not None]
    if told and all(other.holds for other in told):
        return check._replace(holds=True, note=f"a kink: at points near it they agree; {check.note}")
    return _unless_rounding(subject, point, check, size, 1)


def _unless_rounding(
    subject: CertifiedProgram, point: Point, check: ProgramCheck, size: float, part: int
) -> ProgramCheck:
    """Tell a difference from rounding errors: of the inputs, and of what cancels on the way.

    Parameters
    ----------
    size
        What the difference is relative to.
    part
        0 for results, 1 for tangents.
    """
    epsilon = check.bound**2
    noise = epsilon * subject.plain.largest(point)[part] / size if size else 0.0
    noise = max(noise, _change(subject, point, epsilon, part))
    if check.difference <= MAX_NOISE_FACTOR * noise:
        return check._replace(holds=True, note=f"nothing can be told: rounding makes as much; {check.note}")
    return check


def _moved(point: Point, step: float, rng: np.random.Generator) -> Point:
    """Return a point whose inputs are moved by a relative step."""
    return point._replace(
        inputs=[np.asarray(x + _sizes(x) * step * _random(x, rng), x.dtype) for x in point.inputs]
    )


def _sizes(x: np.ndarray) -> np.ndarray:
    """Return the size of each element; their mean, or one, for elements that are zero."""
    sizes = np.abs(x)
    return np.where(sizes > 0, sizes, sizes.mean() or 1.0) if x.size else sizes


def _tried(subject: CertifiedProgram, point: Point) -> ProgramCheck | None:
    """Compare both sides at another point; `None` if the program takes another branch there."""
    try:
        return _compared(subject, point)[0]
    except StoppedError:
        return None


def _change(subject: CertifiedProgram, point: Point, epsilon: float, part: int) -> float:
    """Return the relative change of results or tangents where the inputs are rounded otherwise."""
    try:
        near = _moved(point, epsilon, np.random.default_rng(2))
        pairs = zip(*(subject.plain.pushed(at)[part] for at in (point, near)), strict=True)
    except StoppedError:
        return 0.0
    return max((relative_difference(a, b)[0] for a, b in pairs if a.dtype.kind in "fc"), default=0.0)
