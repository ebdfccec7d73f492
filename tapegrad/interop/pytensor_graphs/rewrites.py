"""Rewrites of PyTensor's graphs for recordings: checks behind sums, and logarithms of logistic functions."""

import functools
from typing import Any

from tapegrad.interop.packages import needed

REWRITES = "canonicalize", "stabilize"  # PyTensor's own, by their names
# Elementwise functions of a check's value that are nan where the check fails, whatever the other operands are.
_PASSED_BY = ("Add", "Sub", "Mul", "Neg")


@functools.cache
def own_rewrites() -> Any:
    """Return the rewrites of this module, which come behind PyTensor's own."""
    basic = needed("pytensor.graph.rewriting.basic", "pytensor")
    return basic.EquilibriumGraphRewriter([_lift_checks(), _logarithms_of_logistic()], max_use_ratio=100)


def _logarithms_of_logistic() -> Any:
    """Return the rewrite of logarithms of a logistic function and of its complement to softplus.

    ``log1p(-move(sigmoid(x)))`` is ``-softplus(move(x))``, where a move changes the shape or takes elements. PyTensor
    looks for a negation next to both functions, which `canonicalize` has written as a product with -1.
    """
    basic = needed("pytensor.graph.rewriting.basic", "pytensor")
    elemwise = needed("pytensor.tensor.elemwise", "pytensor")
    maths, tensor = needed("pytensor.tensor.math", "pytensor"), needed("pytensor.tensor.basic", "pytensor")
    subtensor, shape = (
        needed("pytensor.tensor.subtensor", "pytensor"),
        needed("pytensor.tensor.shape", "pytensor"),
    )
    moves = (
        elemwise.DimShuffle | shape.Reshape | tensor.Alloc | subtensor.Subtensor | subtensor.AdvancedSubtensor
    )

    def kind(node: Any) -> str:
        is_elementwise = node is not None and isinstance(node.op, elemwise.Elemwise)
        return type(node.op.scalar_op).__name__ if is_elementwise else ""

    def is_number(x: Any, number: int) -> bool:
        return isinstance(x, tensor.Constant) and x.data.size == 1 and x.data.item() == number

    def argument(x: Any, sign: int) -> Any:
        """Return z of ``sigmoid(z)``, or of ``-sigmoid(z)`` or ``1 - sigmoid(z)`` with sign -1 or 2; else `None`."""
        node = x.owner
        if node is not None and isinstance(node.op, moves):
            inner = argument(node.inputs[0], sign)
            return None if inner is None else node.op(inner, *node.inputs[1:])
        name, operands = kind(node), [] if node is None else node.inputs
        if sign == 1:
            return operands[0] if name == "Sigmoid" else None
        if sign == 2:
            return argument(operands[1], 1) if name == "Sub" and is_number(operands[0], 1) else None
        if name == "Mul" and len(operands) == 2:
            operands = [each for each in operands if not is_number(each, -1)]
        return argument(operands[0], 1) if name in ("Neg", "Mul") and len(operands) == 1 else None

    def rewrite(fgraph: Any, node: Any) -> Any:
        name, x = kind(node), node.inputs[0]
        found = None
        if name == "Log":
            z = argument(x, 1)
            found = argument(x, 2) if z is None else -z
        elif name == "Log1p":
            found = argument(x, -1)
        if found is None or found.type.dtype != node.outputs[0].type.dtype:
            return None
        return [-maths.softplus(found)]

    return basic.node_rewriter([elemwise.Elemwise])(rewrite)


def _lift_checks() -> Any:
    """Return the rewrite that moves checks behind sums.

    ``sum(check(x, ok))`` is ``check(sum(x), ok)``: one choice between two numbers, not one for each element.
    """
    basic = needed("pytensor.graph.rewriting.basic", "pytensor")
    checks = needed("pytensor.raise_op", "pytensor").CheckAndRaise
    elemwise = needed("pytensor.tensor.elemwise", "pytensor")
    total = needed("pytensor.tensor.math", "pytensor").Sum

    def lets_pass(op: Any) -> bool:
        is_elementwise = isinstance(op, elemwise.Elemwise) and type(op.scalar_op).__name__ in _PASSED_BY
        return is_elementwise or isinstance(op, total | elemwise.DimShuffle)

    def lift(fgraph: Any, node: Any) -> Any:
        """Return a check around a node whose operands are checked."""
        if isinstance(node.op, checks):
            return merged(node)
        if not lets_pass(node.op):
            return None
        found = [x.owner for x in node.inputs if x.owner is not None and isinstance(x.owner.op, checks)]
        if not found:
            return None
        conditions = list(dict.fromkeys(c for each in found for c in each.inputs[1:]))
        operands = [x.owner.inputs[0] if x.owner in found else x for x in node.inputs]
        return [found[0].op(node.op(*operands), *conditions)]

    def merged(node: Any) -> Any:
        """Return one check for a check of a check."""
        inner = node.inputs[0].owner
        if inner is None or not isinstance(inner.op, checks):
            return None
        conditions = list(dict.fromkeys([*inner.inputs[1:], *node.inputs[1:]]))
        return [inner.op(inner.inputs[0], *conditions)]

    return basic.node_rewriter([total, elemwise.Elemwise, elemwise.DimShuffle, checks])(lift)
