"""Pictures of fits: points with their curve, or an image beside what was fitted and what is left of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_COLUMNS = 3
_PANEL = (3.6, 2.6)  # inches


@dataclass(frozen=True)
class PlotData:
    """Data of a plotted fit.

    Attributes
    ----------
    predict
        The model as a function of the vector of its parameters.
    t
        What the model is handed.
    data
        A row, or an image, for each fit.
    sigma, mask
        Standard deviations of the points, and which of these are left out, as far as they were given.
    """

    predict: Callable[[np.ndarray], np.ndarray]
    t: Any
    data: np.ndarray
    sigma: Any
    mask: Any

    def is_left_out(self, number: int) -> np.ndarray:
        """Return the mask of the points of a fit that do not count."""
        return self._of_fit(False if self.mask is None else self.mask, number)

    def errors(self, number: int) -> np.ndarray | None:
        """Return the standard deviations of the points of a fit, if they are known."""
        return None if self.sigma is None else self._of_fit(self.sigma, number)

    def _of_fit(self, given: Any, number: int) -> np.ndarray:
        one: np.ndarray = np.broadcast_to(given, self.data.shape)[number]
        return one


def draw(shown: PlotData, fits: Sequence[tuple[int, np.ndarray, str]], figure: Any) -> Any:
    """Draw fits, each given by its number, its parameters and its title, in a figure or a new one."""
    images = shown.data.ndim == 3
    columns = _COLUMNS if images else min(_COLUMNS, len(fits))
    rows = len(fits) if images else -(-len(fits) // columns)
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained", figsize=(columns * _PANEL[0], rows * _PANEL[1]))
    panels = figure.subplots(rows, columns, squeeze=False)
    for k, (number, x, title) in enumerate(fits):
        if images:
            _draw_image(panels[k], shown, number, x, title)
        else:
            _draw_points(panels[k // columns, k % columns], shown, number, x, title)
    for panel in [] if images else panels.ravel()[len(fits) :]:
        panel.remove()
    return figure


def _abscissae(shown: PlotData) -> np.ndarray:
    """Return the abscissae of the points of a row: `t`, if it has a number for each of them."""
    shape = shown.data.shape[1:]
    given = shown.t if isinstance(shown.t, np.ndarray | list | tuple) else ()
    try:
        t = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        t = np.zeros(0)
    return t if t.shape == shape and len(shape) == 1 else np.arange(np.prod(shape, dtype=int), dtype=float)


def _draw_points(panel: Any, shown: PlotData, number: int, x: np.ndarray, title: str) -> None:
    t, values, out = _abscissae(shown), shown.data[number].ravel(), shown.is_left_out(number).ravel()
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
    panel.plot(t[order], np.ravel(shown.predict(x))[order], color="C0", label="fit")
    panel.set_title(title, size="small", wrap=True)


def _draw_image(panels: Any, shown: PlotData, number: int, x: np.ndarray, title: str) -> None:
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
