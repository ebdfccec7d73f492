"""The page about PyMC: its code runs, in its order, and finds what the page says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pymc")
pytest.importorskip("nutpie")

pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's own
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "pymc.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """The variables after all code of the page."""
    found: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    for block in blocks:
        exec(block, found)
    return found


def test_eight_schools(names: dict[str, Any]) -> None:
    assert abs(float(names["trace"].posterior["mu"].mean()) - 4.4) < 0.4
    assert abs(float(names["trace"].posterior["tau"].mean()) - 3.6) < 0.5
    assert list(names["trace"].posterior["theta"].coords["school"].values) == list("ABCDEFGH")


def test_falling_body(names: dict[str, Any]) -> None:
    posterior = names["fall"].posterior
    for name, truth in (("g", 9.81), ("k", 0.25), ("s", 0.2)):
        draws = posterior[name].to_numpy()
        assert abs(draws.mean() - truth) < 3 * draws.std()
        assert draws.std() < 0.15 * truth + 0.05


def test_text_of_the_page_is_that_of_the_model(names: dict[str, Any]) -> None:
    listing = re.search(
        r"^def log_density\(x\):\n.*?(?=^    \.\.\.)", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL
    )
    assert listing is not None
    assert names["compiled"].source.startswith(listing.group())


def test_graphs(names: dict[str, Any]) -> None:
    a = np.array([0.5, -1.0, 2.0])
    sigmoid = 1 / (1 + np.exp(-0.3 * a))
    by_a, by_b = names["h"](a, 0.3)
    np.testing.assert_allclose(by_a, 0.3 * sigmoid)
    np.testing.assert_allclose(by_b, np.sum(a * sigmoid))


def test_sites(names: dict[str, Any]) -> None:
    """The table of the page, and draws like those of 80,000 by NUTS over all variables."""
    assert names["fit"].summary().splitlines()[3:] == [
        "level                         0.150952          0.14",
        "effect                  60 of sd 0.727, errors 0.257 to 0.632",
        "sd                             0.87153         0.117",
    ]
    posterior = names["nuts"].posterior
    for name, mean, spread in (("level", 0.137, 0.146), ("sd", 0.920, 0.127)):
        draws = posterior[name].values
        assert abs(draws.mean() - mean) < 0.2 * spread
        assert abs(draws.std() / spread - 1) < 0.1
    empty = posterior["effect"].values[..., 0]
    assert abs(empty.mean() + 1.129) < 0.1 * 0.669
    np.testing.assert_allclose(np.quantile(empty, [0.025, 0.975]), [-2.568, 0.059], atol=0.15)
