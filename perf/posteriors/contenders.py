"""Contenders: models for nutpie of tapegrad and of PyMC by Numba and by JAX, and Stan's gradients by BridgeStan."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from perf.peers import load, tapegrad
from perf.posteriors.gradients import Gradient, behind_pointer, of_python, of_stan
from perf.posteriors.model import Model
from perf.posteriors.plain import PLAIN
from perf.posteriors.pymc_models import MODELS

KINDS = ("tapegrad", "pymc-numba", "pymc-jax", "stan")
BACKENDS: dict[str, dict[str, str]] = {"numba": {}, "jax": {"gradient_backend": "jax"}}
PACKAGES = {  # and the contenders that need them
    "tapegrad": KINDS, "nutpie": KINDS, "pymc": KINDS[1:3], "jax": KINDS[2:3], "bridgestan": KINDS[3:],
}  # fmt: skip
LIBRARIES = "stan-models"  # folder beside posteriordb, with what `perf.programs.stan_models` makes


def model_of_tapegrad(model: Model) -> tuple[Any, Gradient]:
    """Return nutpie's model of a log density, and its gradient."""
    tg = tapegrad()
    compiled = tg.interop.nutpie(
        lambda u: model.log_density(tg, u), model.start, expand=lambda u: model.variables(tg, u), jitter=0.5
    )
    size = compiled.n_dim
    address, user_data = compiled.density.address, compiled.density.user_data
    return compiled, behind_pointer(address, user_data, np.arange(size), compiled)


def model_of_pymc(model: Model, name: str, data: dict[str, Any], backend: str) -> tuple[Any, Gradient]:
    """Return nutpie's model of PyMC's, and its gradient."""
    pm, pt, nutpie = load("pymc"), load("pytensor.tensor"), load("nutpie")
    with pm.Model() as written:
        MODELS[name](pm, pt, data)
    compiled = nutpie.compile_pymc_model(written, backend=backend, **BACKENDS[backend])
    order = _places(model, list(compiled.coords["unconstrained_parameter"]))
    if backend == "numba":
        address, user_data = compiled.compiled_logp_func.address, compiled.user_data.ctypes.data
        return compiled, behind_pointer(address, user_data, order, compiled)
    function, shared = compiled._make_logp_func(), compiled._shared_data
    return compiled, of_python(lambda x: function(x, **shared), order)


def _places(model: Model, labels: list[str]) -> np.ndarray:
    """Return where elements with nutpie's labels (``tau_log__``, ``theta_0``) are in the vectors of a model."""
    rest = {name: iter(np.ravel(places)) for name, places in model.split(np.arange(model.size)).items()}
    return np.array([next(rest[max(filter(label.startswith, rest), key=len)]) for label in labels])


def stan_library(folder: Path, name: str) -> Path:
    """Return the file of a library that Stan has made for a posterior of a copy of posteriordb."""
    return folder.parent / LIBRARIES / f"{name.split('-')[1]}_model.so"


class Stan:
    """Posterior that Stan has compiled to a library.

    Parameters
    ----------
    library : Path
        The library that BridgeStan has made of the model.
    data : str
        The data as posteriordb has them, in JSON.
    """

    def __init__(self, library: Path, data: str) -> None:
        self._stan = load("bridgestan").StanModel(str(library), data)

    def points(self, model: Model, points: np.ndarray) -> np.ndarray:
        """Return Stan's unconstrained parameters for those of a model, which has other transforms."""
        return np.array([self._stan.param_unconstrain(self._values(model, each)) for each in points])

    def _values(self, model: Model, point: np.ndarray) -> np.ndarray:
        """Return constrained parameters in Stan's order."""
        variables, found = model.variables(PLAIN, model.split(point)), []
        for label in self._stan.param_names():
            name, *index = label.split(".")
            found.append(np.asarray(variables[name])[tuple(int(i) - 1 for i in index)])
        return np.array(found, float)

    def densities(self, points: np.ndarray) -> np.ndarray:
        """Return log densities of constrained parameters, at Stan's unconstrained ones."""
        return np.array([self._stan.log_density(each, jacobian=False) for each in points])

    @property
    def gradient(self) -> Gradient:
        """The gradient by Stan's own unconstrained parameters."""
        address = ctypes.cast(self._stan.stanlib.bs_log_density_gradient, ctypes.c_void_p).value
        return of_stan(address or 0, self._stan.model, np.arange(self._stan.param_unc_num()), self._stan)
