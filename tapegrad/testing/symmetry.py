"""Check that second derivatives are symmetric in the arguments."""

from itertools import combinations

import numpy as np

from tapegrad.testing.checks import Settings
from tapegrad.testing.directions import directions
from tapegrad.testing.numerical import MARGIN
from tapegrad.testing.report import title_of
from tapegrad.testing.subject import Subject, as_vector, coarsest

_PAIRS = 21  # of directions, at most


def check_symmetry(gradient: Subject, mode: str, settings: Settings, rng: np.random.Generator) -> None:
    """Check that the derivative of a gradient is symmetric, in one mode over reverse mode.

    Numerical derivatives of the gradient do not show an asymmetry: they differentiate the same wrong gradient.
    """
    count = gradient.linear_from
    moves = [d for d in directions(gradient, None, rng) if d.argument < (count or 0)]
    for first, second in list(combinations(moves, 2))[:_PAIRS]:
        u, v = first.parts, second.parts
        tolerance = settings.tolerance(coarsest(gradient.primals))
        (one, size), (other, size_of_other) = (_product(gradient, mode, *pair) for pair in ((u, v), (v, u)))
        allowed = tolerance.absolute + MARGIN * tolerance.relative * max(size, size_of_other)
        if abs(one - other) > allowed:
            names = gradient.names[first.argument], gradient.names[second.argument]
            raise AssertionError(
                f"check_grads: {title_of(('rev', mode))}: a wrong derivative, for second derivatives are symmetric:"
                f" {gradient.title} by {names[0]} and {names[1]}\n"
                f"  first by {names[0]}: {one!r}\n  first by {names[1]}: {other!r}\n"
                f"  off by {abs(one - other):.3g}, where {allowed:.3g} is allowed"
            )


def _product(gradient: Subject, mode: str, u: list[np.ndarray], v: list[np.ndarray]) -> tuple[float, float]:
    """Return the Hessian times `u` and `v`, and the sum of the terms' absolute values."""
    count = gradient.linear_from
    product = gradient.push(u) if mode == "fwd" else as_vector(gradient.pull(u[:count])[:count])
    v_flat = as_vector(v[:count])
    return float(product @ v_flat), float(np.abs(product) @ np.abs(v_flat))
