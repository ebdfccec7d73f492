"""`backward(create_graph=True)`, hooks, `stop_gradient` and `detect_anomaly`: what each of them promises."""

import gc
import weakref

import numpy as np
import pytest

import tapegrad as tg
from helpers.memory import leaving_nothing, live
from tapegrad.frontend.tensor.attachments import attachments
from tapegrad.frontend.tensor.modes import EAGER

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def nothing_left():
    """Whatever a test does, afterwards the tape is as it was."""
    with leaving_nothing():
        yield


def cubes(x):
    return tg.sum(x**3)


# --- gradients that are Tensors ----------------------------------------------------------------------------------


def test_grad_is_a_tensor_that_can_be_differentiated():
    x = tg.tensor(X)
    cubes(x).backward(create_graph=True)
    gradient = x.grad
    assert isinstance(gradient, tg.Tensor)
    assert not gradient.constant
    assert gradient.shape == x.shape
    assert gradient.dtype == x.dtype
    np.testing.assert_allclose(gradient.data, 3 * X**2)
    x.null_grad()
    gradient.sum().backward()
    assert isinstance(x.grad, np.ndarray)
    np.testing.assert_allclose(x.grad, 6 * X)
    gradient.null_grad()


def test_up_to_the_fourth_order():
    x = tg.tensor(2.0)
    y = x**5
    for expected in (80.0, 160.0, 240.0, 240.0):
        y.backward(create_graph=True)
        y = x.grad
        x.null_grad()
        assert y.item() == pytest.approx(expected, rel=1e-14)
    gc.collect()


def test_gradients_of_other_tensors():
    x = tg.tensor(X)
    y = tg.sin(x)
    z = tg.sum(y * x)
    z.backward(create_graph=True)
    np.testing.assert_allclose(z.grad.data, 1.0)
    np.testing.assert_allclose(y.grad.data, X)
    assert y.grad.constant is x.constant
    for t in (x, y, z):
        t.null_grad()


def test_float32_stays():
    x = tg.tensor(X.astype("f4"))
    cubes(x).backward(create_graph=True)
    assert x.grad.dtype == np.float32
    gradient = x.grad
    x.null_grad()
    gradient.backward()
    assert x.grad.dtype == np.float32
    gradient.null_grad()


@pytest.mark.parametrize("order", [(False, True), (True, False), (True, True), (False, False)], ids=str)
def test_accumulates_with_gradients_of_either_kind(order):
    x = tg.tensor(X)
    for create_graph in order:
        cubes(x).backward(create_graph=create_graph)
    gradient = x.grad
    assert isinstance(gradient, tg.Tensor if any(order) else np.ndarray)
    np.testing.assert_allclose(getattr(gradient, "data", gradient), 6 * X**2)
    if any(order):
        x.null_grad()
        gradient.backward()
        np.testing.assert_allclose(x.grad, 6 * X * sum(order))
        gradient.null_grad()
    x.null_grad()


@pytest.mark.parametrize("order", [(False, True), (True, False), (True, True)], ids=str)
def test_accumulate_false_replaces_either_kind(order):
    x = tg.tensor(X)
    for create_graph in order:
        cubes(x).backward(create_graph=create_graph, accumulate=False)
    gradient = x.grad
    assert isinstance(gradient, tg.Tensor if order[-1] else np.ndarray)
    np.testing.assert_allclose(getattr(gradient, "data", gradient), 3 * X**2)
    x.null_grad()


def test_accumulate_false_leaves_others_alone():
    x, other = tg.tensor(X), tg.tensor(X)
    (cubes(x) + cubes(other)).backward(create_graph=True)
    cubes(x).backward(accumulate=False)
    np.testing.assert_allclose(x.grad, 3 * X**2)
    np.testing.assert_allclose(other.grad.data, 3 * X**2)
    other.null_grad()


def test_inputs():
    x, y = tg.tensor(X), tg.tensor(X + 1)
    z = x * y
    tg.sum(z * x).backward(create_graph=True, inputs=[x])
    assert y.grad is None
    assert z.grad is None
    np.testing.assert_allclose(x.grad.data, 2 * X * (X + 1))
    gradient = x.grad
    x.null_grad()
    gradient.backward(inputs=y)
    np.testing.assert_allclose(y.grad, 2 * X)
    assert x.grad is None


def test_inputs_in_the_interior():
    x = tg.tensor(X)
    y = x**2
    tg.sum(y**3).backward(create_graph=True, inputs=y)
    assert x.grad is None
    gradient = y.grad
    np.testing.assert_allclose(gradient.data, 3 * X**4)
    y.null_grad()
    gradient.backward(inputs=x)
    np.testing.assert_allclose(x.grad, 12 * X**3)


def test_inputs_that_are_views():
    x = tg.tensor(X)
    view = x[1:]
    cubes(x).backward(create_graph=True, inputs=view)
    np.testing.assert_allclose(view.grad.data, 3 * X[1:] ** 2)
    view.null_grad()


def test_input_that_is_not_reached():
    x, y = tg.tensor(X), tg.tensor(X)
    cubes(x).backward(create_graph=True, inputs=[y])
    assert y.grad is None
    assert x.grad is None


def test_graph_is_kept_by_default():
    x = tg.tensor(X)
    y = cubes(x)
    y.backward(create_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.data, 6 * X**2)
    with pytest.raises(tg.FreedGraphError, match="retain_graph"):
        y.backward()
    x.null_grad()
    y.null_grad()


def test_graph_is_freed_where_asked():
    x = tg.tensor(X)
    y = tg.exp(x)
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(tg.FreedGraphError, match="retain_graph"):
        y.backward(create_graph=True)
    x.null_grad()
    y.null_grad()


def test_freed_part_of_a_gradient():
    x = tg.tensor(X)
    y = tg.exp(x)
    y.backward(create_graph=True)
    gradient = x.grad
    x.null_grad()
    y.null_grad()
    y.backward()  # frees what the gradient was computed from
    with pytest.raises(tg.FreedGraphError):
        gradient.backward()


@pytest.mark.parametrize("shape", [(3,), (1,), ()])
def test_gradient_given_as_a_tensor(shape):
    x, seed = tg.tensor(X), tg.tensor(np.full(shape, 2.0))
    (x**2).backward(seed, create_graph=True)
    gradient = x.grad
    np.testing.assert_allclose(gradient.data, 4 * X)
    x.null_grad()
    if shape == (3,):
        gradient.backward()
        np.testing.assert_allclose(seed.grad, 2 * X)
        np.testing.assert_allclose(x.grad, [4.0, 4.0, 4.0])
    else:
        seed.null_grad()
        gradient.backward()
        np.testing.assert_allclose(x.grad, [4.0, 4.0, 4.0])
        np.testing.assert_allclose(seed.grad, np.broadcast_to(2 * X, (3,)).sum() * np.ones(shape))
    gradient.null_grad()


@pytest.mark.parametrize("gradient", [2, 2.0, X, [1.0, 2.0, 3.0], X.astype("f4"), np.arange(1, 4)])
def test_gradient_given_as_numbers(gradient):
    x = tg.tensor(X)
    (x**2).backward(gradient, create_graph=True)
    np.testing.assert_allclose(x.grad.data, 2 * X * np.asarray(gradient))
    x.null_grad()


@pytest.mark.parametrize("gradient", [np.ones(2), np.ones((1, 3)), np.ones(0)], ids=np.shape)
def test_gradient_of_the_wrong_shape(gradient):
    x = tg.tensor(X)
    for given in (gradient, tg.tensor(gradient)):
        with pytest.raises(ValueError, match=r"does not broadcast to the Tensor's shape \(3,\)"):
            (x**2).backward(given, create_graph=True)
    assert x.grad is None


def test_constants():
    x = tg.tensor(X, constant=True)
    for constant in (x, x * 2, tg.tensor(X).detach()):
        with pytest.raises(RuntimeError, match="constant"):
            constant.backward(create_graph=True)
    y = tg.tensor(X)
    (x * y).backward(create_graph=True)
    assert x.grad is None
    assert y.grad.constant
    y.null_grad()


def test_no_grad():
    x = tg.tensor(X)
    y = cubes(x)
    with tg.no_grad():
        y.backward(create_graph=True)
    assert not x.grad.constant
    x.null_grad()
    y.null_grad()


def test_root_is_a_leaf():
    x = tg.tensor(X)
    x.backward(tg.tensor(2 * X), create_graph=True)
    np.testing.assert_allclose(x.grad.data, 2 * X)
    x.null_grad()


def test_views():
    x = tg.tensor(np.arange(6.0).reshape(2, 3))
    view = x.T[::-1]
    tg.sum(view**3 * np.arange(6.0).reshape(3, 2)).backward(create_graph=True)
    expected = 3 * x.data**2 * np.arange(6.0).reshape(3, 2)[::-1].T
    np.testing.assert_allclose(x.grad.data, expected)
    np.testing.assert_allclose(view.grad.data, expected.T[::-1])
    part = x[1, ::2]
    np.testing.assert_allclose(part.grad.data, expected[1, ::2])
    gradient = part.grad
    x.null_grad()
    assert view.grad is None
    gradient.backward()
    second = 6 * x.data * np.arange(6.0).reshape(3, 2)[::-1].T
    second[0] = second[1, 1] = 0
    np.testing.assert_allclose(x.grad, second)
    gradient.null_grad()


def test_clear_grad_keeps_a_zero():
    x = tg.tensor(X)
    cubes(x).backward(create_graph=True)
    x.clear_grad()
    assert isinstance(x.grad, tg.Tensor)
    assert x.grad.constant
    np.testing.assert_array_equal(x.grad.data, 0)
    cubes(x).backward(create_graph=True)
    np.testing.assert_allclose(x.grad.data, 3 * X**2)
    x.clear_grad(set_to_zero=False)
    assert x.grad is None


def test_clear_grad_of_a_view_clears_its_part():
    x = tg.tensor(X)
    view = x[1:]
    cubes(x).backward(create_graph=True)
    view.clear_grad()
    np.testing.assert_allclose(x.grad.data, [3.0, 0.0, 0.0])
    x.null_grad()
    assert view.grad is None


def test_null_grad_through_a_view():
    x = tg.tensor(X)
    view = x[1:]
    cubes(x).backward(create_graph=True)
    assert view.null_grad() is view
    assert x.grad is None


def test_in_place_write_after_a_gradient():
    x = tg.tensor(X)
    y = x * 1.0
    y[0] = y[1] * y[2]
    tg.sum(y**2).backward(create_graph=True)
    gradient = x.grad
    x.null_grad()
    y.null_grad()
    np.testing.assert_allclose(gradient.data, [0, 2 * 2 * 9 + 4, 2 * 3 * 4 + 6])
    y[1] = 100.0
    np.testing.assert_allclose(gradient.data, [0, 40, 30])
    (gradient * np.array([0.0, 1.0, 0.0])).backward()
    np.testing.assert_allclose(x.grad, [0, 2 * 9 + 2, 4 * 2 * 3])
    gradient.null_grad()


def test_gradient_may_be_written_to():
    x = tg.tensor(X)
    cubes(x).backward(create_graph=True)
    gradient = x.grad * 1.0
    gradient[0] = 0.0
    x.null_grad()
    gradient.backward()
    np.testing.assert_allclose(x.grad, 6 * X * [0, 1, 1])
    gradient.null_grad()


def test_inside_a_recording_it_is_refused():
    def function(x):
        y = cubes(x)
        y.backward(create_graph=True)
        return y

    with pytest.raises(tg.TracedValueError):
        tg.jit(function)(X)


# --- memory ------------------------------------------------------------------------------------------------------


def step(x):
    y = tg.sum(tg.exp(x * 0.1) * x[::-1])
    y.backward(create_graph=True)
    norm = tg.sum(x.grad**2)
    x.null_grad()
    norm.backward()
    result = x.grad.copy()
    x.null_grad()
    return result


def test_a_loop_does_not_leak():
    x = tg.tensor(X)
    first = step(x)
    sizes = live()
    for _ in range(50):
        np.testing.assert_array_equal(step(x), first)
    assert live() == sizes
    assert len(attachments) < 300


def test_tensors_that_die_take_their_gradients_along():
    x = tg.tensor(X)
    before = live()
    y = tg.exp(x)
    z = cubes(y)
    z.backward(create_graph=True, inputs=[y, z])
    del y, z
    assert live() == before


def test_gradients_outlive_their_graph():
    x = tg.tensor(X)
    cubes(x).backward(create_graph=True)
    gradient = x.grad
    del x
    gc.collect()
    np.testing.assert_allclose(gradient.data, 3 * X**2)


def test_cycles_through_a_leaf_are_broken_by_null_grad():
    x = tg.tensor(X)
    before = live()
    cubes(x).backward(create_graph=True)
    assert live() != before
    x.null_grad()
    assert live() == before


def test_errors_leave_nothing():
    x = tg.tensor(X)
    y = tg.exp(x)
    before = live()
    for given, error in ((np.ones(5), ValueError), ("nonsense", TypeError)):
        with pytest.raises(error):
            y.backward(given, create_graph=True)
    with pytest.raises(TypeError):
        y.backward(create_graph=True, inputs=[3])
    assert live() == before


# --- hooks -------------------------------------------------------------------------------------------------------


def doubled(g):
    return 2 * g


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_are_called_in_order_and_replacements_flow_on(create_graph):
    x, seen = tg.tensor(X), []
    y = x**2
    z = y * 3.0

    def hook(name, by=None):
        def called(g):
            assert isinstance(g, tg.Tensor if create_graph else np.ndarray)
            seen.append((name, np.array(getattr(g, "data", g))))
            return None if by is None else g * by

        return called

    x.register_hook(hook("x"))
    y.register_hook(hook("y", 10.0))
    y.register_hook(hook("y again"))
    z.register_hook(hook("z", -1.0))
    z.backward(create_graph=create_graph)
    assert [name for name, _ in seen] == ["z", "y", "y again", "x"]
    np.testing.assert_allclose([g for _, g in seen], [[1] * 3, [-3] * 3, [-30] * 3, -60 * X])
    for t, expected in ((x, -60 * X), (y, [-30] * 3), (z, [-1] * 3)):
        np.testing.assert_allclose(getattr(t.grad, "data", t.grad), expected)
        t.null_grad()


def test_hooks_that_return_nothing_change_nothing():
    x, seen = tg.tensor(X), []
    x.register_hook(seen.append)
    cubes(x).backward()
    np.testing.assert_allclose(x.grad, 3 * X**2)
    np.testing.assert_allclose(seen, [3 * X**2])
    seen[0][:] = 0  # it is the hook's own
    np.testing.assert_allclose(x.grad, 3 * X**2)


def test_a_hook_sees_the_whole_gradient_once():
    x, seen = tg.tensor(X), []
    x.register_hook(seen.append)
    tg.sum(x * x + tg.exp(x)[::-1] * x[0]).backward()
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], x.grad)


def test_a_hook_on_the_root_and_on_a_leaf_that_is_the_root():
    x = tg.tensor(X)
    x.register_hook(doubled)
    x.backward(np.ones(3))
    np.testing.assert_allclose(x.grad, [2, 2, 2])
    y = tg.exp(x)
    handle = y.register_hook(doubled)
    x.null_grad()
    y.backward()
    np.testing.assert_allclose(x.grad, 4 * np.exp(X))
    handle.remove()


def test_hooks_on_views():
    x, seen = tg.tensor(X), []
    y = x * 2.0
    y[1:].register_hook(lambda g: seen.append(g) or g * 10)
    tg.sum(y * y).backward()
    np.testing.assert_allclose(seen, [4 * X[1:]])
    np.testing.assert_allclose(x.grad, 8 * X * [1, 10, 10])
    np.testing.assert_allclose(y.grad, 4 * X * [1, 10, 10])


def test_hooks_of_tensors_that_died():
    x, seen = tg.tensor(X), []

    def build():
        y = x**2
        y.register_hook(lambda g: seen.append(1) or g * 10)
        return tg.exp(y)

    build().backward()
    assert seen == [1]
    np.testing.assert_allclose(x.grad, 20 * X * np.exp(X**2))


def test_a_hook_dies_with_the_graph():
    x = tg.tensor(X)
    y = x**2

    class Hook:
        def __call__(self, g):
            return None

    hook = Hook()
    alive = weakref.ref(hook)
    y.register_hook(hook)
    del hook, y
    gc.collect()
    assert alive() is None


def test_remove():
    x = tg.tensor(X)
    handle, other = x.register_hook(doubled), x.register_hook(doubled)
    handle.remove()
    handle.remove()
    cubes(x).backward()
    np.testing.assert_allclose(x.grad, 6 * X**2)
    other.remove()
    cubes(x).backward(accumulate=False)
    np.testing.assert_allclose(x.grad, 3 * X**2)


def test_hooks_stay_for_every_sweep():
    x = tg.tensor(X)
    x.register_hook(doubled)
    for k in (1, 2):
        cubes(x).backward()
        np.testing.assert_allclose(x.grad, 6 * X**2 * k)


def test_hooks_and_inputs():
    x = tg.tensor(X)
    y = x**2
    y.register_hook(doubled)
    z = tg.sum(y * y)
    z.backward(inputs=[x])
    np.testing.assert_allclose(x.grad, 8 * X**3)
    assert y.grad is None


def test_a_replacement_may_be_a_tensor_a_list_or_another_dtype():
    for replacement in (tg.tensor(X), X.tolist(), X.astype("f4"), np.array([1, 2, 3])):
        x = tg.tensor(X)
        x.register_hook(lambda g, r=replacement: r)
        cubes(x).backward()
        np.testing.assert_allclose(x.grad, X)
        assert x.grad.dtype == np.float64


def test_a_replacement_is_differentiated():
    x = tg.tensor(X)
    handle = x.register_hook(lambda g: g * x)
    cubes(x).backward(create_graph=True)
    gradient = x.grad
    x.null_grad()
    gradient.backward(inputs=x)
    np.testing.assert_allclose(x.grad, 9 * X**2 * X)  # this sweep's own gradient goes through the hook, too
    handle.remove()  # which keeps x alive


WRONG = [
    (lambda g: g[:2], ValueError, r"hook .*named.* returned shape \(2,\) for a gradient of shape \(3,\)"),
    (lambda g: "text", TypeError, "hook .*named.* returned.* str"),
    (lambda g: np.array([1j, 2, 3]), TypeError, "hook .*named.* complex"),
    (lambda g: 1.0, ValueError, r"returned shape \(\)"),
    (lambda g: {}, TypeError, "hook .*named.* returned.* dict"),
]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("returned", "error", "message"), WRONG)
def test_a_wrong_replacement_is_refused(returned, error, message, create_graph):
    x = tg.tensor(X)

    def named(g):
        return returned(g)

    handle = x.register_hook(named)
    with pytest.raises(error, match=message):
        cubes(x).backward(create_graph=create_graph)
    assert x.grad is None
    handle.remove()
    cubes(x).backward()
    np.testing.assert_allclose(x.grad, 3 * X**2)


def test_exceptions_of_a_hook_pass_through():
    x = tg.tensor(X)

    def hook(g):
        raise LookupError("mine")

    handle = x.register_hook(hook)
    with pytest.raises(LookupError, match="mine"):
        cubes(x).backward()
    handle.remove()


def test_hooks_on_constants_and_what_is_no_function():
    with pytest.raises(RuntimeError, match="constant"):
        tg.tensor(X, constant=True).register_hook(doubled)
    with pytest.raises(TypeError, match="callable"):
        tg.tensor(X).register_hook(3)


def test_hooks_in_transforms():
    def function(x):
        y = x * 1.0
        y.register_hook(doubled)
        return cubes(y)

    np.testing.assert_allclose(tg.grad(function)(X), 6 * X**2)
    with pytest.raises(tg.TracedValueError, match="register_hook"):
        tg.jit(function)(X)


def test_hooks_under_no_grad():
    x, seen = tg.tensor(X), []
    x.register_hook(lambda g: seen.append(type(g)) or g * 2)
    y = cubes(x)
    with tg.no_grad():
        y.backward()
    np.testing.assert_allclose(x.grad, 6 * X**2)
    assert seen == [np.ndarray]


def test_a_sweep_inside_a_hook():
    x = tg.tensor(X)

    x.register_hook(tg.grad(lambda g: tg.sum(g**2)))
    cubes(x).backward()
    np.testing.assert_allclose(x.grad, 6 * X**2)


# --- stop_gradient and detach ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plain", "jit"])
@pytest.mark.parametrize("stop", [tg.stop_gradient, lambda t: t.detach()], ids=["stop_gradient", "detach"])
def test_stopped_in_every_mode(stop, how):
    def function(x):
        return tg.sum(x * x * stop(x))

    prepared = tg.jit(function) if how == "jit" else function
    np.testing.assert_allclose(tg.grad(prepared)(X), 2 * X**2)
    np.testing.assert_allclose(tg.jvp(prepared, (X,), (np.ones(3),))[1], np.sum(2 * X**2))
    np.testing.assert_allclose(tg.jacfwd(prepared)(X), 2 * X**2)
    np.testing.assert_allclose(tg.hessian(prepared)(X), np.diag(2 * X))
    np.testing.assert_allclose(tg.grad(lambda x: tg.sum(tg.grad(prepared)(x)))(X), 2 * X)


@pytest.mark.parametrize("how", ["plain", "jit"])
def test_a_stopped_gradient_is_a_constant(how):
    def function(x):
        return tg.sum(x * tg.stop_gradient(tg.grad(cubes)(x)))

    prepared = tg.jit(function) if how == "jit" else function
    np.testing.assert_allclose(tg.grad(prepared)(X), 3 * X**2)


def test_stop_gradient_of_structures():
    x = tg.tensor(X)
    found = tg.stop_gradient({"a": [x, 3.0], "b": (X, "text")})
    assert found["a"][0].constant
    assert found["a"][1] == 3.0
    assert found["b"] == (X, "text")


# --- detect_anomaly ----------------------------------------------------------------------------------------------


def broken_forward(x):
    return tg.sum(tg.log(x))  # the line of log


def broken_backward(x):
    return tg.sum(tg.sqrt(x))  # the line of sqrt


def run_backward(f, x, **options):
    t = tg.tensor(x)
    f(t).backward(**options)


RUNS = {
    "backward": run_backward,
    "create_graph": lambda f, x: run_backward(f, x, create_graph=True),
    "grad": lambda f, x: tg.grad(f)(x),
    "grad of jit": lambda f, x: tg.grad(tg.jit(f))(x),
    "vjp": lambda f, x: tg.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: tg.jvp(f, (x,), (np.ones(3),)),
    "jvp of jit": lambda f, x: tg.jvp(tg.jit(f), (x,), (np.ones(3),)),
    "jacfwd": lambda f, x: tg.jacfwd(f)(x),
    "jacrev of jit": lambda f, x: tg.jacrev(tg.jit(f))(x),
    "hessian": lambda f, x: tg.hessian(f)(x),
    "hvp of jit": lambda f, x: tg.hvp(tg.jit(f))(x, np.ones(3)),
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))


@every_run
def test_anomaly_in_a_primal(run):
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError) as caught:
        run(broken_forward, np.array([1.0, 0.0, 2.0]))
    text = str(caught.value)
    assert "log gave -inf at index (1,), of shape (3,)" in text
    assert "recorded in broken_forward" in text
    assert "# the line of log" in text


@every_run
def test_anomaly_in_a_derivative(run):
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError) as caught:
        run(broken_backward, np.array([1.0, 0.0, 2.0]))
    text = str(caught.value)
    assert "sqrt" in text
    assert "inf" in text
    assert "recorded in broken_backward" in text
    assert "# the line of sqrt" in text
    gc.collect()


@every_run
def test_no_anomaly(run):
    with tg.detect_anomaly():
        run(broken_backward, X)
    run(broken_backward, np.array([1.0, 0.0, 2.0]))
    gc.collect()


def test_masked_infinities_are_none_of_the_derivatives():
    with tg.detect_anomaly():
        x = tg.tensor([0.0, 4.0])
        tg.where(x.data > 0, tg.sqrt(x), 0.0).backward()
        np.testing.assert_allclose(x.grad, [0, 0.25])


@pytest.mark.parametrize(
    "folder", ["numpy", "numpy/linalg", "tapegrad", "tapegrad_extras", "site-packages/numpy_ml"]
)
def test_anomaly_names_the_line_wherever_the_program_stands(folder, tmp_path):
    path = tmp_path / folder / "program.py"
    path.parent.mkdir(parents=True)
    path.write_text("import numpy as np\n\ndef program(x):\n    return np.log(x)  # the line of log\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError) as caught:
        names["program"](tg.tensor([0.0]))
    assert f"recorded in program at {path}, line 4: return np.log(x)  # the line of log" in str(caught.value)


def test_anomaly_in_the_second_derivative():
    def function(x):
        return tg.sum(x**1.5)  # the gradient is finite at 0, the second derivative is not

    with tg.detect_anomaly():
        np.testing.assert_allclose(tg.grad(function)(np.array([0.0, 1.0])), [0, 1.5])
        with pytest.raises(tg.AnomalyError, match="recorded in function"):
            tg.grad(lambda x: tg.sum(tg.grad(function)(x) * 2.0))(np.array([0.0, 1.0]))


def test_detect_anomaly_ends():
    before = len(EAGER)
    with pytest.raises(tg.AnomalyError), tg.detect_anomaly():
        tg.log(tg.tensor(0.0))
    assert tg.log(tg.tensor(0.0)).data == -np.inf

    @tg.detect_anomaly()
    def decorated():
        return tg.log(tg.tensor(0.0))

    for _ in range(2):
        with pytest.raises(tg.AnomalyError, match="log gave -inf"):
            decorated()
    assert len(EAGER) == before
