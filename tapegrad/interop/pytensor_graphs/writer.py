"""Writer of flat Python functions of PyTensor's graphs: a line for each node.

The functions' globals are NumPy's and SciPy's functions, those of `functions`, and arrays; so little is watched when
one is recorded, its text can be read, and tracebacks name its lines. Nodes of constants alone are computed here.
"""

import builtins
import itertools
import keyword
import linecache
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special  # noqa: TID253  this module itself is imported late

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import cast

_graph: Any = needed("pytensor.graph.basic", "pytensor")
_elemwise: Any = needed("pytensor.tensor.elemwise", "pytensor")
_random: Any = needed("pytensor.tensor.random.op", "pytensor")

_GLOBALS = {"np": np, "special": scipy.special}
_RESERVED = {"nan", "inf", *dir(builtins)}
_numbers = itertools.count()


def write_function(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], nodes: Sequence[Any], *, as_list: bool
) -> Callable[..., Any]:
    """Return the function of a graph without shared variables; see `FunctionText`."""
    text = FunctionText(name)
    text.take(inputs)
    return text.finish(nodes, outputs, as_list=as_list)


class FunctionText:
    """Text of one function, and what its names stand for.

    Parameters
    ----------
    name
        The name of the function.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: dict[str, Any] = dict(_GLOBALS)
        self._taken = {*_GLOBALS, *_RESERVED, name}
        self._counts: dict[str, int] = {}
        self._names: dict[Any, str] = {}  # of variables
        self._constants: dict[Any, Any] = {}  # by variables
        self._arguments: list[str] = []
        self._lines: list[str] = []
        self._draws: list[str] = []

    def take(self, inputs: Sequence[Any]) -> None:
        """Make these variables the arguments."""
        self._arguments = [self._declare(variable) for variable in inputs]

    def take_vector(self, inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> None:
        """Make one vector of the elements of these variables the argument."""
        vector, first = self._unique("x"), 0
        self._arguments = [vector]
        for variable, shape in zip(inputs, shapes, strict=True):
            stop = first + math.prod(shape)
            part = f"{vector}[{first}]" if shape == () else f"{vector}[{first}:{stop}]"
            if len(shape) > 1:
                part = f"np.reshape({part}, {shape})"
            self._lines.append(f"    {self._declare(variable)} = {part}")
            first = stop

    def set_constant(self, variable: Any, value: Any) -> None:
        """Use an array for a variable."""
        self._constants[variable] = value

    def read_shared(self, variable: Any, shared: Any) -> None:
        """Read a variable from the storage of a shared one, at each call."""
        storage = self._define(f"{shared.name or 'shared'}_storage", shared.container.storage)
        self._lines.append(f"    {self._declare(variable)} = {storage}[0]")

    def finish(self, nodes: Sequence[Any], outputs: Sequence[Any], *, as_list: bool) -> Callable[..., Any]:
        """Write nodes, in an order in which they can be computed, and return the function.

        It has its text as `source`, and as `draws` the names of Ops that draw random numbers, which no recording
        repeats.
        """
        for node in nodes:
            self._write_node(node)
        results = [self._operand(variable, exact=True) for variable in outputs]
        result = f"[{', '.join(results)}]" if as_list else results[0]
        lines = [f"def {self._name}({', '.join(self._arguments)}):", *self._lines, f"    return {result}"]
        return self._compile("\n".join(lines) + "\n")

    def _compile(self, text: str) -> Callable[..., Any]:
        file = f"<PyTensor graph {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self._values)
        function: Any = self._values[self._name]
        function.source = text
        function.draws = tuple(dict.fromkeys(self._draws))
        return function  # type: ignore[no-any-return]

    # --- nodes ------------------------------------------------------------------------------------------------------

    def _write_node(self, node: Any) -> None:
        converted = tapegrad_funcify(node.op, node=node)
        draws = [str(node.op)] if isinstance(node.op, _random.RandomVariable) else _draws(converted)
        self._draws += draws
        if not draws and all(self._is_constant(variable) for variable in node.inputs):
            self._compute(node, converted)
            return
        expression = self._with_values(converted)
        exact = not isinstance(node.op, _elemwise.Elemwise)
        dtypes = converted.dtypes if isinstance(converted, Expression) else {}
        operands = [self._cast_operand(x, exact, dtypes.get(j)) for j, x in enumerate(node.inputs)]
        results = ", ".join(self._declare(variable) for variable in node.outputs)
        self._lines.append(f"    {results} = {expression.format(*operands)}")

    def _with_values(self, converted: Any) -> str:
        """Return the text of an expression, or of a call, with the names of its values."""
        if not isinstance(converted, Expression):
            name = self._define(getattr(converted, "__name__", type(converted).__name__), converted)
            return _CallText(name)
        text = converted.text
        for name, value in converted.values.items():
            text = text.replace(f"<{name}>", self._define(name, value))
        return text

    def _compute(self, node: Any, converted: Any) -> None:
        """Compute a node of constants now."""
        operands = [self._constant(variable) for variable in node.inputs]
        if isinstance(converted, Expression):
            values = dict(_GLOBALS)
            text = converted.text
            for name, value in converted.values.items():
                values[name] = value
                text = text.replace(f"<{name}>", name)
            names = [f"operand_{j}" for j in range(len(operands))]
            operands = [
                cast(value, converted.dtypes[j]) if j in converted.dtypes else value
                for j, value in enumerate(operands)
            ]
            with np.errstate(all="ignore"):
                found = eval(text.format(*names), values | dict(zip(names, operands, strict=True)))
        else:
            found = converted(*operands)
        for variable, value in zip(node.outputs, found if len(node.outputs) > 1 else [found], strict=True):
            self._constants[variable] = _plain(value, variable.type)

    # --- variables --------------------------------------------------------------------------------------------------

    def _is_constant(self, variable: Any) -> bool:
        return variable in self._constants or isinstance(variable, _graph.Constant)

    def _constant(self, variable: Any) -> Any:
        known = self._constants.get(variable, variable)
        return variable.data if known is variable else known

    def _operand(self, variable: Any, exact: bool) -> str:
        """Return the name or number of an input; of one element a number, unless its shape is `exact`."""
        if not self._is_constant(variable):
            return self._names[variable]
        value = self._constant(variable)
        literal = _literal(value, exact)
        if literal is not None:
            return literal
        if variable not in self._names:
            self._names[variable] = self._define(variable.name or "data", value)
        return self._names[variable]

    def _cast_operand(self, variable: Any, exact: bool, dtype: str | None) -> str:
        """Return an input in a dtype: a constant is cast now."""
        if dtype is None or (variable in self._names and not self._is_constant(variable)):
            operand = self._operand(variable, exact)
            return operand if dtype is None else f"{self._define('cast', cast)}({operand}, '{dtype}')"
        value = cast(self._constant(variable), dtype)
        return _literal(value, exact) or self._define(variable.name or "data", value)

    def _declare(self, variable: Any) -> str:
        name = self._names[variable] = self._unique(variable.name or "v")
        return name

    def _define(self, name: str, value: Any) -> str:
        """Return the name of a global."""
        known = self._values.get(name)
        if known is value and name not in _GLOBALS:
            return name
        own = name if name.isidentifier() and name not in self._taken else self._unique(name)
        self._taken.add(own)
        self._values[own] = value
        return own

    def _unique(self, name: str) -> str:
        stem = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_")
        if not stem or stem[0].isdigit():
            stem = f"v_{stem}" if stem else "v"
        if stem != "v" and stem not in self._taken and not keyword.iskeyword(stem):
            self._taken.add(stem)
            return stem
        while True:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            found = f"{stem}{'' if stem == 'v' else '_'}{self._counts[stem]}"
            if found not in self._taken:
                self._taken.add(found)
                return found


def _draws(converted: Any) -> list[str]:
    """Return the names of Ops that draw random numbers in a function, or in the graphs in an expression."""
    inside = converted.values.values() if isinstance(converted, Expression) else [converted]
    return [name for each in inside for name in getattr(each, "draws", ())]


class _CallText(str):
    """The text of a call of a function with all inputs, whatever their number."""

    __slots__ = ()

    def format(self, *operands: Any, **_: Any) -> str:
        return f"{self}({', '.join(operands)})"


def _literal(value: Any, exact: bool) -> str | None:
    """Return a value as text; `None` for arrays that need a name."""
    if value is None or isinstance(value, slice):
        return str(value)
    if not isinstance(value, np.ndarray | np.generic) or value.size != 1 or (exact and value.ndim):
        return None
    number = value.item()
    if isinstance(number, float) and not np.isfinite(number):
        return "np.nan" if number != number else "np.inf" if number > 0 else "(-np.inf)"
    return f"({number!r})" if isinstance(number, int | float) and number < 0 else repr(number)


def _plain(value: Any, kind: Any) -> Any:
    """Return a computed constant as PyTensor has it: an array of the variable's dtype."""
    if is_tensor(value):
        value = value.data
    return np.asarray(value, kind.dtype) if hasattr(kind, "dtype") and kind.dtype is not None else value
