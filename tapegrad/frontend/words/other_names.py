"""Names of other libraries, and what is written here in their place: for errors about names that are not there."""

import functools
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Functions of autograd and JAX that have another name or another form here.
_INSTEAD = {
    "custom_jvp": "tg.custom_op, with a jvp",
    "custom_vjp": "tg.custom_op",
    "defjvp": "tg.custom_op, with a jvp",
    "defvjp": "op.define_vjp of a tg.custom_op; one function returns the cotangents of all arguments",
    "deriv": "tg.jvp(f, (x,), (1.0,))[1]",
    "elementwise_grad": "tg.grad(lambda x: tg.sum(f(x)))",
    "getval": "tg.stop_gradient",
    "grad_and_aux": "tg.grad(f, has_aux=True)",
    "grad_named": "tg.grad(f, argnums=the argument's position), or a dict of arguments",
    "hessian_tensor_product": "tg.hvp(f)(x, v)",
    "hessian_vector_product": "tg.hvp(f)(x, v)",
    "lax": "Python's if, while and for in tg.jit, and tg.stop_gradient",
    "linearize": "tg.jvp(f, (x,), (v,))",
    "make_ggnvp": "tg.vjp(f, x) and tg.jvp(f, (x,), (v,))",
    "make_hvp": "tg.hvp(f)(x, v)",
    "make_jaxpr": "tg.jit(f).tape(x)",
    "make_jvp": "tg.jvp(f, (x,), (v,))",
    "make_jvp_reversemode": "tg.jvp(f, (x,), (v,))",
    "make_vjp": "tg.vjp(f, x), which returns value and pullback",
    "multigrad_dict": "tg.grad(f) of a function of a dict",
    "primitive": "tg.custom_op",
    "pure_callback": "tg.custom_op",
    "ravel_pytree": "tg.flatten",
    "tensor_jacobian_product": "tg.vjp(f, x)[1](v)",
    "value_and_jacobian": "tg.jacobian(lambda x: (y := f(x), y), has_aux=True), which returns jacobian and value",
    "vector_jacobian_product": "tg.vjp(f, x)[1](v)",
}


def missing(module: str, names: Iterable[str], name: str) -> AttributeError:
    """Return the error for a name that a module does not have, with what to write in its place, if that is known."""
    # Not imported above: a process that makes no such mistake does without it. The search takes 5 ms, and libraries
    # (pytest, inspect) look for names such as `__wrapped__` in each module that they meet.
    is_private = name.startswith("_")
    near = [] if is_private else import_module("difflib").get_close_matches(name, names, 1, 0.8)
    instead = _INSTEAD.get(name) or (f"{module}.{near[0]}" if near else "")
    hint = f"; write {instead}" if name in _INSTEAD else f"; did you mean {instead}?" if instead else ""
    text = f"module {module!r} has no attribute {name!r}{hint}"
    return AttributeError(text, name=name, obj=None if hint else sys.modules[module])


def knows_argnum(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a transform: its error for autograd's argument `argnum` names `argnums`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if "argnum" in kwargs:
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument 'argnum'; did you mean 'argnums'?"
            )
        return function(*args, **kwargs)

    return call
