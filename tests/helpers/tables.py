"""Tables of data that the gallery ships."""

import csv
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[2] / "docs" / "gallery" / "data"


def columns(name: str) -> dict[str, np.ndarray]:
    """Read a table of numbers: its columns by their names."""
    with (DATA / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}
