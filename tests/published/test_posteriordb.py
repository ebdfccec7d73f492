"""Posteriors of posteriordb: models, transforms, estimators and readers beside independent answers."""

import json
import math
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tapegrad as tg
from perf.figures import Settings
from perf.figures.posteriordb import MAX_DEVIATION, POSTERIORDB, check
from perf.peers import Unavailable
from perf.posteriors import database, densities, effective, plain
from perf.posteriors.cases import CASES, SMALL
from perf.posteriors.contenders import _places
from perf.posteriors.model import Model
from perf.posteriors.transforms import Ordered, Positive, PositiveOrdered, Simplex, Transform, UnitInterval
from perf.programs.posterior import refuse
from perf.report import figure_markdown

scipy_stats = pytest.importorskip("scipy.stats")

SERIES = np.array([3.1, 2.9, 8.0, 9.5, 4.2, 7.7])
DATA: dict[str, dict[str, object]] = {
    "earnings-logearn_interaction": {
        "earn": np.exp(SERIES), "height": SERIES + 60, "male": np.array([0.0, 1, 0, 1, 1, 0]),
    },
    "diamonds-diamonds": {
        "X": np.random.default_rng(0).normal(size=(6, 4)), "Y": SERIES,
    },
    "arK-arK": {"K": 2, "y": SERIES},
    "kidiq-kidscore_momhsiq": {
        "kid_score": SERIES, "mom_hs": np.array([0.0, 1, 0, 1, 1, 0]), "mom_iq": SERIES[::-1] + 90,
    },
    "garch-garch11": {"y": SERIES, "sigma1": 0.5},
    "low_dim_gauss_mix-low_dim_gauss_mix": {"y": SERIES - 5},
    "gp_pois_regr-gp_pois_regr": {"x": 4 * np.arange(6.0), "k": np.array([3.0, 1, 0, 2, 7, 4])},
    "bball_drive_event_0-hmm_drive_0": {"u": SERIES / 9, "v": SERIES / 5, "alpha": np.array([[4.0, 1], [2, 3]])},
    "hudson_lynx_hare-lotka_volterra": {
        "ts": np.array([1.0, 2.0]), "y_init": np.array([30.0, 4.0]), "y": np.array([[47.2, 6.1], [70.2, 9.8]]),
    },
    "one_comp_mm_elim_abs-one_comp_mm_elim_abs": {
        "t0": 0.0, "D": 30.0, "V": 2.0, "times": np.array([0.5, 1.0, 4.0]), "C_hat": np.array([3.0, 5.0, 4.0]),
    },
}  # fmt: skip


def _model(name: str) -> Model:
    return CASES[name](database.data(None, name) if name in SMALL else DATA[name])


def _point(model: Model) -> np.ndarray:
    start = np.concatenate([np.ravel(model.start[name]) for name in model.names])
    return start + np.random.default_rng(5).uniform(-0.4, 0.4, model.size)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_by_the_complex_step(name: str) -> None:
    model = _model(name)
    x = _point(model)
    value, gradient = tg.value_and_grad(tg.jit(lambda u: model.log_density(tg, model.split(u))))(x)
    plain.check(model, x[None], np.array([value]), np.asarray(gradient)[None])
    with pytest.raises(ArithmeticError, match="are off by"):
        plain.check(model, x[None], np.array([value]), 1.0001 * np.asarray(gradient)[None])
    differences = [
        (
            model.log_density(plain.PLAIN, model.split(x + h))
            - model.log_density(plain.PLAIN, model.split(x - h))
        )
        / 2e-5
        for h in 1e-5 * np.eye(len(x))
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize(
    "transform", [Positive((3,)), UnitInterval((2,)), Ordered((3,)), PositiveOrdered((3,)), Simplex((3,))]
)
def test_jacobians_of_transforms_are_those_of_their_derivatives(transform: Transform) -> None:
    u = np.array([0.3, -0.7, 0.5])[: transform.shape[0]]
    value, log_jacobian = transform.constrain(tg, u)
    moves = tg.jacobian(lambda u: transform.constrain(tg, u)[0])(u)
    assert np.isclose(log_jacobian, np.linalg.slogdet(moves[: len(u)])[1])
    assert np.all(np.asarray(value) > 0) or isinstance(transform, Ordered)
    if isinstance(transform, Simplex):
        assert np.isclose(np.sum(value), 1.0)
    elif not isinstance(transform, Positive | UnitInterval):
        assert np.all(np.diff(value) > 0)


def test_densities_are_scipys_up_to_constants() -> None:
    stats = scipy_stats

    def changes(own: list[float], other: list[float]) -> None:
        np.testing.assert_allclose(np.diff(own), np.diff(other))

    x, y = np.array([0.4, 1.3]), np.array([2.0, 0.7])
    pairs = [(x, 0.5), (y, 2.0)]
    changes(
        [densities.normal(np, v, 0.2, s) for v, s in pairs],
        [stats.norm.logpdf(v, 0.2, s).sum() for v, s in pairs],
    )
    changes(
        [densities.log_normal(np, np.log(v), 0.2, s) for v, s in pairs],
        [stats.lognorm.logpdf(v, s, scale=math.exp(0.2)).sum() for v, s in pairs],
    )
    changes(
        [densities.cauchy(np, v, 2.5) for v in (x, y)], [stats.cauchy.logpdf(v, 0, 2.5).sum() for v in (x, y)]
    )
    changes([densities.student(np, v, 3, 8, 10) for v in x], [stats.t.logpdf(v, 3, 8, 10) for v in x])
    changes([densities.gamma(np, v, 25, 4) for v in x], [stats.gamma.logpdf(v, 25, scale=0.25) for v in x])


def test_hidden_markov_model_is_the_sum_over_all_paths() -> None:
    data = {"y": SERIES}
    model = CASES["hmm_example-hmm_example"](data)
    values = []
    for shift in (0.0, 0.4):
        p = {
            "mu": np.array([3.0, 8.0 + shift]),
            "theta1": np.array([0.6, 0.4]),
            "theta2": np.array([0.2, 0.8]),
        }
        rows = np.stack([p["theta1"], p["theta2"]])
        total = 0.0
        for path in np.ndindex(*[2] * len(SERIES)):
            steps = math.prod(rows[a, b] for a, b in pairwise(path))
            total += steps * scipy_stats.norm.pdf(SERIES, p["mu"][list(path)]).prod()
        prior = scipy_stats.norm.logpdf(p["mu"], [3.0, 10.0]).sum()
        values.append((model.density(plain.PLAIN, p), math.log(total) + prior))
    assert np.isclose(values[1][0] - values[0][0], values[1][1] - values[0][1], rtol=1e-10)


def test_effective_size_of_an_autoregression() -> None:
    rng, rho = np.random.default_rng(3), 0.6
    draws = np.zeros((4, 20_000))
    noise = rng.normal(size=draws.shape)
    for t in range(1, draws.shape[1]):
        draws[:, t] = rho * draws[:, t - 1] + noise[:, t]
    expected = draws.size * (1 - rho) / (1 + rho)
    assert 0.9 < effective.effective(draws) / expected < 1.1
    assert 0.9 < effective.bulk(draws) / expected < 1.1
    own, sd = effective.summary(draws), 1 / math.sqrt(1 - rho**2)
    exact = {"mean": 0.0, "sd": sd, "mean_error": 0.0, "sd_error": 0.0}
    assert effective.deviation(own, exact) < MAX_DEVIATION
    assert effective.deviation(own, exact | {"sd": 1.05 * sd}) > MAX_DEVIATION
    assert effective.effective(draws + np.arange(4)[:, None] * 3) < 100  # chains that have not met


def test_database_is_read(tmp_path: Path) -> None:
    base, name = tmp_path / "posterior_database", "one-two"
    draws = np.random.default_rng(0).normal(size=(4, 100))
    files = {
        "data/data/one.json.zip": {"N": 2, "y": [1, 2]},
        f"reference_posteriors/draws/draws/{name}.json.zip": [{"x[1]": list(row)} for row in draws],
    }
    for file, content in files.items():
        (base / file).parent.mkdir(parents=True)
        with zipfile.ZipFile(base / file, "w") as archive:
            archive.writestr("x.json", json.dumps(content))
    data = database.data(tmp_path, name)
    assert data["N"] == 2
    assert data["y"].dtype == float
    assert database.reference(tmp_path, name)["x[1]"]["mean"] == pytest.approx(draws.mean())
    named = database.named({"x": draws[..., None], "z": draws, "w": np.zeros((4, 100, 2, 2))})
    assert list(named) == ["x[1]", "z", "w[1,1]", "w[1,2]", "w[2,1]", "w[2,2]"]


def test_elements_are_found_by_nutpies_labels() -> None:
    model = _model(SMALL[0])
    labels = ["theta_trans_0", "theta_trans_1", *(f"theta_trans_{k}" for k in range(2, 8)), "tau_log__", "mu"]
    assert list(_places(model, labels)) == [*range(2, 10), 1, 0]


def test_wrong_answers_are_refused() -> None:
    check("x", {"deviation": 1.0, "worst": "mu"})
    for deviation in (5.0, math.nan):
        with pytest.raises(AssertionError, match=r"mu is .* off the reference draws"):
            check("x", {"deviation": deviation, "worst": "mu"})
    values = np.array([1.0, 2.0, 4.0])
    refuse("values", values + 7, values, 1e-12)
    for wrong in (values * 1.1, values * math.nan):
        with pytest.raises(ArithmeticError, match="the values differ by"):
            refuse("values", wrong, values, 1e-3)
    with pytest.raises(ArithmeticError, match="the rows differ by"):
        refuse("rows", values[None] + 7, values[None], 1e-3)


def test_reference_summaries_say_where_they_come_from() -> None:
    for name in SMALL:
        found = json.loads((database.SMALL / f"{name}.json").read_text())
        assert "stan-dev/posteriordb" in found["source"]
        assert "BSD" in found["licence"]


def test_quick_run_gives_the_reference_answers() -> None:
    pytest.importorskip("nutpie")
    outcome = POSTERIORDB[0].measure(Settings(quick=True))
    assert outcome.targets[0].verdict == "reached"
    assert len(outcome.table) == 3
    assert "eight_schools" in figure_markdown(outcome)


def test_whole_run_asks_for_its_data_and_packages() -> None:
    with pytest.raises(Unavailable, match="left out"):
        POSTERIORDB[0].measure(Settings(without=frozenset({"nutpie"})))
    pytest.importorskip("nutpie")
    with pytest.raises(Unavailable, match="no posteriordb in the folder of data"):
        POSTERIORDB[0].measure(Settings())
