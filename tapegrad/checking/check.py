"""`check_grads`: both modes, to any order, against numerical derivatives in random directions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.checking.message import Disagreement
from tapegrad.checking.numerical import Estimate, complex_step, differences, steps
from tapegrad.checking.subject import Subject, as_vector, subject_of

MODES = ("fwd", "rev")


def check_grads(
    f: Callable[..., Any],
    args: Any,
    order: int = 2,
    modes: Sequence[str] = MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function against numerical ones, in random directions.

    Forward mode: the tangent of the result in a direction is the numerical derivative in it. Reverse mode: so is the
    inner product of the direction with the cotangents of the arguments. Order 2 checks the derivatives of these
    derivatives in the same way, in all combinations of `modes`.

    Parameters
    ----------
    f
        The function, plain or a ``jit(f)``, whose replays are then checked. Its float results are checked, others
        are passed over.
    args
        The tuple of its arguments, or its one argument; lists, tuples and dicts of arrays are allowed. It is checked
        by all floats and float arrays in them; everything else is passed on as it is.
    order
        Highest order of derivatives.
    modes
        ``"fwd"``, ``"rev"`` or both.
    atol, rtol
        A derivative is wrong if it is off by more than ``atol + rtol * size + 10 * error``, with the estimated error
        of the numerical one. By default `rtol` is ten times the root of the relative rounding error of the coarsest
        dtype involved (1.5e-7 in double, 3.5e-3 in single precision), and `atol` next to nothing.
    eps
        Largest step of the differences, relative to each argument's elements; three steps down to a sixteenth of it
        are then taken. By default steps from 0.03 down to 7e-9 are tried until the error is small.
    seed
        Of the random directions.

    Raises
    ------
    AssertionError
        For a wrong derivative: with its mode and order, the argument, the result's element, the direction and both
        numbers. Also where no numerical derivative could be found, because the function is noisy, jumps, or is not
        finite near the point.
    ValueError
        If no argument holds a float, or for a mode that does not exist.

    Notes
    -----
    Exceptions of `f` pass through as they are, also those for points a step away from `args`.

    The numerical derivative is found by differences that are extrapolated to step zero, and then by a complex step
    if `f` takes complex arrays: if it is written in NumPy's names and operators, not in ``tapegrad.sin`` or methods
    of Tensors only. The complex step is taken where both agree, for it is exact to rounding where `f` is analytic.

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
    for mode in (modes := tuple(modes)):
        if mode not in MODES:
            raise ValueError(f"check_grads: {mode!r} is not a mode; the modes are 'fwd' and 'rev'")
    subject = subject_of(f, args if isinstance(args, tuple) else (args,))
    settings = (atol, rtol, eps)
    _check(subject, order, modes, (), settings, np.random.default_rng(seed))


def _check(
    subject: Subject,
    order: int,
    modes: tuple[str, ...],
    inner: tuple[str, ...],
    settings: tuple[float | None, float | None, float | None],
    rng: np.random.Generator,
) -> None:
    """Check the first derivatives of a function, then the derivatives of these."""
    if order < 1:
        return
    direction = [_direction(x, rng) for x in subject.primals]
    checks = _Checks(subject, inner, settings)
    weights = [np.asarray(rng.standard_normal(r.shape), r.dtype) for r in checks.values]
    if "fwd" in modes:
        checks.forward(direction)
        _check(subject.pushed(direction), order - 1, modes, (*inner, "fwd"), settings, rng)
    if "rev" in modes:
        checks.reverse(direction, weights)
        _check(subject.pulled(weights), order - 1, modes, (*inner, "rev"), settings, rng)


def _direction(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random direction of the size of each element, or of the others where one is zero."""
    sizes = np.abs(x)
    mean = np.sqrt(np.mean(sizes**2)) if x.size else 0.0
    sizes = np.where(sizes > 0, sizes, mean if mean > 0 else 1.0)
    return np.asarray(rng.standard_normal(x.shape) * sizes, x.dtype)


class _Checks:
    """The checks of one function at one point."""

    def __init__(self, subject: Subject, inner: tuple[str, ...], settings: Sequence[float | None]) -> None:
        self._subject = subject
        self._inner = inner
        self._atol, rtol, self._eps = settings
        self.values = subject.results(subject.primals)
        if not self.values:
            raise ValueError(f"check_grads: {subject.title} returned no float, so there is nothing to check")
        self._unit = float(max(np.finfo(a.dtype).eps for a in (*self.values, *subject.primals)))
        self._rtol = 10 * self._unit**0.5 if rtol is None else rtol
        self._known: dict[bytes, Estimate] = {}

    def forward(self, direction: list[np.ndarray]) -> None:
        """The derivative in a direction, element by element."""

        def check(chosen: list[np.ndarray]) -> Disagreement | None:
            return self._compare("fwd", self._subject.push(chosen), self._numerical(chosen))

        self._demand(check, direction)

    def reverse(self, direction: list[np.ndarray], weights: list[np.ndarray]) -> None:
        """The cotangents for some weights of the results, by their inner product with a direction."""
        pulled = self._subject.pull(weights)
        w = as_vector(weights)

        def check(chosen: list[np.ndarray]) -> Disagreement | None:
            found = self._numerical(chosen)
            products = [np.sum(x_bar * d, dtype=np.float64) for x_bar, d in zip(pulled, chosen, strict=True)]
            error = np.where(w == 0, 0.0, np.abs(w) * found.error)
            total = Estimate(np.array([w @ found.number]), np.array([np.sum(error)]), found.how)
            return self._compare(
                "rev", np.array([np.sum(products)]), total, float(np.abs(w) @ np.abs(found.number))
            )

        self._demand(check, direction)

    def _demand(
        self, check: Callable[[list[np.ndarray]], Disagreement | None], direction: list[np.ndarray]
    ) -> None:
        """Check in a direction; if that fails, find the argument by which the derivative is wrong."""
        found = check(direction)
        if found is None:
            return
        for k, name in enumerate(self._subject.names):
            alone = [d if j == k else np.zeros_like(d) for j, d in enumerate(direction)]
            by_one = check(alone) if len(direction) > 1 else found
            if by_one is not None:
                raise AssertionError(by_one.text(self._subject.title, name, direction[k], self.values))
        raise AssertionError(found.text(self._subject.title, "all arguments at once", direction, self.values))

    def _numerical(self, direction: list[np.ndarray]) -> Estimate:
        """The numerical derivative in a direction, found once for both modes."""
        key = b"".join(d.tobytes() for d in direction)
        if key not in self._known:
            with np.errstate(all="ignore"):
                self._known[key] = self._find(direction)
        return self._known[key]

    def _find(self, direction: list[np.ndarray]) -> Estimate:
        subject = self._subject
        found = differences(subject.along(direction), steps(self._eps), self._unit, 0.01 * self._rtol)
        if subject.analytic is None:
            return found
        exact = complex_step(subject.analytic, subject.primals, direction, self._unit)
        if exact is None or exact.number.shape != found.number.shape:
            return found
        near = 10 * found.error + self._rtol * np.abs(exact.number)
        return exact if np.all(np.abs(exact.number - found.number) <= near) else found

    def _compare(
        self, mode: str, exact: np.ndarray, found: Estimate, scale: float | None = None
    ) -> Disagreement | None:
        """The element where the derivative is furthest off, if it is too far."""
        largest = float(np.max(np.abs(found.number), initial=0.0)) if scale is None else scale
        atol = self._unit**0.75 * largest if self._atol is None else self._atol
        size = float(np.max(np.abs(as_vector(self.values)), initial=0.0))
        size = size if np.isfinite(size) else 0.0
        with np.errstate(all="ignore"):
            allowed = atol + self._rtol * np.maximum(np.abs(found.number), np.abs(exact)) + 10 * found.error
            resolved = found.error <= atol + 0.05 * largest + 100 * self._unit**0.5 * size
            right = resolved & (np.abs(exact - found.number) <= allowed)
            if np.all(right):
                return None
            worst = int(np.argmax(np.where(right, -1.0, np.abs(exact - found.number) - allowed)))
        modes = (*self._inner, mode)
        return Disagreement(
            modes, worst, float(exact[worst]), found, float(allowed[worst]), bool(resolved[worst])
        )
