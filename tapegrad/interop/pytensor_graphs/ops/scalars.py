"""Elementwise functions of PyTensor as text: one table, by the names of its scalar Ops."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tapegrad import special
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, Unknown, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import log1mexp, round_away

_basic: Any = needed("pytensor.scalar.basic", "pytensor")
_elemwise: Any = needed("pytensor.tensor.elemwise", "pytensor")
_graph: Any = needed("pytensor.graph.basic", "pytensor")

# Operators of any number of operands, then of two.
_OPERATORS = {"Add": "+", "Mul": "*", "AND": "&", "OR": "|", "XOR": "^"}
_COMPARISONS = {"LT": "<", "GT": ">", "LE": "<=", "GE": ">=", "EQ": "==", "NEQ": "!="}

_TEXTS = {
    # arithmetic
    "Sub": "{0} - {1}",
    "TrueDiv": "{0} / {1}",
    "IntDiv": "{0} // {1}",
    "Mod": "{0} % {1}",
    "Pow": "{0} ** {1}",
    "Neg": "-{0}",
    "Reciprocal": "1.0 / {0}",
    "Sqr": "np.square({0})",
    "Abs": "np.abs({0})",
    "Sign": "np.sign({0})",
    "Maximum": "np.maximum({0}, {1})",
    "Minimum": "np.minimum({0}, {1})",
    "Clip": "np.clip({0}, {1}, {2})",
    "Ceil": "np.ceil({0})",
    "Floor": "np.floor({0})",
    "Trunc": "np.trunc({0})",
    "RoundHalfToEven": "np.rint({0})",
    "RoundHalfAwayFromZero": "<round_away>({0})",
    "Identity": "{0}",
    "Real": "{0}",
    "Conj": "{0}",
    "Second": "np.broadcast_to({1}, np.broadcast_shapes(np.shape({0}), np.shape({1})))",
    # conditions
    "IsNan": "np.isnan({0})",
    "IsInf": "np.isinf({0})",
    "Invert": "~{0}",
    # exponentials and powers
    "Sqrt": "np.sqrt({0})",
    "Exp": "np.exp({0})",
    "Exp2": "np.exp2({0})",
    "Expm1": "np.expm1({0})",
    "Log": "np.log({0})",
    "Log2": "np.log2({0})",
    "Log10": "np.log10({0})",
    "Log1p": "np.log1p({0})",
    "Log1mexp": "<log1mexp>({0})",
    "Softplus": "np.logaddexp({0}, 0.0)",
    "Sigmoid": "special.expit({0})",
    # circular and hyperbolic functions
    "Deg2Rad": "np.deg2rad({0})",
    "Rad2Deg": "np.rad2deg({0})",
    "Sin": "np.sin({0})",
    "Cos": "np.cos({0})",
    "Tan": "np.tan({0})",
    "ArcSin": "np.arcsin({0})",
    "ArcCos": "np.arccos({0})",
    "ArcTan": "np.arctan({0})",
    "ArcTan2": "np.arctan2({0}, {1})",
    "Sinh": "np.sinh({0})",
    "Cosh": "np.cosh({0})",
    "Tanh": "np.tanh({0})",
    "ArcSinh": "np.arcsinh({0})",
    "ArcCosh": "np.arccosh({0})",
    "ArcTanh": "np.arctanh({0})",
    # special functions
    "Erf": "special.erf({0})",
    "Erfc": "special.erfc({0})",
    "Erfcx": "special.erfcx({0})",
    "Erfinv": "special.erfinv({0})",
    "Erfcinv": "special.erfcinv({0})",
    "Owens_t": "special.owens_t({0}, {1})",
    "Gamma": "special.gamma({0})",
    "GammaLn": "special.gammaln({0})",
    "Psi": "special.psi({0})",
    "TriGamma": "<polygamma>(1, {0})",
    "PolyGamma": "<polygamma>({0}, {1})",
    "GammaInc": "special.gammainc({0}, {1})",
    "GammaIncC": "special.gammaincc({0}, {1})",
    "GammaIncInv": "special.gammaincinv({0}, {1})",
    "GammaIncCInv": "special.gammainccinv({0}, {1})",
    "GammaU": "special.gammaincc({0}, {1}) * special.gamma({0})",
    "GammaL": "special.gammainc({0}, {1}) * special.gamma({0})",
    "BetaInc": "special.betainc({0}, {1}, {2})",
    "BetaIncInv": "special.betaincinv({0}, {1}, {2})",
    "Hyp2F1": "special.hyp2f1({0}, {1}, {2}, {3})",
    "J0": "special.j0({0})",
    "J1": "special.j1({0})",
    "Jv": "special.jv({0}, {1})",
    "I0": "special.i0({0})",
    "I0e": "special.i0e({0})",
    "I1": "special.i1({0})",
    "I1e": "special.i1e({0})",
    "Iv": "special.iv({0}, {1})",
    "Ive": "special.ive({0}, {1})",
    "Kve": "special.kve({0}, {1})",
}  # fmt: skip
_VALUES: Mapping[str, Callable[..., Any]] = {
    "log1mexp": log1mexp, "polygamma": special.polygamma, "round_away": round_away,
}  # fmt: skip
# Powers that are written otherwise: faster, and exact.
_POWERS = {
    2.0: "np.square({0})",
    3.0: "np.square({0}) * {0}",
    0.5: "np.sqrt({0})",
    -0.5: "1.0 / np.sqrt({0})",
    -1.0: "1.0 / {0}",
    -2.0: "1.0 / np.square({0})",
}


@tapegrad_funcify.register(_basic.ScalarOp)
def _scalar(op: Any, node: Any = None, **_: Any) -> Any:
    return _expression(op, node)


@tapegrad_funcify.register(_elemwise.Elemwise)
def _elementwise(op: Any, node: Any = None, **kwargs: Any) -> Any:
    scalar = op.scalar_op
    if isinstance(scalar, _basic.ScalarInnerGraphOp):
        apart = [_basic.get_scalar_type(variable.type.dtype)() for variable in node.inputs]
        return tapegrad_funcify(scalar, node=scalar.make_node(*apart), **kwargs)
    return tapegrad_funcify(scalar, node=node, **kwargs)


def _expression(op: Any, node: Any) -> Any:
    """Return the text of a scalar Op, whose operands are cast where NumPy would compute in another dtype."""
    name = type(op).__name__
    given, dtype = [variable.type.dtype for variable in node.inputs], node.outputs[0].type.dtype
    cast_to = {j: dtype for j, each in enumerate(given) if dtype.startswith("float") and each != dtype}
    if name == "Cast":
        return Expression("{0}", dtypes={0: dtype})
    if name == "Switch":
        cast_to.pop(0, None)
        return Expression(
            "np.where({0}, {1}, {2})" if given[0] == "bool" else "np.where({0} != 0, {1}, {2})",
            dtypes=cast_to,
        )
    if name in _COMPARISONS:
        return Expression(f"{{0}} {_COMPARISONS[name]} {{1}}")
    text = f" {_OPERATORS[name]} ".join(f"{{{j}}}" for j in range(len(given))) if name in _OPERATORS else None
    if name == "Pow":
        text = _POWERS.get(_number(node.inputs[1]))
    text = text or _TEXTS.get(name)
    if text is None:
        return Unknown(node.op, node)
    if name == "Second":
        cast_to.pop(0, None)
    values = {name: value for name, value in _VALUES.items() if f"<{name}>" in text}
    return Expression(text, values, cast_to)


def _number(variable: Any) -> Any:
    """Return the number that a constant is, of whatever shape; `None` for others."""
    value = getattr(variable, "data", None) if isinstance(variable, _graph.Constant) else None
    return float(value.item()) if isinstance(value, np.ndarray | np.generic) and value.size == 1 else None
