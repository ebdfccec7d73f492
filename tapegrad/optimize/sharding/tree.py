"""Sums in a fixed tree, whose bits do not depend on who adds which terms.

Node k of level l is the sum of the terms from ``k * 2**l`` up to ``(k + 1) * 2**l``; it is its left child plus its
right one, if there are terms in the latter. So the number of terms alone says in which order they are added, and
whoever has neighbouring terms can add those, and hand the nodes on. The error of such a sum grows with the logarithm of
the number of terms (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 4.2).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

Value = tuple[Any, ...]  # arrays, numbers, sparse matrices, or lists that are joined


class Node(NamedTuple):
    """Sum of the terms below a node of the tree."""

    level: int
    number: int
    value: Value


def nodes_of(values: Iterable[Value], first: int) -> list[Node]:
    """Return the fewest nodes that have neighbouring terms below them; arrays of `values` are added to.

    Parameters
    ----------
    values
        The terms, in order.
    first
        The number of the first one.
    """
    nodes: list[Node] = []
    for number, value in enumerate(values, first):
        _push(nodes, Node(0, number, value), True)
    return nodes


def joined(nodes: Iterable[Node]) -> list[Node]:
    """Return the fewest nodes that have the terms of these, in order; their arrays stay as they are."""
    joined: list[Node] = []
    for node in nodes:
        _push(joined, node, False)
    return joined


def total(nodes: Iterable[Node]) -> Value:
    """Return the sum of all terms, given nodes that have all of them, in order."""
    left = joined(nodes)
    value = left.pop().value
    while left:  # right children that have fewer terms than left ones
        value = _sum(left.pop().value, value, False)
    return tuple(map(_writable, value))


def _writable(value: Any) -> Any:
    """Return an array that its owner may write to; those of other processes may be in shared memory."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def _push(nodes: list[Node], node: Node, own: bool) -> None:
    """Append a node, added to its left siblings."""
    level, number, value = node
    while number & 1 and nodes and nodes[-1][:2] == (level, number - 1):
        level, number, value = level + 1, number >> 1, _sum(nodes.pop().value, value, own)
    nodes.append(Node(level, number, value))


def _sum(left: Value, right: Value, own: bool) -> Value:
    return tuple([_added(a, b, own) for a, b in zip(left, right, strict=True)])


def _added(a: Any, b: Any, own: bool) -> Any:
    if own and type(a) is np.ndarray and a.shape == b.shape:
        a += b
        return a
    return a + b
