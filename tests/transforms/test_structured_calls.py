"""Calls with structures replay in C as calls with arrays do; a call of another structure is another call."""

import gc
import pickle
import sys
from collections import OrderedDict, defaultdict, namedtuple
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.jit import Jit

A, B = np.array([0.5, 2.0, 1.5]), np.array([[1.0, -1.0], [3.0, 0.25]])
Layer = namedtuple("Layer", "weights offset")


class Typed(NamedTuple):
    a: np.ndarray
    b: float


STRUCTURES = {
    "a dict": {"p": A},
    "keys that are not sorted": {"w": B, "b": 0.5, "a": A},
    "keys of several types": {2: A, "x": B, (1, "y"): 0.5, b"z": np.float64(2.0)},
    "a list": [A, 0.5],
    "a tuple": (A, B),
    "named tuples": [Layer(A, 0.5), Typed(B, 1.5)],
    "nested": {"layers": [(A, B), {"gain": 0.5, "bias": [B, [A]]}], "noise": np.array(-1.0)},
    "of one leaf": [[[A]]],
    "with empty parts": {"none": {}, "a": A, "nothing": [(), []]},
    "in single precision": {"a": A.astype(np.float32), "b": B},
}


def total(structure, factor=1.0):
    return factor * sum(tg.sum(tg.exp(leaf) * leaf) for leaf in flatten(structure)[0])


def results(structure):
    """A structure of results, with parts that are no arrays."""
    leaves, definition = flatten(structure)
    return {
        "z": unflatten(definition, [tg.sin(leaf) for leaf in leaves]),
        "a": [None, "text", (total(structure), 3)],
    }


TRANSFORMS = {
    "jit": lambda f: f,
    "results": lambda f: tg.jit(results),
    "grad": tg.grad,
    "value_and_grad": tg.value_and_grad,
    "in a tuple": lambda f: tg.value_and_grad(f, (0,)),
    "grad and aux": lambda f: tg.grad(tg.jit(lambda p: (total(p), results(p))), has_aux=True),
    "value, grad and aux": lambda f: tg.value_and_grad(
        tg.jit(lambda p: (total(p), results(p))), has_aux=True
    ),
    "columns": lambda f: tg.jacfwd(tg.jit(lambda p: total(p) * A)),
    "rows": lambda f: tg.jacrev(tg.jit(lambda p: total(p) * A)),
    "columns and aux": lambda f: tg.jacfwd(tg.jit(lambda p: (total(p) * A, results(p))), has_aux=True),
    "rows and aux": lambda f: tg.jacrev(tg.jit(lambda p: (total(p) * A, results(p))), has_aux=True),
    "hessian": tg.hessian,
    "hessian in a tuple": lambda f: tg.hessian(f, (0,)),
    "hessian and aux": lambda f: tg.hessian(tg.jit(lambda p: (total(p), results(p))), has_aux=True),
    "hvp": tg.hvp,
    "hvp in a tuple": lambda f: tg.hvp(f, (0,)),
}
DIRECTED = {"hvp": lambda p: (p, p), "hvp in a tuple": lambda p: (p, (p,))}


def same(found, expected):
    """Compare two structures: types, order of keys, shapes, dtypes and numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(map(repr, found)) == list(map(repr, expected))
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, np.ndarray | np.generic):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found, expected)
    else:
        assert found is expected


def never(*args, **kwargs):
    raise AssertionError("not by a fast path")


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_structures_have_a_fast_path(transform, structure, monkeypatch):
    made = TRANSFORMS[transform](tg.jit(total, fuse=False))
    point = STRUCTURES[structure]
    args = DIRECTED.get(transform, lambda p: (p,))(point)
    expected = made(*args)
    monkeypatch.setattr(Jit, "run", never)
    for _ in range(2):
        same(made(*args), expected)
    doubled = [np.array(leaf * 2) if isinstance(leaf, np.ndarray) else leaf * 2 for leaf in flatten(point)[0]]
    shifted = unflatten(flatten(point)[1], doubled)
    found = made(*DIRECTED.get(transform, lambda p: (p,))(shifted))
    monkeypatch.undo()
    same(found, made._by_python(DIRECTED.get(transform, lambda p: (p,))(shifted), {}))


def test_gradients_of_structures_are_right():
    structure = STRUCTURES["nested"]
    gradient = tg.grad(tg.jit(total))
    for _ in range(2):
        for leaf, found in zip(flatten(structure)[0], flatten(gradient(structure))[0], strict=True):
            np.testing.assert_allclose(found, np.exp(leaf) * (1 + leaf), rtol=1e-14)


@pytest.mark.parametrize("how", ["compiled", "loaded"])
@pytest.mark.parametrize("transform", ["jit", "value_and_grad", "grad", "hvp", "rows"])
def test_compiled_functions_of_structures_have_a_fast_path(transform, how):
    point = STRUCTURES["keys that are not sorted"]
    made = TRANSFORMS[transform](tg.jit(total))
    args = DIRECTED.get(transform, lambda p: (p,))(point)
    expected = made(*args)
    compiled = tg.compile(made, args, fuse=False)
    compiled = pickle.loads(pickle.dumps(compiled)) if how == "loaded" else compiled
    for _ in range(2):
        same(compiled(*args), expected)
    same(compiled._fast(*args), expected)
    with pytest.raises(TypeError, match="compiled for"):
        compiled(*({**each, "more": A} for each in args))


def test_directions_have_a_fast_path(monkeypatch):
    f = tg.jit(lambda p: [total(p), 3.0])
    point = STRUCTURES["nested"]
    g = tg.jit(lambda p, q: {"b": total(p), "a": total(q)})
    expected = tg.jvp(g, (point, A), (point, A))
    assert list(expected[1]) == ["b", "a"]
    monkeypatch.setattr(Jit, "run", never)
    same(tg.jvp(g, (point, A), [point, A]), expected)
    monkeypatch.undo()
    for _ in range(2):  # a constant has a tangent of its own
        assert tg.jvp(f, (point,), (point,))[1][1] == 0


def test_keywords_have_a_fast_path(monkeypatch):
    f = tg.jit(lambda p, x, power=2, *, gain=1.0: gain * total(p) * tg.sum(x**power))
    args = {"a": A}, B
    for made in (f, tg.grad(f), tg.value_and_grad(f), tg.jacobian(f)):
        for kwargs in ({"gain": 2.0}, {"power": 3, "gain": A[0]}, {"gain": 3.0, "power": 3}):
            expected = made(*args, **kwargs)
            monkeypatch.setattr(Jit, "run", never)
            same(made(*args, **kwargs), expected)
            monkeypatch.undo()
            assert not np.allclose(
                flatten(made(*args, **{**kwargs, "gain": 7.5}))[0][0], flatten(expected)[0][0]
            )
    product = tg.hvp(f)
    expected = product(*args, {"a": A}, gain=2.0)
    monkeypatch.setattr(Jit, "run", never)
    same(product(*args, {"a": A}, gain=2.0), expected)
    with pytest.raises(AssertionError, match="fast path"):  # two arguments that follow no mark
        f(*args, None, {"gain": 2.0})


# --- whatever is different about a call, it gives what the function gives ---------------------------------------------


def look(structure):
    """Return a text with all that a function can see of its argument, but for numbers."""
    leaves, definition = flatten(structure)
    return repr(unflatten(definition, [np.shape(leaf) for leaf in leaves]))


class Grown(dict):
    pass


OTHERS = [
    {"a": A, "b": B},
    {"b": B, "a": A},
    {"a": B, "b": A},
    {"a": A},
    {"a": A, "b": B, "c": A},
    {"a": A, "c": B},
    OrderedDict(a=A, b=B),
    OrderedDict(b=B, a=A),
    defaultdict(list, a=A, b=B),
    Grown(a=A, b=B),
    [A, B],
    (A, B),
    Layer(A, B),
    Typed(A, B),
    [A, B, A],
    [A, [B]],
    [A, 0.5],
    [A, np.float64(0.5)],
    [A, np.array(0.5)],
    [A, np.float32(0.5)],
    [A.astype(np.float32), B],
    [A, B.T],
    {1: A, 2: B},
    {True: A, 2: B},
    {1.0: A, 2: B},
    {"1": A, "2": B},
    {("a", 1): A},
    {("a", True): A},
    {("a", 1.0): A},
]


@pytest.mark.filterwarnings(
    "ignore:.*the structure of the arguments changed:tapegrad.errors.RecordingWarning"
)
def test_calls_of_other_structures_are_other_calls():
    gradient = tg.value_and_grad(tg.jit(lambda p: (total(p), look(p))), has_aux=True)
    for structure in OTHERS * 3:
        leaves, _ = flatten(structure)
        for _ in range(2):
            (value, seen), found = gradient(structure)
            assert seen == look(structure)
            np.testing.assert_allclose(value, sum(np.sum(np.exp(leaf) * leaf) for leaf in leaves), rtol=1e-6)
            assert look(found) == seen
            for leaf, each in zip(leaves, flatten(found)[0], strict=True):
                np.testing.assert_allclose(each, np.exp(leaf) * (1 + leaf), rtol=1e-6)


FIXED = [
    1,
    True,
    1.0,
    0,
    False,
    None,
    "1",
    b"1",
    2**70,
    2**70 + 1,
    "text",
    np.int64(1),
    np.True_,
    -1,
    -0.0,
    0.0,
]


def test_values_that_are_fixed_are_compared_by_type_and_value():
    f = tg.jit(
        lambda p, other: (total(p["a"]), f"{type(other).__name__}" if is_tensor(other) else repr(other))
    )
    for value in FIXED * 3:
        for other in (value, unflatten(flatten(value)[1], flatten(value)[0])):
            traced = isinstance(other, float | np.generic)
            assert f({"a": A}, other)[1] == ("Tensor" if traced else repr(other))
            assert f({"a": A, "more": [other]}, 0)[1] == "0"


def test_equal_keys_and_texts_need_not_be_the_same_objects(monkeypatch):
    def made_anew(k):
        return {"".join(["ga", "in"]): A * k, 10**20 + k - k: B, b"".join([b"b"]): [A]}

    f = tg.grad(tg.jit(lambda p, mode: total(p) if mode == "".join(["to", "tal"]) else tg.sum(p["gain"])))
    expected = f(made_anew(1), "".join(["to", "tal"]))
    monkeypatch.setattr(Jit, "run", never)
    same(f(made_anew(1), "".join(["to", "tal"])), expected)
    assert f._fast(made_anew(1), "other") is None


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["keys of several types", "named tuples", "nested", "with empty parts"])
@pytest.mark.parametrize("transform", ["results", "value, grad and aux", "grad", "hvp", "hessian"])
def test_what_a_fast_path_takes_it_gives_back(transform, structure):
    made = TRANSFORMS[transform](tg.jit(total))
    point = STRUCTURES[structure]
    args = DIRECTED.get(transform, lambda p: (p,))(point)
    made(*args)
    wrong = [unflatten(flatten(point)[1], [*flatten(point)[0][:-1], "text"]), [point], {"a": point}]
    call = made._fast.__self__[1]
    workspaces = call.specialization.workspaces
    shared = [
        point,
        *flatten(point)[0],
        *wrong,
        Layer,
        Typed,
        "gain",
        None,
        3,
        "text",
        np.float64,
        workspaces[-1],
    ]
    shared += [np.dtype(float), call, list, dict, tuple, *(point if isinstance(point, dict) else [])]

    def run(times):
        for _ in range(times):
            made(*args), made._fast("no structure")
            for each in wrong:
                assert made._fast(*[each for _ in args]) is None

    run(3)
    gc.collect()
    before, objects = [sys.getrefcount(each) for each in shared], len(gc.get_objects())
    run(300)
    gc.collect()
    after = [sys.getrefcount(each) for each in shared]
    assert max(abs(later - sooner) for later, sooner in zip(after, before, strict=True)) < 30
    assert abs(len(gc.get_objects()) - objects) < 100
    assert len(workspaces) == 1


def test_a_structure_may_change_while_a_call_compares_what_the_function_sees():
    point, attributes = {"a": np.full(3, 2.0), "b": [np.full(3, 5.0)]}, {}
    requests = SimpleQueue()  # what is in it cannot be seen

    class Emptying:
        factor = 2.0

        @property
        def __dict__(self):
            if not requests.empty():
                requests.get().clear()
                gc.collect()
            return attributes

    seen = Emptying()
    made = tg.value_and_grad(tg.jit(lambda p: seen.factor * (tg.sum(p["a"]) + tg.sum(p["b"][0]))))
    expected = made(point)
    assert expected[0] == 42.0
    requests.put(point)
    same(made(point), expected)  # by the leaves that were there
    assert point == {}
