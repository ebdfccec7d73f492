"""Bundle adjustment: its files, and scenes that are drawn."""

from pathlib import Path

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.examples.bundle_adjustment import NOISE, Scene, draw_scene, project, read, write


@pytest.fixture(scope="module")
def scenes() -> tuple[Scene, Scene]:
    return draw_scene(cameras=4, points=60, observations=200)


def test_files_are_read_as_they_were_written(scenes: tuple[Scene, Scene], tmp_path: Path) -> None:
    write(tmp_path / "scene.txt", scenes[1])
    for found, written in zip(read(tmp_path / "scene.txt"), scenes[1], strict=True):
        np.testing.assert_array_equal(found, written)


def test_a_file_of_the_public_format_is_read(tmp_path: Path) -> None:
    """Its observations stand in lines of four, and its parameters in lines of one."""
    file = tmp_path / "problem.txt"
    parameters = "\n".join(f"{0.25 * k:e}" for k in range(2 * 9 + 3))
    file.write_text(f"2 1 2\n0 0     -3.5e+00 1.25e+00\n1 0 4.0e+00 2.0e+00\n{parameters}\n")
    scene = read(file)
    assert (scene.camera.tolist(), scene.point.tolist()) == ([0, 1], [0, 0])
    np.testing.assert_array_equal(scene.seen, [[-3.5, 1.25], [4.0, 2.0]])
    np.testing.assert_array_equal(scene.cameras.ravel(), 0.25 * np.arange(18))
    np.testing.assert_array_equal(scene.points, [[4.5, 4.75, 5.0]])
    file.write_text("2 1 2\n0 0 1 1\n")
    with pytest.raises(ValueError, match=r"7 numbers, not those that its first line announces"):
        read(file)


def test_cameras_see_along_the_negative_axis_and_turn_points() -> None:
    camera = np.array([[0, 0, np.pi / 2, 0, 0, 0, 100.0, 0, 0], [0, 0, 0, 1.0, 0, 0, 100.0, 0.5, 0.25]])
    found = [np.asarray(each) for each in project(camera, np.array([[1.0, 2, -4], [1.0, 0, -2]]))]
    # (1, 2) turned by 90 degrees is (-2, 1); (2, 0, -2) is seen at 1, distorted by 1 + 1/2 + 1/4
    np.testing.assert_allclose(found, [[-50, 175], [25, 0]], atol=1e-9)


def test_an_adjustment_reaches_the_noise_and_scipys_cost(scenes: tuple[Scene, Scene]) -> None:
    truth, scene = scenes
    fit = scene.adjust(xtol=1e-12, ftol=1e-12)
    assert fit.success
    freedom = fit.jac.shape[0] - fit.jac.shape[1] + 7
    assert np.sqrt(2 * fit.cost / freedom) == pytest.approx(NOISE, rel=0.15)
    start = {"cameras": truth.cameras, "points": truth.points}
    other = tg.optimize.least_squares(scene.residuals, start, x_scale="jac", ftol=1e-12)
    assert fit.cost == pytest.approx(other.cost, rel=1e-6)
    dense = tg.optimize.least_squares(scene.residuals, start, method="native", ftol=1e-12)
    assert fit.cost == pytest.approx(dense.cost, rel=1e-6)
