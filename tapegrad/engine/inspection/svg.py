"""Pictures in SVG: rectangles, lines and text, for notebooks and files."""

import html
import re
from pathlib import Path

# Characters that XML 1.0 forbids; compiled where it is used, for that takes longer than the rest of the module
_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
TEXT_COLOUR, FAINT_COLOUR, GRID_COLOUR = "#222", "#777", "#ddd"


class Picture:
    """Picture in SVG, which a notebook shows and a browser opens.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> picture = tg.jit(lambda x: tg.sum(x * x)).profile(np.ones(3)).plot()
    >>> str(picture).startswith("<svg ")
    True
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def rectangle(
        self,
        at: tuple[float, float],
        size: tuple[float, float],
        colour: str,
        tip: str = "",
        opacity: float = 1.0,
    ) -> None:
        """Draw a rectangle from its upper left corner; `tip` is shown where the mouse points at it."""
        faint = "" if opacity == 1.0 else f' fill-opacity="{opacity:g}"'
        place = f'x="{at[0]:.2f}" y="{at[1]:.2f}" width="{max(size[0], 0.0):.2f}" height="{max(size[1], 0.0):.2f}"'
        self._parts.append(f'<rect {place} fill="{colour}"{faint}>{_title(tip)}</rect>')

    def line(self, begin: tuple[float, float], end: tuple[float, float], colour: str = GRID_COLOUR) -> None:
        """Draw a thin line."""
        place = f'x1="{begin[0]:.2f}" y1="{begin[1]:.2f}" x2="{end[0]:.2f}" y2="{end[1]:.2f}"'
        self._parts.append(f'<line {place} stroke="{colour}"/>')

    def text(
        self,
        at: tuple[float, float],
        text: str,
        colour: str = TEXT_COLOUR,
        anchor: str = "start",
        most: int = 200,
        size: int = 12,
    ) -> None:
        """Write a line of text, its baseline at a point; what is longer than `most` characters is cut."""
        shown = text if len(text) <= most else f"{text[: most - 3]}..."
        place = f'x="{at[0]:.2f}" y="{at[1]:.2f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
        tip = _title(text) if shown != text else ""
        self._parts.append(f'<text {place} xml:space="preserve">{tip}{_escaped(shown)}</text>')

    def __str__(self) -> str:
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="ui-monospace, monospace">'
        # Its own ground: what shows it may be dark
        ground = '<rect width="100%" height="100%" fill="#fff"/>'
        return "\n".join([head, ground, *self._parts, "</svg>"])

    def __repr__(self) -> str:
        return f"<picture of {self.width:.0f} x {self.height:.0f} px; save(path) writes it as SVG>"

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            The file, ``.svg``; an existing one is replaced.
        """
        Path(path).write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{self}\n', encoding="utf-8")


def _escaped(text: str) -> str:
    return html.escape(re.sub(_NOT_XML, "?", text), quote=False)


def _title(tip: str) -> str:
    return f"<title>{_escaped(tip)}</title>" if tip else ""
