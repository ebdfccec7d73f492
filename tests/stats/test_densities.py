"""The continuous distributions against SciPy: values, derivatives, parameters, what is outside of the support."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.stats.continuous import Continuous

SHAPES = {
    "t": (3.3,), "gamma": (2.5,), "invgamma": (2.2,), "beta": (2.1, 3.3), "chi2": (4.4,), "f": (3.0, 7.0),
    "lognorm": (0.7,), "weibull_min": (1.7,), "pareto": (2.3,), "truncnorm": (-1.0, 2.0), "vonmises": (1.5,),
    "genextreme": (-0.2,), "genpareto": (0.3,), "skewnorm": (1.3,),
}  # fmt: skip
NAMES = [name for name, value in vars(tg.stats).items() if isinstance(value, Continuous)]
METHODS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf")
ENDS = [-50.0, 0.2, 0.3, 2.0, 40.0, np.nan]
LOC, SCALE = 0.3, 1.7
every = pytest.mark.parametrize("name", NAMES)


def ours(name):
    return getattr(tg.stats, name)


def theirs(name):
    return getattr(scipy.stats, name)


def shapes_of(name):
    return SHAPES.get(name, ())


def points(name, count=6):
    """Numbers inside of the support."""
    shares = np.linspace(0.07, 0.92, count)
    return theirs(name).ppf(shares, *shapes_of(name), loc=LOC, scale=SCALE)


def check(found, expected):
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, expected, rtol=2e-13, atol=3e-16)


@every
def test_values_are_scipys(name):
    x = np.concatenate([points(name), ENDS])
    for method in METHODS:
        with np.errstate(all="ignore"):
            expected = getattr(theirs(name), method)(x, *shapes_of(name), loc=LOC, scale=SCALE)
        found = getattr(ours(name), method)(x, *shapes_of(name), loc=LOC, scale=SCALE)
        inner = (expected != 0) | (x < 41)
        if name == "gumbel_l" and method == "logcdf":
            inner &= x != 40  # SciPy's is 0 where it is near to it
        if name == "skewnorm" and method == "logcdf":
            inner &= x != -50  # SciPy's is -inf, as the probability is too small for a float
        check(found.data[inner], expected[inner])


@every
def test_values_at_infinity_are_scipys_where_it_has_some(name):
    x = np.array([-np.inf, np.inf])
    for method in METHODS:
        with np.errstate(all="ignore"):
            expected = getattr(theirs(name), method)(x, *shapes_of(name), loc=LOC, scale=SCALE)
        found = getattr(ours(name), method)(x, *shapes_of(name), loc=LOC, scale=SCALE).data
        np.testing.assert_array_equal(np.where(np.isnan(expected), np.nan, found), expected, err_msg=method)


def test_the_density_of_cauchy_does_not_overflow_far_out():
    x = tg.tensor(np.array([-1e300, 1e14, 1e16]))
    density = tg.stats.cauchy.logpdf(x)
    check(density.data, -np.log(np.pi) - 2 * np.log(np.abs(x.data)))
    density.backward()
    check(x.grad, -2 / x.data)


@every
def test_parameters_broadcast(name):
    x = points(name, 4)[:, None]
    scale = np.array([1.5, 1.7, 2.0])
    expected = theirs(name).logpdf(x, *shapes_of(name), LOC, scale)
    check(ours(name).logpdf(x, *shapes_of(name), LOC, scale).data, expected)
    parameters = [tg.tensor(np.full(3, value)) for value in (*shapes_of(name), LOC)]
    check(ours(name).logpdf(tg.tensor(x), *parameters, scale=tg.tensor(scale)).data, expected)
    assert ours(name).logpdf(x.astype(np.float32), *shapes_of(name), LOC, 1.7).dtype == np.float32


@every
def test_parameters_outside_of_their_domain_give_nan(name):
    shapes, x = shapes_of(name), np.array([-60.0, *points(name, 2), 60.0])
    wrong = [(*shapes, LOC, bad) for bad in (0.0, -1.0)]
    real = name in ("truncnorm", "genextreme", "genpareto", "skewnorm")
    wrong += [
        (*shapes[:k], 3.0 if real else -1.5, *shapes[k + 1 :], LOC, SCALE)
        for k in range(len(shapes))
        if not real or (name == "truncnorm" and k == 0)
    ]
    nothing = [np.nan] if real or name == "vonmises" else [np.nan, 0.0]
    wrong += [(*shapes[:k], bad, *shapes[k + 1 :], LOC, SCALE) for k in range(len(shapes)) for bad in nothing]
    for parameters in wrong:
        for made in (list(parameters), [tg.tensor(value, constant=True) for value in parameters]):
            for method in METHODS:
                assert np.isnan(getattr(ours(name), method)(x, *made).data).all(), (method, parameters)


@every
def test_outside_of_the_support_derivatives_are_0(name):
    x = np.array([-60.0, 60.0, *points(name, 1)])
    outside = theirs(name).pdf(x, *shapes_of(name), loc=LOC, scale=SCALE) == 0
    outside &= np.isneginf(theirs(name).logpdf(x, *shapes_of(name), loc=LOC, scale=SCALE))
    leaves = [tg.tensor(x), *[tg.tensor(np.full(3, p)) for p in (*shapes_of(name), LOC, SCALE)]]
    y = ours(name).logpdf(*leaves)
    assert np.isneginf(y.data[outside]).all()
    y.backward()
    for leaf in leaves:
        assert (leaf.grad[outside] == 0).all()
        assert np.isfinite(leaf.grad[~outside]).all()


def slope(function, x, h=1e-4):
    """A derivative from differences, extrapolated."""
    near, far = ((function(x + s) - function(x - s)) / (2 * s) for s in (h, 2 * h))
    return (4 * near - far) / 3


@every
def test_derivatives_are_those_of_scipys_functions(name):
    parameters, x = [*shapes_of(name), LOC, SCALE], points(name, 5)
    for method in METHODS:
        wrt = range(1 + len(parameters))

        def total(*operands, method=method):
            return tg.sum(getattr(ours(name), method)(*operands))

        gradients = tg.grad(total, tuple(wrt))(x, *parameters)
        replayed = tg.grad(tg.jit(total), tuple(wrt))(x, *parameters)
        for k, gradient, again in zip(wrt, gradients, replayed, strict=True):

            def along(value, k=k, method=method):
                operands = [x, *parameters]
                operands[k] = operands[k] + value
                return getattr(theirs(name), method)(*operands)

            expected = slope(along, 0.0)
            expected = expected if k == 0 else expected.sum()
            np.testing.assert_allclose(gradient, expected, rtol=2e-7, atol=1e-8, err_msg=f"{method} {k}")
            np.testing.assert_allclose(again, gradient, rtol=1e-12, atol=1e-14)


@grouped("name")
@every
@pytest.mark.parametrize("method", ["logpdf", "logcdf", "logsf"])
def test_second_derivatives_of_logarithms(name, method):
    parameters, x = np.array([*shapes_of(name), LOC, SCALE]), points(name, 3)

    def total(p):
        return tg.sum(getattr(ours(name), method)(x, *p))

    hessian = tg.hessian(total)(parameters)
    expected = slope(
        lambda h: np.array([tg.grad(total)(parameters + h * e) for e in np.eye(len(parameters))]), 0.0
    )
    np.testing.assert_allclose(hessian, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(tg.hessian(tg.jit(total))(parameters), hessian, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if ours(name).quantile is not None])
def test_quantiles_are_scipys(name):
    q = np.array([-0.1, 0.0, 1e-3, 0.3, 0.5, 0.9, 1.0, 1.1, np.nan])
    expected = theirs(name).ppf(q, *shapes_of(name), loc=LOC, scale=SCALE)
    np.testing.assert_allclose(
        ours(name).ppf(q, *shapes_of(name), LOC, SCALE).data, expected, rtol=1e-13, atol=1e-15
    )
    inner = tg.tensor(q[2:6])
    back = ours(name).cdf(ours(name).ppf(inner, *shapes_of(name)), *shapes_of(name))
    np.testing.assert_allclose(back.data, inner.data, rtol=1e-12)
    back.backward()
    np.testing.assert_allclose(inner.grad, 1.0, rtol=1e-12)


# --- far out -----------------------------------------------------------------------------------------------------


def ulps(found, exact):
    return float(abs(mp.mpf(float(found)) - exact) / np.spacing(abs(float(exact))))


def test_logarithms_far_out_keep_their_digits():
    with mp.workdps(50):
        assert ulps(tg.stats.norm.logsf(40.0).data, mp.log(mp.erfc(40 / mp.sqrt(2)) / 2)) < 4
        assert ulps(tg.stats.norm.logpdf(1e10).data, -(mp.mpf(10) ** 20) / 2 - mp.log(2 * mp.pi) / 2) < 2
        assert ulps(tg.stats.logistic.logcdf(-800.0).data, -mp.log1p(mp.exp(800))) < 2
        assert ulps(tg.stats.gumbel_r.logsf(50.0).data, mp.log(-mp.expm1(-mp.exp(-50)))) < 4
        mass = (mp.erfc(30 / mp.sqrt(2)) - mp.erfc(31 / mp.sqrt(2))) / 2
        exact = -(mp.mpf(30.5) ** 2) / 2 - mp.log(2 * mp.pi) / 2 - mp.log(mass)
        assert (
            ulps(tg.stats.truncnorm.logpdf(30.5, 30.0, 31.0).data, exact) < 100
        )  # of terms forty times as large


@pytest.mark.parametrize("df", [0.5, 30.0, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("x", [0.0, 1.5, 30.0])
def test_students_t_with_many_degrees_of_freedom(df, x):
    with mp.workdps(60):

        def exact(x, df):
            step = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2
            return step - (df + 1) / 2 * mp.log1p(x * x / df)

        value = tg.stats.t.logpdf(x, df).data
        assert ulps(value, exact(mp.mpf(x), mp.mpf(df))) < 16
        by_df = tg.grad(lambda df: tg.stats.t.logpdf(x, df))(df)
        expected = mp.diff(lambda df: exact(mp.mpf(x), df), mp.mpf(df))
        terms = x**2 / df + (df < 16)  # of which the derivative is a difference
        assert abs(by_df - expected) <= 1e-15 * (abs(expected) + terms)


@pytest.mark.parametrize("df", [4.0, 16.5, 39.0, 41.0, 1e4])
def test_students_t_in_float32_keeps_its_digits_by_the_degrees_of_freedom(df):
    def of(dtype):
        return tg.grad(lambda df: tg.stats.t.logpdf(dtype(0.0), df))(dtype(df))

    assert of(np.float32) == pytest.approx(of(np.float64), rel=1e-4)


@pytest.mark.parametrize("kappa", [0.5, 30.0, 60.0, 1e4])
def test_probabilities_of_vonmises_keep_their_digits(kappa):
    z = -np.array([0.5, 3.5]) / np.sqrt(1.0 + kappa)
    with mp.workdps(30):
        full, root = 2 * mp.pi * mp.besseli(0, kappa) * mp.exp(-kappa), mp.sqrt(kappa)
        ends = [[max(-mp.pi, x - 12 / root), max(-2, x - 3 / root), x] for x in z]
        exact = [float(mp.quad(lambda t: mp.exp(kappa * (mp.cos(t) - 1)), each) / full) for each in ends]
    np.testing.assert_allclose(tg.stats.vonmises.cdf(z, kappa).data, exact, rtol=1e-12)
    np.testing.assert_allclose(tg.stats.vonmises.logsf(-z, kappa).data, np.log(exact), rtol=1e-12)


def test_vonmises_without_concentration_is_differentiable():
    z = np.array([-2.0, -0.01, 0.3])
    for method, expected in (("logpdf", np.cos(z)), ("cdf", np.sin(z) / (2 * np.pi))):
        kappa = tg.tensor(np.zeros(3))
        getattr(tg.stats.vonmises, method)(z, kappa).backward()
        np.testing.assert_allclose(kappa.grad, expected, rtol=1e-13)


def test_truncated_normal_without_an_end_is_certain_at_infinity():
    for x, value in ((-np.inf, 0.0), (-1e300, 0.0), (np.inf, 1.0)):
        assert tg.stats.truncnorm.cdf(x, -np.inf, np.inf).data == value
        assert tg.stats.truncnorm.sf(-x, -np.inf, np.inf).data == value


@pytest.mark.parametrize("a", [-1e4, -30.0, -0.3, 0.0, 1e-3, 0.3, 0.999, 1.001, 3.0, 30.0, 1e4])
def test_probabilities_of_skewnorm_keep_their_digits(a):
    """Against integrals of the density, over pieces no longer than what it changes over."""
    for z in (-8.0, -3.0, -0.5, -1e-5, 0.2, 3.0):
        with mp.workdps(30):
            shortest = 1 / ((1 + mp.mpf(a) ** 2) * max(abs(z), 1)) if z < 0 else 1 / (1 + abs(mp.mpf(a)))
            steps = [shortest * 2**k for k in range(0, 40, 2) if shortest * 2**k < 20]
            ends = sorted({mp.mpf(-20), mp.mpf(z), *(z - s for s in steps), *(-s for s in steps if -s < z)})
            top = mp.npdf(z) * mp.erfc(-a * z / mp.sqrt(2))  # by which tolerances become relative
            exact = top * mp.quad(lambda t, top=top: mp.npdf(t) * mp.erfc(-a * t / mp.sqrt(2)) / top, ends)
            by_a = -mp.exp(-(mp.mpf(z) ** 2) * (1 + mp.mpf(a) ** 2) / 2) / (mp.pi * (1 + mp.mpf(a) ** 2))
        if exact < 1e-290:
            continue
        value, (of_z, of_a) = tg.value_and_grad(tg.stats.skewnorm.cdf, argnums=(0, 1))(z, a)
        assert value == pytest.approx(float(exact), rel=2e-13)
        assert tg.stats.skewnorm.logcdf(z, a).data == pytest.approx(float(mp.log(exact)), rel=1e-13)
        assert of_z == pytest.approx(tg.stats.skewnorm.pdf(z, a).data, rel=1e-11)
        assert of_a == pytest.approx(float(by_a), rel=1e-11, abs=1e-300)
        assert tg.stats.skewnorm.logsf(-z, -a).data == tg.stats.skewnorm.logcdf(z, a).data


def test_skewnorm_far_out():
    for z, a in ((-40.0, -30.0), (-1e3, -2.0)):  # there it is twice the normal distribution
        expected = tg.stats.norm.logcdf(z).data + np.log(2)
        assert tg.stats.skewnorm.logcdf(z, a).data == pytest.approx(expected, rel=1e-14)
    assert tg.stats.skewnorm.logcdf(-40.0, 1e8).data == pytest.approx(-(40e8**2) / 2, rel=1e-14)
    assert tg.stats.skewnorm.cdf(0.0, 1e10).data == pytest.approx(1e-10 / np.pi, rel=1e-13)


@pytest.mark.parametrize("c", [0.0, 1e-12, -1e-5, 0.009, -0.011, 0.3, -2.0])
def test_the_extreme_value_distribution_is_smooth_where_it_is_that_of_gumbel(c):
    def reduced(z, c):
        return z if c == 0 else -mp.log1p(-c * z) / c

    exact = {
        "logpdf": lambda z, c: -reduced(z, c) - mp.log1p(-c * z) - mp.exp(-reduced(z, c)),
        "logcdf": lambda z, c: -mp.exp(-reduced(z, c)),
        "logsf": lambda z, c: mp.log(-mp.expm1(-mp.exp(-reduced(z, c)))),
    }
    for z in (-0.3, 0.7, 2.0):
        for method, function in exact.items():
            value, slopes = tg.value_and_grad(getattr(tg.stats.genextreme, method), argnums=(0, 1))(z, c)
            with mp.workdps(80):
                h, at = mp.mpf(10) ** -25, (mp.mpf(z), mp.mpf(c))
                assert value == pytest.approx(float(function(*at)), rel=1e-14)
                by_z = (function(at[0] + h, at[1]) - function(at[0] - h, at[1])) / (2 * h)
                by_c = (function(at[0], at[1] + h) - function(at[0], at[1] - h)) / (2 * h)
            np.testing.assert_allclose(slopes, [float(by_z), float(by_c)], rtol=1e-12)
    found = tg.stats.genextreme.logpdf(np.array([1.0, 0.5]), np.array([1.0, 2.0])).data
    np.testing.assert_array_equal(found, [0.0, np.inf])  # at the end of the support
    assert tg.stats.genextreme.ppf(0.3, c).data == pytest.approx(
        scipy.stats.genextreme.ppf(0.3, c), rel=1e-13
    )


# --- calls -------------------------------------------------------------------------------------------------------


FAR = {
    "gumbel_r.logsf": (1e4, lambda z: -z),
    "gumbel_l.logcdf": (-1e4, lambda z: z),
    "weibull_min.logcdf": (1e-300, lambda z: mp.mpf(SHAPES["weibull_min"][0]) * mp.log(z)),
    "rayleigh.logcdf": (1e-300, lambda z: 2 * mp.log(z) - mp.log(2)),
    "halfnorm.logsf": (1e-5, lambda z: mp.log(mp.erfc(z / mp.sqrt(2)))),
    "cauchy.ppf": (0.5 + 2**-30, lambda q: mp.tan(mp.pi * (q - 0.5))),
    "f.cdf": (1e8, lambda z: mp.betainc(3.5, 1.5, 7 / (7 + 3 * z), 1, regularized=True)),
    "f.sf": (1e-8, lambda z: mp.betainc(1.5, 3.5, 3 * z / (7 + 3 * z), 1, regularized=True)),
}


@pytest.mark.parametrize("which", FAR)
def test_values_and_derivatives_far_out_keep_their_digits(which):
    (name, method), (x, exact) = which.split("."), FAR[which]
    found, slope = tg.value_and_grad(lambda z: getattr(ours(name), method)(z, *shapes_of(name)))(x)
    with mp.workdps(60):
        point = mp.mpf(x)
        step = abs(point) * mp.mpf(10) ** -20
        assert found == pytest.approx(float(exact(point)), rel=2e-15)
        difference = (exact(point + step) - exact(point - step)) / (2 * step)
        assert slope == pytest.approx(float(difference), rel=1e-13)


def test_at_an_end_where_it_is_flat_derivatives_are_0():
    for method in METHODS:
        assert tg.grad(lambda z, method=method: getattr(tg.stats.invgamma, method)(z, 2.2))(0.0) == 0


@pytest.mark.parametrize("name", [name for name in NAMES if shapes_of(name)])
def test_shape_parameters_in_float32_leave_it_float32(name):
    x = np.linspace(0.3, 0.6, 3, dtype=np.float32) + (name == "pareto")
    for shapes in (map(np.float32, shapes_of(name)), [np.full(3, v, np.float32) for v in shapes_of(name)]):
        given = tuple(shapes)
        for method in METHODS:
            found = getattr(ours(name), method)(x, *given)
            assert found.dtype == np.float32, method
    replayed = tg.jit(lambda x, *given: ours(name).logpdf(x, *given, scale=2.0))
    assert replayed(x, *given).dtype == np.float32


def test_log_densities_are_few_instructions():
    stats, x = tg.stats, np.ones(3)
    for call, most in (
        (lambda x, m, s: stats.norm.logpdf(x, m, s), 3),
        (lambda x, m, s: stats.norm.logpdf(x, 0.5, 2.0), 2),
        (lambda x, m, s: stats.norm.logpdf(x), 1),
        (lambda x, m, s: stats.expon.logpdf(x, 0.5, s), 9),
        (lambda x, m, s: stats.weibull_min.logpdf(x, m, scale=s), 17),
        (lambda x, m, s: stats.poisson.logpmf(x, m), 13),
    ):
        assert str(tg.jit(call).tape(x, 0.5, 2.0)).count(" = ") <= most


def test_plain_numbers_take_the_dtype_of_the_variable():
    x = np.linspace(0.1, 0.9, 3, dtype=np.float32)
    for density in (tg.stats.norm.logpdf, lambda x, m, s: tg.stats.gamma.logpdf(x, m, scale=s)):
        assert density(x, 1.5, 2.0).dtype == tg.jit(density)(x, 1.5, 2.0).dtype == np.float32
        assert (
            tg.jit(density)(x, 1.5, np.float64(2.0)).dtype
            == density(x, 1.5, np.float64(2.0)).dtype
            == np.float64
        )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: tg.stats.gamma.logpdf(1.0), "gamma.logpdf: the parameter 'a' is missing"),
        (
            lambda: tg.stats.norm.logpdf(1.0, 0, 1, 2),
            "norm.logpdf takes the parameters loc, scale; 3 are given",
        ),
        (lambda: tg.stats.norm.cdf(1.0, sigma=2), "norm.cdf: 'sigma' is none of its parameters loc, scale"),
        (lambda: tg.stats.norm.cdf(1.0, 0.0, loc=2), "norm.cdf: 'loc' is given twice"),
    ],
)
def test_wrong_parameters_are_named(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


def test_what_has_no_closed_form_is_named():
    with pytest.raises(NotImplementedError, match=r"gamma\.ppf: there is no closed form"):
        tg.stats.gamma.ppf(0.5, 2.0)


def test_scipys_own_methods_name_ours():
    instead = r"^Write tapegrad\.stats\.norm\.logpdf .*`with tapegrad\.in_place_of_scipy\(\):`"
    for call in (scipy.stats.norm.logpdf, scipy.stats.norm(0.0, 2.0).logpdf):
        with pytest.raises(tg.errors.UnsupportedError, match=instead):
            call(tg.tensor([1.0]))
        with pytest.raises(tg.TracedValueError, match=instead):
            tg.grad(lambda x, call=call: call(x))(1.0)
    with pytest.raises(
        tg.errors.UnsupportedError, match=r"^Write tapegrad\.stats\.multivariate_normal\.logpdf"
    ):
        scipy.stats.multivariate_normal.logpdf(tg.tensor([1.0]))
    with pytest.raises(tg.errors.UnsupportedError, match=r"^Write tapegrad\.stats\.levy\.pdf"):
        scipy.stats.levy.pdf(tg.tensor([1.0]))
    with pytest.raises(tg.errors.UnsupportedError, match=r"^tapegrad\.stats\.norm has no isf"):
        scipy.stats.norm.isf(tg.tensor([0.1]))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (3.0, 9.0), (0.5, 3.0), (-20.0, 1.0), (-30.0, -2.0),
        (0.25, 0.25 + 2.0**-30), (-37.0, -37.0 + 2.0**-10), (4.0, 4.125), (-0.25, 0.375),
    ],
)  # fmt: skip
def test_probabilities_of_truncnorm(a, b):
    """Near 1 their logarithms are those of what is lacking; on narrow intervals nothing is a difference."""

    def mass(low, high):
        return mp.ncdf(-low) - mp.ncdf(-high) if low > 0 else mp.ncdf(high) - mp.ncdf(low)

    exact = {
        "logcdf": lambda z: mp.log(mass(mp.mpf(a), z) / mass(mp.mpf(a), mp.mpf(b))),
        "logsf": lambda z: mp.log(mass(z, mp.mpf(b)) / mass(mp.mpf(a), mp.mpf(b))),
    }
    with mp.workdps(260):
        for z in (a + (b - a) * share for share in (1e-3, 0.1, 0.5, 0.9, 0.999)):
            for method, function in exact.items():
                value, slope = tg.value_and_grad(lambda x, m=method: getattr(tg.stats.truncnorm, m)(x, a, b))(
                    z
                )
                np.testing.assert_allclose(
                    value, float(function(mp.mpf(z))), rtol=1e-6 if a == -30.0 else 1e-11
                )
                np.testing.assert_allclose(
                    slope, float(mp.diff(function, mp.mpf(z), h=mp.mpf(10) ** -25)), rtol=1e-11
                )
    assert tg.stats.truncnorm.logcdf(b, a, b).data == 0
    assert np.isfinite(tg.grad(lambda x: tg.stats.truncnorm.logcdf(x, a, b))(b))


def test_a_distribution_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(
        AttributeError, match=r"tapegrad\.stats has no uniform_direction: .*from_scipy.* wishart, ar1"
    ):
        _ = tg.stats.uniform_direction
    assert not hasattr(tg.stats, "__wrapped__")


def _gamma(a, low, high):
    return mp.gammainc(a, low, high, regularized=True)


def _beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _below_t(z, df):
    return _beta(df / 2, mp.mpf(0.5), df / (df + z * z)) / 2


# Probabilities that no float holds, the variable first: mpmath's function, and a place.
TAILS = {
    ("gamma", "logsf"): (lambda z, a: _gamma(a, z, mp.inf), (900.0, 3.0)),
    ("gamma", "logcdf"): (lambda z, a: _gamma(a, 0, z), (1.0, 300.0)),
    ("chi2", "logsf"): (lambda z, df: _gamma(df / 2, z / 2, mp.inf), (3000.0, 7.0)),
    ("chi2", "logcdf"): (lambda z, df: _gamma(df / 2, 0, z / 2), (1e-3, 300.0)),
    ("invgamma", "logsf"): (lambda z, a: _gamma(a, 0, 1 / z), (1e3, 200.0)),
    ("invgamma", "logcdf"): (lambda z, a: _gamma(a, 1 / z, mp.inf), (1e-3, 3.0)),
    ("beta", "logsf"): (lambda z, a, b: _beta(b, a, 1 - z), (0.999, 3.0, 200.0)),
    ("beta", "logcdf"): (lambda z, a, b: _beta(a, b, z), (0.4, 5000.0, 3000.0)),
    ("f", "logsf"): (lambda z, n, d: _beta(d / 2, n / 2, 1 / (1 + n / d * z)), (50.0, 700.0, 800.0)),
    ("f", "logcdf"): (lambda z, n, d: _beta(n / 2, d / 2, n / d * z / (1 + n / d * z)), (0.01, 700.0, 800.0)),
    ("t", "logcdf"): (_below_t, (-200.0, 400.0)),
    ("t", "logsf"): (lambda z, df: _below_t(-z, df), (1e60, 9.0)),
    ("poisson", "logsf"): (lambda k, mu: _gamma(k + 1, 0, mu), (800.0, 3.0)),
    ("poisson", "logcdf"): (lambda k, mu: _gamma(k + 1, mu, mp.inf), (3.0, 900.0)),
    ("binom", "logsf"): (lambda k, n, p: _beta(k + 1, n - k, p), (900.0, 1000.0, 0.1)),
    ("binom", "logcdf"): (lambda k, n, p: _beta(n - k, k + 1, 1 - p), (3.0, 5000.0, 0.5)),
    ("nbinom", "logsf"): (lambda k, n, p: _beta(k + 1, n, 1 - p), (5000.0, 3.0, 0.5)),
    ("nbinom", "logcdf"): (lambda k, n, p: _beta(n, k + 1, p), (3.0, 500.0, 0.01)),
}
COUNTS = {"poisson": 1, "nbinom": 1, "binom": 2}  # arguments that are whole numbers, and constants


def test_logarithms_of_probabilities_without_a_float():
    """The logarithm is an ordinary number there, and so is its derivative by every argument."""
    wrong = []
    with mp.workdps(50):
        for (name, method), (probability, place) in TAILS.items():
            function = getattr(getattr(tg.stats, name), method)
            numbers = range(COUNTS.get(name, 0), len(place))
            value, gradient = tg.value_and_grad(function, argnums=tuple(numbers))(*place)
            exact = [mp.mpf(x) for x in place]
            step = mp.mpf(10) ** -15
            known = [mp.log(probability(*exact))]
            for k in numbers:
                ends = [
                    probability(*exact[:k], exact[k] * (1 + sign * step), *exact[k + 1 :]) for sign in (1, -1)
                ]
                known.append(mp.log(ends[0] / ends[1]) / (2 * step * exact[k]))
            assert known[0] < -745
            found = [value, *gradient]
            if not all(
                abs(one - other) <= 1e-12 * abs(other) for one, other in zip(found, known, strict=True)
            ):
                wrong.append((name, method, found, [float(x) for x in known]))
    assert not wrong


def test_a_censored_fit_starts_far_out():
    """Times beyond the end of a study, whose probability has no float at the start."""
    times, seen = np.array([3.0, 5.0, 8.0, 9.0]), np.array([True, True, False, False])

    def loss(p):
        a, scale = np.exp(p)
        logs = tg.where(
            seen, tg.stats.gamma.logpdf(times, a, scale=scale), tg.stats.gamma.logsf(times, a, scale=scale)
        )
        return -tg.sum(logs)

    result = tg.optimize.minimize(loss, np.log([2.0, 0.004]), method="native")
    assert result.success
    assert 3 < np.exp(result.x).prod() < 20


@pytest.mark.parametrize("c", [-0.3, -1e-9, 0.0, 1e-12, 1e-5, 0.4])
def test_genpareto_keeps_its_digits_near_the_exponential_distribution(c):
    z = 1.7

    def reduced(c):
        return mp.mpf(z) if c == 0 else mp.log1p(c * z) / c

    with mp.workdps(60):
        exact = {"logpdf": lambda c: -(1 + c) * reduced(c), "cdf": lambda c: -mp.expm1(-reduced(c))}
        for method, function in exact.items():
            value, gradient = tg.value_and_grad(lambda c, m=method: getattr(tg.stats.genpareto, m)(z, c))(c)
            limit = mp.diff(function, mp.mpf(c) + (mp.mpf(10) ** -40 if c == 0 else 0), h=mp.mpf(10) ** -25)
            np.testing.assert_allclose(value, float(function(mp.mpf(c))), rtol=1e-14)
            np.testing.assert_allclose(gradient, float(limit), rtol=1e-11)
