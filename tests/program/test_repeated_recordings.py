"""Functions that are recorded again and again: one warning for each cause, which says what to write; that works."""

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.traces.repeated import MAX_RECORDINGS

N = 50
DATA = np.linspace(-1.0, 1.0, N)
SCALE = 1.0
MORE = MAX_RECORDINGS + 8


def told(call: Callable[[int], object], times: int = MORE) -> list[str]:
    """Make calls, and return the warnings about recordings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for k in range(times):
            call(k)
    assert all(each.category is tg.RecordingWarning for each in found)
    assert all(each.filename == __file__ for each in found)
    return [str(each.message) for each in found]


def set_scale(value: float) -> None:
    global SCALE
    SCALE = value


def by_global() -> Iterator[Any]:
    f = tg.jit(lambda x: tg.sum(x) * SCALE)

    def call(k: int) -> None:
        set_scale(1.0 + k)
        assert f(DATA[:3]) == np.sum(DATA[:3]) * (1.0 + k)

    yield call, "global SCALE changed", "Pass it as an argument"


def by_global_beside_an_integer() -> Iterator[Any]:
    f = tg.jit(lambda x, n: tg.sum(x * n) * SCALE)

    def call(k: int) -> None:
        set_scale(1.0 + k)
        assert f(0.5, 3) == 1.5 * (1.0 + k)

    yield call, "global SCALE changed", "Pass it as an argument"


def by_closure() -> Iterator[Any]:
    weight = 1.0
    gradient = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * weight)))

    def call(k: int) -> None:
        nonlocal weight
        weight = 2.0 + k
        assert gradient(np.ones(2))[1].tolist() == [2.0 + k] * 2

    yield call, "weight changed", "Pass it as an argument"


def by_container() -> Iterator[Any]:
    table = {"rate": 1.0}
    f = tg.jit(lambda x: x * table["rate"])

    def call(k: int) -> None:
        table["rate"] = 2.0 + k
        assert f(1.0) == 2.0 + k

    yield call, "contents of table changed", "Pass it as an argument"


def by_object() -> Iterator[Any]:
    helper: Callable[[Any], Any] = tg.sin
    f = tg.jit(lambda x: helper(x))

    def multiple(k: int) -> Callable[[Any], Any]:
        return lambda x: x * k

    def call(k: int) -> None:
        nonlocal helper
        helper = multiple(k)
        assert f(1.0) == k

    yield call, "helper changed", "Make it once, outside of the loop"


def by_integer() -> Iterator[Any]:
    f = tg.jit(lambda x, n: tg.sum(x * DATA[:n]))

    def call(k: int) -> None:
        assert f(2.0, k + 1) == pytest.approx(2 * DATA[: k + 1].sum())

    yield call, "argument 1, an integer, changed (16 -> 17)", "tg.sum(tg.where(np.arange(N) < n, ..., 0.0))"


def by_keyword() -> Iterator[Any]:
    f = tg.jit(lambda x, *, n: x * n)
    yield (lambda k: f(2.0, n=k)), "n, an integer, changed (", "static_argnums"


def by_shape() -> Iterator[Any]:
    f = tg.grad(tg.jit(lambda x: tg.sum(x * x)))
    yield (lambda k: f(DATA[: k + 1])), "the shape of argument 0 changed", "Pad to a fixed length"


def by_value() -> Iterator[Any]:
    f = tg.jit(lambda x, options: x * len(options))
    yield (
        (lambda k: f(1.0, "a" * (k + 1))),
        "argument 1, no float and no array, changed",
        "Make it once, outside of the loop",
    )


def by_structure() -> Iterator[Any]:
    f = tg.jit(lambda xs: tg.sum(tg.asarray(xs)))
    yield (lambda k: f([1.0] * (k + 1))), "the structure of the arguments changed", "padded to a fixed length"


def by_guard() -> Iterator[Any]:
    f = tg.jit(lambda x: x * int(x))

    def call(k: int) -> None:
        assert f(float(k)) == k * k

    yield call, "a guard failed (", "tg.where(condition, a, b)"


def by_array_of_the_closure() -> Iterator[Any]:
    weights = np.ones(3)
    f = tg.jit(lambda x: x * float(weights.sum()))

    def call(k: int) -> None:
        weights[:] = k
        assert f(1.0) == 3.0 * k

    yield call, "a guard failed (the contents of weights", "pass arrays that change as arguments"


def by_memory() -> Iterator[Any]:
    f = tg.jit(lambda x, scale: tg.sum(x * x) * scale, memory=1)
    yield (
        (lambda k: f(np.ones(1 + k % 2), np.float32(1))),
        "an earlier recording had been dropped",
        "jit(f, memory=...)",
    )


CAUSES = [
    by_global, by_global_beside_an_integer, by_closure, by_container, by_object, by_integer, by_keyword, by_shape,
    by_value, by_structure, by_guard, by_array_of_the_closure, by_memory,
]  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
@pytest.mark.usefixtures("plain_memory")
def test_each_cause_is_told_once(cause: Callable[[], Iterator[Any]]) -> None:
    ((call, because, advice),) = cause()
    found = told(call, 2 * MORE)
    assert len(found) == 1, found
    assert f" times, {MAX_RECORDINGS} of them because {because}" in found[0]
    assert advice in found[0]


@pytest.mark.parametrize(
    "cause", [by_global, by_integer, by_shape, by_guard], ids=lambda cause: cause.__name__
)
def test_few_recordings_are_not_told(cause: Callable[[], Iterator[Any]]) -> None:
    ((call, _, _),) = cause()
    assert told(call, MAX_RECORDINGS) == []


@pytest.mark.usefixtures("plain_memory")
def test_two_causes_are_told_each() -> None:
    f = tg.jit(lambda x, n: tg.sum(x) * n * SCALE)

    def call(k: int) -> None:
        if k < MORE:
            f(1.0, k)
        else:
            set_scale(100.0 + k)
            f(1.0, 0)

    first, second = told(call, 2 * MORE)
    assert "an integer, changed" in first
    assert "global SCALE changed" in second


def test_what_is_named_as_static_is_not_told() -> None:
    f = tg.jit(lambda x, n: x * n, static_argnums=1)
    assert told(lambda k: f(1.0, k)) == []


def test_recordings_that_are_reused_are_not_counted() -> None:
    f = tg.jit(lambda x, n: tg.sum(x) * n)
    sizes = itertools.cycle(range(1, 5))
    assert told(lambda k: f(DATA[: next(sizes)], k % 3), 100) == []
    assert len(f.explain()) == 12


# --- the advice works ------------------------------------------------------------------------------------------


def test_a_number_as_an_argument_is_recorded_once() -> None:
    f = tg.value_and_grad(tg.jit(lambda x, scale: tg.sum(x * DATA) * scale))

    def call(k: int) -> None:
        value, gradient = f(2.0, 1.0 + k)
        assert value == pytest.approx(2 * DATA.sum() * (1.0 + k))
        assert gradient == pytest.approx(DATA.sum() * (1.0 + k))

    assert told(call) == []
    assert len(f.explain()) == 1


@pytest.mark.parametrize("kind", [float, np.float64])
def test_a_length_as_a_float_and_a_mask_is_recorded_once(kind: Any) -> None:
    masked = tg.jit(lambda x, n: tg.sum(tg.where(np.arange(N) < n, (x * DATA - 1.0) ** 2, 0.0)))
    sliced = tg.value_and_grad(tg.jit(lambda x, n: tg.sum((x * DATA[:n] - 1.0) ** 2), static_argnums=1))
    gradient = tg.value_and_grad(masked)

    def call(k: int) -> None:
        found, expected = gradient(0.7, kind(k + 1)), sliced(0.7, k + 1)
        np.testing.assert_allclose(found, expected, rtol=1e-13)

    assert told(call) == []
    assert len(masked.explain()) == 1


def test_a_padded_argument_is_recorded_once() -> None:
    f = tg.jit(lambda d, n: tg.sum(tg.where(np.arange(N) < n, tg.log(d), 0.0)))
    gradient = tg.value_and_grad(f)

    def call(k: int) -> None:
        own = 1.0 + np.arange(k + 1.0)
        value, slope = gradient(np.pad(own, (0, N - len(own))), float(len(own)))
        assert value == pytest.approx(np.log(own).sum())
        np.testing.assert_allclose(slope, np.pad(1 / own, (0, N - len(own))))

    assert told(call) == []
    assert len(f.explain()) == 1


def test_reasons_are_what_they_were() -> None:
    f = tg.jit(lambda x, n: tg.sum(x) * n * SCALE)
    f(DATA[:2], 1)
    f(DATA[:3], 2)
    set_scale(SCALE + 1.0)
    f(DATA[:3], 2)
    f(DATA[:3], np.float32(2))
    reasons = [each.reason for each in f.explain()]
    assert reasons == ["global SCALE changed", "argument 1: 2 -> () float32"]
    assert f.log.causes["captured", "global SCALE"] == 1
    assert f.log.causes["shape", "argument 0"] == 1
    assert f.log.causes["integer", "argument 1"] == 1
    assert f.log.causes["form", "argument 1"] == 1
    assert f.log.count == 4


def test_values_of_the_same_text_are_told_apart() -> None:
    f = tg.jit(lambda x, name: x * len(name))
    assert [f(1.0, "a" * n) for n in (100, 101)] == [100.0, 101.0]
    assert f.explain()[1].reason.startswith("argument 1: another 'aaa")
