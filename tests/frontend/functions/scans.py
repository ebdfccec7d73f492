"""Cases of running sums and products, differences and trapezoids."""

import numpy as np
from scipy.integrate import cumulative_trapezoid

from helpers.functions import ascending, case, fixed


def along(name, *arguments, shape=(2, 3, 2), **options):
    """Cases of a function with several arguments."""
    return [
        case(name, lambda xp, x, each=each: getattr(xp, name)(x, **each), shape, **options)
        for each in arguments
    ]


def integrated(xp, y, *arguments, **options):
    """SciPy's function, which has no way in for Tensors."""
    return (cumulative_trapezoid if xp is np else xp.cumulative_trapezoid)(y, *arguments, **options)


WITH_ZEROS = [[0.0, 2.0, 3.0, 4.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 1.0], [2.0, 3.0, 4.0, 0.0]]
CASES = [
    *along("cumsum", {}, {"axis": -2}),
    *along("cumprod", {}, {"axis": -2}),
    *(each for name in ("cumsum", "cumprod") for each in along(name, {"axis": 1}, shape=(2, 0))),
    *along("cumprod", {"axis": 0}, shape=()),
    case("cumprod", lambda xp, x: xp.cumprod(x, axis=0), fixed(WITH_ZEROS)),
    case("cumsum", lambda xp, x: x.cumsum(0) * x.cumprod(1), (2, 3), by_numpy=False),
    *along("cumulative_sum", {"axis": 1}, {"axis": 0, "include_initial": True}),
    *along("cumulative_prod", {"axis": -1}, {"axis": 1, "include_initial": True}),
    case("cumulative_sum", lambda xp, x: xp.cumulative_sum(x, include_initial=True), (3,)),
    # differences
    *along("diff", {"axis": 0}, {"n": 2, "axis": 1}, {"axis": 1, "prepend": 0.5, "append": 1.0}),
    case("diff", lambda xp, x: xp.diff(x, n=2, append=[1.0, 2.0]), (4,)),
    case("diff", lambda xp, x, y: xp.diff(x, axis=0, prepend=y), (2, 3), (1, 3)),
    case("diff", lambda xp, x: xp.diff(x, n=0) * 1.0, (4,)),
    case("diff", lambda xp, x: xp.diff(x, n=5), (4,)),
    case("ediff1d", lambda xp, x: xp.ediff1d(x), (2, 3)),
    case("ediff1d", lambda xp, x, y: xp.ediff1d(x, to_end=y, to_begin=[1, 2]), (2, 3), (2,)),
    case("ediff1d", lambda xp, x: xp.ediff1d(x, to_begin=-9.0), (1,)),
    # integrals
    *along("trapezoid", {}, {"axis": 0, "dx": 0.25}),
    case("trapezoid", lambda xp, y, x: xp.trapezoid(y, x), (2, 4), ascending(4)),
    case("trapezoid", lambda xp, y, x: xp.trapezoid(y, x, axis=0), (4, 2), ascending(4)),
    case("trapezoid", lambda xp, y, x: xp.trapezoid(y, x, axis=1), (2, 3, 2), (2, 3, 2)),
    case("trapezoid", lambda xp, y, dx: xp.trapezoid(y, dx=dx), (2, 4), (3,)),
    case("cumulative_trapezoid", lambda xp, y: integrated(xp, y), (2, 4), by_numpy=False),
    case("cumulative_trapezoid", lambda xp, y, x: integrated(xp, y, x, initial=0), (2, 4), ascending(4),
         by_numpy=False),
    case("cumulative_trapezoid", lambda xp, y, x: integrated(xp, y, x, axis=0, initial=0), (4, 2), (4, 2),
         by_numpy=False),
    case("cumulative_trapezoid", lambda xp, y: integrated(xp, y, dx=0.5, axis=-2), (3, 2), by_numpy=False),
]  # fmt: skip
