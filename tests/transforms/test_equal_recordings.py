"""Jacobians and Hessians of functions that are run at each call: programs are used again, and nothing is stale."""

import gc
import threading
import weakref

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.programs.program import Program
from tapegrad.transforms.calling import equal_recordings

X = np.array([0.5, 1.5, -2.0])


@pytest.fixture(autouse=True)
def _no_recordings_of_other_tests(monkeypatch):
    monkeypatch.setattr(equal_recordings, "_SHARED", equal_recordings.EqualRecordings(32, 16 << 20))


@pytest.fixture
def programs(monkeypatch):
    """One entry for each program that is made."""
    made, make = [], Program.__init__

    def counted(self, *args, **kwargs):
        made.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(Program, "__init__", counted)
    return made


def cubes(x):
    return x**3 + x[0]


def energy(x):
    return tg.sum(x**4 * 0.5 + 3.0 * x)


def jacobian_of_cubes(x):
    found = np.diag(3 * x**2)
    found[:, 0] += 1
    return found


def test_one_program_for_all_calls(programs):
    for k in range(5):
        x = X + k
        np.testing.assert_allclose(tg.jacobian(cubes)(x), jacobian_of_cubes(x), rtol=1e-14)
        np.testing.assert_allclose(tg.jacobian(lambda x: x**3 + x[0])(x), jacobian_of_cubes(x), rtol=1e-14)
    assert len(programs) == 1
    for mode in ("forward", "reverse"):
        for _ in range(2):
            np.testing.assert_allclose(tg.jacobian(cubes, mode=mode)(X), jacobian_of_cubes(X), rtol=1e-14)
    assert len(programs) == 2
    for k in range(3):
        np.testing.assert_allclose(tg.hessian(energy)(X * k), np.diag(6.0 * (X * k) ** 2), atol=1e-13)
    assert len(programs) == 3


def test_the_function_runs_at_each_call():
    count = [0]
    generator = np.random.default_rng(0)
    drawn = []

    def f(x):
        count[0] += 1
        drawn.append(generator.normal())
        return x * count[0] * drawn[-1]

    transform = tg.jacobian(f)
    for k in range(1, 5):
        np.testing.assert_array_equal(transform(X), np.diag(np.full(3, k * 1.0) * drawn[-1]))
    assert count == [4]


CHANGES = {
    "a number": lambda k: lambda x: x * (1.0 + k),
    "a small array": lambda k: lambda x: x * np.arange(3.0 + 0 * k) * k,
    "an array made inside": lambda k: lambda x: x * np.full(3, float(k)),
    "a large array made inside": lambda k: lambda x: tg.sum(np.full((2000, 3), float(k)) * x, 0),
    "a Tensor": lambda k: lambda x: x * tg.tensor([1.0, k, k * k]),
    "a Tensor from outside": lambda k: (lambda c: lambda x: x * c)(tg.tensor([1.0, k, 2.0 * k])),
    "the op": lambda k: (tg.sin, tg.cos, tg.exp)[k],
    "an axis": lambda k: lambda x: tg.cumsum(x * np.ones((3, 3)), k % 2),
    "an index": lambda k: lambda x: x[k] * x,
    "a list of indices": lambda k: lambda x: x[[k, 0]] * 2.0,
    "the dtype": lambda k: lambda x: x.astype((np.float32, np.float64, np.float32)[k]) * 3.0,
    "the sign of zero": lambda k: lambda x: tg.arctan2(x * 0.0, (0.0, -0.0, 0.0)[k] + x * 0.0),
    "a branch": lambda k: lambda x: x * 2.0 if (x.sum() + k > 1).item() else x * 3.0,
    "a write": lambda k: lambda x: written(x, k),
    "nan": lambda k: lambda x: x * (np.nan, 1.0, np.nan)[k],
    "a constant result": lambda k: lambda x: np.arange(2.0 + k),
}


def written(x, k):
    y = x * 1.0
    y[k] = x[0] * x[1]
    return y


@pytest.mark.parametrize("make", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("order", [(0, 1, 2, 0, 1, 2), (2, 2, 1, 1, 0, 0)])
def test_what_changes_from_call_to_call(make, order):
    functions = [make(k) for k in range(3)]
    transform = tg.jacobian(lambda x: chosen[0](x))
    for k in order:
        chosen = [functions[k]]
        expected = tg.jacobian(tg.jit(make(k)))(X)
        for found in (transform(X), tg.jacobian(functions[k])(X), tg.jacobian(make(k))(X)):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_arrays_that_are_changed_in_place(programs):
    scale = np.ones(3)
    transform = tg.jacobian(lambda x: x**2 * scale)
    for k in range(4):
        scale[:] = k
        np.testing.assert_array_equal(transform(X), np.diag(2 * X * k))
    assert len(programs) == 1
    before = scale
    scale = before.copy()
    np.testing.assert_array_equal(transform(X), np.diag(2 * X * 3))
    scale[:] = 5.0
    np.testing.assert_array_equal(transform(X), np.diag(2 * X * 5))
    scale, before[:] = np.full(3, 3.0), 7.0
    np.testing.assert_array_equal(transform(X), np.diag(2 * X * 3))
    scale = before
    np.testing.assert_array_equal(transform(X), np.diag(2 * X * 7))


def test_tensors_from_outside_that_are_written_to():
    scale = tg.tensor(np.ones(3), constant=True)
    transform = tg.jacobian(lambda x: x**2 * scale)
    for k in range(4):
        scale[...] = float(k)
        np.testing.assert_array_equal(transform(X), np.diag(2 * X * k))


def test_arguments_of_other_looks():
    transform = tg.jacobian(lambda x, y=2.0: x**2 * y)
    for x in (X, X.astype(np.float32), X[:2], X.reshape(3, 1), X[::-1], 2.0, np.float32(2.0), X):
        found, expected = transform(x), tg.jacobian(tg.jit(lambda x: x**2 * 2.0))(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(transform(x, 3.0), tg.jacobian(tg.jit(lambda x: x**2 * 3.0))(x))


def test_aux_is_of_each_call():
    count = [0]

    def f(x):
        count[0] += 1
        return x**2, {"calls": count[0], "array": np.full(2, count[0]), "computed": x.sum()}

    transform = tg.jacobian(f, has_aux=True)
    for k in range(1, 4):
        found, aux = transform(X * k)
        np.testing.assert_array_equal(found, np.diag(2 * X * k))
        assert aux["calls"] == k
        assert aux["array"].tolist() == [k, k]
        assert aux["computed"] == np.sum(X * k)
    structures = [lambda x: (x**2, [x.sum()]), lambda x: (x**2, {"a": x.sum()}), lambda x: (x**2, (x.sum(),))]
    for f in structures * 2:
        aux = tg.jacobian(f, has_aux=True)(X)[1]
        assert type(aux) is type(f(tg.tensor(X))[1])


def test_custom_ops_are_called_at_each_call():
    state = [1.0]

    scaled = tg.custom_op("scaled", lambda x: x * state[0], lambda y_bar, y, x: y_bar * state[0])
    transform = tg.jacobian(lambda x: scaled(x))
    for k in range(1, 4):
        state[0] = float(k)
        np.testing.assert_array_equal(transform(X), np.eye(3) * k)


def test_failures_of_linear_algebra_are_of_the_mode():
    singular = np.zeros((2, 2))
    transform = tg.jacobian(tg.linalg.inv)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            transform(singular)
        with tg.linalg.errstate("nan"):
            assert np.isnan(transform(singular)).all()


def test_nothing_of_the_user_is_kept_alive():
    array, constant = np.ones(3), tg.tensor(np.ones(3), constant=True)
    kept = [weakref.ref(array), weakref.ref(constant)]
    assert tg.jacobian(lambda x: x * array)(X).sum() == 3.0
    assert tg.jacobian(lambda x: x * constant)(X).sum() == 3.0
    assert tg.jacobian(lambda x: (x * 2.0, array), has_aux=True)(X)[1] is not array
    transform = tg.jacobian(lambda x: x * array)
    transform(X)
    array = constant = None
    gc.collect()
    assert kept[1]() is None
    del transform
    gc.collect()
    assert kept[0]() is None


def test_recordings_that_are_kept_are_few():
    shared = equal_recordings._SHARED
    for k in range(40):
        tg.jacobian(lambda x, k=k: x * (k + 0.5))(X)
        tg.jacobian(lambda x, k=k: x[: k % 3 + 1] * 2.0 + k * x[0])(np.ones(k + 3))
    assert 1 < len(shared._kept) <= 32
    small = equal_recordings.EqualRecordings(5, 1)
    for k in range(3):
        trace = next(iter(shared._kept.values()))
        small.keep(k, trace)
    assert list(small._kept) == [2]
    assert small.get(1) is None


def test_many_threads():
    wrong = []

    def work(k):
        x = X + k
        for _ in range(30):
            if not np.allclose(tg.jacobian(cubes)(x), jacobian_of_cubes(x), rtol=1e-13):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_the_background_may_fuse_what_is_called_often():
    x = np.linspace(0.0, 1.0, 3000)

    def f(x):
        return tg.sum(tg.sin(x) * tg.exp(-x) + x**2 * tg.cos(x))

    expected = tg.jacobian(tg.jit(f, fuse=False))(x)
    for _ in range(60):
        np.testing.assert_array_equal(tg.jacobian(f)(x), expected)
