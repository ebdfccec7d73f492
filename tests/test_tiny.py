"""Every room of the package in a few seconds: run it after each save (``make test-tiny``).

The name of a test begins with the room that it is about, and rooms come in the order of imports: the first test that
fails says where to look. Expected numbers are computed without tapegrad.
"""

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess

import tapegrad as tg
from tapegrad.cli import main
from tapegrad.cli.generate import examples, stubs
from tapegrad.examples import nist
from tapegrad.ops import BY_NAME, ELEMENTWISE, evaluate
from tapegrad.ops.documentation import DOCS

pytestmark = pytest.mark.tiny

X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, 0.5, -2.0])
POINT = np.array([1.3, 0.7, 0.8])


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_every_room_has_a_test():
    package = Path(tg.__file__).parent
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    missing = {room for room in rooms if not any(name.startswith(f"test_{room}_") for name in globals())}
    assert not missing, f"no test in {Path(__file__).name} begins with the name of: {missing}"


# --- ops ---------------------------------------------------------------------------------------------------------


def test_ops_rows_state_primals_and_partials():
    row = BY_NAME["log1p"]
    assert evaluate(row.primal, {"log1p": math.log1p}, x0=0.5) == math.log(1.5)
    assert evaluate(row.partials[0], {}, x0=0.5) == 1 / 1.5


@pytest.mark.parametrize(
    ("name", "derivative"),
    [
        ("reciprocal", lambda x: -1 / x**2),
        ("exp2", lambda x: 2**x * math.log(2)),
        ("arctan", lambda x: 1 / (1 + x * x)),
        ("tanh", lambda x: 1 / math.cosh(x) ** 2),
        ("absolute", lambda x: math.copysign(1, x)),
        ("erf", lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
    ],
)
def test_ops_of_each_family_have_derivatives(name, derivative):
    close(tg.grad(getattr(tg, name))(0.7), derivative(0.7))


def test_ops_rows_are_described_and_what_follows_from_them_is_written():
    missing = sorted({row.name for row in ELEMENTWISE if row.public} - DOCS.keys() - examples.OWN_FUNCTION)
    assert not missing, f"say what {', '.join(missing)} do: entries of DOCS in ops/documentation.py"
    assert examples.main(["--check"]) == 0, "run `make gen`"
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # the stubs are written of its signatures
        assert stubs.main(["--check"]) == 0, "run `make gen`"


# --- engine ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_engine_elementwise_kernels(dtype):
    """On lines with and without strides, and on one element against many."""
    x = tg.tensor(np.linspace(0.1, 1.2, 6).reshape(2, 3).astype(dtype))
    y = tg.exp(x.T) * x[0, 0]
    tolerance = {"rtol": 8 * np.finfo(dtype).eps}
    np.testing.assert_allclose(y.data, np.exp(x.data.T) * x.data[0, 0], **tolerance)
    y.backward()
    expected = np.exp(x.data) * x.data[0, 0]
    expected[0, 0] += np.exp(x.data).sum()
    np.testing.assert_allclose(x.grad, expected, **tolerance)


def test_engine_structural_kernels():
    """Reductions, matrix products and elements that are taken more than once."""
    w, x = tg.tensor(np.arange(1.0, 7.0).reshape(2, 3)), tg.tensor(X)
    y = tg.sum((w @ x)[[0, 1, 1]])
    close(y.data, np.arange(1.0, 7.0).reshape(2, 3) @ X @ [1, 2])
    y.backward()
    close(w.grad, np.outer([1, 2], X))
    close(x.grad, [1 + 2 * 4, 2 + 2 * 5, 3 + 2 * 6])


def test_engine_tape_lets_go_of_what_nobody_uses():
    before = str(tg.tape())
    x = tg.tensor(X)
    y = tg.sin(x) * 2.5
    assert "2.5" in str(tg.tape())
    del x, y
    assert str(tg.tape()) == before


def test_engine_verify_names_what_was_written_behind_the_tapes_back():
    x = tg.tensor([1.0, 2.0])
    y = x * x
    tg.check_tape()
    x.data[0] = 5.0
    with pytest.raises(tg.ChangedValueError, match="multiply"):
        y.backward()


def test_engine_printing():
    tape = tg.jit(lambda x: tg.sum(x[1:] * x[:-1])).tape(np.ones(4))
    assert [" ".join(line.split()) for line in str(tape).splitlines()] == [
        "inputs x0 (4,) f64",
        "0 v0 = multiply(x0[1:], x0[:3]) (3,) f64",
        "1 v1 = sum(v0) () f64",
        "outputs v1 () f64",
    ]


def test_engine_zero_times_anything_is_zero():
    close(tg.grad(lambda x: tg.sum(tg.where(x > 0, tg.sqrt(x), 0)))(np.array([0.0, 4.0])), [0, 0.25])


def test_engine_large_instructions_run_on_threads():
    x = np.linspace(-1.0, 1.0, 300_001)
    value, gradient = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * x)))(x)
    np.testing.assert_allclose(value, x @ x, rtol=1e-12)
    np.testing.assert_array_equal(gradient, 2 * x)


# --- frontend ----------------------------------------------------------------------------------------------------


def test_frontend_takes_the_names_and_values_of_numpy():
    x = tg.tensor(X)
    close(np.sin(x).data, np.sin(X))
    close(tg.concatenate([x, 2 * x]).reshape(2, 3).mean(axis=0).data, 1.5 * X)
    assert (x + np.float32(1)).dtype == np.float64
    assert (x > 0).tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"add.*\(3,\).*\(2,\)"):
        x + np.ones(2)


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (tg.mean, [1 / 3] * 3),
        (tg.prod, [X[1] * X[2], X[0] * X[2], X[0] * X[1]]),
        (lambda x: tg.max(x) - tg.min(x), [0, -1, 1]),
        (lambda x: tg.sum(tg.cumsum(x)), [3, 2, 1]),
        (lambda x: tg.sqrt(x @ x), X / math.sqrt(X @ X)),
        (lambda x: tg.sum(tg.broadcast_to(x, (4, 3))), [4, 4, 4]),
        (lambda x: tg.sum(tg.stack([x, x[::-1]])[0, ::2]), [1, 0, 1]),
        (lambda x: tg.sum(x[np.array([True, False, True])] ** 2), [2 * X[0], 0, 2 * X[2]]),
    ],
    ids=["mean", "prod", "max-min", "cumsum", "dot", "broadcast_to", "stack", "mask"],
)
def test_frontend_functions(function, gradient):
    close(tg.grad(function)(X), gradient)


def test_frontend_refuses_to_lose_a_gradient():
    with pytest.raises(tg.TracedValueError, match=r"float\(\)"):
        tg.grad(lambda x: x * float(x))(2.0)


def test_frontend_names_the_line_of_an_anomaly():
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError, match=Path(__file__).name):
        tg.log(tg.tensor(-1.0) * 2)


def test_frontend_views_share_memory_and_writes_are_differentiated():
    x = tg.tensor(X)
    y = x * x
    tail = y[1:]
    tail[0] = 10.0
    close(y.data, [X[0] ** 2, 10, X[2] ** 2])
    tg.sum(y * y).backward()
    close(x.grad, [4 * X[0] ** 3, 0, 4 * X[2] ** 3])


def test_frontend_modes():
    x = tg.tensor(X)
    with tg.no_grad():
        y = x * x
    assert y.constant
    assert not (x * x).constant


# --- autodiff ----------------------------------------------------------------------------------------------------


def test_autodiff_backward_accumulates():
    x = tg.tensor(POINT)
    rosenbrock(x).backward()
    close(x.grad, rosen_der(POINT))
    rosenbrock(x).backward()
    close(x.grad, 2 * rosen_der(POINT))


def test_autodiff_gradients_are_differentiated():
    x = tg.tensor(X)
    tg.sum(x**4).backward(create_graph=True)
    gradient = x.grad
    close(gradient.data, 4 * X**3)
    x.null_grad()
    tg.sum(gradient).backward()
    close(x.grad, 12 * X**2)


def test_autodiff_hooks():
    x = tg.tensor(X)
    x.register_hook(lambda gradient: 2 * gradient)
    tg.sum(x * x).backward()
    close(x.grad, 4 * X)


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_autodiff_custom_ops(prepare):
    cube = tg.custom_op("cube", lambda x: x**3, lambda y_bar, y, x: 3 * x * x * y_bar)
    close(tg.grad(prepare(lambda x: tg.sum(tg.sin(cube(x)))))(X), np.cos(X**3) * 3 * X**2)


# --- sparse ------------------------------------------------------------------------------------------------------


def test_sparse_matrices_have_computed_entries():
    def f(x):
        return tg.sum(
            tg.linalg.spsolve(tg.sparse.diags_array([x, -1.0], offsets=[0, 1], shape=(2, 2)), np.ones(2))
        )

    value, slope = tg.value_and_grad(f)(np.array([2.0, 4.0]))
    assert value == 0.875
    np.testing.assert_allclose(slope, [-0.3125, -0.09375])


# --- program -----------------------------------------------------------------------------------------------------


def test_program_replays_take_each_way_of_a_branch():
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x**3) if x[0] > 0 else tg.sum(tg.sin(x))))
    for x in (X, 2 * X, -X, X):
        value, gradient = f(x)
        close(value, np.sum(x**3) if x[0] > 0 else np.sum(np.sin(x)))
        close(gradient, 3 * x**2 if x[0] > 0 else np.cos(x))


def test_program_leaves_out_what_nobody_uses():
    f = tg.jit(lambda x: (tg.exp(x), tg.sin(x))[1])
    assert "exp" not in str(f.tape(X))
    close(f(X), np.sin(X))


def test_program_sees_what_a_function_closes_over():
    scale = np.array(2.0)
    f = tg.jit(lambda x: tg.sum(x) * scale)
    close(f(X), 2 * X.sum())
    scale[...] = 3.0
    close(f(X), 3 * X.sum())


# --- transforms --------------------------------------------------------------------------------------------------


@pytest.fixture(params=[lambda f: f, tg.jit], ids=["plain", "jit"])
def f(request):
    """Rosenbrock's function, as it is and replayed."""
    return request.param(rosenbrock)


def test_transforms_grad_and_value_and_grad(f):
    close(tg.grad(f)(POINT), rosen_der(POINT))
    value, gradient = tg.value_and_grad(f)(POINT)
    close(value, rosen(POINT))
    close(gradient, rosen_der(POINT))


def test_transforms_vjp_and_jvp(f):
    value, pullback = tg.vjp(f, POINT)
    close(pullback(2.0)[0], 2 * rosen_der(POINT))
    value_again, tangent = tg.jvp(f, (POINT,), (V,))
    close(value_again, value)
    close(tangent, rosen_der(POINT) @ V)


@pytest.mark.parametrize("jacobian", [tg.jacobian, tg.jacfwd, tg.jacrev])
def test_transforms_jacobian(jacobian):
    found = jacobian(tg.jit(lambda x: tg.sin(x[1:] * x[0])))(X)
    cosines = np.cos(X[1:] * X[0])
    close(found, [[X[1] * cosines[0], X[0] * cosines[0], 0], [X[2] * cosines[1], 0, X[0] * cosines[1]]])


def test_transforms_hessian_and_hvp(f):
    close(tg.hessian(f)(POINT), rosen_hess(POINT))
    close(tg.hvp(f)(POINT, V), rosen_hess(POINT) @ V)


def test_transforms_take_and_give_structures():
    found = tg.grad(tg.jit(lambda p: tg.sum(p["a"]) * p["b"][0]))({"a": X, "b": [3.0]})
    close(found["a"], [3, 3, 3])
    close(found["b"], [X.sum()])


def test_transforms_nest_and_stop():
    close(tg.grad(tg.grad(tg.grad(tg.sin)))(0.5), -math.cos(0.5))
    close(tg.grad(lambda x: x * tg.stop_gradient(x))(3.0), 3.0)


# --- loops -------------------------------------------------------------------------------------------------------


def test_loops_scan_is_the_loop():
    def last(rate):
        return tg.scan(lambda c, x: (c * rate + x, c), 1.0, X)[0]

    close(
        tg.value_and_grad(last)(0.5),
        (0.5**3 + 0.3 * 0.5**2 - 1.2 * 0.5 + 2.0, 3 * 0.5**2 + 2 * 0.3 * 0.5 - 1.2),
    )


def test_loops_while_ends_by_its_condition():
    def root(a):
        return tg.while_loop(lambda x: abs(x * x - a) > 1e-14 * a, lambda x: 0.5 * (x + a / x), a)

    close(tg.value_and_grad(root)(9.0), (3.0, 1 / 6))


# --- implicit ----------------------------------------------------------------------------------------------------


def test_implicit_roots_have_derivatives():
    @tg.custom_root(lambda x, p: x**2 - p)
    def root(x0, p):
        return np.sqrt(p)

    close(tg.grad(lambda p: tg.sum(root(np.ones(2), p)))(np.array([4.0, 9.0])), [1 / 4, 1 / 6])


# --- integrate ---------------------------------------------------------------------------------------------------


def test_integrate_exponential_decay():
    def last(rate):
        return tg.integrate.solve_ivp(
            lambda t, y: -rate * y, (0.0, 2.0), [3.0], t_eval=[2.0], rtol=1e-9, atol=1e-9
        ).y[0, 0]

    value, slope = tg.value_and_grad(tg.jit(last))(0.5)
    assert value == pytest.approx(3 * math.exp(-1), rel=1e-7)
    assert slope == pytest.approx(-6 * math.exp(-1), rel=1e-6)


# --- signal ------------------------------------------------------------------------------------------------------


def test_signal_convolution_and_its_weights():
    image, weights = np.arange(6.0).reshape(2, 3), np.array([[1.0, -2.0]])
    close(tg.signal.convolve2d(image, weights, "valid").numpy(), [[1.0, 0.0], [-2.0, -3.0]])
    slope = tg.grad(lambda w: tg.sum(tg.signal.convolve2d(image, w, "valid")))(weights)
    close(slope, [[1 + 2 + 4 + 5, 0 + 1 + 3 + 4]])


# --- ndimage -----------------------------------------------------------------------------------------------------


def test_ndimage_laplacian_beyond_the_edges():
    line = np.array([1.0, 4.0, 2.0])
    close(tg.ndimage.laplace(line, mode="nearest").numpy(), [3.0, -5.0, 2.0])
    close(tg.grad(lambda x: tg.sum(tg.ndimage.laplace(x, mode="constant")))(line), [-1.0, 0.0, -1.0])


# --- latent ------------------------------------------------------------------------------------------------------


def test_latent_effects_are_integrated_out():
    """Of ``y = a + u`` with a standard normal `u` and noise of unit variance, the marginal density has variance 2."""

    def nll(a, u):
        return 0.5 * tg.sum((X - a - u) ** 2) + 0.5 * tg.sum(u**2) + 3 * math.log(2 * math.pi)

    expected = 0.25 * np.sum((X - 0.5) ** 2) + 1.5 * math.log(4 * math.pi), -0.5 * np.sum(X - 0.5)
    close(tg.value_and_grad(tg.laplace(nll, random=1))(0.5, np.zeros(3)), expected)


# --- stats -------------------------------------------------------------------------------------------------------


def test_stats_normal_density():
    density = tg.stats.norm.logpdf
    close(density(X, 0.5, 2.0), -0.5 * ((X - 0.5) / 2) ** 2 - np.log(2 * np.sqrt(2 * np.pi)))
    close(tg.grad(lambda x: tg.sum(density(x, 0.5, 2.0)))(X), (0.5 - X) / 4)


# --- interop -----------------------------------------------------------------------------------------------------


def test_interop_gives_c_functions():
    compiled = tg.compile(tg.value_and_grad(rosenbrock), X)
    function = compiled.cfunc("double(int n, const double *x, double *g)")
    x, gradient = (ctypes.c_double * 3)(*X), (ctypes.c_double * 3)()
    close(function.ctypes(3, x, gradient), rosen(X))
    close(np.array(gradient), rosen_der(X))


# --- what stands on it -------------------------------------------------------------------------------------------


def test_optimize_minimize():
    found = tg.optimize.minimize(tg.jit(rosenbrock), POINT, method="trust-exact")
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_optimize_least_squares():
    t = np.arange(5.0)
    seen = np.array([1.0, 2.9, 5.1, 7.2, 8.8])
    slope, offset = np.polyfit(t, seen, 1)
    found = tg.optimize.least_squares(lambda p: p["a"] * t + p["b"] - seen, {"a": 0.0, "b": 0.0})
    np.testing.assert_allclose([found.x["a"], found.x["b"]], [slope, offset], rtol=1e-9)


def test_interop_c_pointers():
    p = tg.compile(tg.value_and_grad(rosenbrock), POINT).cfunc("double(const double *x, double *g)")
    gradient, double = np.empty_like(POINT), ctypes.POINTER(ctypes.c_double)
    value = p.ctypes(POINT.ctypes.data_as(double), gradient.ctypes.data_as(double))
    expected = tg.value_and_grad(rosenbrock)(POINT)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])


def test_testing_check_grads_knows_right_from_wrong():
    wrong = tg.custom_op("wrong", lambda x: x**3, lambda y_bar, y, x: 2 * x * x * y_bar)
    tg.check_grads(rosenbrock, (POINT,))
    with pytest.raises(AssertionError):
        tg.check_grads(lambda x: tg.sum(wrong(x)), (X,), order=1, modes="rev")


def test_examples_agree_with_certified_values():
    found = nist.fit(nist.load("DanWood"), 1)
    np.testing.assert_allclose(found.parameters, nist.load("DanWood").certified, rtol=1e-6)


def test_cli_info(capsys):
    assert main(["info"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["tapegrad", tg.__version__]


def test_cli_fit(capsys):
    assert main(["fit", "DanWood", "--start", "2"]) == 0
    assert "1 fit, 1 agree" in capsys.readouterr().out


# --- interpolate -------------------------------------------------------------------------------------------------


def test_interpolate_a_cubic():
    x = np.arange(5.0)

    def at(y, t):
        return tg.interpolate.CubicSpline(x, y)(t)

    value, (by_values, by_place) = tg.value_and_grad(tg.jit(at), argnums=(0, 1))(x**3, 1.5)
    assert value == pytest.approx(1.5**3)
    assert by_values @ x**3 == pytest.approx(1.5**3)
    assert by_place == pytest.approx(3 * 1.5**2)
