"""Dense Jacobians and Hessians whose columns share tangents: the same numbers as by a tangent of each column."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import NEW_SEEDS, random_seeds
from tapegrad.engine.inspection.tape_view import copied
from tapegrad.program.archive import container
from tapegrad.program.programs.compressed_columns import CompressedJacobianProgram
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces import trace as traces
from tapegrad.pytree import flatten

N = 48
X = np.linspace(0.5, 1.5, N)
LIST = np.array([3, 0, 3, 7, 23, 5, 1, 2, 9, 9, 10, 11, 20, 21, 22, 19])
STENCIL = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=(-1, 0, 1), shape=(N, N)).tocsr()


def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def filled(x):
    y = tg.zeros(N)
    y[1:] = x[:-1] ** 2
    y[::3] += x[::3]
    y[2] = 1.0
    return y


def laplacian(x):
    u = tg.pad(tg.reshape(x, (6, 8)), 1)
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] * u[1:-1, :-2] - 4 * tg.exp(u[1:-1, 1:-1])


SPARSE = {
    "neighbours": lambda x: x[1:] * x[:-1],
    "listed": lambda x: x[LIST] ** 2,
    "parts": lambda x: tg.concatenate([x * 2, tg.sin(x[::2]), np.ones(2)]),
    "matrix": lambda x: STENCIL @ x + 0.1 * tg.exp(x),
    "means": lambda x: tg.mean(tg.reshape(x, (24, 2)), axis=1),
    "filled": filled,
    "in two dimensions": laplacian,
    "few results": lambda x: x[:16] * x[32:],
    "some columns alone": lambda x: tg.sin(x[4:20]),
    "gradient": tg.grad(rosenbrock),
    "single precision": lambda x: tg.exp(x[1:].astype(np.float32)) * 2,
    "roots": lambda x: tg.where(x > 1, tg.sqrt(x - 1), 0.0) * x[::-1],
}
DENSE = {
    "products": lambda x: x * tg.sum(x),
    "all before": tg.cumsum,
    "one dense row": lambda x: tg.concatenate([x**2, [tg.sum(tg.sin(x))]]),
    "a constant": lambda x: np.ones(N),
    "of an integer": lambda x: tg.floor(x),
}


def shares(jacobian, *args):
    """Return whether columns of a Jacobian share tangents."""
    program = tg.compile(jacobian, args, fuse=False).handle.specializations[0].program
    return isinstance(program, CompressedJacobianProgram)


@pytest.fixture
def by_columns(monkeypatch):
    """Return a function that computes a derivative with a tangent of each column."""

    def computed(make, *args):
        with monkeypatch.context() as patched:
            patched.setattr(traces, "_MIN_SWEEPS", 10**9)
            return make()(*args)

    return computed


@pytest.mark.parametrize("mode", ["auto", "forward"])
@pytest.mark.parametrize("name", SPARSE)
def test_entries_are_bit_for_bit_those_of_single_columns(name, mode, by_columns):
    function = SPARSE[name]
    jacobian = tg.jacobian(tg.jit(function, fuse=False), mode=mode)
    for x in (X, np.where(X > 1.2, np.inf, X[::-1] - 1)):
        expected = by_columns(lambda: tg.jacobian(tg.jit(function, fuse=False), mode="forward"), x)
        found = jacobian(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert shares(jacobian, X)


def test_segments_compute_the_same():
    for function in (tg.grad(rosenbrock), laplacian):
        rows, segments = (tg.jacobian(tg.jit(function, fuse=fuse)) for fuse in (False, True))
        for x in (X, X - 1):
            np.testing.assert_array_equal(segments(x), rows(x))


@pytest.mark.parametrize("name", DENSE)
def test_dense_jacobians_have_a_tangent_of_each_column(name):
    jacobian = tg.jacobian(tg.jit(DENSE[name]))
    np.testing.assert_allclose(jacobian(X), tg.jacobian(DENSE[name], mode="reverse")(X), rtol=1e-14)
    assert not shares(jacobian, X)


def test_reverse_sweeps_stay_reverse_sweeps():
    assert not shares(tg.jacrev(tg.jit(SPARSE["neighbours"])), X)


@random_seeds(0, 24, 6)
def test_random_programs(seeds, monkeypatch):
    """Jacobians of random programs, with columns that share tangents wherever two can, and without."""
    sharing = 0
    for seed in seeds:
        sample, found = Sample(seed), []
        for fewest in (2, 10**9):
            monkeypatch.setattr(traces, "_MIN_SWEEPS", fewest)
            jacobian = tg.jacobian(tg.jit(sample.vector, fuse=False), EVERY, mode="forward")
            found.append(jacobian(*sample.inputs))
            sharing += shares(jacobian, *sample.inputs)
        for shared, alone in zip(*found, strict=True):
            np.testing.assert_array_equal(shared, alone, err_msg=str(sample))
    assert sharing > 0 or seeds.start >= NEW_SEEDS


# --- among other transforms --------------------------------------------------------------------------------------


def test_hessians_of_structures_and_of_several_arguments(by_columns):
    def of_structure(p):
        return rosenbrock(tg.concatenate([p["a"], p["b"]])) + tg.sum(p["a"] * p["b"])

    def of_two(x, y):
        return rosenbrock(x) + tg.sum(x[1:] * y[:-1]) ** 1 + tg.sum(y**3)

    point = {"a": X[:24], "b": X[24:]}
    for function, argnums, args in (
        (of_structure, 0, (point,)),
        (of_two, (0, 1), (X, X + 1)),
        (of_two, 1, (X, X)),
    ):
        make = partial(tg.hessian, tg.jit(function), argnums)
        found, expected = tg.hessian(function, argnums)(*args), by_columns(make, *args)
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_array_equal(a, b)
        assert shares(make(), *args)


def test_auxiliary_results():
    found, aux = tg.hessian(tg.jit(lambda x: (rosenbrock(x), {"n": 5, "x": x * 2})), has_aux=True)(X)
    np.testing.assert_array_equal(found, tg.hessian(tg.jit(rosenbrock))(X))
    assert aux["n"] == 5
    np.testing.assert_array_equal(aux["x"], X * 2)


def test_compiled_functions_and_files(tmp_path):
    hessian = tg.hessian(tg.jit(rosenbrock))
    compiled = tg.compile(hessian, X)
    compiled.save(tmp_path / "hessian.tape")
    loaded = tg.load(tmp_path / "hessian.tape")
    for made in (compiled, loaded):
        assert isinstance(made.handle.specializations[0].program, CompressedJacobianProgram)
        for x in (X, X - 1):
            np.testing.assert_array_equal(made(x), hessian(x))


def test_instances_of_vmap():
    hessian = tg.hessian(tg.jit(rosenbrock))
    xs = X + np.linspace(-1, 1, 37)[:, None]
    expected = np.stack([hessian(x) for x in xs])
    np.testing.assert_array_equal(tg.vmap(hessian)(xs), expected)
    single = tg.vmap(tg.jacobian(tg.jit(SPARSE["single precision"])))(xs)
    np.testing.assert_array_equal(single[5], tg.jacobian(SPARSE["single precision"])(xs[5]))
    both = tg.vmap(tg.jacobian(tg.jit(lambda x, a: a * x[1:] * x[:-1]), (0, 1)), (0, None))(xs, 2.0)
    np.testing.assert_array_equal(both[0][3], tg.jacobian(lambda x: 2.0 * x[1:] * x[:-1])(xs[3]))
    np.testing.assert_array_equal(both[1], xs[:, 1:] * xs[:, :-1])


def test_derivatives_of_hessians():
    gradient = tg.grad(lambda x: tg.sum(tg.hessian(rosenbrock)(x) ** 2))(X)
    values = tg.hessian(rosenbrock, sparse=True).values
    np.testing.assert_allclose(gradient, tg.grad(lambda x: tg.sum(values(x) ** 2))(X), rtol=1e-12)


# --- what replays may change -------------------------------------------------------------------------------------


def test_lists_and_matrices_that_a_closure_changes():
    listed, matrix, weights = LIST.copy(), STENCIL.copy(), np.arange(1.0, N + 1)
    taken = tg.jacobian(tg.jit(lambda x: x[listed] ** 2))
    product = tg.jacobian(tg.jit(lambda x: matrix @ x))
    scaled = tg.jacobian(tg.jit(lambda x: weights * x[::-1]))
    for _ in range(3):
        np.testing.assert_array_equal(taken(X), np.eye(N)[listed] * (2 * X))
        np.testing.assert_array_equal(product(X), matrix.toarray())
        np.testing.assert_array_equal(scaled(X), (weights[:, None] * np.eye(N)[::-1]))
        listed[:] = (listed + 5) % N
        matrix.indices[:] = (matrix.indices + 1) % N
        weights[:] = weights[::-1] + 1


def test_lists_that_are_arguments_may_name_any_column():
    jacobian = tg.jacobian(tg.jit(lambda x, rows: x[rows] ** 2))
    for rows in (LIST, LIST[::-1].copy()):
        np.testing.assert_array_equal(jacobian(X, rows), np.eye(N)[rows] * (2 * X))


def test_each_branch_has_its_columns():
    def branch(x):
        return x[1:] * x[:-1] if x[0] > 0 else tg.cumsum(x)[1:]

    jacobian = tg.jacobian(tg.jit(branch))
    for x in (X, -X, X + 1):
        np.testing.assert_array_equal(jacobian(x), tg.jacobian(branch)(x))


def test_recordings_stay_as_they_are():
    recorded = tg.jit(tg.grad(rosenbrock))
    recorded(X)
    trace = recorded.run(recorded.arguments((X,), {}), ProgramSpec())[0]
    before = copied(trace.recording)
    found = trace.shared_columns((0,), N)
    assert found.count == 3
    np.testing.assert_array_equal(copied(trace.recording), before)


# --- damaged files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("colours", lambda a: a[:-1]),
        ("colours", lambda a: np.where(a == 1, N, a)),
        ("entries", lambda a: a - 1),
        ("entries", lambda a: a + np.array([N, 0])),
        ("entries", lambda a: a + np.array([0, 1])),
        ("entries", lambda a: a[:, :1]),
        ("entries", lambda a: a.ravel()),
    ],
)
def test_damaged_columns_are_refused(name, change, tmp_path):
    tg.compile(tg.hessian(rosenbrock), X, fuse=False).save(tmp_path / "hessian.tape")
    header, arrays = container.read((tmp_path / "hessian.tape").read_bytes())
    arrays[f"way0.{name}"] = np.ascontiguousarray(change(arrays[f"way0.{name}"]))
    (tmp_path / "damaged.tape").write_bytes(container.written(header, arrays))
    with pytest.raises(ValueError, match="damaged"):
        tg.load(tmp_path / "damaged.tape")


def test_columns_without_a_tangent_are_zeros(tmp_path):
    """Entries of a file that name a colour that does not reach the result."""
    tg.compile(tg.jacobian(SPARSE["some columns alone"]), X, fuse=False).save(tmp_path / "jacobian.tape")
    header, arrays = container.read((tmp_path / "jacobian.tape").read_bytes())
    arrays["way0.colours"] = np.where(np.arange(N) == 0, 1, arrays["way0.colours"])
    arrays["way0.entries"] = np.concatenate([[[0, 0]], arrays["way0.entries"][1:]])
    (tmp_path / "changed.tape").write_bytes(container.written(header, arrays))
    expected = tg.jacobian(SPARSE["some columns alone"])(X)
    expected[0] = 0
    np.testing.assert_array_equal(tg.load(tmp_path / "changed.tape")(X), expected)
