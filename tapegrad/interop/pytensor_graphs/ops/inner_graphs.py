"""Ops around graphs and values: loops, branches, checks, batches, and graphs that are Ops."""

from collections.abc import Callable
from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, listed, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import check, choose, over_batch
from tapegrad.interop.pytensor_graphs.generations import MovedNames, mutable
from tapegrad.interop.pytensor_graphs.loops import LoopLayout, run_loop
from tapegrad.interop.pytensor_graphs.ops.linear import TAKES_STACKS
from tapegrad.interop.pytensor_graphs.rewrites import REWRITES, rewrite
from tapegrad.interop.pytensor_graphs.writer import write_function

_basic: Any = needed("pytensor.scalar.basic", "pytensor")
_blockwise: Any = needed("pytensor.tensor.blockwise", "pytensor")
_builders: Any = MovedNames("pytensor.compile.builders")
_ifelse: Any = MovedNames("pytensor.conditional.op", "pytensor.ifelse")
_math: Any = needed("pytensor.tensor.math", "pytensor")
_raise: Any = needed("pytensor.raise_op", "pytensor")
_scan: Any = needed("pytensor.scan.op", "pytensor")


def _written(name: str, graph: Any, *, as_list: bool) -> Callable[..., Any]:
    """Return the function of a graph inside of an Op, rewritten as the graph around it has been."""
    own = mutable(graph)
    rewrite(own, REWRITES)
    return _plainly_written(name, own, as_list=as_list)


def _plainly_written(name: str, own: Any, *, as_list: bool) -> Callable[..., Any]:
    return write_function(name, own.inputs, own.outputs, own.toposort(), as_list=as_list)


@tapegrad_funcify.register(_scan.Scan)
def _loop(op: Any, node: Any = None, **_: Any) -> Expression:
    step = _written("step", op.fgraph, as_list=True)
    return Expression(f"<run_loop>(<step>, <layout>, {listed(len(node.inputs))})", {
        "run_loop": run_loop, "step": step, "layout": LoopLayout.of(op.info),
    })  # fmt: skip


@tapegrad_funcify.register(_builders.OpFromGraph)
def _graph(op: Any, node: Any = None, **_: Any) -> Any:
    return _written("inner", op.fgraph, as_list=len(node.outputs) > 1)


@tapegrad_funcify.register(_builders.SymbolicOp)
def _symbolic(op: Any, node: Any = None, **_: Any) -> Any:
    """Return the function of a graph that PyTensor keeps from its rewrites."""
    return _plainly_written("inner", op.fgraph, as_list=len(node.outputs) > 1)


@tapegrad_funcify.register(_basic.ScalarInnerGraphOp)
def _scalar_graph(op: Any, node: Any = None, **kwargs: Any) -> Any:
    if not isinstance(op, _basic.Composite):
        return tapegrad_funcify.dispatch(object)(op, node=node, **kwargs)
    return _plainly_written("inner", op.fgraph, as_list=len(op.fgraph.outputs) > 1)


@tapegrad_funcify.register(_ifelse.IfElse)
def _branch(op: Any, node: Any = None, **_: Any) -> Expression:
    return Expression(f"<choose>({{0}}, {op.n_outs}, {listed(len(node.inputs), 1)})", {"choose": choose})


@tapegrad_funcify.register(_raise.CheckAndRaise)
def _check(op: Any, node: Any = None, **_: Any) -> Expression:
    message = repr(str(op.msg)).replace("{", "{{").replace("}", "}}")
    return Expression(f"<check>({{0}}, {message}, {listed(len(node.inputs), 1)})", {"check": check})


@tapegrad_funcify.register(_blockwise.Blockwise)
def _batch(op: Any, node: Any = None, **kwargs: Any) -> Any:
    core = op._create_dummy_core_node(node.inputs)  # noqa: SLF001  as PyTensor's own backends do
    if isinstance(op.core_op, TAKES_STACKS) or _is_matmul(op):
        return tapegrad_funcify(op.core_op, node=core, **kwargs)
    function = write_function(
        type(op.core_op).__name__, core.inputs, core.outputs, [core], as_list=len(core.outputs) > 1
    )
    ndims = tuple(len(each) for each in op.inputs_sig)
    return Expression(
        f"<over_batch>(<core>, {ndims}, {listed(len(node.inputs))})",
        {"over_batch": over_batch, "core": function},
    )


def _is_matmul(op: Any) -> bool:
    """Return whether an Op is a product of matrices in its cores; of vectors `@` has other stacks."""
    return isinstance(op.core_op, _math.Dot) and all(len(each) == 2 for each in op.inputs_sig)
