"""Structures of arguments and results in C: matched against what a call passes, built around new arrays.

A structure is described by nodes. A node is a row of fields, and the rows of a container's parts lie one behind the
other. Only containers are described that can be read and made without Python: lists, tuples and dicts themselves, and
named tuples.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module
from tapegrad.engine.runtime.object_layouts import ARRAY_DATA, ARRAY_DESCR

# Fields of a row.
(
    KIND,
    OBJECT,  # the type of a slot or a container, or a fixed object; of a block, the address of its shape
    COUNT,  # of the parts; the number of a slot, or of the array that a block is of
    PARTS,  # address of the rows of the parts; of a block, where it begins in the array, in bytes
    KEYS,  # a tuple of the keys of a dict; of a block, its number of dimensions
) = range(5)
_ROW_FIELDS = 5
_SLOT, _FIXED, _TUPLE, _LIST, _DICT, _BLOCK = range(6)  # kinds
_IN_C_ORDER = 0x501  # NPY_ARRAY_CARRAY: contiguous, aligned and writeable
_EQUAL = 2  # Py_EQ
_DATA, _DTYPE = ARRAY_DATA // 8, ARRAY_DESCR // 8  # fields of an array
_COMPARED = (str, int, bytes)  # types whose `==` is C's, and tells no less than two values apart

KEYWORDS = object()  # stands before the dict of arguments by keyword among those by position

OBJECTS: dict[str, Any] = {
    "array": np.ndarray,
    "new_tuple": tuple.__new__,
    "tuple": tuple,
    **{kind.__name__: kind for kind in _COMPARED},
}


@dataclass(frozen=True, slots=True)
class LeafSlot:
    """A leaf that differs from call to call.

    Attributes
    ----------
    number
        Its number among the arrays of the call, or of the results.
    kind
        Among arguments, its type.
    """

    number: int
    kind: type = np.ndarray


@dataclass(frozen=True, slots=True)
class FixedLeaf:
    """A leaf that is the same in each call: among arguments, a value of Python that cannot change.

    Two descriptions that differ in nothing else are equal: there is one for each signature.
    """

    value: Any = field(compare=False)


@dataclass(frozen=True, slots=True)
class LeafBlock:
    """A leaf of a result that is a view of adjacent elements of an array.

    Attributes
    ----------
    number
        The number of the array among the results.
    begin
        The offset of its first element, in bytes.
    shape
        Its shape.
    """

    number: int
    begin: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """A list, a tuple, a named tuple or a dict.

    Attributes
    ----------
    kind
        Its type.
    keys
        Of a dict, in its own order.
    parts
        Descriptions of what it holds, in order.
    """

    kind: type
    keys: tuple[Any, ...]
    parts: "tuple[Structure, ...]"


Structure = LeafSlot | FixedLeaf | LeafBlock | Container


def is_described(kind: type) -> bool:
    """Return whether containers of a type can be described: they have no attributes and no order of their own."""
    if kind in (list, tuple, dict):
        return True
    return issubclass(kind, tuple) and kind.__dictoffset__ == 0


def slots_of(structure: Structure) -> Iterator[LeafSlot]:
    """Yield the slots of a structure."""
    if isinstance(structure, LeafSlot):
        yield structure
    if isinstance(structure, Container):
        for part in structure.parts:
            yield from slots_of(part)


def lay_out(structure: Structure) -> tuple[int, Any]:
    """Return the address of the row of a structure, and what has to live as long as the rows."""
    waiting, order = deque([structure]), [structure]
    while waiting:
        node = waiting.popleft()
        if isinstance(node, Container):
            waiting.extend(node.parts)
            order.extend(node.parts)
    rows = np.zeros((len(order), _ROW_FIELDS), np.int64)
    free = 1  # the first row that no container has its parts at
    shapes = {node: np.array(node.shape, np.int64) for node in order if isinstance(node, LeafBlock)}
    for row, node in zip(rows, order, strict=True):
        if isinstance(node, LeafBlock):
            row[:] = _BLOCK, shapes[node].ctypes.data, node.number, node.begin, len(node.shape)
        else:
            row[:] = _fields(node, int(rows[free:].ctypes.data))
        free += len(node.parts) if isinstance(node, Container) else 0
    return int(rows.ctypes.data), (rows, shapes, structure)


def _fields(node: LeafSlot | FixedLeaf | Container, parts: int) -> list[int]:
    if isinstance(node, LeafSlot):
        return [_SLOT, id(node.kind), node.number, 0, 0]
    if isinstance(node, FixedLeaf):
        return [_FIXED, id(node.value), 0, 0, 0]
    kind = _LIST if node.kind is list else _DICT if node.kind is dict else _TUPLE
    return [kind, id(node.kind), len(node.parts), parts, id(node.keys)]


def add_to(module: Module) -> None:
    """Add the functions that match and build to a module, which has `OBJECTS`."""
    functions: tuple[Callable[..., None], ...] = (
        *(_same, _matched_list, _matched_dict, _matched, _all_matched),
        *(_built_list, _built_dict, _named, _built_tuple, _block, _built),
    )
    for function in functions:
        module.internal(function)


def _part(code: Code, row: Value, k: Operand) -> Value:
    """Return the address of the row of a container's part."""
    return code.load(row, PARTS) + k * code.field(8 * _ROW_FIELDS)


# --- matched -----------------------------------------------------------------------------------------------------
# Nothing that these call runs code of Python's: what a container lends is there until they return.


def _end_where_different(code: Code, found: Value, expected: Operand) -> None:
    with code.where(found.unequal(expected)):
        code.ret(NULL)


def _same(code: Code, found: Value, expected: Value) -> None:
    """``same(found, expected)``: whether two objects are one, or numbers or texts of one type that are equal."""
    with code.where(found.equal(expected)):
        code.ret(1)
    kind = code.type_of(expected)
    _end_where_different(code, code.type_of(found), kind)
    for each in _COMPARED:
        with code.where(kind.equal(code.outside(each.__name__))):
            code.ret(code.call("PyObject_RichCompareBool", found, expected, _EQUAL))
    code.ret(NULL)


def _all_matched(code: Code, row: Value, values: Value, slots: Value) -> None:
    """``all_matched(row, values, slots)``: whether the objects at an address match the parts of a container."""
    with code.for_each(code.load(row, COUNT)) as k:
        _end_where_different(code, code.call("matched", _part(code, row, k), code.load(values, k), slots), 1)
    code.ret(1)


def _matched_list(code: Code, row: Value, value: Value, slots: Value) -> None:
    _end_where_different(code, code.call("PyList_Size", value), code.load(row, COUNT))
    with code.for_each(code.load(row, COUNT)) as k:
        part = code.call("PyList_GetItem", value, k)
        _end_where_different(code, code.call("matched", _part(code, row, k), part, slots), 1)
    code.ret(1)


def _matched_dict(code: Code, row: Value, value: Value, slots: Value) -> None:
    """``matched_dict(row, value, slots)``: the same keys in the same order, and parts that match."""
    count, keys = code.load(row, COUNT), code.items_of(code.load(row, KEYS))
    _end_where_different(code, code.call("PyDict_Size", value), count)
    pointer, key, part = (code.room(1) for _ in range(3))
    code.store(NULL, pointer)
    with code.for_each(count) as k:
        _end_where_different(code, code.call("PyDict_Next", value, pointer, key, part), 1)
        _end_where_different(code, code.call("same", code.load(key), code.load(keys, k)), 1)
        _end_where_different(code, code.call("matched", _part(code, row, k), code.load(part), slots), 1)
    code.ret(1)


def _matched(code: Code, row: Value, value: Value, slots: Value) -> None:
    """``matched(row, value, slots)``: whether an object is of the structure; new references to leaves in the slots."""
    kind = code.load(row, KIND)
    with code.where(kind.equal(_FIXED)):
        code.ret(code.call("same", value, code.load(row, OBJECT)))
    _end_where_different(code, code.type_of(value), code.load(row, OBJECT))
    with code.where(kind.equal(_SLOT)):
        code.store(code.new_reference(value), slots, code.load(row, COUNT))
        code.ret(1)
    with code.where(kind.equal(_LIST)):
        code.ret(code.call("matched_list", row, value, slots))
    with code.where(kind.equal(_DICT)):
        code.ret(code.call("matched_dict", row, value, slots))
    _end_where_different(code, code.call("PyTuple_Size", value), code.load(row, COUNT))
    code.ret(code.call("all_matched", row, code.items_of(value), slots))


# --- built -------------------------------------------------------------------------------------------------------


@contextmanager
def _for_each_part(code: Code, row: Value, arrays: Value, made: Value) -> Iterator[tuple[Value, Value]]:
    """Loop over the parts of a container, each of them built; without memory, give up what was made."""
    with code.where_null(made):
        code.ret(NULL)
    with code.for_each(code.load(row, COUNT)) as k:
        part = code.call("built", _part(code, row, k), arrays)
        with code.where_null(part):
            code.drop(made)
            code.ret(NULL)
        yield k, part


def _built_list(code: Code, row: Value, arrays: Value) -> None:
    made = code.call("PyList_New", code.load(row, COUNT))
    with _for_each_part(code, row, arrays, made) as (k, part):
        code.call("PyList_SetItem", made, k, part)
    code.ret(made)


def _built_dict(code: Code, row: Value, arrays: Value) -> None:
    made, keys = code.call("PyDict_New"), code.items_of(code.load(row, KEYS))
    with _for_each_part(code, row, arrays, made) as (k, part):
        failed = code.call("PyDict_SetItem", made, code.load(keys, k), part)
        code.drop(part)
        with code.where(failed.unequal(NULL)):
            code.drop(made)
            code.ret(NULL)
    code.ret(made)


def _built_tuple(code: Code, row: Value, arrays: Value) -> None:
    made, kind = code.call("PyTuple_New", code.load(row, COUNT)), code.load(row, OBJECT)
    with _for_each_part(code, row, arrays, made) as (k, part):
        code.call("PyTuple_SetItem", made, k, part)
    with code.where(kind.unequal(code.outside("tuple"))):
        code.ret(code.call("named", kind, made))
    code.ret(made)


def _named(code: Code, kind: Value, made: Value) -> None:
    """``named(kind, made)``: the named tuple with the parts of a tuple, which is given up."""
    given = code.room(2)
    code.store(kind, given)
    code.store(made, given, 1)
    found = code.call("PyObject_Vectorcall", code.outside("new_tuple"), given, 2, NULL)
    code.drop(made)
    code.ret(found)


def _block(code: Code, row: Value, array: Value) -> None:
    """``block(row, array)``: a new array that shows adjacent elements of another one; a number if it is 0-d."""
    dtype = code.new_reference(code.load(array, _DTYPE))
    begin = code.load(array, _DATA) + code.load(row, PARTS)
    shape = code.load(row, KEYS), code.load(row, OBJECT)
    view = code.call(
        "PyArray_NewFromDescr", code.outside("array"), dtype, *shape, NULL, begin, _IN_C_ORDER, NULL
    )
    with code.where_null(view):
        code.ret(NULL)
    failed = code.call("PyArray_SetBaseObject", view, code.new_reference(array))
    with code.where(failed.unequal(NULL)):
        code.drop(view)
        code.ret(NULL)
    code.ret(code.call("PyArray_Return", view))


def _built(code: Code, row: Value, arrays: Value) -> None:
    """``built(row, arrays)``: a new structure around arrays, 0-d ones as NumPy scalars; null with an exception."""
    kind = code.load(row, KIND)
    with code.where(kind.equal(_SLOT)):
        array = code.load(arrays, code.load(row, COUNT))
        code.ret(code.call("PyArray_Return", code.new_reference(array)))
    with code.where(kind.equal(_FIXED)):
        code.ret(code.new_reference(code.load(row, OBJECT)))
    with code.where(kind.equal(_BLOCK)):
        code.ret(code.call("block", row, code.load(arrays, code.load(row, COUNT))))
    for each, name in ((_LIST, "built_list"), (_DICT, "built_dict")):
        with code.where(kind.equal(each)):
            code.ret(code.call(name, row, arrays))
    code.ret(code.call("built_tuple", row, arrays))
