"""Special functions by SciPy's names: values in ulps, derivatives at 30 digits, operands that must be constants."""

import pickle

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tapegrad as tg
from helpers.special_oracle import SPECIAL
from helpers.table_loops import grouped
from tapegrad.errors import UnsupportedError
from tapegrad.ops import BY_NAME, ELEMENTWISE

ASKED = (
    "erf", "erfc", "erfinv", "erfcinv", "expit", "logit", "log_expit", "softmax", "log_softmax", "logsumexp", "xlogy",
    "xlog1py", "entr", "rel_entr", "kl_div", "gamma", "gammaln", "gammasgn", "rgamma", "poch", "digamma", "psi",
    "polygamma", "beta", "betaln", "gammainc", "gammaincc", "betainc", "betaincc", "ndtr", "log_ndtr", "ndtri", "i0",
    "i1", "i0e", "i1e", "j0", "j1", "y0", "y1", "jv", "yv", "iv", "ive", "kv", "kve", "hyp0f1", "zeta", "exprel",
    "log1p", "expm1", "cosm1", "sinc", "owens_t", "stdtr", "erfcx", "k0", "k1", "dawsn", "expi", "exp1", "ellipk",
    "ellipe", "inv_boxcox", "huber", "pseudo_huber", "binom", "gammaincinv", "gammainccinv", "betaincinv",
    "betainccinv", "stdtrit", "kn", "yn", "comb",
)  # fmt: skip
ROWS = [op for op in ELEMENTWISE if op.takes_real and op.home == "tapegrad.special"]
every = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
SPECIAL_VALUES = (0.0, -0.0, 0.5, 1.0, 2.0, -1.0, -2.5, 30.0, np.inf, -np.inf, np.nan)


def function(op):
    return getattr(tg.special, op.name)


def scipys(op):
    return getattr(scipy.special, op.name)


def drawn(op, dtype=np.float64, count=40):
    rng = np.random.default_rng(len(op.name))
    return [rng.uniform(*domain, count).astype(dtype) for domain in op.domains]


# --- values ------------------------------------------------------------------------------------------------------


def test_all_names_are_there():
    assert set(ASKED) <= set(dir(tg.special))
    assert tg.special.gammaln is tg.lgamma
    assert tg.special.psi is tg.special.digamma is tg.digamma
    assert tg.special.expit is tg.sigmoid
    assert all(name in vars(scipy.special) for name in tg.special.__all__)


@grouped("op")
@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_scipys(op, dtype):
    arrays = drawn(op, dtype)
    expected = scipys(op)(*arrays)
    tensors = [x if j in op.unknown else tg.tensor(x) for j, x in enumerate(arrays)]
    for call in (function(op), scipys(op)):
        found = call(*tensors)
        assert found.dtype == expected.dtype == dtype
        assert found.constant == (not op.differentiable_operands)
        np.testing.assert_array_max_ulp(found.data, expected, 1)
    if dtype == np.float64:
        np.testing.assert_array_max_ulp(tg.jit(function(op))(*arrays), expected, 1)


@every
def test_special_values_are_scipys(op):
    columns = np.array(np.meshgrid(*[SPECIAL_VALUES] * len(op.domains))).reshape(len(op.domains), -1)
    with np.errstate(all="ignore"):
        fine = columns[0] != 1.0 if op.name == "hyp0f1" else slice(None)
        if op.name == "hyp1f1":  # SciPy's loop does not end at some infinite numbers
            fine = np.isfinite(columns).all(axis=0)
        columns = [column[fine] for column in columns]
        expected = scipys(op)(*columns)
    np.testing.assert_array_max_ulp(function(op)(*columns).data, expected, 1)


FAR = [
    ("log_ndtr", (-40.0,)), ("log_ndtr", (-1e5,)), ("log_ndtr", (8.0,)), ("gammaln", (1e15,)), ("gammaln", (1e-300,)),
    ("betainc", (0.5, 3.0, 1e-300)), ("betainc", (200.0, 300.0, 0.1)), ("betaincc", (2.0, 3.0, 1 - 1e-12)),
    ("gammainc", (50.0, 1.0)), ("gammaincc", (2.0, 600.0)), ("erfcx", (1e8,)), ("ndtri", (1e-300,)),
    ("betaln", (1e10, 0.5)), ("i0e", (1e5,)), ("kve", (2.5, 1e4)), ("expit", (-700.0,)), ("log_expit", (-800.0,)),
    ("hyp0f1", (2.5, -3.0)), ("jv", (0.5, 1e-200)), ("exprel", (1e-12,)), ("cosm1", (1e-9,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands"), FAR, ids=[f"{name}{operands}" for name, operands in FAR])
def test_values_far_out_are_scipys(name, operands):
    found = getattr(tg.special, name)(*operands).data
    assert found == getattr(scipy.special, name)(*operands)
    assert found != 0


# --- derivatives -------------------------------------------------------------------------------------------------

# Places where the usual form of a derivative overflows, underflows or cancels, and the error of it in units of 1e-16.
HARD = [
    ("log_ndtr", (-40.0,), 10), ("log_ndtr", (-1e4,), 10), ("log_ndtr", (6.0,), 100), ("erfcx", (1e4,), 10),
    ("erfcx", (21.0,), 100), ("erfcx", (19.0,), 3000), ("erfcinv", (1e-300,), 3e3), ("ndtri", (1e-300,), 3e3),
    ("gammaln", (1e15,), 10), ("rgamma", (-3.0,), 20), ("rgamma", (0.0,), 10), ("rgamma", (-10.5,), 40),
    ("betaln", (1e10, 0.5), 20), ("betaln", (1e3, 1e3), 20), ("poch", (1e8, 1.5), 30), ("exprel", (1e-9,), 10),
    ("exprel", (0.499,), 20), ("exprel", (0.501,), 40), ("exprel", (-60.0,), 10), ("exprel", (300.0,), 300),
    ("betaln", (30.0, 1e-5), 20), ("betaln", (1e-6, 1.0), 20), ("betaln", (1e6, 1e-6), 20), ("beta", (3.0, 1e-9), 30),
    ("poch", (5.0, 1e-10), 30), ("poch", (0.3, 1e-6), 30), ("erfcx", (5.1,), 20), ("erfcx", (4.9,), 200),
    ("kl_div", (1.0, 1.0 + 1e-9), 20), ("rel_entr", (1e-200, 1.0), 10), ("i1", (1e-9,), 10), ("j1", (1e-9,), 10),
    ("owens_t", (5.0, 0.5), 50), ("logit", (1e-300,), 10), ("entr", (1e-300,), 10), ("cosm1", (1e-9,), 10),
    ("dawsn", (20.0,), 10), ("dawsn", (-1e5,), 10), ("dawsn", (7.9,), 1000), ("ellipk", (1e-9,), 10),
    ("ellipe", (1e-9,), 10), ("ellipk", (0.26,), 50), ("ellipk", (0.999,), 1e4), ("ellipe", (-1e5,), 30),
    ("inv_boxcox", (0.5, 1e-9), 10), ("inv_boxcox", (0.5, 0.11), 200),
    ("pseudo_huber", (2.0, 1e-5), 10), ("pseudo_huber", (1e-8, 3.0), 10), ("binom", (50.0, 1e-6), 200),
    ("k1", (1e-9,), 10), ("binom", (3.0, 5.0), 20), ("binom", (0.5, 1.5), 20), ("binom", (2.0, 7.3), 50),
    ("boxcox", (2.0, 1e-9), 10), ("boxcox", (1e-300, 0.5), 1e3), ("boxcox", (1.0001, -3.0), 100),
    ("i0e", (1e4,), 10), ("i0e", (-31.0,), 10), ("i0e", (29.0,), 100), ("i1e", (1e8,), 10), ("i1e", (-50.0,), 10),
]  # fmt: skip


def slope(exact, operands, j, order=1):
    """A derivative by operand `j`, by differences at as many digits as mpmath is set to."""
    given = tuple(map(mp.mpf, operands))
    step = (mp.fabs(given[j]) or 1) * mp.mpf(10) ** -30
    return mp.diff(lambda x: exact(*given[:j], x, *given[j + 1 :]), given[j], order, h=step)


@pytest.mark.parametrize(
    ("name", "operands", "units"), HARD, ids=[f"{name}{operands}" for name, operands, _ in HARD]
)
def test_derivatives_at_hard_places(name, operands, units):
    exact = SPECIAL[{"gammaln": "lgamma"}.get(name, name)]
    found = tg.grad(getattr(tg.special, name), tuple(range(len(operands))))(*operands)
    with mp.workdps(420 if min(operands) == 1e-300 else 100):
        for j, gradient in enumerate(found):
            want = slope(exact, operands, j)
            assert mp.fabs(mp.mpf(float(gradient)) - want) <= units * 1e-16 * mp.fabs(want), (
                j,
                gradient,
                want,
            )


@pytest.mark.parametrize("x", [0.0, 1e-300])
@pytest.mark.parametrize(("name", "sign"), [("yv", 1), ("kv", -1), ("kve", -1)])
def test_derivatives_of_bessel_functions_where_they_are_infinite(name, sign, x):
    assert tg.grad(lambda x: getattr(tg.special, name)(1.5, x))(x) == sign * np.inf


def test_derivative_of_erfcx_in_single_precision():
    x = np.geomspace(0.5, 1e3, 50).astype(np.float32)
    wanted = tg.grad(lambda x: tg.sum(tg.special.erfcx(x)))(x.astype(float))
    np.testing.assert_allclose(tg.grad(lambda x: tg.sum(tg.special.erfcx(x)))(x), wanted, rtol=1e-5)


@pytest.mark.parametrize("operands", [(0.0, 31.0), (2.5, 1e4), (50.0, 600.0), (1.0, -1e3), (10.0, 1e8)])
@pytest.mark.parametrize("name", ["ive", "kve"])
def test_derivatives_of_scaled_bessel_functions_far_out(name, operands):
    order, x = operands[0], abs(operands[1]) if name == "kve" else operands[1]
    with mp.workdps(60):
        want = float(slope(SPECIAL[name], (order, x), 1))
    assert tg.grad(getattr(tg.special, name), 1)(order, x) == pytest.approx(want, rel=2e-15)
    assert tg.grad(getattr(tg.special, name), 1)(order, np.float32(x)) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "units"), [(31.0, 0.5, 10), (50.0, 30.0, 30), (1e6, 20.0, 200), (1e6, 1e6, 3e3)]
)
def test_derivatives_of_incomplete_beta_functions_with_large_parameters(a, b, units):
    for x in a / (a + b) + np.array([-1.0, 0.0, 0.3]) * np.sqrt(a * b / (a + b) ** 3):
        with mp.workdps(40):
            exact = (
                mp.mpf(float(x)) ** (mp.mpf(a) - 1)
                * (1 - mp.mpf(float(x))) ** (mp.mpf(b) - 1)
                / mp.beta(a, b)
            )
        assert tg.grad(tg.special.betainc, 2)(a, b, x) == pytest.approx(float(exact), rel=units * 1e-16)
    for x in (0.0, 1.0):
        assert tg.grad(tg.special.betaincc, 2)(a, max(b, 2.0), x) == 0


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        (100.0, 5.0, 1 - 1e-12),
        (5.0, 100.0, 1e-12),
        (100.0, 5.0, 1 - 1e-5),
        (10.3, 8.2e6, 3.5e-6),
        (40.0, 3e6, 1e-7),
    ],
)
def test_derivatives_of_incomplete_beta_functions_far_from_the_mode(a, b, x):
    with mp.workdps(40):
        exact = mp.mpf(x) ** (mp.mpf(a) - 1) * (1 - mp.mpf(x)) ** (mp.mpf(b) - 1) / mp.beta(a, b)
    assert tg.grad(tg.special.betainc, 2)(a, b, x) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("df", [0.3, 15.0, 17.0, 1.8e4, 1e9])
def test_derivatives_of_students_t_are_exact_for_any_degrees_of_freedom(df):
    with mp.workdps(40):
        v = mp.mpf(df)
        factor = mp.exp(mp.loggamma((v + 1) / 2) - mp.loggamma(v / 2))
        exact = factor / mp.sqrt(v * mp.pi) * (1 + mp.mpf(0.5) ** 2 / v) ** (-(v + 1) / 2)
    assert tg.grad(tg.special.stdtr, 1)(df, 0.5) == pytest.approx(float(exact), rel=2e-15)


KNOWN = [
    pytest.param(op, j, id=f"{op.name}-{op.arguments[j]}")
    for op in ROWS
    for j in op.differentiable_operands
    if op.unknown
]


@pytest.mark.parametrize(("op", "j"), KNOWN)
def test_derivatives_by_the_known_operands(op, j):
    operands = [0.5 * (low + high) + 0.13 for low, high in op.domains]
    exact = SPECIAL[op.name]
    with mp.workdps(90):
        first, second = (float(slope(exact, operands, j, order)) for order in (1, 2))
    for call in (function(op), scipys(op), tg.jit(function(op))):
        assert tg.grad(call, j)(*operands) == pytest.approx(first, rel=1e-13)
        assert tg.hessian(call, j)(*operands) == pytest.approx(second, rel=1e-11)

    def along(x):
        return function(op)(*operands[:j], x, *operands[j + 1 :])

    assert tg.jvp(along, (operands[j],), (1.0,))[1] == pytest.approx(first, rel=1e-13)
    single = tg.grad(tg.jit(along))(np.float32(operands[j]))
    assert single == pytest.approx(first, rel=1e-5)


# --- operands that must be constants -----------------------------------------------------------------------------

UNKNOWN = [pytest.param(op, j, id=f"{op.name}-{op.arguments[j]}") for op in ROWS for j in sorted(op.unknown)]


@pytest.mark.parametrize(("op", "j"), UNKNOWN)
def test_an_operand_without_a_derivative_is_refused_by_name(op, j):
    operands = [0.5 * (low + high) for low, high in op.domains]
    leaf = [*operands[:j], tg.tensor(operands[j]), *operands[j + 1 :]]
    sentence = rf"scipy\.special\.{op.name}: no derivative by '{op.arguments[j]}' is known"
    for call in (function(op), scipys(op)):
        with pytest.raises(UnsupportedError, match=sentence):
            call(*leaf)
    value = function(op)(*[x.detach() if isinstance(x, tg.Tensor) else x for x in leaf])
    with tg.no_grad():
        assert function(op)(*leaf).data == value.data


JV = BY_NAME["jv"]
REFUSED = r"scipy\.special\.jv: no derivative by 'v' is known"


def test_no_way_of_differentiating_loses_the_derivative():
    jv, x = tg.special.jv, 1.5
    recorded = tg.jit(jv)
    assert recorded(0.5, x) == scipy.special.jv(0.5, x)
    assert tg.grad(recorded, 1)(0.5, x) == tg.grad(jv, 1)(0.5, x)
    for ask in (
        lambda: tg.grad(jv)(0.5, x),
        lambda: tg.grad(recorded)(0.5, x),
        lambda: tg.jvp(jv, (0.5, x), (1.0, 0.0)),
        lambda: tg.jvp(recorded, (0.5, x), (1.0, 0.0)),
        lambda: tg.jacfwd(recorded, 0)(0.5, x),
        lambda: tg.jacrev(recorded, 0)(0.5, x),
        lambda: tg.vjp(recorded, 0.5, x),
        lambda: tg.hessian(jv, 0)(0.5, x),
        lambda: tg.jit(tg.grad(jv))(0.5, x),
        lambda: tg.grad(tg.grad(recorded, 1), 0)(0.5, x),
        lambda: jv([tg.tensor(0.5), 1.0], x),
        lambda: jv(tg.tensor([0.5]), x, out=tg.zeros(1)),
    ):
        with pytest.raises(UnsupportedError, match=REFUSED):
            ask()
    y = jv(tg.tensor(0.5, constant=True), tg.tensor(x))
    y.backward()  # the tape is usable


@pytest.mark.parametrize("n", [0, 1, 2, 5, np.array([0, 1, 3])])
def test_polygamma(n):
    x = np.array([0.4, 1.5, 30.0])
    np.testing.assert_allclose(tg.special.polygamma(n, x).data, scipy.special.polygamma(n, x), rtol=1e-14)
    gradient = tg.grad(tg.jit(lambda x: tg.sum(tg.special.polygamma(n, x))))(x)
    np.testing.assert_allclose(gradient, scipy.special.polygamma(np.asarray(n) + 1, x), rtol=1e-13)


def test_zeta_of_riemann_and_hurwitz():
    x, q = np.array([2.0, 3.5, -1.5]), tg.tensor([0.5, 1.5, 2.0])
    np.testing.assert_array_equal(tg.special.zeta(x).data, scipy.special.zeta(x))
    for zeta in (tg.special.zeta, scipy.special.zeta):
        np.testing.assert_array_equal(zeta(2.5, q).data, scipy.special.zeta(2.5, q.data))
    out = tg.zeros(3)
    assert tg.special.zeta(2.5, q, out=out) is out
    for name, call in (
        ("zeta", lambda: tg.special.zeta(q)),
        ("polygamma", lambda: tg.special.polygamma(q, 1.0)),
    ):
        with pytest.raises(UnsupportedError, match=rf"scipy\.special\.{name}: no derivative by '[xn]'"):
            call()


# --- calls -------------------------------------------------------------------------------------------------------


def test_numpys_i0_is_the_same():
    x = tg.tensor([0.5, -2.0])
    np.i0(x).backward()
    np.testing.assert_allclose(x.grad, scipy.special.i1([0.5, -2.0]), rtol=1e-15)


def test_arguments_of_ufuncs():
    x, out = tg.tensor([0.2, 0.5]), tg.zeros(2)
    assert scipy.special.betainc(2.0, 3.0, x, out=out) is out
    masked = tg.special.betainc(2.0, 3.0, x, where=[True, False])
    assert masked.data.tolist() == [scipy.special.betainc(2.0, 3.0, 0.2), 0.0]
    assert tg.special.betainc(2, 3, x, dtype=np.float32).dtype == np.float32
    assert tg.special.gamma([3, 4]).data.tolist() == [2.0, 6.0]
    with pytest.raises(TypeError):
        tg.special.betainc(2.0, 3.0)


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax", "polygamma"])
def test_scipys_functions_in_python_name_ours(name):
    arguments = (1, tg.tensor([1.0])) if name == "polygamma" else (tg.tensor([1.0]),)
    with pytest.raises(UnsupportedError, match=rf"write tapegrad\.special\.{name}"):
        getattr(scipy.special, name)(*arguments)


def test_functions_are_pickled_by_their_home():
    for call in (tg.special.jv, tg.special.gammaln, tg.special.polygamma):
        assert pickle.loads(pickle.dumps(call)) is call


@pytest.mark.parametrize("name", ["kn", "yn"])
def test_bessel_functions_of_integer_order(name):
    function, theirs = getattr(tg.special, name), getattr(scipy.special, name)
    x = np.array([0.3, 1.0, 4.0])
    for n in (0, 1, 3, np.array([2, 0, 1])):
        np.testing.assert_allclose(function(n, tg.tensor(x)).data, theirs(n, x), rtol=1e-13)
        np.testing.assert_array_equal(theirs(n, tg.tensor(x)).data, function(n, x).data)
    slope = mp.diff({"kn": lambda v: mp.besselk(2, v), "yn": lambda v: mp.bessely(2, v)}[name], 1.5)
    for transform in (tg.grad, lambda f: tg.grad(tg.jit(f))):
        np.testing.assert_allclose(transform(lambda x: function(2, x))(1.5), float(slope), rtol=1e-13)
    with pytest.raises(
        ValueError, match=f"{name}: the order must be a whole number; {name[0]}v takes real ones"
    ):
        function(1.5, tg.tensor(x))


def test_combinations():
    n, k = np.array([5.0, 4.5, 2.0, -1.0, 3.0]), np.array([2.0, 1.5, 3.0, 1.0, -1.0])
    np.testing.assert_allclose(tg.special.comb(tg.tensor(n), k).data, scipy.special.comb(n, k), rtol=1e-14)
    again = scipy.special.comb(n[:2], k[:2], repetition=True)
    np.testing.assert_allclose(
        tg.special.comb(n[:2], tg.tensor(k[:2]), repetition=True).data, again, rtol=1e-14
    )
    slope = mp.diff(lambda v: mp.binomial(v, 2), 5.5)
    np.testing.assert_allclose(tg.grad(lambda v: tg.special.comb(v, 2.0))(5.5), float(slope), rtol=1e-13)
    assert tg.grad(lambda v: tg.special.comb(v, 3.0))(2.0) == 0.0
    with pytest.raises(UnsupportedError, match="write exact=False"):
        tg.special.comb(tg.tensor(5.0), 2, exact=True)


def test_factorials():
    n = np.array([0.0, 3.0, 2.5, -1.0, -0.5, np.nan, 171.0])
    for f in (tg.special.factorial, tg.jit(tg.special.factorial)):
        np.testing.assert_allclose(f(n), scipy.special.factorial(n), rtol=1e-14)
    slope = mp.diff(mp.factorial, 2.5)
    np.testing.assert_allclose(tg.grad(tg.special.factorial)(2.5), float(slope), rtol=1e-13)
    assert tg.grad(tg.special.factorial)(-1.5) == 0.0
    for option in ({"exact": True}, {"extend": "complex"}):
        with pytest.raises(UnsupportedError, match="write exact=False"):
            tg.special.factorial(5.0, **option)


@pytest.mark.parametrize("name", ["fdtr", "fdtrc"])
def test_distribution_of_ratios(name: str) -> None:
    theirs, ours = getattr(scipy.special, name), getattr(tg.special, name)

    def exact(*values: float) -> mp.mpf:
        m, n, x = map(mp.mpf, values)
        below = mp.betainc(m / 2, n / 2, 0, m * x / (n + m * x), regularized=True)
        return below if name == "fdtr" else 1 - below

    for values in ((2.0, 4.0, 0.5), (3.5, 7.0, 40.0), (9.0, 2.5, 0.02)):
        assert theirs(*map(tg.tensor, values)).item() == pytest.approx(theirs(*values), rel=1e-13)
        with mp.workdps(40):
            slopes = [mp.diff(exact, values, order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
        np.testing.assert_allclose(tg.grad(ours, (0, 1, 2))(*values), np.array(slopes, float), rtol=1e-11)
    x = np.array([0.3, -1.0, 0.0, 2.0])
    np.testing.assert_allclose(ours([1, 2, 3, 4], 3, x).data, theirs([1, 2, 3, 4], 3, x), rtol=1e-14)
    out = np.empty(4)
    assert ours(2, 3, x, out=out) is out


def test_multigammaln() -> None:
    a = np.array([1.3, 2.0, 50.0])
    for d in (1, 2, 3):
        np.testing.assert_allclose(
            tg.special.multigammaln(a, d).data, scipy.special.multigammaln(a, d), rtol=1e-13
        )
    assert np.isnan(tg.special.multigammaln([1.0, 0.5], 3).data).all()  # where SciPy raises
    tg.check_grads(lambda a: tg.sum(tg.special.multigammaln(a, 3)), (a,))
    for d in (0, 1.5):
        with pytest.raises(ValueError, match=f"positive integer, not {d}"):
            tg.special.multigammaln(a, d)
