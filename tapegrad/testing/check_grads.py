"""`check_grads`: check both modes, to any order, against numerical derivatives."""

import operator
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tapegrad.errors import InconclusiveError
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.testing.checks import Checks, Settings
from tapegrad.testing.directions import directions, random_steps
from tapegrad.testing.numerical import MARGIN
from tapegrad.testing.report import title_of
from tapegrad.testing.subject import Subject, as_vector, coarsest, subject_of

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


MODES = ("fwd", "rev")


@hides_frames
def check_grads(
    f: Callable[..., Any],
    args: Any,
    order: int = 2,
    modes: Sequence[str] | str = MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function against numerical ones.

    Forward mode: the tangent of each result in a direction is the numerical derivative in it. Reverse mode: so is the
    inner product of the direction with the cotangents of the arguments. With both modes the two are held against each
    other as well. Order 2 checks the derivatives of these derivatives in the same way, in all combinations of `modes`,
    and that they are symmetric.

    Every argument has directions of its own. In a small one each element is moved by itself; in a large one, groups of
    elements of like size and like share in the result, for a large contribution would hide what is wrong with a small
    one.

    Parameters
    ----------
    f : callable
        The function, plain or a ``jit(f)``, whose replays are then checked. Its float results are checked, others
        are passed over.
    args : tuple or array_like
        The tuple of its arguments, or its one argument; lists, tuples and dicts of arrays are allowed. It is checked
        by all floats and complex numbers, and arrays of them, in them; everything else is passed on as it is. Complex
        numbers are checked as pairs of floats along a new last dimension, their real and imaginary parts; so are
        complex results.
    order : int, default 2
        Highest order of derivatives, 1 or more.
    modes : str or sequence of str, default ('fwd', 'rev')
        ``"fwd"``, ``"rev"`` or both.
    atol, rtol : float, optional
        A derivative is wrong if it is off by more than ``atol + rtol * size + 8 * error``, with the estimated error
        of the numerical one, which counts the noise of `f`. By default `rtol` is ten times the root of the relative
        rounding error of the coarsest dtype involved (1.5e-7 in double, 3.5e-3 in single precision), and `atol` is
        zero. An `atol` also says what is too small to matter where nothing can be told.
    eps : float, optional
        Largest step of the differences, relative to each argument's elements; two smaller ones down to 1/256 of it
        are then taken. By default steps from 0.03 down to 1e-10 are tried until the error is small, and longer ones,
        for small elements up to 0.1, where none of these says enough.
    seed : int, default 0
        Seed of the random directions.

    Raises
    ------
    AssertionError
        For a wrong derivative: with its mode and order, the argument, the result's element, the direction, both
        numbers and the estimated error.
    InconclusiveError
        Where nothing is wrong, but a derivative could not be told: the noise of `f` hides it (the numerical one must
        be known to 1 %), or `f` jumps or is not finite near the point. This is no `AssertionError`, and not a warning,
        which would pass unseen: nothing was confirmed. Another point, or an `atol`, may do.
    ValueError
        If no argument holds a float, for a mode that does not exist, no modes at all, or an order below 1.

    Notes
    -----
    Exceptions of `f` pass through as they are. Steps at which it raises are left out, as long as there are others.

    `f` is sampled at 24 points or more in each direction, at one or several scales. The Chebyshev spectrum of these
    samples says how exact the derivative is and what the noise is. A complex step is taken in addition if `f` takes
    complex arrays: if it is written in NumPy's names and operators, not in ``tapegrad.sin`` or methods of Tensors
    only. It counts where both agree, for it is exact to rounding where `f` is analytic. A function in single precision
    is sampled in double precision if it computes the same there.

    The result of an adaptive solver (an ODE, a root) is a smooth function beside the true one, whose derivative is off
    by more than the tolerance. That shows as noise at longer steps, and excuses a difference of at most 0.2 %.

    At a kink (``abs`` at 0, ``maximum`` at a tie) there is no derivative: the differences go through it and give the
    mean of both sides, which this library's convention is for these two, but not everywhere. Check beside kinks.

    The name, arguments and division of labour follow `jax.test_util.check_grads` and `autograd.test_util`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.check_grads(lambda x, y: np.sin(x) * y, (np.array([0.5, 2.0]), 3.0))
    >>> tg.check_grads(lambda x: x * x.detach(), 3.0, order=1, modes=["rev"])
    Traceback (most recent call last):
    ...
    AssertionError: check_grads: reverse mode, order 1: a wrong derivative of <lambda> by argument 0
    ...
    """
    order, modes = _valid(order, modes)
    settings = Settings(modes, atol, rtol, eps)
    subject = subject_of(f, args if isinstance(args, tuple) else (args,))
    inconclusive = _check(Checks(subject, settings, np.random.default_rng(seed)), order)
    if inconclusive:
        more = f"\n  and {len(inconclusive) - 1} more that cannot be told" if len(inconclusive) > 1 else ""
        raise InconclusiveError(inconclusive[0] + more)


def _valid(order: int, modes: Sequence[str] | str) -> tuple[int, tuple[str, ...]]:
    """Return order and modes, or raise if they leave nothing to check."""
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    for mode in modes:
        if mode not in MODES:
            raise ValueError(f"check_grads: {mode!r} is not a mode; the modes are 'fwd' and 'rev'")
    if not modes:
        raise ValueError(
            "check_grads: modes is empty, so there is nothing to check; the modes are 'fwd' and 'rev'"
        )
    if isinstance(order, bool) or operator.index(order) < 1:
        raise ValueError(f"check_grads: order={order!r}, so there is nothing to check; the first order is 1")
    return operator.index(order), tuple(dict.fromkeys(modes))


def _check(checks: Checks, order: int) -> list[str]:
    """Check the first derivatives of a function, then the derivatives of these. Return what is inconclusive."""
    checks.run()
    inconclusive = checks.inconclusive
    if order == 1:
        return inconclusive
    subject, settings, rng = checks.subject, checks.settings, checks.rng
    for mode in settings.modes:
        if mode == "fwd":
            derived = subject.pushed(random_steps(subject, rng))
        else:
            derived = subject.pulled(checks.weights())
            for outer in settings.modes if not checks.inner else ():
                check_symmetry(derived, outer, settings, rng)
        inconclusive += _check(Checks(derived, settings, rng, (*checks.inner, mode)), order - 1)
    return inconclusive
