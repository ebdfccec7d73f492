"""Rewrites of PyTensor's graphs for recordings: checks of parameters, moved to the number that all is summed to."""

import functools
from typing import Any

from tapegrad.interop.packages import needed

REWRITES = "canonicalize", "stabilize"  # PyTensor's own, by their names
# Elementwise functions of a check's value that are nan where the check fails, whatever the other operands are.
_PASSED_BY = ("Add", "Sub", "Mul", "Neg")


@functools.cache
def lift_checks() -> Any:
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

    rewriter = basic.node_rewriter([total, elemwise.Elemwise, elemwise.DimShuffle, checks])(lift)
    return basic.EquilibriumGraphRewriter([rewriter], max_use_ratio=100)
