"""Rows of the table: their texts, and the facts that a kernel, a test or a rule reads from them."""

import ast
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Protocol

CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "ln2": math.log(2.0),
    "log2e": math.log2(math.e),
    "log10e": math.log10(math.e),
    "sqrt_half": math.sqrt(0.5),
    "sqrt_pi": math.sqrt(math.pi),
    "two_over_sqrt_pi": 2.0 / math.sqrt(math.pi),
    "sqrt_two_over_pi": math.sqrt(2.0 / math.pi),
    "one_over_sqrt_2pi": 1.0 / math.sqrt(2.0 * math.pi),
    "half_log_2pi": 0.5 * math.log(2.0 * math.pi),
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
    """Return the names in `text`: primals, constants and functions."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def evaluate(text: str, namespace: Mapping[str, Any], **values: Any) -> Any:
    """Value of `text` with the functions (and constants, if any) of `namespace` and primals `values`."""
    return eval(_code(text), {"__builtins__": {}, **CONSTANTS, **namespace, **values})


def as_function(text: str, namespace: Mapping[str, Any]) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """`text` as a function of the primals that it names, and these names, in order."""
    names = tuple(sorted(names_in(text) & PRIMALS))
    return names, eval(f"lambda {', '.join(names)}: {text}", {"__builtins__": {}, **CONSTANTS, **namespace})


_FLOATS = ("f64", "f32")
_KERNELS = "tapegrad.engine.kernels"
# Families of ops that cost little more than the memory they read: it takes more elements for a second thread to pay.
_CHEAP_FAMILIES = ("arithmetic", "selection", "predicates")


class Row(Protocol):
    """The interface of a row for the engine, for elementwise and structural ops alike."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """The kind of binding of an instruction to a kernel: one of `KINDS`."""

    @property
    def reads(self) -> tuple[frozenset[str] | None, ...]:
        """Primals that the cotangent of each operand is computed from; `None` if it has no cotangent."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that there are kernels for: of operand number `variant`."""

    @property
    def variant(self) -> int: ...
    @property
    def operand_dtypes(self) -> tuple[str | None, ...]:
        """Dtype of each operand if that does not depend on the kernel's; `None` if it is the kernel's."""

    @property
    def result(self) -> str | None:
        """The dtype of the result, where it is not the kernel's."""

    @property
    def optional(self) -> int:
        """Number of last operands that may be absent."""

    @property
    def writes(self) -> tuple[int, ...]:
        """Operands whose cotangent an opaque reverse kernel can write instead of adding to it."""

    @property
    def in_place(self) -> bool:
        """True if the result takes over the memory of operand 0, and nothing is computed from operand 0 afterwards."""

    @property
    def params(self) -> type[Any] | None:
        """The record of the op's parameters, if it has any."""

    @property
    def transpose(self) -> str | None:
        """The transpose of a linear op: it maps the cotangent of the result to those of the operands."""

    @property
    def linear(self) -> bool:
        """True if the tangent of the result is the op of the tangents: the forward kernel computes it."""

    @property
    def commutative(self) -> bool:
        """True if exchanging the two operands changes nothing, not even a rounding."""

    @property
    def costly(self) -> bool:
        """True if computing an element costs more than reading and writing it."""

    @property
    def takes_many_tangents(self) -> bool:
        """True if one call of the tangent kernel computes several tangents."""

    @property
    def takes_lines(self) -> bool:
        """True if a reduction's kernel runs the innermost of the outer loops itself."""

    @property
    def fused_as(self) -> str | None:
        """The form that a structural op has in a segment: one of `FUSED`, or `None` if it stays outside."""

    @property
    def factors(self) -> tuple[int, str] | None:
        """The operand that must hold the factors of matrices, and the op that computes them."""

    @property
    def batching(self) -> str | None:
        """The rule of `program.lanes.rules` that widens the op over lanes; `None`: the one of its kind."""

    @property
    def shared_operands(self) -> tuple[int, ...]:
        """Operands that may be one matrix for a whole stack, where the parameter `stride` is 0."""

    @property
    def of_columns(self) -> bool:
        """True if operand 1 and the result are stacks of columns, and a vector is one column."""

    @property
    def arity(self) -> int: ...
    @property
    def differentiable(self) -> bool:
        """True if there is a reverse kernel."""


# How an instruction is bound to a frame. The first five go through loops, the others do it all at once.
KINDS = {
    "elementwise": "operands broadcast to the result",
    "broadcast_sum": "the reverse of a broadcast: the operand is added to the result, seen with strides of 0",
    "reduction": "each line along the last axis becomes one element; the result is seen with a stride of 0",
    "scan": "each line along the last axis becomes a line",
    "matmul": "the last two axes are matrices, the others a batch",
    "opaque": "the kernel does all of it",
    "guard": "the same; a replay stops where it fails, and its result is nothing",
    "callback": "the same, by a function of a user's",
}
# The forms of structural ops in a segment, where values stay in registers
FUSED = {
    "sum": "a line is added to another one, or to a single element",
    "exponentials": "the logarithm of the sum of exponentials of several lines",
    "maximum": "the largest of elements, by LLVM's intrinsic of this name",
    "minimum": "the smallest of elements, likewise",
}


@dataclass(frozen=True)
class Op:
    """A row of the elementwise table.

    Attributes
    ----------
    family
        What kind of function it is.
    domains
        For each operand the interval from which tests draw it.
    ufunc
        NumPy's ufunc of the same meaning, if there is one.
    boolean_operands
        Operands that are booleans and have no cotangent.
    predicate
        The result is boolean; there is nothing to differentiate.
    home
        The module in which the row's function has a name; None if it has none.
    arguments
        Names of the function's arguments, where they are others than NumPy's for ufuncs.
    commutative
        Exchanging the two operands changes nothing, not even a rounding.
    """

    name: str
    family: str
    primal: str
    partials: tuple[str, ...]
    domains: tuple[Domain, ...]
    ufunc: str | None = None
    boolean_operands: tuple[int, ...] = ()
    predicate: bool = False
    home: str | None = "tapegrad"
    arguments: tuple[str, ...] = ()
    commutative: bool = False

    kind = "elementwise"
    dtypes = _FLOATS
    optional = 0
    writes = ()
    in_place = False
    params = None
    transpose = None
    linear = False
    takes_many_tangents = True
    takes_lines = False
    fused_as = None
    factors = None
    batching = None
    shared_operands = ()
    of_columns = False

    @property
    def arity(self) -> int:
        return len(self.domains)

    @property
    def differentiable(self) -> bool:
        """True if an operand has a partial derivative."""
        return not self.predicate

    @property
    def public(self) -> bool:
        """True if the row's function has a public name."""
        return self.home is not None

    @functools.cached_property
    def unknown(self) -> frozenset[int]:
        """Operands by which no derivative is known: differentiation by them is refused, and kernels do without."""
        return frozenset(j for j, text in enumerate(self.partials) if text == "nan")

    @functools.cached_property
    def differentiable_operands(self) -> tuple[int, ...]:
        """Operands by which kernels differentiate."""
        return tuple(j for j in range(self.arity) if j not in self.boolean_operands and j not in self.unknown)

    @property
    def variant(self) -> int:
        """The operand whose dtype chooses the kernel: the last one, for conditions come first."""
        return self.arity - 1

    @property
    def operand_dtypes(self) -> tuple[str | None, ...]:
        """Conditions are booleans."""
        return tuple("b8" if j in self.boolean_operands else None for j in range(self.arity))

    @property
    def result(self) -> str | None:
        return "b8" if self.predicate else None

    @property
    def costly(self) -> bool:
        return self.family not in _CHEAP_FAMILIES

    @functools.cached_property
    def reads(self) -> tuple[frozenset[str] | None, ...]:
        """Primals that the cotangent of each operand is computed from; `None` if it has no cotangent."""
        constant = range(self.arity) if self.predicate else self.boolean_operands
        return tuple(None if j in constant else self.needs(j) for j in range(self.arity))

    def needs(self, operand: int) -> frozenset[str]:
        """Return the primals that the partial by `operand` reads."""
        return _needs(self.partials[operand]) if self.partials else frozenset()

    @functools.cached_property
    def keeps_operands(self) -> frozenset[int]:
        """Operands whose primal some partial reads."""
        read = frozenset[str]().union(*map(_needs, self.partials))
        return frozenset(j for j in range(self.arity) if f"x{j}" in read)


def _needs(text: str) -> frozenset[str]:
    return names_in(text) & PRIMALS


EMITTED = "emitted"


@dataclass(frozen=True)
class Structural:
    """A row of the table of structural ops, whose kernels are not made from texts.

    Attributes
    ----------
    kind
        How an instruction is bound to a kernel: one of `KINDS`.
    functions
        The kernels as ``module.entry_point``, with ``{direction}`` and ``{dtype}`` to be filled in; EMITTED if the
        emitter makes them. An entry point is a function of that name, or, without the dtype in its name, one that is
        compiled for the dtype (`engine.kernels.language.dtypes`).
    primals
        For each operand the primals that its cotangent is computed from; `None` where it has none.
    params
        The record of its parameters, if it has any.
    dtypes, variant
        The dtypes that there are kernels for: of operand number `variant`.
    fixed_dtypes
        Operands that have one dtype whatever the kernel's.
    result
        Dtype of the result, where it is not the kernel's.
    optional
        How many of the last operands may be absent.
    writes
        Operands whose cotangent an opaque reverse kernel can write instead of adding to it.
    in_place
        The result takes over the memory of operand 0, and the cotangent of operand 0 that of the result.
    transpose
        Of a linear op, what takes the cotangent of its result to those of its operands: an op that does so for
        operand 0, with the same parameters and in C order, or a rule of `autodiff.rules.transposes`. An op without
        one is not linear.
    takes_lines
        The kernel of a reduction goes through the innermost of the outer loops itself.
    fused_as
        The form that the op has in a segment: one of `FUSED`. An op without one stays outside of segments.
    factors
        The operand that must hold the factors of matrices, and the op that computes them.
    batching
        The rule of `program.lanes.rules` that widens the op over lanes, if it is not the one of its kind.
    shared_operands
        Operands that may be one matrix for a whole stack, where the parameter `stride` is 0.
    of_columns
        Operand 1 and the result are stacks of columns, and a vector is one column.
    """

    name: str
    kind: str
    functions: str
    primals: tuple[tuple[str, ...] | None, ...]
    params: type[Any] | None = None
    dtypes: tuple[str, ...] = _FLOATS
    variant: int = 0
    fixed_dtypes: Mapping[int, str] = field(default_factory=dict, hash=False)
    result: str | None = None
    optional: int = 0
    writes: tuple[int, ...] = ()
    in_place: bool = False
    transpose: str | None = None
    takes_lines: bool = False
    fused_as: str | None = None
    factors: tuple[int, str] | None = None
    batching: str | None = None
    shared_operands: tuple[int, ...] = ()
    of_columns: bool = False

    commutative = False
    costly = False
    takes_many_tangents = False

    def __post_init__(self) -> None:
        """Refuse what no other part of the package could make sense of.

        Raises
        ------
        ValueError
            Naming the op and what its row should say.
        """
        if self.kind not in KINDS:
            raise ValueError(
                f"{self.name}: its row says the kind {self.kind!r}, not one of {', '.join(KINDS)}"
            )
        if self.fused_as is not None and self.fused_as not in FUSED:
            raise ValueError(
                f"{self.name}: its row says fused_as={self.fused_as!r}, not one of {', '.join(FUSED)}"
            )
        if self.transpose is not None and not self.differentiable:
            raise ValueError(f"{self.name}: its row names a transpose, but no operand that has a cotangent")
        if self.params is not None and not hasattr(self.params, "broken"):
            raise ValueError(
                f"{self.name}: {self.params.__name__} in ops/params.py lacks the method `broken`"
            )

    @property
    def arity(self) -> int:
        return len(self.primals)

    @property
    def differentiable(self) -> bool:
        """True if there is a reverse kernel."""
        return any(names is not None for names in self.primals)

    @property
    def linear(self) -> bool:
        return self.transpose is not None

    @property
    def reads(self) -> tuple[frozenset[str] | None, ...]:
        return tuple(None if names is None else frozenset(names) for names in self.primals)

    @property
    def operand_dtypes(self) -> tuple[str | None, ...]:
        return tuple(self.fixed_dtypes.get(j) for j in range(self.arity))

    def kernel(self, dtype: str, direction: str) -> tuple[str, str]:
        """Return module and function of the kernel for a dtype and a direction."""
        module, _, function = self.functions.format(dtype=dtype, direction=direction).rpartition(".")
        return f"{_KERNELS}.{module}", function
