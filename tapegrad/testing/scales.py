"""At which scales a function is sampled: down to where it is smooth, and up to where it stands out of its noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tapegrad.testing.numerical import (
    MARGIN,
    POINTS,
    Estimate,
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
_LONG, _OTHER = 0.25, 0.77  # for a second opinion
_SETTLED = 0.05  # of what is negligible


@dataclass(frozen=True)
class Numerical:
    """The numerical derivatives in one direction.

    Attributes
    ----------
    samples
        What they come from, a scale each.
    found
        The estimates of each scale, and that of the complex step.
    negligible
        Derivatives that are as good as zero.
    """

    samples: list[Samples]
    unit: float
    found: list[Estimate]
    negligible: np.ndarray

    @property
    def nothing(self) -> np.ndarray:
        """Errors by which it is told that there is no dependence: small beside the function's values."""
        errors: np.ndarray = np.maximum(self.negligible, NOTHING / self.unit * self.negligible)
        return errors

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """For each element the number with the least error, and that error."""
        return _best(self.found)[:2]

    def projected(self, weights: np.ndarray) -> "Numerical":
        """The derivatives of the weighted sum of the elements: scale by scale, and by the best ones of each."""
        used = weights != 0
        number, error, step = (a[used] for a in _best(self.found))
        w = weights[used]
        with np.errstate(all="ignore"):
            total = np.sum(w * number, keepdims=True), np.sum(np.abs(w) * error, keepdims=True)
        samples = [s.projected(weights) for s in self.samples]
        small = np.sum(np.abs(w) * self.negligible[used], keepdims=True)
        of_best = composed(*total, self.found[-1].how, float(np.max(step, initial=0.0)))
        return Numerical(samples, self.unit, [*estimates(samples, self.unit), of_best], small)


def steps(eps: float | None, reach: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Steps to go down, and then up by, for a direction whose largest element is `reach`.

    Up means a quarter of each element, and for small elements on to an eighth.
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
) -> Numerical:
    """The numerical derivative in a direction.

    `again` asks for a second opinion: by other steps, and by one so long that it shows the errors of an adaptive
    solver, which are smooth at shorter ones.
    """
    search = _Search(subject, direction, tolerance, _OTHER if again else 1.0)
    down, up = steps(eps, search.reach)
    everywhere = np.ones(search.finite.shape, bool)
    search.through(down, everywhere)
    if not search.is_settled():
        search.through(up, ~search.told())
    if again and eps is None:
        search.take(_LONG, everywhere)
    return search.result()


class _Search:
    """Samples of more and more scales. One at which the function raises is left out: its domain ends there."""

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

    def through(self, scales: Sequence[float], wanted: np.ndarray) -> None:
        """Sample at some scales, until no other can be of use."""
        for step in scales:
            self.take(step, wanted)
            if self.is_settled():
                return

    def take(self, step: float, wanted: np.ndarray) -> None:
        """Sample at a scale, for those elements that want it."""
        try:
            samples = sample(self._along, step * self._stretch)
        except Exception as error:
            self._failure = error
            return
        self._taken.append(replace(samples, odd=np.where(wanted & self.finite, samples.odd, np.nan)))

    def _found(self) -> list[Estimate]:
        if not self._taken:
            assert self._failure is not None
            raise self._failure
        return estimates(self._taken, self._subject.unit)

    def _small(self) -> np.ndarray:
        size = np.min([samples.size for samples in self._taken], axis=0)
        return negligible(np.maximum(size, self._subject.size), self._subject.unit, self.reach)

    def is_settled(self) -> bool:
        """Whether every element is known as exactly as it can matter."""
        if not self._taken:
            return False
        number, error, _ = _best(self._found())
        with np.errstate(all="ignore"):
            enough = np.maximum(self._tolerance.relative * np.abs(number), _SETTLED * self._small())
            return bool(np.all(MARGIN * error <= np.maximum(enough, self._tolerance.absolute)))

    def told(self) -> np.ndarray:
        """The elements that are known: steps of another order of magnitude could only leave the domain."""
        if not self._taken:
            return np.zeros(self.finite.shape, bool)
        number, error, _ = _best(self._found())
        with np.errstate(all="ignore"):
            return np.asarray(MARGIN * error <= self._tolerance.resolution * np.abs(number))

    def result(self) -> Numerical:
        """What was found, and by a complex step."""
        found = self._found()
        exact = _exact(self._subject, self._direction, found, self._tolerance)
        return Numerical(self._taken, self._subject.unit, [*found, *exact], self._small())


def _best(found: list[Estimate]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each element the number with the least error, that error, and the step."""
    error = np.stack([np.where(e.suspect, np.inf, e.error) for e in found])
    number = np.stack([e.number for e in found])
    best = np.argmin(error, axis=0)
    chosen = [np.take_along_axis(a, best[None], 0)[0] for a in (number, error)]
    return chosen[0], chosen[1], np.array([e.step for e in found])[best]


def _exact(
    subject: Subject, direction: list[np.ndarray], found: list[Estimate], tolerance: Tolerance
) -> list[Estimate]:
    """The complex step, where differences say something and the same."""
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
    noise = np.min(
        [estimate.noise for estimate in found], axis=0
    )  # where terms of the function cancel, the step's do
    noise = POINTS * np.where(np.isfinite(noise), noise, 0.0)
    rounding = np.maximum(4 * np.finfo(np.float64).eps * np.abs(number), noise)
    return [composed(number, np.where(same, np.minimum(rounding, error), np.inf), "complex step")]
