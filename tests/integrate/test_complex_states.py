"""Equations with complex states, against SciPy's solver and solutions that are known."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import tapegrad as tg
from tapegrad.integrate import solve_ivp

METHODS = ["RK45", "RK23", "DOP853"]
FIELD = np.array([[1.0, 0.3 - 0.2j], [0.3 + 0.2j, -0.5]])
PSI = np.array([0.8, 0.6j])
TIMES = np.array([0.4, 1.1, 2.0])
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def driven(t, psi):
    return -1j * (FIELD @ psi) * (1 + 0.2 * np.sin(t))


def propagated(matrix, t, psi):
    """Return ``expm(-1j * matrix * t) @ psi``."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ (np.exp(-1j * values * t) * (np.conj(vectors.T) @ psi))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_eval", [None, TIMES], ids=["steps", "times"])
def test_states_and_steps_are_those_of_scipy(method, t_eval):
    found, known = (
        each(driven, (0, 2), PSI, method, t_eval) for each in (solve_ivp, scipy.integrate.solve_ivp)
    )
    # Slopes are products of matrices: NumPy's BLAS rounds otherwise on other processors, and steps follow
    np.testing.assert_allclose(found.t, known.t, rtol=1e-11)
    np.testing.assert_allclose(found.y, known.y, rtol=1e-11, atol=1e-11)
    assert (found.nfev, found.y.dtype) == (known.nfev, np.complex128)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_a_spin(method):
    """Of <sx> of a spin in a field along z, with the frequency w: cos(w t)."""

    def spins(rate, psi):
        def slope(t, psi, rate):
            return [-0.5j * rate * psi[0], 0.5j * rate * psi[1]]

        found = solve_ivp(slope, (0, 2), psi, method, TIMES, args=(rate,), **TIGHT)
        return 2 * (np.conj(found.y[0]) * found.y[1]).real

    up = np.full(2, 0.5**0.5 + 0j)
    tolerance = 1e-5 if method == "RK23" else 1e-7
    for f in (spins, tg.jit(spins))[method == "DOP853" :]:
        value, slope = tg.jvp(lambda rate, f=f: f(rate, up), (1.7,), (1.0,))
        np.testing.assert_allclose(value, np.cos(1.7 * TIMES), atol=tolerance)
        np.testing.assert_allclose(slope, -TIMES * np.sin(1.7 * TIMES), atol=tolerance)
        by_both = tg.grad(lambda rate, psi, f=f: f(rate, psi).sum(), argnums=(0, 1))(1.7, up)
        np.testing.assert_allclose(by_both[0], np.sum(-TIMES * np.sin(1.7 * TIMES)), atol=tolerance)
        turned = np.sum(np.exp(1j * 1.7 * TIMES))
        np.testing.assert_allclose(
            by_both[1], 2 * np.array([turned, np.conj(turned)]) * up[::-1], atol=tolerance
        )


def test_gradient_by_a_captured_matrix():
    """Against the derivative of the matrix exponential, of ``exp(-2j * matrix) @ psi``."""

    def solved(matrix, psi):
        return solve_ivp(lambda t, u: -1j * (matrix @ u), (0, 2), psi, t_eval=[2.0], **TIGHT).y[:, -1]

    def slope(direction):
        moved = scipy.linalg.expm_frechet(-2j * FIELD, -2j * direction, compute_expm=False) @ PSI
        return 2 * (np.conj(difference) * moved[0]).real

    turn = scipy.linalg.expm(-2j * FIELD)
    difference = (turn @ PSI)[0] + 0.3j
    units = np.eye(4).reshape(4, 2, 2)
    by_matrix = np.array([slope(unit) + 1j * slope(1j * unit) for unit in units]).reshape(2, 2)
    loss = tg.jit(lambda *args: abs(solved(*args)[0] + 0.3j) ** 2)
    found = tg.grad(loss, argnums=(0, 1))(FIELD, PSI)
    np.testing.assert_allclose(found[0], by_matrix, atol=1e-8)
    np.testing.assert_allclose(found[1], 2 * difference * np.conj(turn[0]), atol=1e-8)
    np.testing.assert_allclose(solved(FIELD, PSI), turn @ PSI, atol=1e-9)


def test_single_precision():
    def slope(t, psi):
        return np.complex64(-1j) * (FIELD.astype(np.complex64) @ psi)

    found = solve_ivp(slope, (0, 2), PSI.astype(np.complex64), t_eval=TIMES, rtol=1e-4, atol=1e-6)
    assert found.y.dtype == np.complex64
    np.testing.assert_allclose(found.y[:, -1], propagated(FIELD, 2.0, PSI), atol=1e-3)


def test_lists_real_slopes_tolerances_and_vectorized_functions():
    """A slope that is real keeps the state complex."""
    found = solve_ivp(lambda t, z: [z[1], np.cos(t)], (0, 1), [1j, 0.0], t_eval=[1.0], **TIGHT)
    np.testing.assert_allclose(found.y[:, 0], [1 - np.cos(1.0) + 1j, np.sin(1.0)], atol=1e-9)
    real = solve_ivp(lambda t, z: np.ones(1), (0, 1), [1j], t_eval=[1.0])
    np.testing.assert_allclose(real.y, [[1 + 1j]], rtol=1e-14)
    options = {"vectorized": True, "rtol": np.array([1e-4, 1e-6]), "atol": np.array([1e-6, 1e-7])}
    one, other = (each(driven, (0, 2), PSI, **options) for each in (solve_ivp, scipy.integrate.solve_ivp))
    np.testing.assert_allclose(one.y, other.y, rtol=1e-12, atol=1e-12)


def test_dense_output():
    one, other = (
        each(driven, (0, 2), PSI, dense_output=True).sol for each in (solve_ivp, scipy.integrate.solve_ivp)
    )
    np.testing.assert_allclose(one(TIMES), other(TIMES), rtol=1e-12, atol=1e-12)
    assert one(np.zeros(0)).dtype == np.complex128


def test_times_of_events():
    """The first time at which a precessing spin has <sx> = 0: pi / (2 w)."""

    def flat(t, psi, rate):
        return (np.conj(psi[0]) * psi[1]).real

    flat.terminal = True

    def time(rate):
        def slope(t, psi, rate):
            return np.array([-0.5j, 0.5j]) * rate * psi

        up = np.full(2, 0.5**0.5 + 0j)
        found = solve_ivp(slope, (0, 2), up, t_eval=[2.0], events=flat, args=(rate,), **TIGHT)
        return found.t_events[0][0]

    for f in (time, tg.jit(time)):
        value, slope = tg.value_and_grad(f)(1.7)
        np.testing.assert_allclose([value, slope], [np.pi / 3.4, -np.pi / 3.4 / 1.7], rtol=1e-7)


def test_vmap_files_and_odeint(tmp_path):
    def end(psi):
        return tg.integrate.odeint(lambda u, t: -1j * (FIELD @ u), psi, np.array([0.0, 2.0]))[-1]

    starts = np.array([PSI, np.conj(PSI), PSI[::-1]])
    known = [propagated(FIELD, 2.0, psi) for psi in starts]
    np.testing.assert_allclose(tg.vmap(end)(starts), known, atol=1e-6)
    compiled = tg.compile(tg.grad(lambda psi: abs(end(psi)[0]) ** 2), (PSI,))
    compiled.save(tmp_path / "spin.tg")
    turn = scipy.linalg.expm(-2j * FIELD)
    expected = 2 * (turn @ PSI)[0] * np.conj(turn[0])
    for f in (compiled, tg.load(tmp_path / "spin.tg")):
        np.testing.assert_allclose(f(PSI), expected, atol=1e-6)


def test_outputs_that_are_not_reached():
    """The solution of z' = z**2 with z(0) = 1 ends at t = 1."""

    def outputs(z):
        return solve_ivp(lambda t, z: z**2, (0.0, 3.0), z, t_eval=[0.5, 2.0]).y[0]

    recorded = tg.jit(outputs)
    assert np.isnan(recorded(np.ones(1) + 0j)[1])
    with pytest.raises(tg.UnreachedOutputError, match=r"t_eval\[1\]=2"):
        tg.grad(tg.jit(lambda z: outputs(z).imag.sum()))(np.ones(1) + 0j)
    reached = tg.grad(tg.jit(lambda z: outputs(z)[0].real))(np.ones(1) + 0j)
    np.testing.assert_allclose(reached, [4.0], rtol=1e-2)


def test_stiff_methods_take_real_states():
    for method in ("Radau", "Rodas5P"):
        with pytest.raises(tg.UnsupportedError, match=f"method='{method}' takes real states.*y.view"):
            solve_ivp(driven, (0, 2), PSI, method)
