"""Examples from the documentation of other systems, in our names, with the numbers that they print."""

import numpy as np
import pytest

import tapegrad as tg

# --- MyGrad (github.com/rsokl/MyGrad), Tensor.backward and Tensor.null_grad -----------------------------


def test_mygrad_gradients_of_all_tensors_of_a_graph():
    x, y = tg.tensor(2.0), tg.tensor(3.0)
    w = x * y
    root = 2 * w
    root.backward()
    assert (root.grad, w.grad, y.grad, x.grad) == (1.0, 2.0, 4.0, 6.0)


@pytest.mark.parametrize("reduce", [lambda t: t, tg.sum])
def test_mygrad_non_scalar_root(reduce):
    x = tg.tensor([2.0, 4.0, 8.0])
    reduce(x * x[::-1]).backward()
    assert x.grad.tolist() == [16.0, 8.0, 4.0]


def test_mygrad_gradient_given_to_a_leaf():
    x = tg.tensor(1.0)
    x.backward(2.0)
    assert x.grad == 2.0


def test_mygrad_null_grad():
    x = tg.Tensor(2.0)
    (x**2).backward()
    assert x.grad == 4.0
    assert repr(x.null_grad()) == "Tensor(2.)"
    assert x.grad is None


# --- Paddle (paddlepaddle.org.cn), Tensor.backward and autograd.backward --------------------------------


def test_paddle_gradients_accumulate_until_they_are_cleared():
    x = tg.tensor(5.0, dtype="float32")
    seen = []
    for _ in range(5):
        (x**4.0).backward()
        seen.append(float(x.grad))
    assert seen == [500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    x.clear_grad()
    assert x.grad == 0.0
    seen = []
    for _ in range(5):
        (x**4.0).backward(tg.tensor(2.0))
        seen.append(float(x.grad))
    assert seen == [1000.0, 2000.0, 3000.0, 4000.0, 5000.0]


def test_paddle_several_roots_with_their_gradients():
    x = tg.tensor([[1, 2], [3, 4]], dtype="float32")
    y = tg.tensor([[3, 2], [3, 4]], dtype="float32", constant=True)
    first, second = np.array([[1, 2], [2, 3]], "f4"), np.ones((2, 2), "f4")
    z1, z2 = x @ y, x @ y
    for gradient2 in (second, None):
        z1.backward(first, retain_graph=True)
        z2.backward(gradient2, retain_graph=True)
        assert x.grad.tolist() == [[12.0, 18.0], [17.0, 25.0]]
        x.clear_grad()
    z1.backward()
    z2.backward()
    assert x.grad.tolist() == [[10.0, 14.0], [10.0, 14.0]]


# --- tinygrad (docs.tinygrad.org), Tensor.backward and the README ---------------------------------------


def test_tinygrad_sum():
    t = tg.tensor([1.0, 2.0, 3.0, 4.0])
    t.sum().backward()
    assert t.grad.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_tinygrad_readme():
    x = tg.eye(3)
    y = tg.tensor([[2.0, 0, -2.0]])
    z = tg.matmul(y, x).sum()
    z.backward()
    assert x.grad.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-2.0, -2.0, -2.0]]
    assert y.grad.tolist() == [[1.0, 1.0, 1.0]]


# --- PyTorch (docs.pytorch.org), the autograd tutorials and Tensor.backward's retain_graph and inputs ---


def test_pytorch_autograd_tutorial():
    a, b = tg.tensor([2.0, 3.0]), tg.tensor([6.0, 4.0])
    q = 3 * a**3 - b**2
    q.backward(gradient=tg.tensor([1.0, 1.0]))
    assert a.grad.tolist() == [36.0, 81.0]
    assert b.grad.tolist() == [-12.0, -8.0]


def test_pytorch_retain_graph_and_accumulation():
    inp = tg.eye(4, 5)
    out = ((inp + 1) ** 2).T
    out.backward(tg.ones_like(out), retain_graph=True)
    first = 2.0 + 2 * np.eye(4, 5)
    assert np.array_equal(inp.grad, first)
    out.backward(tg.ones_like(out), retain_graph=True)
    assert np.array_equal(inp.grad, 2 * first)
    inp.clear_grad()
    out.backward(tg.ones_like(out), retain_graph=True)
    assert np.array_equal(inp.grad, first)


def test_pytorch_second_backward_names_retain_graph():
    x = tg.tensor([1.0])
    y = tg.exp(x)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_pytorch_inputs():
    x, y = tg.tensor(3.0), tg.tensor(4.0)
    z = x * y
    z.backward(inputs=[x], retain_graph=True)
    assert (x.grad, y.grad) == (4.0, None)
    z.backward(inputs=[y])
    assert (x.grad, y.grad) == (4.0, 3.0)
