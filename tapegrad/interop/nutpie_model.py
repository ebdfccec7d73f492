"""`nutpie`: a log density that is sampled by nutpie, without Python and without its compilers.

This is the one file that knows nutpie's insides, which are not documented: what it expects of a compiled model, and
the functions of its library that take C pointers.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.interop.c_function import CFunction
from tapegrad.interop.packages import Vector, needed
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
) -> Any:
    """Make a model for `nutpie.sample` of a log density.

    Parameters
    ----------
    function : callable
        The logarithm of a density, up to a constant, of unconstrained parameters: an array, or a dict, tuple or list
        of arrays and floats.
    x0 : structure of arrays and floats
        An example of the parameters. Chains begin about it.
    expand : callable, optional
        A function of the parameters that returns a dict of what is to be in the trace, such as their constrained
        values. By default it is the parameters.
    coords, dims : dict, optional
        Coordinates, and the dimensions of variables by name, as in ArviZ.
    jitter : float, default 1.0
        Chains begin at `x0` plus noise that is uniform between ``-jitter`` and ``jitter``.
    ways : sequence, optional
        Further examples of parameters, one for each other outcome of its branches (see `compile`).

    Returns
    -------
    nutpie's compiled model
        Sample it with ``nutpie.sample(model)``. Density and gradient are computed in compiled code on nutpie's threads.

    Raises
    ------
    ModuleNotFoundError
        If nutpie is not installed.

    Notes
    -----
    A density or gradient that is nan or infinite is a divergence. A branch that no example took, or a matrix that is
    singular, ends the run.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def log_density(p):
    ...     return -0.5 * tg.sum((p["x"] - p["m"]) ** 2) - 0.5 * p["m"] ** 2
    >>> model = tg.interop.nutpie(log_density, {"x": np.zeros(3), "m": 0.0})  # doctest: +SKIP
    >>> trace = nutpie.sample(model)  # doctest: +SKIP
    """
    needed("nutpie", "nutpie")
    vector = Vector(function, x0, ways)
    density = vector.compiled(value_and_grad).cfunc("nutpie")
    variables, expanded = _expanded(vector, expand, x0)
    all_dims, all_coords = _labels(variables, dims or {}, coords or {})
    return _model_class()(
        dims=all_dims,
        density=density,
        expansion=expanded,
        variables=variables,
        first_point=vector.x0,
        jitter=jitter,
        own_coords=all_coords | {"unconstrained_parameter": vector.element_names},
    )


def _labels(
    variables: Mapping[str, tuple[int, ...]], dims: Mapping[str, tuple[str, ...]], coords: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Dimensions of all variables and coordinates of all dimensions: nutpie loses those that it has to make up."""
    all_dims, all_coords = {}, {name: list(values) for name, values in coords.items()}
    for name, shape in variables.items():
        all_dims[name] = tuple(dims.get(name, [f"{name}_dim_{d}" for d in range(len(shape))]))
        if len(all_dims[name]) != len(shape):
            raise ValueError(f"nutpie: {name} has shape {shape}, but the dims {all_dims[name]}")
        for dim, extent in zip(all_dims[name], shape, strict=True):
            if len(all_coords.setdefault(dim, list(range(extent)))) != extent:
                raise ValueError(
                    f"nutpie: {name} has {extent} elements along {dim!r}, which has {len(all_coords[dim])}"
                )
    return all_dims, all_coords


def _expanded(
    vector: Vector, expand: Callable[..., Any] | None, x0: Any
) -> tuple[dict[str, tuple[int, ...]], CFunction]:
    """Return the variables of a trace with their shapes, and the function that computes them."""
    if expand is None:
        shapes = dict(zip(vector.names, vector.layout.shapes, strict=True))
        return shapes, compile(lambda x: x * 1.0, vector.x0).cfunc("nutpie")
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


@functools.cache
def _model_class() -> Any:
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

        def _make_sampler(
            self, settings: Any, init_mean: Any, cores: Any, progress_type: Any, store: Any
        ) -> Any:
            model = self._make_model(init_mean)
            return library.PySampler.from_pymc(settings, cores, model, progress_type, store)

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
