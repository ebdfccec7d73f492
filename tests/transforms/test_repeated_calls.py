"""Calls like the last one take a short way; whatever is different about a call, it gives what the function gives."""

import numpy as np
import pytest

import tapegrad as tg

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
