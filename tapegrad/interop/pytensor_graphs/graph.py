"""`pytensor`: a graph of PyTensor's as a plain function of arrays or Tensors."""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.rewrites import REWRITES, check_loops, rewrite


def pytensor(outputs: Any, inputs: Any, *, rewrites: Sequence[str] = REWRITES) -> Callable[..., Any]:
    """Make a function of a graph of PyTensor's, for `jit`, `grad`, `vmap`, `compile` and all other transforms.

    Parameters
    ----------
    outputs : variable, or list of them
        What the function returns.
    inputs : variable, or list of them
        Its arguments, in this order.
    rewrites : sequence of str, default ("canonicalize", "stabilize")
        PyTensor's rewrites that the graph goes through first, by their names. These two write ``log(1 + exp(x))`` and
        its kin so that they do not overflow.

    Returns
    -------
    callable
        A function of arrays, numbers or Tensors, that returns an array or a Tensor, or a list of them if `outputs` is
        one. It is written as Python text, a line for each node, which is its attribute ``source``. Shared variables are
        read where they lie: a replay has their present values.

    Raises
    ------
    ModuleNotFoundError
        If PyTensor is not installed.
    NotImplementedError
        For a graph with a state of its own: Ops that draw random numbers, minibatches among them, and shared variables
        with an update. By the function, for an Op that is not known and depends on a Tensor (see `tapegrad_funcify`).

    Examples
    --------
    >>> import pytensor.tensor as pt, tapegrad as tg  # doctest: +SKIP
    >>> x = pt.vector("x")  # doctest: +SKIP
    >>> f = tg.interop.pytensor(pt.sum(pt.sin(x) ** 2), x)  # doctest: +SKIP
    >>> gradient = tg.jit(tg.grad(f))  # doctest: +SKIP
    """
    single = not isinstance(outputs, list | tuple)
    outputs = [outputs] if single else list(outputs)
    inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    return graph_function("graph", inputs, outputs, rewrites=rewrites, as_list=not single)


def graph_function(
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    *,
    rewrites: Sequence[str],
    as_list: bool,
    shapes: Sequence[tuple[int, ...]] | None = None,
    is_frozen: bool = False,
    updates_state: bool = False,
) -> Callable[..., Any]:
    """Return the function of a graph.

    Parameters
    ----------
    name
        The name of the function.
    inputs, outputs
        Variables.
    rewrites
        PyTensor's rewrites of the graph.
    as_list
        Whether the function returns a list.
    shapes
        The shapes of the inputs, if the function takes one vector of all their elements.
    is_frozen
        Whether shared variables are constants with their present values. Else they are read where they lie.
    updates_state
        Whether the caller updates shared variables, and runs functions that draw random numbers anew in each call. Else
        such graphs are refused.
    """
    graph, traversal = needed("pytensor.graph", "pytensor"), needed("pytensor.graph.traversal", "pytensor")
    kind = needed("pytensor.compile.sharedvalue", "pytensor").SharedVariable
    importlib.import_module("tapegrad.interop.pytensor_graphs.ops")
    if "pymc" in sys.modules:
        importlib.import_module("tapegrad.interop.pytensor_graphs.pymc_ops")
    writer = importlib.import_module("tapegrad.interop.pytensor_graphs.writer")
    shared = [
        each for each in traversal.graph_inputs(outputs) if isinstance(each, kind) and each not in inputs
    ]
    if not updates_state:
        _refuse_state("updates", [each for each in shared if each.default_update is not None])
    own = graph.FunctionGraph([*inputs, *shared], list(outputs), clone=True)
    if rewrites:
        rewrite(own, rewrites)
    else:
        check_loops(own)
    text = writer.FunctionText(name)
    for variable, each in zip(own.inputs[len(inputs) :], shared, strict=True):
        if is_frozen:
            text.set_constant(variable, each.get_value())
        else:
            text.read_shared(variable, each)
    arguments = own.inputs[: len(inputs)]
    if shapes is None:
        text.take(arguments)
    else:
        text.take_vector(arguments, shapes)
    function = text.finish(own.toposort(), own.outputs, as_list=as_list)
    if not updates_state:
        _refuse_state("draws random numbers by", function.draws)
    return function  # type: ignore[no-any-return]


def _refuse_state(does: str, parts: Sequence[Any]) -> None:
    """Refuse a graph with a state of its own, of which each recording would keep what it was."""
    if parts:
        raise NotImplementedError(
            f"tapegrad.interop: the graph {does} {', '.join(map(str, parts))}, and a recording would keep the values of"
            " its first call. Make what changes an input of the graph; in a model, write pm.Data for pm.Minibatch, and"
            " with_data(...) for another batch"
        )
