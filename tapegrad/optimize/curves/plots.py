"""Pictures of fits: points with their curve, or an image beside what was fitted and what is left of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.optimize.curves.fit_data import FitData

_COLUMNS = 3
_PANEL, _ONLY_PANEL = (3.6, 2.6), (6.4, 4.2)  # width and height in inches


def draw(
    shown: FitData, fits: Sequence[tuple[int, np.ndarray, str]], figure: Any, legend: bool = False
) -> Any:
    """Draw fits, each given by its number, its parameters and its title, in a figure or a new one."""
    images = shown.data.ndim == 3
    columns = _COLUMNS if images else min(_COLUMNS, len(fits))
    rows = len(fits) if images else -(-len(fits) // columns)
    if figure is None:
        width, height = _ONLY_PANEL if rows * columns == 1 else _PANEL
        figure = _new_figure(columns * width, rows * height)
    panels = figure.subplots(rows, columns, squeeze=False)
    for k, (number, x, title) in enumerate(fits):
        if images:
            _draw_image(panels[k], shown, number, x, title)
        else:
            _draw_points(panels[k // columns, k % columns], shown, number, x, title)
    for panel in [] if images else panels.ravel()[len(fits) :]:
        panel.remove()
    if legend:
        panels[0, 0].legend(frameon=False)
    return figure


def _new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        message = "plot needs the package matplotlib: pip install matplotlib"
        raise ModuleNotFoundError(message, name=error.name) from None
    return Figure(layout="constrained", figsize=(width, height))


def _draw_points(panel: Any, shown: FitData, number: int, x: np.ndarray, title: str) -> None:
    t, values, out = shown.abscissae(), shown.data[number].ravel(), shown.is_left_out(number).ravel()
    errors = shown.errors(number)
    order = np.argsort(t, kind="stable")
    panel.errorbar(
        t[~out],
        values[~out],
        None if errors is None else errors.ravel()[~out],
        fmt=".",
        color="0.5",
        elinewidth=0.8,
        label="data",
    )
    if out.any():
        panel.plot(t[out], values[out], "x", color="0.75", label="left out")
    panel.plot(t[order], np.ravel(shown.predict(x))[order], color="C0", zorder=3, label="fit")
    panel.set_title(title, size="small", wrap=True)


def _draw_image(panels: Any, shown: FitData, number: int, x: np.ndarray, title: str) -> None:
    image = np.where(shown.is_left_out(number), np.nan, shown.data[number])
    fitted = np.asarray(shown.predict(x))
    both = np.concatenate([image[np.isfinite(image)], fitted[np.isfinite(fitted)]])
    low, high = (both.min(), both.max()) if both.size else (0.0, 1.0)
    left = image - fitted
    most = np.nanmax(np.abs(left)) if np.isfinite(left).any() else 1.0
    for panel, values, name in zip(panels, (image, fitted), (title, "fit"), strict=False):
        panel.figure.colorbar(panel.imshow(values, "viridis", vmin=low, vmax=high), ax=panel)
        panel.set_title(name, size="small", wrap=True)
    panels[2].figure.colorbar(panels[2].imshow(left, "RdBu_r", vmin=-most, vmax=most), ax=panels[2])
    panels[2].set_title("data - fit", size="small")
    for panel in panels:
        panel.set(xticks=[], yticks=[])
