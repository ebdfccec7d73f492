"""Mistakes: a type checker must say something of each line that ends with ``# error``, and of no other."""

import numpy as np

import tapegrad as tg
from tapegrad import Tensor

a = np.ones(3)
x = tg.tensor(a)


def loss(w: Tensor, n: int = 2) -> Tensor:
    return tg.sum(w**n)


# Names.
tg.sinn(x)  # error
tg.Tensr  # error
tg.optimize.minimise(loss, a)  # error
tg.errors.NoSuchError  # error
x.summ()  # error
x.gradient  # error
x.shape.size  # error
from tapegrad import relu6  # error

# Arguments.
tg.sin()  # error
tg.sin(x, x, x)  # error
tg.sin(x=x)  # error
tg.sin("x")  # error
tg.sin(None)  # error
tg.sin(object())  # error
tg.sin({"a": 1.0})  # error
tg.maximum(x)  # error
tg.where(x > 0, x)  # error
tg.sum(x, axes=0)  # error
tg.sum(x, axis="rows")  # error
tg.zeros((2, "3"))  # error
tg.tensor([1.0], requires_grad=True)  # error
tg.tensor()  # error
tg.concatenate(1.0)  # error
x.reshape("3")  # error
x.sum(keepdim=True)  # error
x.backward(retain=True)  # error
x.backward(inputs=1.0)  # error
x["a"]  # error
x[1.5]  # error
x.shape = (3, 1)  # error
x.register_hook(3)  # error

# Operators.
x + "1"  # error
None * x  # error
x += "a"  # error
x < "a"  # error
x.grad + 1  # error

# Transforms.
tg.grad(3)  # error
tg.grad(loss)()  # error
tg.grad(loss)(a, "2")  # error
tg.grad(loss)(a, m=2)  # error
tg.grad(loss)(a, 2, 3)  # error
tg.grad(loss, "w")  # error
tg.grad(loss)(a).backward()  # error
tg.value_and_grad(loss)(a)[2]  # error
value, gradient, rest = tg.value_and_grad(loss)(a)  # error
tg.jit(loss)()  # error
tg.jit(loss)(x, "2")  # error
tg.jit(loss)(x, m=2)  # error
tg.jit(loss).summ  # error
tg.jit(loss, static=1)  # error
tg.jacobian(loss, mode="backward")  # error
tg.vjp(loss, a)[1].pull  # error
tg.custom_op(loss)  # error
tg.custom_op("loss", loss, reverse=loss)  # error
tg.detect_anomaly(True)  # error
