"""`quad`: definite integrals by adaptive Gauss-Kronrod quadrature, with derivatives by arguments and ends.

The search for intervals has no derivatives. The sum over the accepted ones has, and so has each end, by Leibniz' rule.

References: Piessens, de Doncker-Kapenga, Ueberhuber, Kahaner, "QUADPACK", Springer 1983: the rules, the estimate of the
error, and the transformation of infinite intervals. What QUADPACK extrapolates is bisected here.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import UnsupportedError, check_function, name_of
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.integrate.arguments import is_recording, known, numbers, plain, with_arguments
from tapegrad.loops.carry import leaf_of, real_leaf_of
from tapegrad.loops.scan import scanned
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.stop_gradient import stop_gradient

_EPSILON, _TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class Rule(NamedTuple):
    """Gauss-Kronrod rule on (-1, 1): nodes, weights, and weights of the Gauss rule within it."""

    nodes: np.ndarray
    weights: np.ndarray
    inner: np.ndarray


def _rule(nodes: list[float], weights: list[float], inner: list[float]) -> Rule:
    """Return a rule from its nodes that are not negative, in descending order."""
    gauss = np.zeros(len(nodes))
    gauss[1::2] = inner
    return Rule(
        np.array([*nodes, *(-x for x in nodes[-2::-1])]),
        np.array([*weights, *weights[-2::-1]]),
        np.array([*gauss, *gauss[-2::-1]]),
    )


_OF_21_NODES = _rule(
    [0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845, 0.7808177265864169,
     0.6794095682990244, 0.5627571346686047, 0.4333953941292472, 0.2943928627014602, 0.14887433898163122, 0.0],
    [0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996, 0.0931254545836976,
     0.10938715880229764, 0.12349197626206584, 0.13470921731147334, 0.14277593857706009, 0.1477391049013385,
     0.1494455540029169],
    [0.06667134430868814, 0.1494513491505806, 0.21908636251598204, 0.26926671930999635, 0.29552422471475287],
)  # fmt: skip
_OF_15_NODES = _rule(
    [0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945, 0.5860872354676911,
     0.4058451513773972, 0.20778495500789848, 0.0],
    [0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592, 0.1690047266392679,
     0.19035057806478542, 0.20443294007529889, 0.20948214108472782],
    [0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694],
)  # fmt: skip
# Gauss-Legendre rule on (0, 1), exact for derivatives of an end up to the sixth
_END_NODES, _END_WEIGHTS = np.polynomial.legendre.leggauss(3)
_END_NODES, _END_WEIGHTS = (0.5 + 0.5 * _END_NODES).tolist(), (0.5 * _END_WEIGHTS).tolist()


@hides_frames
def quad(  # noqa: PLR0913  SciPy's arguments
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
) -> tuple[Any, Any]:
    """Compute the integral of ``func(x, *args)`` from `a` to `b`, with the arguments of `scipy.integrate.quad`.

    Parameters
    ----------
    func : callable
        Takes a number and `args`, and returns a number. Plain NumPy code, recorded once. Tensors that it takes from
        around are differentiated by like `args`.
    a, b : float or Tensor
        Ends, which may be infinite. Where a Tensor is one in a recording, each way is recorded.
    args : tuple, optional
        Further arguments of `func`.
    full_output : int, default 0
        Not supported.
    epsabs, epsrel : float, default 1.49e-8
        The estimated error is at most ``max(epsabs, epsrel * abs(y))``.
    limit : int, default 50
        Most intervals.
    points : sequence of float, optional
        Where intervals end at first, between finite `a` and `b`: kinks and jumps of `func`.

    Returns
    -------
    y : float or Tensor
        The integral.
    abserr : float or Tensor
        Estimate of its error, a constant.

    Raises
    ------
    ValueError
        If `func` returns more than one number, `limit` is too small, or `points` are not between the ends.
    UnsupportedError
        With `full_output`.

    Warns
    -----
    IntegrationWarning
        SciPy's, outside of functions that are recorded, if `limit` intervals do not suffice.

    Notes
    -----
    Rules of 21 nodes, and of 15 nodes on infinite intervals, as QUADPACK's [1]_; the interval with the largest error is
    halved. QUADPACK extrapolates at singularities of the integrand; this does not, and takes more intervals there.

    Derivatives by `args` are those of the sum that is computed, with its intervals held constant; that by an end is the
    integrand there. Both have derivatives again.

    References
    ----------
    .. [1] R. Piessens, E. de Doncker-Kapenga, C. W. Ueberhuber, D. K. Kahaner, QUADPACK, Springer 1983.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def density(x, scale):
    ...     return np.exp(-0.5 * (x / scale) ** 2)
    >>> tg.integrate.quad(density, -np.inf, np.inf, args=(2.0,))[0] / np.sqrt(2 * np.pi)
    np.float64(2.0000000000000004)
    >>> def below(x, scale):
    ...     return tg.integrate.quad(density, 0.0, x, args=(scale,))[0]
    >>> value, (by_end, by_scale) = tg.value_and_grad(tg.jit(below), argnums=(0, 1))(1.0, 2.0)
    >>> np.round([value, by_end, np.exp(-1 / 8)], 6)
    array([0.959925, 0.882497, 0.882497])
    """
    check_function("quad", func)
    if full_output:
        raise UnsupportedError(
            "quad: full_output is not supported; the second result is the estimate of the error"
        )
    call = with_arguments("quad", func, args if isinstance(args, tuple) else (args,))
    begin, end = _end(a), _end(b)
    integrand = _Integrand(call, name_of(func), begin, end)
    edges = _edges(integrand, points)
    if limit < len(edges) - 1 or limit < 1:
        raise ValueError(f"quad: limit={limit} is too small for {len(edges) - 1} intervals")
    found = _search(integrand, edges, float(epsabs), float(epsrel), int(limit))
    value = _sum(integrand, found) + integrand.by_ends()
    _warn(found, limit)
    return _number(value), _number(stop_gradient(found.total_error))


def _end(value: Any) -> Any:
    """Return an end as a float or a Tensor of float64; an infinite one as a float."""
    if not is_tensor(value):
        return float(value)
    if value.ndim != 0:
        raise ValueError(f"quad: an end has shape {value.shape}, but must be one number")
    fixed = stop_gradient(value)
    if abs(fixed) == np.inf:
        return np.inf if fixed > 0 else -np.inf
    return value.astype(np.float64)


class _Integrand:
    """Integrand as a function on a finite interval, whose ends are constants.

    Attributes
    ----------
    rule
        The rule that it is integrated by.
    begin, end
        Ends of that interval.
    """

    def __init__(self, call: Callable[..., Any], name: str, a: Any, b: Any) -> None:
        self._call, self._name, self._ends = call, name, (a, b)
        self._infinite = tuple(not is_tensor(x) and np.isinf(x) for x in (a, b))
        self.rule = _OF_15_NODES if self.is_infinite else _OF_21_NODES
        self.begin: Any = 0.0 if self.is_infinite else stop_gradient(a)
        self.end: Any = 1.0 if self.is_infinite else stop_gradient(b)

    @property
    def is_infinite(self) -> bool:
        """True if an end is infinite."""
        return any(self._infinite)

    def at(self, x: Any) -> Any:
        """Return the user's function at a place."""
        value = real_leaf_of(self._call(x), f"quad: result of {self._name}")
        if value.size != 1:
            raise ValueError(f"quad: {self._name} returned shape {value.shape}, but must return one number")
        return value.reshape(()).astype(np.float64)

    def __call__(self, t: Any) -> Any:
        """Return the integrand at a place of the finite interval."""
        if not self.is_infinite:
            return self.at(t)
        far = (1 - t) / t
        if all(self._infinite):
            sign = float(np.sign(self._ends[1]) - np.sign(self._ends[0])) / 2
            return sign * (self.at(far) + self.at(-far)) / (t * t)
        which = 0 if self._infinite[0] else 1
        sign = float(np.sign(self._ends[which]))  # towards which it goes
        value = self.at(stop_gradient(self._ends[1 - which]) + sign * far) / (t * t)
        return value * sign * (1 if which else -1)

    def by_ends(self) -> Any:
        """Return zero, whose derivatives by an end are those of the integral."""
        total: Any = 0.0
        for end, sign in zip(self._ends, (-1.0, 1.0), strict=True):
            if is_tensor(end):
                fixed = stop_gradient(end)
                moved = end - fixed
                for x, weight in zip(_END_NODES, _END_WEIGHTS, strict=True):
                    total = total + sign * weight * moved * self.at(fixed + moved * x)
        return total


def _edges(integrand: _Integrand, points: Any) -> list[Any]:
    """Return the ends of the first intervals."""
    begin, end = integrand.begin, integrand.end
    if points is None or len(points) == 0:
        return [begin, end]
    if integrand.is_infinite:
        raise ValueError("quad: points need finite ends; write the integral as a sum")
    inner = np.unique(np.asarray(points, float))
    if known(begin) and known(end):
        first, last = float(numbers(begin)), float(numbers(end))
        if inner[0] < min(first, last) or inner[-1] > max(first, last):
            raise ValueError(f"quad: points are not between the ends {first} and {last}")
        inner = inner[::-1] if last < first else inner
    return [begin, *inner.tolist(), end]


class Intervals(NamedTuple):
    """Intervals of a search, in arrays of a fixed length.

    Attributes
    ----------
    begins, ends, values, errors
        Ends of each interval, its integral and the estimated error.
    count
        Number of intervals.
    halved
        Whether the last one could be halved.
    """

    begins: Any
    ends: Any
    values: Any
    errors: Any
    count: Any
    halved: Any

    @property
    def total_error(self) -> Any:
        """Estimated error of the sum."""
        return np.sum(self.errors)

    def put(self, where: Any, begin: Any, end: Any, integral: tuple[Any, Any]) -> "Intervals":
        """Return the intervals with one of them replaced, where a mask is true."""
        return self._replace(
            begins=np.where(where, begin, self.begins),
            ends=np.where(where, end, self.ends),
            values=np.where(where, integral[0], self.values),
            errors=np.where(where, integral[1], self.errors),
        )


def _search(integrand: _Integrand, edges: list[Any], epsabs: float, epsrel: float, limit: int) -> Intervals:
    """Halve the interval with the largest error until all of them are small together."""
    places = np.arange(limit)

    def is_wide(found: Intervals) -> Any:
        allowed = np.maximum(epsabs, epsrel * abs(np.sum(found.values)))
        return (found.total_error > allowed) & (found.count < limit) & found.halved

    def halved(found: Intervals) -> Intervals:
        worst = places == np.argmax(found.errors)
        begin = np.sum(np.where(worst, found.begins, 0.0))
        end = np.sum(np.where(worst, found.ends, 0.0))
        middle = 0.5 * (begin + end)
        first, second = _two_integrals(integrand, begin, middle, end)
        after = found.put(worst, begin, middle, first).put(places == found.count, middle, end, second)
        is_long = abs(end - begin) > 100 * _EPSILON * abs(middle) + 1000 * _TINY
        return after._replace(count=found.count + 1, halved=is_long)

    none = np.zeros(limit)
    found = Intervals(none, none, none, none, np.asarray(len(edges) - 1), np.ones((), np.bool_))
    for k in range(len(edges) - 1):
        begin, end = (leaf_of(edge) for edge in edges[k : k + 2])
        middle, half = 0.5 * (begin + end), 0.5 * (end - begin)
        values = _values(integrand, middle + half * integrand.rule.nodes)
        found = found.put(places == k, begin, end, _integral(integrand.rule, values, half))
    search: Intervals = stop_gradient(repeated(is_wide, halved, found))
    return search


def _two_integrals(integrand: _Integrand, begin: Any, middle: Any, end: Any) -> tuple[Any, Any]:
    """Return integrals and errors of both halves of an interval."""
    half, rule = 0.25 * (end - begin), integrand.rule
    nodes = half * rule.nodes
    values = _values(
        integrand, np.concatenate([0.5 * (begin + middle) + nodes, 0.5 * (middle + end) + nodes])
    )
    count = len(rule.nodes)
    return _integral(rule, values[:count], half), _integral(rule, values[count:], half)


def _values(integrand: _Integrand, x: Any) -> Any:
    """Return the integrand at several places."""
    return stop_gradient(scanned(lambda carry, x: (carry, integrand(x)), (), x)[1])


def _integral(rule: Rule, values: Any, half: Any) -> tuple[Any, Any]:
    """Return the integral over an interval of half a length, and the estimate of its error as in QUADPACK."""
    value = np.sum(rule.weights * values)
    size = abs(half)
    whole = size * np.sum(rule.weights * abs(values))
    spread = size * np.sum(rule.weights * abs(values - 0.5 * value))
    error = size * abs(value - np.sum(rule.inner * values))
    usual = spread * np.minimum(1.0, (200 * error / np.where(spread == 0, 1.0, spread)) ** 1.5)
    error = np.where((spread != 0) & (error != 0), usual, error)
    error = np.where(whole > _TINY / (50 * _EPSILON), np.maximum(50 * _EPSILON * whole, error), error)
    return half * value, error


def _sum(integrand: _Integrand, found: Intervals) -> Any:
    """Return the sum over intervals, with the derivatives of the integrand by everything but the place."""
    places, rule = np.arange(found.begins.size), integrand.rule

    def added(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        number, total = carry
        chosen = places == number
        begin = np.sum(np.where(chosen, found.begins, 0.0))
        half = 0.5 * (np.sum(np.where(chosen, found.ends, 0.0)) - begin)
        x = begin + half + half * rule.nodes
        values = scanned(lambda none, x: (none, integrand(x)), (), x, pulled_at_once=True)[1]
        return number + 1, total + half * np.sum(rule.weights * values)

    first = np.zeros((), np.int64), np.zeros(())
    return repeated(lambda carry: carry[0] < found.count, added, first, pulled_at_once=True)[1]


def _number(value: Any) -> Any:
    """Return a result as a number if nothing is differentiated by it."""
    value = value if is_recording() else plain(value)
    return value if is_tensor(value) else np.float64(value)


def _warn(found: Intervals, limit: int) -> None:
    """Warn as SciPy does if the intervals were too few."""
    if not known(found.count) or int(numbers(found.count)) < limit:
        return
    from scipy.integrate import IntegrationWarning

    warnings.warn(
        f"quad: the maximum number of intervals, limit={limit}, has been reached, and the estimated error is"
        f" {float(numbers(found.total_error)):.3g}; give points=, or split the integral at singularities",
        IntegrationWarning,
        stacklevel=3,
    )
