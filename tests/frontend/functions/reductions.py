"""Cases of sums, means, products, extremes and variances, over all kinds of axes."""

import numpy as np

from helpers.functions import case, fixed, normal, uniform

FLAGS = np.array([True, False, True, True])
AXES = [{}, {"axis": 0}, {"axis": (-1, 0), "keepdims": True}]


def over(name, *shapes, axes=AXES, **options):
    """Cases of a function over some axes of each shape."""
    return [
        case(name, lambda xp, x, arguments=arguments: getattr(xp, name)(x, **arguments), shape, **options)
        for shape in shapes
        for arguments in axes
    ]


def chosen(name, **arguments):
    return case(
        name, lambda xp, x: getattr(xp, name)(x, **arguments), (3, 4), layouts=name not in ("max", "min")
    )


EXTREMES = ("max", "amin", "ptp")
CASES = [
    *(each for name in ("sum", "prod", "var") for each in over(name, (2, 3, 2))),
    *(each for name in ("mean", "std") for each in over(name, (2, 3, 2), axes=AXES[1:])),
    *(each for name in EXTREMES for each in over(name, (2, 3, 2), axes=AXES[1:], layouts=False)),
    # no dimension, lines of nothing
    *(each for name in ("sum", "prod", "max") for each in over(name, (), axes=[{"axis": -1}])),
    *(each for name in ("sum", "prod") for each in over(name, (0, 3), axes=[{"axis": 0}])),
    *(each for name in ("var", "ptp") for each in over(name, (0, 3), axes=[{"axis": 1}])),
    # which elements count, and with what to begin
    chosen("sum", axis=1, where=FLAGS, initial=np.float64(2.0)),
    chosen("mean", axis=0, where=FLAGS[:3, None]),
    chosen("prod", axis=(0, 1), where=FLAGS, initial=np.array(2.0), keepdims=True),
    chosen("max", axis=1, where=FLAGS, initial=np.float64(0.7)),
    chosen("min", axis=0, initial=0.7),
    case("sum", lambda xp, x: xp.sum(x, axis=0, dtype=np.float32), (3, 4), derivatives=0, tolerance=1e-6),
    chosen("var", axis=1, where=FLAGS),
    chosen("var", axis=(0, 1), where=FLAGS, ddof=2, keepdims=True),
    chosen("var", axis=0, ddof=1),
    chosen("std", axis=-1, correction=1.5),
    chosen("std", axis=0, where=FLAGS[:3, None], dtype=np.float64),
    case("var", lambda xp, x: xp.var(x, 1, mean=xp.mean(x, 1, keepdims=True)), (3, 4)),
    case("std", lambda xp, x, m: xp.std(x, 0, mean=m, where=FLAGS[:3, None], keepdims=True), (3, 4), (1, 4)),
    case("var", lambda xp, x: xp.var(x * 1e-3 + 1e6, ddof=1), (3, 4), dtypes=("float64",), tolerance=1e-9,
         layouts=False, derivatives=0),
    case("mean", lambda xp, x: x.mean(0) + x.var(0, ddof=1) * x.std(0), (3, 4), by_numpy=False),
    # zeros among factors
    case("prod", lambda xp, x: xp.prod(x, axis=1), fixed([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])),
    # averages
    case("average", lambda xp, x: xp.average(x), (2, 3)),
    case("average", lambda xp, x: xp.average(x, axis=0, weights=[1.0, 2.0]), (2, 3)),
    case("average", lambda xp, x: xp.average(x, 1, weights=np.array([1, 2, 1]), keepdims=True), (2, 3),
         dtypes=("float64",)),
    case("average", lambda xp, x, w: xp.average(x, axis=(0, -1), weights=w), (2, 3, 2), (2, 2)),
    case("average", lambda xp, x, w: xp.average(x, axis=(-1, 0), weights=w), (2, 3, 4), (4, 2)),
    case("average", lambda xp, x, w: xp.average(x, weights=w, returned=True), (2, 3), (2, 3)),
    case("average", lambda xp, x, w: xp.average(x, 1, weights=w, returned=True), (2, 3), (3,)),
    # covariances
    case("cov", lambda xp, x: xp.cov(x), (3, 5), dtypes=("float64",)),
    case("cov", lambda xp, x: xp.cov(x), (5,), dtypes=("float64",)),
    case("cov", lambda xp, x, y: xp.cov(x, y, rowvar=False, bias=True), (5, 2), (5, 1), dtypes=("float64",)),
    case("cov", lambda xp, x, y: xp.cov(x, y, ddof=0), (5,), (5,), dtypes=("float64",)),
    case("cov", lambda xp, x: xp.cov(x, fweights=[1, 2, 0, 1], aweights=[0.5, 1.0, 1.0, 2.0]), (2, 4),
         dtypes=("float64",)),
    case("cov", lambda xp, x: xp.cov(x, aweights=np.ones(4), ddof=0), (2, 4), dtypes=("float64",)),
    case("corrcoef", lambda xp, x: xp.corrcoef(x)[0, 1], normal(2, 5), dtypes=("float64",), by_numpy=False,
         layouts=False),
    case("corrcoef", lambda xp, x, y: xp.corrcoef(x, y)[[0, 0, 1], [1, 2, 2]], normal(2, 6), uniform(6),
         dtypes=("float64",), layouts=False),
]  # fmt: skip
