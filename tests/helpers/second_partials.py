"""The text of a partial, differentiated by the rows that it names.

This is what derivatives of higher order on Tensors do, in the plainest form: numbers that carry a tangent.
"""

import ast

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
        total += float(partial) * float(dot) if dot != 0 and partial != 0 else 0.0
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
