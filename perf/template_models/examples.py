"""Examples: their data, starts and results by TMB, as R has left them in a folder or as they are kept in the tree."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.testing.timer import WrongAnswer

_ROOT = Path(__file__).parents[2]
_TABLES, KEPT = _ROOT / "docs" / "gallery" / "data", Path(__file__).parent / "data"
TOLERANCE = 1e-8  # of values, relative
_GRADIENT_TOLERANCE = 1e-6  # of gradients, relative to the largest element at a start and in standard errors
_MAX_SHIFT = 1e-3  # in standard errors: beyond, it is another optimum


@dataclass(frozen=True)
class Example:
    """Example of TMB's.

    Attributes
    ----------
    data
        What the model takes.
    start
        Parameters and effects where the driver's fit begins.
    random
        Name of the effects; empty if there are none.
    results
        Estimates, standard errors and bounds by names, the latter empty if there are none, and numbers: values with
        gradients at the start and at two points.
    """

    data: dict[str, Any]
    start: dict[str, Any]
    random: str
    results: dict[str, Any]

    def vector(self, by_name: dict[str, Any]) -> np.ndarray:
        """Return the parameters in TMB's order."""
        return np.concatenate([np.ravel(by_name[name]) for name in self.results["estimates"]])

    def parameters(self, vector: np.ndarray) -> dict[str, Any]:
        """Return parameters by names, given all in TMB's order."""
        sizes = [len(each) for each in self.results["estimates"].values()]
        parts = np.split(vector, np.cumsum(sizes)[:-1])
        return {
            name: part.reshape(self.start[name].shape, order="F")
            for name, part in zip(self.results["estimates"], parts, strict=True)
        }

    @property
    def points(self) -> dict[str, np.ndarray]:
        """The points at which TMB has left values with gradients."""
        estimates, errors = self.vector(self.results["estimates"]), self.vector(self.results["errors"])
        return {
            "at_start": self.vector(self.start),
            "above": estimates + 0.1 * errors,
            "below": estimates - 0.1 * errors,
        }

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The driver's bounds of each parameter, the widest of its elements; none beyond which the optimum is."""
        lower, upper = self.results["lower"], self.results["upper"]
        found = {name: (min(lower[name]), max(upper[name])) for name in lower}
        best = self.results["estimates"]
        return {name: (a, b) for name, (a, b) in found.items() if a < min(best[name]) and max(best[name]) < b}

    def check_evaluations(self, evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> float:
        """Check values and gradients; return the largest relative difference of values."""
        errors, largest = self.vector(self.results["errors"]), 0.0
        for name, point in self.points.items():
            value, gradient = evaluate(point)
            wanted, *slopes = self.results["numbers"][name]
            off = abs(value - wanted) / abs(wanted)
            scale = np.max(np.abs(np.array(slopes) * errors))
            steep = np.max(np.abs((gradient - slopes) * errors)) / scale
            if not (off <= TOLERANCE and steep <= _GRADIENT_TOLERANCE):
                raise WrongAnswer(f"{name}: value {value} instead of {wanted}, gradient off by {steep:.1e}")
            largest = max(largest, off)
        return largest

    def check_fit(self, value: float, estimates: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
        """Check a fit; return the largest difference of estimates, in standard errors, and of standard errors."""
        wanted, spread = self.vector(self.results["estimates"]), self.vector(self.results["errors"])
        shift, wider = np.max(np.abs(estimates - wanted) / spread), np.max(np.abs(errors / spread - 1.0))
        best = self.results["numbers"]["value"][0]
        if not (abs(value - best) <= TOLERANCE * abs(best) and shift <= _MAX_SHIFT and wider <= _MAX_SHIFT):
            raise WrongAnswer(
                f"value {value} instead of {best}, estimates off by {shift:.1e} and standard errors by {wider:.1e}"
            )
        return float(shift), float(wider)


def read(folder: Path) -> Example:
    """Read what R has left in a folder."""
    results = json.loads((folder / "results.json").read_text())
    arrays: dict[str, dict[str, Any]] = {"data": {}, "start": {}}
    for name, shape in results.pop("shapes").items():
        kind, _, rest = name.partition(".")
        arrays[kind][rest] = np.fromfile(folder / name).reshape([int(side) for side in shape], order="F")
    data, start = arrays["data"], {name: each for name, each in arrays["start"].items() if each.size}
    if "Z" in data:  # glmmTMB's design of the effects
        block = next(int(each[0]) for name, each in data.items() if name.endswith(".blockSize"))
        data["group"] = data["Z"].argmax(axis=1) // block
    return Example(data, start, results["random"], results)


def shipped(name: str) -> Example:
    """Return an example of the tree, with its results by TMB."""
    results = json.loads((KEPT / f"{name}.json").read_text())
    table = np.genfromtxt(_TABLES / f"{name}.csv", delimiter=",", names=True)
    start = {key: np.array(values, float) for key, values in results["start"].items()}
    return Example(_DATA[name](table), start, results["random"], results)


def _herds(table: Any) -> dict[str, Any]:
    design = np.stack([np.ones(len(table)), *(1.0 * (table["period"] == k) for k in (2, 3, 4))], axis=1)
    group = table["herd"].astype(int) - 1
    return {"X": design, "yobs": table["incidence"], "size": table["size"], "group": group}


def _drivers(table: Any) -> dict[str, Any]:
    design = np.stack([np.ones(len(table)), table["Days"]], axis=1)
    group = np.unique(table["Subject"], return_inverse=True)[1]
    return {"X": design, "yobs": table["Reaction"], "group": group}


_DATA: dict[str, Callable[[Any], dict[str, Any]]] = {
    "cbpp": _herds, "sleepstudy": _drivers, "thetalog": lambda table: {"Y": table["log_size"]},
}  # fmt: skip
