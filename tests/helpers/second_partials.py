"""The text of a partial, differentiated by the rows that it names, and where that is hardest.

This is what derivatives of higher order on Tensors do, in the plainest form: numbers that carry a tangent.
"""

import ast
import math

import numpy as np

from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops import BY_NAME, CONSTANTS, PRIMALS, Op, evaluate, names_in

_SYMBOLS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}


class Dual:
    """A number and its tangent. Every operation goes through the row of that name."""

    def __init__(self, value, dot):
        self.value, self.dot = np.float64(value), np.float64(dot)

    def __neg__(self):
        return by_row("negative", self)

    def __lt__(self, other):
        return self.value < value_of(other)

    def __le__(self, other):
        return self.value <= value_of(other)

    def __gt__(self, other):
        return self.value > value_of(other)

    def __ge__(self, other):
        return self.value >= value_of(other)

    def __eq__(self, other):
        return self.value == value_of(other)

    def __ne__(self, other):
        return self.value != value_of(other)


for _symbol, _row in _SYMBOLS.items():
    setattr(Dual, f"__{_symbol}__", lambda a, b, row=_row: by_row(row, a, b))
    setattr(Dual, f"__r{_symbol}__", lambda b, a, row=_row: by_row(row, a, b))


def value_of(operand):
    return operand.value if isinstance(operand, Dual) else operand


def dot_of(operand):
    return operand.dot if isinstance(operand, Dual) else 0.0


def by_row(name, *operands):
    """A row applied to duals: partials times tangents, zero times anything being zero."""
    op = BY_NAME[name]
    values = {f"x{j}": np.asarray(value_of(x)) for j, x in enumerate(operands)}
    y = evaluate_numpy(op.primal, **values)
    total = 0.0
    for operand, text in zip(operands, op.partials, strict=True):
        dot = dot_of(operand)
        partial = evaluate_numpy(text, **values, y=y)
        total += float(partial) * dot if dot != 0 and partial != 0 else 0.0
    return Dual(float(y), total)


def second(op: Op, j: int, k: int, operands) -> float:
    """The derivative by operand `k` of the text of the partial by operand `j`."""
    values = [x if isinstance(x, bool) else Dual(x, float(i == k)) for i, x in enumerate(operands)]
    names = {f"x{i}": x for i, x in enumerate(values)}
    y = by_row(op.name, *values)
    functions = names_in(op.partials[j]) - PRIMALS - CONSTANTS.keys()
    rules = {name: lambda *args, name=name: by_row(name, *args) for name in functions}
    return dot_of(evaluate(op.partials[j], rules, **names, y=y))


def is_refused(op: Op, j: int, k: int) -> bool:
    """Whether the partial by operand `j` depends on operand `k` by an operand of a row by which no partial is known."""
    calls = [node for node in ast.walk(ast.parse(op.partials[j], mode="eval")) if isinstance(node, ast.Call)]
    known = [(BY_NAME[call.func.id], call.args) for call in calls if call.func.id in BY_NAME]
    given = [args[operand] for row, args in known for operand in row.unknown]
    return any(isinstance(n, ast.Name) and n.id in (f"x{k}", "y") for node in given for n in ast.walk(node))


def differentiated(op: Op) -> list[int]:
    return [j for j in range(op.arity) if j not in op.boolean_operands and op.partials[j] != "nan"]


FAR = [
    ("sinc", [0.0, 1e-9, 1e-3, 0.2499, 0.2501, 0.7]), ("sigmoid", [-700.0, -40.0, 40.0, 300.0]),
    ("softplus", [-300.0, -40.0, 40.0, 300.0]), ("tanh", [-300.0, -30.0, 1e-9, 30.0, 300.0]),
    ("arcsinh", [-1e100, 1e-9, 1e8, 1e10]), ("expm1", [-50.0, 1e-9]), ("tan", [1e-9, 1.57]),
    ("arcsin", [1e-9, 1e-3, -0.999999]), ("arccos", [1e-9, 0.999999]), ("arctanh", [1e-9, -0.999999]),
    ("arccosh", [1 + 1e-9, 1e9]), ("arctan", [1e-9, 1e9]), ("lgamma", [1e-3, 1.46, 1e5]),
    ("digamma", [1e-3, 1e5]), ("erf", [1e-9, 20.0]), ("cosh", [1e-9, 300.0]),
    ("hypot", [(1e-9, 1.0), (1.0, 1e-9), (1e100, 3e100), (3.0, 4.0), (1.0, 0.0), (-2.0, 1e-5)]),
    ("arctan2", [(1e-9, 1.0), (1.0, 1e-9), (2.0, 0.0), (0.0, 2.0), (1e100, 3e100)]),
    ("logaddexp", [(2.0, 2.0), (300.0, 260.0), (260.0, 300.0), (0.0, 1e-9)]),
    ("logaddexp2", [(2.0, 2.0), (300.0, 260.0)]),
    ("power", [(2.0, 0.0), (2.0, 1.0), (1e-9, 3.0), (2.0, 2.0)]),
]  # fmt: skip


KINKS = [
    ("absolute", (0.0,), [[0.0]]),
    ("relu", (0.0,), [[0.0]]),
    ("maximum", (2.0, 2.0), [[0.0, 0.0], [0.0, 0.0]]),
    ("clip", (1.0, 1.0, 2.0), [[0.0] * 3] * 3),
    ("hypot", (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    ("arctan2", (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    ("logaddexp", (math.inf, math.inf), [[0.0, 0.0], [0.0, 0.0]]),
    ("sinc", (0.0,), [[-(math.pi**2) / 3]]),
    ("power", (0.0, 0.0), [[0.0, None], [None, None]]),
    ("power", (0.0, 1.0), [[0.0, None], [None, None]]),
    ("power", (0.0, 2.0), [[2.0, 0.0], [0.0, 0.0]]),
    ("power", (0.0, 3.0), [[0.0, 0.0], [0.0, 0.0]]),
    ("power", (-2.0, 3.0), [[-12.0, None], [None, None]]),
    ("sign", (0.0,), [[0.0]]),
]
