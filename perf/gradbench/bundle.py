"""Bundle adjustment (`ba`): errors of points seen by cameras, and their Jacobian as a sparse matrix.

A camera has 11 parameters: rotation (an axis times an angle), centre, focal length, principal point, and two of radial
distortion. Arrays have the observations on their last axis.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapegrad as tg
from perf.gradbench.served import Served, array
from perf.workloads import Array

CAMERA, BLOCK = 11, 15  # parameters of a camera; and with a point and a weight


@dataclass(frozen=True)
class Scene:
    """Cameras, points, weights and features, and which camera sees which point."""

    cameras: Array
    points: Array
    weights: Array
    features: Array
    seen_by: Array
    seen: Array

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Scene":
        """Repeat one camera, point, weight and feature, as the eval wants it."""
        count = np.arange(given["p"])
        repeats = (("cam", given["n"]), ("x", given["m"]), ("feat", given["p"]))
        cameras, points, features = (np.repeat(array(given[key])[:, None], n, axis=1) for key, n in repeats)
        weights = np.full(given["p"], float(given["w"]))
        return cls(cameras, points, weights, features, count % given["n"], count % given["m"])

    def observations(self) -> tuple[Any, ...]:
        """Return the camera and the point of each observation, its weight and its feature."""
        return self.cameras[:, self.seen_by], self.points[:, self.seen], self.weights, self.features


def _cross(a: Any, b: Any) -> Any:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rotated(rotation: Any, x: Any) -> Any:
    """Rotate by Rodrigues' formula; by nothing, to first order."""
    square = np.sum(rotation**2, axis=0)
    turns = square > 0
    angle = np.sqrt(np.where(turns, square, 1.0))
    axis, cosine, sine = rotation / angle, np.cos(angle), np.sin(angle)
    along = np.sum(axis * x, axis=0) * (1 - cosine)
    return np.where(turns, x * cosine + _cross(axis, x) * sine + axis * along, x + _cross(rotation, x))


def errors(camera: Any, x: Any, weight: Any, feature: Any) -> Any:
    """Differences between where cameras see points and where they should, of shape (2, observations)."""
    seen = rotated(camera[:3], x - camera[3:6])
    flat = seen[:2] / seen[2]
    radius = np.sum(flat**2, axis=0)
    distorted = flat * (1 + camera[9] * radius + camera[10] * radius**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def weight_errors(weight: Any) -> Any:
    return 1 - weight**2


def blocks(camera: Any, x: Any, weight: Any, feature: Any) -> Any:
    """Return derivatives of both errors of each observation, and of the errors of weights.

    No observation depends on the parameters of another one as they are given here, so that the gradient of a sum has
    the derivatives of its terms.
    """

    def total(camera: Any, x: Any, weight: Any, row: int) -> Any:
        return np.sum(errors(camera, x, weight, feature)[row])

    rows = [tg.grad(total, argnums=(0, 1, 2))(camera, x, weight, row) for row in (0, 1)]
    return rows, tg.grad(lambda w: np.sum(weight_errors(w)))(weight)


_errors = tg.jit(lambda c, x, w, feature: (errors(c, x, w, feature), weight_errors(w)))
_blocks = tg.jit(blocks)


def _objective(scene: Scene) -> Any:
    return _errors(*scene.observations())


def _jacobian(scene: Scene) -> tuple[Any, ...]:
    """Return the matrix by rows: where they begin, columns, values."""
    rows, by_weight = _blocks(*scene.observations())
    cameras, points, count = scene.cameras.shape[1], scene.points.shape[1], len(by_weight)
    values, columns = np.empty((BLOCK * 2 + 1) * count), np.empty((BLOCK * 2 + 1) * count, np.int32)
    table = values[: 2 * BLOCK * count].reshape(count, 2, BLOCK)
    places = columns[: 2 * BLOCK * count].reshape(count, 2, BLOCK)
    for row, (by_camera, by_point, by_own_weight) in enumerate(rows):
        table[:, row, :CAMERA], table[:, row, CAMERA:-1] = by_camera.T, by_point.T
        table[:, row, -1] = by_own_weight
    values[2 * BLOCK * count :] = by_weight
    last = CAMERA * cameras + 3 * points + np.arange(count)
    places[:, :, :CAMERA] = (CAMERA * scene.seen_by)[:, None, None] + np.arange(CAMERA)
    places[:, :, CAMERA:-1] = (CAMERA * cameras + 3 * scene.seen)[:, None, None] + np.arange(3)
    places[:, :, -1] = last[:, None]
    columns[2 * BLOCK * count :] = last
    begins = np.concatenate([BLOCK * np.arange(2 * count + 1), 2 * BLOCK * count + 1 + np.arange(count)])
    return begins, columns, values


def _first_errors(found: Any) -> dict[str, Any]:
    both, of_weights = found
    return {
        "reproj_error": {"elements": both[:, 0].tolist(), "repeated": both.shape[1]},
        "w_err": {"element": float(of_weights[0]), "repeated": len(of_weights)},
    }


def _first_entries(found: tuple[Any, ...]) -> dict[str, Any]:
    """Keep the entries of the first observation, and the last one, which is what the eval compares."""
    named = zip(("rows", "cols", "vals"), found, strict=True)
    return {name: [*each[: 2 * BLOCK].tolist(), each[-1].item()] for name, each in named}


BA = {
    "objective": Served(_objective, lambda given: (Scene.read(given),), _first_errors),
    "jacobian": Served(_jacobian, lambda given: (Scene.read(given),), _first_entries),
}
