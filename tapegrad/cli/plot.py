"""Plots of fits: data, certified and fitted curves, and residuals below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from tapegrad.examples import nist
from tapegrad.examples.nist.problems import Array

_DATA, _CERTIFIED = "#5f6b7a", "#f2a541"
_MARKER: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4, "mfc": "white", "mew": 0.9}
_CERTIFIED_STYLE: dict[str, Any] = {"color": _CERTIFIED, "lw": 5, "alpha": 0.5}
_FIT_STYLES: dict[int, dict[str, Any]] = {
    1: {"color": "#1b4f9c", "lw": 1.3},
    2: {"color": "#0b1d3a", "lw": 1.3, "ls": (0, (1.5, 2.5))},
}
_SERIES = ("#2a6fbb", "#3a9d6e", "#c2571a", "#8c3b9b")  # one colour a value of a second predictor
_GRID_POINTS = 600
_MAX_CURVED_POINTS = 60


@dataclass(frozen=True, eq=False)
class _Series:
    """The observations of one curve, and the grid on which to draw it."""

    label: str
    colour: str
    chosen: Array
    grid: Array
    predictors: Array


def _series(problem: nist.Problem) -> Iterator[_Series]:
    """Yield one series, or with a second predictor one for each of its values."""
    if problem.x.ndim == 1:
        grid = np.linspace(problem.x.min(), problem.x.max(), _GRID_POINTS)
        yield _Series("", _DATA, np.ones(problem.x.shape, bool), grid, grid)
        return
    first, second = problem.x
    grid = np.geomspace(first.min(), first.max(), _GRID_POINTS)
    for colour, value in zip(_SERIES, np.unique(second), strict=False):
        predictors = np.stack([grid, np.full_like(grid, value)])
        yield _Series(f"{problem.labels[1]}: {value:g}", colour, second == value, grid, predictors)


def _draw_fit(axes: Axes, problem: nist.Problem, fits: Sequence[nist.Fit]) -> None:
    """Observations, the certified curve, and the fitted curve from each starting point."""
    abscissa = problem.x if problem.x.ndim == 1 else problem.x[0]
    order = 4 if problem.response.size <= _MAX_CURVED_POINTS else 2  # many points would hide the curves
    for series in _series(problem):
        x, y = abscissa[series.chosen], problem.response[series.chosen]
        axes.plot(x, y, **_MARKER, mec=series.colour, label=series.label, zorder=order)
        certified = problem.model(problem.certified, series.predictors)
        axes.plot(series.grid, certified, **_CERTIFIED_STYLE, zorder=1)
        for fit in fits:
            fitted = problem.model(fit.parameters, series.predictors)
            axes.plot(series.grid, fitted, **_FIT_STYLES[fit.start], zorder=3)
    axes.set_ylabel(problem.labels[-1])
    axes.tick_params(labelbottom=False)


def _draw_residuals(axes: Axes, problem: nist.Problem, fit: nist.Fit) -> None:
    """Draw the residuals of one fit, as observed less fitted."""
    abscissa = problem.x if problem.x.ndim == 1 else problem.x[0]
    residuals = -problem.residuals(fit.parameters)
    axes.axhline(0, color=_CERTIFIED, lw=1.2, zorder=1)
    for series in _series(problem):
        x, r = abscissa[series.chosen], residuals[series.chosen]
        axes.vlines(x, 0, r, color=series.colour, lw=0.7, alpha=0.6)
        axes.plot(x, r, "o", ms=2.2, color=series.colour)
    bound = 1.25 * float(np.max(np.abs(residuals))) or 1.0
    axes.set_ylim(-bound, bound)
    axes.set_ylabel("residual")
    axes.set_xlabel(problem.labels[0])


def _finish(axes: Axes) -> None:
    """Set what all panels share."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.5)
    axes.margins(x=0.03)


def _draw_problem(panel: SubFigure, problem: nist.Problem, fits: Sequence[nist.Fit]) -> None:
    """Draw one problem: the fit above, the residuals below."""
    above, below = panel.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
    _draw_fit(above, problem, fits)
    _draw_residuals(below, problem, fits[-1])
    for axes, ticks in ((above, 5), (below, 3)):
        _finish(axes)
        axes.yaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
        axes.ticklabel_format(axis="y", scilimits=(-3, 5), useMathText=True)
    if problem.x.ndim > 1:
        above.set_xscale("log", base=2)
        above.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        above.legend(fontsize="x-small", frameon=False, loc="best")
    digits = min(fit.digits for fit in fits)
    above.set_title(problem.name, loc="left", weight="bold", pad=18)
    above.set_title(
        f"{problem.level} difficulty, {digits:.1f} digits", loc="right", fontsize="small", color=_DATA, pad=18
    )
    above.text(0, 1.03, problem.title, transform=above.transAxes, fontsize="small", color=_DATA)


def _legend(figure: Figure, starts: Sequence[int]) -> None:
    """Draw one legend for the whole figure."""
    handles = [
        Line2D([], [], **_MARKER, mec=_DATA, label="data"),
        Line2D([], [], **_CERTIFIED_STYLE, label="certified"),
    ]
    handles += [Line2D([], [], **_FIT_STYLES[start], label=f"fitted from start {start}") for start in starts]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)


def draw(fits: Sequence[nist.Fit]) -> Figure:
    """Return a figure with a panel for each problem; `fits` of one problem follow each other."""
    groups = [(nist.load(name), list(group)) for name, group in groupby(fits, key=lambda fit: fit.name)]
    columns = min(len(groups), ceil(len(groups) ** 0.5), 5)
    rows = ceil(len(groups) / columns)
    width, height = (8.0, 6.0) if len(groups) == 1 else (5.0 * columns, 4.2 * rows)
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = np.ravel(figure.subfigures(rows, columns, squeeze=False))
    for panel, (problem, of_problem) in zip(panels, groups, strict=False):
        _draw_problem(panel, problem, of_problem)
    _legend(figure, sorted({fit.start for fit in fits}))
    return figure
