"""Rows of the op table evaluated by mpmath, at as many digits as a test asks for.

`MP` says what each function is, by the name of its row: it gives the functions in a row's texts their values, and is
the independent formula that the primal of the row is tested against.
"""

import math

import mpmath as mp
import numpy as np

from helpers.special_oracle import SPECIAL, constants
from tapegrad.engine.kernels.language.library import COMPILED, COMPLEX_SCIPY, SCIPY
from tapegrad.ops import ELEMENTWISE, Op, evaluate, names_in

DIFFERENTIABLE = [
    op for op in ELEMENTWISE if op.takes_real and not op.predicate and op.differentiable_operands
]
MP = {
    **SPECIAL,
    "where": lambda condition, x, y: x if condition else y,
    "square": lambda x: x * x, "absolute": mp.fabs, "sqrt": mp.sqrt, "power": mp.power,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(mp.fabs(x)),
    "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arctan2": mp.atan2, "hypot": mp.hypot,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "arcsinh": mp.asinh, "arccosh": mp.acosh,
    "arctanh": mp.atanh, "maximum": max, "minimum": min, "fmax": max, "fmin": min, "sign": mp.sign,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "logaddexp2": lambda x, y: mp.log(mp.power(2, x) + mp.power(2, y), 2),
    "masked_multiply": lambda x, y: x * y if x and y else mp.mpf(0),
    "relu": lambda x: x if x > 0 else mp.mpf(0),
    "clip": lambda x, low, high: high if max(x, low) > high else max(x, low),
    "sigmoid": lambda x: (1 + mp.tanh(x / 2)) / 2, "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "complex_sign": mp.sign, "complex_tan": mp.tan,
    "add_real": lambda x, y: x + y, "multiply_real": lambda x, y: x * y, "divide_by_real": lambda x, y: x / y,
    "subtract_real": lambda x, y: x - y, "subtract_from_real": lambda x, y: x - y,
    "masked_multiply_real": lambda x, y: x * y if x and y else mp.mpf(0),
    "conjugate": mp.conj, "angle": mp.arg, "real": mp.re, "imag": mp.im, "isinf": mp.isinf,
    "isfinite": mp.isfinite, "sinc": lambda x: mp.sin(mp.pi * x) / (mp.pi * x) if x else mp.mpf(1),
    "floor": mp.floor, "ceil": mp.ceil, "rint": mp.nint,
    "trunc": lambda x: mp.floor(x) if x > 0 else mp.ceil(x),
    "remainder": lambda x, y: x - y * mp.floor(x / y), "floor_divide": lambda x, y: mp.floor(x / y),
    "fmod": lambda x, y: mp.sign(x) * (abs(x) - abs(y) * mp.floor(abs(x / y))),
    "copysign": lambda x, y: mp.fabs(x) if y >= 0 else -mp.fabs(x),
    "spacing": lambda x: mp.mpf(np.spacing(float(x))), "nextafter": lambda x, y: x + mp.mpf(np.spacing(float(x))),
}  # fmt: skip


def points(op: Op, count: int) -> list[tuple[float, ...]]:
    """Random operands of a row, and the ends of its domain."""
    rng = np.random.default_rng(len(op.name) + 100 * op.arity)
    inner = [tuple(float(rng.uniform(*domain)) for domain in op.domains) for _ in range(count)]
    ends = [tuple(domain[end] for domain in op.domains) for end in (0, 1)]
    rows = inner if _has_kink_at_the_ends(op) else inner + ends
    return [
        tuple(bool(x > 0.5) if j in op.boolean_operands else x for j, x in enumerate(row)) for row in rows
    ]


def _has_kink_at_the_ends(op: Op) -> bool:
    """Where both operands have one domain, its ends are ties; the rounding functions jump there."""
    return len(set(op.domains)) < op.arity or op.partials == ("0",)


def calls_scipy(op: Op) -> bool:
    """Return whether the primal or a partial calls a loop of SciPy's."""
    return any(names_in(text) & (SCIPY.keys() | COMPLEX_SCIPY.keys()) for text in (op.primal, *op.partials))


def has_slow_oracle(op: Op) -> bool:
    """Return whether mpmath takes long for a row: for SciPy's functions and for derivatives of incomplete integrals."""
    return calls_scipy(op) or op.name in COMPILED


def digits(op: Op) -> int:
    """Return how many digits a row needs where it is evaluated far out.

    A formula cancels in mpmath as it does in float64, ``1 + 1e-300`` needs 300 digits. mpmath's own special functions
    look after themselves, and take seconds at 700.
    """
    return 60 if has_slow_oracle(op) else 700


def exact_value(op: Op, row: tuple[float, ...]) -> object:
    """Return the function of a row at the operands, by `MP`; by the row's text if it is NumPy's and not in `MP`."""
    operands = operands_in_mp(row)
    if op.name in MP:
        return mp.mpmathify(MP[op.name](*operands))
    return mp.mpmathify(in_mp(op.primal, **{f"x{j}": x for j, x in enumerate(operands)}))


def in_mp(text: str, **values: object) -> object:
    return evaluate(text, {**MP, **constants()}, **values)


def operands_in_mp(row: tuple[float, ...]) -> list[object]:
    return [x if isinstance(x, bool) else mp.mpf(x) for x in row]


def is_close(value: object, expected: object, tolerance: float) -> bool:
    return bool(mp.fabs(mp.mpf(value) - expected) <= tolerance * mp.fabs(expected))


_LARGEST, _SMALLEST = mp.mpf(1.7e308), mp.mpf(10) ** -300


def agrees(value: float, exact: object, tolerance: float) -> bool:
    """Return whether a float is an exact real number: infinite if that is too large, anything tiny if it is tiny."""
    if mp.fabs(exact) > _LARGEST:
        return bool(value * mp.sign(exact) > _LARGEST)
    if not math.isfinite(value):
        return False
    return is_close(value, exact, tolerance) or bool(abs(mp.mpf(value) - exact) < _SMALLEST)
