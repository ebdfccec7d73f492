"""`register_nutpie`: nutpie's backend "tapegrad" for models of PyMC's."""

import functools
from collections.abc import Callable
from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.samplers.pymc_model import pymc


def register_nutpie(*, remove: bool = False) -> None:
    """Register the backend "tapegrad" with nutpie: ``nutpie.compile_pymc_model(model, backend="tapegrad")``.

    nutpie compares the name of a backend with its own two and has no place for a third. So this call puts a function
    around ``nutpie.compile_pymc_model``, which `pymc.sample` calls, too. It hands models for "tapegrad" to
    `tapegrad.interop.pymc`, and all others on to nutpie's own function. Further calls change nothing.

    Parameters
    ----------
    remove : bool, default False
        Put nutpie's own function back.

    Raises
    ------
    ModuleNotFoundError
        If nutpie is not installed.

    Notes
    -----
    The backend takes the other arguments of ``nutpie.compile_pymc_model``, and those of `tapegrad.interop.pymc`. Data
    are always constants of the model, as with ``freeze_model=True``. A `gradient_backend` other than nutpie's default
    is refused.

    Examples
    --------
    >>> import nutpie, pymc as pm, tapegrad as tg  # doctest: +SKIP
    >>> tg.interop.register_nutpie()  # doctest: +SKIP
    >>> compiled = nutpie.compile_pymc_model(model, backend="tapegrad")  # doctest: +SKIP
    >>> with model:  # doctest: +SKIP
    ...     trace = pm.sample(nuts_sampler="nutpie", compile_kwargs={"backend": "tapegrad"})  # PyMC 6
    ...     trace = pm.sample(nuts_sampler="nutpie", nuts_sampler_kwargs={"backend": "tapegrad"})  # PyMC 5
    """
    for name in ("nutpie", "nutpie.compile_pymc"):
        module = needed(name, "nutpie")
        present = module.compile_pymc_model
        own = getattr(present, "nutpies_own", present)
        module.compile_pymc_model = own if remove else _with_backend(own)


@functools.cache
def _with_backend(compile_model: Callable[..., Any]) -> Callable[..., Any]:
    """Return nutpie's function with one more backend."""

    @functools.wraps(compile_model)
    def compile_pymc_model(model: Any, *, backend: str = "numba", **options: Any) -> Any:
        if backend is None or backend.lower() != "tapegrad":
            return compile_model(model, backend=backend, **options)
        gradient, _ = options.pop("gradient_backend", None), options.pop("freeze_model", None)
        if gradient not in (None, "pytensor", "tapegrad"):
            raise ValueError(
                f"nutpie.compile_pymc_model: gradient_backend={gradient!r}, but the backend 'tapegrad' differentiates"
                " by itself; leave the argument out"
            )
        return pymc(model, **options)

    compile_pymc_model.nutpies_own = compile_model  # type: ignore[attr-defined]
    return compile_pymc_model
