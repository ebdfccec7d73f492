"""Errors about names of other libraries say what is written here in their place."""

import inspect
import re

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.words.other_names import _INSTEAD

TRANSFORMS = ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian", "hvp"]


@pytest.mark.parametrize("name", _INSTEAD)
def test_replacements_are_there(name):
    with pytest.raises(
        AttributeError, match=f"module 'tapegrad' has no attribute '{name}'; write "
    ) as caught:
        getattr(tg, name)
    for written in re.findall(r"tg\.(\w+)", str(caught.value)):
        assert written in tg.__all__
    assert not hasattr(tg, name)


def test_misspelt_and_unknown_names():
    with pytest.raises(
        AttributeError, match=r"no attribute 'concatentate'; did you mean tapegrad\.concatenate\?"
    ):
        tg.concatentate  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'tapegrad' has no attribute 'zzz'$"):
        tg.zzz  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'tapegrad' has no attribute '_concatenate'$"):
        tg._concatenate  # noqa: B018


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_argnum(transform):
    make = getattr(tg, transform)
    with pytest.raises(TypeError, match=rf"{transform}\(\) got .* 'argnum'; did you mean 'argnums'\?"):
        make(lambda a, b: a * b, argnum=1)
    assert list(inspect.signature(make).parameters)[:2] == ["function", "argnums"]


def test_values_inside_of_tensors():
    with pytest.raises(AttributeError, match=r"'_value'; write tapegrad.stop_gradient\(t\)"):
        tg.grad(lambda x: tg.sum(x * x._value))(np.ones(2))


def test_replacements_of_autograds_functions():
    x, v = np.array([0.3, 0.7]), np.array([1.0, 2.0])
    f = lambda x: tg.sin(x) * x  # noqa: E731
    slope = np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(tg.grad(lambda x: tg.sum(f(x)))(x), slope)
    jacobian, value = tg.jacobian(lambda x: (y := f(x), y), has_aux=True)(x)
    np.testing.assert_allclose(jacobian, np.diag(slope))
    np.testing.assert_allclose(value, np.sin(x) * x)
    np.testing.assert_allclose(tg.vjp(f, x)[1](v)[0], slope * v)
    np.testing.assert_allclose(tg.jvp(f, (x,), (v,))[1], slope * v)
    assert tg.jvp(tg.sin, (0.3,), (1.0,))[1] == pytest.approx(np.cos(0.3))
