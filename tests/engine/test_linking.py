"""How compiled functions are put together: parts without machine code, wholes with one copy of all their parts."""

from typing import Any

import numba
import numpy as np
import pytest

from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator import whole
from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit, make_ready
from tapegrad.engine.kernels.language.inlining import noinline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, store_f64, store_i64


@inline_njit
def _leaf(address, k):
    return 10 * load_i64(address, k)


@inline_njit
def _left(address):
    return _leaf(address, 0) + 1


@inline_njit
def _right(address):
    return _leaf(address, 1) + 2


@noinline
def _scaled(address, k, by):
    return load_f64(address, k) * by


@noinline_loop
def _fill(address, count, value):
    for k in range(count):
        store_f64(address, k, value)


@noinline
def _deep(address):
    return load_i64(address, 0) + 1


@noinline
def _ruled_out(address):
    return 1j * _deep(address)


@noinline
def _left_over(address):
    return 10 * _deep(address)


@inline_njit
def _refuse(k):
    if k > 2:
        raise ValueError("too many")
    return k


def _library(helper: Any) -> Any:
    (result,) = helper.numbas.overloads.values()
    return result.library


@pytest.fixture(autouse=True)
def only_numba_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "TRANSLATES", False)


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(cache.complaints, "made", True)


def test_a_part_that_is_called_on_two_ways() -> None:
    @entry_point()
    def diamond(address):
        store_i64(address, 0, _left(address) + _right(address))
        return load_i64(address, 0)

    fields = np.array([3, 4])
    make_ready(diamond)
    assert diamond(int(fields.ctypes.data)) == 73
    assert fields[0] == 73
    for part in (_leaf, _left, _right):
        assert _library(part).get_pointer_to_function("anything") == 0


def test_a_part_is_first_met_in_a_branch_that_types_rule_out() -> None:
    @entry_point()
    def kept(address):
        if isinstance(address, complex):
            return int(_ruled_out(address).imag)
        return _left_over(address)

    fields = np.array([3])
    assert kept(int(fields.ctypes.data)) == 40


def test_a_loop_of_elements_is_optimised_before_it_is_linked() -> None:
    @entry_point(floats=("value",))
    def fill(address, count, value):
        _fill(address, count, value)

    numbers = np.zeros(37)
    fill(int(numbers.ctypes.data), 36, 1.5)
    assert (numbers[:36] == 1.5).all()
    assert numbers[36] == 0
    assert " x double>" in _library(_fill).get_llvm_str()


def test_numbas_own_functions_call_parts() -> None:
    """A kernel around a user's function is compiled by Numba alone."""

    @numba.njit
    def sum_of_all(address, other):
        return _left(address) + _right(address) + _scaled(other, 0, 2.0)

    fields, floats = np.array([3, 4]), np.array([0.25])
    assert sum_of_all(int(fields.ctypes.data), int(floats.ctypes.data)) == 73.5


def test_a_part_raises() -> None:
    @entry_point()
    def twice(k):
        return 2 * _refuse(k)

    assert twice(2) == 4
    with pytest.raises(SystemError, match="compiled code has raised"):
        twice(3)


def test_what_returns_no_field_is_no_entry_point() -> None:
    @entry_point()
    def half(k):
        return k / 2

    with pytest.raises(TypeError, match="half returns float64"):
        half(1)
