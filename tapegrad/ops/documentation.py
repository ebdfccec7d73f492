"""Public docstrings of elementwise ops: the texts of each row, and the docstring made of them and of the row.

The formulas come from the row. `derivatives` states a partial in its usual form where the row's text is longer, to be
accurate everywhere; a test holds both to the same numbers.
"""

import functools
import re
from pathlib import Path

from tapegrad.ops.op_doc import OpDoc
from tapegrad.ops.row import Op
from tapegrad.ops.special_docs import SPECIAL_DOCS

_ONE = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "cbrt", "erf", "sigmoid",
    "softplus", "logaddexp",
)  # fmt: skip
# A row for each example: the name of the function, and the example's lines, separated by tabs
EXAMPLES = Path(__file__).with_name("examples.tsv")
# Units in the last place of float64, over the whole range: tests hold every function to them.
UNITS: dict[str, int] = {**dict.fromkeys(_ONE, 1), "power": 2, "erfc": 2, "lambertw0": 3, "lambertwm1": 3}


def sentence(name: str) -> str:
    """Return the sentence about a name in a function's docstring; empty if another library wrote the function."""
    if name not in UNITS:
        return ""
    units = "1 unit" if UNITS[name] == 1 else f"{UNITS[name]} units"
    of = " of the larger operand" if name == "logaddexp" else ""
    return (
        f"Results of float64 are right to {units} in the last place{of}, those of float32 are rounded once."
    )


_nan = float("nan")
_inf = float("inf")
_STEP = "The derivative is taken to be 0 at the jumps as well."
_JUMP = "At the jumps the derivatives are those of the side that the value is on."
_DIVISION = ((5.5, -5.5, 5.5), (2.0, 2.0, -2.0))
_HALVES = ((-1.5, -0.5, 0.5, 1.5),)
_PAIR = ((1.0, 2.0, 3.0), (2.0, 2.0, 2.0))
_PAIR_WITH_NAN = ((1.0, 2.0, _nan), (2.0, 2.0, 2.0))
_SPECIAL_VALUES = ((1.0, _inf, _nan),)
_TIE = "Of two equal operands each has the derivative 0.5. "
_OF_NAN = "Of an operand that is nan the derivative is 1, and the other's is 0."
_NOT_OF_NAN = "Of an operand that is nan the derivative is 0, and the other's is 1."
_INFINITIES = "Of two equal infinities each has the derivative 0.5."
_EXPONENTIALS = "Exponentials and logarithms: DLMF 4.2 and 4.7."
_CIRCULAR = "Trigonometric functions: DLMF 4.14 and 4.20."
_INVERSE_CIRCULAR = "Inverse trigonometric functions: DLMF 4.23 and 4.24."
_HYPERBOLIC = "Hyperbolic functions: DLMF 4.28 and 4.34."
_INVERSE_HYPERBOLIC = "Inverse hyperbolic functions: DLMF 4.37 and 4.38."

DOCS: dict[str, OpDoc] = {
    "add": OpDoc("Add two operands, element by element."),
    "subtract": OpDoc("Subtract the second operand from the first, element by element."),
    "multiply": OpDoc("Multiply two operands, element by element."),
    "divide": OpDoc(
        "Divide the first operand by the second, element by element.",
        domain="Division by zero gives inf or nan, as in NumPy.",
    ),
    "negative": OpDoc("Negate each element."),
    "positive": OpDoc("Copy each element."),
    "reciprocal": OpDoc(
        "Compute the reciprocal ``1/x`` of each element.", domain="Defined for ``x != 0``; infinite at 0."
    ),
    "square": OpDoc("Compute the square of each element."),
    "sqrt": OpDoc(
        "Compute the non-negative square root of each element.",
        domain="Defined for ``x >= 0``; nan elsewhere.",
        kinks="The derivative at 0 is inf. A zero cotangent stays zero there.",
    ),
    "cbrt": OpDoc("Compute the cube root of each element.", kinks="The derivative at 0 is inf."),
    "floor": OpDoc("Round each element down to an integer.", kinks=_STEP, example=_HALVES),
    "ceil": OpDoc("Round each element up to an integer.", kinks=_STEP, example=_HALVES),
    "rint": OpDoc("Round each element to the nearest integer, halves to even.", kinks=_STEP, example=_HALVES),
    "trunc": OpDoc("Round each element towards zero.", kinks=_STEP, example=_HALVES),
    "sign": OpDoc(
        "Return the sign of each element: -1, 0 or 1.",
        domain="The sign of nan is nan.",
        kinks=_STEP,
        example=((-3.0, 0.0, 2.0),),
    ),
    "remainder": OpDoc(
        "Compute the remainder of a division, with the sign of the divisor, as ``x1 % x2`` does.",
        ("1", "-floor(x0/x1)"),
        domain="It is nan where the divisor is 0 or the dividend infinite.",
        kinks=_JUMP,
        example=_DIVISION,
    ),
    "fmod": OpDoc(
        "Compute the remainder of a division, with the sign of the dividend, as the C library does.",
        ("1", "-trunc(x0/x1)"),
        domain="It is nan where the divisor is 0 or the dividend infinite.",
        kinks=_JUMP,
        example=_DIVISION,
    ),
    "floor_divide": OpDoc(
        "Divide and round down to an integer, as ``x1 // x2`` does.", kinks=_STEP, example=_DIVISION
    ),
    "copysign": OpDoc(
        "Give each element of `x1` the sign of that of `x2`, of zeros and nan as well.",
        ("sign(x0)*copysign(1, x1)", "0"),
        kinks="The derivative at 0 is 0.",
        example=((1.0, -2.0, 0.0), (-1.0, -0.0, 2.0)),
    ),
    "nextafter": OpDoc(
        "Return the float next to each element of `x1` in the direction of that of `x2`.",
        kinks="It moves with `x1`.",
        example=((1.0, 2.0), (2.0, 2.0)),
    ),
    "spacing": OpDoc(
        "Return the distance from each element to the next float.", kinks=_STEP, example=((1.0, 1e10),)
    ),
    "absolute": OpDoc(
        "Compute the absolute value of each element.",
        kinks="The derivative at 0 is 0.",
        example=((-3.0, 0.0, 2.0),),
    ),
    "maximum": OpDoc(
        "Select the larger of two operands, element by element; nan if one is nan.",
        ("where(x0>x1, 1, 0)", "where(x1>x0, 1, 0)"),
        kinks=_TIE + _OF_NAN,
        example=_PAIR,
    ),
    "minimum": OpDoc(
        "Select the smaller of two operands, element by element; nan if one is nan.",
        ("where(x0<x1, 1, 0)", "where(x1<x0, 1, 0)"),
        kinks=_TIE + _OF_NAN,
        example=_PAIR,
    ),
    "fmax": OpDoc(
        "Select the larger of two operands, element by element; the other one if one is nan.",
        ("where(x0>x1, 1, 0)", "where(x1>x0, 1, 0)"),
        kinks=_TIE + _NOT_OF_NAN,
        example=_PAIR_WITH_NAN,
    ),
    "fmin": OpDoc(
        "Select the smaller of two operands, element by element; the other one if one is nan.",
        ("where(x0<x1, 1, 0)", "where(x1<x0, 1, 0)"),
        kinks=_TIE + _NOT_OF_NAN,
        example=_PAIR_WITH_NAN,
    ),
    "relu": OpDoc(
        "Compute the rectified linear unit ``maximum(x, 0)`` of each element.",
        kinks="The derivative at 0 is 0.",
        example=((-3.0, 0.0, 2.0),),
    ),
    "power": OpDoc(
        "Raise the first operand to the power of the second, element by element.",
        ("x1*power(x0, x1-1)", "y*log(x0)"),
        domain="Defined for ``x1 >= 0``, or `x2` an integer; nan elsewhere.",
        kinks="``x**0`` has the derivative 0, and so has ``0**x`` for ``x >= 0``. By the exponent the derivative at a"
        " negative base is nan.",
    ),
    "exp": OpDoc("Compute the exponential of each element.", source=_EXPONENTIALS),
    "exp2": OpDoc("Compute ``2**x`` of each element.", ("log(2)*y",), source=_EXPONENTIALS),
    "expm1": OpDoc("Compute ``exp(x) - 1`` accurately for small elements.", source=_EXPONENTIALS),
    "log": OpDoc(
        "Compute the natural logarithm of each element.",
        domain="Defined for ``x > 0``; -inf at 0, nan below.",
        source=_EXPONENTIALS,
    ),
    "log2": OpDoc(
        "Compute the logarithm to base 2 of each element.",
        ("1/(log(2)*x0)",),
        domain="Defined for ``x > 0``; -inf at 0, nan below.",
        source=_EXPONENTIALS,
    ),
    "log10": OpDoc(
        "Compute the logarithm to base 10 of each element.",
        ("1/(log(10)*x0)",),
        domain="Defined for ``x > 0``; -inf at 0, nan below.",
        source=_EXPONENTIALS,
    ),
    "log1p": OpDoc(
        "Compute ``log(1 + x)`` accurately for small elements.",
        domain="Defined for ``x > -1``; -inf at -1, nan below.",
        source=_EXPONENTIALS,
    ),
    "logaddexp": OpDoc(
        "Compute ``log(exp(x1) + exp(x2))`` without overflow.",
        ("exp(x0-y)", "exp(x1-y)"),
        kinks=_INFINITIES,
    ),
    "logaddexp2": OpDoc(
        "Compute ``log2(2**x1 + 2**x2)`` without overflow.",
        ("exp2(x0-y)", "exp2(x1-y)"),
        kinks=_INFINITIES,
    ),
    "sigmoid": OpDoc(
        "Compute the logistic function ``1/(1+exp(-x))`` of each element.", ("y*(1-y)",), scipy="expit"
    ),
    "softplus": OpDoc("Compute ``log(1 + exp(x))`` without overflow.", ("sigmoid(x0)",)),
    "sin": OpDoc("Compute the sine of each element, in radians.", source=_CIRCULAR),
    "cos": OpDoc("Compute the cosine of each element, in radians.", source=_CIRCULAR),
    "tan": OpDoc("Compute the tangent of each element, in radians.", source=_CIRCULAR),
    "arcsin": OpDoc(
        "Compute the inverse sine of each element, in radians.",
        ("1/sqrt(1-square(x0))",),
        domain="Defined for ``-1 <= x <= 1``; nan elsewhere.",
        kinks="The derivative at -1 and 1 is inf.",
        source=_INVERSE_CIRCULAR,
    ),
    "arccos": OpDoc(
        "Compute the inverse cosine of each element, in radians.",
        ("-1/sqrt(1-square(x0))",),
        domain="Defined for ``-1 <= x <= 1``; nan elsewhere.",
        kinks="The derivative at -1 and 1 is -inf.",
        source=_INVERSE_CIRCULAR,
    ),
    "arctan": OpDoc("Compute the inverse tangent of each element, in radians.", source=_INVERSE_CIRCULAR),
    "arctan2": OpDoc(
        "Compute the angle of the point ``(x2, x1)``, from -pi to pi.",
        ("x1/(square(x0)+square(x1))", "-x0/(square(x0)+square(x1))"),
        kinks="Both derivatives at (0, 0) are 0.",
        source=_INVERSE_CIRCULAR,
    ),
    "hypot": OpDoc(
        "Compute ``sqrt(x1**2 + x2**2)`` without overflow.",
        ("x0/y", "x1/y"),
        kinks="Both derivatives at (0, 0) are 0.",
    ),
    "sinc": OpDoc(
        "Compute the normalized sinc function ``sin(pi*x)/(pi*x)`` of each element.",
        ("(cos(pi*x0)-y)/x0",),
        kinks="The value at 0 is 1, and the derivative 0.",
        source="The formula cancels near 0, where the power series of the derivative is summed instead.",
    ),
    "sinh": OpDoc("Compute the hyperbolic sine of each element.", source=_HYPERBOLIC),
    "cosh": OpDoc("Compute the hyperbolic cosine of each element.", source=_HYPERBOLIC),
    "tanh": OpDoc(
        "Compute the hyperbolic tangent of each element.", ("1/square(cosh(x0))",), source=_HYPERBOLIC
    ),
    "arcsinh": OpDoc(
        "Compute the inverse hyperbolic sine of each element.",
        ("1/sqrt(1+square(x0))",),
        source=_INVERSE_HYPERBOLIC,
    ),
    "arccosh": OpDoc(
        "Compute the inverse hyperbolic cosine of each element.",
        ("1/sqrt(square(x0)-1)",),
        domain="Defined for ``x >= 1``; nan elsewhere.",
        kinks="The derivative at 1 is inf.",
        source=_INVERSE_HYPERBOLIC,
    ),
    "arctanh": OpDoc(
        "Compute the inverse hyperbolic tangent of each element.",
        ("1/(1-square(x0))",),
        domain="Defined for ``-1 < x < 1``; infinite at the ends, nan elsewhere.",
        source=_INVERSE_HYPERBOLIC,
    ),
    "less": OpDoc("Test whether ``x1 < x2``, element by element.", example=_PAIR),
    "less_equal": OpDoc("Test whether ``x1 <= x2``, element by element.", example=_PAIR),
    "greater": OpDoc("Test whether ``x1 > x2``, element by element.", example=_PAIR),
    "greater_equal": OpDoc("Test whether ``x1 >= x2``, element by element.", example=_PAIR),
    "equal": OpDoc("Test whether ``x1 == x2``, element by element.", example=_PAIR),
    "not_equal": OpDoc("Test whether ``x1 != x2``, element by element.", example=_PAIR),
    "isnan": OpDoc("Test each element for nan.", example=_SPECIAL_VALUES),
    "isinf": OpDoc("Test each element for inf and -inf.", example=_SPECIAL_VALUES),
    "isfinite": OpDoc("Test that each element is finite: neither infinite nor nan.", example=_SPECIAL_VALUES),
    **SPECIAL_DOCS,
}


def doc_of(row: Op) -> OpDoc:
    """Return the texts of a row, or its formula if it has none."""
    return DOCS.get(row.name) or OpDoc(f"Compute ``{in_arguments(row, row.primal)}``.")


def argument_names(arity: int) -> tuple[str, ...]:
    """Return the names of a public function's arguments, as NumPy's ufuncs have them."""
    return ("x",) if arity == 1 else tuple(f"x{j + 1}" for j in range(arity))


def arguments_of(row: Op) -> tuple[str, ...]:
    """Return the names of the arguments of a row's public function."""
    return row.arguments or argument_names(row.arity)


def in_arguments(row: Op, text: str) -> str:
    """Rename the operands in a text of the row to the arguments of the public function."""
    names = arguments_of(row)
    return re.sub(r"\bx(\d)\b", lambda found: names[int(found[1])], text)


def docstring(row: Op) -> str:
    """Build the docstring of a row's public function."""
    doc = doc_of(row)
    sections = [
        doc.summary,
        parameters_of(arguments_of(row)),
        _returns(row),
        _see_also(row, doc),
        _notes(row, doc),
    ]
    if row.name in _examples():
        example = _examples()[row.name].replace("\t", "\n")
        sections.append(f"Examples\n--------\n>>> import tapegrad as tg\n{example}")
    return "\n\n".join(section for section in sections if section) + "\n"


@functools.cache
def _examples() -> dict[str, str]:
    """Return the examples by the names of functions, with tabs between their lines."""
    rows = EXAMPLES.read_text(encoding="utf-8").splitlines()[1:]
    return {name: lines for name, _, lines in (row.partition("\t") for row in rows)}


_OTHERS = """
out : Tensor, numpy.ndarray or tuple of one, optional
    Where to write the result, with its gradient. A plain array takes constants only.
where : array_like of bool, default True
    Which elements to compute. The others keep what is in `out`; without one they are 0.
casting : str, default 'same_kind'
    Which conversions of operands and result are allowed.
order : {'K', 'C', 'F', 'A'}, default 'K'
    Accepted because NumPy's ufuncs have it; results are in C order.
dtype : data-type, optional
    Dtype in which to compute: the operands are converted.
subok : bool, default True
    Accepted because NumPy's ufuncs have it; ignored."""


def parameters_of(names: tuple[str, ...], results: int = 1) -> str:
    """Build the section of the parameters of a ufunc."""
    several = "" if len(names) == 1 else " They broadcast as in NumPy."
    what = "Operand" if len(names) == 1 else "Operands"
    outputs = "".join(f"out{k + 1}, " for k in range(results)) if results > 1 else ""
    return (
        f"Parameters\n----------\n{', '.join(names)} : Tensor or array_like\n"
        f"    {what} of float64 or float32; integers and booleans are constants.{several}"
        + _OTHERS.replace("\nout : ", f"\n{outputs}out : ", 1).replace(
            "one, opt", "them, opt" if outputs else "one, opt"
        )
    )


def _returns(row: Op) -> str:
    shape = "the operand's shape" if row.arity == 1 else "the shape that the operands broadcast to"
    if row.predicate:
        return (
            f"Returns\n-------\nnumpy.ndarray of bool\n    Has {shape}.\n"
            "    While a function is being recorded, a Tensor of booleans that each replay computes."
        )
    dtype = "its dtype" if row.arity == 1 else "their common dtype"
    if not row.takes_real:
        dtype = "is complex, of its precision" if row.arity == 1 else "is complex, of their precision"
    return f"Returns\n-------\nTensor\n    Has {shape} and {dtype}. A constant if all operands are."


def _notes(row: Op, doc: OpDoc) -> str:
    partials = [in_arguments(row, text) for text in doc.derivatives or row.partials]
    lines = [_derivatives(row, partials)] if any(partials) else []
    lines += [_unknown(row)] if row.unknown else []
    lines += [text for text in (doc.domain, doc.kinks, sentence(row.name), doc.source) if text]
    return "Notes\n-----\n" + "\n\n".join(map(_wrapped, lines)) if lines else ""


def _derivatives(row: Op, partials: list[str]) -> str:
    said = ", where ``y`` is the result" if any(re.search(r"\by\b", text) for text in partials) else ""
    if len(partials) == 1:
        return f"The derivative is ``{partials[0]}``{said}."
    known = [j for j in range(row.arity) if partials[j] and j not in row.unknown]
    each = " and ".join(f"``{partials[j]}`` by `{arguments_of(row)[j]}`" for j in known)
    return (
        f"The partial derivative is {each}{said}."
        if len(known) == 1
        else f"The partial derivatives are {each}{said}."
    )


def _unknown(row: Op) -> str:
    """Describe the operands that have no derivative."""
    names = " and ".join(f"`{arguments_of(row)[j]}`" for j in sorted(row.unknown))
    are = "are" if len(row.unknown) > 1 else "is"
    return f"By {names} no derivative is known in closed form: who asks for it is refused. Here {names} {are} constant."


def _wrapped(text: str) -> str:
    """Wrap a paragraph at 88 characters; textwrap would be one more module to import."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 87:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _see_also(row: Op, doc: OpDoc) -> str:
    names = [f"numpy.{row.ufunc}"] if row.ufunc else [f"scipy.special.{doc.scipy}"] if doc.scipy else []
    return "\n".join(
        f"See Also\n--------\n{name} : Does the same when it is called with a Tensor." for name in names
    )
