"""Choose the step sizes: small enough for truncation errors, large enough for the noise of the function."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tapegrad.testing.numerical import (
    MARGIN,
    POINTS,
    DirectionalEstimate,
    Samples,
    complex_step,
    composed,
    estimates,
    sample,
)
from tapegrad.testing.subject import Subject
from tapegrad.testing.verdict import NOTHING, Tolerance, negligible

_DOWN = tuple(2.0**-k for k in (5, 12, 19, 26, 33))
_UP, _UP_RATIO, _FARTHEST = 0.25, 2.0**10, 0.125
# A longer step and a factor of all steps, for the second check of what seems wrong
_LONG, _OTHER = 0.25, 0.77
_CONVERGED = 0.05  # of a negligible derivative


@dataclass(frozen=True)
class NumericalDerivative:
    """The numerical derivatives in one direction.

    Attributes
    ----------
    samples
        The samples of each scale.
    found
        The estimates of each scale, and of the complex step.
    negligible
        The size of a derivative that counts as zero.
    """

    samples: list[Samples]
    unit: float
    found: list[DirectionalEstimate]
    negligible: np.ndarray

    @property
    def nothing(self) -> np.ndarray:
        """Largest error at which a derivative of exactly zero is confirmed: small beside the function's values."""
        errors: np.ndarray = np.maximum(self.negligible, NOTHING / self.unit * self.negligible)
        return errors

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return for each element the number with the least error, and that error."""
        return _best(self.found)[:2]

    def projected(self, weights: np.ndarray) -> "NumericalDerivative":
        """Return the derivatives of the weighted sum of the elements, by scale and by their best estimates."""
        used = weights != 0
        number, error, step = (a[used] for a in _best(self.found))
        w = weights[used]
        with np.errstate(all="ignore"):
            total = np.sum(w * number, keepdims=True), np.sum(np.abs(w) * error, keepdims=True)
        samples = [s.projected(weights) for s in self.samples]
        small = np.sum(np.abs(w) * self.negligible[used], keepdims=True)
        of_the_best = composed(*total, self.found[-1].how, float(np.max(step, initial=0.0)))
        return NumericalDerivative(samples, self.unit, [*estimates(samples), of_the_best], small)


def steps(eps: float | None, reach: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return decreasing steps to begin with, and increasing ones, for a direction whose largest element is `reach`.

    The increasing ones go to a quarter of each element, and for small elements on to an absolute step of an eighth.
    """
    if eps is not None:
        return (eps, eps / 2**4, eps / 2**8), ()
    up, last = [_UP], _FARTHEST / reach
    while up[-1] * _UP_RATIO < last:
        up.append(up[-1] * _UP_RATIO)
    return _DOWN, (*up, last) if last > _UP else tuple(up)


def differentiate(
    subject: Subject,
    direction: list[np.ndarray],
    tolerance: Tolerance,
    eps: float | None,
    again: bool = False,
) -> NumericalDerivative:
    """Return the numerical derivative in a direction.

    With `again` other steps are used, and one so long that it shows the errors of an adaptive solver, which are smooth
    at shorter ones.
    """
    search = _Search(subject, direction, tolerance, _OTHER if again else 1.0)
    down, up = steps(eps, search.reach)
    everywhere = np.ones(search.finite.shape, bool)
    search.sample_scales(down, everywhere)
    if not search.has_converged():
        search.sample_scales(up, ~search.is_resolved())
    if again and eps is None:
        search.sample(_LONG, everywhere)
    return search.result()


class _Search:
    """Samples of a growing number of scales. Those at which the function raises are outside its domain and left out."""

    def __init__(
        self, subject: Subject, direction: list[np.ndarray], tolerance: Tolerance, stretch: float
    ) -> None:
        self._subject, self._direction = subject, direction
        self._tolerance, self._stretch = tolerance, stretch
        self._along = subject.along(direction)
        self._taken: list[Samples] = []
        self._failure: Exception | None = None
        self.reach = float(max(np.max(np.abs(d), initial=0.0) for d in direction))
        with np.errstate(all="ignore"):
            self.finite = np.isfinite(self._along(0.0))

    def sample_scales(self, scales: Sequence[float], wanted: np.ndarray) -> None:
        """Sample at scales in turn until the derivative has converged."""
        for step in scales:
            self.sample(step, wanted)
            if self.has_converged():
                return

    def sample(self, step: float, wanted: np.ndarray) -> None:
        """Sample the wanted elements at a scale."""
        try:
            samples = sample(self._along, step * self._stretch, self._subject.unit)
        except Exception as error:
            self._failure = error
            return
        self._taken.append(replace(samples, odd=np.where(wanted & self.finite, samples.odd, np.nan)))

    def _found(self) -> list[DirectionalEstimate]:
        if not self._taken:
            assert self._failure is not None
            raise self._failure
        return estimates(self._taken)

    def _small(self) -> np.ndarray:
        size = np.min([samples.size for samples in self._taken], axis=0)
        return negligible(np.maximum(size, self._subject.size), self._subject.unit, self.reach)

    def has_converged(self) -> bool:
        """Return whether every element is as accurate as the tolerances ask."""
        if not self._taken:
            return False
        number, error, _ = _best(self._found())
        with np.errstate(all="ignore"):
            enough = np.maximum(self._tolerance.relative * np.abs(number), _CONVERGED * self._small())
            return bool(np.all(MARGIN * error <= np.maximum(enough, self._tolerance.absolute)))

    def is_resolved(self) -> np.ndarray:
        """Return which elements are accurate enough. Longer steps for them could only leave the domain."""
        if not self._taken:
            return np.zeros(self.finite.shape, bool)
        number, error, _ = _best(self._found())
        with np.errstate(all="ignore"):
            return np.asarray(MARGIN * error <= self._tolerance.resolution * np.abs(number))

    def result(self) -> NumericalDerivative:
        """Return all estimates, the complex step among them."""
        found = self._found()
        exact = _exact(self._subject, self._direction, found, self._tolerance)
        return NumericalDerivative(self._taken, self._subject.unit, [*found, *exact], self._small())


def _best(found: list[DirectionalEstimate]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each element the number with the least error, that error, and the step."""
    error = np.stack([np.where(e.suspect, np.inf, e.error) for e in found])
    number = np.stack([e.number for e in found])
    best = np.argmin(error, axis=0)
    chosen = [np.take_along_axis(a, best[None], 0)[0] for a in (number, error)]
    return chosen[0], chosen[1], np.array([e.step for e in found])[best]


def _exact(
    subject: Subject, direction: list[np.ndarray], found: list[DirectionalEstimate], tolerance: Tolerance
) -> list[DirectionalEstimate]:
    """Return the complex step's estimate, with an infinite error where accurate differences do not confirm it."""
    if subject.analytic is None:
        return []
    number = complex_step(subject.analytic, subject.primals, direction)
    near, error, _ = _best(found)
    if number is None or number.shape != near.shape:
        return []
    slack = MARGIN * error
    same = (np.abs(number - near) <= slack + tolerance.relative * np.abs(number)) & (
        slack <= 0.3 * np.abs(number)
    )
    # Where terms of the function cancel, so do those of the step.
    noise = np.min([estimate.noise for estimate in found], axis=0)
    noise = POINTS * np.where(np.isfinite(noise), noise, 0.0)
    rounding = np.maximum(4 * np.finfo(np.float64).eps * np.abs(number), noise)
    return [composed(number, np.where(same, np.minimum(rounding, error), np.inf), "complex step")]
