"""Settings of the native optimisers: bounds, tolerances, losses, limits and scales, checked."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.native.loops import descents, driver
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.cost import LOSSES

TOLERANCE = 1e-8
UNBOUNDED = (-np.inf, np.inf)
_HINTS = {
    "verbose": "progress=True says evaluations and cost; method='trf' prints each iteration",
    "disp": "progress=True says evaluations and value",
}
_LIMIT = 15_000  # iterations and evaluations of a minimisation


def checked_bounds(bounds: Any, size: int, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds as vectors, from a pair of SciPy's `least_squares` or a `scipy.optimize.Bounds`.

    Raises
    ------
    ValueError
        For bounds of another number, or a lower one above its upper one.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"{who}: bounds must be a pair (lower, upper) or a scipy.optimize.Bounds")
    lower, upper = (real(bound, f"{who}: bounds") for bound in bounds)
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound.ndim > 1 or bound.size not in (1, size):
            raise ValueError(f"{who}: {name} bounds of shape {bound.shape} for {size} parameters")
    lower, upper = (np.ascontiguousarray(np.broadcast_to(bound, (size,))) for bound in (lower, upper))
    if not np.all(lower <= upper):
        raise ValueError(f"{who}: a lower bound must not be greater than its upper one")
    return lower, upper


def check_feasible(x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, who: str) -> None:
    """Raise a `ValueError` for a start outside of the bounds; one that is nan is not refused."""
    outside = np.flatnonzero(((x0 < lower) | (x0 > upper)).reshape(-1, len(lower)).any(axis=0))
    if len(outside):
        raise ValueError(f"{who}: x0 is infeasible, parameter {outside[0]} is outside of its bounds")


def checked_tolerances(tolerances: Sequence[Any], who: str) -> list[float]:
    """Return ``ftol``, ``xtol`` and ``gtol`` as numbers; 0 for `None`, which switches one off."""
    found = [0.0 if tol is None else float(tol) for tol in tolerances]
    if not all(tol >= 0 for tol in found):
        raise ValueError(f"{who}: tolerances must not be negative, and not nan")
    if not any(found):
        raise ValueError(f"{who}: one of ftol, xtol and gtol must be greater than 0")
    return found


def checked_choice(value: Any, choices: Any, name: str, who: str) -> Any:
    """Return a value that is one of several names."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{who}: {name}={value!r}; it must be one of {', '.join(map(repr, choices))}")
    return value


def checked_positive(value: Any, name: str, who: str) -> float:
    """Return a number that is greater than 0."""
    number = float(value)
    if not (number > 0 and np.isfinite(number)):
        raise ValueError(f"{who}: {name}={value!r}; it must be positive and finite")
    return number


def refuse(
    options: dict[str, Any], who: str, hints: Mapping[str, str] = _HINTS, accepted: Sequence[str] = ()
) -> None:
    """Raise a `TypeError` for options that are left: what to write instead, and which options there are."""
    if options:
        said = [f"{who} takes no argument {', '.join(sorted(options))}"]
        said += [hints[name] for name in sorted(options) if name in hints]
        said += [f"options are {', '.join(accepted)}"] if accepted else []
        raise TypeError("; ".join(said))


class _Settings:
    """Checked settings of a method.

    Parameters
    ----------
    who
        The function that the user called, for messages.
    size
        Number of parameters, k.
    bounds
        Bounds as vectors; `None` where there are none.

    Attributes
    ----------
    lower, upper
        Bounds, k numbers each.
    bounded
        Whether any bound is finite.
    """

    def __init__(self, who: str, size: int, bounds: tuple[np.ndarray, np.ndarray] | None) -> None:
        self.who, self.bounded = who, False
        self.lower, self.upper = bounds or (np.full(size, -np.inf), np.full(size, np.inf))
        if bounds is not None:
            self.bounded = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


class FitSettings(_Settings):
    """Checked settings of fits.

    Parameters
    ----------
    who
        The function that the user called, for messages.
    starts
        Starting points, k numbers or (m, k).
    options
        Options by name; those that all fits take are taken out.

    Attributes
    ----------
    numbers
        Tolerances and the scale of the loss, as compiled code has them.
    loss
        Number of the loss.
    max_evaluations
        The largest number of evaluations of each fit.
    """

    def __init__(self, who: str, starts: np.ndarray, options: dict[str, Any]) -> None:
        take, size = options.pop, starts.shape[-1]
        bounds = take("bounds", UNBOUNDED)
        super().__init__(who, size, None if bounds is UNBOUNDED else checked_bounds(bounds, size, who))
        if bounds is not UNBOUNDED:
            check_feasible(starts, self.lower, self.upper, who)
        tolerances = [take(name, TOLERANCE) for name in ("ftol", "xtol", "gtol")]
        self.numbers = np.zeros(fields.SHARE + 1)
        self.numbers[: fields.GTOL + 1] = checked_tolerances(tolerances, who)
        self.numbers[fields.F_SCALE] = checked_positive(take("f_scale", 1.0), "f_scale", who)
        self.loss = LOSSES[checked_choice(take("loss", "linear"), LOSSES, "loss", who)]
        most = take("max_nfev", None)
        self.max_evaluations = 100 * size if most is None else int(checked_positive(most, "max_nfev", who))


class SingleFitSettings(FitSettings):
    """Checked settings of a single fit, dense or sparse.

    Attributes
    ----------
    scale
        One over the scales of the parameters; `None` where the Jacobian gives them.
    """

    def __init__(self, who: str, x0: np.ndarray, options: dict[str, Any]) -> None:
        if options.get("bounds") is None:
            options["bounds"] = UNBOUNDED
        super().__init__(who, x0, options)
        self._take_steps(who, options)
        self.scale = _checked_scale(options.pop("x_scale", None), len(x0), who)

    def _take_steps(self, who: str, options: dict[str, Any]) -> None:
        """Take out what says how steps are computed."""
        raise NotImplementedError


class DenseFitSettings(SingleFitSettings):
    """Checked settings of a single fit with a dense Jacobian.

    Attributes
    ----------
    geodesic, normal
        Whether steps are bent, and whether normal equations replace the QR decomposition.
    """

    def __init__(self, who: str, x0: np.ndarray, options: dict[str, Any]) -> None:
        super().__init__(who, x0, options)
        if self.geodesic and (self.bounded or self.loss):
            raise ValueError(
                f"{who}: geodesic steps take neither bounds nor a robust loss; take steps='plain'"
            )
        refuse({name: value for name, value in options.items() if value is not None}, who)

    def _take_steps(self, who: str, options: dict[str, Any]) -> None:
        take = options.pop
        steps = checked_choice(take("steps", "plain"), ("plain", "geodesic"), "steps", who)
        solver = checked_choice(take("solver", "qr"), ("qr", "normal"), "solver", who)
        self.geodesic, self.normal = steps == "geodesic", solver == "normal"


class SparseFitSettings(SingleFitSettings):
    """Checked settings of a single fit with a sparse Jacobian.

    Attributes
    ----------
    eliminate
        Whether a block-diagonal part of the normal equations is eliminated first; `None` where it pays.
    """

    def __init__(self, who: str, x0: np.ndarray, options: dict[str, Any]) -> None:
        super().__init__(who, x0, options)
        refuse({name: value for name, value in options.items() if value is not None}, who)

    def _take_steps(self, who: str, options: dict[str, Any]) -> None:
        solver = options.pop("solver", None)
        if solver is not None:
            checked_choice(solver, ("normal", "schur"), "solver", who)
        self.eliminate = None if solver is None else solver == "schur"
        if options.pop("steps", "plain") != "plain":
            raise ValueError(f"{who}: steps must be 'plain'; geodesic steps are for sparse=False")


def _checked_scale(x_scale: Any, size: int, who: str) -> np.ndarray | None:
    if x_scale is None or (isinstance(x_scale, str) and x_scale == "jac"):
        return None
    scale = real(x_scale, f"{who}: x_scale")
    if scale.ndim > 1 or scale.size not in (1, size) or not np.all((scale > 0) & np.isfinite(scale)):
        raise ValueError(f"{who}: x_scale must be 'jac', or positive numbers, one or {size}")
    return np.broadcast_to(1 / scale, (size,)).copy()


class DescentSettings(_Settings):
    """Checked settings of minimisations.

    Attributes
    ----------
    method
        ``"native"`` or ``"native-newton"``.
    newton
        Whether it is the second one.
    numbers, counts
        As compiled code has them.
    memory
        How many pairs L-BFGS keeps.
    strong
        Whether its line search asks for the strong condition of Wolfe.
    """

    def __init__(self, method: str, size: int, bounds: Any, tol: Any, options: dict[str, Any]) -> None:
        who, given = f"minimize(method={method!r})", dict(options)
        take = given.pop
        super().__init__(who, size, _bounds_of_pairs(bounds, size, who))
        self.method, self.newton = method, method == "native-newton"
        if self.newton and self.bounded:
            raise ValueError(f"{who} takes no bounds; method='native' does")
        if tol is None:
            ftol, gtol = 0.0 if self.newton else 2.220446e-09, 1e-5
        else:
            ftol = gtol = tol
        self.numbers = np.zeros(descents.PREDICTED + 1)
        self.numbers[descents.FTOL] = float(take("ftol", ftol))
        self.numbers[descents.GTOL] = float(take("gtol", gtol))
        if not np.all(self.numbers >= 0):
            raise ValueError(f"{who}: tolerances must not be negative, and not nan")

        def positive(name: str, default: float) -> float:
            return checked_positive(take(name, default), name, who)

        self.numbers[descents.MAX_RADIUS] = positive("max_trust_radius", 1e3)
        self.counts = np.zeros(descents.END + 1, np.int64)
        self.counts[driver.MAX_NFEV] = int(positive("maxfun", _LIMIT))
        self.counts[descents.MAX_NIT] = int(positive("maxiter", _LIMIT))
        self.counts[descents.MAX_SEARCH] = int(positive("maxls", 30))
        self.memory = int(positive("maxcor", 10))
        self.strong = bool(take("strong_wolfe", False))
        refuse(given, who)


def _bounds_of_pairs(bounds: Any, size: int, who: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return bounds as vectors, from SciPy's forms for `minimize`: `Bounds`, or a pair for each parameter."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return checked_bounds(bounds, size, who)
    pairs = list(bounds)
    if len(pairs) != size or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"{who}: bounds must be a scipy.optimize.Bounds, or {size} pairs (lower, upper)")
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return checked_bounds((lower, upper), size, who)
