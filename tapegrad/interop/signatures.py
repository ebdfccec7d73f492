"""C signatures of functions: what each parameter stands for, by its type and its name."""

import ctypes
import re
from typing import Any, NamedTuple

# What C calls its types: the type of ctypes, and whether it is a number of elements, a real or a complex number.
_INTEGERS = {
    "int": ctypes.c_int, "unsigned": ctypes.c_uint, "unsigned int": ctypes.c_uint, "long": ctypes.c_long,
    "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "bool": ctypes.c_bool,
}  # fmt: skip
_REALS = {"double": ctypes.c_double, "float": ctypes.c_float}
_COMPLEX = {"double complex": ctypes.c_double, "float complex": ctypes.c_float}  # by pointers to their parts
_INPUT_SIZES = {"n", "dim", "ndim", "nx", "neq", "size"}
_RESULT_SIZES = {"m", "expanded", "nf", "ny"}
_IGNORED = {"new_x", "iflag", "flag", "unused"}
_VALUES = {"v", "value", "f", "fx", "fval", "obj_value", "logp"}

INPUT, RESULT, EITHER, VALUE, INPUT_SIZE, RESULT_SIZE, USER, IGNORED = (
    "input", "result", "input, then result", "value", "input size", "result size", "user data", "ignored",
)  # fmt: skip

# Signatures by the name of who calls them; of several the first one that fits.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "nutpie": (
        "int(size_t dim, const double *x, double *gradient, double *logp, const void *user)",
        "int(size_t dim, size_t expanded, const double *x, double *y, const void *user)",
    ),
    "scipy": ("double(double x, void *user)", "double(int n, double *x, void *user)"),
    "nlopt": ("double(unsigned n, const double *x, double *gradient, void *user)",),
    "ipopt": (
        "bool(int n, const double *x, bool new_x, double *obj_value, void *user)",
        "bool(int n, const double *x, bool new_x, double *gradient, void *user)",
    ),
    "numbalsoda": (
        "void(double t, const double *u, double *du, const double *p)",
        "void(double t, const double *u, double *du, void *unused)",
    ),
    "odepack": ("void(const int *neq, const double *t, const double *y, double *ydot)",),
}
# Signatures by which nan is a result like any other: one draw without a value must not end a run.
_NAN_IS_A_RESULT = frozenset((SIGNATURES["nutpie"][1],))


class Parameter(NamedTuple):
    """A parameter: its name, its type, whether it is a pointer, and what it stands for."""

    name: str
    kind: str
    is_pointer: bool
    role: str


class CSignature(NamedTuple):
    """A signature: the type that is returned, and the parameters."""

    text: str
    returned: str
    parameters: tuple[Parameter, ...]

    @property
    def takes_nan(self) -> bool:
        """True if nan, infinity, or failures of linear algebra in place of a result are not reported as failures."""
        return self.text in _NAN_IS_A_RESULT

    def ctypes(self) -> Any:
        """Return the type of these functions for `ctypes`."""
        return ctypes.CFUNCTYPE(_returned_type(self.returned), *map(_argument_type, self.parameters))


def parse(text: str) -> CSignature:
    """Read a signature.

    Raises
    ------
    ValueError
        If it is none, or has a parameter that stands for nothing known.
    """
    found = re.fullmatch(r"\s*(.+?)\s*(?:\(\s*\*?\s*\w*\s*\)|\b\w+)?\s*\(([^()]*)\)\s*;?\s*", text)
    returned = " ".join(found[1].split()) if found else ""
    if not found or returned not in {"double", "float", "int", "bool", "void"}:
        raise ValueError(
            f"cfunc: {text!r} is not a C signature that returns double, float, int, bool or void, such as"
            " 'double(int n, const double *x, double *g, void *user)'"
        )
    given = [part for part in map(str.strip, found[2].split(",")) if part and part != "void"]
    has_const = any(re.match(r"const\s+(double|float)\b", part) for part in given)
    return CSignature(
        text, returned, tuple(_parameter(part, RESULT if has_const else EITHER, text) for part in given)
    )


def _parameter(part: str, otherwise: str, text: str) -> Parameter:
    found = re.fullmatch(r"(const\s+)?([\w\s]+?)\s*(\*?)\s*(?:const\s+)?(\w+)", part)
    if not found:
        raise ValueError(f"cfunc: {part!r} in {text!r} is not a type and a name")
    kind, is_pointer, name = (
        " ".join(found[2].replace("_Complex", "complex").split()),
        bool(found[3]),
        found[4],
    )
    role = _role(kind, is_pointer, name, INPUT if found[1] or not is_pointer else otherwise)
    if role is None:
        raise ValueError(
            f"cfunc: {part!r} in {text!r} stands for nothing known: numbers of elements are called"
            f" {', '.join(sorted(_INPUT_SIZES | _RESULT_SIZES))}, what is ignored {', '.join(sorted(_IGNORED))};"
            " arrays and numbers are double or float, complex ones are given by pointers, as double complex * or float"
            " complex *, and user data void *"
        )
    return Parameter(name, kind, is_pointer, role)


def _role(kind: str, is_pointer: bool, name: str, of_reals: str) -> str | None:
    """Return the role of a parameter, if real numbers stand for an input or a result."""
    if name in _IGNORED:
        return IGNORED
    if kind == "void":
        return USER if is_pointer else None
    if kind in _REALS or (kind in _COMPLEX and is_pointer):
        return VALUE if is_pointer and name in _VALUES else of_reals
    if kind not in _INTEGERS:
        return None
    return INPUT_SIZE if name in _INPUT_SIZES else RESULT_SIZE if name in _RESULT_SIZES else None


def _returned_type(kind: str) -> Any:
    return None if kind == "void" else (_REALS | _INTEGERS)[kind]


def _argument_type(parameter: Parameter) -> Any:
    if parameter.kind == "void":
        return ctypes.c_void_p
    plain = (_REALS | _INTEGERS | _COMPLEX)[parameter.kind]
    return ctypes.POINTER(plain) if parameter.is_pointer else plain
