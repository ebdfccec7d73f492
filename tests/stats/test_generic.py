"""Distributions of SciPy that run by its own code, and those of users: against SciPy and differences of its values."""

import ast
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.stats
from scipy.stats import rv_continuous, rv_discrete
from scipy.stats._distr_params import distcont, distdiscrete

import tapegrad as tg
from helpers.daily import not_daily
from tapegrad.stats.continuous import Continuous
from tapegrad.stats.discrete import Discrete

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's, of `erlang` and of differences
CONTINUOUS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
DISCRETE = ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")
SHARES = np.array([0.03, 0.2, 0.45, 0.7, 0.93])
LOC, SCALE = 0.3, 1.7
# Whole numbers, by which there is no derivative.
WHOLE = ("n", "N", "M", "r", "low", "high")
# What may refuse: integrals, compiled code, and special functions that tapegrad.special has no derivative of.
_INTEGRALS = {
    "cosine", "gausshyper", "genhyperbolic", "geninvgauss", "irwinhall", "ksone", "kstwo", "kstwobign", "landau",
    "ncf", "nct", "norminvgauss", "tukeylambda", "ncx2", "rice",
    "levy_stable", "studentized_range", "hypergeom", "nchypergeom_fisher", "nchypergeom_wallenius", "skellam", "zipf",
    "zipfian", "poisson_binom",
}  # fmt: skip
_IN_C = {"betaprime", "rdist"} if scipy.__version__ < "1.16" else set()
MAY_REFUSE = {
    **dict.fromkeys(CONTINUOUS + DISCRETE, _INTEGRALS | _IN_C),
    **dict.fromkeys(
        ("logpdf", "pdf", "logpmf", "pmf"),
        _INTEGRALS - {"norminvgauss", "rice", "hypergeom", "cosine"},
    ),
}
# Parameters at which SciPy computes a limit.
AT_LIMITS = {("kappa4", (0.0, 0.0))}


def is_generic(name: str) -> bool:
    """Return whether a family is not described by formulas here, nor refuses or takes minutes in SciPy."""
    own = tg.stats.from_scipy(getattr(scipy.stats, name))
    slow = ("levy_stable", "studentized_range", "poisson_binom")
    return not isinstance(own, Continuous | Discrete) and name not in slow


def parameter_sets() -> dict[str, list[tuple[float, ...]]]:
    """Return two sets for each family, SciPy's own; a second one that is missing is the first, a little changed."""
    sets: dict[str, list[tuple[float, ...]]] = {}
    for name, shapes in distcont + distdiscrete:
        if isinstance(name, str) and is_generic(name):
            sets.setdefault(name, []).append(tuple(map(float, shapes)))
    for name, known in sets.items():
        names = (getattr(scipy.stats, name).shapes or "").replace(",", " ").split()
        changed = [v if k in WHOLE else v * 0.97 for k, v in zip(names, known[0], strict=True)]
        known.append(tuple(changed))
    return {name: known[:2] for name, known in sets.items()}


SETS = parameter_sets()
DAILY = ["exponnorm", "triang", "pearson3", "kappa3", "boltzmann", "nhypergeom"]


def is_continuous(name: str) -> bool:
    return isinstance(getattr(scipy.stats, name), rv_continuous)


def arguments(name: str, shapes: tuple[float, ...], method: str) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of the arguments, and for each as many numbers as there are points."""
    theirs = getattr(scipy.stats, name)
    names = [*(theirs.shapes or "").replace(",", " ").split(), "loc"]
    parameters = [*shapes, LOC if is_continuous(name) else 0.0]
    if is_continuous(name):
        names, parameters = [*names, "scale"], [*parameters, SCALE]
    x = theirs.ppf(SHARES, *parameters)
    x = SHARES if method in ("ppf", "isf") else x if is_continuous(name) else np.unique(x)
    return ["x", *names], [np.asarray(x, float), *(np.full(len(x), p) for p in parameters)]


def slope(function: Any, x: np.ndarray) -> list[np.ndarray]:
    """Return differences, extrapolated twice, of several lengths: that of one is right where rounding allows."""
    found = []
    for share in (1e-2, 3e-3, 3e-4, 1e-5):
        h = share * np.maximum(np.abs(x), 1e-2)
        far, mid, near = ((function(x + s) - function(x - s)) / (2 * s) for s in (h, h / 2, h / 4))
        found.append((16 * (4 * near - mid) / 3 - (4 * mid - far) / 3) / 15)
    return found


def offences(name: str, method: str, shapes: tuple[float, ...]) -> list[str]:
    """Return what is wrong with a method: its values, or derivatives by any argument."""
    theirs, own = getattr(scipy.stats, name), tg.stats.from_scipy(getattr(scipy.stats, name))
    names, arrays = arguments(name, shapes, method)
    leaves = [tg.tensor(array) for array in arrays]
    with np.errstate(all="ignore"):
        try:
            value = getattr(own, method)(*leaves)
        except tg.UnsupportedError:
            return [] if name in MAY_REFUSE[method] else [f"{name}.{method} refuses"]
        expected = getattr(theirs, method)(*arrays)
        finite = np.isfinite(expected)
        wrong = [f"{name}.{method}: {value.data} not {expected}"]
        wrong *= not np.allclose(value.data, expected, rtol=1e-12, atol=0, equal_nan=True)
        value.backward()
        for k, leaf in enumerate(leaves):
            if names[k] in WHOLE or (not is_continuous(name) and names[k] in ("x", "loc")):
                continue
            if (name, shapes) in AT_LIMITS and names[k] not in ("x", "loc", "scale"):
                wrong += [f"{name}.{method} by {names[k]} at a limit: {leaf.grad}"] * bool(
                    np.isfinite(leaf.grad).any()
                )
                continue

            def moved(v: np.ndarray, k: int = k) -> Any:
                return getattr(theirs, method)(*[v if j == k else array for j, array in enumerate(arrays)])

            gradient = np.zeros(len(arrays[k])) if leaf.grad is None else leaf.grad
            errors = [
                np.abs(gradient - each) / np.maximum(np.abs(each), 1e-3) for each in slope(moved, arrays[k])
            ]
            far = ~(np.nanmin(errors, axis=0) < 1e-6) & finite & ~np.isnan(errors).all(0)
            wrong += [f"{name}.{method} by {names[k]} at {arrays[0][far]}: {gradient[far]}"] * bool(far.any())
    return wrong


def all_offences(names: Any, methods: Any, number_of_sets: int) -> list[str]:
    return [
        offence
        for name in names
        for method in (CONTINUOUS if is_continuous(name) else DISCRETE)
        if method in methods
        for shapes in SETS[name][:number_of_sets]
        for offence in offences(name, method, shapes)
    ]


def test_some_are_scipys_with_their_derivatives() -> None:
    assert not all_offences(DAILY, ("logpdf", "logpmf", "cdf"), 1)


@not_daily
@pytest.mark.parametrize(
    "methods", [CONTINUOUS[:2] + DISCRETE[:2], ("cdf", "sf"), ("logcdf", "logsf"), ("ppf", "isf")]
)
def test_all_are_scipys_with_their_derivatives(methods: tuple[str, ...]) -> None:
    assert not all_offences(SETS, methods, 1 if "ppf" in methods else 2)


# --- replays, outside of the support, higher derivatives ---------------------------------------------------------


def total(name: str, method: str) -> tuple[Any, np.ndarray]:
    """Return the sum of a method's finite values, as a function of the parameters, and parameters."""
    names, arrays = arguments(name, SETS[name][0], method)
    own, theirs = tg.stats.from_scipy(getattr(scipy.stats, name)), getattr(scipy.stats, name)
    low, high = theirs.support(*SETS[name][0])
    outside = [end + step for end, step in ((low, -3.0), (high, 5.0)) if np.isfinite(end)]
    x = np.concatenate([arrays[0], [] if method == "ppf" else outside])

    def function(p: Any) -> Any:
        value = getattr(own, method)(x, *[p[k] for k in range(len(names) - 1)])
        return tg.sum(tg.where(tg.isfinite(value), value, 0.0))

    return function, np.array([array[0] for array in arrays[1:]])


def replay_offences(names: Any, methods: Any) -> list[str]:
    found: list[str] = []
    for name, method in ((n, m) for n in names for m in methods if hasattr(getattr(tg.stats, n), m)):
        function, p = total(name, method)
        try:
            replayed = tg.value_and_grad(tg.jit(function))
            replayed(p)
        except tg.UnsupportedError:
            continue
        theirs = getattr(scipy.stats, name)
        fixed = [k in WHOLE for k in (*(theirs.shapes or "").replace(",", " ").split(), "loc", "scale")][
            : len(p)
        ]
        steps = np.where(fixed, 0.0, 1.0 + np.arange(len(p)))
        for q in (p * (1 + 0.03 * steps), p, p * (1 - 0.01 * steps)):
            with np.errstate(all="ignore"):
                value, gradient = tg.value_and_grad(function)(q)
            again, slopes = replayed(q)
            same = np.allclose(again, value, rtol=1e-12) and np.allclose(
                slopes, gradient, rtol=1e-9, atol=1e-11
            )
            found += [f"{name}.{method} at {q}: {again}, {slopes} for {value}, {gradient}"] * (not same)
    return found


def test_some_replays_compute_with_other_parameters() -> None:
    assert not replay_offences(["triang", "pearson3"], ("logpdf",))
    assert not replay_offences(["planck"], ("logpmf",))


@not_daily
def test_all_replays_compute_with_other_parameters() -> None:
    assert not replay_offences(SETS, ("logpdf", "cdf", "ppf", "logpmf"))


def test_a_replay_takes_the_other_formula_at_another_parameter() -> None:
    density = tg.jit(tg.stats.from_scipy(scipy.stats.genpareto).logpdf)
    for c in (0.3, 0.0, -0.2, 1e-3):
        np.testing.assert_allclose(density(0.8, c), scipy.stats.genpareto.logpdf(0.8, c), rtol=1e-14)
    density = tg.jit(tg.stats.pearson3.logpdf)
    for skew in (0.3, 0.0, -0.2):
        np.testing.assert_allclose(density(0.8, skew), scipy.stats.pearson3.logpdf(0.8, skew), rtol=1e-13)


def outside_offences(names: Any) -> list[str]:
    found = []
    for name in names:
        theirs, own = getattr(scipy.stats, name), tg.stats.from_scipy(getattr(scipy.stats, name))
        p = [*SETS[name][0], *((LOC, SCALE) if is_continuous(name) else (0.0,))]
        low, high = theirs.support(*p)
        x = np.array([low - 2.5, high + 2.5, np.nan, -np.inf, np.inf, theirs.ppf(0.4, *p)])
        for method in CONTINUOUS[:6] if is_continuous(name) else DISCRETE:
            leaves = [tg.tensor(x), *[tg.tensor(np.full(len(x), v)) for v in p]]
            with np.errstate(all="ignore"):
                expected = getattr(theirs, method)(x, *p)
                try:
                    value = getattr(own, method)(*leaves)
                    value.backward()
                except (tg.UnsupportedError, RuntimeError):  # refused, or a constant
                    continue
            known = ~(np.isinf(x) & np.isnan(expected))  # where SciPy has nan for a density of 0
            same = np.allclose(value.data[known], expected[known], rtol=1e-12, atol=1e-15, equal_nan=True)
            gone = all(leaf.grad is None or not np.any(leaf.grad[:5]) for leaf in leaves)
            found += [f"{name}.{method}: {value.data}, not {expected}"] * (not same)
            found += [f"{name}.{method}: {[leaf.grad for leaf in leaves]}"] * (not gone)
    return found


def test_outside_of_the_support_derivatives_are_0() -> None:
    assert not outside_offences(["lomax", "triang", "arcsine", "genhalflogistic", "loguniform", "boltzmann"])


@not_daily
def test_outside_of_any_support_derivatives_are_0() -> None:
    assert not outside_offences(name for name in SETS if name != "kappa4")  # SciPy's own is nan at infinity


def test_parameters_outside_of_their_domain_give_nan() -> None:
    for name in ("lomax", "triang", "exponnorm", "trapezoid", "kappa4"):
        p = [*SETS[name][0], LOC, SCALE]
        for k in range(len(p)):
            bad = [*p[:k], np.nan, *p[k + 1 :]]
            for method in CONTINUOUS:
                value = getattr(getattr(tg.stats, name), method)([0.4, 50.0], *map(tg.tensor, bad)).data
                assert np.isnan(value).all(), (name, method, k, value)
        assert np.isnan(getattr(tg.stats, name).logpdf([0.4, 50.0], *p[:-1], -1.0).data).all()
    assert np.isnan(tg.stats.planck.logpmf([0, 1], tg.tensor(-1.0)).data).all()


@pytest.mark.parametrize("name", ["lomax", "exponnorm", "johnsonsu", "burr12", "recipinvgauss"])
def test_second_derivatives(name: str) -> None:
    function, p = total(name, "logpdf")
    hessian = tg.hessian(function)(p)
    gradient = tg.grad(function)

    def column(e: np.ndarray) -> Any:
        near, far = ((gradient(p + k * e) - gradient(p - k * e)) / (2e-4 * k) for k in (1, 2))
        return (4 * near - far) / 3

    columns = [column(e) for e in 1e-4 * np.eye(len(p))]
    np.testing.assert_allclose(hessian, columns, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(tg.hessian(tg.jit(function))(p), hessian, rtol=1e-9, atol=1e-10)


def test_derivatives_of_found_quantiles_are_right_up_to_the_third_order() -> None:
    def closed(q: Any, c: Any) -> Any:
        return tg.expm1(-tg.log1p(-q) / c)

    class Found(rv_continuous):
        def _pdf(self, x: Any, c: Any) -> Any:
            return c * (1 + x) ** (-c - 1)

        def _cdf(self, x: Any, c: Any) -> Any:
            return 1 - (1 + x) ** (-c)

    own = tg.stats.from_scipy(Found(a=0.0, name="found"))
    q, c = 0.4, 1.7
    derivative, exact = (lambda c: own.ppf(q, c)), (lambda c: closed(q, c))
    for order in range(4):
        np.testing.assert_allclose(
            derivative(c), exact(tg.tensor(c)).data if order == 0 else exact(c), rtol=1e-9
        )
        derivative, exact = tg.grad(derivative), tg.grad(exact)
    np.testing.assert_allclose(tg.grad(own.ppf)(q, c), tg.grad(closed)(q, c), rtol=1e-10)
    np.testing.assert_allclose(tg.grad(own.isf)(1 - q, c), -tg.grad(closed)(q, c), rtol=1e-10)
    with pytest.raises(tg.UnsupportedError, match=r"found\.ppf calls SciPy .* outside of jit"):
        tg.jit(own.ppf)(q, c)


# --- users' own ----------------------------------------------------------------------------------------------------

GLOBAL = 1.0


def helper(x: Any, c: Any) -> Any:
    return np.asarray(x) * c * GLOBAL


class Scaling:
    """A class that is none of distributions, which stays the user's own."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, value: Any) -> Any:
        assert isinstance(self, Scaling)
        return value * self.factor


class Masked(rv_continuous):
    def _pdf(self, x: Any, c: Any) -> Any:
        x = np.asarray(x, dtype=float)
        density, near = np.zeros(x.shape), x < 1
        density[near] = np.exp(-helper(x[near], c[near]))
        density[~near] = np.exp(-helper(x[~near], c[~near]))
        return c * density


class Weighted(Masked):
    weight = 2.0

    def _logpdf(self, x: Any, c: Any) -> Any:
        return Scaling(self.weight)(super()._logpdf(x, c))

    def _get_support(self, c: Any) -> Any:
        return 0.0, 10.0 / c

    def _argcheck(self, c: Any) -> Any:
        return (c > 0) & (c < 9)


class Mixture(rv_continuous):
    def __init__(self, first: Any, **kwds: Any) -> None:
        super().__init__(**kwds)
        self.first = first

    def _pdf(self, x: Any, c: Any) -> Any:
        return 0.4 * self.first.pdf(x, c) + 0.6 * scipy.stats.norm(0.0, c).pdf(x)


class Geometric(rv_discrete):
    def _pmf(self, k: Any, p: Any) -> Any:
        return np.where(k == 0, p, p * (1 - p) ** k)


def check_user_distribution(distribution: Any, methods: Any, x: Any, c: float) -> None:
    own = tg.stats.from_scipy(distribution)
    for method in methods:

        def theirs(c: float, method: str = method) -> Any:
            value = getattr(distribution, method)(x, np.full(len(x), c))
            return np.sum(value[np.isfinite(value)])

        def ours(c: Any, method: str = method) -> Any:
            value = getattr(own, method)(x, c)
            return tg.sum(tg.where(tg.isfinite(value), value, 0.0))

        def in_place(c: Any, method: str = method) -> Any:
            with tg.stats.in_place_of_scipy():
                value = getattr(distribution, method)(x, c)
                return tg.sum(tg.where(tg.isfinite(value), value, 0.0))

        slopes = slope(np.vectorize(theirs), np.array(c))
        for function in (ours, in_place, tg.jit(ours), tg.jit(in_place)):
            value, gradient = tg.value_and_grad(function)(c)
            np.testing.assert_allclose(value, theirs(c), rtol=1e-13)
            assert min(abs(gradient - each) for each in slopes) < 1e-9 * abs(gradient), method


X = np.array([0.2, 0.5, 1.5, 2.0])


@pytest.mark.parametrize(
    ("distribution", "methods", "x", "c"),
    [
        (Masked(a=0.0, name="masked"), ("pdf", "logpdf"), X, 1.3),
        (Weighted(name="weighted"), ("logpdf",), X, 1.3),
        (Mixture(scipy.stats.laplace_asymmetric, name="mixture"), ("pdf", "logpdf"), X, 1.3),
        (Geometric(name="geometric"), ("pmf", "logpmf", "cdf", "sf"), np.arange(4), 0.3),
    ],
)
def test_subclasses_of_users(distribution: Any, methods: Any, x: Any, c: float) -> None:
    check_user_distribution(distribution, methods, x, c)


def test_histograms_and_samples() -> None:
    histogram = scipy.stats.rv_histogram(np.histogram(np.random.default_rng(0).normal(size=99), bins=5))
    own, x = tg.stats.from_scipy(histogram), np.array([0.3, 0.4])
    np.testing.assert_array_equal(own.pdf(x).data, histogram.pdf(x))
    np.testing.assert_allclose(tg.grad(lambda x: tg.sum(own.cdf(x)))(x), histogram.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(tg.grad(own.ppf)(0.4), 1 / histogram.pdf(histogram.ppf(0.4)), rtol=1e-12)
    sample = rv_discrete(values=([1, 2, 4], [0.2, 0.3, 0.5]))
    for method in ("pmf", "cdf", "logpmf"):
        with np.errstate(divide="ignore"):
            expected = getattr(sample, method)(np.arange(6))
        np.testing.assert_array_equal(
            getattr(tg.stats.from_scipy(sample), method)(np.arange(6)).data, expected
        )


def test_replays_notice_what_a_subclass_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([1.0, 2.0])

    class Seeing(rv_continuous):
        rate = 2.0

        def _logpdf(self, x: Any, c: Any) -> Any:
            return -self.rate * helper(x, c) * table[0]

    theirs, x = Seeing(a=0.0, shapes="c", name="seeing"), np.array([1.0, 2.0])
    own = tg.stats.from_scipy(theirs)

    def in_place(c: Any) -> Any:
        with tg.stats.in_place_of_scipy():
            return tg.sum(theirs.logpdf(x, c))

    replays = [tg.jit(lambda c: tg.sum(own.logpdf(x, c))), tg.jit(in_place)]

    def check() -> None:
        for replay in replays:
            for _ in range(2):
                np.testing.assert_allclose(replay(2.0), theirs.logpdf(x, 2.0).sum(), rtol=1e-14)

    check()
    theirs.rate = 3.0
    check()
    table[0] = 7.0
    check()
    monkeypatch.setitem(globals(), "GLOBAL", 5.0)
    check()
    monkeypatch.setattr(Seeing, "_logpdf", lambda self, x, c: -c * x)
    check()
    theirs.a = 1.5
    check()


# --- names, doors and refusals ---------------------------------------------------------------------------------------


def test_every_distribution_of_scipy_has_its_name_here() -> None:
    for name in dir(scipy.stats):
        if isinstance(getattr(scipy.stats, name), rv_continuous | rv_discrete):
            assert name in dir(tg.stats)
            assert hasattr(getattr(tg.stats, name), "logpdf" if is_continuous(name) else "logpmf"), name
    assert tg.stats.genpareto.__class__.__name__ == "Continuous"  # SciPy's is imprecise near ``c == 0``
    assert repr(tg.stats.lomax) == "<tapegrad.stats.from_scipy(lomax)>"
    with pytest.raises(AttributeError, match=r"tapegrad\.stats has no nothing"):
        _ = tg.stats.nothing


def test_type_checkers_read_the_names_of_this_scipy() -> None:
    source = Path(tg.stats.__file__).read_text()
    (block,) = (node for node in ast.parse(source).body if isinstance(node, ast.If))
    listed = {name.id for node in ast.walk(block) if isinstance(node, ast.Tuple) for name in node.elts}
    natives = {
        name for name, value in vars(tg.stats).items() if hasattr(value, "logpdf") or hasattr(value, "logpmf")
    }
    there = {n for n in dir(scipy.stats) if isinstance(getattr(scipy.stats, n), rv_continuous | rv_discrete)}
    assert there - natives - {"trapz"} <= listed  # newer ones than an old SciPy has may be listed
    assert not listed & natives


class Slow(rv_continuous):
    def _pdf(self, x: Any, c: Any) -> Any:
        return np.array([float(each) for each in x]) * c


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda t: tg.stats.geninvgauss.cdf(0.5, 2.0, t), r"geninvgauss\.cdf runs .*: numpy\.vectorize"),
        (lambda t: tg.stats.kstwobign.cdf(t), r"kstwobign\.cdf runs .*: scipy\.special\._ufuncs\._kolmogc"),
        (lambda t: tg.stats.kstwo.cdf(t, 3.0), r"kstwo\.cdf runs .*: numpy\.nditer takes no Tensors"),
        (lambda t: tg.stats.norminvgauss.cdf(t, 1.0, 0.5), r"norminvgauss\.cdf runs .*norminvgauss_gen\._cdf"),
        (lambda t: tg.stats.from_scipy(Slow(name="slow")).pdf(t, 2.0), r"slow\.pdf runs .*Slow\._pdf"),
        (lambda t: tg.stats.from_scipy(Slow(name="slow")).cdf(t, 2.0), r"slow\.cdf .*: it integrates the density"),
    ],
)  # fmt: skip
def test_refusals_name_distribution_method_and_reason(call: Any, named: str) -> None:
    for run in (call, lambda t: tg.grad(call)(1.5), lambda t: tg.jit(call)(1.5)):
        with pytest.raises(tg.UnsupportedError, match=named):
            run(tg.tensor(1.5))


def test_an_order_of_a_bessel_function_is_a_number() -> None:
    with pytest.raises(tg.UnsupportedError, match="no derivative by 'v' is known"):
        tg.grad(lambda df: tg.stats.ncx2.logpdf(1.0, df, 1.0))(3.0)
    for name, order, shapes in (
        ("ncx2", 3.0, [1.2]),
        ("geninvgauss", 2.3, [1.5]),
        ("genhyperbolic", 0.5, [1.5, -0.5]),
    ):
        own, theirs = getattr(tg.stats, name), getattr(scipy.stats, name)
        np.testing.assert_allclose(
            own.logpdf(0.7, order, *shapes).data, theirs.logpdf(0.7, order, *shapes), rtol=1e-12
        )
        for k in range(len(shapes)):

            def by_shape(
                v: Any, own: Any = own, k: int = k, order: float = order, shapes: Any = shapes
            ) -> Any:
                return own.logpdf(0.7, order, *shapes[:k], v, *shapes[k + 1 :])

            expected = slope(np.vectorize(partial(by_shape, own=theirs)), np.array(shapes[k]))
            assert min(abs(tg.grad(by_shape)(shapes[k]) - each) for each in expected) < 1e-8


def test_a_limit_of_scipys_has_no_finite_derivative_by_its_parameter() -> None:
    own = tg.stats.from_scipy(scipy.stats.kappa4)
    gradient = tg.grad(lambda p: own.logpdf(0.4, p[0], p[1]))(np.array([0.0, 0.3]))
    assert np.isinf(gradient[0])
    assert np.isfinite(gradient[1])
    assert np.isfinite(tg.grad(lambda x: own.logpdf(x, 0.0, 0.3))(0.4))


def test_from_scipy_takes_distributions_alone() -> None:
    for wrong in (scipy.stats.norm(0.0, 1.0), Masked, 1.0):
        with pytest.raises(TypeError, match=r"from_scipy takes an instance of scipy\.stats\.rv_continuous"):
            tg.stats.from_scipy(wrong)


def test_single_precision_stays() -> None:
    x = tg.tensor(np.array([0.5, 2.0], np.float32))
    density = tg.stats.lomax.logpdf(x, 2.0)
    assert density.dtype == np.float32
    density.backward()
    assert x.grad.dtype == np.float32
    assert tg.stats.lomax.logpdf(x, 2.0, tg.tensor(0.0)).dtype == np.float64


def test_parameters_broadcast_with_the_variable() -> None:
    x, c, scale = np.array([0.5, 2.0, -1.0])[:, None], tg.tensor([1.0, 2.0, 3.0, 4.0]), tg.tensor(1.5)
    density = tg.stats.lomax.logpdf(x, c, scale=scale)
    np.testing.assert_allclose(density.data, scipy.stats.lomax.logpdf(x, c.data, scale=1.5), rtol=1e-14)
    assert tg.stats.lomax.logpdf(x[:0], c[0]).shape == (0, 1)
    assert tg.stats.lomax.logpdf(0.5, c[0]).shape == ()
