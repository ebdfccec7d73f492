"""Fit of a model with random effects: SciPy's result, and what follows from the model at it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.lazy import lazy
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.random_effects.check import Check, check, simulated
from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.plots import draw
from tapegrad.optimize.random_effects.profile import LikelihoodProfile, profile_of
from tapegrad.optimize.random_effects.uncertainty import Uncertainty
from tapegrad.optimize.searches.search_result import SearchResult
from tapegrad.pytree import flatten, paths


class LaplaceFit(SearchResult):
    """Result of `laplace`: SciPy's, with its attributes and keys, and more of the model.

    Attributes
    ----------
    x
        The parameters, in the structure that the function takes: one argument by itself, several in a tuple.
    random
        The effects at their mode, likewise.
    fun : float
        Minus the logarithm of the marginal likelihood.
    jac
        Its gradient.
    nfev, inner : int
        Evaluations of the marginal likelihood, and steps of Newton's method in them.
    """

    def __init__(
        self, result: Any, model: LatentModel, free: np.ndarray, effects: np.ndarray, inner: int
    ) -> None:
        super().__init__(result, x=model.parameters(free), random=model.effects(effects), inner=inner)
        self["jac"] = np.array(result.jac)
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_at", (free, effects))

    def __reduce__(self) -> Any:
        raise TypeError(
            "a fit with random effects holds its model, and is not pickled; keep x, random and cov"
        )

    @property
    def solution(self) -> tuple[LatentModel, np.ndarray, np.ndarray]:
        """The model, and the free parameters and the effects as vectors."""
        return self._model, *self._at

    @property
    def mode_slopes(self) -> np.ndarray:
        """Derivatives of the mode by the free parameters, of shape (effects, parameters)."""
        return self._uncertainty.slopes

    @property
    def _title(self) -> str:
        return f"{'converged' if self.success else 'not converged'}: {self.message}"

    @lazy
    def _uncertainty(self) -> Uncertainty:
        return Uncertainty(self._model, *self._at)

    @property
    def cov(self) -> np.ndarray:
        """Covariance of the free parameters, of shape (k, k): nan if the fit is no minimum."""
        return self._uncertainty.cov

    @property
    def std_errors(self) -> Any:
        """Standard errors of the parameters, in their structure: nan for what is fixed."""
        model = self._model
        return model.layout.split(model.tied.errors(np.diag(self.cov)))

    @property
    def random_std_errors(self) -> Any:
        """Standard errors of the effects, those of the parameters taken into account."""
        return self._model.effects(np.sqrt(self._uncertainty.variances_of_effects()))

    def predict(self, function: Callable[..., Any]) -> tuple[Any, Any]:
        """Compute a function of parameters and effects, with standard errors by the delta method.

        Parameters
        ----------
        function : callable
            Takes the arguments of the joint density but for data; returns an array, or a structure of arrays.

        Returns
        -------
        values, std_errors
            Of the structure of what `function` returns.
        """
        return self._uncertainty.predict(function)

    def sample(self, rng: np.random.Generator, size: int) -> tuple[Any, Any]:
        """Draw parameters and effects from their joint Gaussian approximation.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        size : int
            Number of draws.

        Returns
        -------
        parameters, effects
            In their structures, with an axis of length `size` before those of each array.
        """
        model, (free, effects) = self._model, self._at
        root = _root(self.cov)
        moved = rng.standard_normal((size, len(free))) @ root.T
        drawn = effects + moved @ self._uncertainty.slopes.T + self._uncertainty.deviations(rng, size)
        whole = np.array([model.tied.spread(each) for each in free + moved])
        return model.layout.split_rows(whole), model.effects_layout.split_rows(drawn)

    def simulate(self, rng: np.random.Generator, sampler: Callable[..., Any]) -> Any:
        """Draw data from the model at the fit.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        sampler : callable
            Takes `rng`, and the arguments of the joint density but for data: the parameters of the fit, and effects
            that are drawn given the data. Returns data.

        Returns
        -------
        data
            What `sampler` returned.
        """
        model, (free, effects) = self._model, self._at
        drawn = effects + self._uncertainty.deviations(rng, 1)[0]
        return sampler(rng, *model.arguments(free, drawn))

    def profile(self, parameter: Any, points: int = 8) -> LikelihoodProfile:
        """Compute the likelihood profile of a parameter.

        Parameters
        ----------
        parameter : int or str
            The number of an element of the free parameters; for a dict, the key of a single number.
        points : int, default 8
            Values on each side of the estimate, up to three standard errors away, if the profile is a parabola. Other
            ones are followed by the fall of the likelihood, with more values.

        Returns
        -------
        LikelihoodProfile
            With `values`, `fun` and the method `interval`, the 95 % confidence interval.
        """
        group = self._group(parameter)
        spread = float(np.sqrt(self.cov[group, group]))
        if not np.isfinite(spread):
            raise ValueError(
                "profile: the fit is no minimum, so there is no standard error to measure steps by"
            )
        free, effects = self._at
        return profile_of(self._model, free, effects, float(self.fun), group, spread, points)

    def _group(self, parameter: Any) -> int:
        """Return the number of a free parameter.

        Raises
        ------
        ValueError
            For a key that there is not, is of several numbers, or is fixed; for a number out of range.
        """
        model = self._model
        names = [path.strip("[]'\"") for path in paths(self.x)]
        if isinstance(parameter, str):
            if parameter not in names:
                raise ValueError(f"profile: no parameter {parameter!r}; there are {', '.join(names)}")
            sizes = [int(np.prod(shape, dtype=int)) for shape in model.layout.shapes]
            number = names.index(parameter)
            if sizes[number] != 1:
                raise ValueError(
                    f"profile: {parameter!r} has {sizes[number]} elements; pass the number of one"
                )
            group = int(model.tied.groups[sum(sizes[:number])])
        else:
            group = int(parameter)
        if not 0 <= group < model.tied.size:
            raise ValueError(
                f"profile: {parameter!r} is fixed, or there are {model.tied.size} free parameters"
            )
        return group

    def check(
        self,
        rng: np.random.Generator | None = None,
        simulate: Callable[..., Any] | None = None,
        size: int = 100,
    ) -> Check:
        """Check the fit.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Source of random numbers, by default a seeded one.
        simulate : callable, optional
            Takes `rng` and the parameters, and returns data as the function takes them in `args`, drawn from the model
            with new effects. Then the mean of the gradient over such data is tested: it is zero where Laplace's
            approximation is exact.
        size : int, default 100
            Number of data drawn.

        Returns
        -------
        Check
            Print it.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        model, (free, effects) = self._model, self._at
        deviations = np.sqrt(self._uncertainty.variances_of_effects())
        found = check(model, free, effects, self.cov, np.nan_to_num(deviations, nan=1.0), rng, 5)
        if simulate is None:
            return found
        if not model.args:
            raise ValueError(
                "check: simulate draws data, so the function must take them as arguments, and the fit have args="
            )
        given = self.x if model.roles.has_several else (self.x,)
        p_value, bias = simulated(model, free, effects, self.cov, lambda: simulate(rng, *given), size)
        return found._replace(p_value=p_value, bias=bias)

    def summary(self) -> str:
        """Return a table of the parameters with their standard errors, and what is known of the effects."""
        lines = [
            self._title,
            f"minus log-likelihood {self.fun:.6f}, {self.nfev} evaluations, {self.inner} Newton steps",
            HEADING,
        ]
        errors = flatten(self.std_errors)[0]
        for path, leaf, error in zip(paths(self.x), flatten(self.x)[0], errors, strict=True):
            lines += lines_of_each(f"x{path}", leaf, error)
        spread = flatten(self.random_std_errors)[0]
        for path, leaf, error in zip(paths(self.random), flatten(self.random)[0], spread, strict=True):
            lines.append(line_of_all(f"random{path}", leaf, error))
        return "\n".join(lines)

    def plot(self, figure: Any = None) -> Any:
        """Draw the parameters and the effects with their standard errors.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            What to draw in; by default a new one.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return draw(self, figure)


HEADING = f"{'':24s}{'estimate':>14s}{'std. error':>14s}"


def lines_of_each(name: str, values: Any, errors: Any) -> list[str]:
    """Return a line of a summary for each element of an array."""
    spread = np.asarray(errors)
    return [
        f"{name + (str(list(index)) if index else ''):24s}{value:14.6g}{spread[index]:14.3g}"
        for index, value in np.ndenumerate(values)
    ]


def line_of_all(name: str, values: Any, errors: Any) -> str:
    """Return the line of a summary for all elements of an array."""
    text = f"errors {np.min(errors):.3g} to {np.max(errors):.3g}"
    return f"{name:24s}{np.size(values)} of sd {np.std(values):.3g}, {text}"


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a square root of a covariance matrix."""
    if not np.isfinite(covariance).all():
        raise ValueError("sample: the fit is no minimum, so the parameters have no covariance")
    root: np.ndarray = np.linalg.cholesky(real(covariance, "sample"))
    return root
