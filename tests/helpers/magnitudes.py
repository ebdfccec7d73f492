"""Magnitudes of texts: sums of the sizes of terms, to which rounding errors of a partial that cancels are relative."""

import ast
import functools
from typing import Any

import numpy as np

from helpers.texts_by_numpy import evaluate_numpy
from tapegrad.ops import Op

# Kelvin's functions, which SciPy computes in float32 as sums of terms of size 1
_KELVINS = {"ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip"}
# Rows with a partial that is a difference of terms of size 1
_DIFFERENCES = {"entr", "rel_entr", "kl_div", "tklmbda", *_KELVINS}
# Public rows whose partials have the distance of the result to 1 as a factor, or such terms that cancel
_BESIDE_ONE = {"betaincinv", "betainccinv", "fdtri"}
_KEEPS_SIZES = {"masked_multiply", "square", "where"}


def _is_inside(op: Op) -> bool:
    """Return whether a row is a derivative of incomplete integrals, which has no name of its own."""
    return op.family == "incomplete" and not op.public


def is_noise_at_special_values(op: Op, dtype: str) -> bool:
    """Return whether terms of partials cancel at special values but for their rounding, even in their sign."""
    return _is_inside(op) and dtype == "f32"


@functools.cache
def size_of_terms(op: Op) -> float:
    """Return the size of the terms that partials are differences of, at most on the op's domain; 0 for other ops."""
    if not _is_inside(op) and op.name not in _BESIDE_ONE:
        return float(op.name in _DIFFERENCES)
    rng = np.random.default_rng(0)
    values = {f"x{j}": rng.uniform(*domain, 500) for j, domain in enumerate(op.domains)}
    values["y"] = evaluate_numpy(op.primal, **values)
    return max(float(magnitude(op, j, values).max()) for j in op.differentiable_operands)


def magnitude(op: Op, j: int, values: dict[str, Any]) -> Any:
    """Return the magnitude of the partial by operand `j`."""
    tree = ast.parse(op.partials[j], mode="eval").body
    return evaluate_numpy(ast.unparse(_sizes(tree)), **values)


def _sizes(node: ast.expr) -> ast.expr:
    """Return an expression of sizes: differences become sums, and values of functions are absolute."""
    if isinstance(node, ast.UnaryOp):
        return _sizes(node.operand)
    if isinstance(node, ast.BinOp):
        return _of_two(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KEEPS_SIZES:
        conditions = 1 if node.func.id == "where" else 0
        args = [x if k < conditions else _sizes(x) for k, x in enumerate(node.args)]
        return ast.Call(node.func, args, [])
    return _absolute(node)


def _of_two(node: ast.BinOp) -> ast.expr:
    left, right = _sizes(node.left), _sizes(node.right)
    if isinstance(node.op, ast.Add | ast.Sub):
        return ast.BinOp(left, ast.Add(), right)
    if isinstance(node.op, ast.Mult):
        return ast.BinOp(left, ast.Mult(), right)
    share = ast.BinOp(right, ast.Div(), _absolute(node.right))
    return ast.BinOp(ast.BinOp(left, ast.Mult(), share), ast.Div(), _absolute(node.right))


def _absolute(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("absolute", ast.Load()), [node], [])
