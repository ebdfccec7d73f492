"""Timings of a benchmark: as a table, a picture, and JSON."""

import json
import platform
from pathlib import Path

from tapegrad.engine.inspection.svg import FAINT_COLOUR, Picture
from tapegrad.engine.runtime.short_times import quantity as formatted
from tapegrad.program.traces.listing import Listing
from tapegrad.testing.timer import Timing

_OWN_COLOUR, _PEER_COLOUR, _SPREAD_COLOUR = "#4477aa", "#ee8866", "#222222"
_WIDTH, _MARGIN, _ROW, _LABEL, _BAR = 760, 12, 20, 230, 400  # pixels


class Benchmark(Listing[Timing]):
    """Benchmark of a function: a `Timing` for each quantity and contender. Printed, it is a table.

    Attributes
    ----------
    title : str
        Function, argument and versions.
    notes : tuple of str
        Contenders that were left out, with the reasons.
    versions : dict of str
        Versions of the libraries by their names.
    """

    versions: dict[str, str]

    def plot(self) -> Picture:
        """Draw the medians as bars, each with a line from the lower to the upper quartile.

        Returns
        -------
        Picture
            SVG: a notebook shows it, ``save(path)`` writes it. Bars of one quantity have one scale.
        """
        picture = Picture(_WIDTH, 2 * _MARGIN + _ROW * (1 + len(self) + len(self.notes)))
        picture.text((_MARGIN, _MARGIN + 12), self.title, size=11, most=108)
        for k, row in enumerate(self, 1):
            scale = _BAR / max(each.high for each in self if each.quantity == row.quantity)
            x, y = _MARGIN + _LABEL, _MARGIN + _ROW * k + 14
            colour = _OWN_COLOUR if row.name.startswith("tapegrad") else _PEER_COLOUR
            picture.text((x - 8, y), f"{row.quantity}, {row.name}", anchor="end")
            picture.rectangle((x, y - 11), (scale * row.median, _ROW - 6), colour, f"{row.median:.3g} s")
            picture.line((x + scale * row.low, y - 4), (x + scale * row.high, y - 4), _SPREAD_COLOUR)
            picture.text((x + scale * row.high + 6, y), formatted(1e9 * row.median))
        for k, note in enumerate(self.notes, len(self) + 1):
            picture.text((_MARGIN, _MARGIN + _ROW * k + 14), note, FAINT_COLOUR, most=100)
        return picture

    def save(self, path: str | Path) -> None:
        """Write all rounds as JSON that pyperf reads: ``python -m pyperf show``, ``hist`` and ``compare_to``.

        Each row is a benchmark of pyperf's with one run: the rounds are its values, the first call is its warm-up.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.
        """
        about = {f"{name}_version": number for name, number in self.versions.items()}
        about["platform"] = platform.platform()
        benchmarks = []
        for row in self:
            metadata = {"name": f"{row.quantity}, {row.name}", "unit": "second", "loops": row.calls}
            runs = [{"warmups": [(1, row.first)], "values": row.seconds}]
            benchmarks.append({"metadata": metadata, "runs": runs})
        suite = {
            "version": "1.0",
            "metadata": about,
            "benchmarks": benchmarks,
        }
        Path(path).write_text(json.dumps(suite, indent=1) + "\n", encoding="utf-8")

    def _head(self) -> tuple[str, ...]:
        return "", "contender", "minimum", "median", "spread", "of the fastest", "first call"

    def _cells(self, record: Timing) -> tuple[str, ...]:
        fastest = min(each.median for each in self if each.quantity == record.quantity)
        spread = f"{100 * (record.high - record.low) / record.median:.0f} %"
        minimum, median, first = (
            formatted(1e9 * each) for each in (record.minimum, record.median, record.first)
        )
        ratio = f"{record.median / fastest:.3g} x"
        return record.quantity, record.name, minimum, median, spread, ratio, first
