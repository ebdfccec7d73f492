"""Calls like the last one take a short way; whatever is different about a call, it gives what the function gives."""

import gc
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.transforms.jit import Jit

A, B = np.array([0.5, 2.0, 1.5]), np.array([1.0, -1.0, 3.0])
TRANSFORMS = {
    "jit": lambda f: f,
    "value_and_grad": tg.value_and_grad,
    "by the second": lambda f: tg.grad(f, 1),
    "by both": lambda f: tg.value_and_grad(f, (0, 1)),
    "by the first alone, in a tuple": lambda f: tg.grad(f, (0,)),
    "jacobian": tg.jacobian,
    "jacobians": lambda f: tg.jacobian(f, (1, 0)),
    "reverse": lambda f: tg.jacrev(f, 1),
}


def branching(a, b):
    return tg.sum(a * b) if tg.sum(a) > 0 else tg.sum(a * b * b)


CALLS = {
    "the same": (A, B),
    "other numbers": (B, A),
    "the other side of a guard": (-A, B),
    "another shape": (np.ones((2, 3)), B),
    "single precision": (A.astype(np.float32), B),
    "both in single precision": (A.astype(np.float32), B.astype(np.float32)),
    "every other element": (np.repeat(A, 2)[::2], B),
    "Fortran order": (np.asfortranarray(np.ones((2, 3))), B),
    "other bytes": (A.astype(">f8"), B),
    "a float": (A, 2.0),
    "another float": (A, -0.5),
    "a scalar of NumPy's": (A, np.float64(2.0)),
    "a scalar in single precision": (A, np.float32(2.0)),
    "no dimensions": (A, np.array(2.0)),
    "floats": (1.5, 2.0),
    "of length one": (A, np.ones(1)),
    "again": (A, B),
}


def same(found, expected):
    if isinstance(expected, tuple):
        assert type(found) is tuple
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        expected = expected.data if isinstance(expected, tg.Tensor) else expected
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert np.shape(found) == np.shape(expected)
        assert type(found) is (np.ndarray if np.ndim(expected) else np.asarray(expected).dtype.type)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def plainly(transform, args):
    leaves = [tg.tensor(np.ascontiguousarray(a).reshape(np.shape(a))) for a in args]
    return branching(*leaves) if transform == "jit" else TRANSFORMS[transform](branching)(*args)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_several_arguments(transform):
    made = TRANSFORMS[transform](tg.jit(branching))
    for args in [*CALLS.values()] * 2:
        expected = plainly(transform, args)
        for _ in range(2):  # the second call takes the short way
            same(made(*args), expected)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_several_arguments_of_compiled_functions(transform):
    h = tg.compile(TRANSFORMS[transform](branching), (A, B), (-A, B), fuse=False)
    for made in (h, pickle.loads(pickle.dumps(h))):
        for args in [*CALLS.values()] * 2:
            looks = [(np.shape(a), np.asarray(a).dtype.newbyteorder("=")) for a in args]
            for _ in range(2):
                if looks == [(A.shape, A.dtype)] * 2:
                    same(made(*args), plainly(transform, args))
                else:
                    with pytest.raises(TypeError, match="was compiled for"):
                        made(*args)


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
def test_what_a_short_way_does_not_take():
    f = tg.jit(lambda a, b: tg.sum(a * b))
    for _ in range(3):
        assert f(A, B) == pytest.approx(np.sum(A * B))
    assert f(A, b=B) == f(A, B) == f(a=A, b=B)
    assert f(A, 2) == pytest.approx(2 * np.sum(A))  # an integer is fixed
    assert f(A, B) == pytest.approx(np.sum(A * B))
    inside = f(tg.tensor(A), B)
    assert isinstance(inside, tg.Tensor)
    assert f(A.tolist(), B) == f(A, B)
    with pytest.raises(TypeError):
        f(A)
    assert tg.grad(lambda a: f(a, B))(A).tolist() == B.tolist()
    assert tg.grad(tg.jit(lambda a: f(a, B) * f(a, A)))(A) == pytest.approx(
        B * np.sum(A * A) + A * np.sum(A * B)
    )


def test_a_variable_that_is_bound_again():
    factor = 2.0
    f = tg.value_and_grad(tg.jit(lambda a, b: tg.sum(a * b) * factor), (0, 1))
    for factor in (2.0, 3.0, 2.0):
        for _ in range(2):
            value, (by_a, by_b) = f(A, B)
            assert value == pytest.approx(factor * np.sum(A * B))
            np.testing.assert_allclose(by_a, factor * B)
            np.testing.assert_allclose(by_b, factor * A)


def test_results_are_new_arrays():
    f = tg.value_and_grad(tg.jit(lambda a, b: tg.sum(a * b)), (0, 1))
    first, second = f(A, B)[1], f(A, B)[1]
    assert not any(np.shares_memory(x, y) for x in first for y in (*second, A, B))


# --- the short way itself, which is compiled and works on Python's objects as they lie ---------------------------


def _line(a):
    return tg.sum(tg.exp(a) * a)


LINE = np.linspace(0.5, 1.5, 4)
ALONE = {
    "jit": (lambda f: f, (LINE,)),
    "a tuple": (lambda f: tg.jit(lambda a: (_line(a), a * 2.0)), (LINE,)),
    "value_and_grad": (tg.value_and_grad, (LINE,)),
    "grad": (tg.grad, (LINE,)),
    "by a float": (lambda f: tg.grad(tg.jit(lambda a: tg.exp(a) * a)), (0.5,)),
    "by a scalar": (lambda f: tg.value_and_grad(tg.jit(lambda a: tg.exp(a) * a), (0,)), (np.float64(0.5),)),
    "jacobian": (lambda f: tg.jacobian(tg.jit(lambda a: tg.exp(a) * a)), (LINE,)),
    "hessian": (tg.hessian, (LINE,)),
    "hvp": (tg.hvp, (LINE, LINE)),
}


def _flat(found):
    return [part for each in found for part in _flat(each)] if isinstance(found, tuple) else [found]


HOW = {
    "replayed": lambda made, args: made,
    "compiled": lambda made, args: tg.compile(made, args, fuse=False),
    "loaded": lambda made, args: pickle.loads(pickle.dumps(tg.compile(made, args, fuse=False))),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ALONE)
def test_each_transform_has_a_short_way(name, how):
    make, args = ALONE[name]
    made = HOW[how](make(tg.jit(_line)), args)
    first = made(*args)
    assert made._fast is not None
    fast = made._fast(*args)
    for found, expected in zip(_flat(fast), _flat(first), strict=True):
        same(found, expected)
        np.testing.assert_array_equal(found, expected)
    assert type(fast) is type(first)
    assert made._fast("no array") is made._fast() is made._fast(*args, *args) is None


def _never(*args, **kwargs):
    raise AssertionError("not by a short way")


@pytest.mark.parametrize("name", [name for name, (_, args) in ALONE.items() if np.ndim(args[0])])
def test_calls_that_alternate_between_shapes_have_short_ways(name, monkeypatch):
    make, short = ALONE[name]
    made, long = make(tg.jit(_line)), tuple(np.repeat(each, 2) for each in short)
    expected = {id(args): _flat(made(*args)) for args in (short, long, short, long)}
    monkeypatch.setattr(Jit, "run", _never)
    for args in (short, long, long, short, long, short):
        for found, each in zip(_flat(made(*args)), expected[id(args)], strict=True):
            np.testing.assert_array_equal(found, each)


def test_calls_that_alternate_between_branches_have_short_ways(monkeypatch):
    made = tg.value_and_grad(tg.jit(lambda a: tg.sum(a * a) if a[0] > 0 else tg.sum(a)))
    expected = {sign: made(sign * A)[0] for sign in (1, -1, 1, -1)}
    monkeypatch.setattr(Jit, "run", _never)
    for sign in (1, -1, -1, 1, -1, 1):
        assert made(sign * A)[0] == expected[sign]


def test_short_ways_keep_no_recordings_that_were_let_go():
    made = tg.jit(_line)
    made(LINE)
    first, program = made._fast, made._fast.__self__[1].specialization.workspaces[0].program
    known = [weakref.ref(first), weakref.ref(program)]
    del first, program
    made(np.repeat(LINE, 2))
    assert None not in [each() for each in known]
    made.traces.drop(made)
    gc.collect()
    assert [each() for each in known] == [None, None]
    made(LINE)


def test_calls_that_alternate_between_many_shapes_and_types():
    made = tg.jit(lambda a: tg.sum(tg.exp(a) * a))
    points = [0.5, np.float64(0.25), *(np.linspace(0.0, 1.0, n) for n in range(1, 12))]
    for _ in range(3):
        for point in points:
            for _ in range(2):
                np.testing.assert_allclose(made(point), np.sum(np.exp(point) * point))
    assert made(2) == made(2) == pytest.approx(2 * np.exp(2.0))
    assert made(0.5) == pytest.approx(0.5 * np.exp(0.5))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ALONE)
def test_what_a_short_way_takes_it_gives_back(name, how):
    make, args = ALONE[name]
    made = HOW[how](make(tg.jit(_line)), args)
    made(*args)
    wrong = tuple(np.ones((2, 2)) for _ in args)
    shared = [*args, *wrong, made, None, np.dtype(np.float64), np.ndarray, float]
    call = made._fast.__self__[1]
    workspaces = call.specialization.workspaces
    shared += [workspaces[-1], call.holds, made._fast, *workspaces[-1].outputs]

    def counts():
        return [sys.getrefcount(each) for each in shared]

    for _ in range(3):
        made(*args), made._fast(*wrong)
    before = counts()
    for _ in range(200):
        made(*args), made._fast(*wrong), made._fast("no array")
    assert max(abs(after - count) for after, count in zip(counts(), before, strict=True)) < 20
    assert len(workspaces) == 1
    found = made(*args)
    assert all(sys.getrefcount(part) <= 4 for part in _flat(found))


@pytest.mark.parametrize("how", ["compiled", "loaded"])
def test_the_short_way_tries_all_ways(how):
    def turning(a):
        if a[0] > 1:
            return _line(a)
        return _line(a) * 3 if a[1] > 1 else 5.0 * a[2]

    points = [LINE + 1, LINE - 0.5 * (LINE < 1), LINE + 0.4, LINE - 1, LINE]
    h = tg.compile(tg.value_and_grad(turning), *points[:4], fuse=False)
    made = h if how == "compiled" else pickle.loads(pickle.dumps(h))
    expected = [tg.value_and_grad(turning)(point) for point in points]
    for point in points:
        made(point)
    short = made._fast
    ways = [fixed[1].specialization for fixed in short.__self__[1]]
    assert len(ways) == 3
    before = [sys.getrefcount(each) for each in (*points, *[way.workspaces[-1] for way in ways])]
    for _ in range(50):
        for point, result in zip(points, expected, strict=True):
            same(short(point), result)
    assert short(LINE[:2]) is None
    after = [sys.getrefcount(each) for each in (*points, *[way.workspaces[-1] for way in ways])]
    assert after == before


def test_an_array_from_another_process_has_a_short_way():
    point = pickle.loads(pickle.dumps(LINE))
    assert point.dtype is not LINE.dtype
    made = tg.grad(tg.jit(_line))
    np.testing.assert_array_equal(made(LINE), made._fast(point))
    for other in (LINE.astype(np.float32), LINE.view(np.int64)):
        assert made._fast(pickle.loads(pickle.dumps(other))) is None
    assert made._fast(LINE.astype(">f8")) is None


def test_directions_are_asked_for_as_before():
    f = tg.jit(lambda a, b: tg.sum(a * a * b))
    by_second, by_tuple = tg.hvp(f, 0), tg.hvp(f, (0,))
    for _ in range(3):
        np.testing.assert_allclose(by_second(A, B, A), 2 * A * B)
        np.testing.assert_allclose(by_tuple(A, B, (A,))[0], 2 * A * B)
        with pytest.raises(ValueError, match="tangent"):
            by_tuple(A, B, A)
        with pytest.raises(ValueError, match="tangent"):
            by_second(A, B, A[:2])
    assert by_second._fast is not None


def test_what_is_raised_in_a_replay_is_raised_by_the_short_way():
    fails = False

    def forward(a):
        if fails:
            raise LookupError("asked to fail")
        return a * 2.0

    double = tg.custom_op("twice", forward, lambda y_bar, y, a: y_bar * 2.0)
    made = tg.value_and_grad(tg.jit(lambda a: tg.sum(double(a))))
    expected = made(LINE)
    for fails in (True, False, True, False):
        for _ in range(3):
            if fails:
                with pytest.raises(LookupError, match="asked to fail"):
                    made(LINE)
            else:
                assert made(LINE)[0] == expected[0]
    assert len(made._fast.__self__[1].specialization.workspaces) == 1


def test_modes_are_asked_for_before_a_short_way_is_taken():
    f = tg.jit(_line)
    for made in (f, tg.grad(f), tg.value_and_grad(f)):
        expected = made(LINE)
        with tg.no_grad():
            inside = made(LINE)
        for found, value in zip(_flat(inside), _flat(expected), strict=True):
            np.testing.assert_array_equal(found, value)
    with tg.detect_anomaly(), pytest.raises(FloatingPointError):
        f(np.full(4, np.inf))
    nested = tg.jit(lambda a: tg.sum(tg.grad(f)(a) * LINE + tg.grad(f)(LINE)))
    np.testing.assert_allclose(tg.grad(nested)(LINE), tg.hvp(f)(LINE, LINE))


@pytest.mark.parametrize("how", HOW)
def test_threads_take_the_short_way_at_once(how):
    made = HOW[how](tg.value_and_grad(tg.jit(_line)), (LINE,))
    points = [LINE + k for k in range(8)]
    expected = [made(point) for point in points]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for (value, gradient), (own, other) in zip(pool.map(made, points), expected, strict=True):
                assert value == own
                np.testing.assert_array_equal(gradient, other)


def test_a_mode_of_one_thread_is_none_of_another():
    made = tg.grad(tg.jit(_line))
    expected = made(LINE)
    with tg.no_grad(), ThreadPoolExecutor(1) as pool:
        np.testing.assert_array_equal(pool.submit(made, LINE).result(), expected)
        np.testing.assert_array_equal(made(LINE), expected)


def test_keywords_and_no_arguments():
    made = tg.value_and_grad(tg.jit(branching))
    expected = made(A, B)
    assert made(A, b=B)[0] == made(A, B)[0] == expected[0]
    with pytest.raises(ValueError, match="0 positional arguments"):
        made()
    assert made(A, B)[0] == expected[0]
