"""The checks of one function at one point, in forward and in reverse mode."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tapegrad.testing.directions import Direction, directions, smallest_wrong
from tapegrad.testing.numerical import MARGIN
from tapegrad.testing.report import Finding, title_of
from tapegrad.testing.step_sizes import NumericalDerivative, differentiate
from tapegrad.testing.subject import SINGLE, Subject, as_vector, coarsest, inner
from tapegrad.testing.verdict import Tolerance, judge, slack_of

_BLOCKS = 8  # reverse mode checks the results in at most so many blocks
_MODE_DIFFERENCE = 1e-3  # relative difference of the modes that noise of the function may explain
_ROUNDINGS = 100  # a sum that is off by fewer is not suspicious
_PERTURBATIONS = 2  # perturbed points at which the rounding error of a derivative is measured

Derivative = Callable[[Subject], np.ndarray]


@dataclass(frozen=True)
class Settings:
    """The settings of the caller of `check_grads`."""

    modes: tuple[str, ...]
    atol: float | None
    rtol: float | None
    eps: float | None

    def tolerance(self, unit: float) -> Tolerance:
        """Return the tolerances for a dtype of rounding error `unit`."""
        return Tolerance(self.atol or 0.0, 10 * unit**0.5 if self.rtol is None else self.rtol)

    def suspicious(self, unit: float, terms: int) -> Tolerance:
        """Return by how much a sum may be off before one of its terms is suspected to hide behind the others."""
        usual = self.tolerance(unit)
        return replace(
            usual, relative=min(usual.relative, max(usual.relative / max(1, terms), _ROUNDINGS * unit))
        )


@dataclass
class Checks:
    """The checks of one function at one point.

    Attributes
    ----------
    subject, settings, rng
        The function, how it is checked, and the source of random directions.
    inner
        The modes of the derivatives that were taken before.
    inconclusive
        Messages about derivatives that could neither be confirmed nor refuted.
    """

    subject: Subject
    settings: Settings
    rng: np.random.Generator
    inner: tuple[str, ...] = ()
    inconclusive: list[str] = field(default_factory=list)

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
        self._blocks = np.array_split(self.rng.permutation(sizes.size), max(1, min(_BLOCKS, sizes.size)))
        self._lengths = self.rng.uniform(0.5, 1.5, sizes.size)
        self._pulled: dict[bytes, list[np.ndarray]] = {}

    def run(self) -> None:
        """Check each direction in each mode. Raise for a wrong derivative, collect inconclusive ones."""
        shares = self._pull(self.subject, self.weights()) if "rev" in self.settings.modes else None
        for direction in directions(self.subject, shares, self.rng):
            numerical = self._numerical(direction)
            for mode in self.settings.modes:
                self._check_mode(mode, direction, numerical)
            if {"fwd", "rev"} <= set(self.settings.modes):
                self._compare_modes(direction, numerical)

    def weights(self) -> list[np.ndarray]:
        """Return random cotangents that scale all results to one size."""
        return self._as_results(self.rng.choice([-1.0, 1.0], self._sizes.size) * self._lengths / self._sizes)

    def _as_results(self, vector: np.ndarray) -> list[np.ndarray]:
        """Split a vector into arrays like the results, scaled to at most one so that float32 does not overflow."""
        largest = float(np.max(np.abs(vector), initial=0.0)) or 1.0
        pieces = np.split(vector / largest, np.cumsum([r.size for r in self.values]))
        return [np.asarray(p.reshape(r.shape), r.dtype) for p, r in zip(pieces, self.values, strict=False)]

    def _numerical(self, direction: Direction, again: bool = False) -> NumericalDerivative:
        return differentiate(self.subject, direction.parts, self.tolerance, self.settings.eps, again)

    # --- each mode against numerical derivatives ----------------------------------------------------------------

    def _check_mode(self, mode: str, direction: Direction, numerical: NumericalDerivative) -> None:
        """Check a mode in a direction. A derivative that seems wrong is checked again with other steps."""
        found = list(self._findings(mode, direction, numerical))
        if any(finding.is_wrong for finding in found):
            found = list(self._findings(mode, direction, self._numerical(direction, again=True)))
        if any(finding.is_wrong for finding in found):
            part = smallest_wrong(direction, lambda part: self._wrong(mode, part) is not None)
            raise AssertionError((self._wrong(mode, part) or found[0]).wrong())
        if hidden := self._hidden(mode, direction, numerical):
            raise AssertionError(hidden.wrong())
        self.inconclusive += [finding.inconclusive() for finding in found]

    def _hidden(self, mode: str, direction: Direction, numerical: NumericalDerivative) -> Finding | None:
        """Return what is wrong in a part of a direction, and less than the tolerance beside the rest, or `None`.

        The part is found by less than may be called wrong; what is called wrong there is so by the usual tolerance.
        """
        if direction.chosen.size == 1 or not any(
            f.is_wrong for f in self._findings(mode, direction, numerical, True)
        ):
            return None
        part = smallest_wrong(direction, lambda part: self._wrong(mode, part, True) is not None)
        return self._wrong(mode, part)

    def _wrong(self, mode: str, direction: Direction, suspicious: bool = False) -> Finding | None:
        """Return the first wrong derivative in a direction, or `None`."""
        found = self._findings(mode, direction, self._numerical(direction, again=True), suspicious)
        return next((finding for finding in found if finding.is_wrong), None)

    def _findings(
        self, mode: str, direction: Direction, numerical: NumericalDerivative, suspicious: bool = False
    ) -> Iterator[Finding]:
        """Yield the worst wrong or inconclusive element, in reverse mode of each block of results."""
        terms = direction.chosen.size
        tolerance = self.settings.suspicious(self.unit, terms) if suspicious else self.tolerance
        if mode == "fwd":
            yield from self._judge(mode, direction, numerical, None, tolerance)
            return
        for weights in self._weightings(numerical):
            yield from self._judge(mode, direction, numerical.projected(weights), weights, tolerance)

    def _judge(
        self,
        mode: str,
        direction: Direction,
        numerical: NumericalDerivative,
        weights: np.ndarray | None,
        tolerance: Tolerance,
    ) -> Iterator[Finding]:
        """Yield the worst wrong element, or else the worst inconclusive one."""
        derivative = self._forward(direction) if weights is None else self._reverse(direction, weights)
        exact = derivative(self.subject)
        known = exact, numerical.found, tolerance, numerical.negligible, numerical.nothing
        verdict = judge(*known)
        if np.any(verdict.wrong):
            verdict = judge(*known, self._rounding(derivative, exact))
        bad = verdict.wrong if np.any(verdict.wrong) else verdict.inconclusive
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
        """Return the cotangents of the arguments. Those at the point itself are cached: all directions need them."""
        if subject is not self.subject:
            return subject.pull(bars)
        key = b"".join(bar.tobytes() for bar in bars)
        if key not in self._pulled:
            self._pulled[key] = subject.pull(bars)
        return self._pulled[key]

    def _rounding(self, derivative: Derivative, exact: np.ndarray) -> np.ndarray:
        """Return the rounding error of a float32 derivative: how it changes at points one rounding error away."""
        if self.unit < SINGLE:  # double precision: far below the tolerance
            return np.zeros(exact.shape)
        perturbed = [derivative(self.subject.perturbed(self.rng)) for _ in range(_PERTURBATIONS)]
        with np.errstate(all="ignore"):
            changes = np.max(np.abs(np.stack(perturbed) - exact), axis=0)
        return np.where(np.isfinite(changes), changes, 0.0)

    def _weightings(self, numerical: NumericalDerivative) -> Iterator[np.ndarray]:
        """Yield for each block of results cotangents that scale their derivatives to one size and sign."""
        number, error = numerical.best()
        resolved = np.abs(number) > MARGIN * error
        sizes = np.where(resolved, np.abs(number), 0.0)
        for block in self._blocks:
            typical = np.max(sizes[block], initial=0.0) or 1.0
            weights = np.zeros(sizes.size)
            weights[block] = self._lengths[block] / np.where(resolved[block], sizes[block], typical)
            weights[block] *= np.where(number[block] < 0, -1.0, 1.0)
            yield as_vector(self._as_results(weights))

    # --- the modes against each other ---------------------------------------------------------------------------

    def _compare_modes(self, direction: Direction, numerical: NumericalDerivative) -> None:
        """Compare the modes: both give the same inner product, whatever the numerical derivative is."""
        tangent = self._forward(direction)(self.subject)
        for weights in self._weightings(numerical):
            forward, size = float(weights @ tangent), float(np.abs(weights) @ np.abs(tangent))
            derivative = self._reverse(direction, weights)
            exact = derivative(self.subject)
            reverse = float(exact[0])
            projected = numerical.projected(weights)
            slack = (slack_of(error, projected.negligible)[0] for error in (projected.best()[1], np.zeros(1)))
            noise = min(next(slack), _MODE_DIFFERENCE * size + next(slack))
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
