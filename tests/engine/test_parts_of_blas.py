"""Large calls of BLAS in parts: their results, what they leave alone, and where there are none."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine import kernel_table, threads
from tapegrad.engine.codegen.store import cache, openblas
from tapegrad.engine.kernels.language.library import PARTS, entry
from tapegrad.engine.runtime import library_loops
from tapegrad.engine.sweep.binding.control_fields import ALONE_UNTIL, BLAS_LIMIT, POOL, THREADS
from tapegrad.engine.sweep.threading.pool import GENERATION

needs_parts = pytest.mark.skipif(
    openblas.threads() < 2, reason="BLAS is not SciPy's OpenBLAS, or has one thread"
)
FUNCTIONS: dict[str, tuple[Callable, Callable, list[tuple[int, ...]]]] = {
    "wide": (lambda n, a, b: a @ b, lambda a, b: a @ b, [(70, 100), (100, 401)]),
    "tall": (lambda n, a, b: a.T @ b, lambda a, b: a.T @ b, [(100, 401), (100, 70)]),
    "vector": (lambda n, a, b: a @ b, lambda a, b: a @ b, [(900, 700), (700,)]),
    "solution": (
        lambda n, a, b: n.linalg.solve(_definite(a), b),
        lambda a, b: np.linalg.solve(_definite(a), b),
        [(140, 140), (140, 130)],
    ),
    "cholesky": (
        lambda n, a: n.linalg.cholesky(_definite(a)),
        lambda a: np.linalg.cholesky(_definite(a)),
        [(530, 530)],
    ),
    "lu": (lambda n, a, b: n.linalg.solve(a, b), np.linalg.solve, [(530, 530), (530,)]),
}


def _definite(a):
    return a @ a.T + 600 * np.eye(len(a), dtype=a.dtype)


def _arguments(shapes: list[tuple[int, ...]], dtype: type = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.fixture
def pool() -> Iterator[Callable[[int, int], None]]:
    """Set the number of threads, and that of parts; both are put back."""
    f = tg.jit(lambda a, b: tg.linalg.solve(a, b) @ b)
    for dtype in (np.float64, np.float32):  # loads the functions of parts
        f(np.eye(20, dtype=dtype), np.ones((20, 20), dtype))
    tg.linalg.cholesky(np.eye(20))
    control, table = kernel_table._control, library_loops._table
    before = control.copy(), table.copy()

    def choose(several: int, parts: int) -> None:
        control[[THREADS, ALONE_UNTIL]] = several, 0
        for name in PARTS:
            table[2 * entry(name) + 1] = parts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "allowed", lambda: 3)
        control[POOL] = threads.start(kernel_table._thread())[1]
        control[BLAS_LIMIT] = 0
        yield choose
    control[:], table[:] = before


def launches() -> int:
    return threads.field(int(kernel_table._control[POOL]) + GENERATION)


@needs_parts
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_right_and_do_not_depend_on_the_number_of_threads(name, pool) -> None:
    """Bit for bit, eager and replayed; in no parts, and in as many as there are threads, and more."""
    ours, theirs, shapes = FUNCTIONS[name]
    arguments = _arguments(shapes)
    expected, f = theirs(*arguments), tg.jit(lambda *args: ours(tg, *args))
    for parts in (0, 2, 5):
        pool(1, parts)
        alone, before = f(*arguments), launches()
        np.testing.assert_allclose(alone, expected, rtol=1e-9, atol=1e-9)
        for several in (2, 3):
            pool(several, parts)
            np.testing.assert_array_equal(f(*arguments), alone)
            eager = ours(tg, *[tg.tensor(x) for x in arguments])
            np.testing.assert_array_equal(eager.numpy(), alone)
        assert launches() > before or parts == 0


@needs_parts
def test_single_precision_and_the_reverse_sweep(pool) -> None:
    a, b = _arguments([(300, 128), (128, 200)], np.float32)
    f = tg.value_and_grad(tg.jit(lambda a, b: tg.sum(tg.sin(a @ b))), (0, 1))
    pool(3, 4)
    value, (a_bar, b_bar) = f(a, b)
    y_bar = np.cos(a @ b)
    assert value.dtype == np.float32
    np.testing.assert_allclose(a_bar, y_bar @ b.T, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(b_bar, a.T @ y_bar, rtol=2e-3, atol=1e-3)


@needs_parts
def test_failures_are_told_of_factors_in_blocks(pool) -> None:
    pool(2, 2)
    a = np.eye(530)
    a[400, 400] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        tg.linalg.cholesky(a)
    a[400, 400] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        tg.linalg.solve(a, np.ones(530))


@needs_parts
def test_scipys_own_threads_are_left_as_they_are(pool) -> None:
    shared, private = openblas._shared(), openblas._instance()
    before = shared[openblas._THREADS]()
    assert openblas.address("dgemm") not in (0, openblas._symbol(shared, "scipy_dgemm_"))
    pool(2, 2)
    tg.jit(lambda a: a @ a)(np.ones((256, 256)))
    assert shared[openblas._THREADS]() == before == openblas.threads()
    assert private[openblas._THREADS]() == 1


@needs_parts
def test_a_lower_setting_of_scipys_threads_is_heeded(pool) -> None:
    """As of the programs that limit the threads of all libraries for a time."""
    pool(2, 2)
    kernel_table._control[BLAS_LIMIT] = openblas.thread_counter()
    shared, a = openblas._shared(), np.ones((256, 256))
    f, limit = tg.jit(lambda a: a @ a), shared["scipy_openblas_set_num_threads"]
    many = shared[openblas._THREADS]()
    f(a)
    try:
        limit(1)
        before = launches()
        f(a)
        assert launches() == before
    finally:
        limit(many)
    kernel_table._control[ALONE_UNTIL] = 0
    f(a)
    assert launches() > before


# --- where there is no private instance ------------------------------------------------------------------------------


class _OneThread:
    """A library whose calls take one thread."""

    def __getitem__(self, name: str) -> Callable[[], int]:
        return lambda: 1


def test_there_is_none_without_the_file_of_a_wheel(monkeypatch) -> None:
    monkeypatch.setattr(openblas, "_file", lambda: None)
    assert openblas._shared.__wrapped__() is None
    monkeypatch.setattr(openblas, "_shared", lambda: None)
    assert openblas._instance.__wrapped__() is None


def test_there_is_none_where_scipys_own_has_one_thread(monkeypatch) -> None:
    monkeypatch.setattr(openblas, "_shared", _OneThread)
    monkeypatch.setattr(openblas, "_file", lambda: Path("library"))
    assert openblas._instance.__wrapped__() is None


def test_without_one_functions_are_scipys_and_calls_are_whole(monkeypatch) -> None:
    monkeypatch.setattr(openblas, "_instance", lambda: None)
    assert openblas.address("dgemm") == 0
    assert openblas.threads.__wrapped__() == 1


def test_a_file_that_is_no_library_is_not_loaded(tmp_path) -> None:
    damaged = tmp_path / "libscipy_openblas-0.so"
    damaged.write_bytes(b"damaged")
    assert not hasattr(os, "RTLD_DEEPBIND") or openblas._load(damaged) is None


def test_the_copy_is_made_once_and_not_used_if_others_may_write_to_it(tmp_path, monkeypatch) -> None:
    library, folder = tmp_path / "libscipy_openblas-0.so", tmp_path / "cache"
    library.write_bytes(b"contents")
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "folder", lambda: folder)
    copy = openblas._copy(library)
    assert copy is not None
    assert copy.read_bytes() == b"contents"
    assert list(folder.iterdir()) == [copy]
    before = copy.stat().st_ino
    assert openblas._copy(library) == copy
    assert copy.stat().st_ino == before
    if hasattr(os, "geteuid"):
        copy.chmod(0o666)
        assert openblas._copy(library) is None
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert openblas._copy(library) is None
