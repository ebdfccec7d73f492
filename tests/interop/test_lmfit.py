"""`tg.interop.lmfit`: fits with Jacobians of parameters that are fixed, bounded and tied."""

from typing import Any

import lmfit
import numpy as np
import pytest

import tapegrad as tg

T = np.linspace(0, 4, 40)
DATA = 3.0 * np.exp(-T / 1.5) + 0.5 + 0.01 * np.cos(37 * T)


def residual(p: Any, t: Any = T, data: Any = DATA) -> Any:
    return p["amplitude"] * np.exp(-t / p["tau"]) + p["base"] - data


def parameters(**kinds: Any) -> Any:
    """Return parameters of a decay; each keyword says more of one."""
    own = {"amplitude": {"value": 2.0}, "tau": {"value": 1.0, "min": 0.1, "max": 5.0}, "base": {"value": 0.1}}
    return lmfit.create_params(**{name: {**kind, **kinds.get(name, {})} for name, kind in own.items()})


KINDS = {
    "free": {},
    "fixed": {"base": {"value": 0.5, "vary": False}},
    "tied": {"base": {"expr": "amplitude / 6 + 0 * sin(tau)"}},
    "tied to a tied one": {"base": {"expr": "tau / 3"}, "tau": {"expr": "amplitude / 2"}},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["leastsq", "least_squares", "bfgs", "lbfgsb", "newton"])
def test_fits_are_those_by_differences(kind: str, method: str) -> None:
    params = parameters(**KINDS[kind])
    f = tg.interop.lmfit(residual, params)
    options = (
        {"Dfun": f.jac}
        if method == "leastsq"
        else {"jac": f.jac if method == "least_squares" else f.gradient}
    )
    found = lmfit.minimize(f, params, method=method, **options)
    expected = lmfit.minimize(residual_of_values, params, ftol=1e-14, xtol=1e-14)
    for name, parameter in expected.params.items():
        assert found.params[name].value == pytest.approx(parameter.value, rel=1e-4)
    assert found.var_names == expected.var_names


def residual_of_values(p: Any) -> Any:
    return residual(p.valuesdict())


@pytest.mark.parametrize("kind", KINDS)
def test_jacobian_is_in_the_order_of_lmfit(kind: str) -> None:
    params = parameters(**KINDS[kind])
    f = tg.interop.lmfit(residual, params)
    varies = [name for name, p in params.items() if p.vary]
    jacobian = f.jac(params)
    assert jacobian.shape == (T.size, len(varies))
    for column, name in enumerate(varies):
        sides = []
        for sign in (1, -1):
            moved = params.copy()
            moved[name].value = params[name].value + sign * 1e-5
            moved.update_constraints()
            sides.append(f(moved))
        np.testing.assert_allclose(jacobian[:, column], (sides[0] - sides[1]) / 2e-5, atol=1e-8)
    np.testing.assert_allclose(f.gradient(params), 2 * f(params) @ jacobian, rtol=1e-12)


def test_what_varies_may_change() -> None:
    params = parameters()
    f = tg.interop.lmfit(residual, params)
    assert f.jac(params).shape[1] == 3
    params["base"].vary = False
    assert f.jac(params).shape[1] == 2
    params["base"].value = 7.0
    np.testing.assert_allclose(f(params), residual(params.valuesdict()), rtol=1e-15)


def test_data_as_arguments_and_numbers_as_results() -> None:
    params = parameters()
    f = tg.interop.lmfit(lambda p, t, data=None: np.sum(residual(p, t, data) ** 2), params)
    found = lmfit.minimize(f, params, args=(T,), kws={"data": DATA}, method="bfgs", jac=f.jac)
    assert found.params["tau"].value == pytest.approx(1.5, rel=0.01)
    np.testing.assert_allclose(f.jac(params, T, data=DATA), f.gradient(params, T, data=DATA))


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match=r"takes lmfit.Parameters, not dict: lmfit.create_params"):
        tg.interop.lmfit(residual, {"amplitude": 1.0})
    params = parameters()
    with pytest.raises(KeyError, match="slope"):
        tg.interop.lmfit(lambda p: p["slope"], params)(params)
