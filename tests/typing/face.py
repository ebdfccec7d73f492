"""Types of the public face. Type checkers read this file; nobody runs it."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import tapegrad as tg
from tapegrad import Tensor
from tapegrad.frontend.tensor.attachments import RemovableHook
from tapegrad.frontend.words.array_like import Booleans, Indices

Gradient = np.ndarray | Tensor | None

a = np.ones(3)
integers = np.arange(3)
x = tg.tensor([1.0, 2.0, 3.0])

# Creation.
assert_type(x, Tensor)
assert_type(tg.Tensor([1.0], dtype=np.float32), Tensor)
assert_type(tg.tensor(a, constant=True), Tensor)
assert_type(tg.asarray([[1.0, 2.0], [3.0, 4.0]]), Tensor)
assert_type(tg.zeros((2, 3)), Tensor)
assert_type(tg.ones(x.shape), Tensor)
assert_type(tg.full(3, 2.0), Tensor)
assert_type(tg.arange(3.0), Tensor)
assert_type(tg.eye(3), Tensor)
assert_type(tg.zeros_like(x), Tensor)
assert_type(tg.linspace(0, 1, 5), Tensor)
assert_type(tg.linspace(0, 1, 5, retstep=True), tuple[Tensor, Any])

# Elementwise functions of Tensors, arrays, numbers and nested sequences.
assert_type(tg.sin(x), Tensor)
assert_type(tg.sin(a), Tensor)
assert_type(tg.sin(1), Tensor)
assert_type(tg.sin(1j), Tensor)
assert_type(tg.sin(np.float32(1.0)), Tensor)
assert_type(tg.sin([1.0, 2.0]), Tensor)
assert_type(tg.sin([[x, 1.0], (2.0, a)]), Tensor)
assert_type(tg.maximum(x, 0), Tensor)
assert_type(tg.special.jv(0.5, x), Tensor)
assert_type(tg.special.gammaln(a), Tensor)
assert_type(tg.special.zeta(2.0, x), Tensor)
assert_type(tg.stats.norm.logpdf(x, 0.5, scale=2.0), Tensor)
assert_type(tg.stats.poisson.logpmf(integers, x), Tensor)
assert_type(tg.stats.lomax.logpdf(x, 2.0), Tensor)
assert_type(tg.stats.planck.logpmf(integers, x), Tensor)
assert_type(tg.power(x, 2), Tensor)
assert_type(tg.where(x > 0, x, 0.0), Tensor)
assert_type(tg.where(x > 0), tuple[npt.NDArray[np.intp], ...])
assert_type(tg.clip(x, 0.0, None), Tensor)
assert_type(tg.atan2(x, a), Tensor)

# Shapes, lists.
assert_type(tg.array([[x[0], 1.0], [2.0, x[1]]]), Tensor)
assert_type(tg.hstack([x, [1.0, x[0]], a]), Tensor)
assert_type(tg.pad(x, ((1, 2),), mode="edge"), Tensor)
assert_type(tg.roll(x, (1, 2), axis=(0, 0)), Tensor)
assert_type(tg.split(x, 3), list[Tensor])
assert_type(tg.atleast_1d(x), Tensor)
assert_type(tg.atleast_1d(x, a), tuple[Tensor, ...])
assert_type(x.mT, Tensor)
x.flat = [1.0, 2.0]

# Operators.
assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(x * a, Tensor)
assert_type(a * x, Tensor)
assert_type(integers / x, Tensor)
assert_type(np.float64(2.0) * x, Tensor)
assert_type([1.0, 2.0, 3.0] + x, Tensor)
assert_type(x**2, Tensor)
assert_type(2**x, Tensor)
assert_type(x @ a, Tensor)
assert_type(a @ x, Tensor)
assert_type(-x, Tensor)
assert_type(abs(x), Tensor)
x += 1.0
x **= 2
assert_type(x, Tensor)

# Comparisons and what is computed with their results.
assert_type(x < 1, Tensor | Booleans)
assert_type(x == a, Tensor | Booleans)
assert_type((x < 1) & (x > 0), Tensor | Booleans)
assert_type(~(x < 1), Tensor | Booleans)
assert_type(tg.isnan(x), Tensor | Booleans)
assert_type(tg.logical_and(x, a), Tensor | Booleans)
assert_type(tg.any(x > 0), Tensor | Booleans)
assert_type(tg.allclose(x, a), Tensor | bool)
assert_type(tg.argmax(x), Indices)
if x[0] > 0 and tg.all(x > 0):
    assert_type(x[x > 0], Tensor)

# Indexing, shapes, reductions.
assert_type(x[0], Tensor)
assert_type(x[1:, None], Tensor)
assert_type(x[..., 0], Tensor)
assert_type(x[[0, 2]], Tensor)
assert_type(x[integers], Tensor)
x[0] = 1.0
x[:2] = a[:2]
assert_type([element for element in x], list[Tensor])
assert_type(len(x), int)
assert_type(x.reshape(3, 1), Tensor)
assert_type(x.reshape((3, -1)).T, Tensor)
assert_type(tg.reshape(x, x.shape[::-1]), Tensor)
assert_type(x.transpose(0), Tensor)
assert_type(tg.concatenate([x, a]), Tensor)
assert_type(tg.stack((x, x), axis=1), Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.sum(axis=(0,), keepdims=True), Tensor)
assert_type(tg.max(x, axis=0), Tensor)
assert_type(x.mean(), Tensor)
assert_type(x.dot(a), Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(x.ndim, int)
assert_type(x.dtype, np.dtype[Any])
assert_type(x.constant, bool)

# Out of the graph.
assert_type(x.data, np.ndarray)
assert_type(x.numpy(), np.ndarray)
assert_type(x.detach(), Tensor)
assert_type(x.astype(np.float32), Tensor)
assert_type(float(x[0]), float)
np.testing.assert_allclose(x.data, a)
np.testing.assert_array_equal(x > 0, a > 0)
np.asarray(x.detach())

# Gradients.
x.backward()
x.backward(a, retain_graph=True, inputs=[x])
assert_type(x.grad, Gradient)
if x.grad is not None:
    x.data -= 0.1 * x.grad
x.grad = None
assert_type(x.null_grad(), Tensor)
assert_type(x.register_hook(lambda g: g / 2), RemovableHook)

# Constants and modes.
assert_type(tg.pi, float)
assert_type(tg.newaxis, None)
assert_type(tg.__version__, str)
with tg.no_grad(), tg.detect_anomaly():
    x[0] = 2.0


@tg.no_grad()
def undifferentiated(x: Tensor) -> Tensor:
    return x


assert_type(undifferentiated(x), Tensor)


# Transforms: a gradient is of the type of what it is taken by, and further parameters keep theirs.
def loss(w: Tensor, n: int = 2) -> Tensor:
    return tg.sum(w**n)


assert_type(tg.grad(loss)(a), np.ndarray[tuple[int], np.dtype[np.float64]])
assert_type(tg.grad(loss)(1.0, n=3), float)
assert_type(tg.grad(loss)({"a": 1.0}), dict[str, float])
assert_type(tg.grad(loss)(x, 3), Tensor)
assert_type(tg.value_and_grad(loss)(0.5), tuple[Any, float])
assert_type(tg.grad(tg.grad(tg.sin))(0.0), float)
tg.grad(loss, argnums=0)(a, 3)
tg.value_and_grad(lambda x, y: tg.sum(x * y), (0, 1))(a, a)
value, (x_bar, y_bar) = tg.value_and_grad(lambda x, y: tg.sum(x * y), [0, 1])(a, a)
tg.hessian(loss)(a)
assert_type(tg.grad(tg.jit(loss)).watched().ns, float)
assert_type(tg.jacobian(loss, mode="forward").explain()[0].reason, str)
tg.hvp(loss)(a, a)
tg.jacobian(lambda x: x**2, mode="forward")(a)
value, pullback = tg.vjp(loss, a)
pullback(1.0)
value, tangent = tg.jvp(loss, (a,), (a,))
assert_type(tg.stop_gradient(x), Tensor)
tg.check_grads(loss, (a,))


# Recorded functions: Tensors give what the function returns, arrays give arrays.
@tg.jit
def recorded(w: Tensor, v: Tensor, n: int = 2) -> Tensor:
    return tg.sum(w * v**n)


assert_type(recorded(x, x, n=3), Tensor)
assert_type(recorded(a, a), Any)
assert_type(tg.jit(lambda x: tg.sum(x))(x), Tensor)
assert_type(tg.grad(recorded)(a, a, n=3), np.ndarray[tuple[int], np.dtype[np.float64]])
assert_type(tg.grad(tg.jit(tg.grad(tg.sin)))(0.0), float)
tg.jit(loss, static_argnames="n", memory=1000)(a, 3)
print(recorded.tape(a, a))


# Custom ops.
@tg.custom_op("cube", vjp=lambda y_bar, y, x: 3 * x**2 * y_bar)
def cube(x: np.ndarray) -> np.ndarray:
    return np.asarray(x**3)


cube(x).sum().backward()


@cube.define_jvp
def cube_jvp(x_dots: Any, y: np.ndarray, x: np.ndarray) -> Any:
    return 3 * x**2 * x_dots[0]


solve = tg.custom_op("solve", np.linalg.solve)
solve(tg.eye(3), a)

# Optimisation, errors.
tg.optimize.minimize(loss, a, method="BFGS")
tg.optimize.least_squares(lambda p: p["a"] - a, {"a": a})
try:
    tg.check_tape()
except (tg.UnsupportedError, tg.errors.AnomalyError):
    print(tg.tape())
