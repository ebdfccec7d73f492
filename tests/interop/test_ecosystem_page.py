"""The page of other packages: code that is not run while the site is built runs where its package is installed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "ecosystem.md").read_text()
(FIRST, *LATER) = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(OF_A_PART,) = [cell for cell in LATER if "def part_loss" in cell]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PACKAGES = [re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE) for block in BLOCKS]
X = np.ones(2)


def is_expected(package: str, names: dict[str, Any]) -> bool:
    """Return whether a block has found what it is about."""
    if package == "jax":
        return bool(np.array_equal(names["jax"].jit(names["jax"].grad(names["f"]))(X), 2 * X))
    if package == "torch":
        return bool(np.array_equal(names["weights"].grad, 2 * X))
    if "fit" in names:  # of a sum over parts
        x = names["fit"].x
        return bool(abs(x["rate"] - 0.40) < 0.05)
    if package == "distributed":
        return bool(np.allclose(names["fits"].x[:, 0], np.linspace(0.5, 1.5, 1000)))
    if package == "pyceres":
        return bool(abs(names["rate"][0] - 0.40) < 0.05)
    if package == "gtsam":
        return bool(abs(names["found"][1] - 0.40) < 0.05)
    if package == "pyomo":
        return bool(np.isclose(names["m"].goal(), names["loss"](names["x0"])))
    if package == "pymc":
        return abs(float(names["trace"].posterior["rate"].mean()) - 0.38) < 0.05
    return abs(float(names["trace"].posterior["rate"].mean()) - 0.40) < 0.05


@pytest.mark.filterwarnings("ignore")  # of the packages
@pytest.mark.parametrize(
    ("block", "packages"),
    list(zip(BLOCKS, PACKAGES, strict=True)),
    ids=["-".join(names) for names in PACKAGES],
)
def test_a_block_of_the_page_runs(
    block: str, packages: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for package in packages:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(FIRST, names)
    if "part_loss" in block:
        exec(OF_A_PART, names)
    exec(block, names)
    assert is_expected(packages[-1], names)


def test_every_package_of_the_project_has_its_lines() -> None:
    """Each extra that brings another library is on the page; the others are for the sources, and for a solver."""
    for name in (
        "Ceres Solver",
        "Dask",
        "GTSAM",
        "JAX",
        "NLopt",
        "PyArrow",
        "PyMC",
        "PyTorch",
        "Pyomo",
        "Ray",
        "emcee",
        "iminuit",
        "lmfit",
        "mpi4py",
        "nutpie",
        "pandas",
        "xarray",
        "zarr",
    ):
        assert f"**{name}**" in PAGE
