"""Recipes that users of JAX's autodiff cookbook and of PyTorch's `create_graph` know, in our names.

The recipes are theirs, the code is new; every number is computed by NumPy from a formula.

https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html
https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

import numpy as np
import pytest

import tapegrad as tg

PREPARE = {"plain": lambda f: f, "jit": tg.jit}
both = pytest.mark.parametrize("prepare", PREPARE.values(), ids=list(PREPARE))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


# --- the cookbook: logistic regression ---------------------------------------------------------------------------

INPUTS = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
TARGETS = np.array([True, True, False, True])
SIGNS = np.where(TARGETS, 1.0, -1.0)
W, B = np.array([0.3, -0.6, 0.2]), 0.45


def predict(w, b, inputs):
    return tg.sigmoid(inputs @ w + b)


def loss(w, b):
    """Minus the log-likelihood of the labels."""
    found = predict(w, b, INPUTS)
    return -tg.sum(tg.log(tg.where(TARGETS, found, 1 - found)))


def probability(w, b):
    return 1 / (1 + np.exp(-(INPUTS @ w + b)))


def loss_gradient(w, b):
    residuals = probability(w, b) - TARGETS
    return INPUTS.T @ residuals, residuals.sum()


def loss_hessian(w, b):
    p = probability(w, b)
    return INPUTS.T @ (INPUTS * (p * (1 - p))[:, None])


def test_derivatives_of_tanh():
    derivative = tg.grad(tg.tanh)
    second = tg.grad(tg.grad(tg.tanh))
    third = tg.grad(tg.grad(tg.grad(tg.tanh)))
    t = np.tanh(2.0)
    close(derivative(2.0), 1 - t**2)
    close(second(2.0), -2 * t * (1 - t**2))
    close(third(2.0), (6 * t**2 - 2) * (1 - t**2))


@both
def test_gradients_by_chosen_arguments(prepare):
    f = prepare(loss)
    w_bar, b_bar = loss_gradient(W, B)
    close(tg.grad(f)(W, B), w_bar)
    close(tg.grad(f, argnums=0)(W, B), w_bar)
    close(tg.grad(f, 1)(W, B), b_bar)
    found = tg.grad(f, (0, 1))(W, B)
    close(found[0], w_bar)
    close(found[1], b_bar)


@both
def test_gradients_by_dicts(prepare):
    f = prepare(lambda params: loss(params["W"], params["b"]))
    w_bar, b_bar = loss_gradient(W, B)
    found = tg.grad(f)({"W": W, "b": B})
    assert set(found) == {"W", "b"}
    close(found["W"], w_bar)
    close(found["b"], b_bar)


@both
def test_value_and_gradient(prepare):
    value, (w_bar, b_bar) = tg.value_and_grad(prepare(loss), (0, 1))(W, B)
    close(value, np.sum(np.log1p(np.exp(-SIGNS * (INPUTS @ W + B)))))
    close(w_bar, loss_gradient(W, B)[0])
    close(b_bar, loss_gradient(W, B)[1])


def test_check_against_differences():
    step = 1e-4
    ends = [loss(tg.tensor(W), B + sign * step / 2).item() for sign in (1, -1)]
    assert tg.grad(loss, 1)(W, B) == pytest.approx((ends[0] - ends[1]) / step, rel=1e-7)
    direction = np.array([0.6, -0.8, 0.0])
    ends = [loss(tg.tensor(W + sign * step / 2 * direction), B).item() for sign in (1, -1)]
    assert tg.grad(loss)(W, B) @ direction == pytest.approx((ends[0] - ends[1]) / step, rel=1e-7)
    tg.check_grads(loss, (W, B), order=2)


# --- the cookbook: Jacobians and Hessians ------------------------------------------------------------------------


def jacobian_of_predictions():
    p = probability(W, B)
    return (p * (1 - p))[:, None] * INPUTS


@both
@pytest.mark.parametrize(
    "jacobian", [tg.jacfwd, tg.jacrev, tg.jacobian], ids=["jacfwd", "jacrev", "jacobian"]
)
def test_jacobian_of_the_predictions(jacobian, prepare):
    found = jacobian(prepare(lambda w: predict(w, B, INPUTS)))(W)
    assert found.shape == (4, 3)
    close(found, jacobian_of_predictions())


@both
@pytest.mark.parametrize("jacobian", [tg.jacfwd, tg.jacrev], ids=["jacfwd", "jacrev"])
def test_jacobian_by_dicts(jacobian, prepare):
    found = jacobian(prepare(lambda params: predict(params["W"], params["b"], INPUTS)))({"W": W, "b": B})
    p = probability(W, B)
    close(found["W"], jacobian_of_predictions())
    close(found["b"], p * (1 - p))


@both
@pytest.mark.parametrize("outer", [tg.jacfwd, tg.jacrev], ids=["fwd", "rev"])
@pytest.mark.parametrize("inner", [tg.jacfwd, tg.jacrev, tg.grad], ids=["fwd", "rev", "grad"])
def test_hessian_by_all_compositions(outer, inner, prepare):
    f = prepare(lambda w: loss(w, B))
    close(outer(inner(f))(W), loss_hessian(W, B))
    close(tg.hessian(f)(W), loss_hessian(W, B))


@both
def test_hessian_of_a_vector_valued_function(prepare):
    """A third index, for the output."""
    found = tg.jacfwd(tg.jacrev(prepare(lambda w: predict(w, B, INPUTS))))(W)
    p = probability(W, B)
    curvature = p * (1 - p) * (1 - 2 * p)
    close(found, np.einsum("i,ij,ik->ijk", curvature, INPUTS, INPUTS))


# --- the cookbook: products with Jacobians and Hessians ----------------------------------------------------------

V = np.array([0.2, -1.1, 0.5])


@both
def test_pushforward(prepare):
    value, tangent = tg.jvp(prepare(lambda w: predict(w, B, INPUTS)), (W,), (V,))
    close(value, probability(W, B))
    close(tangent, jacobian_of_predictions() @ V)


@both
def test_pullback(prepare):
    value, pullback = tg.vjp(prepare(lambda w: predict(w, B, INPUTS)), W)
    close(value, probability(W, B))
    for u in np.random.default_rng(0).standard_normal((3, 4)):
        (found,) = pullback(u)
        close(found, u @ jacobian_of_predictions())


@both
def test_gradient_by_a_pullback_of_one(prepare):
    value, pullback = tg.vjp(prepare(loss), W, B)
    assert np.shape(value) == ()
    found = pullback(np.ones_like(value))
    close(found[0], loss_gradient(W, B)[0])
    close(found[1], loss_gradient(W, B)[1])


def cubes(x):
    return tg.sum(tg.tanh(x) ** 2 * x)


def cubes_hessian(x):
    t = np.tanh(x)
    s = 1 - t**2
    return np.diag(4 * t * s + 2 * x * s * (1 - 3 * t**2))


WAYS = {
    "forward over reverse": lambda f: lambda x, v: tg.jvp(tg.grad(f), (x,), (v,))[1],
    "reverse over forward": lambda f: lambda x, v: tg.grad(lambda y: tg.jvp(f, (y,), (v,))[1])(x),
    "reverse over reverse": lambda f: lambda x, v: tg.grad(lambda y: tg.sum(tg.grad(f)(y) * v))(x),
    "pullback of the gradient": lambda f: lambda x, v: tg.vjp(tg.grad(f), x)[1](v)[0],
    "forward over forward": lambda f: lambda x, v: tg.jvp(tg.jacfwd(f), (x,), (v,))[1],
    "hvp": lambda f: tg.hvp(f),
}  # fmt: skip


@both
@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_products_with_a_hessian(way, prepare):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(6)
    product = way(prepare(cubes))
    for v in rng.standard_normal((3, 6)):
        close(product(x, v), cubes_hessian(x) @ v)


@both
def test_products_of_a_matrix_with_a_jacobian(prepare):
    """A pullback for each row, and a pushforward for each column."""
    f = prepare(lambda w: predict(w, B, INPUTS))
    _, pullback = tg.vjp(f, W)
    rows = np.random.default_rng(2).standard_normal((5, 4))
    close(np.stack([pullback(row)[0] for row in rows]), rows @ jacobian_of_predictions())
    columns = np.random.default_rng(3).standard_normal((3, 2))
    found = np.stack([tg.jvp(f, (W,), (column,))[1] for column in columns.T], axis=1)
    close(found, jacobian_of_predictions() @ columns)


@both
def test_a_jacobian_from_its_rows_and_columns(prepare):
    f = prepare(lambda w: predict(w, B, INPUTS))
    _, pullback = tg.vjp(f, W)
    close(np.stack([pullback(row)[0] for row in np.eye(4)]), tg.jacrev(f)(W))
    close(np.stack([tg.jvp(f, (W,), (e,))[1] for e in np.eye(3)], axis=1), tg.jacfwd(f)(W))


@both
def test_newtons_method(prepare):
    """Logistic regression with a penalty, to its minimum."""
    f = prepare(lambda w: loss(w, B) + 0.5 * tg.sum(w**2))
    gradient, hessian, w = tg.grad(f), tg.hessian(f), W
    for _ in range(8):
        w = w - np.linalg.solve(hessian(w), gradient(w))
    np.testing.assert_allclose(loss_gradient(w, B)[0] + w, 0, atol=1e-12)


# --- create_graph ------------------------------------------------------------------------------------------------


def test_double_backward():
    x = tg.tensor([1.0, 2.0, 3.0])
    y = tg.sum(x**3)
    y.backward(create_graph=True)
    first = x.grad
    close(first.data, 3 * x.data**2)
    x.null_grad()
    first.sum().backward()
    close(x.grad, 6 * x.data)
    first.null_grad()
    y.null_grad()


def test_hessian_vector_product_by_double_backward():
    rng = np.random.default_rng(4)
    x, v = tg.tensor(rng.standard_normal(5)), rng.standard_normal(5)
    cubes(x).backward(create_graph=True, inputs=x)
    gradient = x.grad
    x.null_grad()
    gradient.backward(v)
    close(x.grad, cubes_hessian(x.data) @ v)
    x.null_grad()
    gradient.null_grad()


def test_hessian_row_by_row():
    x = tg.tensor(np.random.default_rng(5).standard_normal(4))
    cubes(x).backward(create_graph=True, inputs=x)
    gradient, rows = x.grad, []
    for k in range(4):
        x.null_grad()
        gradient[k].backward(retain_graph=True, inputs=x)
        rows.append(x.grad.copy())
    close(rows, cubes_hessian(x.data))
    x.null_grad()
    gradient.null_grad()


def penalised(w, x):
    """Loss and gradient by `w` of ``sum(tanh(x @ w)) + (|d/dx| - 1)**2`` over points x, by hand."""
    t = np.tanh(x @ w)
    s = 1 - t**2
    norm = np.linalg.norm(w)
    lengths = s * norm  # of the gradients by x, which are s * w
    value = t.sum() + np.sum((lengths - 1) ** 2)
    lengths_bar = 2 * (lengths - 1)
    w_bar = x.T @ s + np.sum(lengths_bar * s) * w / norm
    return value, w_bar + norm * x.T @ (lengths_bar * -2 * t * s)


POINTS = np.array([[0.3, -0.2], [0.5, 0.9], [-0.4, 0.1]])


def test_gradient_penalty_by_double_backward():
    """The gradient by the inputs is part of the loss, which is differentiated by the weights."""
    w, x = tg.tensor([0.7, -1.2]), tg.tensor(POINTS)
    values = tg.tanh(x @ w)
    values.backward(create_graph=True, inputs=x)
    lengths = tg.sqrt(tg.sum(x.grad**2, axis=1))
    total = values.sum() + tg.sum((lengths - 1) ** 2)
    x.null_grad()
    total.backward(inputs=w)
    value, w_bar = penalised(w.data, POINTS)
    close(total.item(), value)
    close(w.grad, w_bar)
    assert x.grad is None


@both
def test_gradient_penalty_by_nested_transforms(prepare):
    def total(w):
        def critic(x):
            return tg.sum(tg.tanh(x @ w))

        slopes = tg.grad(critic)(POINTS)
        lengths = tg.sqrt(tg.sum(slopes**2, axis=1))
        return critic(POINTS) + tg.sum((lengths - 1) ** 2)

    w = np.array([0.7, -1.2])
    value, w_bar = tg.value_and_grad(prepare(total))(w)
    close(value, penalised(w, POINTS)[0])
    close(w_bar, penalised(w, POINTS)[1])


def test_training_with_a_gradient_penalty():
    """Steps of gradient descent, each with a graph of its own."""
    w, expected = tg.tensor([0.7, -1.2]), np.array([0.7, -1.2])
    for _ in range(5):
        x = tg.tensor(POINTS)
        values = tg.tanh(x @ w)
        values.backward(create_graph=True, inputs=x)
        total = values.sum() + tg.sum((tg.sqrt(tg.sum(x.grad**2, axis=1)) - 1) ** 2)
        x.null_grad()
        total.backward(inputs=w)
        with tg.no_grad():
            w -= 0.05 * w.grad
        w.null_grad()
        expected = expected - 0.05 * penalised(expected, POINTS)[1]
    close(w.data, expected)


def test_differentiating_through_a_step_of_descent():
    """The loss after a step, by the step size and by where it began."""
    x, rate = tg.tensor([0.5, -1.5]), tg.tensor(0.1)
    tg.sum(x**4).backward(create_graph=True, inputs=x)
    after = x - rate * x.grad
    x.null_grad()
    tg.sum(after**4).backward(inputs=[x, rate])
    x0 = x.data
    stepped = x0 - 0.1 * 4 * x0**3
    close(rate.grad, np.sum(4 * stepped**3 * -4 * x0**3))
    close(x.grad, 4 * stepped**3 * (1 - 0.1 * 12 * x0**2))


def test_meta_learning_by_nested_gradients():
    """MAML in one dimension: the gradient of the loss after a step of descent."""

    def model(theta, x):
        return tg.sum((theta[0] * x + theta[1] - x**2) ** 2)

    def adapted(theta, x, y):
        stepped = theta - 0.01 * tg.grad(model)(theta, x)
        return model(stepped, y)

    theta, x, y = np.array([0.4, -0.3]), np.array([0.5, 1.0, -1.0]), np.array([2.0, -0.5])

    def by_hand(t, x):
        a = np.stack([x, np.ones_like(x)], axis=1)
        return 2 * a.T @ (a @ t - x**2), 2 * a.T @ a

    slope, curvature = by_hand(theta, x)
    expected = (np.eye(2) - 0.01 * curvature) @ by_hand(theta - 0.01 * slope, y)[0]
    for prepare in PREPARE.values():
        close(tg.grad(prepare(adapted))(theta, x, y), expected)
