"""`jit(f, as_arrays=True)`: programs that look at the class of their arguments, and C code that takes no Tensors."""

import collections.abc
import copy
import ctypes
import functools
import hashlib
import io
import math
import numbers
import pickle
import struct
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.spatial
from scipy import sparse

import tapegrad as tg

X = np.array([1.0, 2.0])
as_arrays = functools.partial(tg.jit, as_arrays=True)


@functools.singledispatch
def registered(x: Any) -> str:
    return "unknown"


registered.register(np.ndarray, lambda x: "array")
registered.register(float, lambda x: "number")


def matched(x: Any) -> str:
    match x:
        case np.ndarray():
            return "array"
        case float():
            return "number"
    return "unknown"


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "ndarray": lambda x: isinstance(x, np.ndarray),
    "element": lambda x: isinstance(x[0], float | int),
    "sum": lambda x: isinstance(np.sum(x * 2), np.floating),
    "computed": lambda x: isinstance(np.exp(x)[::2], np.ndarray),
    "class": lambda x: (x.__class__, x[0].__class__),
    "Number": lambda x: (isinstance(x[0], numbers.Real), isinstance(x, numbers.Number)),
    "isscalar": lambda x: (np.isscalar(x[0]), np.isscalar(x)),
    "match": lambda x: (matched(x), matched(x[0])),
    "singledispatch": lambda x: (registered(x), registered(x[0])),
    "others": lambda x: (isinstance(x, list | tuple | dict | str), callable(x), isinstance(x[0], bool)),
    "abc": lambda x: (isinstance(x, collections.abc.Sequence), isinstance(x, collections.abc.Iterable)),
    "boolean": lambda x: isinstance(x[0] > 0, np.bool_),
    "integer": lambda x: isinstance(np.argmax(x), np.integer),
    "float32": lambda x: isinstance(x.astype(np.float32)[0], np.float32),
    "complex": lambda x: isinstance((x * 1j)[0], complex),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_answers_are_those_of_arrays(question: Callable[[Any], Any]) -> None:
    answers = []

    def f(x: Any) -> Any:
        answers.append(question(x))
        return np.sum(x**2)

    recorded = as_arrays(f)
    transforms = (
        recorded,
        tg.grad(recorded),
        tg.jit(tg.grad(recorded)),
        tg.hessian(recorded),
        tg.vmap(recorded),
    )
    for transform in transforms:
        transform(np.stack([X, X]) if transform is transforms[-1] else X)
    recorded(tg.tensor(X, constant=True))
    assert len(answers) >= 4
    assert set(answers) == {question(X)}


def by_class(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return 0.0 * np.sum(x)
    total = sum(v**2 if isinstance(v, float) else 0.0 for v in x)
    return total * SETTINGS["scale"] + np.sum(np.asarray(DATA) * x)


SETTINGS, DATA = {"scale": 1.0}, np.array([1.0, 2.0])


def test_a_program_by_class_has_its_derivatives() -> None:
    f = as_arrays(by_class)
    assert f(X) == by_class(X)
    tg.check_grads(f, (X,), order=2)
    np.testing.assert_allclose(
        tg.jacobian(as_arrays(lambda x: x**2 if isinstance(x, np.ndarray) else x))(X), np.diag(2 * X)
    )


def test_captured_state_is_watched_through_it() -> None:
    f = as_arrays(by_class)
    for scale, data in ((1.0, 3.0), (2.0, 3.0), (2.0, 5.0)):
        SETTINGS["scale"], DATA[0] = scale, data
        assert f(X) == by_class(X)


def test_it_is_copied_pickled_compiled_and_jitted_again() -> None:
    f = as_arrays(by_class)
    for again in (
        pickle.loads(pickle.dumps(f)),
        copy.deepcopy(f),
        tg.jit(f, fuse=False),
        as_arrays(tg.jit(by_class)),
    ):
        assert again(X) == by_class(X)
    assert tg.compile(f, X)(X) == by_class(X)
    assert (tg.jit(f) is f, repr(f)) == (True, "jit(by_class)")


def test_tensors_stay_tensors_elsewhere() -> None:
    """Outside of the function, in other threads, to libraries that know them, and by their type."""
    elsewhere: list[bool] = []

    def ask(t: Any) -> None:
        elsewhere.append(isinstance(t, np.ndarray))

    def inner(x: Any) -> Any:
        thread = threading.Thread(target=ask, args=(x,))
        thread.start()
        thread.join()
        elsewhere.append(type(x) is np.ndarray)
        assert isinstance(x, tg.Tensor)
        return np.sum(x)

    def outer(x: Any) -> Any:
        y = as_arrays(inner)(x)
        ask(x)
        return y

    tg.jit(outer)(X)
    tg.grad(outer)(X)
    with pytest.raises(LookupError):
        as_arrays(lambda x: {}[1])(X)
    ask(tg.tensor(X))
    assert elsewhere
    assert not any(elsewhere)


@numba.njit
def total(x: Any) -> Any:
    return x.sum()


@numba.vectorize
def twice(x: Any) -> Any:
    return 2 * x


# Code in C that takes memory or numbers: whatever it would read, it is refused.
READERS: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda x: np.asarray(x),
    "array": lambda x: np.array(x) > 0,
    "list": lambda x: np.array([x[0], x[1]]),
    "memoryview": lambda x: memoryview(x),
    "bytes": lambda x: bytes(x),
    "tobytes": lambda x: x.tobytes(),
    "data": lambda x: x.data,
    "ctypes": lambda x: x.ctypes,
    "as_ctypes": lambda x: np.ctypeslib.as_ctypes(x),
    "ndpointer": lambda x: np.ctypeslib.ndpointer(float).from_param(x),
    "from_buffer": lambda x: (ctypes.c_double * 2).from_buffer_copy(x),
    "interface": lambda x: x.__array_interface__,
    "struct of array": lambda x: x.__array_struct__,
    "frombuffer": lambda x: np.frombuffer(x[:1]),
    "fromiter": lambda x: np.fromiter(x, float),
    "hash of bytes": lambda x: hashlib.md5(x),
    "pickle": lambda x: pickle.dumps(x),
    "save": lambda x: np.save(io.BytesIO(), x),
    "struct": lambda x: struct.pack("d", x[0]),
    "float": lambda x: float(x[0]),
    "math": lambda x: math.sqrt(x[0]),
    "hex": lambda x: x[0].hex(),
    "descriptor": lambda x: np.ndarray.sum(x),
    "njit": lambda x: total(x),
    "vectorize": lambda x: twice(x),
    "typeof": lambda x: numba.typeof(x).dtype,
    "solve": lambda x: scipy.linalg.solve(np.eye(2), x),
    "lapack": lambda x: scipy.linalg.lapack.dpotrf(x[:, None] * x),
    "blas": lambda x: scipy.linalg.blas.ddot(x, x),
    "interp1d": lambda x: scipy.interpolate.interp1d(x, x),
    "lfilter": lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x),
    "KDTree": lambda x: scipy.spatial.KDTree(x[None]),
    "random": lambda x: np.random.default_rng(0).normal(x),
    "write": lambda x: np.zeros(2).__setitem__(slice(None), x),
    "write an element": lambda x: np.zeros(2).__setitem__(0, x[0]),
    "masked": lambda x: np.ma.masked_invalid(x),
    "matrix": lambda x: np.matrix(x),
    "nditer": lambda x: list(np.nditer(x)),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_no_memory_is_read_in_the_place_of_a_tensor(read: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError, struct.error)):
        as_arrays(lambda x: read(x))(X)


@pytest.mark.parametrize(
    "read",
    [
        lambda pandas, x: pandas.isna(x),
        lambda pandas, x: pandas.isna(x[0]),
        lambda pandas, x: pandas.Series(x),
    ],
)
def test_no_memory_is_read_by_pandas(read: Callable[[Any, Any], Any]) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises((TypeError, ValueError)):
        as_arrays(lambda x: read(pandas, x))(X)


def test_scipys_protocols_are_those_of_tensors() -> None:
    s = sparse.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    f = as_arrays(lambda x: np.sum(s @ x) + np.sum(s * x) + np.sum((x[0] * s) @ x))
    tg.check_grads(f, (X,))
