"""`solve_ivp`: SciPy's numbers, and derivatives of them."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.linalg import expm, expm_frechet

import tapegrad as tg
from helpers.segments import kernels_of_bodies
from tapegrad.errors import UnsupportedError
from tapegrad.integrate import solve_ivp
from tapegrad.loops import table

RATES = (1.5, 1.0, 3.0, 1.0)
START = np.array([1.0, 1.0])
TIMES = np.linspace(0.0, 10.0, 11)
MATRIX = np.array([[-0.5, 2.0], [-1.5, -0.3]])
METHODS = ("RK23", "RK45", "DOP853")


def lotka(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return [a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]]


def linear(t: Any, y: Any, matrix: Any) -> Any:
    return matrix @ y


def forced(t: Any, y: Any, p: Any) -> Any:
    return [y[1], -p[0] * y[0] - p[1] * y[1] + np.cos(t)]


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [(0.0, 10.0), (10.0, 0.0)], ids=["forwards", "backwards"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_values_at_times_are_scipys(method, span, tolerance):
    times = np.linspace(*span, 7)
    options = {"t_eval": times, "args": RATES, "rtol": tolerance, "atol": tolerance}
    found = solve_ivp(lotka, span, START, method, **options)
    expected = scipy.integrate.solve_ivp(lotka, span, START, method, **options)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-8)
    assert (found.nfev, found.status, found.message) == (expected.nfev, 0, expected.message)
    assert found.t is not None
    assert isinstance(found.y, np.ndarray)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [(0.0, 5.0), (5.0, 0.0)], ids=["forwards", "backwards"])
def test_steps_and_dense_output_are_scipys(method, span):
    options = {"args": RATES, "rtol": 1e-6, "dense_output": True}
    found = solve_ivp(lotka, span, START, method, **options)
    expected = scipy.integrate.solve_ivp(lotka, span, START, method, **options)
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-6)
    times = np.linspace(*span, 33)
    np.testing.assert_allclose(found.sol(times), expected.sol(times), rtol=1e-9)
    np.testing.assert_allclose(found.sol(1.0), expected.sol(1.0), rtol=1e-9)
    assert found.nfev == expected.nfev
    assert found.sol(np.zeros(0)).shape == (2, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"max_step": 0.1},
        {"first_step": 1e-3},
        {"atol": np.array([1e-3, 1e-9])},
        {"rtol": np.array([1e-3, 1e-9])},
        {"vectorized": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_are_scipys(options):
    found = solve_ivp(lotka, (0, 4), START, args=RATES, t_eval=[1.0, 3.5], **options)
    expected = scipy.integrate.solve_ivp(lotka, (0, 4), START, args=RATES, t_eval=[1.0, 3.5], **options)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-9)


def test_equal_steps_have_order_four():
    def error(step: float) -> float:
        found = solve_ivp(linear, (0, 2), START, "RK4", [2.0], args=(MATRIX,), max_step=step).y[:, 0]
        return float(np.abs(found - expm(2 * MATRIX) @ START).max())

    assert error(0.1) / error(0.05) == pytest.approx(16, rel=0.1)
    steps = solve_ivp(linear, (0, 1), START, "RK4", args=(MATRIX,), max_step=0.15).t
    np.testing.assert_allclose(steps, np.linspace(0, 1, 8))


@pytest.mark.parametrize("method", METHODS)
def test_an_interval_of_no_length(method):
    found = solve_ivp(lotka, (1, 1), START, method, args=RATES, dense_output=True)
    assert found.t.tolist() == [1, 1]
    assert found.y.T.tolist() == [[1, 1], [1, 1]]
    assert found.sol(1.0).tolist() == [1, 1]
    assert solve_ivp(lotka, (1, 1), START, method, [1.0], args=RATES).y.T.tolist() == [[1, 1]]
    assert solve_ivp(lotka, (0, 1), START, method, [], args=RATES).y.shape == (2, 0)


def test_float32_stays_float32():
    found = solve_ivp(lotka, (0, 2), START.astype(np.float32), args=RATES, t_eval=[1.0, 2.0])
    expected = solve_ivp(lotka, (0, 2), START, args=RATES, t_eval=[1.0, 2.0])
    assert found.y.dtype == np.float32
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-3)
    gradient = tg.grad(lambda y: tg.sum(solve_ivp(lotka, (0, 2), y, args=RATES, t_eval=[1.0, 2.0]).y))(
        START.astype(np.float32)
    )
    assert gradient.dtype == np.float32


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_solution_that_ends_is_cut_as_scipy_does():
    def explodes(t: Any, y: Any) -> Any:
        return y * y

    times = [0.0, 0.2, 0.4, 2.0]
    found = solve_ivp(explodes, (0, 3), [1.0], t_eval=times)
    expected = scipy.integrate.solve_ivp(explodes, (0, 3), [1.0], t_eval=times)
    assert (found.status, found.success) == (-1, False)
    assert found.message.startswith(expected.message + " It has stopped at t=")
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-10)
    assert found.t.tolist() == expected.t.tolist()
    steps = solve_ivp(explodes, (0, 3), [1.0])
    assert steps.status == -1
    assert steps.y[0, -1] > 1e10

    @tg.jit
    def recorded(start: Any) -> Any:
        result = solve_ivp(explodes, (0, 3), start, t_eval=times)
        return result.y, result.status

    y, status = recorded(np.ones(1))
    np.testing.assert_allclose(y[0, :3], expected.y[0], rtol=1e-10)
    assert np.isnan(y[0, 3])
    assert status == -1
    with pytest.raises(tg.UnreachedOutputError, match=r"t_eval\[3\]=2: .* stopped at t=0.9999"):
        tg.grad(tg.jit(lambda start: tg.sum(recorded(start)[0])))(np.ones(1))
    assert np.isfinite(tg.grad(tg.jit(lambda start: tg.sum(recorded(start)[0][:, :3])))(np.ones(1)))


def ending(start: Any, method: str = "RK45") -> Any:
    """The solution ends at the inverse of its start."""
    return solve_ivp(lambda t, y: y * y, (0, 3), start, method, [0.0, 0.4, 2.0]).y


@pytest.mark.parametrize("method", ["RK45", "RK23", "Rodas5P"])
def test_derivatives_by_outputs_that_were_not_reached_raise(method):
    states = tg.jit(lambda start: ending(start, method))
    gradient = tg.value_and_grad(tg.jit(lambda start: tg.sum(states(start))))
    reached = tg.grad(tg.jit(lambda start: tg.sum(states(start)[:, :2])))
    for _ in range(2):  # the first call records
        np.testing.assert_allclose(gradient(np.array([0.25]))[1], 1 + 0.9**-2 + 0.5**-2, rtol=5e-3)
        np.testing.assert_allclose(reached(np.ones(1)), 1 + 0.6**-2, rtol=5e-3)
        with pytest.raises(tg.UnreachedOutputError, match=r"t_eval\[2\]=2: .* stopped at t=.*method='Radau'"):
            gradient(np.ones(1))
        with pytest.raises(tg.UnreachedOutputError):
            tg.jacfwd(states)(np.ones(1))
    mapped = tg.vmap(tg.value_and_grad(lambda start: tg.sum(states(start))))
    values, gradients = mapped(np.array([[1.0], [0.25]]))
    assert np.isnan([values, gradients[:, 0]]).tolist() == [[True, False], [True, False]]
    np.testing.assert_allclose(gradients[1], gradient(np.array([0.25]))[1], rtol=1e-12)


@pytest.mark.parametrize("starts", [[1.0, 0.25], [0.25, 1.0]], ids=["fails first", "fails later"])
@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_an_instance_that_fails_does_not_stop_the_others(wrap, starts):
    mapped = wrap(tg.vmap(tg.grad(lambda start: tg.sum(ending(start)))))
    found = mapped(np.array(starts)[:, None])[:, 0]
    assert np.isnan(found).tolist() == [start == 1.0 for start in starts]


def test_outputs_that_were_not_reached_in_files_and_compiled(tmp_path):
    compiled = tg.compile(tg.value_and_grad(lambda start: tg.sum(ending(start))), (np.array([0.25]),))
    compiled.save(tmp_path / "f.tape")
    for function in (compiled, tg.load(tmp_path / "f.tape")):
        np.testing.assert_allclose(function(np.array([0.25]))[1], 1 + 0.9**-2 + 0.5**-2, rtol=5e-3)
        with pytest.raises(tg.UnreachedOutputError, match=r"stopped at t=0\.9999"):
            function(np.ones(1))


def test_nan_ends_the_integration():
    found = solve_ivp(lambda t, y: y * np.sqrt(0.5 - t), (0, 3), [1.0], t_eval=[0.25, 2.0])
    assert found.status == -1
    assert found.t.tolist() == [0.25]
    assert solve_ivp(lambda t, y: y * np.nan, (0, 3), [1.0], t_eval=[2.0]).status == -1
    assert solve_ivp(lambda t, y: y * np.nan, (0, 3), [1.0], "RK4", [2.0], max_step=0.1).status == -1


def turning(t, y, rate):
    return [rate * y[1], -rate * y[0]]


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "Rodas5P"])
def test_steps_are_counted(method):
    """Steps of fast turning are many: what is reached within the bound is as without it, the rest is nan."""
    times, rate, most = np.array([0.01, 0.02, 10.0]), 300.0, 60
    free = solve_ivp(turning, (0, 0.3), [1.0, 0.0], method, args=(rate,))
    bound = solve_ivp(turning, (0, 10), [1.0, 0.0], method, args=(rate,), max_steps=most)
    assert (bound.status, bound.success, len(bound.t)) == (-2, False, most + 1)
    np.testing.assert_allclose(bound.t[:8], free.t[:8], rtol=1e-12)
    assert f"after {most} steps" in bound.message
    known = solve_ivp(turning, (0, 10), [1.0, 0.0], method, times, args=(rate,), max_steps=most)
    assert known.t.tolist() == times[: len(known.t)].tolist()
    assert known.status == -2

    @tg.jit
    def recorded(rate):
        found = solve_ivp(turning, (0, 10), [1.0, 0.0], method, times, args=(rate,), max_steps=most)
        return found.y[0], found.status

    for again in (rate, 1.1 * rate):
        y, status = recorded(again)
        assert status == -2
        assert np.isnan(y[2])
    np.testing.assert_allclose(recorded(rate)[0][: len(known.t)], known.y[0], rtol=1e-12)
    with pytest.raises(tg.UnreachedOutputError, match=rf"t_eval\[2\]=10: .* max_steps={most}"):
        tg.grad(tg.jit(lambda rate: tg.sum(recorded(rate)[0])))(rate)


def test_certificates_of_what_is_partly_reached():
    """Forward mode is by all outputs: there is nothing to compare a gradient by some of them with."""
    reached = tg.grad(tg.jit(lambda start: tg.sum(ending(start, "RK45")[:, :2])))
    certificate = reached.certificate(np.ones(1))
    assert [check.name for check in certificate] == ["none"]
    assert "has not reached an output" in str(certificate)
    assert reached(np.ones(1)) == pytest.approx(1 + 0.6**-2, rel=5e-3)


def test_failures_are_nan_where_one_asks_for_that():
    """So a sampler refuses the point, in compiled code, too."""

    def loss(rate):
        found = solve_ivp(turning, (0, 10), [1.0, 0.0], "RK45", [0.01, 10.0], args=(rate,), max_steps=60)
        return tg.sum(found.y[0])

    lenient = tg.value_and_grad(tg.jit(tg.linalg.errstate("nan")(loss)))
    assert np.isnan(lenient(300.0)).all()
    assert np.isfinite(lenient(1.0)).all()
    compiled = tg.compile(tg.value_and_grad(tg.linalg.errstate("nan")(loss)), 1.0)
    assert np.isnan(compiled(300.0)).all()
    with pytest.raises(tg.UnreachedOutputError):
        tg.value_and_grad(tg.jit(loss))(300.0)


def test_a_bound_that_suffices_changes_nothing():
    times = [0.0, 0.5, 2.0]
    whole = solve_ivp(turning, (0, 2), [1.0, 0.0], t_eval=times, args=(3.0,))
    count = len(solve_ivp(turning, (0, 2), [1.0, 0.0], args=(3.0,)).t) - 1
    for most, status in ((count, 0), (count - 1, -2)):
        found = solve_ivp(turning, (0, 2), [1.0, 0.0], t_eval=times, args=(3.0,), max_steps=most)
        assert found.status == status
        np.testing.assert_array_equal(found.y, whole.y[:, : len(found.t)])
    slope = tg.grad(
        lambda rate: solve_ivp(turning, (0, 2), [1.0, 0.0], args=(rate,), t_eval=times, max_steps=count).y[
            0, 2
        ]
    )
    assert slope(3.0) == pytest.approx(-2.0 * np.sin(6.0), rel=0.02)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"method": "Euler"},
            UnsupportedError,
            "method='Euler' is not available; there are RK23, RK45, DOP853, RK4, Radau, Rodas5P",
        ),
        ({"y0": [1.0 + 1j], "method": "Radau"}, UnsupportedError, "method='Radau' takes real states"),
        ({"y0": 1.0}, ValueError, r"y0 has shape \(\).*write \[y0\]"),
        ({"y0": np.ones((2, 2))}, ValueError, "write y0.ravel"),
        ({"t_eval": [0.5, 4.0]}, ValueError, "not within t_span"),
        ({"t_eval": [0.5, 0.2]}, ValueError, "must increase"),
        ({"t_eval": 0.5}, ValueError, "t_eval has shape"),
        ({"t_span": (0, 1, 2)}, ValueError, "t_span must be"),
        ({"args": 3.0}, TypeError, r"write args=\(p,\)"),
        (
            {"fun": lambda t, y: np.ones(3)},
            ValueError,
            r"returned shape \(3,\), but the state y0 has shape \(1,\)",
        ),
        ({"fun": lambda t, y: 1j * y}, UnsupportedError, r"complex .*as in y0 \+ 0j"),
        ({"t_eval": [0.5j]}, UnsupportedError, "t_eval: dtype complex128"),
        ({"events": lambda t, y: 1j}, UnsupportedError, "the event .*: dtype complex128"),
        ({"fun": 3.0}, TypeError, "takes a function"),
        ({"max_step": -1.0}, ValueError, "max_step"),
        ({"first_step": 7.0}, ValueError, "first_step"),
        ({"max_steps": 0}, ValueError, "max_steps=0 must be positive"),
        ({"max_steps": 2.5}, TypeError, "integer"),
        ({"atol": -1.0}, ValueError, "atol"),
        ({"atol": np.ones(2)}, ValueError, "atol has shape"),
        ({"method": "RK4"}, ValueError, "max_step=0.01"),
    ],
)
def test_bad_arguments_are_refused(changes, error, message):
    arguments = {"fun": lambda t, y: -y, "t_span": (0, 1), "y0": [1.0], **changes}
    with pytest.raises(error, match=message):
        solve_ivp(**arguments)


def test_recordings_need_times():
    with pytest.raises(UnsupportedError, match="give t_eval"):
        tg.jit(lambda y: solve_ivp(linear, (0, 1), y, args=(MATRIX,)).y[:, -1])(START)


def test_a_small_rtol_is_warned_of():
    with pytest.warns(UserWarning, match="rtol is too small"):
        solve_ivp(linear, (0, 0.1), START, args=(MATRIX,), t_eval=[0.1], rtol=1e-16)


# --- derivatives -----------------------------------------------------------------------------------------------------


def of_matrix(matrix: Any, start: Any, method: str = "DOP853") -> Any:
    return solve_ivp(linear, (0, 2), start, method, [0.0, 0.7, 2.0], args=(matrix,), rtol=1e-11, atol=1e-12).y


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("transform", [tg.jacrev, tg.jacfwd], ids=["reverse", "forward"])
@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_derivatives_are_those_of_the_exponential(method, transform, wrap):
    times = (0.0, 0.7, 2.0)
    function = wrap(lambda matrix, start: of_matrix(matrix, start, method))
    by_matrix, by_start = transform(function, argnums=(0, 1))(MATRIX, START)
    np.testing.assert_allclose(by_start, np.stack([expm(MATRIX * t) for t in times], 1), atol=1e-9)
    for i in range(2):
        for j in range(2):
            unit = np.zeros((2, 2))
            unit[i, j] = 1
            expected = np.stack([expm_frechet(MATRIX * t, unit * t)[1] @ START for t in times], 1)
            np.testing.assert_allclose(by_matrix[..., i, j], expected, atol=1e-9)


@pytest.mark.parametrize("transform", [tg.jacrev, tg.jacfwd], ids=["reverse", "forward"])
def test_derivatives_by_times(transform):
    fractions = np.array([0.0, 0.3, 1.0])

    def states(begin: Any, end: Any, scale: Any) -> Any:
        times = begin + (end - begin) * scale * fractions
        return solve_ivp(
            linear, (begin, end), START, "DOP853", times, args=(MATRIX,), rtol=1e-11, atol=1e-12
        ).y

    found = transform(states, argnums=(0, 1, 2))(0.3, 2.3, 1.0)
    slopes = np.stack([MATRIX @ expm(2 * MATRIX * x) @ START for x in fractions], 1)
    for each, factor in zip(found, (-fractions, fractions, 2 * fractions), strict=True):
        np.testing.assert_allclose(each, slopes * factor, atol=1e-7)


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)], ids=["forwards", "backwards"])
def test_second_derivatives(span):
    """Of equal steps differences are those of the same steps."""

    @tg.jit
    def energy(p: Any) -> Any:
        y = solve_ivp(forced, span, p[2:], "RK4", [1.0, span[1]], args=(p[:2],), max_step=0.25).y
        return tg.sum(y**2)

    point, gradient = np.array([2.0, 0.3, 1.0, 1.0]), tg.grad(energy)
    tg.check_grads(energy, (point,), order=1)
    expected = [(gradient(point + h) - gradient(point - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(tg.hessian(energy)(point), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_second_derivatives_are_those_of_the_exponential(wrap):
    """Of a scalar equation all of them are known. The second call takes other numbers of steps."""

    def left(p: Any) -> Any:
        times = [1.0, 2.0]
        return solve_ivp(
            lambda t, y, p: p[0] * y, (0, 2), p[1:], t_eval=times, args=(p,), rtol=1e-6, atol=1e-6
        ).y[0, 1]

    function = tg.hessian(wrap(left))
    for rate, start in ((-0.5, 2.0), (0.9, 1.0)):
        growth = np.exp(2 * rate)
        expected = [[4 * start * growth, 2 * growth], [2 * growth, 0.0]]
        np.testing.assert_allclose(function(np.array([rate, start])), expected, rtol=1e-4, atol=1e-4)


def test_second_derivatives_by_parts_of_tensors_from_around():
    def left(p: Any) -> Any:
        return solve_ivp(lambda t, y: p[0] * y, (0, 2), p[1:], t_eval=[1.0, 2.0], rtol=1e-8).y[0, 1]

    point, decay = np.array([-0.5, 2.0]), np.exp(-1)
    np.testing.assert_allclose(tg.grad(left)(point), [4 * decay, decay], rtol=1e-6)
    np.testing.assert_allclose(
        tg.hessian(left)(point), [[8 * decay, 2 * decay], [2 * decay, 0]], rtol=1e-5, atol=1e-9
    )


def oscillation(p: Any, count: int) -> Any:
    times = np.linspace(0.0, 4.0, count)
    states = solve_ivp(forced, (0.0, 4.0), p[2:], "RK45", times, args=(p[:2],), rtol=1e-5, atol=1e-6).y
    return tg.sum(states**2)


@pytest.mark.parametrize(
    "limits",
    [{}, {"_STORED_BYTES": 1000}, {"_STORED_BYTES": 1000, "_SNAPSHOT_BYTES": 0}, {"_WATCH_OPERATIONS": 1}],
    ids=["stored", "repeated", "snapshots", "pieces"],
)
@pytest.mark.parametrize("count", [2, 40])  # outputs in few of the steps, and several in one
def test_one_kernel_has_the_bits_of_rows(limits, count, monkeypatch):
    p = np.array([2.0, 0.3, 1.0, 0.5])
    made = kernels_of_bodies(monkeypatch)
    for name, value in limits.items():
        monkeypatch.setattr(table, name, value)
    value, gradient = tg.value_and_grad(tg.jit(lambda p: oscillation(p, count)))(p)
    assert len(made) >= 3  # forth, back, and forth once more in the reverse run
    monkeypatch.setenv("TAPEGRAD_FUSE", "0")
    by_rows = tg.value_and_grad(tg.jit(lambda p: oscillation(p, count)))(p)
    assert (value, gradient.tobytes()) == (by_rows[0], by_rows[1].tobytes())
    assert np.isfinite(gradient).all()


def loss(p: Any, start: Any) -> Any:
    return tg.sum(
        solve_ivp(lotka, (0, 10), start, t_eval=TIMES, args=(p[0], 1.0, p[1], 1.0), rtol=1e-6).y ** 2
    )


@pytest.mark.parametrize(
    "mapped", [tg.vmap, lambda f, **axes: tg.jit(tg.vmap(f, **axes))], ids=["vmap", "jit"]
)
def test_instances_have_steps_of_their_own(mapped):
    rates = np.array([[1.5, 3.0], [0.1, 0.2], [3.0, 1.0], [1.0, 9.0]])
    values, gradients = mapped(tg.value_and_grad(loss), in_axes=(0, None))(rates, START)
    np.testing.assert_allclose(mapped(loss, in_axes=(0, None))(rates, START), values, rtol=1e-12)
    steps = set()
    for k, rate in enumerate(rates):
        value, gradient = tg.value_and_grad(loss)(rate, START)
        assert values[k] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradients[k], gradient, rtol=1e-9)
        steps.add(
            solve_ivp(lotka, (0, 10), START, t_eval=TIMES, args=(rate[0], 1.0, rate[1], 1.0), rtol=1e-6).nfev
        )
    assert len(steps) == len(rates)


def test_one_recording_serves_other_numbers_of_steps():
    function = tg.jit(tg.value_and_grad(loss))
    for rate in ([1.5, 3.0], [0.1, 0.2], [1.0, 9.0]):
        value, gradient = function(np.array(rate), START)
        expected, expected_gradient = tg.value_and_grad(loss)(np.array(rate), START)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9)
    assert "has 1 recording" in str(function.explain())


def test_compiled():
    rate = np.array([1.5, 3.0])
    compiled = tg.compile(tg.value_and_grad(loss), (rate, START))
    value, gradient = compiled(rate, START)
    expected, expected_gradient = tg.value_and_grad(loss)(rate, START)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9)


def test_tensors_outside_of_recordings():
    """Ends of steps and dense output of Tensors are Tensors, too."""
    rate = tg.tensor(-0.5)
    found = solve_ivp(lambda t, y: rate * y, (0, 2), [1.0], rtol=1e-10, atol=1e-10, dense_output=True)
    assert isinstance(found.t, np.ndarray)
    (found.y[0, -1] + found.sol(1.0)[0]).backward(retain_graph=True)
    np.testing.assert_allclose(rate.grad, 2 * np.exp(-1) + np.exp(-0.5), rtol=1e-8)
    time = tg.tensor(1.0)
    found.sol(time)[0].backward()
    np.testing.assert_allclose(time.grad, -0.5 * np.exp(-0.5), rtol=1e-8)


def test_times_as_data_of_a_recording_are_checked():
    @tg.jit
    def function(times, end):
        return solve_ivp(lambda t, y: -y, (0, end), [1.0], "RK45", times, rtol=1e-8, atol=1e-8).y[0]

    times = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(function(times, 2.0), np.exp(-times), rtol=1e-6)
    for wrong in (times[::-1].copy(), times[[0, 0, 1]]):
        with pytest.raises(ValueError, match="values of t_eval must increase"):
            function(wrong, 2.0)
        with pytest.raises(ValueError, match="values of t_eval must increase"):
            tg.vmap(function, (0, None))(np.stack([times, wrong]), 2.0)
    with pytest.raises(ValueError, match="values of t_eval are not within t_span"):
        function(times, 1.2)
    np.testing.assert_allclose(function(-times, -2.0), np.exp(times), rtol=1e-6)
    assert np.isnan(function(np.array([0.5, np.nan, 1.5]), 2.0)[1])


def test_no_times_give_no_outputs():
    def solution(y0):
        found = solve_ivp(lambda t, y: -y, (0.0, 2.0), y0, t_eval=[])
        return found.t, found.y

    for t, y in (solution(np.ones(3)), tg.jit(solution)(np.ones(3))):
        assert t.shape == (0,)
        assert y.shape == (3, 0)
