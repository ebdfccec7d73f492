"""CUTEst's problems: their code runs on the stand-ins for JAX's modules, and a wrong answer is found."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from perf.cutest.answers import ByTapegrad, Directions, TooLong, by_jax, distance, limited, values_of
from perf.cutest.array import Array, unwrapped, wrapped
from perf.cutest.examination import Examination, examine_all
from perf.cutest.loading import on_jax, on_stand_ins
from perf.cutest.namespace import modules
from perf.cutest.problem import Problem
from perf.cutest.referee import difference, opinions
from perf.figures import FIGURES, Settings, cutest
from perf.peers import Unavailable, load
from perf.report import figure_text

MODULES = modules()
JNP = MODULES["jax.numpy"]
X = np.array([0.3, -0.7, 1.1, 0.4])

needs_problems = pytest.mark.skipif(find_spec("sif2jax") is None, reason="pip install sif2jax")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="pip install jax")


def scanned(y: Any) -> Any:
    carry, rows = MODULES["jax.lax"].scan(lambda c, x: (c * 0.5 + x, c * x), JNP.array(1.0), y)
    return JNP.sum(rows) + carry


def by_hand(y: Any) -> Any:
    carry, total = 1.0, 0.0
    for x in y:
        carry, total = carry * 0.5 + x, total + carry * x
    return total + carry


# Code in JAX's words, and the same for NumPy's arrays, complex ones as well
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "set": (
        lambda y: JNP.sum(JNP.zeros(4).at[1:3].set(y[:2] ** 2) * y),
        lambda y: y[0] ** 2 * y[1] + y[1] ** 2 * y[2],
    ),
    "set of a Tensor": (lambda y: JNP.prod(y.at[0].set(2.0)), lambda y: 2.0 * y[1] * y[2] * y[3]),
    "add, twice at one place": (
        lambda y: JNP.sum(JNP.ones(3).at[JNP.array([0, 0, 2])].add(y[:3]) ** 2),
        lambda y: (1 + y[0] + y[1]) ** 2 + 1 + (1 + y[2]) ** 2,
    ),
    "an index beyond the end": (lambda y: JNP.sum(y[JNP.array([1, 7])] ** 2), lambda y: y[1] ** 2 + y[3] ** 2),
    "an index of pairs": (
        lambda y: JNP.sum(y.reshape(2, 2)[JNP.array([0, 9]), JNP.array([1, 0])] ** 3),
        lambda y: y[1] ** 3 + y[2] ** 3,
    ),
    "vmap over indices": (
        lambda y: JNP.sum(MODULES["jax"].vmap(lambda i: y[i] * y[i + 1] * i)(JNP.arange(3))),
        lambda y: y[1] * y[2] + 2 * y[2] * y[3],
    ),
    "scan": (scanned, by_hand),
    "segment_sum": (
        lambda y: JNP.sum(MODULES["jax.ops"].segment_sum(y, JNP.array([0, 1, 0, 1]), num_segments=2) ** 2),
        lambda y: (y[0] + y[2]) ** 2 + (y[1] + y[3]) ** 2,
    ),
    "dynamic_slice": (
        lambda y: JNP.sum(MODULES["jax.lax"].dynamic_slice(y, (JNP.array(1),), (2,)) ** 2),
        lambda y: y[1] ** 2 + y[2] ** 2,
    ),
    "sparse matrix": (
        lambda y: JNP.sum(
            (MODULES["jax.experimental.sparse"].BCOO(
                (JNP.array([2.0, 3.0]), JNP.array([[0, 3], [1, 0]])), shape=(2, 4)
            ) @ y) ** 2
        ),
        lambda y: (2 * y[3]) ** 2 + (3 * y[0]) ** 2,
    ),
    "lists, operators and constants": (
        lambda y: JNP.dot(JNP.array([y[0], 1.0, -y[1] / 2, 2 ** y[3]]), y) + np.array([1.0, 2.0]) @ y[:2],
        lambda y: y[0] ** 2 + y[1] - y[1] * y[2] / 2 + 2 ** y[3] * y[3] + y[0] + 2 * y[1],
    ),
}  # fmt: skip


def on_values(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda y: unwrapped(function(Array(y)))


def by_complex_steps(function: Callable[[Any], Any], y: np.ndarray) -> np.ndarray:
    return np.array([function(y + 1e-30j * row).imag / 1e-30 for row in np.eye(y.size)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_stand_ins_have_the_values_of_numpy_and_gradients_of_the_complex_step(name: str) -> None:
    program, plain = PROGRAMS[name]
    if name != "scan":  # whose body is recorded: on constants it gives Tensors
        constant = on_values(program)(X)
        assert not isinstance(constant, tg.Tensor)
        assert constant == pytest.approx(plain(X), rel=1e-14)
    value, gradient = tg.value_and_grad(tg.jit(on_values(program)))(X)
    assert value == pytest.approx(plain(X), rel=1e-14)
    np.testing.assert_allclose(gradient, by_complex_steps(plain, X), rtol=1e-13, atol=1e-15)


def test_arrays_are_never_written_to() -> None:
    before = JNP.zeros(3)
    after = before.at[1].set(5.0)
    np.testing.assert_array_equal(before, 0.0)
    np.testing.assert_array_equal(after, [0.0, 5.0, 0.0])
    with pytest.raises(TypeError):
        before[1] = 5.0


def test_classes_have_their_annotations_as_fields() -> None:
    module = MODULES["equinox"]

    class Base(module.Module):
        number: module.AbstractVar[int]

    class Own(Base):
        number: int = 3
        size: int = module.field(static=True, default=4)

    class Made(Own):
        def __init__(self) -> None:
            self.size = 7

    assert (Own().number, Own(5).number, Own().size) == (3, 5, 4)
    assert (Made().number, Made().size) == (3, 7)


def test_imports_on_stand_ins_leave_jax_alone() -> None:
    with pytest.MonkeyPatch.context() as patch:
        marker = type(np)("jax")
        patch.setitem(sys.modules, "jax", marker)
        if find_spec("sif2jax") is not None:
            on_stand_ins()
        assert sys.modules["jax"] is marker


@needs_problems
def test_a_wrong_derivative_is_found_and_laid_at_its_door() -> None:
    theirs = on_stand_ins().problem("constrained_minimisation.hs100.HS100")
    problem = Problem(theirs, tg, wrapped, unwrapped)
    at = Directions.of(Problem(theirs, np, wrapped, unwrapped))
    right = values_of(ByTapegrad(problem, at, fuse=False).calls())
    slope, doubt = difference(Problem(theirs, np, wrapped, unwrapped).objective, at)
    assert right["gradient"] @ at.vector == pytest.approx(float(slope), rel=1e-12)
    assert doubt < 1e-9 * abs(slope)
    wrong = {name: value * 1.000001 for name, value in right.items()}
    assert min(distance(wrong[name], right[name]) for name in wrong) > 1e-7
    assert set(opinions(theirs, at, wrong, right).values()) == {"JAX"}
    assert set(opinions(theirs, at, right, wrong).values()) == {"tapegrad"}
    missing = {name: np.full_like(value, np.nan) for name, value in right.items()}
    assert set(opinions(theirs, at, missing, right).values()) == {"JAX"}


@needs_problems
@needs_jax
def test_both_libraries_agree_on_a_problem() -> None:
    where = "constrained_minimisation.hs71.HS71"
    theirs = Problem(on_jax().problem(where), load("jax.numpy"))
    ours = Problem(on_stand_ins().problem(where), tg, wrapped, unwrapped)
    at = Directions.of(theirs)
    answers, values = by_jax(theirs, at), values_of(ByTapegrad(ours, at, fuse=False).calls())
    assert answers.keys() == values.keys()
    assert max(distance(values[name], answers[name]) for name in answers) < 1e-13


def test_distances_refuse_shapes_and_see_nan() -> None:
    assert distance(np.array([1.0, np.nan]), np.array([1.0, np.nan])) == 0.0
    assert np.isnan(distance(np.array([1.0, np.nan]), np.array([1.0, 2.0])))
    with pytest.raises(ValueError, match="shape"):
        distance(np.zeros(2), np.zeros(3))


def test_what_takes_too_long_or_fails_is_said() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(TooLong), limited(0.05):
        forever()
    found = values_of({"good": lambda: 2.0, "bad": lambda: 1 / 0})
    assert found["good"] == 2.0
    assert found["bad"] == "ZeroDivisionError: division by zero"


def test_the_report_counts_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"tapegrad compiled": 1e-6, "tapegrad replayed": 2e-6, "JAX": 1e-5, "JAX on its device": 5e-6}
    every = {"first gradient": seconds, "gradient": seconds, "Hessian product": seconds}
    found = [
        Examination("FINE", 2, 0, {"gradient": 1e-16}, times=every),
        Examination("OFF", 2, 0, {"gradient": 1e-3}, {"sparse Hessian": "TooLong: 9"}, {"gradient": "JAX"}),
        Examination("BROKEN", error="ValueError: no"),
    ]
    monkeypatch.setattr(cutest, "examine_all", lambda problems, workers: found)
    monkeypatch.setattr(cutest, "load", lambda name: None)
    outcome = FIGURES["cutest"].measure(Settings(quick=True))
    measured = {target.what: target.measured for target in outcome.targets}
    assert measured["problems that do not run"] == 1
    assert measured["problems with an answer that is wrong by differences"] == 1
    assert measured["gradient, tapegrad compiled: times JAX's, geometric mean"] == pytest.approx(0.1)
    assert measured["Hessian product, tapegrad replayed: times JAX's, slowest"] == pytest.approx(0.2)
    text = figure_text(FIGURES["cutest"], outcome)
    for part in (
        "no answer: sparse Hessian, TooLong: 9: OFF",
        "does not run: ValueError: no: BROKEN",
        "right is JAX: gradient: OFF",
    ):
        assert part in text


def test_left_out_or_missing_packages_are_told() -> None:
    with pytest.raises(Unavailable, match="jax: left out"):
        FIGURES["cutest"].measure(Settings(quick=True, without=frozenset({"jax"})))


@needs_problems
@needs_jax
def test_problems_are_examined_in_a_process_of_their_own() -> None:
    names = "unconstrained_minimisation.rosenbr.ROSENBR", "unconstrained_minimisation.rosenbr.NOBODY"
    good, missing = examine_all(names, 1)
    assert not good.error
    assert not good.failures
    assert not good.opinions
    assert max(good.distances.values()) < 1e-13
    assert "NOBODY" in missing.error
