"""Functions of complex numbers of the emitter, called on arrays; their NumPy counterparts, and their values exactly."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load, store
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.mathematics import COMPLEX_MATHEMATICS


class Promise(NamedTuple):
    """What is promised of a function, beside that it is its NumPy counterpart.

    Attributes
    ----------
    exact
        The function by mpmath.
    units
        Error of each part in its units in the last place.
    large
        The largest real and imaginary parts that its error is looked at for.
    numpy
        The NumPy counterpart.
    finite
        True if NumPy's has infinite or NaN parts where real arguments have real values.
    """

    exact: Callable[..., Any]
    units: float
    large: tuple[float, float] = (1e60, 1e60)
    numpy: Callable[..., Any] | None = None
    finite: bool = False


def _sigmoid(z: np.ndarray) -> np.ndarray:
    """Real numbers have real results, whose zeros have the signs that they have: it rises there."""
    value = np.where(z.real < 0, np.exp(z) / (1 + np.exp(z)), 1 / (1 + np.exp(-z)))
    return joined(value.real, np.where(z.imag == 0, z.imag, value.imag))


_ANY_ANGLE, _ANY_SIZE = (700.0, 1e12), (1e12, 700.0)

# Components that are differences are right relative to the absolute value: those of quotients and of what is computed
# by quotients, of powers, of expm1's real part.
PROMISES: dict[str, Promise] = {
    "divide": Promise(lambda z, w: z / w, 3, (1e60, 1e60)),
    "reciprocal": Promise(lambda z: 1 / z, 3),
    "absolute": Promise(abs, 1),
    "angle": Promise(mp.arg, 1),
    "sign": Promise(lambda z: z / abs(z), 2.5),
    "sqrt": Promise(mp.sqrt, 2.5),
    "exp": Promise(mp.exp, 2.5, _ANY_ANGLE),
    "exp2": Promise(lambda z: mp.exp(z * mp.log(2)), 3, (1000.0, 1e4)),
    "expm1": Promise(lambda z: mp.exp(z) - 1, 3, _ANY_ANGLE, finite=True),
    "sigmoid": Promise(lambda z: 1 / (1 + mp.exp(-z)), 6, (40.0, 2.5), _sigmoid, finite=True),
    "log": Promise(mp.log, 1),
    "log2": Promise(lambda z: mp.log(z) / mp.log(2), 1.5),
    "log10": Promise(lambda z: mp.log(z) / mp.log(10), 1.5),
    "log1p": Promise(lambda z: mp.log(1 + z), 1.5),
    "power": Promise(lambda z, w: mp.exp(w * mp.log(z)), 4),
    "sin": Promise(mp.sin, 2.5, _ANY_SIZE),
    "cos": Promise(mp.cos, 2.5, _ANY_SIZE),
    "tan": Promise(mp.tan, 2, (1e12, 340.0)),
    "sinh": Promise(mp.sinh, 2.5, _ANY_ANGLE),
    "cosh": Promise(mp.cosh, 2.5, _ANY_ANGLE),
    "tanh": Promise(mp.tanh, 2, (340.0, 1e12)),
    "arcsin": Promise(mp.asin, 3.5),
    "arccos": Promise(mp.acos, 3.5),
    "arctan": Promise(mp.atan, 3),
    "arcsinh": Promise(mp.asinh, 3.5),
    "arccosh": Promise(mp.acosh, 3.5),
    "arctanh": Promise(mp.atanh, 3),
}
# Functions of which only the absolute value of the error is small.
AS_A_WHOLE = ("divide", "expm1", "sigmoid", "power")


def arity(name: str) -> int:
    """Return the number of complex arguments."""
    return COMPLEX_MATHEMATICS[name].__code__.co_argcount // 2


def is_real(name: str) -> bool:
    """Return whether the result is real."""
    return COMPLEX_MATHEMATICS[name].__annotations__["return"] is Value


def joined(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """Make complex numbers of their parts, whose zeros keep their signs."""
    return np.stack(np.broadcast_arrays(re, im), axis=-1).astype(np.float64).view(np.complex128)[..., 0]


def counterpart(name: str) -> Callable[..., Any]:
    return PROMISES[name].numpy or getattr(np, name)


def _symbol(name: str, target: Target) -> str:
    return f"complex.loop.{name}.{target.lanes}"


def loop(name: str, target: Target) -> Body:
    """``void loop(n, ...)``, then the addresses of parts: of arguments, then of the result; whole vectors only."""
    count, results = 2 * arity(name), 2 - is_real(name)
    pointers = "".join(f", ptr %x{j}" for j in range(count + results))
    body = Body(target, f'define void @"{_symbol(name, target)}"(i64 %n{pointers})')
    with body.loop(body.constant(I64, 0), body.named(I64, "%n"), target.lanes) as i:
        bases = [body.named(POINTER, f"%x{j}") for j in range(count + results)]
        places = [element_at(base, Type("double"), i) for base in bases]
        given = COMPLEX_MATHEMATICS[name](*(load(place, body.vector("double")) for place in places[:count]))
        for value, place in zip((given,) if is_real(name) else given, places[count:], strict=True):
            store(value, place)
    body.ret("void")
    return body


@functools.cache
def vectorised(name: str, target: Target) -> Callable[..., np.ndarray]:
    """Return a function of the mathematics as a function of arrays."""
    code = machine.compile_source(machine.ModuleSource(machine.module_text([loop(name, target)])), target)
    (address,) = machine.load(code, _symbol(name, target))
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (2 * arity(name) + 2))(address)

    def function(*operands: np.ndarray) -> np.ndarray:
        room = (0, -len(operands[0]) % target.lanes)
        parts = [np.pad(part, room) for z in operands for part in (z.real, z.imag)]
        re, im = np.zeros((2, len(parts[0])))
        call(len(re), *(part.ctypes.data for part in (*parts, re, im)))
        count = len(operands[0])
        return re[:count] if is_real(name) else joined(re, im)[:count]

    return function
