"""Lambert's function W, which solves ``W*exp(W) = x``: its two real branches, 0 and -1.

Near the branch point -1/e it is a power series in ``p = sqrt(2*(e*x + 1))`` (Corless, Gonnet, Hare, Jeffrey, Knuth, On
the Lambert W function, 1996, 4.22), elsewhere three steps of fourth order (Fritsch, Shafer, Crowley, CACM algorithm
443, 1973).
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import is_nan, larger, select, sqrt
from tapegrad.engine.codegen.mathematics.logarithm import log, log1p
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

_BRANCH = -0.36787944117144233  # -1/e, and what it lacks
_REST = -1.2428753672788363e-17
_TWO_E = 5.436563656918091
_SHIFT = 138.62943611198907  # log(2**200), by which numbers that are nearly subnormal are scaled
_NEAR = 0.0225  # of x from the branch point: p is at most 0.35
# W as a polynomial in p, for |p| <= 0.35: to 2**-52
SERIES = (
    -1.0, 1.0, -0.3333333333333333, 0.1527777777777778,
    -0.07962962962962963, 0.044502314814814814, -0.02598471487360376, 0.01563563253233392,
    -0.009616892024299432, 0.006014543252956118, -0.0038112980348919993, 0.0024408779911439826,
    -0.0015769303446867841, 0.0010262633205076071, -0.0006720616311561362, 0.0004424730618146209,
    -0.00029267722472962746, 0.00019438727605453933, -0.00012957426685274883, 8.665035805208128e-05,
    -5.811360750441382e-05, 3.907668486743905e-05, -2.63380647472311e-05, 1.7790345805079586e-05,
)  # fmt: skip


def _distance(x: Value) -> Value:
    """Return ``x + 1/e``, which is exact but for its last rounding."""
    return (x - _BRANCH) + _REST


def _improved(w: Value, x: Value, shift: Value | float = 0.0) -> Value:
    """Return W of ``x*exp(-shift)`` from a value close to it."""
    for _ in range(3):
        z = (log(x / w) - w) - shift
        q = 2.0 * (w + 1.0) * (w + 1.0 + z * (2.0 / 3.0))
        w = w + w * (z / (w + 1.0)) * ((q - z) / (q - 2.0 * z))
    return w


def _joined(x: Value, distance: Value, sign: float, far: Value) -> Value:
    p = sign * sqrt(larger(distance, 0.0) * _TWO_E)
    nan = x.like(float("nan"))
    return select(distance < _NEAR, select(distance < 0.0, nan, polynomial(p, SERIES)), far)


def lambertw0(x: Value) -> Value:
    """Compute the branch that is 0 at 0; to 2 units in the last place, nan below -1/e."""
    distance = _distance(x)
    inside = select(distance < _NEAR, x.like(1.0), x)
    length = log1p(inside)
    guess = length * (1.0 - log1p(length) / (length + 2.0))
    tiny = (inside < 1e-17) & (inside > -1e-17)
    finite = inside < float("inf")
    safe = select(tiny, x.like(1.0), inside)
    found = select(finite, _improved(select(tiny, x.like(0.5), guess), safe), inside)
    return _joined(x, distance, 1.0, select(tiny, inside, found))


def lambertwm1(x: Value) -> Value:
    """Compute the branch that goes to minus infinity at 0; to 2 units in the last place, nan outside of [-1/e, 0]."""
    distance = _distance(x)
    inside = select((distance < _NEAR) | (x >= 0.0), x.like(-0.125), x)
    length = log(-inside)
    small = inside > -1e-280
    scale, shift = select(small, x.like(2.0**200), 1.0), select(small, x.like(_SHIFT), 0.0)
    found = _improved(length - log(-length), inside * scale, shift)
    ends = select(x < 0.0, found, select(x > 0.0, x.like(float("nan")), x.like(float("-inf"))))
    return _joined(x, distance, -1.0, select(is_nan(x), x, ends))
