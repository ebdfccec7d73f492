"""`PymcLaplace`: a model of PyMC's whose random effects are integrated out by Laplace's approximation."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.interop.packages import listed, needed
from tapegrad.interop.samplers.nutpie_model import nutpie, parts_by_name
from tapegrad.latent.laplace import Marginal, laplace
from tapegrad.optimize.random_effects.conditional import ConditionalEffects
from tapegrad.optimize.random_effects.fit import HEADING, LaplaceFit, line_of_all, lines_of_each
from tapegrad.optimize.random_effects.laplace import laplace as fit_laplace
from tapegrad.transforms.jit import jit

_MAX_LISTED = 12  # elements of a variable that a summary has a line for each of


class PymcLaplace:
    """Marginal density of a model of PyMC's, whose random effects are integrated out by Laplace's approximation.

    It is made by the method ``laplace`` of `tapegrad.interop.pymc`'s models. Parameters go by the names of PyMC's
    unconstrained values: ``mu``, ``tau_log__``.

    Parameters
    ----------
    model
        What `tapegrad.interop.pymc` returned.
    random : str or sequence of str
        The names of the free variables that are effects.

    Attributes
    ----------
    names, effects : dict
        The hyperparameters and the effects, both unconstrained: shapes by name.
    x0 : dict
        Hyperparameters at which the model starts.

    Raises
    ------
    ValueError
        If a name is no free variable of the model, or all of them are effects.

    Notes
    -----
    The approximation is exact where the density is Gaussian in the unconstrained effects. `sample` corrects the
    marginals of the effects by the third derivatives of the density, as the simplified Laplace approximation of INLA
    does (Rue, Martino and Chopin, *J. R. Stat. Soc. B* 71(2), 2009).

    Examples
    --------
    >>> marginal = tg.interop.pymc(model).laplace(random="u")  # doctest: +SKIP
    >>> print(marginal.find().summary())  # doctest: +SKIP
    >>> trace = marginal.sample(draws=1000, chains=4, seed=1)  # doctest: +SKIP
    """

    def __init__(self, model: Any, random: str | Sequence[str]) -> None:
        self._model, request = model, model.made_of
        chosen = [random] if isinstance(random, str) else list(random)
        by_variable = request.values_by_variable()
        if unknown := [name for name in chosen if name not in by_variable]:
            raise ValueError(
                f"laplace: random has {', '.join(unknown)}, but the free variables of the model are"
                f" {', '.join(by_variable)}"
            )
        effects = {by_variable[name] for name in chosen}
        self.effects = {name: shape for name, shape in model.parameters.items() if name in effects}
        self.names = {name: shape for name, shape in model.parameters.items() if name not in effects}
        if not self.names or not self.effects:
            raise ValueError(
                "laplace: random must name some of the free variables and not all of them, which are"
                f" {', '.join(by_variable)}"
            )
        # A transformed variable stands in the place of its value
        hidden = {value for name, value in by_variable.items() if name != value}
        self._shown = [name for name in model.variables if name not in hidden]
        start = parts_by_name(model.x0, model.parameters)
        self.x0 = {name: start[name] for name in self.names}
        self._effects_start = {name: start[name] for name in self.effects}

    def __repr__(self) -> str:
        return f"<marginal density of {listed(self.names)}; integrated out: {listed(self.effects)}>"

    @lazy
    def log_density(self) -> Callable[[Mapping[str, Any]], Any]:
        """Logarithm of the marginal density as a function of a dict of hyperparameters, for any transform.

        It is the density of the unconstrained values, with the Jacobian determinants of their transforms.
        """
        marginal = self._marginal
        return lambda parameters: -marginal(dict(parameters), self._effects_start)

    def find(
        self, *, jacobian: bool = False, method: str = "BFGS", progress: bool = True, **options: Any
    ) -> "PymcLaplaceFit":
        """Find the mode of the marginal density.

        Parameters
        ----------
        jacobian : bool, default False
            Whether the density is that of the unconstrained hyperparameters, as for a sampler. By default it is that of
            the hyperparameters themselves, as for `pymc.find_MAP`: with flat priors, the maximum likelihood.
        method : str, default "BFGS"
            A method of `scipy.optimize.minimize` that takes no Hessian.
        progress : bool, default True
            Whether a search that takes longer than a second shows how far it is.
        **options
            Further arguments of `scipy.optimize.minimize`.

        Returns
        -------
        PymcLaplaceFit
            The result of `tapegrad.optimize.laplace`, with the variables of the model and their standard errors.

        Raises
        ------
        NoModeError
            If the effects have no mode at the start.
        """
        function = self._minus_joint if jacobian else self._minus_joint_of_variables
        start = self.x0, self._effects_start
        fit = fit_laplace(function, start, 1, method=method, progress=progress, **options)
        return PymcLaplaceFit(fit, self._variables)

    def sample(
        self,
        draws: int = 1000,
        *,
        tune: int = 500,
        chains: int = 4,
        seed: int | None = None,
        correction: bool = True,
        progress_bar: bool = False,
        **options: Any,
    ) -> Any:
        """Draw the hyperparameters by nutpie's NUTS, and the effects given these.

        Parameters
        ----------
        draws, tune, chains : int
            Draws of each chain, those before them, and the number of chains.
        seed : int, optional
            Seed of all random numbers.
        correction : bool, default True
            Whether effects have the means and the skewness of INLA's simplified Laplace approximation; else they are
            Gaussian about their mode. The skewness is that at the mode of the hyperparameters, and is left out for more
            than 2,000 effects.
        progress_bar : bool, default False
            Whether nutpie shows its progress.
        **options
            Further arguments of ``nutpie.sample``.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            nutpie's trace, whose posterior has all variables of the model, on their own scale.

        Raises
        ------
        NoModeError
            If the effects have no mode where the model starts.

        Notes
        -----
        Chains move in coordinates in which the Gaussian approximation about the mode of the hyperparameters is standard
        normal, and begin within one of these units of it. Hyperparameters for which the effects have no mode are
        divergences.
        """
        fit = self.find(jacobian=True, progress=progress_bar)
        model, free, effects = fit.solution
        space = _Whitened(fit)
        marginal = self._marginal
        compiled = nutpie(lambda z: -marginal(*model.arguments(*space.at(z))), np.zeros(space.size))
        trace = needed("nutpie", "nutpie").sample(
            compiled, draws=draws, tune=tune, chains=chains, seed=seed, progress_bar=progress_bar, **options
        )
        whitened = trace.posterior["x"].values
        conditional = ConditionalEffects(model, free, effects, correction)
        rows = _drawn(
            conditional, space, whitened.reshape(-1, space.size), np.random.default_rng(seed), progress_bar
        )
        order = self._order(fit)
        flat = np.array([self._model.expansion.compiled(row[order]) for row in rows])
        self._replace_posterior(trace, flat.reshape(*whitened.shape[:2], -1))
        return trace

    # --- densities, and variables of the trace ---------------------------------------------------------------------

    def _vector(self, parameters: Mapping[str, Any], effects: Mapping[str, Any]) -> Any:
        """Return all unconstrained values in the order of the model."""
        values = {**parameters, **effects}
        return concatenate([np.reshape(values[name], (-1,)) for name in self._model.parameters])

    @lazy
    def _minus_joint(self) -> Callable[..., Any]:
        density, _ = self._model.functions
        return lambda parameters, effects: -density(self._vector(parameters, effects))

    @lazy
    def _marginal(self) -> Marginal:
        return laplace(self._minus_joint, random=1)

    @lazy
    def _minus_joint_of_variables(self) -> Callable[..., Any]:
        """The same without the Jacobian determinants of the hyperparameters."""
        density, _ = self._model.functions
        jacobian = self._model.made_of.log_jacobian(self.names, list(self._model.parameters.values()))
        if jacobian is None:
            return self._minus_joint

        def minus_joint(parameters: Any, effects: Any) -> Any:
            vector = self._vector(parameters, effects)
            return jacobian(vector) - density(vector)

        return minus_joint

    def _variables(self, parameters: Mapping[str, Any], effects: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of the model on their own scale."""
        _, trace = self._model.functions
        names = [name for name in self._model.variables if name not in self._model.parameters]
        values = {
            **parameters,
            **effects,
            **dict(zip(names, trace(self._vector(parameters, effects)), strict=True)),
        }
        return {name: values[name] for name in self._shown}

    def _order(self, fit: LaplaceFit) -> np.ndarray:
        """Return where each element of the model's vector lies behind the free parameters and effects of a fit."""
        model, free, effects = fit.solution
        numbers = np.split(np.arange(float(len(free) + len(effects))), [len(free)])
        order: np.ndarray = np.asarray(self._vector(*model.arguments(*numbers)).data, int)
        return order

    def _replace_posterior(self, trace: Any, flat: np.ndarray) -> None:
        """Put the variables of the model in the place of those that nutpie has drawn."""
        model, dataset = self._model, needed("xarray", "nutpie").Dataset
        values = parts_by_name(flat, model.variables)
        dims = {name: ("chain", "draw", *model.dims[name]) for name in self._shown}
        named = {name: (dims[name], values[name]) for name in self._shown}
        coords = {name: model.coords[name] for name in {dim for x in dims.values() for dim in x[2:]}}
        posterior = dataset(named, {**coords, "chain": trace.posterior.chain, "draw": trace.posterior.draw})
        posterior.attrs.update(trace.posterior.attrs)
        if hasattr(trace, "add_groups"):  # of ArviZ before 1.0
            del trace.posterior
            trace.add_groups(posterior=posterior)
        else:
            trace["posterior"] = needed("xarray", "nutpie").DataTree(posterior)


class PymcLaplaceFit(LaplaceFit):
    """Result of `PymcLaplace.find`: that of `tapegrad.optimize.laplace`, and the variables of the model.

    Attributes
    ----------
    x, random : dict
        Unconstrained hyperparameters, and effects at their mode, by the names of PyMC's values.
    variables, variable_errors : dict
        All variables of the model on their own scale, deterministics among them, and their standard errors by the delta
        method.
    """

    def __init__(self, fit: LaplaceFit, variables: Callable[..., dict[str, Any]]) -> None:
        super().__init__(fit, *fit.solution, fit.inner)
        object.__setattr__(self, "_variables", variables)

    @lazy
    def _estimates(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.predict(self._variables)

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of the model by name."""
        return self._estimates[0]

    @property
    def variable_errors(self) -> dict[str, Any]:
        """Their standard errors."""
        return self._estimates[1]

    def draws(self, rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
        """Draw the variables of the model from the joint Gaussian approximation of unconstrained values.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        size : int
            Number of draws.

        Returns
        -------
        dict
            An array for each variable, with an axis of length `size` before its own.
        """
        parameters, effects = self.sample(rng, size)
        recorded = jit(self._variables)
        rows = [
            recorded(*({name: array[k] for name, array in part.items()} for part in (parameters, effects)))
            for k in range(size)
        ]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}

    def summary(self) -> str:
        """Return a table of the variables of the model with their standard errors."""
        lines = [
            self._title,
            f"minus the logarithm of the marginal density {self.fun:.6f}, {self.nfev} evaluations",
            HEADING,
        ]
        for name, value in self.variables.items():
            error = self.variable_errors[name]
            is_long = np.size(value) > _MAX_LISTED
            lines += [line_of_all(name, value, error)] if is_long else lines_of_each(name, value, error)
        return "\n".join(lines)


class _Whitened:
    """Hyperparameters in units of the Gaussian approximation about their mode.

    Parameters
    ----------
    fit
        The fit that found the mode. Where it has no covariance, units are those of the hyperparameters.
    """

    def __init__(self, fit: LaplaceFit) -> None:
        _, self._center, self._mode = fit.solution
        self.size = len(self._center)
        self._root = np.linalg.cholesky(fit.cov) if np.isfinite(fit.cov).all() else np.eye(self.size)
        self._slopes = fit.mode_slopes @ self._root

    def at(self, z: Any) -> tuple[Any, Any]:
        """Return the hyperparameters, and the mode of the effects to first order, where the search for it begins."""
        return self._center + self._root @ z, self._mode + self._slopes @ z


def _drawn(
    conditional: ConditionalEffects,
    space: _Whitened,
    whitened: np.ndarray,
    rng: np.random.Generator,
    progress: bool,
) -> np.ndarray:
    """Return hyperparameters and effects of each draw, one behind the other."""
    rows = []
    with Progress(progress) as line:
        for number, z in enumerate(whitened):
            free, start = space.at(z)
            rows.append(
                np.concatenate([free, conditional.draw(free, start, rng.standard_normal(len(start)))])
            )
            if line.due:
                line.show(f"laplace: effects of {number + 1} of {len(whitened)} draws")
    vectors = np.array(rows)
    if count := int(np.isnan(vectors).any(axis=1).sum()):
        warnings.warn(
            f"laplace: the effects of {count} of {len(vectors)} draws have no mode, and are nan",
            RuntimeWarning,
            stacklevel=3,
        )
    return vectors
