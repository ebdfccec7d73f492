"""`register_pytensor`: PyTensor's functions and PyMC's samplers by replays."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402  after it is known to be there

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor's own


@pytest.fixture(scope="module", autouse=True)
def mode() -> None:
    tg.interop.register_pytensor()
    tg.interop.register_pytensor()  # once more is no harm


def both(inputs: list[Any], outputs: Any, *values: Any, **options: Any) -> None:
    """Compare the functions of the mode and of PyTensor's own."""
    ours = pytensor.function(inputs, outputs, mode="TAPEGRAD", **options)
    theirs = pytensor.function(inputs, outputs, mode="FAST_COMPILE", **options)
    for _ in range(2):
        for one, other in zip(ours(*values), theirs(*values), strict=True):
            assert isinstance(one, np.ndarray)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_values_and_pytensors_own_gradients() -> None:
    a, b = pt.matrix("a"), pt.vector("b")
    spd = a @ a.T + pt.eye(a.shape[0])
    total = pt.logsumexp(pt.linalg.solve(spd, pt.sort(b))) + pt.sum(pt.linalg.cholesky(spd))
    rng = np.random.default_rng(0)
    both([a, b], [total, *pt.grad(total, [a, b])], rng.normal(size=(3, 3)), rng.normal(size=3))
    both([a, b], [total], rng.normal(size=(4, 4)), rng.normal(size=4))


def test_gradient_of_a_scan() -> None:
    x = pt.vector("x")
    states, _ = pytensor.scan(lambda a, s: pt.sin(s) * a, sequences=x, outputs_info=pt.ones(()))
    both([x], [states, pt.grad(states[-1], x)], np.array([0.3, 1.2, -0.7, 2.0]))


def test_integers_and_indices() -> None:
    x, i = pt.vector("x"), pt.lvector("i")
    both([x, i], [x[i], i * 2, pt.zeros(5)[i].inc(x[i]), i.shape[0]], np.arange(5.0), np.array([0, 4, 4]))
    both([x, i], [x[i]], np.arange(5.0), np.array([1, 0, 2]))


def test_updates_of_shared_variables() -> None:
    count = pytensor.shared(np.array([0.0, 1.0]), name="count")
    x = pt.vector("x")
    f = pytensor.function([x], pt.sum(x * count), updates={count: count + x}, mode="TAPEGRAD")
    at = np.array([1.0, 2.0])
    assert [float(f(at)) for _ in range(3)] == [2.0, 7.0, 12.0]
    np.testing.assert_array_equal(count.get_value(), [3.0, 7.0])


def test_random_numbers_are_drawn_anew() -> None:
    rng = pytensor.shared(np.random.default_rng(1))
    next_rng, draws = pt.random.normal(0, 1, size=3, rng=rng).owner.outputs
    f = pytensor.function([], draws * 2, updates={rng: next_rng}, mode="TAPEGRAD")
    first, second = f(), f()
    assert (first != second).all()
    wanted = np.random.default_rng(1)
    np.testing.assert_array_equal(first, 2 * wanted.normal(size=3))
    np.testing.assert_array_equal(second, 2 * wanted.normal(size=3))


def test_other_dtypes_and_shapes_are_recorded_when_they_come() -> None:
    x = pt.fmatrix("x")
    for shape in ((2, 3), (1, 4), (2, 3)):
        both([x], [x * 2 + 1, pt.sum(x)], np.random.default_rng(0).normal(size=shape).astype("float32"))


def test_pymc_samples() -> None:
    pm = pytest.importorskip("pymc")
    with pm.Model():
        mu, s = pm.Normal("mu", 0, 10), pm.HalfNormal("s", 5)
        pm.Normal("y", mu, s, observed=np.array([1.2, 0.3, 2.5, 1.9, 0.8]))
        trace = pm.sample(
            200, tune=200, chains=1, cores=1, random_seed=3, progressbar=False, compute_convergence_checks=False,
            compile_kwargs={"mode": "TAPEGRAD"},
        )  # fmt: skip
    assert abs(float(trace.posterior["mu"].mean()) - 1.34) < 0.5
