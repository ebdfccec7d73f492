"""The text of a partial, differentiated by the rows that it names.

This is what derivatives of higher order on Tensors do, in the plainest form: numbers that carry a tangent.
"""

import ast
import functools
import itertools

import numpy as np

from helpers.texts_by_numpy import evaluate_numpy
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


def is_known(op: Op, *numbers: int) -> bool:
    """Return whether rows state the derivative by operands `numbers`, one after the other: first by `numbers[0]`.

    Facts are `Op.unknown` of the row, and of the rows that its partials name.
    """
    if not numbers:
        return True
    first, *rest = numbers
    return first not in op.unknown and _is_known_text(op, op.partials[first], tuple(rest))


@functools.cache
def _is_known_text(op: Op, text: str, numbers: tuple[int, ...]) -> bool:
    """Return whether the text of a partial can be differentiated by operands of its row."""
    if not numbers:
        return True
    tree = ast.parse(text, mode="eval")
    return ("y" not in _moving_names(tree) or is_known(op, *numbers)) and all(
        is_known(BY_NAME[call.func.id], *operands)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and call.func.id in BY_NAME
        for operands in itertools.product(*(_dependent(op, call, k) for k in numbers))
    )


def _dependent(op: Op, call: ast.Call, k: int) -> list[int]:
    """Return the arguments of a call that depend on operand `k` of the row."""
    moving = {f"x{k}"} if op.partials[k] == "0" else {f"x{k}", "y"}
    row = BY_NAME[call.func.id]
    return [
        j
        for j, argument in enumerate(call.args)
        if j not in row.boolean_operands and not moving.isdisjoint(_moving_names(argument))
    ]


def _moving_names(node: ast.AST) -> set[str]:
    """Return the names in an expression outside of its comparisons, whose derivatives are 0."""
    if isinstance(node, ast.Name):
        return {node.id}
    inner = [] if isinstance(node, ast.Compare) else ast.iter_child_nodes(node)
    return set().union(*map(_moving_names, inner))


def differentiated(op: Op, order: int = 1) -> list[int]:
    """Return the most operands by which all derivatives of an order are known, mixed ones too."""
    free = [j for j in range(op.arity) if j not in op.boolean_operands]
    for count in range(len(free), 0, -1):
        for numbers in itertools.combinations(free, count):
            if all(is_known(op, *each) for each in itertools.product(numbers, repeat=order)):
                return list(numbers)
    return []
