"""Names in code objects: global variables, attributes, text, imports."""

import dis
import functools
import re
import types
from collections.abc import Iterator, Set
from dataclasses import dataclass

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
# Names by which code comes to attributes or variables that it does not spell out.
_ATTRIBUTES_BY_TEXT = frozenset(
    {"getattr", "vars", "dir", "__dict__", "__dir__", "attrgetter", "methodcaller", "__getattribute__"}
)
_VARIABLES_BY_TEXT = frozenset({"eval", "exec", "globals", "locals", "f_globals", "f_locals", "__globals__"})
_ABSENCE = frozenset({"hasattr", "getattr", "AttributeError", "vars", "__dict__"})

# Attributes in the fields of a template of `str.format`.
_FIELDS = re.compile(r"\.([^\W\d]\w*)(?=[^{}]*\})")

# Functions that make text of objects, beside the instructions of f-strings and `%`. What is printed stays unless it is
# read again.
_FORMAT = frozenset({
    "str", "repr", "ascii", "format", "format_map", "getvalue", "substitute", "safe_substitute", "__repr__", "__str__",
    "__format__",
})  # fmt: skip
_FORMATTING = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "CONVERT_VALUE"})
_CONVERTED = 0x03  # bits of the argument of FORMAT_VALUE
# Instructions behind which a text is no part of the statement that raises it.
_ENDS = ("STORE_", "RETURN_", "POP_", "JUMP_", "FOR_ITER", "YIELD_")

_LOAD_OUTER = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF"})
# Instructions and functions that compare objects.
_COMPARES = frozenset({"COMPARE_OP", "CONTAINS_OP"})
_COMPARE = frozenset({
    "index", "count", "remove", "sort", "sorted", "min", "max", "set", "frozenset", "dict", "eq", "ne", "lt", "le",
    "gt", "ge", "contains", "indexOf", "countOf",
})  # fmt: skip


def reads_attributes_by_text(names: Set[str]) -> bool:
    """Return whether one of the names is of what reads attributes by a name that is computed."""
    return not _ATTRIBUTES_BY_TEXT.isdisjoint(names)


def reads_variables_by_text(names: Set[str]) -> bool:
    """Return whether one of the names is of what reads global variables by a name that is computed."""
    return not _VARIABLES_BY_TEXT.isdisjoint(names)


def asks_for_absence(names: Set[str]) -> bool:
    """Return whether one of the names is of what finds out that an attribute is missing."""
    return not _ABSENCE.isdisjoint(names)


@dataclass(frozen=True)
class Named:
    """Names in a code object and those nested in it.

    Attributes
    ----------
    variables
        Global variables that are loaded.
    attributes
        Names of attributes, and all text that may be one.
    imports
        Modules that are imported inside, by their full names.
    compares
        Whether objects may be compared: by an operator, or by a function that does so.
    formats
        How text is made of objects: ``text``; ``%``, if that operator has no constant text; ``raised`` for the text of
        an error, which is seen where an error is ``caught``.
    """

    variables: tuple[str, ...]
    attributes: frozenset[str]
    imports: tuple[str, ...]
    compares: bool
    formats: frozenset[str]

    @property
    def any_attribute(self) -> bool:
        """True if attributes may be looked up by a computed name."""
        return reads_attributes_by_text(self.attributes) or self.any_variable

    @property
    def any_variable(self) -> bool:
        """True if global variables may be looked up by a computed name."""
        return reads_variables_by_text(self.attributes)

    @property
    def asks_for_absence(self) -> bool:
        """True if the code may handle a missing attribute."""
        return asks_for_absence(self.attributes)


@functools.lru_cache(2048)
def named(code: types.CodeType) -> Named:
    """Return the names in a code object and those nested in it."""
    variables: dict[str, None] = {}
    attributes: set[str] = set()
    imports: dict[str, None] = {}
    compares, classes = False, 0
    for each in _nested(code):
        attributes.update(each.co_names)
        for constant in each.co_consts:
            attributes.update(_texts(constant))
        for instruction in dis.get_instructions(each):
            compares |= instruction.opname in _COMPARES
            if instruction.opname == "MATCH_CLASS":
                attributes.add("__match_args__")
            # From Python 3.12 on `super()` loads it, too
            classes += instruction.opname in _LOAD_OUTER and instruction.argval == "__class__"
            classes -= instruction.opname == "LOAD_SUPER_ATTR"
            if instruction.opname in _GLOBAL:
                variables[instruction.argval] = None
            elif instruction.opname == "IMPORT_NAME":
                imports[instruction.argval] = None
    if classes > 0:
        attributes.add("__class__")
    return Named(
        tuple(variables),
        frozenset(attributes),
        tuple(imports),
        compares or not _COMPARE.isdisjoint(attributes),
        frozenset(kind for each in _nested(code) for kind in _formats(each)),
    )


def _formats(code: types.CodeType) -> Iterator[str]:
    """Yield how code makes text of objects."""
    if not _FORMAT.isdisjoint(code.co_names):
        yield "text"
    waiting, constant = "", any("%" in text for text in code.co_consts if isinstance(text, str))
    for instruction in dis.get_instructions(code):
        if instruction.opname == "CHECK_EXC_MATCH" or instruction.argval == "exc_info":
            yield "caught"
        elif instruction.opname in _FORMATTING:
            argument = instruction.arg or 0
            takes_any = instruction.opname != "FORMAT_VALUE" or argument & _CONVERTED or not argument
            waiting = "text" if takes_any else waiting
        elif instruction.opname == "BINARY_OP" and instruction.argrepr in ("%", "%="):
            waiting = waiting or ("text" if constant else "%")
        elif instruction.opname == "RAISE_VARARGS" and waiting:
            yield "raised"
            waiting = ""
        elif waiting and instruction.opname.startswith(_ENDS):
            yield waiting
            waiting = ""


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _texts(constant: object) -> Iterator[str]:
    """Return the text in a constant that may be the name of an attribute, or of several with dots between."""
    if isinstance(constant, str):
        yield from (part for part in constant.split(".") if part.isidentifier())
        yield from fields_of(constant)
    elif isinstance(constant, tuple | frozenset):
        for part in constant:
            yield from _texts(part)


def fields_of(text: str) -> list[str]:
    """Return the names of attributes in the fields of a template of `str.format`."""
    return _FIELDS.findall(text)
