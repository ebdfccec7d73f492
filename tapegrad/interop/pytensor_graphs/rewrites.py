"""Rewrites of PyTensor's graphs for recordings: checks behind sums, and logarithms of logistic functions."""

import functools
import sys
from collections.abc import Sequence
from typing import Any

from tapegrad.interop.packages import needed

REWRITES = "canonicalize", "stabilize"  # PyTensor's own, by their names
# Elementwise functions of a check's value that are nan where the check fails, whatever the other operands are.
_PASSED_BY = ("Add", "Sub", "Mul", "Neg")


def rewrite(graph: Any, names: Sequence[str]) -> None:
    """Apply PyTensor's rewrites by their names, then those of this module. Arrays with named axes become plain ones."""
    # where nothing has them, asking for their rewrite would keep PyTensor from ever registering it
    first = ("lower_xtensor",) if "pytensor.xtensor" in sys.modules else ()
    needed("pytensor.graph.rewriting.utils", "pytensor").rewrite_graph(
        graph, include=(*first, *names), custom_rewrite=_own_rewrites()
    )
    check_loops(graph)


def check_loops(graph: Any) -> None:
    """Refuse loops that a condition ends if another row than the last one is asked for: their length is data."""
    for node in graph.toposort():
        if getattr(getattr(node.op, "info", None), "as_while", False):
            arrays = len(node.outputs) - node.op.info.n_untraced_sit_sot
            if not all(_asks_for_the_end(graph, x) for x in node.outputs[:arrays]):
                raise NotImplementedError(
                    f"tapegrad.interop: {node.op} has a condition `until`, so that the length of its results is data,"
                    " and a recording has fixed shapes. Of each result take the last row, states[-1]; or write a number"
                    " of steps, and pt.switch for those after the end"
                )


def _asks_for_the_end(graph: Any, x: Any) -> bool:
    """Return whether all that is made of the rows of a loop is made of the last one."""
    for client, position in graph.clients[x]:
        if type(client.op).__name__ != "Subtensor" or position != 0:
            return False
        first = client.op.idx_list[0]
        if isinstance(first, slice):  # PyTensor cuts off the rows that the loop began with
            is_rest = first.stop is None and first.step is None and len(client.op.idx_list) == 1
            if not (is_rest and _asks_for_the_end(graph, client.outputs[0])):
                return False
        elif getattr(client.inputs[1], "data", None) != -1:
            return False
    return True


@functools.cache
def _own_rewrites() -> Any:
    """Return the rewrites of this module, which come behind PyTensor's own."""
    basic = needed("pytensor.graph.rewriting.basic", "pytensor")
    return basic.EquilibriumGraphRewriter(
        [_lift_checks(), _LogarithmsOfLogistic().rewriter()], max_use_ratio=100
    )


class _LogarithmsOfLogistic:
    """Rewrite of logarithms of a logistic function and of its complement to softplus.

    ``log1p(-move(sigmoid(x)))`` is ``-softplus(move(x))``, where a move changes the shape or takes elements. PyTensor
    looks for a negation next to both functions, which `canonicalize` has written as a product with -1.
    """

    def __init__(self) -> None:
        names = ("elemwise", "basic", "math", "shape", "subtensor")
        self._elemwise, self._tensor, self._maths, shape, subtensor = (
            needed(f"pytensor.tensor.{name}", "pytensor") for name in names
        )
        self._moves = (
            self._elemwise.DimShuffle
            | shape.Reshape
            | self._tensor.Alloc
            | subtensor.Subtensor
            | subtensor.AdvancedSubtensor
        )

    def rewriter(self) -> Any:
        """Return it as PyTensor takes it."""
        basic = needed("pytensor.graph.rewriting.basic", "pytensor")
        return basic.node_rewriter([self._elemwise.Elemwise])(self._rewritten)

    def _rewritten(self, fgraph: Any, node: Any) -> Any:
        name, x = self._kind(node), node.inputs[0]
        found = None
        if name == "Log":
            z = self._argument(x, 1)
            found = self._argument(x, 2) if z is None else -z
        elif name == "Log1p":
            found = self._argument(x, -1)
        if found is None or found.type.dtype != node.outputs[0].type.dtype:
            return None
        return [-self._maths.softplus(found)]

    def _argument(self, x: Any, sign: int) -> Any:
        """Return z of ``sigmoid(z)``, or of ``-sigmoid(z)`` or ``1 - sigmoid(z)`` with sign -1 or 2; else `None`."""
        node = x.owner
        if node is not None and isinstance(node.op, self._moves):
            inner = self._argument(node.inputs[0], sign)
            return None if inner is None else node.op(inner, *node.inputs[1:])
        name, operands = self._kind(node), [] if node is None else node.inputs
        if sign == 1:
            return operands[0] if name == "Sigmoid" else None
        if sign == 2:
            return self._argument(operands[1], 1) if name == "Sub" and self._is(operands[0], 1) else None
        if name == "Mul" and len(operands) == 2:
            operands = [each for each in operands if not self._is(each, -1)]
        return self._argument(operands[0], 1) if name in ("Neg", "Mul") and len(operands) == 1 else None

    def _kind(self, node: Any) -> str:
        is_elementwise = node is not None and isinstance(node.op, self._elemwise.Elemwise)
        return type(node.op.scalar_op).__name__ if is_elementwise else ""

    def _is(self, x: Any, number: int) -> bool:
        return isinstance(x, self._tensor.Constant) and x.data.size == 1 and x.data.item() == number


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
