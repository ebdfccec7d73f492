"""C comparisons of Python objects with what they were, by identity: what a replay asks before it runs.

A comparison is a row of fields: the address of the function of its kind, and its operands, which are objects. Rows lie
one behind the other. What a container must hold is a tuple, whose fields are contiguous as well.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import select
from tapegrad.engine.codegen.python_calls.fast_calls import python_function
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module
from tapegrad.engine.runtime.object_layouts import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_EXTENTS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
)

Row = tuple[Any, ...]  # a kind, then up to three objects
_OPERANDS = 3
_ROW_FIELDS = 1 + _OPERANDS
_DESCR_GET = 54  # Py_tp_descr_get of Python's C interface
_EQUAL = 2  # Py_EQ
_SAME, _RAISED = 1, -1  # results beside NULL, where there is a difference
_MODULE = Module("comparisons", true=True, false=False, exception=Exception, array=np.ndarray)
# Fields of NumPy's array object, the second and the last of which are integers of 32 bits; its flag of contiguous ones.
_DATA, _NDIM, _EXTENTS = ARRAY_DATA // 8, ARRAY_NDIM // 8, ARRAY_EXTENTS // 8
_DTYPE, _FLAGS = ARRAY_DESCR // 8, ARRAY_FLAGS // 8
_INT, _CONTIGUOUS = 0xFFFFFFFF, 1


class Missing:
    """Stands for no object, among the operands of a comparison."""


class Comparisons:
    """Comparisons that are made in order, up to the first that finds a difference.

    Parameters
    ----------
    rows
        For each comparison its kind and its operands. `Missing` stands for no object.

        ==================  ============================================================================
        type                an object, its class
        attributes          an object, the dict of its attributes
        entry               a dict, a key, the value
        without             a dict, a set of keys that it does not have
        cell                a cell, its contents
        code                a function, its code
        defaults            a function, its defaults
        keyword_defaults    a function, its defaults of arguments by keyword
        member              a descriptor that ``__slots__`` has made, an object, its value
        elements            a list, a tuple of its elements
        entries             a dict, a tuple of its keys, a tuple of its values, in order
        parts               a function that returns an iterable, its argument, a tuple of what is iterated over
        result              a function, its argument, the object that it returns
        answer              a function, its argument, a value that is equal to the result
        array               a function, its argument, (a contiguous array that is equal to the result, its bytes)
        ==================  ============================================================================

    Attributes
    ----------
    holds
        Returns whether there is no difference; without Python, but for the functions that rows name.
    """

    __slots__ = ("_fields", "_first", "_kept", "holds")

    def __init__(self, rows: Sequence[Row]) -> None:
        self._kept: list[Row] = list(rows)
        self._fields = np.array([_fields(row) for row in rows], np.int64).reshape(len(rows), _ROW_FIELDS)
        header = np.array([len(rows), self._fields.ctypes.data], np.int64)
        self.holds: Callable[[], bool] = True.__bool__  # there is nothing to compare
        self._first: Callable[[], int] = (-1).__int__
        if not rows:
            return
        addresses = _MODULE.addresses()
        # what compiled code refers to has to live on
        fixed = (int(header.ctypes.data), header, self._fields, self._kept)
        self.holds = python_function("holds", addresses["holds"], fixed)
        self._first = python_function("first_difference", addresses["first_difference"], fixed)

    def first_difference(self) -> int:
        """Return the number of the first comparison that finds a difference; -1 if there is none."""
        return int(self._first())

    def replace(self, number: int, row: Row) -> None:
        """Put another comparison in the place of one."""
        before, self._kept[number] = self._kept[number], row
        self._fields[number] = _fields(row)
        del before  # not while the fields named its objects


def _fields(row: Row) -> list[int]:
    kind, *operands = row
    fields = [0 if each is Missing else id(each) for each in operands]
    return [_MODULE.addresses()[kind], *fields, *[0] * (_OPERANDS - len(fields))]


# --- along the rows ----------------------------------------------------------------------------------------------


@_MODULE.internal
def _search(code: Code, header: Value) -> None:
    """``search(header)``: the number of the first row that differs, or of rows; -1 with an exception."""
    count, rows = (code.load(header, k) for k in range(2))
    with code.for_each(count) as k:
        row = rows + k * (8 * _ROW_FIELDS)
        found = code.call_at(code.load(row), row)
        with code.where(found.unequal(_SAME)):
            with code.where(found.equal(_RAISED)):
                code.ret(_RAISED)
            code.ret(k)
    code.ret(count)


def _found(code: Code, fixed: Value) -> tuple[Value, Value]:
    """Emit the search of a function that Python calls, whose `fixed` is a tuple that begins with the header's address.

    Return what it finds, and the number of rows.
    """
    header = code.call("PyLong_AsLongLong", code.load(code.items_of(fixed)))
    found = code.call("search", header)
    with code.where(found.equal(_RAISED)):
        code.ret(NULL)
    return found, code.load(header)


@_MODULE.exported
def _holds(code: Code, fixed: Value, _arguments: Value, _count: Value) -> None:
    found, count = _found(code, fixed)
    with code.where(found.unequal(count)):
        code.ret(code.new_reference(code.outside("false")))
    code.ret(code.new_reference(code.outside("true")))


@_MODULE.exported
def _first_difference(code: Code, fixed: Value, _arguments: Value, _count: Value) -> None:
    found, count = _found(code, fixed)
    code.ret(code.call("PyLong_FromLongLong", select(found.equal(count), -1, found)))


# --- kinds -------------------------------------------------------------------------------------------------------

_Kind = Callable[[Code, Value, Value, Value], None]


def _kind(define: _Kind, name: str = "") -> _Kind:
    """Add a kind of comparison: a function of a row, which emits the comparison of its operands."""

    def on_row(code: Code, row: Value) -> None:
        define(code, *(code.load(row, k) for k in range(1, 1 + _OPERANDS)))

    _MODULE.exported(on_row, name or define.__name__.lstrip("_"))
    return define


def _end(code: Code, found: Value, expected: Operand) -> None:
    """Return whether an object is the expected one."""
    code.ret(code.body.convert("zext", found.equal(expected), "i64"))


def _end_where_different(code: Code, found: Value, expected: Operand) -> None:
    with code.where(found.unequal(expected)):
        code.ret(NULL)


def _end_where_failed(code: Code, found: Value) -> None:
    """Return where a call has failed: an exception is a difference, but not an interrupt."""
    with code.where_null(found):
        _end_with_exception(code)


def _end_where_raised(code: Code, status: Value) -> None:
    with code.where(status.equal(_RAISED)):
        _end_with_exception(code)


def _end_with_exception(code: Code) -> None:
    matches = code.call("PyErr_ExceptionMatches", code.outside("exception"))
    with code.where_null(matches):
        code.ret(_RAISED)
    code.call("PyErr_Clear")
    code.ret(NULL)


@_kind
def _type(code: Code, owner: Value, expected: Value, _: Value) -> None:
    _end(code, code.type_of(owner), expected)


@_kind
def _attributes(code: Code, owner: Value, expected: Value, _: Value) -> None:
    found = code.call("PyObject_GenericGetDict", owner, NULL)
    _end_where_failed(code, found)
    code.drop(found)
    _end(code, found, expected)


@_kind
def _entry(code: Code, names: Value, name: Value, expected: Value) -> None:
    found = code.call("PyDict_GetItemWithError", names, name)
    with code.where_null(found), code.where(code.call("PyErr_Occurred").unequal(NULL)):
        _end_with_exception(code)
    _end(code, found, expected)


@_kind
def _without(code: Code, names: Value, absent: Value, _: Value) -> None:
    with _for_each_entry(code, names) as (key, _value, _k):
        found = code.call("PySet_Contains", absent, key)
        _end_where_raised(code, found)
        _end_where_different(code, found, NULL)
    code.ret(_SAME)


@_kind
def _cell(code: Code, holder: Value, expected: Value, _: Value) -> None:
    found = code.call("PyCell_Get", holder)
    with code.where_null(found):
        _end(code, found, expected)
    code.drop(found)
    _end(code, found, expected)


def _of_function(get: str) -> _Kind:
    def define(code: Code, function: Value, expected: Value, _: Value) -> None:
        _end(code, code.call(get, function), expected)

    return define


_kind(_of_function("PyFunction_GetCode"), "code")
_kind(_of_function("PyFunction_GetDefaults"), "defaults")
_kind(_of_function("PyFunction_GetKwDefaults"), "keyword_defaults")


@_kind
def _member(code: Code, member: Value, owner: Value, expected: Value) -> None:
    get = code.call("PyType_GetSlot", code.type_of(member), _DESCR_GET)
    found = code.call_at(get, member, owner, code.type_of(owner))
    with code.where_null(found):
        code.call("PyErr_Clear")
        _end(code, found, expected)
    code.drop(found)
    _end(code, found, expected)


@_kind
def _elements(code: Code, container: Value, expected: Value, _: Value) -> None:
    count = code.call("PyTuple_Size", expected)
    _end_where_different(code, code.call("PyList_Size", container), count)
    parts = code.items_of(expected)
    with code.for_each(count) as k:
        _end_where_different(code, code.call("PyList_GetItem", container, k), code.load(parts, k))
    code.ret(_SAME)


@_kind
def _entries(code: Code, mapping: Value, keys: Value, values: Value) -> None:
    _end_where_different(code, code.call("PyDict_Size", mapping), code.call("PyTuple_Size", keys))
    keys, values = code.items_of(keys), code.items_of(values)
    with _for_each_entry(code, mapping) as (key, value, k):
        _end_where_different(code, key, code.load(keys, k))
        _end_where_different(code, value, code.load(values, k))
    code.ret(_SAME)


@contextmanager
def _for_each_entry(code: Code, mapping: Value) -> Iterator[tuple[Value, Value, Value]]:
    """Loop over the entries of a dict: key, value and number of each."""
    pointer, key, value = (code.room(1) for _ in range(3))
    code.store(NULL, pointer)
    with code.for_each(code.call("PyDict_Size", mapping)) as k:
        _end_where_different(code, code.call("PyDict_Next", mapping, pointer, key, value), _SAME)
        yield code.load(key), code.load(value), k


@_kind
def _parts(code: Code, iterate: Value, owner: Value, expected: Value) -> None:
    iterable = code.call("PyObject_CallOneArg", iterate, owner)
    _end_where_failed(code, iterable)
    found = code.call("PySequence_Tuple", iterable)
    code.drop(iterable)
    _end_where_failed(code, found)
    count = code.call("PyTuple_Size", expected)
    with code.where(code.call("PyTuple_Size", found).unequal(count)):
        code.drop(found)
        code.ret(NULL)
    parts, wanted = code.items_of(found), code.items_of(expected)
    with (
        code.for_each(count) as k,
        code.where(code.load(parts, k).unequal(code.load(wanted, k))),
    ):
        code.drop(found)
        code.ret(NULL)
    code.drop(found)
    code.ret(_SAME)


@_kind
def _answer(code: Code, ask: Value, owner: Value, expected: Value) -> None:
    found = code.call("PyObject_CallOneArg", ask, owner)
    _end_where_failed(code, found)
    same = code.call("PyObject_RichCompareBool", found, expected, _EQUAL)
    code.drop(found)
    _end_where_raised(code, same)
    code.ret(same)


@_kind
def _result(code: Code, ask: Value, argument: Value, expected: Value) -> None:
    found = code.call("PyObject_CallOneArg", ask, argument)
    _end_where_failed(code, found)
    code.drop(found)
    _end(code, found, expected)


@_kind
def _array(code: Code, convert: Value, owner: Value, expected: Value) -> None:
    found = code.call("PyObject_CallOneArg", convert, owner)
    _end_where_failed(code, found)
    parts = code.items_of(expected)
    bytes_ = code.call("PyLong_AsLongLong", code.load(parts, 1))
    same = code.call("same_array", found, code.load(parts), bytes_)
    code.drop(found)
    code.ret(same)


@_MODULE.internal
def _same_array(code: Code, found: Value, expected: Value, bytes_: Value) -> None:
    """``same_array(found, expected, bytes)``: whether an object is a contiguous array equal to another one."""
    _end_where_different(code, code.type_of(found), code.outside("array"))
    _end_where_different(code, code.load(found, _DTYPE), code.load(expected, _DTYPE))
    ndim, other = (code.load(each, _NDIM) & _INT for each in (expected, found))
    _end_where_different(code, ndim, other)
    extents, others = code.load(expected, _EXTENTS), code.load(found, _EXTENTS)
    with code.for_each(ndim) as k:
        _end_where_different(code, code.load(extents, k), code.load(others, k))
    contiguous = code.load(found, _FLAGS) & _CONTIGUOUS
    _end_where_different(code, contiguous, _CONTIGUOUS)
    difference = code.call("memcmp", code.load(expected, _DATA), code.load(found, _DATA), bytes_)
    _end(code, difference, NULL)
