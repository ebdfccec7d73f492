"""Template Model Builder's examples give TMB's numbers, and wrong ones are refused."""

import json
import shutil

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from perf.figures import FIGURES, Settings
from perf.figures import template_models as figure
from perf.peers import Unavailable
from perf.programs.template_model import MODELS, measure
from perf.report import figure_text
from perf.template_models import by_r, examples
from tapegrad.testing.timer import WrongAnswer

SETTINGS = Settings(quick=True)


@pytest.fixture(scope="module")
def herds():
    return examples.shipped("cbpp")


def test_quick_run_has_the_results_of_tmb() -> None:
    outcome = FIGURES["tmb"].measure(SETTINGS)
    assert [target.verdict for target in outcome.targets] == ["reached"] * 3
    text = figure_text(FIGURES["tmb"], outcome)
    for name in figure.SHIPPED:
        assert name in text


@pytest.mark.parametrize(
    ("part", "change"),
    [("estimates", 1.1), ("errors", 1.01), ("numbers", 1.0 + 1e-6)],
)
def test_wrong_results_are_refused(herds, part, change) -> None:
    wrong = {name: [change * each for each in values] for name, values in herds.results[part].items()}
    given = examples.Example(herds.data, herds.start, herds.random, herds.results | {part: wrong})
    with pytest.raises(WrongAnswer):
        measure("cbpp", given)


def test_nan_is_refused(herds) -> None:
    estimates, errors = (herds.vector(herds.results[name]) for name in ("estimates", "errors"))
    value = herds.results["numbers"]["value"][0]
    herds.check_fit(value, estimates, errors)
    with pytest.raises(WrongAnswer):
        herds.check_fit(value, estimates, errors * np.nan)
    with pytest.raises(WrongAnswer):
        herds.check_evaluations(lambda point: (np.nan, point))


def test_arrays_of_r_are_read_by_columns(tmp_path) -> None:
    np.array([1.0, 2, 3, 4, 5, 6]).tofile(tmp_path / "data.Z")
    np.array([2.0]).tofile(tmp_path / "data.terms.1 | group.blockSize")
    np.zeros(2).tofile(tmp_path / "start.beta")
    np.zeros(0).tofile(tmp_path / "start.none")
    shapes = {"data.Z": [2, 3], "data.terms.1 | group.blockSize": [1], "start.beta": [2], "start.none": [0]}
    kept = {"random": "", "estimates": {"beta": [1, 2]}, "errors": {"beta": [3, 4]}, "numbers": {}}
    (tmp_path / "results.json").write_text(json.dumps({"shapes": shapes, **kept}))
    found = examples.read(tmp_path)
    np.testing.assert_array_equal(found.data["Z"], [[1, 3, 5], [2, 4, 6]])
    np.testing.assert_array_equal(found.data["group"], [1, 1])
    assert list(found.start) == ["beta"]
    np.testing.assert_array_equal(found.points["above"], [1.3, 2.4])
    np.testing.assert_array_equal(found.parameters(np.array([7.0, 8.0]))["beta"], [7, 8])


def test_missing_r_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Unavailable, match="no Rscript"):
        by_r.check_installed()


def test_whole_run_asks_for_the_clone() -> None:
    with pytest.raises(Unavailable, match="git clone"):
        FIGURES["tmb"].measure(Settings())


# --- densities beside SciPy's, written the long way ------------------------------------------------------------------

LOGPDF = scipy.stats.multivariate_normal.logpdf


def test_correlated_walks_are_normal(rng: np.random.Generator) -> None:
    u, observed, rho = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), 0.6
    sds, noise = np.array([0.5, 1.0, 2.0]), np.array([0.7, 1.1, 0.9])
    covariance = rho ** np.abs(np.subtract.outer(range(3), range(3))) * np.outer(sds, sds)
    wanted = -LOGPDF(u[:, 0], np.zeros(3), np.eye(3))
    for k in range(1, 5):
        wanted -= LOGPDF(u[:, k] - u[:, k - 1], np.zeros(3), covariance)
        wanted -= LOGPDF(observed[:, k], u[:, k], np.diag(noise**2))
    p = {"u": u, "transf_rho": np.arctanh([rho]), "logsds": np.log(sds), "logsdObs": np.log(noise)}
    assert MODELS["mvrw_sparse"]({"obs": observed})(p) == pytest.approx(wanted, rel=1e-12)
