"""Sums, extremes, softmax, cumulative sums and sorting."""

from typing import Any

from tapegrad import special
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import (
    Expression,
    axes_text,
    register_texts,
    tapegrad_funcify,
)
from tapegrad.interop.pytensor_graphs.functions import cast, log_add_exp
from tapegrad.interop.pytensor_graphs.generations import MovedNames, axis_text

_elemwise: Any = needed("pytensor.tensor.elemwise", "pytensor")
_extra: Any = needed("pytensor.tensor.extra_ops", "pytensor")
_math: Any = needed("pytensor.tensor.math", "pytensor")
_sort: Any = needed("pytensor.tensor.sort", "pytensor")
_special: Any = MovedNames("pytensor.tensor.special")

register_texts(
    {
        _special.Softmax: "<softmax>({0}, axis={op.axis})",
        _special.LogSoftmax: "<log_softmax>({0}, axis={op.axis})",
        # PyTensor 3 has these as graphs, which its rewrites would turn into the same Ops again
        _special.LogSumExp: "<logsumexp>({0}, axis={op.axis})",
        _special.XLogY: "special.xlogy({0}, {1})",
        _special.XLog1PY: "special.xlog1py({0}, {1})",
        # of the cotangent of softmax's result, and the result
        _special.SoftmaxGrad: "({0} - np.sum({0} * {1}, axis={op.axis}, keepdims=True)) * {1}",
    },
    softmax=special.softmax,
    log_softmax=special.log_softmax,
    logsumexp=special.logsumexp,
)


@tapegrad_funcify.register(_special.LogAddExp)
def _log_add_exp(op: Any, **_: Any) -> Any:
    return log_add_exp


@tapegrad_funcify.register(_sort.SortOp)
@tapegrad_funcify.register(_sort.ArgSortOp)
def _sorted(op: Any, **_: Any) -> Expression:
    name = "sort" if isinstance(op, _sort.SortOp) else "argsort"
    return Expression(f"np.{name}({{0}}, axis={axis_text(op, 1)})")


# By the names of the scalar Ops that reduce.
_REDUCTIONS = {
    "Add": "np.sum", "Mul": "np.prod", "Maximum": "np.max", "Minimum": "np.min", "AND": "np.all", "OR": "np.any",
}  # fmt: skip


@tapegrad_funcify.register(_elemwise.CAReduce)
def _reduce(op: Any, node: Any = None, **_: Any) -> Expression:
    given, wanted = node.inputs[0].type.dtype, node.outputs[0].type.dtype
    name = _REDUCTIONS.get(type(op.scalar_op).__name__)
    if name is None or (name in ("np.all", "np.any") and given != "bool"):
        raise NotImplementedError(
            f"tapegrad.interop: {op} reduces {given} by {op.scalar_op}, which is not known here"
        )
    axis = (
        "" if op.axis is None or len(op.axis) == node.inputs[0].type.ndim else f", axis={axes_text(op.axis)}"
    )
    text = f"{name}({{0}}{axis})"
    return Expression(f"<cast>({text}, '{wanted}')", {"cast": cast}) if given != wanted else Expression(text)


@tapegrad_funcify.register(_math.Argmax)
def _argmax(op: Any, node: Any = None, **_: Any) -> Expression:
    ndim = node.inputs[0].type.ndim
    if op.axis is None or len(op.axis) == ndim:
        return Expression("np.argmax({0})")
    if len(op.axis) == 1:
        return Expression(f"np.argmax({{0}}, axis={op.axis[0]})")
    kept = [axis for axis in range(ndim) if axis not in op.axis]
    moved = f"np.transpose({{0}}, {(*kept, *op.axis)})"
    return Expression(f"np.argmax(np.reshape({moved}, (*np.shape({moved})[:{len(kept)}], -1)), axis=-1)")


@tapegrad_funcify.register(_extra.CumOp)
def _cumulative(op: Any, **_: Any) -> Expression:
    return Expression(f"np.cum{'sum' if op.mode == 'add' else 'prod'}({{0}}, axis={op.axis})")


@tapegrad_funcify.register(_extra.SearchsortedOp)
def _searchsorted(op: Any, node: Any = None, **_: Any) -> Expression:
    sorter = ", sorter={2}" if len(node.inputs) == 3 else ""
    return Expression(f"np.searchsorted({{0}}, {{1}}, side='{op.side}'{sorter})")
