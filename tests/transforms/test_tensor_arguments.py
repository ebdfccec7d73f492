"""Replayed functions that are called with Tensors: constants are replayed, others run, with one warning."""

import warnings

import numpy as np
import pytest

import tapegrad as tg

X = np.array([0.5, 2.0, 1.5])
TRANSFORMS = {
    "jit": (lambda f: f, 1),
    "grad": (tg.grad, 1),
    "value_and_grad": (tg.value_and_grad, 1),
    "jacobian": (tg.jacobian, 1),
    "hessian": (tg.hessian, 1),
    "hvp": (tg.hvp, 2),
    "grad and aux": (lambda f: tg.grad(tg.jit(lambda x: (f(x), {"twice": x * 2, "n": 3})), has_aux=True), 1),
}


def cubes(x):
    return tg.sum(x**3)


def leaves(found):
    if isinstance(found, dict):
        return [leaf for part in found.values() for leaf in leaves(part)]
    return [leaf for part in found for leaf in leaves(part)] if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_call_that_may_be_differentiated_runs_and_warns_once(transform):
    make, count = TRANSFORMS[transform]
    made = make(tg.jit(cubes))
    expected = leaves(make(cubes)(*[X] * count))
    given = tg.tensor(X)
    with pytest.warns(tg.RecordingWarning, match=r"jit\(\S+\) was called with a Tensor.*x\.data") as told:
        found = leaves(made(*[given] * count))
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(*[given] * count)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.data if isinstance(one, tg.Tensor) else one, other)
    assert (
        str(made.explain())
        == f"{str(made.explain()).split()[0]} has 0 recordings; 2 calls had Tensors and ran unrecorded"
    )
    if transform in ("jit", "grad"):
        tg.sum(found[0]).backward()
        np.testing.assert_allclose(given.grad, 3 * X**2 if transform == "jit" else 6 * X)


@pytest.mark.parametrize("how", ["constants", "no_grad", "in a structure"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_constants_are_replayed(transform, how, monkeypatch):
    make, count = TRANSFORMS[transform]
    wrapped = (lambda x: cubes(x["a"])) if how == "in a structure" else cubes
    if how == "in a structure" and transform in ("grad and aux", "jacobian"):
        pytest.skip("the function takes an array")
    made = make(tg.jit(wrapped))

    def call(given):
        given = {"a": given} if how == "in a structure" else given
        return made(*[given] * count)

    expected = leaves(call(X))
    runs = []
    monkeypatch.setattr(tg.Tensor, "__pow__", lambda *_: runs.append(1))
    if how == "no_grad":
        with tg.no_grad():
            found = leaves(call(tg.tensor(X)))
    else:
        found = leaves(call(tg.tensor(X).detach()))
    assert not runs
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, int):
            assert one == other
            continue
        assert isinstance(one, tg.Tensor)
        assert one.constant
        assert (one.shape, one.dtype) == (np.shape(other), other.dtype)
        np.testing.assert_array_equal(one.data, other)


def test_inside_of_transforms_there_is_nothing_to_warn_of():
    f = tg.jit(cubes)
    inner, over = tg.grad(f), tg.vmap(f)
    outer = [
        lambda x: tg.sum(f(x) * f(tg.tensor(X))),
        lambda x: tg.sum(inner(x)),
        lambda x: tg.sum(over(x[None])),
    ]
    for each in outer:
        for made in (each, tg.jit(each)):
            assert tg.grad(made)(X).shape == X.shape


def test_functions_that_write_to_constants_run():
    def write(x):
        x[0] = 5.0
        return tg.sum(x)

    given, f = tg.tensor(X).detach(), tg.jit(write)
    for _ in range(2):
        given[0] = 0.0
        assert float(f(given)) == 8.5
        assert given.tolist() == [5.0, 2.0, 1.5]


def test_functions_that_close_over_leaves_keep_the_gradient():
    leaf = tg.tensor(X)
    f = tg.jit(lambda x: tg.sum(leaf * x))
    f(tg.tensor(X).detach()).backward()
    np.testing.assert_array_equal(leaf.grad, X)


def test_results_of_constants_are_of_the_usual_types():
    f = tg.jit(lambda x: {"floats": x * 2, "larger": x > 1, "shape": x.shape, "name": "f", "none": None})
    found = f(tg.tensor(X).detach())
    assert isinstance(found["floats"], tg.Tensor)
    assert found["larger"].tolist() == [False, True, True]
    assert (found["shape"], found["name"], found["none"]) == ((3,), "f", None)


def test_memory_order_of_constants():
    matrix = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    f = tg.jit(lambda x: x.ravel("K"))
    assert f(tg.tensor(matrix, constant=True)).tolist() == matrix.ravel("K").tolist()


def test_compiled_functions_refuse_constants():
    h = tg.compile(tg.grad(cubes), X)
    with pytest.raises(TypeError, match="not Tensors"):
        h(tg.tensor(X).detach())
