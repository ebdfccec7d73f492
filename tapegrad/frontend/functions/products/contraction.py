"""Contraction plans of sums of products by subscripts: views, sums, multiplications and matrix products.

Operands are contracted in pairs. Each becomes a stack of matrices by views, and by a copy only if its memory does not
allow a view, so that BLAS does the work. A plan depends on the subscripts and shapes alone, and is cached.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.products.subscripts import Label, Labels, Subscripts, check_extents, parse
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.recording.shape import reshape, transpose
from tapegrad.frontend.tensor.tensor import Tensor, view_of

Shape = tuple[int, ...]
Path = tuple[tuple[int, ...], ...]


class ContractionStep(NamedTuple):
    """Function of one value and an argument, or of two values, by their numbers."""

    function: Callable[[Any, Any], Any]
    number: int
    argument: Any
    other: int = -1


class Term(NamedTuple):
    """Factor: the number of its value, and the labels and extents of its dimensions."""

    number: int
    labels: Labels
    shape: Shape

    @property
    def extents(self) -> dict[Label, int]:
        """The extent of each label."""
        return dict(zip(self.labels, self.shape, strict=True))


def run(steps: Iterable[ContractionStep], values: list[Any]) -> Any:
    """Return the last value that a plan computes from operands."""
    for function, number, argument, other in steps:
        values.append(function(values[number], argument if other < 0 else values[other]))
    return values[-1]


@functools.lru_cache(512)
def plan(text: str, shapes: tuple[Shape, ...], optimize: Any) -> tuple[ContractionStep, ...]:
    """Return the steps from operands of these shapes to the result; none if the result is the operand."""
    subscripts = parse(text, tuple(map(len, shapes)))
    check_extents(subscripts, shapes)
    return _Planner(subscripts, shapes).steps_to_result(optimize)


@functools.lru_cache(512)
def plan_of_axes(shapes: tuple[Shape, Shape], own: Shape, others: Shape) -> tuple[ContractionStep, ...]:
    """Return the steps from two operands to their sum of products over pairs of axes."""
    first = tuple(f"x{k}" for k in range(len(shapes[0])))
    pairs = dict(zip(others, own, strict=True))
    second = tuple(f"x{pairs[k]}" if k in pairs else f"y{k}" for k in range(len(shapes[1])))
    result = tuple(label for label in (*first, *second) if (label in first) is not (label in second))
    return _Planner(Subscripts((first, second), result), shapes).steps_to_result(False)


def _products_added_to_zero(a: Any, b: Any) -> Any:
    """Return products as NumPy's sums of single ones, which begin at +0: behind a branch cut -0 is another number."""
    products = a * b
    return products + 0.0 if products.dtype.kind == "c" else products


def _on_diagonal(x: Tensor, numbers: tuple[list[int], list[int]]) -> Tensor:
    """Return a view in which each label, given as a number, occurs once."""
    return view_of(x, np.einsum(x.data_or_traced(), *numbers))


class _Planner:
    """Builder of the steps for given subscripts and shapes."""

    def __init__(self, subscripts: Subscripts, shapes: tuple[Shape, ...]) -> None:
        self.result, self.multiply = subscripts.result, operator.mul
        self.steps: list[ContractionStep] = []
        self.count = len(shapes)  # number of values so far
        terms = [
            self.on_diagonal(Term(number, labels, shape))
            for number, (labels, shape) in enumerate(zip(subscripts.operands, shapes, strict=True))
        ]
        self.terms = [
            self.summed(term, self.wanted([*terms[:k], *terms[k + 1 :]])) for k, term in enumerate(terms)
        ]

    def steps_to_result(self, optimize: Any) -> tuple[ContractionStep, ...]:
        """Contract the terms along a path, and transpose the result's dimensions."""
        terms = self.terms
        if not optimize:
            self.multiply = _products_added_to_zero
        for positions in _path(terms, self.result, optimize):
            chosen = [terms.pop(k) for k in sorted(positions, reverse=True)][::-1]
            terms.append(self.joined(chosen, self.wanted(terms)))
        self.arranged(terms[0], list(self.result))
        return tuple(self.steps)

    def wanted(self, terms: Iterable[Term]) -> set[Label]:
        """Return the labels of some terms and of the result."""
        return set(self.result).union(*(term.labels for term in terms))

    # --- steps -----------------------------------------------------------------------------------------------------

    def step(self, function: Any, number: int, argument: Any, other: int = -1) -> int:
        """Add a step, and return the number of its value."""
        self.steps.append(ContractionStep(function, number, argument, other))
        self.count += 1
        return self.count - 1

    def reshaped(self, number: int, before: Shape, shape: Shape) -> int:
        return number if shape == before else self.step(reshape, number, shape)

    def on_diagonal(self, term: Term) -> Term:
        """Return a term without repeated labels: its diagonal."""
        once = tuple(dict.fromkeys(term.labels))
        if once == term.labels:
            return term
        numbers = [once.index(label) for label in term.labels], list(range(len(once)))
        extents = term.extents
        shape = tuple(extents[label] for label in once)
        return Term(self.step(_on_diagonal, term.number, numbers), once, shape)

    def summed(self, term: Term, wanted: set[Label]) -> Term:
        """Sum a term over the labels outside of `wanted`."""
        axes = tuple(k for k, label in enumerate(term.labels) if label not in wanted)
        return self.without(term, axes, total, axes) if axes else term

    def without_ones(self, term: Term, other: Term) -> Term:
        """Drop dimensions of extent 1 that broadcast against those of the other term."""
        extents = other.extents
        axes = tuple(k for k, e in enumerate(term.shape) if e == 1 and extents.get(term.labels[k], 1) != 1)
        shape = tuple(e for k, e in enumerate(term.shape) if k not in axes)
        return self.without(term, axes, reshape, shape) if axes else term

    def without(self, term: Term, axes: Shape, function: Any, argument: Any) -> Term:
        labels = tuple(label for k, label in enumerate(term.labels) if k not in axes)
        shape = tuple(e for k, e in enumerate(term.shape) if k not in axes)
        return Term(self.step(function, term.number, argument), labels, shape)

    def arranged(self, term: Term, labels: list[Label]) -> Term:
        """Transpose a term to another order of labels."""
        if list(term.labels) == labels:
            return term
        axes = tuple(term.labels.index(label) for label in labels)
        number = self.step(transpose, term.number, axes)
        return Term(number, tuple(labels), tuple(term.shape[k] for k in axes))

    # --- products --------------------------------------------------------------------------------------------------

    def joined(self, terms: list[Term], wanted: set[Label]) -> Term:
        """Contract several terms in sequence."""
        left = terms[0]
        for k, right in enumerate(terms[1:], 1):
            left = self.contracted(left, right, wanted.union(*(t.labels for t in terms[k + 1 :])))
        return left

    def contracted(self, a: Term, b: Term, wanted: set[Label]) -> Term:
        """Contract two terms: their product, summed over the labels outside of `wanted`."""
        a, b = self.without_ones(a, b), self.without_ones(b, a)
        a, b = self.summed(a, wanted.union(b.labels)), self.summed(b, wanted.union(a.labels))
        own, others = (
            self.as_in_result(label for label in t.labels if label not in u.labels)
            for t, u in ((a, b), (b, a))
        )
        common = [label for label in a.labels if label in b.labels]
        stacked = self.as_in_result(label for label in common if label in wanted)
        inner = [label for label in common if label not in wanted]
        if not inner:
            return self.multiplied(a, b, tuple(self.as_in_result([*stacked, *own, *others])))
        # The result's rows are those of b
        if others and (not own or self.as_in_result([*own, *others])[0] in others):
            a, b, own, others = b, a, others, own
        left, right = self.grouped(a, stacked, own, inner), self.grouped(b, stacked, inner, others)
        labels, extents = (*stacked, *own, *others), {**a.extents, **b.extents}
        shape = tuple(extents[label] for label in labels)
        product = self.step(matmul, left.number, None, right.number)
        made = (*left.shape[:-1], *right.shape[len(stacked) + 1 :])
        return Term(self.reshaped(product, made, shape), labels, shape)

    def multiplied(self, a: Term, b: Term, labels: Labels) -> Term:
        extents = {**a.extents, **b.extents}
        left, right = self.spread(a, labels), self.spread(b, labels)
        number = self.step(self.multiply, left, None, right)
        return Term(number, labels, tuple(extents[label] for label in labels))

    def spread(self, term: Term, labels: Labels) -> int:
        """Add a dimension of extent 1 for each label that a term lacks."""
        own = self.arranged(term, [label for label in labels if label in term.labels])
        extents = term.extents
        return self.reshaped(own.number, own.shape, tuple(extents.get(label, 1) for label in labels))

    def grouped(self, term: Term, stacked: list[Label], rows: list[Label], columns: list[Label]) -> Term:
        """Reshape a term to a stack of matrices: the labels of rows become one dimension, those of columns another.

        Without a stack, a term without rows or columns becomes a vector.
        """
        extents = term.extents
        own = self.arranged(term, [*stacked, *rows, *columns])
        groups = [group for group in (rows, columns) if group or stacked]
        sizes = (math.prod(extents[label] for label in group) for group in groups)
        shape = (*(extents[label] for label in stacked), *sizes)
        return Term(self.reshaped(own.number, own.shape, shape), (), shape)

    def as_in_result(self, labels: Iterable[Label]) -> list[Label]:
        """Return the labels in the order of the result, followed by those not in it."""
        result = self.result
        return sorted(labels, key=lambda label: result.index(label) if label in result else len(result))


def _path(terms: list[Term], result: Labels, optimize: Any) -> Path:
    """Return the positions of the operands in each contraction, in the form of `einsum_path`."""
    if len(terms) < 3:
        return ((0, 1),)[: len(terms) - 1]
    if isinstance(optimize, tuple) and optimize[:1] == ("einsum_path",):
        return optimize[1:]
    numbers = {label: k for k, label in enumerate(dict.fromkeys(label for t in terms for label in t.labels))}
    arguments: list[Any] = []
    for term in terms:
        arguments += [np.broadcast_to(0.0, term.shape), [numbers[label] for label in term.labels]]
    found, _ = np.einsum_path(*arguments, [numbers[label] for label in result], optimize=optimize or "greedy")
    return tuple(found[1:])
