"""Rows of the op table: formulas or kernels of an op, and the facts that kernels, passes, rules and tests read."""

import functools
import keyword
import math
import re
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
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_KEYWORDS = frozenset(keyword.kwlist)


@functools.cache
def _code(text: str) -> CodeType:
    return compile(text, f"<{text}>", "eval")


@functools.cache
def names_in(text: str) -> frozenset[str]:
    """Return the names in `text`: primals, constants and functions."""
    # Compiling the text tells as much, and takes a hundred times as long, for 150 texts at each import
    return frozenset(_NAME.findall(text)) - _KEYWORDS


def evaluate(text: str, namespace: Mapping[str, Any], **values: Any) -> Any:
    """Evaluate `text` with the functions and constants of `namespace` and the primals `values`."""
    return eval(_code(text), {"__builtins__": {}, **CONSTANTS, **namespace, **values})


def as_function(text: str, namespace: Mapping[str, Any]) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """Compile `text`: return the names of the primals in it, sorted, and a function of these primals."""
    names = tuple(sorted(names_in(text) & PRIMALS))
    return names, eval(f"lambda {', '.join(names)}: {text}", {"__builtins__": {}, **CONSTANTS, **namespace})


_FLOATS = ("f64", "f32")
_COMPLEX = ("c128", "c64")
_PARTS = dict(zip(_COMPLEX, _FLOATS, strict=True))


def real_dtype(dtype: str) -> str:
    """Return the dtype of the parts of complex numbers; real ones are their own."""
    return _PARTS.get(dtype, dtype)


_KERNELS = "tapegrad.engine.kernels"
# Families of ops that are bound by memory: a second thread pays only for more elements than those of costly ops.
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
        """The dtypes of operand `variant` that have a kernel."""

    @property
    def variant(self) -> int:
        """The operand whose dtype selects the kernel."""

    @property
    def operand_dtypes(self) -> tuple[str | None, ...]:
        """The dtype of each operand; `None` if it is the kernel's."""

    @property
    def result(self) -> str | None:
        """The dtype of the result; `None` if it is the kernel's."""

    @property
    def real_operands(self) -> tuple[int, ...]:
        """Operands that are real where the kernel's dtype is complex, of the same precision."""

    @property
    def real_result(self) -> bool:
        """True if the result is real where the kernel's dtype is complex, of the same precision."""

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
    def pattern(self) -> str | None:
        """The rule of `autodiff.sparsity.rules` for what each element depends on; `None`: the one of its kind."""

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


# Kinds of binding of an instruction to a frame. Kernels of the first five are called in loops, the others once.
KINDS = {
    "elementwise": "operands broadcast to the result",
    "broadcast_sum": "the reverse of a broadcast: the operand is added to the result, seen with strides of 0",
    "reduction": "each line along the last axis becomes one element; the result is seen with a stride of 0",
    "scan": "each line along the last axis becomes a line",
    "matmul": "the last two axes are matrices, the others a batch",
    "opaque": "the kernel computes the whole result in one call",
    "guard": "opaque; a replay stops if the kernel fails, and the result is not used",
    "callback": "opaque; the kernel calls a user's function",
}
# The forms of structural ops in a segment, where values stay in registers
FUSED = {
    "sum": "a line is added to another one, or to a single element",
    "exponentials": "the logarithm of the sum of exponentials of several lines",
    "maximum": "the largest of elements, by LLVM's intrinsic of this name",
    "minimum": "the smallest of elements, likewise",
    "rows": "elements are taken from a table by a list of row numbers",
}


@dataclass(frozen=True)
class Op:
    """Row of the elementwise table: formulas of the primal and of the partials.

    Attributes
    ----------
    name
        Name of the op, and of its public function.
    family
        Group of similar functions. It decides the cost of an element: "arithmetic", "selection" and "predicates" are
        bound by memory, and threads share only larger arrays; every other name is that of a costly family.
    primal, partials
        Formula of the result, and of its partial by each operand; no partials of a predicate.
    domains
        For each operand the interval from which tests draw its elements.
    ufunc
        NumPy's ufunc of the same meaning, if there is one.
    boolean_operands
        Operands that are booleans and have no cotangent.
    predicate
        True if the result is boolean, without a derivative.
    home
        Module of the public function; `None` if there is none.
    arguments
        Names of the public function's arguments, if they are not those of NumPy's ufuncs.
    commutative
        True if exchanging the two operands changes nothing, not even a rounding.
    takes_complex
        True if there are kernels for complex operands: the texts are right for them as they stand.
    takes_real
        False if there are none for real operands, which are converted: the result of real numbers is complex.
    real_operands
        Operands that are real beside complex ones.
    real_result
        True if the result of complex operands is real. Each of its partials by a complex operand is the gradient, a
        complex number: the result changes by the real part of the conjugate of it times the change of the operand.
    complex_partials
        Formulas of the partials by complex operands, where those of real ones are not right for them.
    conjugate_partials
        Formulas of the partials by the conjugates of complex operands; none if the op is analytic in all of them.
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
    takes_complex: bool = False
    takes_real: bool = True
    real_operands: tuple[int, ...] = ()
    real_result: bool = False
    complex_partials: tuple[str, ...] = ()
    conjugate_partials: tuple[str, ...] = ()

    kind = "elementwise"
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
    pattern = None
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
        """Operands without a known derivative: differentiation by them is refused, and kernels have no code for it."""
        return frozenset(j for j, text in enumerate(self.partials) if text == "nan")

    @functools.cached_property
    def differentiable_operands(self) -> tuple[int, ...]:
        """Operands by which kernels differentiate."""
        return tuple(j for j in range(self.arity) if j not in self.boolean_operands and j not in self.unknown)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes of operand `variant` that have a kernel."""
        return (*_FLOATS * self.takes_real, *_COMPLEX * self.takes_complex)

    @functools.cached_property
    def variant(self) -> int:
        """The operand whose dtype selects the kernel: the last that is not real beside complex ones.

        Conditions come first.
        """
        return max(j for j in range(self.arity) if j not in self.real_operands)

    @property
    def operand_dtypes(self) -> tuple[str | None, ...]:
        """The dtype of each operand: "b8" for conditions, `None` for those of the kernel's dtype."""
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

    def partials_of(self, dtype: str) -> tuple[str, ...]:
        """Return the formulas of the partials in kernels of a dtype."""
        return (self.complex_partials or self.partials) if dtype in _COMPLEX else self.partials

    def is_constant_in(self, operand: int) -> bool:
        """Return whether the derivatives by an operand are 0, in whatever dtype."""
        texts = (self.partials, self.complex_partials, self.conjugate_partials)
        return all(each[operand] == "0" for each in texts if each)

    def needs(self, operand: int) -> frozenset[str]:
        """Return the primals that the partials by `operand` read, in whatever dtype."""
        texts = (self.partials, self.complex_partials, self.conjugate_partials)
        return frozenset[str]().union(*(_needs(each[operand]) for each in texts if each))

    @functools.cached_property
    def keeps_operands(self) -> frozenset[int]:
        """Operands whose primal a partial reads."""
        read = frozenset[str]().union(*map(self.needs, range(self.arity)))
        return frozenset(j for j in range(self.arity) if f"x{j}" in read)


def _needs(text: str) -> frozenset[str]:
    return names_in(text) & PRIMALS


EMITTED = "emitted"


@dataclass(frozen=True)
class Structural:
    """Row of the table of structural ops, whose kernels are written by hand.

    Attributes
    ----------
    kind
        Binding of an instruction to a kernel: one of `KINDS`.
    functions
        The kernels as ``module.entry_point``, with ``{direction}`` and ``{dtype}`` to be filled in; EMITTED if the
        emitter makes them. An entry point is a function of that name, or, without the dtype in its name, one that is
        compiled for the dtype (`engine.kernels.language.dtypes`).
    complex_functions
        The kernels of complex numbers, likewise, if they are others; `None` if there are none, or no others.
    primals
        For each operand the primals that its cotangent is computed from; `None` if it has no cotangent.
    params
        Record of the parameters; `None` if there are none.
    dtypes, variant
        The dtypes of operand `variant` that have a kernel.
    fixed_dtypes
        Operands whose dtype is not the kernel's, and their dtype.
    result
        Dtype of the result; `None` if it is the kernel's.
    optional
        Number of last operands that may be absent.
    writes
        Operands whose cotangent an opaque reverse kernel can write instead of adding to it.
    in_place
        True if the result takes over the memory of operand 0, and the cotangent of operand 0 that of the result.
    transpose
        Of a linear op, the map from the cotangent of the result to those of the operands: an op that computes that of
        operand 0, with the same parameters and in C order, or a rule that `frontend` states (`recording.rules`). `None`
        if the op is not linear.
    takes_lines
        True if the kernel of a reduction runs the innermost of the outer loops itself.
    fused_as
        Form of the op in a segment: one of `FUSED`; `None` if it stays outside of segments.
    factors
        The operand that must hold the factors of matrices, and the op that computes them.
    batching
        The rule of `program.lanes.rules` that widens the op over lanes; `None` for the rule of its kind.
    pattern
        The rule of `autodiff.sparsity.rules` that says which elements of the result depend on which of the operands;
        `None` for the rule of its kind.
    shared_operands
        Operands that may be one matrix for a whole stack, where the parameter `stride` is 0.
    of_columns
        True if operand 1 and the result are stacks of columns, and a vector is one column.
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
    pattern: str | None = None
    shared_operands: tuple[int, ...] = ()
    of_columns: bool = False
    complex_functions: str | None = None

    commutative = False
    costly = False
    takes_many_tangents = False
    real_operands = ()
    real_result = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises
        ------
        ValueError
            If the kind or the form in segments is unknown, the transpose has no operand to be of, or the record of
            parameters lacks its check.
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
            raise ValueError(f"{self.name}: {self.params.__name__} lacks the method `broken`")

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
        own = self.functions
        if dtype in _COMPLEX and self.complex_functions is not None:
            own = self.complex_functions
        module, _, function = own.format(dtype=dtype, direction=direction).rpartition(".")
        return f"{_KERNELS}.{module}", function
