"""Distributions of `scipy.stats` by their names, each made when it is asked for.

They are those of the SciPy that is installed. Type checkers read a list in `tapegrad.stats`.
"""

from typing import Any

from tapegrad.stats.generic.families import family_of


def by_name(name: str) -> Any:
    """Return the distribution of a name in `scipy.stats`, for an attribute that `tapegrad.stats` lacks.

    Raises
    ------
    AttributeError
        If there is none; it names the distributions that there are.
    """
    if name.startswith("_"):
        raise AttributeError(f"module 'tapegrad.stats' has no attribute {name!r}")
    import scipy.stats

    family = family_of(getattr(scipy.stats, name, None))
    if family is not None:
        return family
    raise AttributeError(
        f"tapegrad.stats has no {name}: it has the distributions that are instances of scipy.stats.rv_continuous and"
        " rv_discrete, from_scipy for those of a subclass of your own, and"
        f" {', '.join(_BESIDE)}; write another log density with tapegrad's functions, as those of tapegrad.special"
    )


def names_of(names: dict[str, Any]) -> list[str]:
    """Return the names of `tapegrad.stats` and of SciPy's distributions."""
    import scipy.stats

    return sorted({*names, *(name for name in dir(scipy.stats) if family_of(getattr(scipy.stats, name)))})


_BESIDE = (
    "dirichlet", "matrix_normal", "multinomial", "multivariate_normal", "multivariate_t", "wishart",
    "ar1", "besag", "bym2", "gmrf", "matern_grid", "matern_mesh", "rw1", "rw2",
)  # fmt: skip
