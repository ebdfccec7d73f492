"""Shapes, and arrays that are made of them, reordered or joined."""

from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import (
    Expression,
    axes_text,
    listed,
    register_texts,
    tapegrad_funcify,
)
from tapegrad.interop.pytensor_graphs.functions import (
    join_dims,
    make_vector,
    reshape,
    specify_shape,
    split,
    split_dims,
)
from tapegrad.interop.pytensor_graphs.generations import axis_text

_basic: Any = needed("pytensor.tensor.basic", "pytensor")
_compile: Any = needed("pytensor.compile.ops", "pytensor")
_elemwise: Any = needed("pytensor.tensor.elemwise", "pytensor")
_extra: Any = needed("pytensor.tensor.extra_ops", "pytensor")
_reshape: Any = needed("pytensor.tensor.reshape", "pytensor")
_shape: Any = needed("pytensor.tensor.shape", "pytensor")


register_texts(
    {
        _shape.Shape: "np.array(np.shape({0}), 'int64')",
        _shape.Shape_i: "np.int64(np.shape({0})[{op.i}])",
        _basic.ARange: "np.arange({0}, {1}, {2}, dtype='{op.dtype}')",
        _basic.Eye: "np.eye(int({0}), int({1}), int({2}), dtype='{op.dtype}')",
        _basic.ExtractDiag: "np.diagonal({0}, {op.offset}, {op.axis1}, {op.axis2})",
        _extra.Repeat: "np.repeat({0}, {1}, axis={op.axis})",
        # Numbers and arrays without axes are one thing here.
        _basic.TensorFromScalar: "{0}",
        _basic.ScalarFromTensor: "{0}",
        _compile.DeepCopyOp: "{0}",
        _reshape.JoinDims: "<join_dims>({0}, {op.start_axis}, {op.n_axes})",
        _reshape.SplitDims: "<split_dims>({0}, {1}, {op.axis})",
        _compile.TypeCastingOp: "{0}",  # views, and arrays with names of axes (`pymc.dims`)
    },
    join_dims=join_dims,
    split_dims=split_dims,
)


@tapegrad_funcify.register(_elemwise.DimShuffle)
def _dim_shuffle(op: Any, **_: Any) -> Expression:
    """Return the text of dropped axes, then their order, then new ones."""
    text = "{0}"
    kept = [axis for axis in op.new_order if axis != "x"]
    if op.drop:
        text = f"np.squeeze({text}, {axes_text(op.drop)})"
    order = [sorted(kept).index(axis) for axis in kept]
    if order != sorted(order):
        text = f"np.transpose({text}, {tuple(order)})"
    if new := [axis for axis, old in enumerate(op.new_order) if old == "x"]:
        text = f"np.expand_dims({text}, {axes_text(new)})"
    return Expression(text)


@tapegrad_funcify.register(_shape.SpecifyShape)
def _specify_shape(op: Any, **_: Any) -> Any:
    return specify_shape


@tapegrad_funcify.register(_shape.Reshape)
def _reshaped(op: Any, node: Any = None, **_: Any) -> Expression:
    extents = getattr(node.inputs[1], "data", None)
    if extents is not None:
        return Expression(f"np.reshape({{0}}, {tuple(int(n) for n in extents)})")
    return Expression("<reshape>({0}, {1})", {"reshape": reshape})


@tapegrad_funcify.register(_basic.MakeVector)
def _make_vector(op: Any, node: Any = None, **_: Any) -> Expression:
    return Expression(
        f"<make_vector>('{op.dtype}', {listed(len(node.inputs))})", {"make_vector": make_vector}
    )


@tapegrad_funcify.register(_basic.Alloc)
def _alloc(op: Any, node: Any = None, **_: Any) -> Expression:
    extents = "".join(f"int({{{j}}}), " for j in range(1, len(node.inputs)))
    return Expression(f"np.broadcast_to({{0}}, ({extents}))")


@tapegrad_funcify.register(_basic.AllocEmpty)
def _alloc_empty(op: Any, node: Any = None, **_: Any) -> Expression:
    """Return the text of zeros: memory without contents is not to be read."""
    extents = "".join(f"int({{{j}}}), " for j in range(len(node.inputs)))
    return Expression(f"np.zeros(({extents}), '{op.dtype}')")


@tapegrad_funcify.register(_basic.Join)
def _join(op: Any, node: Any = None, **_: Any) -> Expression:
    parts = listed(len(node.inputs), 0 if hasattr(op, "axis") else 1)
    return Expression(f"np.concatenate(({parts},), axis={axis_text(op, 0)})")


@tapegrad_funcify.register(_basic.Split)
def _split(op: Any, node: Any = None, **_: Any) -> Expression:
    single = "[0]" if len(node.outputs) == 1 else ""
    return Expression(
        f"<split>({{0}}, {axis_text(op, 1)}, {{{len(node.inputs) - 1}}}){single}", {"split": split}
    )
