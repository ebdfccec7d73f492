"""`pytensor_op`: a function of ours as an Op of PyTensor's, so that it stands in a model of PyMC's."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.interop.frameworks.derived import Derived
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import tapegrad_funcify
from tapegrad.pytree import flatten
from tapegrad.transforms.compiled.compiled import compile


def pytensor_op(function: Callable[..., Any], *x0: Any) -> Any:
    """Make an Op of PyTensor's of a function, with its gradient: a likelihood in NumPy inside of a model of PyMC's.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers that returns an array, or a tuple of arrays. It is written with NumPy's,
        SciPy's or tapegrad's functions.
    *x0 : arrays or numbers
        An example of each argument. It says how many axes each has, and those of the results. Numba, which compiles a
        function for one set of shapes, takes its shapes.

    Returns
    -------
    pytensor.graph.Op
        Call it with PyTensor's variables. Its derivatives, of any order, are such Ops. PyTensor's C and Python backends
        replay it; with ``mode="NUMBA"``, and by nutpie, it is called in compiled code without Python;
        `tapegrad.interop.pymc` and `pytensor` record the function itself.

    Raises
    ------
    ModuleNotFoundError
        If PyTensor is not installed.
    TypeError
        If there is no example, or an argument has another number of axes than its example.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def log_likelihood(theta, sigma):
    ...     return -0.5 * np.sum((data - model(theta)) ** 2) / sigma**2 - data.size * np.log(sigma)
    >>> op = tg.interop.pytensor_op(log_likelihood, np.zeros(3), 1.0)  # doctest: +SKIP
    >>> with pm.Model():  # doctest: +SKIP
    ...     theta, sigma = pm.Normal("theta", shape=3), pm.HalfNormal("sigma")
    ...     pm.Potential("likelihood", op(theta, sigma))
    """
    check_function("interop.pytensor_op", function)
    if not x0:
        raise TypeError(
            f"interop.pytensor_op needs an example of each argument of {name_of(function)}, which says how many axes it"
            f" has: pytensor_op({name_of(function)}, np.zeros(3), 1.0)"
        )
    examples = [np.asarray(x, float if np.asarray(x).dtype.kind == "f" else None) for x in x0]
    return _op_class()(Derived(function), examples, name_of(function))


class _Signature:
    """The arguments and results of a function, by an example.

    Attributes
    ----------
    examples
        An array for each argument.
    results
        An array for each result.
    returns_tuple
        Whether the function returns a tuple.
    """

    def __init__(self, operation: Derived, examples: Sequence[np.ndarray]) -> None:
        found = operation.value(_arguments(examples))
        leaves, _ = flatten(found)
        self.examples = list(examples)
        self.results = [np.asarray(leaf) for leaf in leaves]
        self.returns_tuple = isinstance(found, tuple | list)


def _arguments(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays without axes as NumPy's numbers, which replays take as they take floats."""
    return [np.asarray(x)[()] for x in arrays]


@functools.cache
def _op_class() -> Any:
    """Return the class of Ops, which is derived from PyTensor's."""
    graph, tensor = needed("pytensor.graph", "pytensor"), needed("pytensor.tensor", "pytensor")
    gradient = needed("pytensor.gradient", "pytensor")

    class FunctionOp(graph.Op):  # type: ignore[misc, name-defined]  # PyTensor is imported late
        """A function that is replayed, and its derivatives."""

        def __init__(self, operation: Derived, examples: Sequence[np.ndarray], name: str) -> None:
            self.operation, self.name = operation, name
            self.signature = _Signature(operation, examples)

        def __str__(self) -> str:
            return f"tapegrad({self.name})"

        def make_node(self, *inputs: Any) -> Any:
            """Return the use of the Op with these variables."""
            examples = self.signature.examples
            if len(inputs) != len(examples):
                raise TypeError(f"{self} takes {len(examples)} arguments, but got {len(inputs)}")
            variables = [self._variable(j, x) for j, x in enumerate(inputs)]
            known = all(x.type.shape == e.shape for x, e in zip(variables, examples, strict=True))
            outputs = [
                tensor.tensor(dtype=r.dtype, shape=r.shape if known else (None,) * r.ndim)
                for r in self.signature.results
            ]
            return graph.Apply(self, variables, outputs)

        def _variable(self, j: int, x: Any) -> Any:
            """Return an argument as a variable of the dtype of its example."""
            example = self.signature.examples[j]
            if not hasattr(x, "type"):
                x = np.asarray(x, example.dtype)  # PyTensor makes float32 of Python's 0.5
            variable = tensor.as_tensor_variable(x)
            if variable.type.ndim != example.ndim:
                raise TypeError(
                    f"{self}: argument {j} has {variable.type.ndim} axes, but its example has shape {example.shape}"
                )
            is_right = variable.type.dtype == example.dtype
            return variable if is_right else tensor.cast(variable, example.dtype)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            """Replay the function."""
            leaves, _ = flatten(self.operation.value(_arguments(inputs)))
            for storage, leaf, variable in zip(output_storage, leaves, node.outputs, strict=True):
                storage[0] = np.asarray(leaf, variable.type.dtype)

        def pullback(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
            """Return the cotangents of the inputs."""
            wanted = tuple(j for j, e in enumerate(self.signature.examples) if e.dtype.kind == "f")
            given = [
                tensor.zeros_like(y) if isinstance(g.type, gradient.DisconnectedType) else g
                for y, g in zip(outputs, output_grads, strict=True)
            ]
            found = self._pullback(wanted)(*inputs, *given)
            by_position = dict(zip(wanted, found if isinstance(found, list) else [found], strict=True))
            return [
                by_position[j] if j in by_position else gradient.grad_undefined(self, j, x, "it is no float")
                for j, x in enumerate(inputs)
            ]

        L_op = pullback  # the name in PyTensor 2

        def _pullback(self, wanted: tuple[int, ...]) -> Any:
            pulled = self.operation.pullback(len(self.signature.examples), wanted)
            return FunctionOp(
                pulled, [*self.signature.examples, *self.signature.results], f"vjp of {self.name}"
            )

        def compiled(self) -> Any:
            """Return the function compiled for the shapes of the examples."""
            return compile(self.operation.replayed, tuple(_arguments(self.signature.examples)))

    @tapegrad_funcify.register(FunctionOp)
    def _(op: Any, node: Any = None, **_: Any) -> Any:
        single = len(op.signature.results) == 1 and op.signature.returns_tuple

        def called(*values: Any) -> Any:
            found = op.operation.replayed(*values)
            return found[0] if single else found

        return called

    try:
        numba_funcify = needed("pytensor.link.numba.dispatch.basic", "pytensor").numba_funcify
    except ImportError:  # Numba is not one that PyTensor takes
        return FunctionOp
    numba_funcify.register(FunctionOp)(_for_numba)
    return FunctionOp


def _for_numba(op: Any, node: Any = None, **_: Any) -> Any:
    """Return a function of Numba's that calls the compiled one, with arrays in place of numbers."""
    signature = op.signature
    arguments = [f"x{j}" for j in range(len(signature.examples))]
    passed = [
        f"np.ascontiguousarray({x})" if example.ndim else f"{x}.item()"
        for x, example in zip(arguments, signature.examples, strict=True)
    ]
    results = [f"r{j}" for j in range(len(signature.results))]
    returned = [
        name if result.ndim else f"np.asarray({name})"
        for name, result in zip(results, signature.results, strict=True)
    ]
    text = (
        f"def call({', '.join(arguments)}):\n"
        f"    {', '.join(results)} = compiled({', '.join(passed)})\n"
        f"    return {', '.join(returned)}\n"
    )
    names: dict[str, Any] = {"np": np, "compiled": op.compiled()}
    exec(text, names)
    return needed("pytensor.link.numba.dispatch.basic", "pytensor").numba_njit(names["call"])
