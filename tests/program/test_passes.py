"""What passes do to a recording: dead code, lifetimes, the workspace, and what a replay does not do: allocate."""

import gc
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from helpers.daily import examples
from helpers.memory import resident_bytes
from tapegrad.ops import CODES
from tapegrad.program.passes.dead_code import eliminate_dead_code
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.memory_plan import assign_offsets
from tapegrad.program.streams.spec import JACFWD, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace


def recorded(function, *args):
    return Trace(function, flatten_args(args, {}))


def rows(program):
    return len(program.forward.kernels), len(program.reverse.kernels)


def buffer_bytes(recording):
    return int(recording.column("bytes").sum())


# --- dead code --------------------------------------------------------------------------------------------------


def test_dead_code_is_removed():
    def function(x):
        tg.exp(x)  # nobody uses it
        y = tg.sin(x)
        for _ in range(20):
            y = y * x
        tg.sum(y @ y)
        return tg.sum(tg.cos(x))

    found = recorded(function, np.ones(3))
    assert rows(found.program(ProgramSpec())) == (2, 0)
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,)))) == (2, 2)


def test_guards_and_what_they_read_stay():
    def function(x):
        if tg.sum(x * x) > 1:
            tg.exp(x)
        return tg.sum(x)

    found = recorded(function, np.ones(3))
    assert rows(found.program(ProgramSpec()))[0] == 5  # multiply, sum, greater, guard; sum
    assert len(found.program(ProgramSpec(VALUE_AND_GRAD, (0,))).guards) == 1
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,))))[1] == 1


def test_overwritten_results_stay_only_where_they_are_read():
    def function(x):
        y = x * 2
        y[...] = 0.0
        y[0] = x[1]
        return tg.sum(y)

    assert tg.grad(tg.jit(function))(np.ones(3)).tolist() == [0, 1, 0]


def test_reverse_sweep_goes_only_where_a_gradient_is_wanted():
    def function(x, y):
        return tg.sum(tg.sin(tg.exp(x)) * tg.cos(tg.exp(tg.tanh(y))))

    found = recorded(function, np.ones(3), np.ones(3))
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,))))[1] == 4  # sum, multiply, sin, exp
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (1,))))[1] == 5
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0, 1))))[1] == 7


def test_constants_and_detached_values_have_no_reverse():
    found = recorded(lambda x: tg.sum(tg.sin(x.detach()) * x), np.ones(3))
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,))))[1] == 2
    found = recorded(lambda x: tg.sum(tg.ones(3) * 2), np.ones(3))
    assert rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,)))) == (2, 1)  # what is left is to write zeros


# --- common subexpressions --------------------------------------------------------------------------------------


def shares(x):
    a, b = tg.sin(x) * 2, tg.sin(x) * 2.0
    c, d = x * x[::-1], x[::-1] * x  # in the other order
    e, f = tg.sum(a, axis=0), tg.sum(b, axis=0)
    return tg.sum(a + b) + tg.sum(c * d) + e * f


def keeps(x):
    a, b = x[1:] * x[0], x[:-1] * x[0]  # other views
    c = tg.sin(x)
    c[0] = 1.0
    d = tg.sin(x)
    d[1] = 1.0
    e = tg.sin(x)
    rows = tg.sum(tg.reshape(x, (2, 2)), axis=0) + tg.sum(tg.reshape(x, (2, 2)), axis=1)
    return tg.sum(a + b) + tg.sum(c * d * e) + tg.sum(rows * np.arange(2.0)) + tg.sum(x[[0, 1]] - x[[1, 0]])


@pytest.mark.parametrize("function", [shares, keeps])
def test_sharing_changes_no_number(function, monkeypatch):
    x = np.random.default_rng(3).normal(size=4)
    shared = tg.value_and_grad(tg.jit(function))(x)
    monkeypatch.setattr("tapegrad.program.passes.PASSES", (eliminate_dead_code,))
    apart = tg.value_and_grad(tg.jit(function))(x)
    eager = tg.value_and_grad(function)(x)
    for other in (apart, eager):
        assert shared[0] == pytest.approx(other[0], rel=1e-14)
        np.testing.assert_allclose(shared[1], other[1], rtol=1e-13)


def test_what_is_computed_twice_is_computed_once(monkeypatch):
    found = recorded(shares, np.ones(4))
    once = rows(found.program(ProgramSpec(VALUE_AND_GRAD, (0,))))
    monkeypatch.setattr("tapegrad.program.passes.PASSES", (eliminate_dead_code,))
    twice = rows(recorded(shares, np.ones(4)).program(ProgramSpec(VALUE_AND_GRAD, (0,))))
    assert twice[0] - once[0] == 4  # sin, its double, the product, the sum
    assert once[1] < twice[1]


HELD = np.arange(6.0).reshape(2, 3) + 1


def names_an_array_twice(w):
    return tg.sum(tg.logaddexp(0.0, HELD @ w) - tg.sin(HELD @ w))


def names_views_alike_twice(w):
    return tg.sum(HELD[:, 1:] @ w[1:]) * tg.sum(tg.cos(HELD[:, 1:] @ w[1:]))


def names_views_that_differ(w):
    a, b = HELD[:, :2] @ w[:2], HELD[:, ::2] @ w[:2]  # the second begins at the same address
    c, d = HELD[::-1] @ w, HELD @ w[::-1]
    return tg.sum(a * b) + tg.sum(c * d)


@pytest.mark.parametrize(
    ("function", "products"),
    [(names_an_array_twice, 1), (names_views_alike_twice, 1), (names_views_that_differ, 4)],
)
def test_constants_of_one_array_are_one(function, products):
    w = np.array([0.3, -0.2, 0.5])
    found = recorded(function, w)
    columns = found.tape.columns
    assert np.count_nonzero(columns.op[columns.live] == CODES["matmul"]) == products
    replayed = tg.value_and_grad(tg.jit(function))
    try:
        for change in (0.0, 1.0, -3.0):
            HELD[:, 1] += change  # read where it lies
            value, gradient = tg.value_and_grad(function)(w)
            assert replayed(w)[0] == pytest.approx(value, rel=1e-14)
            np.testing.assert_allclose(replayed(w)[1], gradient, rtol=1e-13)
    finally:
        HELD[:, 1] += 2.0


GROUPS = np.array([0, 2, 2, 1, 0])


def test_rows_listed_alike_are_gathered_once():
    """Also by lists of two arrays, as long as these hold the same: a guard compares each."""
    other = GROUPS.copy()

    def function(w):
        again = tg.sum(tg.cos(w[GROUPS]) * w[other]) + tg.sum(w[[1, 0]])
        return tg.sum(tg.exp(w[GROUPS])) + again

    w = np.array([0.3, -0.2, 0.5])
    found = recorded(function, w)
    columns = found.tape.columns
    assert np.count_nonzero(columns.op[columns.live] == CODES["gather"]) == 2
    replayed = tg.value_and_grad(tg.jit(function))
    try:
        for changed in (None, other, GROUPS):
            if changed is not None:
                changed[1] = 0
            value, gradient = tg.value_and_grad(function)(w)
            assert replayed(w)[0] == pytest.approx(value, rel=1e-14)
            np.testing.assert_allclose(replayed(w)[1], gradient, rtol=1e-13)
    finally:
        GROUPS[1] = 2


def test_integers_that_are_data_stay_apart():
    first, second = np.arange(3), np.arange(3)
    f = tg.jit(lambda w: (tg.sum(w * first), tg.sum(w * second), tg.sum(w[first] * w[second])))
    w = np.array([0.3, -0.2, 0.5])
    f(w)
    second[:] = 0
    assert f(w)[:2] == (pytest.approx(w @ first), 0.0)
    assert f(w)[2] == pytest.approx(w @ w[second])


def test_writes_between_two_uses_of_an_array_are_seen():
    held = np.ones(3)

    def function(w, last):
        held[0] = 1.0
        first = tg.sin(w * held)
        held[0] = 5.0
        second = tg.sin(w * held)
        held[0] = last  # the contents at one of the uses, or others
        return first, second

    w = np.array([0.3, -0.2, 0.5])
    for last in (1.0, 5.0, 7.0):
        first, second = tg.jit(lambda w, last=last: function(w, last))(w)
        np.testing.assert_allclose(first, np.sin(w), rtol=1e-14)
        np.testing.assert_allclose(second, np.sin(w * [5.0, 1.0, 1.0]), rtol=1e-14)


def test_arguments_are_no_constants():
    held = np.array([0.3, -0.2, 0.5])
    f = tg.jit(lambda x: (tg.sin(x), tg.sin(x + 0.0 * held) * 1.0, tg.sum(x * x) - tg.sum(x * held)))
    for x in (held, np.ones(3)):
        _, _, difference = f(x)
        assert difference == pytest.approx(np.sum(x * x) - np.sum(x * held))


def test_systems_with_one_matrix_are_solved_by_one_factorisation():
    def function(a):
        return tg.sum(tg.linalg.solve(a, np.ones(3)) * tg.linalg.solve(a, np.arange(3.0)))

    assert (
        rows(recorded(function, np.eye(3)).program(ProgramSpec()))[0] == 5
    )  # lu; lu_solve twice; multiply, sum


def test_copies_are_dropped_but_for_results():
    found = recorded(lambda x: (tg.positive(tg.positive(x)) * 2, tg.positive(x)), np.ones(4))
    assert rows(found.program(ProgramSpec()))[0] == 2


def test_equal_results_have_arrays_of_their_own():
    f = tg.jit(lambda x: (tg.sin(x), tg.sin(x), x * 2))
    a, b, _ = f(np.ones(2))
    a[...] = 7
    assert b.tolist() == [np.sin(1.0)] * 2


def test_detached_values_are_not_the_same():
    def function(x):
        return tg.sum(tg.sin(x) * tg.sin(x.detach()))

    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(tg.grad(tg.jit(function))(x), np.cos(x) * np.sin(x), rtol=1e-14)


# --- dead primals -----------------------------------------------------------------------------------------------


def test_tangents_need_only_the_primals_that_they_read():
    found = recorded(lambda x: tg.sum(tg.exp(tg.sin(x) * 2) + 3), np.ones(3))
    assert rows(found.program(ProgramSpec(JVP, (0,), values=True)))[0] == 10
    # sin and its double for exp, whose tangent reads the result; not what is added to it, nor the sum
    assert rows(found.program(ProgramSpec(JVP, (0,))))[0] == 3 + 5


@pytest.mark.usefixtures("plain_memory")
def test_only_seeds_that_reach_an_instruction_are_carried():
    def model(b):
        t = np.linspace(0, 1, 1000)
        return b[0] * tg.exp(-b[1] * t) + b[2] * tg.sin(b[3] * t)

    found = recorded(model, np.ones(4))
    assert found.program(ProgramSpec(JACFWD, (0,))).bytes < 18 * 8000


# --- lifetimes --------------------------------------------------------------------------------------------------

END = 1 << 60
BLOCKS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 40), st.one_of(st.integers(0, 25), st.just(END))),
    max_size=60,
)


def placed(blocks):
    """Offset, bytes, first and last step of each block, and the bytes of all together."""
    bytes_, start, length = np.array(blocks, np.int64).reshape(-1, 3).T
    offsets, size = assign_offsets(bytes_, start, start + length)
    return list(zip(*(each.tolist() for each in (offsets, bytes_, start, start + length)), strict=True)), size


@examples(300)
@given(BLOCKS)
def test_no_two_blocks_in_use_overlap(blocks):
    found, size = placed(blocks)
    for k, (offset, bytes_, start, stop) in enumerate(found):
        assert offset >= 0
        assert offset % 64 == 0
        assert offset + bytes_ <= size
        for other, its_bytes, its_start, its_stop in found[k + 1 :]:
            together = start <= its_stop and its_start <= stop
            apart = offset + max(bytes_, 1) <= other or other + max(its_bytes, 1) <= offset
            assert apart or not together


@examples(100)
@given(BLOCKS)
def test_the_workspace_is_no_larger_than_all_blocks_and_no_smaller_than_what_lives_at_once(blocks):
    found, size = placed(blocks)
    assert size <= sum(-(-max(bytes_, 1) // 64) * 64 for _, bytes_, _, _ in found)
    for step in range(70):
        assert size >= sum(bytes_ for _, bytes_, start, stop in found if start <= step <= stop)


def test_a_chain_takes_turns_in_two_blocks():
    _, size = placed([(64, k, 1) for k in range(100)])
    assert size == 128


@pytest.mark.usefixtures("plain_memory")
def test_workspace_of_a_chain_is_small():
    def function(x):
        for _ in range(200):
            x = x + 1.5  # keeps nothing for the reverse sweep
        return tg.sum(x)

    found = recorded(function, np.ones(1000))
    assert buffer_bytes(found.recording) > 200 * 8000
    assert found.program(ProgramSpec()).bytes < 4 * 8000 + 1000
    assert found.program(ProgramSpec(VALUE_AND_GRAD, (0,))).bytes < 6 * 8000 + 1000

    def keeps(x):
        for _ in range(200):
            x = tg.sin(x)
        return tg.sum(x)

    found = recorded(keeps, np.ones(1000))
    assert found.program(ProgramSpec()).bytes < 4 * 8000 + 1000
    assert 200 * 8000 <= found.program(ProgramSpec(VALUE_AND_GRAD, (0,))).bytes < 206 * 8000


PASSED_ON = {
    "a chain": lambda x, b: tg.sin(x) + b[0] - 1.5 + b,
    "twice the same": lambda x, b: (lambda y: y + y)(tg.sin(x)),
    "read once more before": lambda x, b: (lambda y: y * y + tg.cos(y + b))(tg.sin(x)),
    "read once more behind": lambda x, b: (lambda y: (y + b) * tg.exp(y))(tg.sin(x)),
    "a sum that is read twice": lambda x, b: (lambda z: z * z + tg.exp(z))(tg.sin(x) + b * b),
    "a view": lambda x, b: (tg.sin(x).T + b) * x,
    "the second operand": lambda x, b: b * b + tg.sin(x) * b,
    "broadcast": lambda x, b: tg.sin(b) + tg.cos(x),
    "written to": lambda x, b: _written(tg.sin(x) + b, b) + tg.cos(b),
    "a part": lambda x, b: tg.concatenate([tg.sin(x) + b, x * b]),
}


def _written(y, b):
    y[0] = tg.exp(b)
    y += b
    return y


@pytest.mark.parametrize("name", PASSED_ON)
def test_cotangents_that_are_passed_on_are_those_of_eager_code(name):
    def function(x, b):
        y = PASSED_ON[name](x, b)
        return tg.sum(y * y)

    x, b = np.linspace(0.2, 1.7, 9).reshape(3, 3), np.array([0.3, -0.7, 1.1])
    eager, replayed = tg.grad(function, (0, 1)), tg.grad(tg.jit(function), (0, 1))
    for point in (x, x + 0.1):
        for found, wanted in zip(replayed(point, b), eager(point, b), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
    rows = tg.jacobian(tg.jit(lambda x: PASSED_ON[name](x, b)))(x)
    np.testing.assert_allclose(rows, tg.jacobian(lambda x: PASSED_ON[name](x, b))(x), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(("reuses", "additions"), [(lambda b: 0.0, 0), (lambda b: tg.sum(b * b), 1)])
def test_operands_share_the_cotangent_of_their_sum_if_it_stays_as_it_is(reuses, additions):
    """If one of them is added to, the rows of the sums copy as many cotangents as lie apart from it."""

    def function(x):
        a, b, c = tg.sin(x), tg.cos(x), tg.exp(x)
        kept = reuses(b)
        total = (a + b) + c
        return tg.sum(total * total) + kept

    x = np.linspace(0.1, 1.0, 30)
    found = Trace(function, flatten_args((x,), {}), False)
    reverse = found.program(ProgramSpec(VALUE_AND_GRAD, (0,))).reverse
    assert np.count_nonzero((reverse.op == CODES["add"]) & (reverse.elements > 1)) == additions
    expected = tg.grad(function)(x)
    for fuse in (False, True):
        np.testing.assert_array_equal(tg.grad(tg.jit(function, fuse=fuse))(x), expected)


def test_workspace_reused_at_random_gives_right_answers():
    """Blocks that are given up early and taken by others, with several results in flight."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        plan = rng.integers(0, 4, (40, 3))

        def function(x, plan=plan):
            values = [x, tg.sin(x), x[:2] * 2.0, tg.sum(x)]
            for kind, a, b in plan:
                p, q = values[-1 - a], values[-1 - b]
                if kind == 0:
                    values.append(tg.tanh(p) + tg.sum(q))
                elif kind == 1:
                    values.append(tg.sum(p) * tg.cos(q))
                elif kind == 2:
                    values.append(tg.concatenate([p.ravel()[:3], q.ravel()[:2]]) * 0.5)
                else:
                    values.append(tg.exp(-(p**2)))
            return tg.sum(values[-1]) + tg.sum(values[-2]) * tg.sum(values[-5])

        x = rng.normal(size=6)
        f, jac = tg.value_and_grad(tg.jit(function)), tg.jacobian(tg.jit(function))
        for _ in range(2):
            x = rng.normal(size=6)
            value, gradient = tg.value_and_grad(function)(x)
            assert f(x)[0] == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(f(x)[1], gradient, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(jac(x), gradient, rtol=1e-9, atol=1e-12)


# --- memory and length ------------------------------------------------------------------------------------------


def test_replays_allocate_nothing_that_stays():
    f = tg.value_and_grad(tg.jit(lambda x, n: tg.sum(tg.sin(x) * x[::-1]) if x[0] > 0 else tg.sum(x * n)))
    values, jacobian = tg.jit(lambda x: (x * 2, tg.sum(x))), tg.jacobian(tg.jit(lambda x: x * x))
    inputs = [np.linspace(1, 2, 50), np.linspace(-1, 2, 50)]

    def calls(count):
        for k in range(count):
            x = inputs[k % 2]
            f(x, 3.0)
            values(x)
            jacobian(x)

    calls(200)
    gc.collect()
    before = resident_bytes()
    tracemalloc.start()
    try:
        calls(10)
        start = tracemalloc.get_traced_memory()[0]
        calls(3000)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - start < 20_000
    finally:
        tracemalloc.stop()
    calls(7000)
    assert resident_bytes() - before < 10_000_000


@pytest.mark.usefixtures("plain_memory")
def test_a_recording_keeps_no_results():
    def function(x):
        for _ in range(20):
            x = x + 1.5
        return tg.sum(x)

    f = tg.value_and_grad(tg.jit(function))
    f(np.ones(3))
    gc.collect()
    before = resident_bytes()
    f(np.ones(1_000_000))
    gc.collect()
    assert resident_bytes() - before < 80_000_000  # of 160 MB


def test_ways_that_fail_allocate_nothing_that_stays():
    f = tg.value_and_grad(tg.jit(lambda x: x * 2 if x > 0 else x * 3))
    for k in range(200):
        f(float((-1) ** k))
    gc.collect()
    before = resident_bytes()
    for k in range(10_000):
        f(float((-1) ** k))
    gc.collect()
    assert resident_bytes() - before < 5_000_000


def test_plain_jacobians_leave_nothing_behind():
    def once():
        tg.jacobian(lambda x: tg.sin(x) * x[0])(np.ones(100))

    for _ in range(30):
        once()
    gc.collect()
    before = resident_bytes()
    for _ in range(300):
        once()
    gc.collect()
    assert resident_bytes() - before < 10_000_000


@pytest.mark.usefixtures("plain_memory")
@pytest.mark.parametrize("shape", [(), (3,)])
def test_twenty_thousand_instructions(shape):
    def function(x):
        y = x
        for _ in range(10_000):
            y = y * 0.999 + x
        return tg.sum(y)

    f = tg.value_and_grad(tg.jit(function))
    slope = (1 - 0.999**10_001) / (1 - 0.999)
    for value in (1.0, -2.0):
        x = np.full(shape, value)
        total, gradient = f(x)
        assert total == pytest.approx(slope * x.sum(), rel=1e-10)
        np.testing.assert_allclose(gradient, np.full(shape, slope), rtol=1e-10)
    assert tg.jit(function)(np.full(shape, 1.0)) == pytest.approx(slope * max(1, np.prod(shape)), rel=1e-10)


@pytest.mark.usefixtures("plain_memory")
def test_many_arguments_and_results():
    f = tg.jit(lambda xs: [x * 2 for x in xs])
    g = tg.grad(tg.jit(lambda xs: sum(tg.sum(x * k) for k, x in enumerate(xs))))
    xs = [np.full(2, float(k)) for k in range(300)]
    for _ in range(2):
        assert [y[0] for y in f(xs)] == [2.0 * k for k in range(300)]
        assert [y[1] for y in g(xs)] == list(range(300))
