"""The examples of fits in compiled code: what they find, beside the truth and other ways to it; their pictures."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily, not_daily
from tapegrad.cli import EXAMPLES, main
from tapegrad.examples import cluster, logistic, reaction, spots

ROOT = Path(__file__).parents[2]


def truth_of(example: Any) -> np.ndarray:
    return np.array(list(example.TRUTH.values()))


@not_daily
def test_errors_of_spots_are_as_small_as_they_can_be() -> None:
    (images,) = spots.observe(2000)
    found = spots.fit(images)
    assert found.success.all()
    errors = spots.errors_and_bounds(found)[0]
    np.testing.assert_allclose(np.std(errors, axis=0), 1.0, atol=0.07)
    np.testing.assert_allclose(np.mean(errors, axis=0), 0.0, atol=0.12)
    expected = np.sqrt(np.einsum("ijj->ij", found.cov))
    np.testing.assert_allclose(
        np.median(spots.bounds_of_errors(spots.true_parameters(2000)) / expected), 1, 0.02
    )


def test_bounds_of_spots_are_those_of_differences() -> None:
    truth, step = spots.true_parameters(1)[0], 1e-6
    ends = [truth + sign * step * np.eye(truth.size) for sign in (1, -1)]
    slopes = (spots.images_of(ends[0]) - spots.images_of(ends[1])).reshape(truth.size, -1) / (2 * step)
    covariance = np.linalg.inv(slopes @ slopes.T) * spots.NOISE**2
    np.testing.assert_allclose(spots.bounds_of_errors(truth[None])[0] ** 2, np.diag(covariance), rtol=1e-6)


def test_rates_of_the_reaction_are_found() -> None:
    data = reaction.observe()
    estimate = reaction.fit(*data)
    assert np.all(np.abs(estimate.parameters - truth_of(reaction)) < 3 * estimate.errors)
    assert np.all(estimate.errors < 0.1)


@pytest.mark.parametrize("by", [0, 1])
def test_sensitivities_of_the_reaction_are_those_of_differences(by: int) -> None:
    at = [truth_of(reaction), np.array([0.05, 0.5, 2.0])]
    directions, step = np.eye(at[by].size), 1e-4

    def along(direction: np.ndarray) -> np.ndarray:
        ends = [[*at[:by], at[by] + h * direction, *at[by + 1 :]] for h in (step, -step)]
        difference: np.ndarray = (reaction.solution(*ends[0]) - reaction.solution(*ends[1])) / (2 * step)
        return difference

    expected = np.stack([along(direction) for direction in directions], axis=-1)
    for transform in (tg.jacfwd, tg.jacrev):
        found = transform(tg.jit(lambda p, t: reaction.concentrations(p, t)), by)(*at)
        np.testing.assert_allclose(found, expected, atol=2e-5)


def test_the_best_of_many_fits_is_the_signal() -> None:
    data = cluster.observe()
    with ThreadPoolExecutor(1) as executor:
        best = cluster.minimise(executor, *data, count=150)
    assert best.all_fun.max() > 2 * best.fun
    estimate = cluster.estimate_of(best.x, *data)
    assert np.all(np.abs(estimate.parameters - truth_of(cluster)) < 3 * estimate.errors)


def test_the_posterior_is_that_of_importance_sampling() -> None:
    pytest.importorskip("nutpie")
    data = logistic.observe()
    estimate, normal = logistic.fit(*data), logistic.laplace(*data)
    assert np.all(np.abs(estimate.parameters - truth_of(logistic)) < 3 * estimate.errors)
    points = np.random.default_rng(0).multivariate_normal(normal.parameters, 1.2 * normal.covariance, 20_000)
    off = points - normal.parameters
    proposed = -0.5 * np.einsum("ij,ij->i", off @ np.linalg.inv(1.2 * normal.covariance), off)
    density = tg.vmap(logistic.log_posterior, in_axes=(0, None, None))(points, *data) - proposed
    weights = np.exp(density - density.max())
    mean = np.average(points, axis=0, weights=weights)
    np.testing.assert_allclose(estimate.parameters, mean, atol=0.01)
    spread = np.sqrt(np.average((points - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(estimate.errors, spread, rtol=0.06)


def test_without_nutpie_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", None)
    assert main(["example", "logistic"]) == 2
    assert "pip install 'nutpie" in capsys.readouterr().err


def test_chains_that_do_not_agree_are_seen() -> None:
    chains = np.random.default_rng(0).standard_normal((4, 500, 2))
    assert np.all(logistic.reduction_of_scale(chains) < 1.02)
    chains[0, :, 1] += 1.0
    assert logistic.reduction_of_scale(chains)[1] > 1.02


@daily(every=2)
@pytest.mark.parametrize(
    ("arguments", "lines"),
    [(["reaction"], 5), (["spots", "--count", "300"], 7), (["logistic"], 10), (["cluster"], 7)],
)
def test_the_command_prints_and_draws(
    arguments: list[str], lines: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments == ["logistic"]:
        pytest.importorskip("nutpie")
    file = tmp_path / "picture.svg"
    assert main(["example", *arguments, "--plot", str(file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines
    assert "<svg" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["survival", "--count", "9"], "--count is for spots"), (["spots", "--count", "0"], "must be positive")],
)
def test_counts_that_cannot_be(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["example", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_gallery_shows_each_example() -> None:
    for name in EXAMPLES:
        assert (ROOT / f"tapegrad/examples/pictures/{name}.svg").is_file()
        script = ROOT / "docs" / "gallery" / "methods" / f"{name}.py"
        assert f"tapegrad.examples.{name}" in (text := script.read_text(encoding="utf-8")) or (
            f"from tapegrad.examples import {name}" in text
        )
