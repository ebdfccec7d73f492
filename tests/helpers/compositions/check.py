"""Checks of programs: a mode's results against the oracle's, at each point and twice."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapegrad as tg
from helpers.compositions.modes import (
    FIXED,
    QUANTITIES,
    Mode,
    Setting,
    arrays_of,
    draw_modes,
    expected,
    setting_of,
)
from helpers.compositions.oracle import Estimate, Oracle, largest
from helpers.compositions.program import Arrays, Program, copies
from tapegrad import errors

_REFUSALS = (
    errors.UnsupportedError,
    errors.TracedValueError,
    errors.DensePatternError,
    errors.GrownStructureError,
    NotImplementedError,
)
_PHRASES = (
    "not supported",
    "write ",
    "refused",
    "no order",
    "cannot be mapped",
    "does not support",
    "detach()",
    "not determined",
    "astype(complex)",
    "the result is complex",
    "pass it as an argument",
)


@dataclass(frozen=True)
class Finding:
    """A program that fails in a mode: what it gave, and what is right."""

    program: Program
    mode: Mode
    kind: str
    point: int
    found: str
    wanted: str

    def __str__(self) -> str:
        where = f"seed {self.program.seed}, {self.mode}, point {self.point}"
        return f"{where}: {self.kind}: {self.found}, not {self.wanted}"


class Refused(Exception):
    """Raised where the library names something that it does not support."""


@dataclass
class Counts:
    """How many modes were checked, refused, and left out because the oracle does not know."""

    checked: int = 0
    refused: int = 0
    unknown: int = 0


def check_program(
    program: Program, seed: int, count: int = 3, counts: Counts | None = None, modes: Sequence[Mode] = ()
) -> Finding | None:
    """Check a program in some modes that are drawn from a seed; return the first finding."""
    counts, oracle = counts or Counts(), Oracle(program)
    value = oracle.value(0)
    setting = setting_of(program, value)
    for mode in modes or draw_modes(np.random.default_rng([seed, 1]), program, value, count):
        try:
            finding = check_mode(program, mode, setting, oracle, counts)
        except Refused:
            counts.refused += 1
            continue
        if finding:
            return finding
    return None


def check_mode(
    program: Program, mode: Mode, setting: Setting, oracle: Oracle, counts: Counts
) -> Finding | None:
    """Check one mode of a program."""
    wanted = [_expected(mode, setting, oracle, k) for k in range(len(program.points))]
    counts.unknown += all(each is None for each in wanted)
    try:
        results = results_of(program, mode, setting)
    except Exception as error:
        return _judged(program, mode, error)
    counts.checked += 1
    for k, (first, again) in enumerate(results):
        if again is not None and not _same_bits(first, again):
            return Finding(program, mode, "other bits", k, f"{again}", f"{first}")
        finding = _compared(program, mode, k, QUANTITIES[mode.quantity].read(first, setting), wanted[k])
        if finding:
            return finding
    return None


def _expected(mode: Mode, setting: Setting, oracle: Oracle, point: int) -> Estimate | None:
    estimate = expected(mode, setting, oracle, point)
    if estimate is None:
        return None
    order = QUANTITIES[mode.quantity].order
    if oracle.program.is_loose:
        scale = max(
            1.0, float(np.max(np.abs(oracle.value(point)))), float(np.max(np.abs(estimate.value), initial=0))
        )
        return Estimate(estimate.value, estimate.error + scale * (2e-3, 1e-2, 5e-2, 0.3)[order])
    if oracle.program.uses("grad(", "jvp(", "hvp("):
        scale = max(1.0, float(np.max(np.abs(estimate.value), initial=0)))
        return Estimate(estimate.value, estimate.error * 30 + scale * 1e-7 * 10.0**order)
    return estimate


def _compared(
    program: Program, mode: Mode, point: int, found: Any, wanted: Estimate | None
) -> Finding | None:
    if wanted is None:
        return None
    difference = largest(found, wanted.value)
    if difference <= wanted.error or (not np.all(np.isfinite(found)) and _has_zeros(program, mode)):
        return None
    kind = "wrong value" if QUANTITIES[mode.quantity].order == 0 else "wrong derivative"
    return Finding(program, mode, kind, point, f"{found}", f"{wanted.value} within {wanted.error:.1e}")


def _has_zeros(program: Program, mode: Mode) -> bool:
    """Return whether a derivative at exact zeros is asked for, where that of a root is infinite."""
    has_zeros = any(np.any(part == 0) for point in program.points for x in point for part in (x.real, x.imag))
    return has_zeros and QUANTITIES[mode.quantity].order > 0


def _judged(program: Program, mode: Mode, error: Exception) -> Finding:
    """Return an exception as a finding, or raise `Refused`."""
    text = f"{type(error).__name__}: {error}"
    is_unknown = isinstance(error, errors.UnrecordedWayError) and mode.outer == "compile"
    is_refusal = (
        is_unknown
        or isinstance(error, _REFUSALS)
        or (
            isinstance(error, TypeError | ValueError | RuntimeError | np.linalg.LinAlgError)
            and any(phrase in text for phrase in _PHRASES)
        )
    )
    if is_refusal and not isinstance(error, errors.CertificateError):
        raise Refused(text) from error
    return Finding(program, mode, type(error).__name__, -1, text, "a result")


# --- running ---------------------------------------------------------------------------------------------------------


def backward(f: Any, arguments: Arrays) -> tuple[np.ndarray, ...]:
    """Return the gradients by all arguments that `backward` leaves."""
    leaves = [tg.tensor(x) for x in arguments]
    f(*leaves).backward()
    return tuple(np.zeros_like(leaf.data) if leaf.grad is None else leaf.grad for leaf in leaves)


def results_of(program: Program, mode: Mode, setting: Setting) -> list[tuple[Any, Any]]:
    """Return the results at each point, and those of a repetition at the first one."""
    names = program.on_tensors()
    names |= arrays_of(setting)
    names |= {"backward": backward, "points": [tuple(x[()] for x in point) for point in program.points]}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        exec(mode.text(program.argnums), names)
        if mode.outer == "vmap":
            return _mapped(program, names)
        return _called(program, mode, names)


def _called(program: Program, mode: Mode, names: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Call a function at each point, where constants change in place between the calls, and at the first one again."""
    found = []
    for k, arguments in enumerate([*program.points, program.points[0]]):
        for name, array in program.constants[0 if mode.outer in FIXED else k % len(program.points)].items():
            names[name][...] = array
        result = names["q"](*(np.copy(x)[()] for x in arguments))
        found.append(_arrays(result))
    return [(found[0], found[-1]), *[(each, None) for each in found[1:-1]]]


def _mapped(program: Program, names: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Call a map over all points, in some repetition, where constants are those of the first one."""
    count = len(program.points)
    order = [k % count for k in range(count * 3)]
    stacked = [np.stack([program.points[k][j] for k in order]) for j in range(len(program.points[0]))]
    result = _arrays(names["q"](*stacked))
    instances = [_instance(result, k) for k in range(len(order))]
    return [(instances[k], None) for k in range(count)]


def _instance(result: Any, k: int) -> Any:
    return tuple(_instance(each, k) for each in result) if isinstance(result, tuple) else result[k]


def _arrays(result: Any) -> Any:
    """Return a result with copies of its arrays."""
    if isinstance(result, tuple | list):
        return tuple(map(_arrays, result))
    if isinstance(result, tg.Tensor):
        return np.copy(result.data)
    return np.copy(result) if isinstance(result, np.ndarray | np.generic | float | complex) else result


def _same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(_same_bits, a, b))
    if hasattr(a, "toarray"):
        return _same_bits(a.toarray(), b.toarray())
    return np.asarray(a).tobytes() == np.asarray(b).tobytes() or bool(np.array_equal(a, b, equal_nan=True))


__all__ = ["Counts", "Finding", "check_program", "copies"]
