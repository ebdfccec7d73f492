"""The array API standard: what `array_api_strict` allows gives the same here, and its clients take Tensors."""

import inspect
import itertools
import math
import operator
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import array_api_compat
import array_api_strict as strict
import einops.array_api
import numpy as np
import pytest

import tapegrad as tg
from helpers.array_api_calls import CALLS, LINALG, Call, Operands, operands
from tapegrad.errors import UnsupportedError

PAGE = (Path(__file__).parents[2] / "docs/guide/tensors_and_numpy.md").read_text(encoding="utf-8")
VERSION = "2024.12"
DTYPES = ("float64", "float32", "int64", "int8", "uint8", "bool")
LATER = {"broadcast_shapes", "isin"}  # of the version after
FUNCTIONS = {
    name
    for name in set(strict.__all__) - LATER
    if inspect.isfunction(getattr(strict, name)) and "flags" not in name and name[0] != "_"
}
EXTENSION = set(strict.linalg.__all__)
# What the two libraries do differently, where the standard leaves it open.
LEFT_OPEN = {
    "can_cast": "whether integers can become floats",
    "imag": "the imaginary part of real numbers",
    "unique_values": "the order of the elements",
}


@pytest.fixture(autouse=True)
def _standard() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        strict.set_array_api_strict_flags(api_version=VERSION)
        yield
    strict.reset_array_api_strict_flags()


# --- the namespace -----------------------------------------------------------------------------------------------


def test_the_package_is_the_namespace() -> None:
    for version in (None, "2022.12", VERSION, tg.__array_api_version__):
        assert tg.ones(2).__array_namespace__(api_version=version) is tg
    with pytest.raises(ValueError, match=r"version '2031.12' of the array API standard is not supported"):
        tg.ones(2).__array_namespace__(api_version="2031.12")


def test_every_name_of_the_standard_is_there() -> None:
    constants = {"e", "inf", "nan", "newaxis", "pi", "linalg", "fft", "__array_namespace_info__"}
    dtypes = strict.__array_namespace_info__().dtypes().keys()
    assert not {name for name in FUNCTIONS | dtypes | constants if not hasattr(tg, name)}
    assert not {name for name in EXTENSION if not hasattr(tg.linalg, name)}
    buffers = {"__buffer__"}  # of Python 3.12, and not in the standard
    theirs = {name for name in dir(strict.empty(0)) if name[0] != "_" or name[:2] == "__"}
    assert theirs - buffers <= set(dir(tg.Tensor))


def said_of(what: str) -> set[str]:
    """The names in one paragraph of the guide's list of what is not as in the standard."""
    section = PAGE.partition("## The array API standard")[2].partition("\n## ")[0]
    paragraph = next(part for part in section.split("\n* ") if part.startswith(f"**{what}**"))
    return set(re.findall(r"`((?:linalg\.)?\w+)`", paragraph))


def gives_arrays(call: Call) -> bool:
    """Return whether an eager call may return arrays of NumPy's; False if it is not allowed."""
    try:
        results = call(tg, operands(tg, "float64"))
    except (TypeError, ValueError):
        return False
    each = results if isinstance(results, list | tuple) else [results]
    return any(isinstance(result, np.ndarray) for result in each)


def test_results_are_tensors_or_the_guide_says_so() -> None:
    calls = CALLS | {f"linalg.{name}": calls for name, calls in LINALG.items()}
    calls["linalg.matrix_rank"] = [lambda xp, o: xp.linalg.matrix_rank(xp.stack([o.a, o.b]))]
    plain = {name for name, each in calls.items() if any(map(gives_arrays, each))}
    assert said_of("Booleans and positions") & calls.keys() == plain


def test_every_name_of_the_extension_fft_is_there() -> None:
    assert {name for name in strict.fft.__all__ if not hasattr(tg.fft, name)} == set()


def test_every_function_of_the_standard_has_calls() -> None:
    assert FUNCTIONS - set(CALLS) == {"from_dlpack"}
    assert set(LINALG) >= EXTENSION


@pytest.mark.parametrize("name", [*sorted(FUNCTIONS), *(f"linalg.{name}" for name in sorted(EXTENSION))])
def test_arguments_are_those_of_the_standard(name: str) -> None:
    get = operator.attrgetter(name)
    theirs, ours = (inspect.signature(get(module)).parameters for module in (strict, tg))
    named = {p.name for p in theirs.values() if p.kind is not inspect.Parameter.POSITIONAL_ONLY}
    assert named - set(ours) <= {"arrays", "arrays_and_dtypes", "shapes"}
    by_place = [p for p in ours.values() if p.kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD]
    for their, our in zip(theirs.values(), by_place, strict=False):
        if our.name == their.name and their.default is not inspect.Parameter.empty:
            assert our.default == their.default or our.default in (None, float)


def test_what_the_namespace_says_of_itself() -> None:
    ours, theirs = tg.__array_namespace_info__(), strict.__array_namespace_info__()
    assert ours.capabilities().keys() == theirs.capabilities().keys()
    assert ours.default_device() in ours.devices()
    assert ours.default_dtypes().keys() == theirs.default_dtypes().keys()
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", ("bool", "integral"))
    for kind in kinds:
        assert ours.dtypes(kind=kind).keys() == theirs.dtypes(kind=kind).keys()
    assert list(ours.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    for dtype in ours.dtypes().values():
        assert tg.zeros(2, dtype=dtype).dtype == dtype
    with pytest.raises(ValueError, match="no device 'gpu'"):
        ours.dtypes(device="gpu")
    most = ours.capabilities()["max dimensions"]
    assert (tg.ones((1,) * most) * 2.0).ndim == most
    with pytest.raises(ValueError, match="dimensions"):
        tg.ones((1,) * (most + 1)) * 2.0


# --- functions ---------------------------------------------------------------------------------------------------


def flat(value: Any) -> list[Any]:
    """Results as NumPy's arrays; of both libraries."""
    if isinstance(value, list | tuple):
        return [each for part in value for each in flat(part)]
    return [np.asarray(value if not isinstance(value, tg.Tensor) else value.data)]


def agree(call: Call, dtype: str, rtol: float = 1e-6) -> bool:
    """Return whether the standard allows a call for a dtype; compare the results if it does."""
    try:
        expected = flat(call(strict, operands(strict, dtype)))
    except (TypeError, ValueError):
        return False
    found = flat(call(tg, operands(tg, dtype)))
    assert [x.shape for x in found] == [x.shape for x in expected]
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * 1e-3)
    return True


def compare(calls: list[Call], rtol: float = 1e-6) -> None:
    """Compare calls in all dtypes; at least one must be allowed."""
    assert sum(agree(call, dtype, rtol) for call in calls for dtype in DTYPES)


@pytest.mark.parametrize("name", sorted(set(CALLS) - LEFT_OPEN.keys()))
def test_functions_are_those_of_the_standard(name: str) -> None:
    compare(CALLS[name])


@pytest.mark.parametrize("name", sorted(EXTENSION))
def test_linear_algebra_is_that_of_the_standard(name: str) -> None:
    compare(LINALG[name], 2e-5)


def test_what_the_standard_leaves_open() -> None:
    for name in LEFT_OPEN:
        for call in CALLS[name]:
            call(tg, operands(tg, "int64"))


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit], ids=["eager", "replayed"])
def test_descending_order_is_stable_and_takes_its_gradient(prepare: Any) -> None:
    x = np.array([[2.0, 5.0, 2.0, 7.0], [1.0, 0.0, 1.0, 1.0]])
    find = prepare(lambda x: [tg.argsort(x, axis=axis, descending=True) for axis in (1, 0, None)])
    for _ in range(2):
        by_rows, by_columns, of_all = find(x)
        np.testing.assert_array_equal(by_rows, [[3, 1, 0, 2], [0, 2, 3, 1]])
        np.testing.assert_array_equal(by_columns, [[0, 0, 0, 0], [1, 1, 1, 1]])
        np.testing.assert_array_equal(of_all, [3, 1, 0, 2, 4, 6, 7, 5])
    weights = np.arange(8.0).reshape(2, 4)
    gradient = tg.grad(prepare(lambda x: tg.sum(tg.sort(x, descending=True) * weights)))(x)
    np.testing.assert_array_equal(gradient, [[2.0, 1.0, 3.0, 0.0], [4.0, 7.0, 5.0, 6.0]])


# --- arrays ------------------------------------------------------------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le gt ge eq ne"


def _calls_of(name: str) -> list[Call]:
    """Calls of a binary operator, with Python's scalars on either side, too."""
    f = getattr(operator, name)
    scalars = (True, 2, 2.5)
    return [
        lambda xp, o: f(o.a, o.b),
        *(lambda xp, o, s=s: f(o.b, s) for s in scalars),
        *(lambda xp, o, s=s: f(s, o.b) for s in scalars),
    ]


OPERATORS: dict[str, list[Call]] = {
    **{name: _calls_of(name) for name in _BINARY.split()},
    **{f.__name__: [lambda xp, o, f=f: f(o.a)] for f in (operator.neg, operator.pos, abs, operator.invert)},
    **{f.__name__: [lambda xp, o, f=f: f(o.s)] for f in (bool, int, float, complex, operator.index)},
    "matmul": [lambda xp, o: o.a @ o.b.T],
    "T": [lambda xp, o: o.a.T, lambda xp, o: xp.stack([o.a, o.b]).mT],
    "shape": [lambda xp, o: (o.a.ndim, o.a.size, o.a.shape)],
    "to_device": [lambda xp, o: o.a.to_device(o.a.device)],
}
KEYS = {
    "integers": (1, -1),
    "a row": (1, slice(None)),
    "a slice": (slice(None), slice(2, None, -1)),
    "an ellipsis": (..., 0),
    "nothing": (slice(1, 1), slice(None)),
}
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.filterwarnings("ignore::tapegrad.LostGradientWarning")
def test_operators_are_those_of_the_standard(name: str) -> None:
    compare(OPERATORS[name])


@pytest.mark.parametrize("name", IN_PLACE.split())
def test_constants_are_changed_in_place(name: str) -> None:
    change = getattr(operator, name)

    def call(xp: Any, o: Operands) -> Any:
        changed = xp.asarray(o.a, copy=True)
        same = change(changed, o.b)
        assert same is changed
        return same

    compare([call])


@pytest.mark.parametrize("name", KEYS)
def test_elements_are_read_and_written(name: str) -> None:
    def write(xp: Any, o: Operands) -> Any:
        changed = xp.asarray(o.a, copy=True)
        changed[KEYS[name]] = o.b[KEYS[name]]
        return changed

    for dtype in DTYPES:
        assert agree(lambda xp, o: o.a[KEYS[name]], dtype)
        assert agree(write, dtype)


def test_new_axes_masks_and_arrays_of_integers_are_keys() -> None:
    for dtype in DTYPES:
        assert agree(lambda xp, o: o.a[None, 1, ..., None], dtype)
        assert agree(lambda xp, o: o.a[o.a == o.b], dtype)
        assert agree(lambda xp, o: o.a[1, xp.asarray([2, 0])], dtype)


# --- other libraries' memory -------------------------------------------------------------------------------------


def test_memory_is_shared_by_the_protocol() -> None:
    array = np.arange(3.0)
    t = tg.from_dlpack(array)
    t[0] = 5.0
    assert array[0] == 5.0
    assert not t.constant
    assert tg.from_dlpack(array, constant=True).constant
    assert np.from_dlpack(tg.tensor([1, 2])).dtype == np.int64
    assert tg.from_dlpack(strict.asarray([1.0, 2.0])).tolist() == [1.0, 2.0]
    copied = tg.from_dlpack(array, copy=True)
    copied[0] = 7.0
    assert array[0] == 5.0
    with pytest.raises(ValueError, match="no device 'gpu'"):
        tg.from_dlpack(array, device="gpu")


def test_a_tensor_with_a_gradient_is_not_given_away() -> None:
    x = tg.tensor([1.0, 2.0])
    for give in (np.from_dlpack, tg.from_dlpack, strict.from_dlpack, lambda t: t.__dlpack__()):
        with pytest.raises(UnsupportedError, match="would lose its gradient"):
            give(x)
    with tg.no_grad():
        assert np.shares_memory(np.from_dlpack(x), x.data)
    assert np.from_dlpack(x.detach()).tolist() == [1.0, 2.0]
    assert x.__dlpack_device__() == (1, 0)
    for differentiate in (tg.grad, lambda f: tg.value_and_grad(tg.jit(f))):
        with pytest.raises(tg.TracedValueError):
            differentiate(lambda x: tg.sum(tg.asarray(np.from_dlpack(x))))(np.ones(2))


def test_there_is_one_device() -> None:
    x = tg.tensor([1.0, 2.0])
    assert x.to_device("cpu") is x
    for wrong in (
        lambda: x.to_device("gpu"),
        lambda: x.to_device("cpu", stream=1),
        lambda: tg.ones(2, device="gpu"),
    ):
        with pytest.raises(ValueError, match=r"gpu|stream"):
            wrong()


# --- clients -----------------------------------------------------------------------------------------------------


def test_array_api_compat_takes_tensors() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert array_api_compat.array_namespace(x, tg.ones(2), 1.0) is tg
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.is_writeable_array(x)
    assert not array_api_compat.is_lazy_array(x)
    assert array_api_compat.size(x) == 4
    assert array_api_compat.device(x) == "cpu"
    assert array_api_compat.to_device(x, "cpu") is x


def _standardised(x: Any) -> Any:
    """A function as its authors write it for any library."""
    xp = array_api_compat.array_namespace(x)
    x = xp.astype(xp.asarray(x), xp.float64, copy=False)
    centred = x - xp.mean(x, axis=0, keepdims=True)
    scale = xp.std(x, axis=0, correction=1, keepdims=True)
    return xp.where(scale > 0, centred / scale, xp.zeros_like(centred))


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit], ids=["eager", "replayed"])
def test_functions_for_any_library_are_differentiated(prepare: Any) -> None:
    x = np.array([[1.0, 4.0], [2.0, 4.0], [4.0, 4.0]])
    np.testing.assert_allclose(tg.jit(_standardised)(x), _standardised(x))
    f = prepare(lambda x: tg.sum(_standardised(x)[0, :] ** 2))
    tg.check_grads(f, (x + np.array([[0.0, 0.1], [0.0, 0.5], [0.0, 0.0]]),), order=1)
    np.testing.assert_array_equal(tg.grad(f)(x)[:, 1], 0.0)


def test_einops_takes_tensors() -> None:
    x = tg.tensor(np.arange(12.0).reshape(2, 2, 3))
    parts = einops.array_api.rearrange(x, "a b c -> (a c) b")
    means = einops.array_api.reduce(x * x, "a b c -> a c", "mean")
    assert einops.array_api.repeat(means, "a c -> a 4 c").shape == (2, 4, 3)
    assert parts.shape == (6, 2)
    (tg.sum(parts) + tg.sum(means)).backward()
    np.testing.assert_allclose(x.grad, 1 + x.data)


INF, NAN = math.inf, math.nan
# What the standard asks for; where an operand is infinite and the other finite it lets libraries follow Python.
FLOOR_DIVISIONS = [
    (NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, INF, NAN), (INF, -INF, NAN), (-INF, INF, NAN), (-INF, -INF, NAN),
    (0.0, 0.0, NAN), (0.0, -0.0, NAN), (-0.0, 0.0, NAN), (-0.0, -0.0, NAN),
    (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0),
    (2.0, 0.0, INF), (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (-2.0, -0.0, INF),
    (3.0, INF, 0.0), (-3.0, -INF, 0.0), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0), (-7.0, -2.0, 3.0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floor_division_is_the_standards_and_numpys(dtype: str) -> None:
    x, y, expected = (np.array(column, dtype) for column in zip(*FLOOR_DIVISIONS, strict=True))
    values = np.array([*np.unique(x[~np.isnan(x)]), -0.0, 1e-300, NAN], dtype)
    pairs = [np.array(column, dtype) for column in zip(*itertools.product(values, repeat=2), strict=True)]
    for both, wanted in (((x, y), expected), (pairs, np.floor_divide(*pairs))):
        divided = [
            tg.floor_divide(*map(tg.tensor, both)).data, tg.jit(tg.floor_divide)(*both),
            tg.vmap(tg.floor_divide)(*both), tg.jit(lambda x, y: x // y)(*both),
        ]  # fmt: skip
        for found in divided:
            np.testing.assert_array_equal(found, wanted, strict=True)
            np.testing.assert_array_equal(np.signbit(found)[wanted == 0], np.signbit(wanted)[wanted == 0])
