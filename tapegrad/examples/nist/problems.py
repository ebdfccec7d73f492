"""The 27 problems: data, starting points and certified results.

Source: NIST/ITL Statistical Reference Datasets, nonlinear least squares regression,
https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. The certified values were computed by NIST in 128-bit
arithmetic and hold 11 digits.
"""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tapegrad.examples.nist.models import MODELS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Regression problem.

    Attributes
    ----------
    name, title : str
        NIST's name, and what the data are.
    level : str
        NIST's level of difficulty: ``lower``, ``average`` or ``higher``.
    data : str
        ``observed`` or ``generated``.
    text : str
        The model as NIST writes it, of the parameters ``b1``, ``b2``, ... and ``x``, or ``x1`` and ``x2``.
    labels : tuple of str
        What each predictor is, then what the response is.
    starts : tuple of array
        The two starting points, the second one nearer to the solution.
    certified : array
        The certified parameters.
    rss : float
        The certified residual sum of squares.
    x : array
        The predictor, or one row for each of several.
    response : array
        The observations, or their logarithm if the model is one of ``log(y)``.
    """

    name: str
    title: str
    level: str
    data: str
    text: str
    labels: tuple[str, ...]
    starts: tuple[Array, Array]
    certified: Array
    rss: float
    x: Array
    response: Array

    @property
    def model(self) -> Callable[[Any, Array], Any]:
        """The function ``model(b, x)`` of the parameters and the predictors."""
        return MODELS[self.name]

    def residuals(self, b: Any) -> Any:
        """Return the prediction with parameters `b`, less the response."""
        return self.model(b, self.x) - self.response


def _array(values: list[Any]) -> Array:
    """Return a read-only array, for problems are shared."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _problem(name: str, row: dict[str, Any]) -> Problem:
    """Build the problem from its row of the file."""
    x_label = row["x_label"]
    of_log = row["model"].startswith("log(y)")
    return Problem(
        name=name,
        title=row["title"],
        level=row["level"],
        data=row["data"],
        text=row["model"],
        labels=(*([x_label] if isinstance(x_label, str) else x_label), row["y_label"]),
        starts=(_array(row["starts"][0]), _array(row["starts"][1])),
        certified=_array(row["certified"]),
        rss=row["rss"],
        x=_array(row["x"]),
        response=_array(np.log(row["y"]) if of_log else row["y"]),
    )


@functools.cache
def _all() -> dict[str, Problem]:
    """Return all problems by name, from the easy to the difficult."""
    text = resources.files("tapegrad.examples.nist").joinpath("problems.json").read_text(encoding="utf-8")
    return {name: _problem(name, row) for name, row in json.loads(text)["problems"].items()}


def names() -> list[str]:
    """Return the names of all problems, from the easy to the difficult."""
    return list(_all())


def load(name: str) -> Problem:
    """Return the problem of that name, in any case. Raise `KeyError` if there is none."""
    for known, problem in _all().items():
        if known.lower() == name.lower():
            return problem
    raise KeyError(name)
