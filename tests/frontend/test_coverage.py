"""Every public function of NumPy's, and of scipy.special, differentiates, is constant, or is refused by its name."""

import io
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from functions import CASES

import tapegrad as tg
from helpers.functions import operands, results
from helpers.offenders import assert_none
from tapegrad.cli.generate import functions_page as page
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.numpy_face import coverage
from tapegrad.frontend.numpy_face.coverage import (
    CONSTANT,
    DIFFERENTIATES,
    MODULES,
    REFUSED,
    called,
    depends,
    public_functions,
)
from tapegrad.frontend.words.function_names import full_name

ALL = [(module, name) for module in MODULES for name in public_functions(module)]


def test_every_public_callable_is_sorted() -> None:
    for module in MODULES:
        home = __import__(module, fromlist=["_"])
        names = {name for name in dir(home) if not name.startswith("_") and callable(getattr(home, name))}
        assert {name for each, name in ALL if each == module} == names


NEWEST = np.__version__.startswith("2.4.") and scipy.__version__.startswith("1.17.")


@pytest.mark.skipif(not NEWEST, reason="the page is written with the newest NumPy and SciPy")
def test_the_page_is_fresh() -> None:
    assert page.main(["--check"]) == 0


# --- what the functions do ---------------------------------------------------------------------------------------


def outcome(call: Any, *arguments: Any) -> Any:
    """Return the result of a call, or the error that it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", PendingDeprecationWarning)  # of matrices
            warnings.simplefilter("ignore", DeprecationWarning)  # of old names
            return call(*arguments)
    except Exception as error:
        return error


def saved() -> io.BytesIO:
    file = io.BytesIO()
    np.save(file, np.ones(2))
    file.seek(0)
    return file


SQUARE, NUMBERS = tg.ones((2, 2)), tg.tensor([0, 1])
# Calls of functions that take neither Tensors first, nor numbers, or matrices alone.
SAMPLES: dict[str, list[Callable[[], Any]]] = {
    "can_cast": [lambda: np.can_cast(SQUARE.dtype, np.float32)],
    "datetime_data": [lambda: np.datetime_data(np.dtype("M8[s]"))],
    "diag_indices_from": [lambda: np.diag_indices_from(SQUARE)],
    "fromfile": [lambda: np.fromfile(os.devnull)],
    "fromregex": [lambda: np.fromregex(io.StringIO("1"), r"(\d)", [("a", int)])],
    "fromstring": [lambda: np.fromstring("1 2", sep=" ")],
    "isdtype": [lambda: np.isdtype(SQUARE.dtype, "real floating")],
    "isnat": [lambda: np.isnat(np.datetime64("NaT"))],
    "load": [lambda: np.load(saved())],
    "loadtxt": [lambda: np.loadtxt(["1 2"])],
    "mask_indices": [lambda: np.mask_indices(3, np.triu)],
    "tril_indices_from": [lambda: np.tril_indices_from(SQUARE)],
    "triu_indices_from": [lambda: np.triu_indices_from(SQUARE)],
    "typename": [lambda: np.typename("d")],
    "fft2": [lambda: np.fft.fft2(SQUARE)],
    "ifft2": [lambda: np.fft.ifft2(SQUARE)],
    "rfft2": [lambda: np.fft.rfft2(SQUARE)],
    "irfft2": [lambda: np.fft.irfft2(SQUARE)],
    "unravel_index": [lambda: np.unravel_index(NUMBERS, (2, 2))],
}


@pytest.mark.parametrize("initial", sorted({name[0].lower() for _, name in ALL}))
def test_the_functions_do_what_the_table_says(initial: str) -> None:
    """All functions with one initial, so that processes share them."""
    assert_none(check, [each for each in ALL if each[1][0].lower() == initial], ".".join)


def check(function: tuple[str, str]) -> None:
    module, name = function
    kind = coverage.kind_of(name, public_functions(module)[name])
    {DIFFERENTIATES: check_gradient, CONSTANT: check_constant, REFUSED: check_refusal}[kind](module, name)
    tg.check_tape()


def outcomes(module: str, name: str, kind: str) -> list[Any]:
    """Return the results of calls with numbers and with Tensors, including those of the table of oracles."""
    call = called(name, public_functions(module)[name])
    most = coverage.operands_of(call)
    found = [outcome(call, *arguments) for arguments in coverage.trials() if len(arguments) <= most]
    found += [outcome(sample) for sample in SAMPLES.get(name, [])]
    full = name if module == "numpy" else f"{module.removeprefix('numpy.')}.{name}"
    for case in CASES:
        if case.name == full and case.by_numpy and (case.derivatives > 0) is (kind == DIFFERENTIATES):
            found += results(outcome(case.call, np, *map(tg.tensor, operands(case))))
    return found


def check_gradient(module: str, name: str) -> None:
    """Some result has a gradient."""
    assert any(map(depends, outcomes(module, name, DIFFERENTIATES))), (
        "give the function a case in the table of oracles"
    )


# New leaves, on which gradients depend, and which depend on nothing.
LEAVES = {"empty_like", "ones_like", "zeros_like"}


def check_constant(module: str, name: str) -> None:
    """No result has a gradient, and there are results."""
    if name in coverage.NOT_CALLED:
        return
    found = outcomes(module, name, CONSTANT)
    assert name in LEAVES or not any(map(depends, found))
    if all(isinstance(result, Exception) for result in found) and not isinstance(
        public_functions(module)[name], type
    ):
        call = called(name, public_functions(module)[name])
        integers = [outcome(call, *(x,) * n) for x in (2, tg.tensor([0, 1]), b"", "0") for n in range(5)]
        assert not all(isinstance(result, Exception) for result in integers), [*found, *integers]


# Functions that call float(), as Python's own do: it warns.
WARNING = {
    "cdouble", "complex128", "complex64", "csingle", "double", "float64", "fromiter", "tri", "tril_indices",
    "triu_indices",
}  # fmt: skip


def check_refusal(module: str, name: str) -> None:
    """The error names the function, and nothing detaches."""
    function = public_functions(module)[name]
    call = called(name, function)
    names = (f"{module}.{name} ", full_name(function).partition(" ")[0] + " ")
    if name == "frompyfunc":  # the ufunc that it makes is refused
        names = ("abs (vectorized) ",)
    is_named = name in WARNING
    for arguments in coverage.trials():
        alone = all(isinstance(x, tg.Tensor) for x in arguments)
        if is_named and not (alone and len(arguments) <= 3):
            continue
        result = outcome(call, *arguments)
        is_named |= isinstance(result, UnsupportedError) and str(result).startswith(
            (*names, f"{names[0][:-1]}:")
        )
        if alone:
            assert not isinstance(result, np.ndarray | np.generic | float | complex), result
    assert is_named or any(isinstance(outcome(sample), UnsupportedError) for sample in SAMPLES.get(name, []))


def test_special_has_what_scipys_functions_differentiate() -> None:
    kinds = coverage.table()["scipy.special"]
    assert {name for name, kind in kinds.items() if kind == DIFFERENTIATES} <= set(dir(tg.special))
    assert kinds["factorial"] == REFUSED  # of numbers alone it is arithmetic
