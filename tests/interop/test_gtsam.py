"""`tg.interop.gtsam`: factors beside GTSAM's own, and graphs that are optimised."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

gtsam = pytest.importorskip("gtsam")
GROUPS = ["Pose2", "Pose3", "Rot2", "Rot3", "SO3", "SO4", "SL4", "Similarity2", "Similarity3", "Gal3"]


def noise(size: int, sigma: float = 1.0) -> Any:
    return gtsam.noiseModel.Isotropic.Sigma(size, sigma)


def values_of(*each: Any) -> Any:
    values = gtsam.Values()
    for key, value in enumerate(each):
        values.insert(key, value)
    return values


def optimum(factors: Any, start: Any) -> Any:
    graph = gtsam.NonlinearFactorGraph()
    for factor in factors:
        graph.add(factor)
    settings = gtsam.LevenbergMarquardtParams()
    settings.setRelativeErrorTol(1e-14)
    settings.setAbsoluteErrorTol(1e-14)
    return gtsam.LevenbergMarquardtOptimizer(graph, start, settings).optimize()


def check_like(factor: Any, own: Any, values: Any) -> None:
    """Compare errors and Jacobians of two factors."""
    np.testing.assert_allclose(factor.unwhitenedError(values), own.unwhitenedError(values), atol=1e-13)
    for found, expected in zip(
        factor.linearize(values).jacobian(), own.linearize(values).jacobian(), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@tg.jit
def logarithm(a: Any, b: Any, measured: Any) -> Any:
    """Return the logarithm of ``measured^-1 a^-1 b`` for matrices of `Pose2`: the error of GTSAM's factor."""
    d = np.linalg.inv(measured) @ np.linalg.inv(a) @ b
    angle = np.arctan2(d[1, 0], d[0, 0])
    half = angle / 2
    scale = half / np.tan(half)
    return np.stack([scale * d[0, 2] + half * d[1, 2], scale * d[1, 2] - half * d[0, 2], angle])


def test_vectors_are_those_of_gtsam() -> None:
    rng = np.random.default_rng(0)
    step, start = rng.normal(size=(2, 4))
    difference = tg.jit(lambda a, b, measured: b - a - measured)
    between = tg.interop.gtsam(difference, [0, 1], noise(4, 0.3), np.zeros(4), np.zeros(4), args=[step])
    prior = tg.interop.gtsam(lambda x: x - start, [0], noise(4, 0.1), np.zeros(4))
    own = (
        gtsam.BetweenFactorVector(0, 1, step, noise(4, 0.3)),
        gtsam.PriorFactorVector(0, start, noise(4, 0.1)),
    )
    values = values_of(*rng.normal(size=(2, 4)))
    for factor, expected in zip((between, prior), own, strict=True):
        check_like(factor, expected, values)
    found = optimum((between, prior), values)
    np.testing.assert_allclose(found.atVector(1), start + step, atol=1e-9)


def test_poses_around_a_square_are_those_of_gtsam() -> None:
    rng = np.random.default_rng(1)
    steps = [gtsam.Pose2(*(np.array([2.0, 0.0, np.pi / 2]) + 0.05 * rng.normal(size=3))) for _ in range(4)]
    pose = gtsam.Pose2()
    prior = gtsam.PriorFactorPose2(0, pose, noise(3, 0.1))
    pairs = [(k, (k + 1) % 4, step) for k, step in enumerate(steps)]
    factors = [
        tg.interop.gtsam(logarithm, [a, b], noise(3, 0.2), pose, pose, args=[step.matrix()])
        for a, b, step in pairs
    ]
    own = [gtsam.BetweenFactorPose2(a, b, step, noise(3, 0.2)) for a, b, step in pairs]
    corners = [(0, 0, 0), (2, 0, 1.5), (2, 2, 3), (0, 2, -1.5)]
    start = values_of(*(gtsam.Pose2(*(corner + 0.1 * rng.normal(size=3))) for corner in corners))
    for factor, expected in zip(factors, own, strict=True):
        check_like(factor, expected, start)
    found, expected = (optimum([prior, *each], start) for each in (factors, own))
    for key in range(4):
        np.testing.assert_allclose(found.atPose2(key).matrix(), expected.atPose2(key).matrix(), atol=1e-7)


def test_poses_and_landmarks_are_those_of_gtsam() -> None:
    def bearing_range(pose: Any, landmark: Any, bearing: Any, distance: Any) -> Any:
        local = pose[:2, :2].T @ (landmark - pose[:2, 2])
        turned = np.stack(
            [bearing[0] * local[0] + bearing[1] * local[1], bearing[0] * local[1] - bearing[1] * local[0]]
        )
        return np.stack([np.arctan2(turned[1], turned[0]), np.linalg.norm(local) - distance])

    angle = gtsam.Rot2.fromAngle(0.4)
    pose, landmark = gtsam.Pose2(0.3, -0.2, 0.5), gtsam.Point2(2.0, 1.5)
    own = gtsam.BearingRangeFactor2D(0, 1, angle, 1.7, noise(2))
    bearing = np.array([angle.c(), angle.s()])
    factor = tg.interop.gtsam(bearing_range, [0, 1], noise(2), pose, landmark, args=[bearing, 1.7])
    check_like(factor, own, values_of(pose, landmark))


@pytest.mark.parametrize("name", GROUPS)
def test_jacobians_are_by_tangents(name: str) -> None:
    kind, rng = getattr(gtsam, name), np.random.default_rng(2)
    x = kind.Expmap(0.4 * rng.normal(size=kind.Dim()))
    weights = rng.normal(size=(2, *x.matrix().shape))

    def error(matrix: Any, scale: Any) -> Any:
        return np.sin(np.sum(weights * matrix, axis=(1, 2))) * scale

    factor = tg.interop.gtsam(error, [0, 1], noise(2), kind(), 1.0)
    values = values_of(x, 1.5)
    step = 1e-5
    slopes = [
        (error(x.retract(step * axis).matrix(), 1.5) - error(x.retract(-step * axis).matrix(), 1.5))
        / (2 * step)
        for axis in np.eye(x.dim())
    ]
    jacobian, minus_error = factor.linearize(values).jacobian()
    np.testing.assert_allclose(jacobian[:, :-1], np.transpose(slopes), atol=1e-8)
    np.testing.assert_allclose(jacobian[:, -1], error(x.matrix(), 1.0), rtol=1e-14)
    np.testing.assert_allclose(minus_error, -error(x.matrix(), 1.5), rtol=1e-14)


def test_errors_that_are_not_finite_are_raised() -> None:
    factor = tg.interop.gtsam(lambda x: np.log(x), [0], noise(1), np.ones(1))
    with pytest.raises(
        FloatingPointError, match=r"interop\.gtsam: .* is not finite at the values of the keys \[0\]"
    ):
        optimum([factor], values_of(np.full(1, -1.0)))


def test_what_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"values of type Unit3 have no derivatives here; pass vectors .* Pose2"
    ):
        tg.interop.gtsam(lambda x: x, [0], noise(2), gtsam.Unit3())
    with pytest.raises(TypeError, match="values of type list"):
        tg.interop.gtsam(lambda x: x, [0], noise(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="2 keys, but 1 examples"):
        tg.interop.gtsam(lambda x: x, [0, 1], noise(2), np.zeros(2))
    with pytest.raises(ValueError, match=r"noise of dimension 3, but .*<lambda> returned 2 numbers"):
        tg.interop.gtsam(lambda x: x, [0], noise(3), np.zeros(2))
