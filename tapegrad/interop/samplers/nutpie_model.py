"""`nutpie`: a log density that is sampled by nutpie, without Python and without its compilers.

This is the one file that knows nutpie's insides, which are not documented: what it expects of a compiled model, the
functions of its library that take C pointers, and how their failures look. A density that returns a number above 0 is a
divergence; one below 0 ends the run, by a panic of Rust's once a chain has begun.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.status import reason_of
from tapegrad.errors import UnrecordedWayError
from tapegrad.interop.c_function import CFunction
from tapegrad.interop.packages import Errors, Vector, listed, needed, with_errors
from tapegrad.optimize.flat import FlatVector
from tapegrad.pytree import flatten, paths
from tapegrad.transforms.compiled.compiled import compile
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.jit import jit


def nutpie(
    function: Callable[..., Any],
    x0: Any,
    *,
    expand: Callable[..., Any] | None = None,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, tuple[str, ...]] | None = None,
    jitter: float = 1.0,
    ways: Sequence[Any] = (),
    errors: Errors = "nan",
) -> Any:
    """Make a model for `nutpie.sample` of a log density.

    Parameters
    ----------
    function : callable
        The logarithm of a density, up to a constant, of unconstrained parameters: an array, or a dict, tuple or list
        of arrays and floats.
    x0 : structure of arrays and floats
        An example of the parameters, at which density and gradient are finite. Chains begin about it.
    expand : callable, optional
        A function of the parameters that returns a dict of arrays and numbers, such as their constrained values. The
        trace has these and no others. By default they are the parameters.
    coords, dims : dict, optional
        Coordinates, and the dimensions of variables of the trace by name, as in ArviZ.
    jitter : float, default 1.0
        Chains begin at `x0` plus noise that is uniform between ``-jitter`` and ``jitter``.
    ways : sequence, optional
        Further examples of parameters, one for each other outcome of its branches (see `compile`).
    errors : {'nan', 'raise'}, default 'nan'
        What a failure of linear algebra or of a solver is, such as a matrix that is not positive definite (see
        `linalg.errstate`). nutpie counts nan and errors of matrices as divergences; nan is a value that the function
        can go on with, and that the trace can have.

    Returns
    -------
    nutpie's compiled model
        Sample it with ``nutpie.sample(model)``, which returns an ``arviz.InferenceData`` (an ``xarray.DataTree`` with
        ArviZ 1). Density and gradient are computed in compiled code on nutpie's threads.

    Raises
    ------
    ModuleNotFoundError
        If nutpie is not installed.
    ValueError
        If the density or its gradient is not finite at `x0`, or `dims` has a name that is not in the trace.

    Notes
    -----
    A density or gradient that is nan or infinite, or that linear algebra fails for, is a divergence. A branch that no
    example took ends the run: ``nutpie.sample`` raises `UnrecordedWayError`, which names it.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def log_density(p):
    ...     return -0.5 * tg.sum((p["x"] - p["m"]) ** 2) - 0.5 * p["m"] ** 2
    >>> model = tg.interop.nutpie(log_density, {"x": np.zeros(3), "m": 0.0})  # doctest: +SKIP
    >>> trace = nutpie.sample(model)  # doctest: +SKIP
    """
    needed("nutpie", "nutpie")
    vector = Vector(function, x0, ways, errors)
    try:
        density = vector.compiled(value_and_grad).cfunc("nutpie")
    except np.linalg.LinAlgError as error:
        error.add_note("nutpie: the log density and its gradient are computed at x0, and at each of `ways`")
        raise
    _check_start(vector, density, lambda: value_and_grad(with_errors(function, "raise"))(x0))
    variables, expanded = _expanded(vector, None if expand is None else with_errors(expand, errors), x0)
    all_dims, all_coords = labels(variables, dims or {}, coords or {})
    return model_class()(
        dims=all_dims,
        density=density,
        expansion=expanded,
        variables=variables,
        first_point=vector.x0,
        jitter=jitter,
        own_coords=all_coords | {"unconstrained_parameter": vector.element_names},
        parameters=vector.shapes,
    )


def _check_start(vector: Vector, density: CFunction, strictly: Callable[[], Any]) -> None:
    """Refuse an `x0` at which density or gradient is not finite: no chain would begin there.

    `strictly` computes them with errors in place of nan.
    """
    value, gradient = density.compiled(vector.x0)
    reason = ""
    bad = [name for name, g in zip(vector.element_names, gradient, strict=True) if not np.isfinite(g)]
    if np.isfinite(value) and not bad:
        return
    try:
        strictly()
    except np.linalg.LinAlgError as error:
        reason = f" ({error})"
    except Exception:
        pass
    by = f"not finite by {', '.join(bad[:8])}{', ...' if len(bad) > 8 else ''}" if bad else "finite"
    raise ValueError(
        f"nutpie: the log density is {value} at x0{reason}, and its gradient there is {by}. Chains begin about x0: pass"
        " a point inside of the support, where the density can be differentiated; a parameter that must be positive is"
        " written tg.exp(u)"
    )


def labels(
    variables: Mapping[str, tuple[int, ...]],
    dims: Mapping[str, tuple[str | None, ...]],
    coords: Mapping[str, Any],
) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Return dimensions of all variables, coordinates of all dimensions: nutpie loses those that it has to make up."""
    if unknown := [name for name in dims if name not in variables]:
        raise ValueError(
            f"nutpie: dims has {', '.join(map(repr, unknown))}, but the trace has {', '.join(map(repr, variables))}"
        )
    all_dims, all_coords = {}, {name: list(values) for name, values in coords.items()}
    for name, shape in variables.items():
        given = dims.get(name, (None,) * len(shape))
        if len(given) != len(shape):
            raise ValueError(f"nutpie: {name} has shape {shape}, but the dims {tuple(given)}")
        all_dims[name] = tuple(dim or f"{name}_dim_{d}" for d, dim in enumerate(given))
        for dim, extent in zip(all_dims[name], shape, strict=True):
            if len(all_coords.setdefault(dim, list(range(extent)))) != extent:
                raise ValueError(
                    f"nutpie: {name} has {extent} elements along {dim!r}, which has {len(all_coords[dim])}"
                )
    return all_dims, all_coords


def parts_by_name(flat: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Return parts of the last axis by name, each in its shape."""
    parts, first = {}, 0
    for name, shape in shapes.items():
        stop = first + int(np.prod(shape))
        parts[name], first = flat[..., first:stop].reshape(flat.shape[:-1] + shape), stop
    return parts


def _expanded(
    vector: Vector, expand: Callable[..., Any] | None, x0: Any
) -> tuple[dict[str, tuple[int, ...]], CFunction]:
    """Return the variables of a trace with their shapes, and the function that computes them."""
    if expand is None:
        return vector.shapes, compile(lambda x: x * 1.0, vector.x0).cfunc("nutpie")
    result = jit(expand)(x0)
    if not isinstance(result, dict):
        raise TypeError(
            f"nutpie: expand must return a dict of what is to be in the trace, not {type(result).__name__}"
        )
    names = [path[1:-1].strip("'") for path in paths(result)]
    if any("[" in name for name in names):
        raise TypeError("nutpie: expand must return a dict of arrays and numbers, not of other structures")
    shapes = {name: np.shape(leaf) for name, leaf in zip(names, flatten(result)[0], strict=True)}
    return shapes, compile(FlatVector(jit(expand), vector.layout), *vector.examples).cfunc("nutpie")


# --- failures ------------------------------------------------------------------------------------------------------


class _Sampler:
    """nutpie's sampler, whose failures are explained.

    Parameters
    ----------
    model
        The model that it samples.
    sampler
        An object of nutpie's library.
    """

    def __init__(self, model: Any, sampler: Any) -> None:
        self._model, self._sampler, self._has_panicked = model, sampler, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)

    def wait(self, timeout: Any) -> Any:
        """Wait until the chains are done, or one fails."""
        try:
            return self._sampler.wait(timeout)
        except BaseException as error:
            self._has_panicked = _is_panic(error)
            if (explained := _explained(self._model, error)) is None:
                raise
            raise explained from error

    def abort(self) -> None:
        """End the chains. After a panic that would panic again, in place of the exception that is under way."""
        if not self._has_panicked:
            self._sampler.abort()

    def is_empty(self, ignore_error: bool) -> bool:
        """Return whether nutpie has no chains to abort."""
        return self._has_panicked or bool(self._sampler.is_empty(ignore_error=ignore_error))


def _explained(model: Any, error: BaseException) -> BaseException | None:
    """Return the exception for a failure of nutpie's; `None` where nutpie's own says as much."""
    if not _is_of_library(error):
        return None
    for name, function in (("log density", model.density), ("function `expand`", model.expansion)):
        handle = function.compiled.handle
        reason, lines = reason_of(handle.last_status), "; ".join(dict.fromkeys(handle.last_failures()))
        if handle.last_status == GUARD_FAILED or (lines and _is_panic(error)):
            return UnrecordedWayError(
                f"nutpie: the {name} took a branch that no example took: {lines}. Pass an example of it,"
                " tg.interop.nutpie(log_density, x0, ways=[x1]), or write tg.where in place of the branch"
            )
        if reason and _is_panic(error):
            return RuntimeError(f"nutpie: the {name} failed: {reason}")
    if "initialization" not in str(error):
        return None
    return RuntimeError(
        "nutpie: none of the points at which a chain was to begin has a finite log density and gradient. They are x0"
        f" plus noise between -{model.jitter} and {model.jitter}: pass a smaller jitter to tg.interop.nutpie, or an x0"
        f" further inside of the support{_last_reason(model)}"
    )


def _is_of_library(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) or _is_panic(error)


def _is_panic(error: BaseException) -> bool:
    """Return whether an error is one by which PyO3 tells of a panic; the class is not to be imported."""
    return type(error).__name__ == "PanicException"


def _last_reason(model: Any) -> str:
    reason = reason_of(model.density.compiled.handle.last_status)
    return f" (the last one failed: {reason})" if reason else ""


# --- nutpie's class ------------------------------------------------------------------------------------------------


@functools.cache
def model_class() -> Any:
    """Return the class of models, which is derived from one of nutpie's."""
    sample, library = needed("nutpie.sample", "nutpie"), needed("nutpie._lib", "nutpie")
    index = needed("pandas", "nutpie").Index

    @dataclass(frozen=True)
    class Model(sample.CompiledModel):  # type: ignore[misc, name-defined]  # nutpie is imported late
        density: CFunction
        expansion: CFunction
        variables: dict[str, tuple[int, ...]]
        first_point: np.ndarray
        jitter: float
        own_coords: dict[str, Any]
        parameters: dict[str, tuple[int, ...]] = field(default_factory=dict, kw_only=True)

        def __repr__(self) -> str:
            own = f": {listed(self.parameters)}" if self.parameters else ""
            return f"<nutpie model of {self.n_dim} elements{own}; trace: {listed(self.variables)}>"

        @property
        def n_dim(self) -> int:
            return len(self.first_point)

        @property
        def shapes(self) -> dict[str, tuple[int, ...]]:
            return self.variables

        @property
        def coords(self) -> dict[str, Any]:
            return {name: index(values) for name, values in self.own_coords.items()}

        def point(self, seed: int) -> np.ndarray:
            """Return the start of a chain."""
            noise = np.random.default_rng(seed).uniform(-self.jitter, self.jitter, self.n_dim)
            return np.asarray(self.first_point + noise)

        def _make_sampler(self, settings: Any, init_mean: Any, cores: Any, *rest: Any) -> Any:
            """Return the sampler. Behind `cores` are progress and storage, and since 0.16.9 callbacks between them."""
            return _Sampler(
                self, library.PySampler.from_pymc(settings, cores, self._make_model(init_mean), *rest)
            )

        def _make_model(self, init_mean: Any) -> Any:
            density, expansion = self.density, self.expansion
            size = sum(int(np.prod(shape)) for shape in self.variables.values())
            sizes = {name: len(values) for name, values in self.own_coords.items()}
            variables = library.PyVariable.new_variables(
                list(self.variables),
                ["float64"] * len(self.variables),
                list(self.variables.values()),
                sizes,
                self.dims,
            )
            return library.PyMcModel(
                library.LogpFunc(density.address, density.user_data, self),
                library.ExpandFunc(self.n_dim, size, expansion.address, expansion.user_data, self),
                variables, self.n_dim, sizes, self.coords, self.point, None,
            )  # fmt: skip

    return Model
