"""Checks of one function at one point, in forward and in reverse mode."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tapegrad.testing.directions import Direction, directions, first_wrong
from tapegrad.testing.numerical import MARGIN
from tapegrad.testing.report import Finding, title_of
from tapegrad.testing.scales import Numerical, differentiate
from tapegrad.testing.subject import SINGLE, Subject, as_vector, coarsest, inner
from tapegrad.testing.verdict import Tolerance, judge, slack_of

_PARTS = 8  # the results are checked in so many parts in reverse mode
_APART = 1e-3  # up to which the noise of a function excuses that its modes differ
_NUDGES = 2

Derivative = Callable[[Subject], np.ndarray]


@dataclass(frozen=True)
class Settings:
    """What the caller of `check_grads` wants."""

    modes: tuple[str, ...]
    atol: float | None
    rtol: float | None
    eps: float | None

    def tolerance(self, unit: float) -> Tolerance:
        """The tolerances for a dtype of this rounding error."""
        return Tolerance(self.atol or 0.0, 10 * unit**0.5 if self.rtol is None else self.rtol)


@dataclass
class Checks:
    """The checks of one function at one point.

    Attributes
    ----------
    subject, settings, rng
        What is checked, how, and the source of directions.
    inner
        The modes of the derivatives that were taken already.
    undecided
        Messages of what could not be told.
    """

    subject: Subject
    settings: Settings
    rng: np.random.Generator
    inner: tuple[str, ...] = ()
    undecided: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = self.subject.results(self.subject.primals)
        if not self.values:
            raise ValueError(
                f"check_grads: {self.subject.title} returned no float, so there is nothing to check"
            )
        self.unit = coarsest([*self.values, *self.subject.primals])
        self.tolerance = self.settings.tolerance(self.unit)
        sizes = np.abs(as_vector(self.values))
        self._sizes = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
        self._parts = np.array_split(self.rng.permutation(sizes.size), max(1, min(_PARTS, sizes.size)))
        self._lengths = self.rng.uniform(0.5, 1.5, sizes.size)
        self._pulled: dict[bytes, list[np.ndarray]] = {}

    def run(self) -> None:
        """Check each direction in each mode; raise for what is wrong, and note what cannot be told."""
        shares = self._pull(self.subject, self.weights()) if "rev" in self.settings.modes else None
        for direction in directions(self.subject, shares, self.rng):
            numerical = self._numerical(direction)
            for mode in self.settings.modes:
                self._hold(mode, direction, numerical)
            if {"fwd", "rev"} <= set(self.settings.modes):
                self._compare(direction, numerical)

    def weights(self) -> list[np.ndarray]:
        """Random cotangents of the results that bring all of them to one size."""
        return self._as_results(self.rng.choice([-1.0, 1.0], self._sizes.size) * self._lengths / self._sizes)

    def _as_results(self, vector: np.ndarray) -> list[np.ndarray]:
        """A vector as arrays like the results, none of them above one: single precision goes no further."""
        largest = float(np.max(np.abs(vector), initial=0.0)) or 1.0
        pieces = np.split(vector / largest, np.cumsum([r.size for r in self.values]))
        return [np.asarray(p.reshape(r.shape), r.dtype) for p, r in zip(pieces, self.values, strict=False)]

    def _numerical(self, direction: Direction, again: bool = False) -> Numerical:
        return differentiate(self.subject, direction.parts, self.tolerance, self.settings.eps, again)

    # --- each mode against the numbers --------------------------------------------------------------------------

    def _hold(self, mode: str, direction: Direction, numerical: Numerical) -> None:
        """Hold a mode against the numbers in a direction; what is wrong must be so for other steps, too."""
        found = list(self._findings(mode, direction, numerical))
        if any(finding.is_wrong for finding in found):
            found = list(self._findings(mode, direction, self._numerical(direction, again=True)))
        if any(finding.is_wrong for finding in found):
            part = first_wrong(direction, lambda part: self._wrong(mode, part) is not None)
            raise AssertionError((self._wrong(mode, part) or found[0]).wrong())
        self.undecided += [finding.undecided() for finding in found]

    def _wrong(self, mode: str, direction: Direction) -> Finding | None:
        """What is wrong in a direction, if something is."""
        found = self._findings(mode, direction, self._numerical(direction, again=True))
        return next((finding for finding in found if finding.is_wrong), None)

    def _findings(self, mode: str, direction: Direction, numerical: Numerical) -> Iterator[Finding]:
        """What is wrong, and what cannot be told: the worst element of each."""
        if mode == "fwd":
            yield from self._judged(mode, direction, numerical, None)
            return
        for weights in self._weightings(numerical):
            yield from self._judged(mode, direction, numerical.projected(weights), weights)

    def _judged(
        self, mode: str, direction: Direction, numerical: Numerical, weights: np.ndarray | None
    ) -> Iterator[Finding]:
        """What is wrong in a mode, or what cannot be told."""
        derivative = self._forward(direction) if weights is None else self._reverse(direction, weights)
        exact = derivative(self.subject)
        known = exact, numerical.found, self.tolerance, numerical.negligible, numerical.nothing
        verdict = judge(*known)
        if np.any(verdict.wrong):
            verdict = judge(*known, self._rounding(derivative, exact))
        bad = verdict.wrong if np.any(verdict.wrong) else verdict.undecided
        if np.any(bad):
            with np.errstate(all="ignore"):
                excess = np.abs(exact - verdict.number) / verdict.allowed
            worst = int(np.argmax(np.where(bad, np.nan_to_num(excess, nan=np.inf), -1.0)))
            modes = (*self.inner, mode)
            yield Finding(modes, self.subject, self.values, direction, weights, exact, verdict, worst)

    def _forward(self, direction: Direction) -> Derivative:
        return lambda subject: subject.push(direction.parts)

    def _reverse(self, direction: Direction, weights: np.ndarray) -> Derivative:
        bars = self._as_results(weights)
        return lambda subject: np.array([inner(self._pull(subject, bars), direction.parts)])

    def _pull(self, subject: Subject, bars: list[np.ndarray]) -> list[np.ndarray]:
        """The cotangents of the arguments; those at the point itself are kept, for many directions ask for them."""
        if subject is not self.subject:
            return subject.pull(bars)
        key = b"".join(bar.tobytes() for bar in bars)
        if key not in self._pulled:
            self._pulled[key] = subject.pull(bars)
        return self._pulled[key]

    def _rounding(self, derivative: Derivative, exact: np.ndarray) -> np.ndarray:
        """By how much single precision rounds a derivative: its changes at points that round to this one."""
        if self.unit < SINGLE:  # the tolerance is far above that
            return np.zeros(exact.shape)
        nudged = [derivative(self.subject.nudged(self.rng)) for _ in range(_NUDGES)]
        with np.errstate(all="ignore"):
            changes = np.max(np.abs(np.stack(nudged) - exact), axis=0)
        return np.where(np.isfinite(changes), changes, 0.0)

    def _weightings(self, numerical: Numerical) -> Iterator[np.ndarray]:
        """Cotangents of a part of the results each, that bring their derivatives to one size and sign."""
        number, error = numerical.best()
        told = np.abs(number) > MARGIN * error
        sizes = np.where(told, np.abs(number), 0.0)
        for part in self._parts:
            typical = np.max(sizes[part], initial=0.0) or 1.0
            weights = np.zeros(sizes.size)
            weights[part] = self._lengths[part] / np.where(told[part], sizes[part], typical)
            weights[part] *= np.where(number[part] < 0, -1.0, 1.0)
            yield as_vector(self._as_results(weights))

    # --- the modes against each other ---------------------------------------------------------------------------

    def _compare(self, direction: Direction, numerical: Numerical) -> None:
        """Hold the modes against each other: both are the same inner product, and need no differences for it."""
        tangent = self._forward(direction)(self.subject)
        for weights in self._weightings(numerical):
            forward, size = float(weights @ tangent), float(np.abs(weights) @ np.abs(tangent))
            derivative = self._reverse(direction, weights)
            exact = derivative(self.subject)
            reverse = float(exact[0])
            projected = numerical.projected(weights)
            slack = (slack_of(error, projected.negligible)[0] for error in (projected.best()[1], np.zeros(1)))
            noise = min(next(slack), _APART * size + next(slack))
            allowed = self.tolerance.absolute + self.tolerance.relative * size + noise
            if abs(forward - reverse) > allowed:
                allowed += MARGIN * float(self._rounding(derivative, exact)[0])
            if abs(forward - reverse) > allowed:
                name = self.subject.names[direction.argument]
                raise AssertionError(
                    f"check_grads: {title_of((*self.inner, 'rev'))}, and forward mode: a wrong derivative of"
                    f" {self.subject.title} by {name} in one of them\n"
                    f"  forward mode: {forward!r}, as inner product with a cotangent of the results\n"
                    f"  reverse mode: {reverse!r}, as inner product with the direction\n"
                    f"  off by {abs(forward - reverse):.3g}, where {allowed:.3g} is allowed\n"
                    "  the numerical derivative is too noisy to tell which one is wrong"
                )
