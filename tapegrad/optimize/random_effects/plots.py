"""Pictures of fits with random effects: estimates, and effects in order, with their standard errors."""

from typing import Any

import numpy as np

from tapegrad.pytree import flatten, paths

_MAX_BARS = 400  # effects that are drawn as bars; of more, their order is drawn as a band


def draw(fit: Any, figure: Any) -> Any:
    """Draw a fit in a figure of matplotlib, or in a new one."""
    from matplotlib import pyplot as plt

    if figure is None:
        figure = plt.figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    _draw_parameters(left, fit)
    effects = _flat(fit.random)
    order = np.argsort(effects, kind="stable")
    _draw_bars(right, effects[order], _flat(fit.random_std_errors)[order])
    right.set(title="random effects", xlabel="in ascending order")
    return figure


def _flat(structure: Any) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in flatten(structure)[0]])


def _draw_parameters(axes: Any, fit: Any) -> None:
    names = [
        f"x{path}" + (str(list(index)) if index else "")
        for path, leaf in zip(paths(fit.x), flatten(fit.x)[0], strict=True)
        for index in np.ndindex(np.shape(leaf))
    ]
    values, errors = _flat(fit.x), np.nan_to_num(_flat(fit.std_errors))
    axes.errorbar(values, np.arange(len(values)), xerr=1.96 * errors, fmt="o")
    axes.axvline(0.0, color="0.8", zorder=0)
    axes.set(title="parameters, 95 %", yticks=np.arange(len(values)), yticklabels=names)
    axes.invert_yaxis()


def _draw_bars(axes: Any, values: np.ndarray, errors: np.ndarray) -> None:
    places = np.arange(len(values))
    if len(values) <= _MAX_BARS:
        axes.errorbar(places, values, yerr=errors, fmt=".", elinewidth=0.8)
        return
    axes.fill_between(places, values - errors, values + errors, alpha=0.3)
    axes.plot(places, values)
