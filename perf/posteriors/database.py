"""Data and reference draws of a copy of posteriordb, and those of the cases that are in this tree."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from perf.posteriors.effective import summary

SMALL = Path(__file__).parent / "data"
Summaries = dict[str, dict[str, float]]


def _unzipped(file: Path) -> str:
    with zipfile.ZipFile(file) as archive:
        return archive.read(archive.namelist()[0]).decode()


def data_json(folder: Path, name: str) -> str:
    """Return the data of a posterior as a copy of posteriordb has them."""
    return _unzipped(folder / "posterior_database/data/data" / f"{name.split('-')[0]}.json.zip")


def data(folder: Path | None, name: str) -> dict[str, Any]:
    """Return the data of a posterior, from a copy of posteriordb or (`None`) from this tree."""
    found = json.loads(data_json(folder, name)) if folder else _small(name)["data"]
    return {key: np.array(value, float) if isinstance(value, list) else value for key, value in found.items()}


def _small(name: str) -> dict[str, Any]:
    return json.loads((SMALL / f"{name}.json").read_text())  # type: ignore[no-any-return]


def reference(folder: Path | None, name: str) -> Summaries:
    """Return a summary of the reference draws of each variable."""
    if folder is None:
        return _small(name)["reference"]  # type: ignore[no-any-return]
    drawn = folder / "posterior_database/reference_posteriors/draws/draws" / f"{name}.json.zip"
    chains = json.loads(_unzipped(drawn))
    return {variable: summary(np.array([each[variable] for each in chains])) for variable in chains[0]}


def named(variables: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return draws by the names that reference draws have: ``theta[1]`` for the first element.

    `variables` are arrays of shape (chains, draws, ...).
    """
    found = {}
    for name, draws in variables.items():
        for index in np.ndindex(draws.shape[2:]):
            label = ",".join(str(i + 1) for i in index)
            found[f"{name}[{label}]" if label else name] = draws[(..., *index)]
    return found
