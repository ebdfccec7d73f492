"""Filters of images: value and gradient of a sum of squares, beside SciPy's values and gradients written by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage, signal

from perf.figures.base import Figure, Outcome, Settings, times_faster
from perf.peers import Unavailable, tapegrad
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

SIZE, TAPS, WIDTH = 256, 9, 2.0


@dataclass(frozen=True)
class Filter:
    """A filter with a constant kernel, by SciPy and by tapegrad, and its transpose by SciPy.

    Attributes
    ----------
    scipys, transpose
        The filter of an array; the gradient of a sum of products with its result.
    ours
        The filter of a Tensor, given the library.
    faster
        How many times faster than SciPy's value, and than value and gradient by hand, it is to be.
    """

    scipys: Callable[[np.ndarray], np.ndarray]
    transpose: Callable[[np.ndarray], np.ndarray]
    ours: Callable[[Any, Any], Any]
    faster: tuple[float, float]

    def by_hand(self, x: np.ndarray) -> Answer:
        """Return value and gradient by SciPy's filter and its transpose."""
        y = self.scipys(x)
        return float(np.vdot(y, y)), 2 * self.transpose(y)

    def value(self, x: np.ndarray) -> float:
        """Return the sum of squares by SciPy's filter."""
        y = self.scipys(x)
        return float(np.vdot(y, y))


KERNEL = np.random.default_rng(1).standard_normal((TAPS, TAPS))
CONVOLUTION = Filter(
    lambda x: signal.convolve2d(x, KERNEL, "same"),
    lambda y: signal.correlate2d(y, KERNEL, "same"),
    lambda tg, x: tg.signal.convolve2d(x, KERNEL, "same"),
    (2, 5),
)
# In the mode 'wrap' a symmetric kernel is its own transpose.
GAUSSIAN = Filter(
    lambda x: ndimage.gaussian_filter(x, WIDTH, mode="wrap"),
    lambda y: ndimage.gaussian_filter(y, WIDTH, mode="wrap"),
    lambda tg, x: tg.ndimage.gaussian_filter(x, WIDTH, mode="wrap"),
    (1, 2),
)


def _measure(filter_: Filter, settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, image = tapegrad(), np.random.default_rng(0).standard_normal((SIZE, SIZE))
    answer = filter_.by_hand(image)
    ours = tg.value_and_grad(tg.jit(lambda x: tg.sum(filter_.ours(tg, x) ** 2)))
    contenders = [
        Contender("tapegrad", partial(ours, image), lambda found: (float(found[0]), found[1])),
        Contender("SciPy, value alone", partial(filter_.value, image), lambda value: (value,)),
        Contender("SciPy, by hand", partial(filter_.by_hand, image), lambda found: found),
    ]
    timings = race(contenders, [answer, answer[:1], answer], settings.budget, 1e-7)
    rivals = zip(("SciPy, value alone", "SciPy, by hand"), filter_.faster, strict=True)
    return Outcome(times_faster("tapegrad", rivals, timings), timings, [])


FILTERS = tuple(
    Figure(f"filter-{slug}", f"{title}: value and gradient of a sum of squares", partial(_measure, each))
    for slug, title, each in (
        ("convolve2d", f"Convolution of {SIZE} x {SIZE} with {TAPS} x {TAPS}", CONVOLUTION),
        ("gaussian", f"Gaussian filter of {SIZE} x {SIZE}, sigma {WIDTH:g}", GAUSSIAN),
    )
)
