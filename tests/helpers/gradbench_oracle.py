"""Small inputs for all functions of the evals, with right outputs that no automatic differentiation has computed.

Derivatives are closed forms, complex steps (Squire and Trapp, 1998) through plain loops, and, where the complex step
does not go through SciPy's densities, differences.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal, wishart

from perf.workloads import Array

Case = tuple[str, str, Any, Any]  # module, function, input, output


def complex_step(function: Callable[[Any], Any], x: Array) -> Array:
    """Return derivatives of all outputs, the input last."""
    columns = [np.imag(function(x + 1e-30j * each.reshape(x.shape))) / 1e-30 for each in np.eye(x.size)]
    return np.stack(columns, axis=-1)


def _elementary(rng: Any) -> Iterator[Case]:
    yield "hello", "square", 3.0, 9.0
    yield "hello", "double", 3.0, 6.0
    x = rng.normal(size=30)
    yield "lse", "primal", {"x": x}, logsumexp(x)
    yield "lse", "gradient", {"x": x}, softmax(x)
    x, t = rng.normal(size=5), np.linspace(-1, 1, 9)
    powers = np.vander(t, 5, increasing=True)
    residuals = np.sign(t) - powers @ x
    yield "llsq", "primal", {"x": x, "n": 9}, 0.5 * residuals @ residuals
    yield "llsq", "gradient", {"x": x, "n": 9}, -residuals @ powers
    x = rng.uniform(size=6)
    yield "ode", "primal", {"x": x, "s": 3}, _stepped(x, 3)
    yield "ode", "gradient", {"x": x, "s": 3}, complex_step(lambda x: _stepped(x, 3)[-1], x)
    a = rng.uniform(size=(5, 5))
    given, value = {"A": a.ravel(), "ell": 5}, np.linalg.det(a)
    yield "det", "primal", given, value
    yield "det", "gradient", given, (value * np.linalg.inv(a).T).ravel()


def _stepped(x: Any, steps: int) -> Any:
    y, h = 0 * x, 2 / steps
    for _ in range(steps):
        slopes: list[Any] = []
        for share in (0, h / 2, h / 2, h):
            moved = y + share * slopes[-1] if slopes else y
            slopes.append(np.array([x[0], *(x[i] * moved[i - 1] for i in range(1, len(x)))]))
        y = y + h / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
    return y


def _clusters(rng: Any) -> Iterator[Case]:
    points = rng.uniform(size=(40, 3))
    centroids = points[-4:]
    squares = np.sum((points[:, None] - centroids) ** 2, axis=2)
    means = [points[squares.argmin(1) == k].mean(0) for k in range(4)]
    given = {"points": points, "centroids": centroids}
    yield "kmeans", "cost", given, squares.min(1).sum()
    yield "kmeans", "dir", given, centroids - means
    shapes = {"alpha": (2,), "mu": (2, 3), "q": (2, 3), "l": (2, 3)}
    x, parameters = rng.normal(size=(7, 3)), {name: rng.normal(size=n) for name, n in shapes.items()}
    given = parameters | {"d": 3, "k": 2, "n": 7, "x": x, "m": 1, "gamma": 1.2}
    slopes = {}
    for name, value in parameters.items():
        steps = 1e-5 * np.eye(value.size).reshape(-1, *value.shape)
        each = [_mixture(given | {name: value + s}) - _mixture(given | {name: value - s}) for s in steps]
        slopes[name] = np.array(each).reshape(value.shape) / 2e-5
    yield "gmm", "objective", given, _mixture(given)
    yield "gmm", "jacobian", given, slopes


def _mixture(given: Any) -> Any:
    """Logarithm of the posterior, from densities of covariances."""
    weights, total, below, d = np.log(softmax(given["alpha"])), 0.0, np.tril_indices(3, -1), given["d"]
    parts = []
    for weight, mean, q, rest in zip(weights, *(given[name] for name in ("mu", "q", "l")), strict=True):
        factor = np.diag(np.exp(q))
        factor[below] = rest  # with three rows, row by row is column by column
        precision = factor.T @ factor
        parts.append(weight + multivariate_normal.logpdf(given["x"], mean, np.linalg.inv(precision)))
        total += wishart.logpdf(precision, d + given["m"] + 1, np.eye(d) / given["gamma"] ** 2)
    return total + np.sum(logsumexp(parts, axis=0))


def _turn(w: Any) -> Any:
    """Rotate about an axis by a matrix exponential."""
    if not np.any(w):
        return np.eye(3)
    return expm(np.array([[0 * w[0], -w[2], w[1]], [w[2], 0 * w[0], -w[0]], [-w[1], w[0], 0 * w[0]]]))


def _seen(p: Any, feature: Any) -> Any:
    x = _turn(p[:3]) @ (p[11:14] - p[3:6])
    flat = x[:2] / x[2]
    radius = flat @ flat
    return p[14] * (flat * (1 + p[9] * radius + p[10] * radius**2) * p[6] + p[7:9] - feature)


def _bundle(rng: Any) -> Iterator[Case]:
    p, feature = rng.uniform(0.2, 1.0, size=15), rng.uniform(size=2)
    given = {"n": 2, "m": 3, "p": 15, "cam": p[:11], "x": p[11:14], "w": p[14], "feat": feature}
    reprojection = {"elements": _seen(p, feature), "repeated": 15}
    of_weights = {"element": 1 - p[14] ** 2, "repeated": 15}
    yield "ba", "objective", given, {"reproj_error": reprojection, "w_err": of_weights}
    entries = [*complex_step(lambda p: _seen(p, feature), p).ravel(), -2 * p[14]]
    columns = 2 * [*range(11), 22, 23, 24, 31]  # of the first camera, point and weight
    rows = [15 * k for k in range(30)]
    yield "ba", "jacobian", given, {"rows": [*rows, 465], "cols": [*columns, 45], "vals": entries}


def _hand(rng: Any) -> Iterator[Case]:
    bones, vertices = 22, 8
    model = {
        "bone_count": bones, "bone_names": [str(k) for k in range(bones)],
        "parents": [-1, *(int(rng.integers(k)) for k in range(1, bones))],
        "base_relatives": rng.uniform(-0.3, 0.3, (bones, 4, 4)) + np.eye(4),
        "inverse_base_absolutes": rng.uniform(-0.3, 0.3, (bones, 4, 4)) + np.eye(4),
        "base_positions": np.column_stack([rng.normal(size=(vertices, 3)), np.ones(vertices)]),
        "weights": rng.uniform(high=0.1, size=(vertices, bones)),
        "triangles": [[0, 1, 2], [2, 5, 7], [3, 4, 6]], "is_mirrored": False,
    }  # fmt: skip
    for name in ("base_relatives", "inverse_base_absolutes"):
        model[name][:, 3] = [0, 0, 0, 1]
    theta, measured = rng.uniform(-0.6, 0.6, 26), rng.normal(size=(4, 3))
    for us, chosen in ((np.empty((0, 2)), [0, 3, 7, 3]), (rng.uniform(size=(4, 2)), [0, 2, 1, 2])):
        data = {"model": model, "correspondences": chosen, "points": measured}
        given = {"theta": theta, "us": us, "data": data}
        yield "ht", "objective", given, _apart(theta, us, data).ravel()
        jacobian = complex_step(lambda p, us=us, data=data: _apart(p, us, data).ravel(), theta)
        if len(us):
            shifted = complex_step(
                lambda s, us=us, data=data: _apart(theta, us + s, data).ravel(), np.zeros(2)
            )
            jacobian = np.hstack([shifted, jacobian])
        yield "ht", "jacobian", given, jacobian


def _apart(theta: Any, us: Any, data: Any) -> Any:
    model, placed, moved = data["model"], [], 0.0
    angles = np.zeros((22, 3), theta.dtype)
    for finger, given in enumerate(theta[6:].reshape(5, 4)):
        bone = 2 + 4 * finger
        angles[bone, :2], angles[bone + 1, 0], angles[bone + 2, 0] = given[:2], given[2], given[3]
    homogeneous = model["base_positions"].T
    for bone, (x, z, y) in enumerate(angles):
        turned = np.eye(4, dtype=theta.dtype)
        turned[:3, :3] = _turn([0, 0, z]) @ _turn([0, y, 0]) @ _turn([x, 0, 0])
        local, parent = model["base_relatives"][bone] @ turned, model["parents"][bone]
        placed.append(local if parent < 0 else placed[parent] @ local)
        skinned = (placed[bone] @ model["inverse_base_absolutes"][bone] @ homogeneous)[:3]
        moved = moved + skinned * model["weights"][:, bone]
    where = (_turn(theta[:3]) @ moved).T + theta[3:6]
    if not len(us):
        return data["points"] - where[data["correspondences"]]
    corners = where[np.array(model["triangles"])[data["correspondences"]]]
    shares = np.column_stack([us, 1 - us.sum(1)])
    return data["points"] - np.einsum("ic,icj->ij", shares, corners)


def _lstm(rng: Any) -> Iterator[Case]:
    p, state = rng.normal(size=4 * 12 + 9), rng.normal(size=(4, 3))
    text = rng.integers(0, 2, (6, 3)).astype(float)
    given = {
        "main_params": p[:48].reshape(4, 12),
        "extra_params": p[48:].reshape(3, 3),
        "state": state,
        "sequence": text,
    }
    yield "lstm", "objective", given, _loss(p, state, text)
    yield "lstm", "jacobian", given, complex_step(lambda p: _loss(p, state, text), p)


def _loss(p: Any, state: Any, text: Any) -> Any:
    """Character by character, and in it layer by layer."""
    main, extra, total, past = p[:48].reshape(2, 2, 4, 3), p[48:].reshape(3, 3), 0.0, [*state]
    for character, following in pairwise(text):
        z = character * extra[0]
        for k, (weight, bias) in enumerate(main):
            gates = np.array([z, past[2 * k], z, past[2 * k]]) * weight + bias
            forget, enter, out = 1 / (1 + np.exp(-gates[:3]))
            past[2 * k + 1] = past[2 * k + 1] * forget + enter * np.tanh(gates[3])
            past[2 * k] = z = out * np.tanh(past[2 * k + 1])
        y = z * extra[1] + extra[2]
        total = total - following @ (y - np.log(2 + np.exp(y).sum()))
    return total / (len(text) - 1) / 3


def _nested(_: Any) -> Iterator[Case]:
    """Both points of the saddle are where descent with the known gradient ends; no gradient is in the other answer."""
    ends, control = np.full(4, _descended()), brentq(_landing, 0.0, 0.5)
    for function in ("ff", "fr", "rf", "rr"):
        yield "saddle", function, {"start": [1.0, 1.0]}, ends
        yield "particle", function, {"w": 0.0}, control


def _descended() -> float:
    """Descend from (1, 1) on the sum of squares; both coordinates are the same."""
    x, rate, steps = 1.0, 1e-5, 0
    while 2 * np.sqrt(2) * x > 1e-5:
        if steps == 10:
            rate, steps = 2 * rate, 0
        elif rate * 2 * np.sqrt(2) * x <= 1e-5:
            break
        elif abs(x - 2 * rate * x) < x:
            x, steps = x - 2 * rate * x, steps + 1
        else:
            rate, steps = rate / 2, 0
    return x


def _landing(w: float) -> float:
    x, v, charges = np.array([0.0, 8.0]), np.array([0.75, 0.0]), np.array([[10.0, 10 - w], [10.0, 0.0]])
    while x[1] + 0.1 * v[1] > 0:
        apart = x - charges
        force = np.sum(apart / np.sum(apart**2, axis=1, keepdims=True) ** 1.5, axis=0)
        x, v = x + 0.1 * v, v + 0.1 * force
    return float(x[0] - x[1] / v[1] * v[0])


class _Short:
    """Random numbers of three decimals, which a file has in few digits."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self.integers = self._rng.integers

    def normal(self, size: Any) -> Array:
        return self._rng.normal(size=size).round(3)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Array:
        return self._rng.uniform(low, high, size).round(3)


def cases() -> Iterator[Case]:
    """Yield the cases, always the same ones."""
    rng = _Short()
    for kind in (_elementary, _clusters, _bundle, _hand, _lstm, _nested):
        yield from kind(rng)


def plain(value: Any) -> Any:
    """Return what a file of JSON has."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    names = isinstance(value, list) and isinstance(value[0], str)
    return value if names else np.asarray(value).tolist()
