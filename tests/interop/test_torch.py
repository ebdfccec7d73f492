"""`tapegrad.interop.torch`: nodes of PyTorch's graph, of any order, in all of its modes; skipped without PyTorch."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import interop

torch = pytest.importorskip("torch")


# Of its own functions, in the first transform; a FutureWarning from 2.14 on.
OF_PYTORCH = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def tensor(*values: float, grad: bool = True, dtype: Any = None) -> Any:
    return torch.tensor(values, dtype=dtype or torch.float64, requires_grad=grad)


def waves(x: Any) -> Any:
    return tg.sum(tg.sin(x) ** 2)


def layer(p: Any, x: Any, scale: Any) -> Any:
    hidden = np.tanh(x @ p["w"] + p["b"])
    return {"hidden": hidden * scale, "sum": np.sum(hidden)}


def weights() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    w, b, x = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((3, 2), (2,), (5, 3)))
    return w.requires_grad_(), b.requires_grad_(), x


def of_layer(w: Any, b: Any, x: Any) -> Any:
    out = interop.torch(layer)({"w": w, "b": b}, x, 2.0)
    return out["hidden"], out["sum"]


CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "number": (interop.torch(waves), lambda: (tensor(0.3, 0.7),)),
    "array": (interop.torch(lambda x, y: x * y + x**2), lambda: (tensor(0.3, 0.7), tensor(2.0))),
    "structure": (of_layer, weights),
    "some without gradient": (
        interop.torch(lambda x, y: tg.sum(x * y**2)),
        lambda: (tensor(0.3, 0.7, grad=False), tensor(2.0, 1.0)),
    ),
    "integers": (interop.torch(lambda x, i: x[i] ** 2), lambda: (tensor(1, 2, 3), torch.tensor([0, 2, 2]))),
    "tuple": (interop.torch(lambda x: (x**2, tg.sum(x))), lambda: (tensor(0.3, 0.7),)),
}


@pytest.mark.parametrize("case", CASES)
def test_first_and_second_derivatives_are_right(case: str) -> None:
    """Against PyTorch's own finite differences."""
    function, make = CASES[case]
    assert torch.autograd.gradcheck(function, make())
    assert torch.autograd.gradgradcheck(function, make())


def test_values_and_gradients_are_pytorch_s_own() -> None:
    x = tensor(0.3, 0.7)
    y = 3 * interop.torch(waves)(x)
    y.backward()
    assert y.dtype is torch.float64
    expected = 3 * torch.sum(torch.sin(x) ** 2)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(x.grad, torch.autograd.grad(expected, x)[0])


def test_a_gradient_that_is_differentiated_is_right() -> None:
    x = tensor(0.3, 0.7)
    (gradient,) = torch.autograd.grad(interop.torch(waves)(x), x, create_graph=True)
    gradient.sum().backward()
    torch.testing.assert_close(x.grad, 2 * torch.cos(2 * x.detach()))


@OF_PYTORCH
def test_function_transforms() -> None:
    f, x = interop.torch(waves), tensor(0.3, 0.7, grad=False)
    batch = torch.stack([x, 2 * x, 3 * x])
    own = torch.func
    torch.testing.assert_close(own.grad(f)(x), torch.sin(2 * x))
    for jacobian in (own.jacrev, own.jacfwd):
        torch.testing.assert_close(jacobian(f)(x), torch.sin(2 * x))
    torch.testing.assert_close(own.hessian(f)(x), torch.diag(2 * torch.cos(2 * x)))
    torch.testing.assert_close(own.vmap(f)(batch), torch.sum(torch.sin(batch) ** 2, 1))
    torch.testing.assert_close(own.vmap(own.grad(f))(batch), torch.sin(2 * batch))
    torch.testing.assert_close(own.vmap(own.grad(f), in_dims=1)(batch.T), torch.sin(2 * batch))
    value, tangent = own.jvp(f, (x,), (torch.ones_like(x),))
    torch.testing.assert_close((value, tangent), (f(x), torch.sin(2 * x).sum()))


def test_vmap_of_structures() -> None:
    f = interop.torch(lambda p, k: {"a": p["x"] * k, "b": tg.sum(p["x"])})
    x = tensor(1, 2, 3, grad=False)
    found = torch.func.vmap(lambda each: f({"x": each}, 2.0))(torch.stack([x, x + 1]))
    torch.testing.assert_close(found, {"a": torch.stack([2 * x, 2 * x + 2]), "b": tensor(6, 9, grad=False)})


def test_float32_stays_float32() -> None:
    x = tensor(0.3, 0.7, dtype=torch.float32)
    y = interop.torch(waves)(x)
    y.backward()
    assert y.dtype is torch.float32
    assert x.grad.dtype is torch.float32


def test_branches_and_shapes_are_recorded_when_they_come() -> None:
    f = interop.torch(lambda x: tg.sum(x**2) if x[0] > 0 else tg.sum(x), np.ones(2))
    for values, gradient in (((1, 2), (2, 4)), ((-1, 2), (1, 1)), ((1, 2, 3), (2, 4, 6))):
        x = tensor(*values)
        f(x).backward()
        torch.testing.assert_close(x.grad, tensor(*gradient, grad=False))


def test_results_are_numbers_for_some_shapes_only() -> None:
    f = interop.torch(lambda x: x**2)
    for values in (torch.tensor(3.0, dtype=torch.float64), tensor(1, 2, grad=False)):
        x = values.requires_grad_()
        f(x).sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())


def test_a_result_has_its_memory_for_itself() -> None:
    constant = np.ones(2)
    f = interop.torch(lambda x: (x * 2, constant))
    first, second = f(tensor(1, 2, grad=False)), f(tensor(3, 4, grad=False))
    torch.testing.assert_close(first[0], tensor(2, 4, grad=False))
    second[1].zero_()
    np.testing.assert_array_equal(constant, np.ones(2))


def test_arguments_are_read_where_they_lie() -> None:
    x = torch.arange(12, dtype=torch.float64).reshape(3, 4).T.requires_grad_()
    interop.torch(waves)(x).backward()
    torch.testing.assert_close(x.grad, torch.sin(2 * x.detach()))


def test_backward_twice_needs_the_graph() -> None:
    x = tensor(0.3, 0.7)
    y = interop.torch(lambda x: x**2)(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    torch.testing.assert_close(x.grad, 4 * x.detach())
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: torch.ones(2, dtype=torch.bfloat16), "bfloat16"),
        (lambda: torch.ones(2, 2).to_sparse(), "sparse_coo"),
        (lambda: torch.ones(2, device="meta"), "on meta"),
    ],
)
def test_tensors_that_are_no_arrays_are_refused(bad: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        interop.torch(waves)(bad())


@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
def test_complex_tensors_have_the_gradients_of_pytorch(dtype: torch.dtype) -> None:
    z, w = (torch.tensor([0.3 + 0.2j, -1.0 + 0.7j], dtype=dtype, requires_grad=True) for _ in range(2))
    own = interop.torch(lambda z: tg.exp(1j * z) * tg.conj(z))(z)
    expected = torch.exp(1j * w) * torch.conj(w)
    torch.testing.assert_close(own, expected)
    (own.abs() ** 2 + own.real).sum().backward()
    (expected.abs() ** 2 + expected.real).sum().backward()
    torch.testing.assert_close(z.grad, w.grad)


@OF_PYTORCH
@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
def test_complex_tensors_in_the_transforms_of_pytorch(dtype: torch.dtype) -> None:
    """And tensors that PyTorch conjugates or negates lazily; by PyTorch's own functions."""
    numbers = np.random.default_rng(0).standard_normal((2, 4, 3, 2)).view(complex)[..., 0]
    z, v = torch.from_numpy(numbers).to(dtype)
    call = torch.func
    own = (
        interop.torch(lambda z: tg.sum(abs(z) ** 2 * tg.real(z * z))),
        interop.torch(lambda z: z * z * 2j + tg.conj(z)),
    )
    theirs = (lambda z: (z.abs() ** 2 * (z * z).real).sum()), (lambda z: z * z * 2j + z.conj())
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "grad": lambda f, g: call.grad(f)(z),
        "jvp": lambda f, g: call.jvp(f, (z,), (v,))[1],
        "jvp of arrays": lambda f, g: call.jvp(g, (z,), (v,))[1],
        "vjp": lambda f, g: call.vjp(g, z)[1](v)[0],
        "vmap": lambda f, g: call.vmap(g)(z),
        "vmap of grad": lambda f, g: call.vmap(call.grad(f))(z),
        "jvp of grad": lambda f, g: call.jvp(call.grad(f), (z,), (v,))[1],
        "vmap of vjp": lambda f, g: call.vmap(lambda z, v: call.vjp(g, z)[1](v)[0])(z, v),
        "conjugated": lambda f, g: g(z.conj()),
        "negated": lambda f, g: g(z.conj().imag),
        "gradient behind a conjugate": lambda f, g: call.grad(lambda z: f(z.conj()))(z),
    }
    wrong = [name for name, each in calls.items() if not torch.allclose(each(*own), each(*theirs), rtol=1e-5)]
    assert not wrong


def test_an_optimiser_of_pytorch_fits() -> None:
    t = np.linspace(0, 1, 20)
    data = 2 * np.exp(-3 * t)
    loss = interop.torch(lambda a, rate: tg.sum((a * tg.exp(-rate * t) - data) ** 2))
    a, rate = (torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64)) for _ in range(2))
    optimiser = torch.optim.LBFGS(
        [a, rate], max_iter=100, line_search_fn="strong_wolfe", tolerance_change=1e-14
    )

    def closure() -> Any:
        optimiser.zero_grad()
        value = loss(a, rate)
        value.backward()
        return value

    optimiser.step(closure)
    np.testing.assert_allclose([a.item(), rate.item()], [2, 3], rtol=1e-5)


def test_without_pytorch_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs the package torch: pip install 'torch"):
        interop.torch(waves)
