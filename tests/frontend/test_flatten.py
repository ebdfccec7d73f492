"""`flatten`: structures as vectors and back, in eager code, in transforms and in replays."""

import pickle
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import tapegrad as tg

Layer = namedtuple("Layer", "weights offset")
W = np.array([[1.0, 2.0], [3.0, 4.0]])
STRUCTURES = {
    "a dict": ({"w": W, "b": 0.5}, [0.5, 1, 2, 3, 4]),
    "a list of numbers": ([1.0, 2, True], [1, 2, 1]),
    "nested": ({"z": [Layer(W, np.float64(5.0)), ()], "a": (np.array(6.0),)}, [6, 1, 2, 3, 4, 5]),
    "an array": (W, [1, 2, 3, 4]),
    "a number": (2.5, [2.5]),
    "Fortran order": ([np.asfortranarray(W), W.T], [1, 2, 3, 4, 1, 3, 2, 4]),
    "other bytes": ([W.astype(">f8"), np.arange(3, dtype=">i4")], [1, 2, 3, 4, 0, 1, 2]),
    "an ordered dict": (OrderedDict(b=W, a=1.5), [1.5, 1, 2, 3, 4]),
    "nothing": ({"a": [], "b": ()}, []),
}


def as_tensors(structure):
    vector, unflatten = tg.flatten(structure)
    return unflatten(tg.tensor(vector))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_vectors_and_structures(structure):
    given, expected = STRUCTURES[structure]
    vector, unflatten = tg.flatten(given)
    assert type(vector) is np.ndarray
    assert (vector.dtype, vector.tolist()) == (np.float64, expected)
    again, _ = tg.flatten(unflatten(vector))
    np.testing.assert_array_equal(again, vector)
    assert type(unflatten(vector)) is (np.float64 if structure == "a number" else type(given))
    assert repr(unflatten(vector)) == repr(unflatten(vector.tolist()))
    assert f"<unflatten: {len(expected)} elements" in repr(unflatten)


@pytest.mark.parametrize("structure", [name for name, (_, vector) in STRUCTURES.items() if vector])
def test_tensors_in_structures(structure):
    given, expected = STRUCTURES[structure]
    vector, unflatten = tg.flatten(as_tensors(given))
    assert isinstance(vector, tg.Tensor)
    np.testing.assert_array_equal(vector.data, expected)
    weights = np.arange(1.0, 1 + vector.size)
    tg.sum(vector * weights).backward()
    leaf = tg.tensor(np.array(expected, float))
    tg.sum(tg.flatten(unflatten(leaf))[0] * weights).backward()
    np.testing.assert_array_equal(leaf.grad, weights)


def test_results_share_no_memory_with_arrays():
    vector, unflatten = tg.flatten(W)
    assert not np.shares_memory(vector, W)
    assert not np.shares_memory(unflatten(vector), vector)


def test_leaves_have_their_precision_again():
    both = {"a": W.astype(np.float32), "b": W}
    vector, unflatten = tg.flatten(both)
    assert vector.dtype == np.float64
    assert [leaf.dtype for leaf in unflatten(vector).values()] == [np.float32, np.float64]
    single, unflatten = tg.flatten({"a": both["a"], "b": np.float32(2.0)})
    assert single.dtype == np.float32
    assert unflatten(single.astype(float))["b"].dtype == np.float32
    assert tg.flatten(as_tensors({"a": both["a"]}))[0].dtype == np.float32


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_derivatives_flow_through(prepare):
    parameters = {"w": W, "b": 0.5}
    vector, unflatten = tg.flatten(parameters)

    def loss(p):
        return tg.sum(tg.exp(p["w"]) * p["b"] ** 2) + tg.sum(tg.flatten(p)[0] ** 3)

    by_structure = tg.grad(prepare(loss))
    by_vector = tg.value_and_grad(prepare(lambda v: loss(unflatten(v))))
    for _ in range(2):
        np.testing.assert_allclose(by_vector(vector)[1], tg.flatten(by_structure(parameters))[0], rtol=1e-14)
    expected = np.exp(W) * 0.25 + 3 * W**2
    np.testing.assert_allclose(by_structure(parameters)["w"], expected, rtol=1e-14)
    hessian = tg.hessian(prepare(lambda v: loss(unflatten(v))))(vector)
    assert hessian[1, 1] == pytest.approx(np.exp(1.0) * 0.25 + 6.0)
    assert hessian[0, 1] == pytest.approx(np.exp(1.0) * 2 * 0.5)


def test_arrays_of_the_closure_are_read_by_each_replay():
    numbers, integers, swapped = W.copy(), np.arange(3), np.ones(2, ">f8")
    inside, unflatten = np.arange(4.0), tg.flatten({"a": W})[1]
    f = tg.jit(
        lambda x: x * tg.sum(tg.flatten([numbers, integers, swapped])[0]) + tg.sum(unflatten(inside)["a"])
    )
    for k in range(3):
        numbers[0, 0], integers[:], swapped[:], inside[:] = k, k, k, k
        assert f(2.0) == 2 * (k + 9 + 3 * k + 2 * k) + 4 * k


def test_a_replay_of_unflatten_guards_no_numbers():
    _, unflatten = tg.flatten({"w": W, "b": [0.5]})
    f = tg.grad(tg.jit(lambda v: tg.sum(unflatten(v)["w"])))
    f(np.ones(5))
    assert f.explain()[0].guards == ()
    assert f(np.ones(5)).tolist() == [0, 1, 1, 1, 1]


def test_unflatten_is_copied_and_pickled():
    _, unflatten = tg.flatten({"w": W, "b": 0.5})
    assert repr(pickle.loads(pickle.dumps(unflatten))(np.ones(5))) == repr(unflatten(np.ones(5)))


def test_complex_numbers_are_pairs():
    vector, unflatten = tg.flatten({"z": np.array([1 + 2j]), "x": 3.0})
    assert sorted(vector.tolist()) == [1, 2, 3]
    assert unflatten(vector)["z"].tolist() == [1 + 2j]


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"flatten: the structure\['a'\]\[1\].*str"):
        tg.flatten({"a": [1.0, "text"]})
    with pytest.raises(TypeError, match=r"flatten: the structure: real numbers.*None"):
        tg.flatten(None)
    _, unflatten = tg.flatten([W, 1.0])
    for wrong in (np.ones(4), np.ones((5, 1)), tg.ones(6), 1.0):
        with pytest.raises(
            ValueError, match=r"unflatten: a vector of shape .*, but the structure has 5 elements"
        ):
            unflatten(wrong)


def test_objectives_take_tensors():
    f = tg.optimize.objective(lambda p: tg.sum(p["a"] * p["b"]), {"a": W, "b": 2.0})
    given = tg.tensor(f.x0)
    structure = f.unravel(given)
    tg.sum(f.ravel(structure) * np.arange(5.0)).backward()
    np.testing.assert_array_equal(given.grad, np.arange(5.0))
    assert tg.grad(lambda v: tg.sum(f.unravel(v)["a"] ** 2))(f.x0).tolist() == [2, 4, 6, 8, 0]
    assert type(tg.optimize.objective(lambda p: tg.sum(p["a"]), {"a": tg.ones(2)}).x0) is np.ndarray
