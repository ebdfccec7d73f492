"""Bundle adjustment: the cameras and the points of a scene, from the places at which the cameras see the points.

The model and the text format are those of the problems of [1]_. A file begins with the numbers of cameras, points and
observations. An observation has a camera, a point and two coordinates; then nine numbers of each camera follow, and
three of each point.

References
----------
.. [1] S. Agarwal, N. Snavely, S. M. Seitz, R. Szeliski, "Bundle adjustment in the large", European Conference on
   Computer Vision 2010; https://grail.cs.washington.edu/projects/bal.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tapegrad as tg
from tapegrad.examples.likelihood import Array

NOISE = 0.5  # of a coordinate, in pixels, of scenes that are drawn
FOCAL_LENGTH = 500.0
# Standard deviations of the starting point from the cameras (rotation, position, focal length, distortion), and points
_FROM_CAMERAS = np.array([0.01] * 3 + [0.02] * 3 + [5.0, 0.005, 0.005])
_FROM_POINTS = 0.05


class Scene(NamedTuple):
    """Observations of a scene, and where its cameras and points are, or are thought to be.

    Attributes
    ----------
    camera, point : numpy.ndarray, shape (m,)
        The number of the camera and of the point of each observation.
    seen : numpy.ndarray, shape (m, 2)
        Where the camera sees the point, in pixels from the middle of the picture.
    cameras : numpy.ndarray, shape (c, 9)
        Rotation vector, translation, focal length, and two coefficients of radial distortion.
    points : numpy.ndarray, shape (p, 3)
        Coordinates.
    """

    camera: Array
    point: Array
    seen: Array
    cameras: Array
    points: Array

    def residuals(self, p: dict[str, Any]) -> Any:
        """Compute where ``p["cameras"]`` see ``p["points"]``, less where they were seen."""
        x, y = project(p["cameras"][self.camera], p["points"][self.point])
        return [x - self.seen[:, 0], y - self.seen[:, 1]]

    def adjust(self, **options: Any) -> Any:
        """Fit cameras and points."""
        start = {"cameras": self.cameras, "points": self.points}
        return tg.optimize.least_squares(self.residuals, start, method="native", sparse=True, **options)


def _rotate(w: Any, x: Any) -> list[Any]:
    """Rotate points by rotation vectors (Rodrigues' formula)."""
    square = w[:, 0] ** 2 + w[:, 1] ** 2 + w[:, 2] ** 2 + 1e-12  # the angle's, never 0
    angle = tg.sqrt(square)
    sine, cosine = tg.sin(angle) / angle, tg.cos(angle)
    along = (w[:, 0] * x[:, 0] + w[:, 1] * x[:, 1] + w[:, 2] * x[:, 2]) * (1 - cosine) / square
    turned = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        turned.append(x[:, k] * cosine + (w[:, i] * x[:, j] - w[:, j] * x[:, i]) * sine + w[:, k] * along)
    return turned


def project(cameras: Any, points: Any) -> tuple[Any, Any]:
    """Compute where cameras see points, one camera for each point."""
    x, y, z = (value + cameras[:, 3 + k] for k, value in enumerate(_rotate(cameras[:, :3], points)))
    x, y = -x / z, -y / z
    square = x * x + y * y
    factor = cameras[:, 6] * (1 + square * (cameras[:, 7] + cameras[:, 8] * square))
    return factor * x, factor * y


def read(path: str | Path) -> Scene:
    """Read a problem from a text file.

    Raises
    ------
    ValueError
        If the file has not as many numbers as its first line says.
    """
    numbers = np.array(Path(path).read_text(encoding="ascii").split(), float)
    cameras, points, observations = (int(number) for number in numbers[:3])
    end = 3 + 4 * observations
    if len(numbers) != end + 9 * cameras + 3 * points:
        raise ValueError(f"{path}: {len(numbers)} numbers, not those that its first line announces")
    table, rest = numbers[3:end].reshape(-1, 4), numbers[end:]
    return Scene(
        table[:, 0].astype(int),
        table[:, 1].astype(int),
        table[:, 2:].copy(),
        rest[: 9 * cameras].reshape(-1, 9),
        rest[9 * cameras :].reshape(-1, 3),
    )


def write(path: str | Path, scene: Scene) -> None:
    """Write a problem to a text file."""
    lines = [f"{len(scene.cameras)} {len(scene.points)} {len(scene.seen)}"]
    for camera, point, (x, y) in zip(scene.camera, scene.point, scene.seen, strict=True):
        lines.append(f"{camera} {point} {float(x)!r} {float(y)!r}")
    lines += [repr(float(value)) for value in np.concatenate([scene.cameras.ravel(), scene.points.ravel()])]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def draw_scene(cameras: int, points: int, observations: int, seed: int = 0) -> tuple[Scene, Scene]:
    """Draw a scene, with noise in the observations; return it, and the same with a start for the adjustment."""
    draws = np.random.default_rng(seed)
    at = draws.uniform(-1, 1, (points, 3)) * [2.0, 2.0, 1.0]
    poses = np.zeros((cameras, 9))
    poses[:, 1] = np.linspace(-0.6, 0.6, cameras)
    poses[:, :3] += draws.normal(0, 0.05, (cameras, 3))
    poses[:, 3:6] = draws.normal([0.0, 0.0, -6.0], [0.2, 0.2, 0.3], (cameras, 3))
    poses[:, 6:] = draws.normal([FOCAL_LENGTH, -0.05, 0.0], [10.0, 0.01, 0.01], (cameras, 3))
    camera, point = _seen_by(cameras, points, observations, draws)
    exact = np.stack([np.asarray(each) for each in project(poses[camera], at[point])], axis=1)
    seen = exact + draws.normal(0, NOISE, exact.shape)
    truth = Scene(camera, point, seen, poses, at)
    return truth, truth._replace(
        cameras=poses + draws.normal(0, _FROM_CAMERAS, poses.shape),
        points=at + draws.normal(0, _FROM_POINTS, at.shape),
    )


def _seen_by(cameras: int, points: int, observations: int, draws: np.random.Generator) -> tuple[Array, Array]:
    """Draw for each point the cameras that see it, nearly as many for each; sorted by cameras."""
    counts = np.minimum(observations // points + (np.arange(points) < observations % points), cameras)
    first = np.argsort(draws.random((points, cameras)), axis=1)
    camera = np.concatenate([row[:count] for row, count in zip(first, counts, strict=True)])
    point = np.repeat(np.arange(points), counts)
    order = np.lexsort((point, camera))
    return camera[order], point[order]
