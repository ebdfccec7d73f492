"""What a row of the table is: its texts, and what a kernel, a test or a rule reads from them."""

import ast
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "ln2": math.log(2.0),
    "log2e": math.log2(math.e),
    "log10e": math.log10(math.e),
    "two_over_sqrt_pi": 2.0 / math.sqrt(math.pi),
    "inf": math.inf,
    "nan": math.nan,
}
PRIMALS = frozenset(("x0", "x1", "x2", "y"))
Domain = tuple[float, float]


@functools.cache
def _code(text: str) -> CodeType:
    return compile(text, f"<{text}>", "eval")


@functools.cache
def names_in(text: str) -> frozenset[str]:
    """Every name that `text` reads: primals, constants and functions."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def evaluate(text: str, namespace: Mapping[str, Any], **values: Any) -> Any:
    """Value of `text` with the functions (and constants, if any) of `namespace` and primals `values`."""
    return eval(_code(text), {"__builtins__": {}, **CONSTANTS, **namespace, **values})


def as_function(text: str, namespace: Mapping[str, Any]) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """`text` as a function of the primals that it names, and these names, in order."""
    names = tuple(sorted(names_in(text) & PRIMALS))
    return names, eval(f"lambda {', '.join(names)}: {text}", {"__builtins__": {}, **CONSTANTS, **namespace})


@dataclass(frozen=True)
class Op:
    """A row of the elementwise table.

    Attributes
    ----------
    family
        Names the generated file that the row's kernels stand in.
    domains
        For each operand the interval from which tests draw it.
    ufunc
        NumPy's ufunc of the same meaning, if there is one.
    boolean_operands
        Operands that are booleans and have no cotangent.
    predicate
        The result is boolean; there is nothing to differentiate.
    public
        The row's function has a name in the namespace.
    """

    name: str
    family: str
    primal: str
    partials: tuple[str, ...]
    domains: tuple[Domain, ...]
    ufunc: str | None = None
    boolean_operands: tuple[int, ...] = ()
    predicate: bool = False
    public: bool = True

    @property
    def arity(self) -> int:
        return len(self.domains)

    def needs(self, operand: int) -> frozenset[str]:
        """The primals that the partial by `operand` reads."""
        return _needs(self.partials[operand]) if self.partials else frozenset()

    @functools.cached_property
    def keeps_operands(self) -> frozenset[int]:
        """Operands whose primal some partial reads."""
        read = frozenset[str]().union(*map(_needs, self.partials))
        return frozenset(j for j in range(self.arity) if f"x{j}" in read)

    def module(self, dtype: str, direction: str) -> str:
        """The module of this row's kernel for `dtype` ("f64" or "f32") and a direction."""
        part = "_tangent" if direction == "tangent" else ""
        return f"tapegrad.engine.kernels.generated.{self.family}{part}_{dtype}"


def _needs(text: str) -> frozenset[str]:
    return names_in(text) & PRIMALS


@dataclass(frozen=True)
class Structural:
    """A row of the table of structural ops, whose kernels are written by hand.

    Attributes
    ----------
    kind
        How an instruction is bound to loops: "accumulate", "lines", "products", "whole" or "call", or
        "elementwise".
    kernel
        The kernels' place as ``module.function``, with ``{dtype}`` and ``{direction}`` to be filled in.
    reads
        For each operand the primals that its cotangent is computed from; `None` where it has none.
    dtypes
        Dtypes of the operand that chooses the kernel, `variant`.
    result
        Dtype of the result, where it is not that operand's.
    writes
        Operands whose cotangent the reverse kernel can write instead of adding to it.
    linear
        The tangent of the result is the op of the tangents: the forward kernel computes it.
    """

    name: str
    kind: str
    kernel: str
    reads: tuple[tuple[str, ...] | None, ...]
    dtypes: tuple[str, ...] = ("f64", "f32")
    variant: int = 0
    result: str | None = None
    writes: tuple[int, ...] = ()
    linear: bool = False

    @property
    def arity(self) -> int:
        return len(self.reads)

    @property
    def differentiable(self) -> bool:
        """Whether there is a reverse kernel."""
        return any(reads is not None for reads in self.reads)
