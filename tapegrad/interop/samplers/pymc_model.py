"""`pymc`: a model of PyMC's that nutpie samples, with density and trace computed by replays."""

import functools
import threading
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.tensor.modes import errstate
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.graph import graph_function
from tapegrad.interop.pytensor_graphs.rewrites import REWRITES
from tapegrad.interop.samplers.nutpie_model import labels, model_class, parts_by_name
from tapegrad.transforms.compiled.compiled import Compiled, compile
from tapegrad.transforms.grad import value_and_grad

if TYPE_CHECKING:
    from tapegrad.interop.samplers.pymc_laplace import PymcLaplace

Point = Callable[[Any], dict[str, np.ndarray]]


def pymc(
    model: Any,
    *,
    var_names: Sequence[str] | None = None,
    initial_points: Mapping[Any, Any] | None = None,
    jitter_rvs: set[Any] | None = None,
    default_initialization_strategy: Literal["support_point", "prior"] = "support_point",
    rewrites: Sequence[str] = REWRITES,
) -> Any:
    """Make a model for `nutpie.sample` of a model of PyMC's.

    It takes the place of ``nutpie.compile_pymc_model(model)``, whose arguments these are: the same variables, dims,
    coordinates and starts of chains. The density is recorded once and differentiated here; neither a C compiler nor
    Numba compiles the model.

    Parameters
    ----------
    model : pymc.Model
        The model. Its free variables are continuous.
    var_names : sequence of str, optional
        The transformed variables and deterministics that the trace has; by default all.
    initial_points : dict, optional
        Starts of variables, in place of the model's.
    jitter_rvs : set, optional
        The variables to whose starts noise between -1 and 1 is added; by default all, or none for "prior".
    default_initialization_strategy : {'support_point', 'prior'}
        Where chains start if the model does not say it.
    rewrites : sequence of str, default ("canonicalize", "stabilize")
        PyTensor's rewrites that the graph goes through.

    Returns
    -------
    nutpie's compiled model
        Sample it with ``nutpie.sample(model)``. Beside nutpie's attributes it has

        * ``log_density``: a `Compiled`, ``(value, gradient)`` of the vector of unconstrained parameters;
        * ``density``: a `CFunction` of it by nutpie's signature, ``.address`` and ``.user_data``;
        * ``expand(x)``: a dict of the variables of the trace;
        * ``names``, ``variables``: the free variables, and the shapes of those of the trace by name;
        * ``x0``, ``point(seed)``: starts of chains;
        * ``with_data(x=...)``: the model for other data of ``pm.Data``, also of another size;
        * ``laplace(random=...)``: the model with random effects integrated out, a `PymcLaplace`.

    Raises
    ------
    ModuleNotFoundError
        If PyMC or nutpie is not installed.
    NotImplementedError
        For discrete free variables, and for an Op that is not known (see `tapegrad_funcify`).

    Notes
    -----
    A density that is not finite, a matrix that is not positive definite, and a parameter outside of its support are
    divergences, as for nutpie's own backends. Long loops of ``scan`` are one instruction, short ones are unrolled.

    Examples
    --------
    >>> import nutpie, pymc as pm, tapegrad as tg  # doctest: +SKIP
    >>> with pm.Model() as model:  # doctest: +SKIP
    ...     mu = pm.Normal("mu", 0, 10)
    ...     pm.Normal("y", mu, 1.0, observed=[1.2, 0.7, 2.1])
    >>> trace = nutpie.sample(tg.interop.pymc(model))  # doctest: +SKIP
    """
    model_class()  # nutpie is there
    return _ModelRequest(
        model, var_names, initial_points, jitter_rvs, default_initialization_strategy, tuple(rewrites)
    ).compiled()


# --- a model and its graphs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ModelRequest:
    """A request for a compiled model: the arguments of `pymc`."""

    model: Any
    var_names: Sequence[str] | None
    initial_points: Mapping[Any, Any] | None
    jitter_rvs: set[Any] | None
    strategy: str
    rewrites: tuple[str, ...]
    order: tuple[str, ...] = ()  # of the variables of the trace, which a copy of a model has in another order

    def compiled(self) -> Any:
        """Return nutpie's model."""
        self._check()
        start = self._start()
        free = self._ordered([self.model.rvs_to_values[variable] for variable in self.model.free_RVs])
        first, names = start(0), [variable.name for variable in free]
        shapes = [np.shape(first[name]) for name in names]
        x0 = _joined(first, names, shapes)
        density = self.function("log_density", free, [self.model.logp()], shapes, as_list=False)
        log_density = _compiled(density, x0, density, value_and_grad)
        traced = self._traced(names)
        trace = self.function("trace", free, traced, shapes, as_list=True)
        found = errstate("nan")(trace)(x0)
        variables = dict(
            zip([*names, *(each.name for each in traced)], [*shapes, *map(np.shape, found)], strict=True)
        )
        unconstrained = self._unconstrained()
        dims, coords = labels(variables, self._dims(variables, unconstrained), self._coordinates())
        return _pymc_class()(
            dims=dims,
            density=log_density.cfunc("nutpie"),
            expansion=_compiled(lambda x: _expanded(trace, x), x0, trace).cfunc("nutpie"),
            variables=variables,
            first_point=x0,
            jitter=1.0,
            own_coords=coords | {"unconstrained_parameter": _element_names(names, shapes)},
            parameters=dict(zip(names, shapes, strict=True)),
            log_density=log_density,
            text=density.source,
            functions=(errstate("nan")(density), errstate("nan")(trace)),
            start=start,
            made_of=self,
            lock=threading.Lock(),
            **({} if unconstrained is None else {"reparameterized_names": list(unconstrained)}),
        )

    def with_data(self, updates: Mapping[str, Any]) -> "_ModelRequest":
        """Return the same for a copy of the model with other data."""
        known = [name for name, variable in self.model.named_vars.items() if hasattr(variable, "set_value")]
        if unknown := [name for name in updates if name not in known]:
            raise KeyError(
                f"with_data: {', '.join(unknown)} are no data of the model, which has {', '.join(known) or 'none'};"
                " write pm.Data for what changes"
            )
        copy = needed("pymc.model.fgraph", "pymc").clone_model(self.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", needed("pymc.exceptions", "pymc").ShapeWarning)  # others follow
            for name, value in updates.items():
                copy.set_data(name, np.asarray(value), coords=_new_coordinates(copy, name, np.shape(value)))
        named = self.jitter_rvs
        jittered = None if named is None else {copy[variable.name] for variable in named}
        points = {getattr(each, "name", each): value for each, value in (self.initial_points or {}).items()}
        order = self.order or tuple(variable.name for variable in self._values())
        return replace(self, model=copy, jitter_rvs=jittered, initial_points=points, order=order)

    def _values(self) -> list[Any]:
        """Return the variables that a trace can have, in the order of the model."""
        free = [self.model.rvs_to_values[variable] for variable in self.model.free_RVs]
        return [*free, *(x for x in self.model.unobserved_value_vars if x not in free)]

    def _check(self) -> None:
        if discrete := [variable.name for variable in self.model.discrete_value_vars]:
            raise NotImplementedError(
                f"tapegrad.interop.pymc: {', '.join(discrete)} are discrete, and NUTS moves along gradients. Sum them"
                " out (pm.Mixture, or marginalize of pymc-extras), or sample them by pm.sample"
            )

    def _start(self) -> Point:
        jittered = self.jitter_rvs
        if jittered is None and self.strategy == "support_point":
            jittered = set(self.model.free_RVs)
        return needed("pymc.initial_point", "pymc").make_initial_point_fn(  # type: ignore[no-any-return]
            model=self.model,
            overrides=self.initial_points,
            default_strategy=self.strategy,
            jitter_rvs=jittered or set(),
            return_transformed=True,
        )

    def _ordered(self, variables: list[Any]) -> list[Any]:
        if not self.order:
            return variables
        return sorted(variables, key=lambda variable: self.order.index(variable.name))

    def _traced(self, free: Sequence[str]) -> list[Any]:
        """Return the variables of the trace beside the free ones."""
        found = self._ordered([x for x in self.model.unobserved_value_vars if x.name not in free])
        if self.var_names is None:
            return found
        known = [*free, *(variable.name for variable in found)]
        if unknown := [name for name in self.var_names if name not in known]:
            raise ValueError(
                f"tapegrad.interop.pymc: var_names has {', '.join(unknown)}, but the model has {', '.join(known)}"
            )
        return [variable for variable in found if variable.name in self.var_names]

    def function(
        self,
        name: str,
        free: Sequence[Any],
        outputs: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        *,
        as_list: bool,
    ) -> Any:
        """Return the function of a vector that computes variables; the model's data are constants of it."""
        kept = self.rewrites if self.model.check_bounds else (*self.rewrites, "local_remove_check_parameter")
        return graph_function(
            name, free, outputs, rewrites=kept, as_list=as_list, shapes=shapes, is_frozen=True
        )

    def values_by_variable(self) -> dict[str, str]:
        """Return the names of the unconstrained values of the free variables, by those of the variables."""
        return {variable.name: self.model.rvs_to_values[variable].name for variable in self.model.free_RVs}

    def log_jacobian(self, names: Container[str], shapes: Sequence[tuple[int, ...]]) -> Any:
        """Return the function that computes the log-determinants of transforms of some values, `None` without any."""
        values, transforms = self.model.rvs_to_values, self.model.rvs_to_transforms
        terms = [
            transforms[x].log_jac_det(values[x], *x.owner.inputs).sum()
            for x in self.model.free_RVs
            if values[x].name in names and transforms[x] is not None
        ]
        if not terms:
            return None
        free = self._ordered([values[x] for x in self.model.free_RVs])
        outputs = self.model.replace_rvs_by_values([sum(terms)])
        return self.function("log_jacobian", free, outputs, shapes, as_list=False)

    def _unconstrained(self) -> dict[str, str] | None:
        """Return the transformed variables that nutpie takes out of the posterior; `None` before nutpie 0.16.9."""
        if "reparameterized_names" not in model_class().__dataclass_fields__:
            return None
        transforms, values = self.model.rvs_to_transforms, self.model.rvs_to_values
        return {values[x].name: x.name for x in self.model.free_RVs if transforms.get(x) is not None}

    def _dims(
        self, variables: Mapping[str, Any], unconstrained: Mapping[str, str] | None
    ) -> dict[str, tuple[str | None, ...]]:
        """Return the dims of the trace; transformed variables of an unchanged shape have those of their originals."""
        known = self.model.named_vars_to_dims
        same = {
            name: original
            for name, original in (unconstrained or {}).items()
            if original in known and variables.get(original) == variables[name]
        }
        named = {**known, **{name: known[original] for name, original in same.items()}}
        return {name: tuple(dims) for name, dims in named.items() if name in variables}

    def _coordinates(self) -> dict[str, Any]:
        """Return the coordinates of all dimensions; 0, 1, ... where the model has none."""
        return {
            name: range(int(self.model.dim_lengths[name].eval())) if values is None else list(values)
            for name, values in self.model.coords.items()
        }


def _new_coordinates(model: Any, name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return 0, 1, ... for each dimension of data that gets another length."""
    dims = model.named_vars_to_dims.get(name) or ()
    return {
        dim: range(extent)
        for dim, extent in zip(dims, shape, strict=False)
        if dim is not None and int(model.dim_lengths[dim].eval()) != extent
    }


def _compiled(
    function: Callable[..., Any],
    x0: np.ndarray,
    written: Any,
    transform: Callable[..., Any] = lambda function: function,
) -> Compiled:
    """Compile a transform of a function whose failures of linear algebra are nan.

    A derivative that was transformed before would be recorded itself, and take twice as long.
    """
    try:
        return compile(transform(errstate("nan")(function)), x0)
    except Exception as error:
        error.add_note(f"tapegrad.interop.pymc: while this text of the model was recorded\n{written.source}")
        raise


def _joined(point: Mapping[str, Any], names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return the elements of a point as a vector."""
    for name, shape in zip(names, shapes, strict=True):
        if np.shape(point[name]) != shape:
            raise ValueError(
                f"tapegrad.interop.pymc: {name} starts with shape {np.shape(point[name])}, not {shape}"
            )
    return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(point[name], float)) for name in names)])


def _element_names(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return a name for each element of the vector, as nutpie has it: mu, theta_0, corr_0.1."""
    return [
        f"{name}_{'.'.join(map(str, index))}" if index else name
        for name, shape in zip(names, shapes, strict=True)
        for index in np.ndindex(shape)
    ]


def _expanded(trace: Callable[..., Any], x: Any) -> Any:
    """Return the elements of all variables of the trace as a vector."""
    return concatenate([x, *(np.ravel(each).astype("float64") for each in trace(x))])


# --- nutpie's class ------------------------------------------------------------------------------------------------


@functools.cache
def _pymc_class() -> Any:
    """Return the class of models of PyMC's, derived from that of other densities."""

    @dataclass(frozen=True, repr=False)
    class PymcModel(model_class()):  # type: ignore[misc]  # nutpie is imported late
        log_density: Compiled
        text: str
        # Log density, and variables of the trace
        functions: tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]
        start: Point
        made_of: _ModelRequest
        lock: threading.Lock

        @property
        def source(self) -> str:
            """The log density as Python text, a line for each node of the graph."""
            return self.text

        @property
        def names(self) -> list[str]:
            """The names of the free variables."""
            return list(self.parameters)

        @property
        def x0(self) -> np.ndarray:
            """The point that the density was recorded at."""
            return np.array(self.first_point)

        def point(self, seed: int) -> np.ndarray:
            """Return the start of a chain, as PyMC draws it."""
            with self.lock:
                drawn = self.start(seed)
            return _joined(drawn, self.names, list(self.parameters.values()))

        def expand(self, x: Any) -> dict[str, np.ndarray]:
            """Return the variables of the trace at a vector of unconstrained parameters."""
            return parts_by_name(self.expansion.compiled(np.asarray(x, float)), self.variables)

        def with_data(self, **updates: Any) -> Any:
            """Return the model for other data, which is recorded anew."""
            return self.made_of.with_data(updates).compiled()

        def laplace(self, random: str | Sequence[str]) -> "PymcLaplace":
            """Return the model with some of its free variables integrated out."""
            from tapegrad.interop.samplers.pymc_laplace import PymcLaplace  # noqa: PLC0415  SciPy's optimisers

            return PymcLaplace(self, random)

    return PymcModel
