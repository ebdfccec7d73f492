"""`vmap`: the same as a loop over instances, for every op, every transform, and every way that instances take."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import examples, random_seeds
from tapegrad.program.lanes.pool import LanePrograms
from tapegrad.program.streams.spec import FORWARD, ProgramSpec
from tapegrad.transforms.vmap import vmap as vmap_module
from tapegrad.transforms.vmap.vmap import Vmap

sys.path.insert(0, str(Path(__file__).parents[1] / "autodiff"))
from test_structural_rules import CASES, OTHERS

M = 3


@pytest.fixture
def by_lanes(monkeypatch):
    """No instance is computed by calling the function."""

    def refuse(*args):
        raise AssertionError("computed one by one")

    monkeypatch.setattr(Vmap, "_one_by_one", refuse)


def instances(arrays, axes):
    """The arguments of each instance."""
    count = next(x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None)
    return [
        [x if axis is None else np.take(x, i, axis) for x, axis in zip(arrays, axes, strict=True)]
        for i in range(count)
    ]


def check_like_a_loop(function, arrays, axes=None, tolerance=1e-10):
    """The leaves of the results are those of a loop, in value, shape and dtype."""
    axes = axes or (0,) * len(arrays)
    found = flat(tg.vmap(function, axes)(*arrays))
    each = [flat(function(*args)) for args in instances(arrays, axes)]
    for number, leaf in enumerate(found):
        expected = np.stack([np.asarray(leaves[number]) for leaves in each])
        assert (leaf.shape, leaf.dtype) == (expected.shape, expected.dtype)
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(leaf, expected, rtol=tolerance, atol=tolerance * scale)


def flat(value):
    """The leaves of a structure of tuples."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


# --- every op --------------------------------------------------------------------------------------------------------


def signless(name, function):
    """The function, or its square where the signs of singular vectors are those that a stack has."""
    return (lambda *xs: function(*xs) ** 2) if name == "svd" else function


STRUCTURAL = [
    pytest.param(signless(name, case[0]), case[1], id=f"{name}-{k}")
    for name, cases in {**CASES, **OTHERS}.items()
    for k, case in enumerate(cases)
    if k < 4 or name in ("write", "scatter_write", "matmul")
]


@pytest.mark.parametrize(("function", "shapes"), STRUCTURAL)
def test_every_structural_op_over_lanes(function, shapes, by_lanes):
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(0.5, 2, (M, *shape)) for shape in shapes]
    value = tg.jit(lambda *xs: tg.sum(tg.sin(function(*xs)) * 1.3))
    gradient = tg.value_and_grad(value, tuple(range(len(arrays))))
    check_like_a_loop(gradient, arrays)
    for k in range(len(arrays) if len(arrays) > 1 else 0):
        axes = tuple(0 if j == k else None for j in range(len(arrays)))
        shared = [x if axis == 0 else x[0] for x, axis in zip(arrays, axes, strict=True)]
        check_like_a_loop(gradient, shared, axes)  # by arguments with lanes and without
        check_like_a_loop(tg.value_and_grad(value, k), shared, axes)  # the others have no lanes at all


SINGLE = ("sum", "prod_reduce", "max_reduce", "cumsum", "matmul", "gather", "write", "embed")  # in float32


@pytest.mark.parametrize("name", CASES)
def test_tangents_and_jacobians_of_every_structural_op_over_lanes(name, by_lanes):
    function, shapes = signless(name, CASES[name][0][0]), CASES[name][0][1]
    dtype = "f4" if name in SINGLE else "f8"
    arrays = [np.random.default_rng(6).uniform(0.5, 2, (M, *shape)).astype(dtype) for shape in shapes]
    recorded = tg.jit(function)
    tolerance = 1e-3 if name in SINGLE else 1e-9
    for mode in ("forward", "reverse"):
        check_like_a_loop(tg.jacobian(recorded, mode=mode), arrays, tolerance=tolerance)
    check_like_a_loop(recorded, arrays, tolerance=tolerance)


COMPLEX = {
    "pairs in and out": (lambda x: (x.view(complex) ** 2 * (1 + 2j)).view(float), float),
    "analytic": (lambda z: z[::-1] * z + 1j * tg.exp(z), complex),
    "sizes": (lambda x: abs(tg.fft.fft(x[:, ::2])) ** 2, float),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", COMPLEX)
def test_jacobians_of_complex_functions_over_lanes(name, mode, by_lanes):
    function, dtype = COMPLEX[name]
    pairs = np.random.default_rng(6).uniform(0.5, 2, (M, 2, 4))
    derivative = tg.jacobian(tg.jit(function), mode=mode, holomorphic=dtype is complex)
    check_like_a_loop(derivative, [pairs.view(dtype)])


ELEMENTWISE = {
    "of two": lambda x, y: tg.hypot(x, y) * tg.arctan2(x, y) - x / y,
    "selected": lambda x, y: (
        tg.where(x > y, tg.log(x), tg.exp(y)) + tg.maximum(x, 1.2) * tg.clip(y, 0.6, 1.1)
    ),
    "special": lambda x, y: tg.special.erf(x) * tg.special.gammaln(y) + tg.expm1(x) ** y,
    "numbers": lambda x, y: tg.floor(x * 3) * y + tg.abs(x - y),
}


@pytest.mark.parametrize("function", ELEMENTWISE.values(), ids=ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_elementwise_ops_over_lanes(function, dtype, by_lanes):
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.5, 2, (5, 4)).astype(dtype) for _ in range(2))
    gradient = tg.value_and_grad(tg.jit(lambda x, y: tg.sum(function(x, y))), (0, 1))
    tolerance = 1e-12 if dtype == "f8" else 1e-5
    check_like_a_loop(gradient, [x, y], tolerance=tolerance)
    check_like_a_loop(gradient, [x, y[0]], (0, None), tolerance=tolerance)


@pytest.mark.parametrize("part", ["...", "1:", "[0, 2]", "imag"])
def test_writes_into_complex_arrays_that_all_instances_share(part, by_lanes):
    """The tangent of what is written over is the same for all instances; that of the new contents is not."""

    def f(x):
        w = x * (0.6 + 0.8j)
        if part == "imag":
            w.imag[1:] = x[1:] * x[1:]
        else:
            key = {"...": ..., "1:": slice(1, None), "[0, 2]": [0, 2]}[part]
            w[key] = (x * x)[key]
        return np.exp(w).real

    u, v = np.array([1.0, 0.5, -2.0]), np.array([0.3, -0.5, 1.0])
    points = np.array([[0.3, -0.4, 1.0], [0.5, 0.2, -0.7], [0.1, 0.9, -0.7]])

    def first(x):
        return tg.jvp(f, (x,), (u,))[1]

    for function in (
        first,
        lambda x: tg.jvp(first, (x,), (v,))[1],
        lambda x: tg.hvp(lambda y: np.sum(f(y)))(x, v),
    ):
        check_like_a_loop(tg.jit(function), [points])


@random_seeds(0, 32, 2)
def test_random_programs_over_lanes(seeds, by_lanes):
    """Programs with views and in-place writes, by arguments with lanes and without."""
    for seed in seeds:
        sample = Sample(seed, 10 + seed % 15)
        axes = [(0, 0, 0), (0, None, 0), (None, 0, 0), (0, 0, None)][seed % 4]
        arrays = [
            np.asarray(sample.rng.uniform(-1, 1, np.shape(x) if axis is None else (M, *np.shape(x))))
            for x, axis in zip(sample.inputs, axes, strict=True)
        ]
        recorded = tg.jit(sample.number)
        check_like_a_loop(tg.value_and_grad(recorded, EVERY), arrays, axes, 1e-9)
        check_like_a_loop(tg.jacfwd(recorded, axes.index(0)), arrays, axes, 1e-9)


# --- transforms ------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


POINTS = np.random.default_rng(2).standard_normal((150, 6))  # more than a block, and not a multiple of it


@pytest.mark.parametrize("fuse", [False, True])
def test_value_and_gradient_of_more_than_a_block(fuse, by_lanes):
    f = tg.jit(rosenbrock, fuse=fuse)
    check_like_a_loop(f, [POINTS])
    check_like_a_loop(tg.grad(f), [POINTS])
    check_like_a_loop(tg.value_and_grad(f), [POINTS])


def test_products_with_hessians_and_directions_that_all_share(by_lanes):
    product = tg.hvp(tg.jit(rosenbrock))
    check_like_a_loop(product, [POINTS[:9], POINTS[1:10]])
    check_like_a_loop(product, [POINTS[:9], POINTS[0]], (0, None))
    check_like_a_loop(product, [POINTS[0], POINTS[:9]], (None, 0))


def test_hessians(by_lanes):
    check_like_a_loop(tg.hessian(tg.jit(rosenbrock)), [POINTS[:9]])


def test_a_jacobian_has_zeros_where_a_result_does_not_depend_on_an_argument(by_lanes):
    f = tg.jit(lambda p, t: tg.concatenate([p[:1] * tg.exp(-t), tg.sin(t) * p[1]]))
    arrays = [POINTS[:9, :3], POINTS[:9, 3:]]
    check_like_a_loop(tg.jacfwd(f, (0, 1)), arrays)
    check_like_a_loop(tg.jacrev(f, (0, 1)), arrays)


def test_instances_that_fill_the_cache_by_themselves():
    x = np.random.default_rng(8).standard_normal((3, 40_000))
    check_like_a_loop(tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x) * x[::-1]))), [x])
    check_like_a_loop(tg.jacfwd(tg.jit(lambda x: tg.sin(x) * x[0])), [x[:, :300]])


def test_results_beside_the_value(by_lanes):
    f = tg.jit(lambda x: (rosenbrock(x), (tg.cumsum(x), x[0] > 0)))
    check_like_a_loop(tg.value_and_grad(f, has_aux=True), [POINTS[:9]])
    g = tg.jit(lambda x: (x**2, tg.sum(x)))
    check_like_a_loop(tg.jacobian(g, has_aux=True), [POINTS[:9]])


def test_jvp_inside_of_the_function(by_lanes):
    check_like_a_loop(lambda x, v: tg.jvp(rosenbrock, (x,), (v,)), [POINTS[:5], POINTS[5:10]])


def test_vmap_of_vmap():
    f = tg.jit(lambda a, b: tg.sum(tg.sin(a) * b))
    a, b = POINTS[:3], POINTS[3:7]
    table = tg.vmap(tg.vmap(f, (None, 0)), (0, None))(a, b)
    np.testing.assert_allclose(table, np.sin(a) @ b.T, rtol=1e-12)


@pytest.mark.parametrize("count", [4, 20])  # by the function's instructions, and as one instruction
def test_derivatives_of_all_orders_through_vmap(count):
    x, w = POINTS[:count], POINTS[-1]
    f = tg.jit(lambda x, w: tg.sum(tg.sin(x) * w**3))
    inner = tg.vmap(f, (0, None))

    def loss(w):
        return tg.sum(inner(x, w) ** 2)

    def by_hand(w):
        return tg.sum(tg.sum(tg.sin(x) * w**3, 1) ** 2)

    def third(function):
        return tg.grad(lambda w: tg.sum(tg.grad(lambda w: tg.sum(tg.grad(function)(w) ** 2))(w)))

    for whole in (loss, tg.jit(loss)):
        for transform in (tg.grad, tg.hessian, third):
            expected = transform(by_hand)(w)
            tolerance = 1e-11 * np.abs(expected).max()
            np.testing.assert_allclose(transform(whole)(w), expected, rtol=1e-9, atol=tolerance)
        np.testing.assert_allclose(tg.hvp(whole)(w, x[0]), tg.hvp(by_hand)(w, x[0]), rtol=1e-9, atol=1e-9)
        along = tg.jvp(whole, (w,), (x[0],))
        np.testing.assert_allclose(along, tg.jvp(by_hand, (w,), (x[0],)), rtol=1e-10)
    np.testing.assert_allclose(
        tg.jacobian(lambda w: inner(x, w))(w), tg.jacobian(lambda w: tg.sum(tg.sin(x) * w**3, 1))(w)
    )


def test_gradients_through_structures_integers_and_ways_of_their_own():
    x, k, scale = POINTS[:20], np.arange(20) % 6, 2.0

    def function(p, k):
        part = p["x"][k] * p["scale"]
        return {"a": part if p["x"][0] > 0 else tg.exp(part), "b": (tg.sum(p["x"]),)}

    def loss(over, x, scale):
        found = over({"x": x, "scale": scale}, k)
        return tg.sum(found["a"] ** 2) + tg.sum(found["b"][0] ** 3)

    def loop(p, k):
        each = [function({"x": x, "scale": p["scale"]}, i) for x, i in zip(p["x"], k, strict=True)]
        return {"a": tg.stack([e["a"] for e in each]), "b": (tg.stack([e["b"][0] for e in each]),)}

    over = tg.vmap(tg.jit(function), ({"x": 0, "scale": None}, 0))
    for wrap in (tg.jit, lambda f: f):
        found = tg.grad(wrap(lambda x, s: loss(over, x, s)), (0, 1))(x, scale)
        expected = tg.grad(lambda x, s: loss(loop, x, s), (0, 1))(x, scale)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)


def test_gradients_through_gradients_of_instances():
    f = tg.jit(lambda x, w: tg.sum(tg.sin(x * w)))
    x, w = POINTS[:12], POINTS[-1]
    over = tg.vmap(tg.grad(f, 1), (0, None))
    found = tg.grad(lambda w: tg.sum(over(x, w) ** 2))(w)
    np.testing.assert_allclose(found, tg.grad(lambda w: tg.sum((x * tg.cos(x * w)) ** 2))(w), rtol=1e-10)


@pytest.mark.parametrize("count", [4, 20])
def test_gradients_of_tensors_that_the_function_closes_over(count):
    x, w = POINTS[:count], tg.tensor(POINTS[-1])
    expected = 2 * POINTS[-1] * x.sum(0)

    def loss(w):
        return tg.sum(tg.vmap(lambda x: tg.sum(x * w**2))(x))

    loss(w).backward()
    np.testing.assert_allclose(w.grad, expected, rtol=1e-12)
    np.testing.assert_allclose(tg.grad(loss)(POINTS[-1]), expected, rtol=1e-12)
    np.testing.assert_allclose(tg.grad(tg.jit(loss))(POINTS[-1]), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@pytest.mark.parametrize("count", [4, 20])
def test_tensors_as_arguments(count):
    x = tg.tensor(POINTS[:count])
    tg.sum(tg.vmap(tg.jit(rosenbrock))(x)).backward()
    np.testing.assert_allclose(x.grad, tg.vmap(tg.grad(tg.jit(rosenbrock)))(POINTS[:count]), rtol=1e-10)


# --- guards ----------------------------------------------------------------------------------------------------------


def test_instances_take_ways_of_their_own(by_lanes):
    def function(x):
        if tg.sum(x) > 0:
            return tg.sum(x**3)
        if x[0] > 0.5:
            return tg.prod(x)
        return tg.sum(tg.exp(x))

    recorded = tg.jit(function)
    check_like_a_loop(recorded, [POINTS])
    check_like_a_loop(tg.value_and_grad(recorded), [POINTS])


def test_what_would_fail_on_another_way_does_not_disturb(by_lanes):
    """A Cholesky factor that an instance on another way does not have stops nobody."""

    def function(a, b):
        if a[0, 0] > 0:
            return tg.sum(tg.linalg.cholesky(a) @ b)
        return tg.sum(a @ b)

    rng = np.random.default_rng(3)
    a = rng.standard_normal((40, 3, 3))
    a = a @ a.swapaxes(1, 2) + np.eye(3)
    a[rng.random(40) < 0.3] *= -1
    check_like_a_loop(tg.value_and_grad(tg.jit(function), (0, 1)), [a, rng.standard_normal((40, 3))])


@pytest.mark.filterwarnings("ignore:.*a guard failed:tapegrad.RecordingWarning")
def test_each_instance_on_a_way_of_its_own():
    recorded = tg.jit(lambda x: x * int(tg.sum(x)))
    check_like_a_loop(recorded, [np.arange(80.0).reshape(40, 2)])


def test_the_instance_that_has_an_error_raises_it():
    a = np.stack([np.eye(2)] * 200)
    a[[77, 150]] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match=r"singular.*\(vmap: instance 77 of 200\)"):
        tg.vmap(tg.jit(tg.linalg.inv))(a)


def test_an_error_in_some_lanes_stops_no_others():
    """Results of a block are those of its other lanes, whichever and however many fail."""
    rng = np.random.default_rng(11)
    recorded = tg.jit(lambda a: tg.linalg.cholesky(a * a[0, 0]))
    example = recorded.arguments((np.eye(2),), {})
    trace, _ = recorded.run(example, ProgramSpec(FORWARD))
    programs = LanePrograms(trace, ProgramSpec(FORWARD), (True,))
    for failing in ([], [0], [99], [3, 4, 5, 80], list(range(1, 100)), list(range(100))):
        a = np.stack([np.eye(2) * (1 + k % 5) for k in rng.permutation(100)])
        a[failing] = -np.eye(2)
        a[failing, 0, 0] = 1.0
        (results,), failed = programs.run([a.copy()], 100)
        assert np.flatnonzero(failed).tolist() == failing
        good = ~failed
        np.testing.assert_allclose(results[good], np.linalg.cholesky((a * a[:, :1, :1])[good]))


def test_arrays_of_closures_are_read_again():
    t = np.array([1.0, 2.0])
    f = tg.vmap(tg.jit(lambda x: tg.sum(x * t)))
    np.testing.assert_array_equal(f(np.ones((3, 2))), 3.0)
    t[:] = [5.0, 5.0]
    np.testing.assert_array_equal(f(np.ones((3, 2))), 10.0)


def test_calls_that_look_the_same_see_what_has_changed():
    scale, shift = 2.0, np.array([1.0, 1.0])

    def function(x, w):
        return tg.sum((x * w + shift) * scale) if x[0] < 5 else tg.sum(w)

    over = tg.vmap(tg.value_and_grad(tg.jit(function)), (0, None))
    for w in (np.array([1.0, 2.0]), np.array([3.0, -1.0]), np.array([1.0, 2.0])[::-1]):
        for x in (POINTS[:10, :2], POINTS[10:20, :2], 3 * POINTS[:10, :2] + 3):
            value, gradient = over(x, w)
            own = x[:, 0] < 5
            np.testing.assert_allclose(
                value, np.where(own, ((x * w + shift) * scale).sum(1), w.sum()), rtol=1e-12
            )
            np.testing.assert_allclose(gradient, np.where(own[:, None], scale * w, 0.0), rtol=1e-12)
        scale += 1.0
        shift[:] += 0.5


# --- within a recording ----------------------------------------------------------------------------------------------


@pytest.fixture
def no_python(monkeypatch):
    """Instances within a recording are instructions of it, and no function of Python's is called."""

    def refuse(*args):
        raise AssertionError("computed by Python")

    monkeypatch.setattr(vmap_module, "over_tensors", refuse)
    monkeypatch.setattr(Vmap, "_one_by_one", refuse)


BY_PYTHON = {"custom", "correlate"}  # functions, and a sum over shifts


@pytest.mark.parametrize("name", sorted({*CASES, *OTHERS} - BY_PYTHON))
def test_instances_are_instructions_of_the_recording(name, no_python):
    function, shapes = {**CASES, **OTHERS}[name][0]
    rng, count = np.random.default_rng(5), 5
    arrays = [rng.uniform(0.5, 2, (count, *shape)) for shape in shapes]
    places = tuple(range(len(arrays)))

    def value(*xs):
        return tg.sum(tg.sin(signless(name, function)(*xs).astype("f8")) * 1.3)

    for axes in {(0,) * len(arrays), (0, *(None,) * (len(arrays) - 1)), (*(None,) * (len(arrays) - 1), 0)}:
        given = [x if axis == 0 else x[0] for x, axis in zip(arrays, axes, strict=True)]
        whole = tg.jit(lambda *xs, axes=axes: tg.sum(tg.cos(tg.vmap(value, axes)(*xs))))
        found = tg.value_and_grad(whole, places)(*given)

        def loop(*xs, axes=axes):
            parts = [[x[i] if a == 0 else x for x, a in zip(xs, axes, strict=True)] for i in range(count)]
            return sum(tg.cos(value(*part)) for part in parts)

        for one, other in zip(flat(found), flat(tg.value_and_grad(loop, places)(*given)), strict=True):
            tolerance = 1e-9 if name != "cast_f32" else 1e-5
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def written(z):
    z = z.copy()
    z[1:] *= z[0]
    z.imag[0] = z[1].real
    return z


COMPLEX_INSTANCES = {
    "analytic": lambda z, w: z * tg.exp(z) / w,
    "parts": lambda z, w: z.real * w + 1j * z.imag,
    "a part alone": lambda z, w: z.imag * 2.0,
    "conjugate": lambda z, w: tg.conj(z) * z * w,
    "absolute": lambda z, w: abs(z) + tg.angle(w),
    "sums": lambda z, w: tg.sum(z) * w[0],
    "elements": lambda z, w: z[0] * w[::-1],
    "as floats": lambda z, w: z.view(z.real.dtype) * w.view(z.real.dtype),
    "of floats": lambda z, w: (z.real.repeat(2).view(z.dtype) + w) * z,
    "constant": lambda z, w: z * np.array([1 + 2j, 3.0, 1j]) + w,
    "matrix": lambda z, w: np.array([[1, 2j, 0], [3, 4.0, 1j]]) @ z * w[:2],
    "transform": lambda z, w: tg.fft.fft(z) * tg.fft.ifft(w),
    "solved": lambda z, w: tg.linalg.solve(tg.outer(z, w) + 3 * np.eye(3), w),
    "written": lambda z, w: written(z) * w,
    "selected": lambda z, w: tg.where(z.real > 0, z, w * 1j),
    "real arguments": lambda z, w: tg.exp(1j * z.real) * tg.arange(3.0),
}


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", COMPLEX_INSTANCES)
def test_complex_instances_are_instructions_of_the_recording(name, dtype, no_python):
    function, rng, count = COMPLEX_INSTANCES[name], np.random.default_rng(8), 5
    z, w = rng.standard_normal((2, count, 3, 2)).astype(np.finfo(dtype).dtype).view(dtype)[..., 0]

    def size(y):
        return tg.sum(abs(y) ** 2) + tg.sum(tg.sin(y.real))

    for axes, operands in (((0, 0), (z, w)), ((0, None), (z, w[0])), ((None, 0), (z[0], w))):
        whole = tg.jit(lambda z, w, axes=axes: size(tg.vmap(function, axes)(z, w)))

        def loop(z, w, axes=axes):
            return sum(size(function(z if axes[0] is None else z[k], w if axes[1] is None else w[k]))
                       for k in range(count))  # fmt: skip

        close = {"rtol": 1e-9, "atol": 1e-9} if dtype is np.complex128 else {"rtol": 2e-3, "atol": 2e-3}
        for transform in (tg.value_and_grad, tg.jit):
            found, expected = (
                transform(each, (0, 1)) if transform is tg.value_and_grad else transform(each)
                for each in (whole, loop)
            )
            for one, other in zip(flat(found(*operands)), flat(expected(*operands)), strict=True):
                np.testing.assert_allclose(one, other, **close)


def test_recorded_instances_are_differentiated_and_compiled_like_anything_recorded(no_python, tmp_path):
    x, w = POINTS[:20], POINTS[-1]
    f = tg.jit(lambda x, w: tg.sum(tg.sin(x) * w**3))

    def loss(w):
        return tg.sum(tg.vmap(f, (0, None))(x, w) ** 2) + tg.sum(tg.vmap(tg.grad(f), (0, None))(x, w))

    def by_hand(w):
        return tg.sum(tg.sum(tg.sin(x) * w**3, 1) ** 2) + tg.sum(tg.cos(x) * w**3)

    expected = tg.grad(by_hand)(w)
    for gradient in (tg.grad(tg.jit(loss)), tg.jit(tg.grad(loss)), tg.compile(tg.grad(loss), w)):
        np.testing.assert_allclose(gradient(w), expected, rtol=1e-12)
        np.testing.assert_allclose(gradient(2 * w), tg.grad(by_hand)(2 * w), rtol=1e-12)
    tg.compile(tg.grad(loss), w).save(tmp_path / "gradient.tape")
    np.testing.assert_allclose(tg.load(tmp_path / "gradient.tape")(w), expected, rtol=1e-12)
    np.testing.assert_allclose(tg.hessian(tg.jit(loss))(w), tg.hessian(by_hand)(w), rtol=1e-9, atol=1e-9)
    rows = tg.vmap(tg.grad(tg.jit(loss)))(POINTS[:9])  # lanes of what has lanes within
    np.testing.assert_allclose(rows, [tg.grad(by_hand)(w) for w in POINTS[:9]], rtol=1e-11)


SECOND = (
    "scatter_write",
    "lu_solve",
    "solve_triangular",
    "solve_banded",
    "exchange_rows",
    "gather",
    "matmul",
    "qr",
    "logsumexp",
)


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_recorded_instances(name, no_python):
    function, shapes = CASES[name][0]
    rng, count = np.random.default_rng(5), 5
    arrays = [rng.uniform(0.5, 2, (count, *shape)) for shape in shapes]

    def value(*xs):
        return tg.sum(tg.sin(function(*xs)) * 1.3)

    def loop(*xs):
        return sum(tg.cos(value(*[x[i] for x in xs])) for i in range(count))

    whole = tg.jit(lambda *xs: tg.sum(tg.cos(tg.vmap(value)(*xs))))
    for k, x in enumerate(arrays):
        direction = np.cos(np.arange(x.size)).reshape(x.shape)
        expected = tg.hvp(tg.jit(loop), k)(*arrays, direction)
        np.testing.assert_allclose(tg.hvp(whole, k)(*arrays, direction), expected, rtol=1e-8, atol=1e-8)


def test_numbers_of_rows_that_each_recorded_instance_has(no_python):
    x = POINTS[:12]

    def function(x, k):
        taken = x[k] + tg.sum(x[tg.argsort(x)[:2]]) * tg.take(x, k - 5)
        x[1:2] = taken * 2
        return x * tg.max(x), k + 1

    over = tg.jit(lambda x, k: tg.vmap(function)(x, k))
    for k in (np.arange(12) % 6, np.full(12, -1), np.arange(12)[::-1] % 5):
        rows, numbers = over(x, k[:, None])
        each = [tg.jit(function)(row, np.array([i])) for row, i in zip(x, k, strict=True)]
        np.testing.assert_allclose(rows, [one for one, _ in each], rtol=1e-13)
        np.testing.assert_array_equal(numbers, k[:, None] + 1)
    for k in (np.array([*range(5), 6] * 2), np.array([*range(5), -7] * 2)):
        with pytest.raises(IndexError):
            over(x, k[:, None])  # and not a row of the next instance


def test_ways_of_recorded_instances():
    """All on one way are instructions, also on another one than before; on several ways they are an op of Python's."""
    function = tg.vmap(lambda x: tg.sum(x**2) if x[0] > 0 else tg.sum(tg.exp(x)))
    recorded = tg.jit(lambda x: function(x) * 2)
    x = np.abs(POINTS[:20]) + 0.1
    for _ in range(2):
        for points in (x, -x, POINTS[:20]):
            expected = np.where(points[:, 0] > 0, (points**2).sum(1), np.exp(points).sum(1))
            np.testing.assert_allclose(recorded(points), 2 * expected, rtol=1e-13)


def test_what_recorded_instances_share_is_guarded_once_and_is_not_written(no_python):
    x, flag = POINTS[:9], np.array([1.0])
    recorded = tg.jit(lambda x, flag: tg.vmap(lambda row: row[0] if flag[0] > 0 else row[1])(x))
    np.testing.assert_array_equal(recorded(x, flag), x[:, 0])
    np.testing.assert_array_equal(recorded(x, -flag), x[:, 1])

    def writes(x):
        total = tg.zeros(6) + x[0]

        def add(row):
            total[:] = total + row
            return tg.sum(total)

        return tg.vmap(add)(x)

    with pytest.raises(tg.UnsupportedError, match="writes in place to a Tensor that it closes over"):
        tg.jit(writes)(x)


@pytest.mark.parametrize("instance", [lambda c: (c, c), lambda c: (np.sin(c), c), lambda c: (np.exp(c),) * 2])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_results_of_recorded_instances_are_written_to_as_stacked_arrays(instance, shape):
    """They lie in C order, so that `ravel` is a view of them, and share no memory."""

    def f(x):
        first, second = tg.vmap(instance)(x)
        total = np.sum(x)
        constant = tg.vmap(lambda c: total)(x)
        flat = np.ravel(first)
        first *= -0.4
        constant[0] = 2.0
        return np.sum(flat**2) + np.sum(np.sin(second) * x) + np.sum(constant * second.T)

    x = np.linspace(-0.8, 1.1, np.prod(shape)).reshape(shape)
    value, slope = tg.jvp(f, (x,), (np.cos(x),))
    recorded = tg.value_and_grad(tg.jit(f))(x)
    assert recorded[0] == pytest.approx(value, rel=1e-14)
    assert np.sum(recorded[1] * np.cos(x)) == pytest.approx(slope, rel=1e-13)


def test_guards_of_recorded_instances_are_asked_in_the_order_of_the_function(no_python):
    """A way is not given up for a guard that only another way has."""
    calls = []

    def function(row, flags):
        calls.append(1)
        if row[0] > 0:
            return row[0] if flags[0] > 0 else row[1]
        return row[2] if flags[1] > 0 else row[3]

    recorded = tg.jit(lambda x, flags: tg.vmap(function, (0, None))(x, flags))
    x = np.abs(POINTS[:9])
    for points, flags, column in ((x, [1.0, 1.0], 0), (-x, [1.0, 1.0], 2), (-x, [-1.0, 1.0], 2)):
        np.testing.assert_array_equal(recorded(points, np.array(flags)), points[:, column])
    assert len(calls) == 2


def test_an_error_of_a_recorded_instance():
    a = np.stack([np.eye(2)] * 20)
    recorded = tg.jit(lambda a: tg.vmap(tg.linalg.inv)(a))
    np.testing.assert_array_equal(recorded(a), a)
    a[7] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        recorded(a)
    with pytest.raises(np.linalg.LinAlgError):
        tg.jit(lambda a: tg.vmap(tg.linalg.inv)(a))(a)


# --- no instances ----------------------------------------------------------------------------------------------------


def test_no_instances_have_results_of_the_shapes_of_others():
    f = tg.jit(lambda a, k, w: {"x": (tg.linalg.inv(a) @ w)[k], "n": k, "c": 1.5})
    for over in (tg.vmap(f, (0, 0, None)), tg.jit(tg.vmap(f, (0, 0, None)))):
        found = over(np.zeros((0, 3, 3)), np.zeros(0, np.int64), np.ones((3, 2)))
        looks = {key: (value.shape, value.dtype) for key, value in found.items()}
        assert looks == {"x": ((0, 2), "f8"), "n": ((0,), "i8"), "c": ((0,), "f8")}
    assert tg.vmap(tg.value_and_grad(tg.jit(rosenbrock)), out_axes=(0, 1))(np.zeros((0, 6)))[1].shape == (
        6,
        0,
    )

    def loss(w):
        return tg.sum(tg.vmap(lambda x: tg.sum(x * w))(np.zeros((0, 6)))) + tg.sum(w)

    np.testing.assert_array_equal(tg.grad(loss)(POINTS[0]), np.ones(6))
    np.testing.assert_array_equal(tg.grad(tg.jit(loss))(POINTS[0]), np.ones(6))
    with pytest.raises(ValueError, match="has an error for an instance that is made up"):
        tg.vmap(lambda x: x[5])(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="there is no instance that has one"):
        tg.vmap(tg.sin, out_axes=None)(np.zeros((0, 3)))


def test_no_instances_for_compiled_code():
    h = tg.compile(lambda x: tg.vmap(tg.jit(rosenbrock))(x), np.zeros((0, 6)))
    assert h(np.zeros((0, 6))).shape == (0,)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    pointer = h.cfunc("void(const double *x, double *y, void *user)")
    call(pointer.address)(None, None, pointer.user_data)


# --- axes and structures ---------------------------------------------------------------------------------------------


@examples(25)
@given(st.data())
def test_axes_in_and_out(data):
    """Any axes of two arguments, one of them in a structure, and of the results."""
    axes = [data.draw(st.sampled_from([None, 0, 1, 2, -1, -3])) for _ in range(2)]
    if axes == [None, None]:
        axes[0] = 1
    out = data.draw(st.sampled_from([0, 1, -1]))
    count, rng = data.draw(st.integers(1, 5)), np.random.default_rng(7)
    arrays = [rng.standard_normal((2, 3)) for _ in axes]
    arrays = [
        x if axis is None else np.stack([x + k for k in range(count)], axis)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    function = tg.jit(lambda x, p: {"sum": x * p["y"], "sines": (tg.sin(x), tg.sum(p["y"], 0))})
    found = tg.vmap(function, (axes[0], {"y": axes[1]}), out)(arrays[0], {"y": arrays[1]})
    each = [function(x, {"y": y}) for x, y in instances(arrays, axes)]
    np.testing.assert_array_equal(found["sum"], np.stack([leaf["sum"] for leaf in each], out))
    for k in range(2):
        np.testing.assert_allclose(
            found["sines"][k], np.stack([leaf["sines"][k] for leaf in each], out), rtol=1e-14
        )


def test_keyword_arguments_are_mapped_over_their_first_axis():
    f = tg.jit(lambda x, *, scale: x * scale)
    np.testing.assert_array_equal(
        tg.vmap(f)(np.ones((3, 2)), scale=np.arange(3.0)), np.arange(3.0)[:, None] * np.ones(2)
    )


def test_results_that_are_the_same_for_all():
    f = tg.jit(lambda x: (tg.sum(x), np.array([1.0, 2.0]), None))
    value, constant, nothing = tg.vmap(f, out_axes=(0, None, 0))(np.ones((3, 2)))
    np.testing.assert_array_equal(value, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(constant, [1.0, 2.0])
    assert nothing is None
    with pytest.raises(ValueError, match="out_axes is None for a result that differs"):
        tg.vmap(f, out_axes=None)(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(tg.vmap(lambda x: 4.0)(np.ones((3, 2))), [4.0, 4.0, 4.0])
    recorded = tg.jit(lambda x: tg.vmap(lambda x: x[0] * 2, out_axes=None)(x))
    assert recorded(np.ones((9, 2))) == 2
    with pytest.raises(ValueError, match="out_axes is None for a result that differs"):
        recorded(np.arange(18.0).reshape(9, 2))  # which a replay sees


def test_integers_and_booleans():
    f = tg.jit(lambda x, k, on: (x[k], k, tg.where(on, x, 0.0)))
    x = np.arange(12.0).reshape(3, 4)
    k, on = np.array([0, 2, 3], np.int32), np.array([True, False, True])
    element, number, kept = tg.vmap(f)(x, k, on)
    np.testing.assert_array_equal(element, [0.0, 6.0, 11.0])
    np.testing.assert_array_equal(number, k)
    assert number.dtype == np.int32
    np.testing.assert_array_equal(kept, x * on[:, None])


@pytest.mark.parametrize(
    ("axes", "arguments", "message"),
    [
        (0, (np.ones((3, 2)), np.ones(2)), "differ in length"),
        ((None, None), (np.ones(2), np.ones(2)), "maps over no array"),
        ((0,), (np.ones(2), np.ones(2)), "does not fit 2 positional arguments"),
        ((0, 0), (np.ones(2), 1.0), "has no axis to map over"),
        ((0, 3), (np.ones(2), np.ones((2, 2))), r"argument 1 of shape \(2, 2\) has no axis 3"),
        (((0, 0), 0), (np.ones(2), np.ones(2)), "does not fit a value"),
    ],
)
def test_axes_that_do_not_fit(axes, arguments, message):
    with pytest.raises(ValueError, match=message):
        tg.vmap(tg.jit(lambda x, y: x * y), axes)(*arguments)


def test_what_is_no_axis_and_no_function():
    with pytest.raises(TypeError, match="in_axes='x'; it must be an integer"):
        tg.vmap(tg.sin, "x")
    with pytest.raises(TypeError, match="vmap takes a function"):
        tg.vmap(3)
    with pytest.raises(TypeError, match="argument 1 is static"):
        tg.vmap(tg.jit(lambda x, n: x * n, static_argnums=1))(np.ones(2), np.array([1, 2]))
    with pytest.raises(ValueError, match="out_axes has the axis 2"):
        tg.vmap(tg.jit(tg.sum), out_axes=2)(np.ones((2, 2)))


# --- threads ---------------------------------------------------------------------------------------------------------


def test_blocks_on_several_threads_give_the_same():
    x = np.random.default_rng(4).standard_normal((9000, 6))
    f = tg.vmap(tg.value_and_grad(tg.jit(rosenbrock)))
    value, gradient = f(x)
    parts = [f(part) for part in np.split(x, 90)]
    np.testing.assert_array_equal(value, np.concatenate([part[0] for part in parts]))
    np.testing.assert_array_equal(gradient, np.concatenate([part[1] for part in parts]))
