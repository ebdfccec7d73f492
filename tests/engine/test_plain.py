"""Plain functions that are translated without Numba compute what they compute in Python."""

import ctypes
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers.daily import daily
from tapegrad.engine import ahead_of_time
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator import values, whole
from tapegrad.engine.codegen.translator.compiler import (
    compile_c_function,
    entry_point,
    inline_njit,
    shared_njit,
)
from tapegrad.engine.kernels.language.inlining import always_inline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_f64,
    load_i32,
    load_i64,
    load_u8,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_f64,
    store_i64,
)
from tapegrad.engine.runtime import switches

_SIGNS = (-7, -3, -1, 0, 1, 2, 3, 7)
_TABLE = ((1, 10), (2, 20), (3, 30))
_WEIGHTS = (10, 20, 30)

pytestmark = pytest.mark.skipif(not switches.TRANSLATES, reason="the translator is switched off")


class Pair(NamedTuple):
    """Two numbers."""

    left: int
    right: int


@inline_njit
def _swapped(pair):
    return Pair(pair.right, pair.left)


@inline_njit
def _both(a, b):
    return a + b, a * b


@inline_njit
def _weighted(table, by):
    total = 0
    for number, weight in table:
        if number == by:
            continue
        total += weight
    return total


@noinline_loop
def _ramp(target, count, zero):
    for k in range(count):
        store_f64(target, k, zero + k)


@always_inline
def _half(x):
    return x / 2


def arithmetic(a, b):
    return (a + b) * 3 - (a & b | 5) + (a ^ ~b) + (a << 2) + (a >> 1) - -b + abs(a) + min(a, b) * max(a, 2)


def division(a, b):
    return a // b * 1000 + a % b if b != 0 else 0


def logic(a, b):
    found = a < b <= 3 or (not a <= b and a != 2)
    found |= a > 5
    return found + (a and b) + 10 * (a or b)


def loops(a, b):
    total, k = 0, 0
    for i in range(abs(a)):
        if i == 5:
            break
        total += i
    for i in range(9, b, -2):
        total = 10 * total + i
    while True:
        k += 1
        if k > abs(b):
            return total
        if k == 2:
            continue
        total += k


def tuples(a, b):
    pair = _swapped(Pair(a, b))
    total, product = _both(pair.left, pair.right)
    left, right = _swapped(pair if a > b else Pair(1, 2))
    return total + 10 * product + 100 * left + 1000 * right + _weighted(_TABLE, a)


def ranges(a, b):
    total: int = 0
    step = a if a != 0 else 1
    for k in range(b, 3 * a, step):
        total = 10 * total + k
    return total


def items(a, b):
    triple, weight = (a, b, a - b), _WEIGHTS[a % 3]
    return triple[abs(a) % 3] + 10 * weight + 100 * (a in (1, -3, b)) + a**2


def _summed(function, a, b):
    return function(a, b) + function(b, 1)


@inline_njit
def _difference(a, b):
    return a - 2 * b


def functions(a, b):
    return _sum_of(_difference, a, b)


_sum_of = always_inline(_summed)


def functions_of_c(a, b):
    x, y = a / 70, b / 50
    total = math.asinh(x) + math.sinh(x) + math.tan(y) + math.pow(abs(x) + 0.5, y) + math.atan(y) + np.rint(y)
    return int(total * 1e9)


def memory(a, b):
    fields = stack_i64(4)
    memset(fields, 0, 32)
    store_i64(fields, 0, (a << 32) + (b & 255))
    numbers = fields + 8
    _ramp(numbers, 3, 0.5)
    sign = load_i32(fields, 1) * 1000 + load_u8(fields, 0)
    return sign if load_f64(numbers, 2) * 2 == 5.0 and _half(a) * 2 == a else load_i64(fields, 0) * 0 - 1


def _expected_memory(a, b):
    return a * 1000 + (b & 255)


_python_of: dict[Any, Callable[..., int]] = {memory: _expected_memory}


def translated(function: Any, *kinds: Any) -> objects.Definition | None:
    """The definition of an entry point; `None` where Numba has to compile it."""
    try:
        return whole.entry_definition(function, kinds)
    except values.NotPlainError:
        return None


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(cache.complaints, "made", True)


def _bare(function: Any) -> Any:
    """The function with Python's own in place of dispatchers."""
    names = {name: getattr(value, "py_func", value) for name, value in globals().items()}
    return type(function)(function.__code__, names)


@pytest.mark.parametrize(
    "function",
    [arithmetic, division, logic, loops, ranges, items, functions, functions_of_c, tuples, memory],
)
def test_translated_functions_compute_what_python_computes(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert translated(function, values.I64, values.I64) is not None
    expected = _python_of.get(function) or _bare(function)
    monkeypatch.setattr(sys.modules[__name__], function.__name__, function)
    compiled = entry_point()(function)
    for a in _SIGNS:
        for b in _SIGNS:
            assert compiled(a, b) == expected(a, b), (a, b)


@shared_njit
def _square(a):
    return a * a


@shared_njit
def _sum_of_squares(pair):
    return _square(pair.left) + _square(pair.right)


@shared_njit
def _store_sum(address, pair, table):
    store_i64(address, 0, _sum_of_squares(pair) + table[0])


def store_one_way(address, a, b):
    _store_sum(address, Pair(a, b), _WEIGHTS)


def store_another_way(address, a, b):
    store_i64(address, 0, _sum_of_squares(Pair(b, a)) + _WEIGHTS[0])


def test_shared_functions_are_called_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is given a table has no name that others know: it is put into each function."""
    result = np.zeros(1, np.int64)
    for function in (store_one_way, store_another_way):
        definition = whole.entry_definition(function, (values.I64,) * 3)
        assert [symbol.split(".")[-2] for symbol in definition.calls] == ["_sum_of_squares"]
        assert "_square" not in definition.source.text.replace("_sum_of_squares", "")
        monkeypatch.setattr(sys.modules[__name__], function.__name__, function)
        entry_point()(function)(result.ctypes.data, 3, 4)
        assert result[0] == 25 + _WEIGHTS[0]


def divided(a, b):
    return a // b + a % b


def test_a_division_by_zero_gives_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "divided", divided)
    assert entry_point()(divided)(5, 0) == 0


def stored(address, value):
    store_f64(address, 0, value * 2 if value > 1 else -value)


def test_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "stored", stored)
    compiled, numbers = entry_point(floats=("value",))(stored), np.zeros(1)
    for value, expected in ((1.5, 3.0), (0.25, -0.25), (float("nan"), float("nan"))):
        compiled(int(numbers.ctypes.data), value)
        np.testing.assert_array_equal(numbers, [expected])


def several(address, x, y):
    store_f64(address, 0, abs(x) + min(x, y) * max(x, 2.0))
    store_f64(address, 1, math.sqrt(abs(y)) + x**2)
    store_f64(address, 2, 1.0 if math.isnan(x) else 2.0 if np.isfinite(x) else 3.0)
    store_f64(address, 3, x if x < y or x != x else -y)
    store_f64(address, 4, max(x, y, 1.0) + min(y, 2.0, x, -1.0))
    store_f64(address, 5, math.hypot(x, y) + math.atan(x) * math.log1p(abs(y)))


def _expected_of_several(x, y):
    kind = 1.0 if math.isnan(x) else 2.0 if math.isfinite(x) else 3.0
    return [
        abs(x) + min(x, y) * max(x, 2.0),
        math.sqrt(abs(y)) + x**2,
        kind,
        x if x < y or x != x else -y,
        max(x, y, 1.0) + min(y, 2.0, x, -1.0),
        math.hypot(x, y) + math.atan(x) * math.log1p(abs(y)),
    ]


def test_functions_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    assert translated(several, values.I64, values.F64, values.F64) is not None
    monkeypatch.setattr(sys.modules[__name__], "several", several)
    compiled, found = entry_point(floats=("x", "y"))(several), np.zeros(6)
    numbers = (0.0, -0.0, 1.5, -2.25, 3.0, math.inf, -math.inf, math.nan)
    for x in numbers:
        for y in numbers:
            compiled(int(found.ctypes.data), x, y)
            np.testing.assert_array_equal(found, _expected_of_several(x, y), err_msg=f"{x}, {y}")


def taken_apart(address, x):
    for _ in range(2):
        mantissa, exponent = math.frexp(x)
    store_f64(address, 0, mantissa)
    store_f64(address, 1, exponent + 0.0)
    store_f64(address, 2, math.ldexp(mantissa, exponent))
    store_f64(address, 3, np.log2(abs(x)))
    store_f64(address, 4, np.ceil(x))


def test_parts_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    assert translated(taken_apart, values.I64, values.F64) is not None
    monkeypatch.setattr(sys.modules[__name__], "taken_apart", taken_apart)
    compiled, parts = entry_point(floats=("x",))(taken_apart), np.zeros(5)
    for x in (1.0, -0.3, 5e-324, -1.5e300, 2.0**-1022, 7.25):
        compiled(int(parts.ctypes.data), x)
        mantissa, exponent = math.frexp(x)
        assert parts.tolist() == [mantissa, exponent, x, np.log2(abs(x)), np.ceil(x)]


@inline_njit
def _times_first(address, by, zero):
    return load_at(address, 0, zero) * load_at(address, by * size_of(zero), zero)


def single(address):
    zero = np.float32(0)
    store_at(address, 2 * size_of(zero), _times_first(address, 1, zero), zero)


def test_arithmetic_of_float32_is_that_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    assert translated(single, values.I64) is not None
    monkeypatch.setattr(sys.modules[__name__], "single", single)
    numbers = np.array([1.1, 2.3, 0.0], np.float32)
    entry_point()(single)(int(numbers.ctypes.data))
    assert numbers[2] == numbers[0] * numbers[1]


class _Typed(NamedTuple):
    is_used: bool
    zero: Any


@always_inline
def _size(table: _Typed) -> int:
    return 0 if table.is_used else size_of(table.zero)


def _entry_of(table: _Typed) -> Any:
    def entry(frame: int, loops: int) -> int:
        return _size(table)

    entry.__qualname__ = f"entry_{table.zero.dtype}"
    return entry


def test_equal_tables_of_other_types_are_told_apart() -> None:
    for zero in (np.float64(0), np.float32(0), np.int64(0), np.uint8(0), np.complex128(0), np.complex64(0)):
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        address = compile_c_function(_entry_of(_Typed(False, zero)))
        assert call(address)(0, 0) == zero.itemsize


@pytest.mark.parametrize(
    "text",
    ["lambda a: a", "raising", "powers", "itself"],
)
def test_what_says_more_is_left_to_numba(text: str) -> None:
    function = eval(text)
    assert translated(function, values.I64) is None


def raising(a):
    if a > 2:
        raise ValueError("too many")
    return a


def powers(a):
    return a**3


@inline_njit
def _calls_itself(a):
    return _calls_itself(a - 1) if a > 0 else 0


def itself(a):
    return _calls_itself(a)


@daily(every=8)
@pytest.mark.parametrize("eighth", range(8))
def test_all_that_is_compiled_ahead_of_time_is_translated(eighth: int) -> None:
    """What a first gradient, or a first fit, waits for: Numba takes four times as long, and its code stays here."""
    ahead_of_time.import_all()
    ours = [
        unit for unit in ahead_of_time.translated() if cache.is_ours(unit.name)
    ]  # tests define some as well
    units = ours[eighth::8]
    assert len(units) > 70
    left = []
    for unit in units:
        try:
            unit.define()
        except values.NotPlainError as error:
            left.append(f"{unit.name}: {error}")
    assert left == []
