"""Type slots of handles, the Python objects of a tape's slots: finaliser, operators and indexing in C.

A handle is an instance of a class with ``__slots__``: its tape, the number of its slot, an array, a base and the base's
version. Each function serves handles of one class on the tape of the thread whose slots are up to date, beside one
another and beside plain numbers, and calls the class's Python method for all else. That method spends most of its time
on making a handle and on finalising one, which C does in a tenth of it.
"""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import select
from tapegrad.engine.codegen.python_calls import type_slots
from tapegrad.engine.codegen.python_calls.fast_calls import python_function
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module
from tapegrad.engine.runtime.object_layouts import SLICE_LIMITS, TYPE

# Fields of a handle in the order of memory: the interpreter sorts ``__slots__`` by name.
_FIELDS = ("_array", "_base", "_constant", "_element", "_slot", "_tape", "_version")
_ARRAY, _BASE, _, _ELEMENT, _SLOT, _TAPE, _VERSION = (TYPE // 8 + 1 + k for k in range(len(_FIELDS)))
# Fields of a tape, and of the record of a thread's modes
_TAPE_FIELDS = ("_fields", "_scalars", "header", "owners")
_MODE_FIELDS = (
    "anomaly", "differentiate", "hidden", "leaves", "nan_on_failure", "nested", "no_fast_call", "no_fast_derivative",
    "observed", "outside", "recorder", "tape", "weak",
)  # fmt: skip
_HEADER = _ARRAY + _TAPE_FIELDS.index("header")
_NONE = -1  # in place of a slot: the Python method finds it, or raises
_LATER = ("handles", "tape", "header", "finaliser", "calls", "thread", "entered", "attachments", "stale")
_END = 1 << 60  # beyond the end of any array
_START, _STOP, _STEP = (SLICE_LIMITS // 8 + k for k in range(3))
_ROW, _SLICE, _NEW_AXIS = range(3)  # kinds of the parts of keys, as `view_key` takes them, four fields a part
_MAX_PARTS = 64
# Entry points by their places in an array of addresses.
CALLS = ("drop", "record_elementwise", "record_with_number", "view_slice", "view_index", "view_key")


class Operators(NamedTuple):
    """Op codes of operators.

    Attributes
    ----------
    binary, unary
        Op codes by the names of methods: ``__add__``, which ``__radd__`` reflects; ``__neg__``.
    powers
        Op codes of one operand that compute powers, by exponent.
    """

    binary: Mapping[str, int]
    unary: Mapping[str, int]
    powers: Mapping[float, int]


def write_handle_slots(
    cls: type,
    tape: Any,
    operators: Operators,
    module: Module,
    calls: np.ndarray,
    mode: type,
    **objects: Any,
) -> tuple[Callable[[Any, int], Any], Callable[..., Any]] | None:
    """Write the type slots of a class of handles; return two functions.

    One makes a handle for a tape and a slot. The other one computes an op, by its code, of one or two operands; `None`
    where that is left to Python.

    If the class is not laid out as expected, nothing is written, and `None` is returned.

    Parameters
    ----------
    cls, tape
        The class, and the eager tape. Handles of a recording are served while a thread is in it.
    operators, module
        The operators that are served, and what `module_of` returned for them.
    calls
        Addresses of `CALLS`, an int64 array. Where there is a 0, the Python method serves, until there is another.
    mode
        The class of the records of modes.
    **objects
        `thread` and `entered` as for `callable_types`, and `attachments` and `stale`, dicts that are empty unless the
        Python finaliser is to run.
    """
    names = ("__del__", "__getitem__", *operators.binary, *operators.unary)
    laid_out = _is_laid_out(cls, _FIELDS) and _is_laid_out(mode, _MODE_FIELDS)
    if not type_slots.are_found(cls, names) or not laid_out or not _is_laid_out(type(tape), _TAPE_FIELDS):
        return None
    finaliser = type_slots.SLOTS["__del__"].function(cls)
    fields = {"header": tape.header, "finaliser": finaliser, "calls": int(calls.ctypes.data)}
    kept = (module, calls)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # for handles that live on at interpreter exit
    new_handle, elementwise, *functions = module.addresses(
        handles=cls, tape=tape, **fields, **objects
    ).values()
    type_slots.write(cls, dict(zip(names, functions, strict=True)))
    return python_function("new_handle", new_handle, None), python_function("elementwise", elementwise, None)


def _is_laid_out(cls: type, fields: tuple[str, ...]) -> bool:
    """Return whether the fields of an instance are in their places, found with objects that are put there."""
    probe: Any = object.__new__(cls)
    memory = (ctypes.c_int64 * (cls.__basicsize__ // 8)).from_address(id(probe))
    for k, name in enumerate(fields):
        mark = object()
        setattr(probe, name, mark)
        is_there = memory[_ARRAY + k] == id(mark)
        delattr(probe, name)
        if not is_there:
            return False
    return True


def module_of(operators: Operators) -> Module:
    """Return the module of the functions, which are exported in the order of their slots."""
    pairs = {name: f"__r{name.strip('_')}__" for name in operators.binary}
    methods = ("__getitem__", *pairs, *pairs.values(), *operators.unary)
    attributes = ("mode", "drop_orphans")
    module = Module(
        "handle_slots", *_LATER,
        none=None, true=True, false=False, zero=0, NotImplemented=NotImplemented, float=float, int=int, slice=slice,
        tuple=tuple, TypeError=TypeError,
        **{name: name for name in methods}, **{f"name_{name}": name for name in attributes},
    )  # fmt: skip
    for function in _INTERNAL:
        module.internal(function)
    for function in _EXPORTED:
        module.exported(function)
    # Op codes are in the names of the functions, by which object code is kept on disk.
    for name, code in operators.binary.items():
        if name == "__pow__":
            exponents = "_".join(f"{exponent}_{op}" for exponent, op in operators.powers.items())
            module.exported(_power_operator(code, operators.powers), f"power_{code}_{exponents}")
        else:
            module.exported(_binary_operator(name, pairs[name], code), f"binary_{code}")
    for name, code in operators.unary.items():
        module.exported(_unary_operator(name, code), f"unary_{code}")
    return module


# --- handles -----------------------------------------------------------------------------------------------------


def _engine(code: Code, name: str, header: Value, *values: Operand, uncompiled: int = _NONE) -> Value:
    """Emit a call of an entry point, by its name in `CALLS`, for a tape's header; -1 if it has raised.

    The function ends with `uncompiled` if there is no such entry point yet.
    """
    address = code.load(code.call("PyLong_AsLongLong", code.outside("calls")), CALLS.index(name))
    with code.where_null(address):
        code.ret(uncompiled)
    status, result = code.call_compiled(address, header, *values, releases_gil=False)
    return select(status.equal(0), result, _NONE)


def _truth(code: Code, condition: Value) -> Value:
    """Return a condition as a field."""
    return code.body.convert("zext", condition, "i64")


def _header_of(code: Code, tape: Value) -> Value:
    """Emit the reading of a tape's header."""
    return code.call("PyLong_AsLongLong", code.load(tape, _HEADER))


def _new(code: Code, tape: Value, number: Value) -> None:
    """``new(tape, number)``: a handle for a slot; null with an exception."""
    handle = code.call("PyType_GenericAlloc", code.outside("handles"), 0)
    with code.where_null(handle):
        code.ret(NULL)
    none, zero = code.outside("none"), code.outside("zero")
    for field, value in ((_TAPE, tape), (_SLOT, number), (_ARRAY, none), (_BASE, none), (_VERSION, zero)):
        code.store(code.new_reference(value), handle, field)
    code.ret(handle)


def _made(code: Code, tape: Value, header: Value, slot: Value) -> None:
    """``made(tape, header, slot)``: a handle for a slot that carries one; null with an exception."""
    number = code.call("PyLong_FromLongLong", slot)
    with code.where_null(number):
        _engine(code, "drop", header, slot, uncompiled=NULL)
        code.ret(NULL)
    handle = code.call("new", tape, number)
    code.drop(number)
    with code.where_null(handle):
        _engine(code, "drop", header, slot, uncompiled=NULL)
    code.ret(handle)


def _new_handle(code: Code, _fixed: Value, arguments: Value, given: Value) -> None:
    """``PyObject *new_handle(PyObject *fixed, PyObject *const *arguments, Py_ssize_t count)``: of a tape and a slot."""
    with code.where(given.unequal(2)):
        code.fail("TypeError", "it takes 2 arguments")
    code.ret(code.call("new", code.load(arguments), code.load(arguments, 1)))


def _slot_of(code: Code, handle: Value, tape: Value) -> None:
    """``slot_of(handle, tape)``: the slot of a handle on a tape, if it is up to date."""
    with code.where(code.load(handle, _TAPE).unequal(tape)):
        code.ret(_NONE)
    base = code.load(handle, _BASE)
    with (
        code.where(base.unequal(code.outside("none"))),
        code.where(code.load(base, _VERSION).unequal(code.load(handle, _VERSION))),
    ):
        code.ret(_NONE)
    code.ret(code.call("PyLong_AsLongLong", code.load(handle, _SLOT)))


def _current(code: Code, fields: Value) -> None:
    """``current(fields)``: write the tape of the thread, its header, and its set of weak slots, null for none.

    Return whether derivatives are recorded; a negative number if the mode needs Python, or has raised.
    """
    tape, none = code.outside("tape"), code.outside("none")
    code.store(tape, fields)
    code.store(NULL, fields, 2)
    with code.body.when(code.call("PyList_Size", code.outside("entered")).equal(0)):
        code.store(_header_of(code, tape), fields, 1)
        code.ret(1)
    mode = code.call("PyObject_GetAttr", code.outside("thread"), code.outside("name_mode"))
    with code.where_null(mode):
        code.ret(_NONE)
    anomaly, own, recorder, weak, differentiate = (
        code.load(mode, _ARRAY + _MODE_FIELDS.index(name))
        for name in ("anomaly", "tape", "recorder", "weak", "differentiate")
    )
    code.drop(mode)  # the thread keeps it, and it keeps its fields
    with code.where(anomaly.unequal(none) | (own.unequal(tape) & own.unequal(recorder))):
        code.ret(_NONE)
    code.store(own, fields)
    code.store(_header_of(code, own), fields, 1)
    with (
        code.body.when(weak.unequal(none)),
        code.where(code.call("PySet_Size", weak).unequal(0)),
    ):
        code.store(weak, fields, 2)
    code.ret(_truth(code, differentiate.equal(code.outside("true"))))


def _result(code: Code, fields: Value, slot: Value, x: Value, y: Value) -> None:
    """Emit the return of a handle for what is computed of a handle, and of another one or null."""
    handle = code.call("made", code.load(fields), code.load(fields, 1), slot)
    with code.where(code.load(fields, 2).unequal(NULL)):
        code.ret(code.call("marked", code.load(fields, 2), handle, x, y))
    code.ret(handle)


def _marked(code: Code, weak: Value, handle: Value, x: Value, y: Value) -> None:
    """``marked(weak, handle, x, y)``: a result, which is a plain number if what it is computed of is."""
    with code.where_null(handle):
        code.ret(NULL)
    for each in (x, y):
        with code.body.when(each.unequal(NULL)):
            is_weak = code.call("PySet_Contains", weak, code.load(each, _SLOT))
            with code.body.when(is_weak.equal(0)):
                code.ret(handle)
    with code.where(code.call("PySet_Add", weak, code.load(handle, _SLOT)).unequal(0)):
        code.drop(handle)
        code.ret(NULL)
    code.ret(handle)


def _by_python(code: Code, handle: Value, other: Value, name: Value) -> None:
    """``by_python(handle, other, name)``: what a Python method returns; null if there is an exception already."""
    with code.where(code.call("PyErr_Occurred").unequal(NULL)):
        code.ret(NULL)
    given = code.room(2)
    code.store(handle, given)
    code.store(other, given, 1)
    count = _truth(code, other.unequal(NULL)) + 1
    code.ret(code.call("PyObject_VectorcallMethod", name, given, count, NULL))


# --- operators ---------------------------------------------------------------------------------------------------
# A function that returns -1 leaves it to Python's method.


def _of_handles(code: Code, op: Value, x: Value, y: Value) -> None:
    """``of_handles(op, x, y)``: the result of an op of a handle, and another one or null."""
    fields = code.room(3)
    recording = code.call("current", fields)
    with code.where(recording < 0):
        code.ret(_NONE)
    tape, header = code.load(fields), code.load(fields, 1)
    first = code.call("slot_of", x, tape)
    with code.where(first < 0):
        code.ret(_NONE)
    with code.body.when(y.equal(NULL)):
        slot = _engine(code, "record_elementwise", header, op, first, _NONE, _NONE, recording)
        with code.where(slot < 0):
            code.ret(_NONE)
        _result(code, fields, slot, x, y)
    second = code.call("slot_of", y, tape)
    with code.where(second < 0):
        code.ret(_NONE)
    slot = _engine(code, "record_elementwise", header, op, first, second, _NONE, recording)
    with code.where(slot < 0):
        code.ret(_NONE)
    _result(code, fields, slot, x, y)


def _with_number(code: Code, op: Value, handle: Value, other: Value, number_first: Value) -> None:
    """``with_number(op, handle, other, number_first)``: the result of an op of a handle and a plain number."""
    kind = code.type_of(other)
    with code.where(kind.unequal(code.outside("float")) & kind.unequal(code.outside("int"))):
        code.ret(_NONE)
    fields = code.room(3)
    recording = code.call("current", fields)
    with code.where(recording < 0):
        code.ret(_NONE)
    slot = code.call("slot_of", handle, code.load(fields))
    with code.where(slot < 0):
        code.ret(_NONE)
    number = code.call("PyFloat_AsDouble", other)
    with code.where(code.call("PyErr_Occurred").unequal(NULL)):  # an integer beyond all floats
        code.ret(_NONE)
    made = _engine(
        code, "record_with_number", code.load(fields, 1), op, slot, number, number_first, recording
    )
    with code.where(made < 0):
        code.ret(_NONE)
    _result(code, fields, made, handle, code.field(NULL))


def _finished(code: Code, result: Value, handle: Value, other: Value, name: Value) -> None:
    """``finished(result, handle, other, name)``: a result; in place of -1, what a Python method returns."""
    with code.where(result.equal(_NONE)):
        code.ret(code.call("by_python", handle, other, name))
    code.ret(result)


def _binary(code: Code, op: Value, x: Value, y: Value, name: Value, reflected: Value) -> None:
    """``binary(op, x, y, name, reflected)``: what an operator returns, by its method's name and the reflected one's."""
    handles = code.outside("handles")
    with code.where(code.type_of(x).unequal(handles)):
        with code.where(code.type_of(y).unequal(handles)):
            code.ret(code.new_reference(code.outside("NotImplemented")))
        found = code.call("with_number", op, y, x, 1)
        code.ret(code.call("finished", found, y, x, reflected))
    with code.where(code.type_of(y).unequal(handles)):
        found = code.call("with_number", op, x, y, 0)
        code.ret(code.call("finished", found, x, y, name))
    code.ret(code.call("finished", code.call("of_handles", op, x, y), x, y, name))


def _elementwise(code: Code, _fixed: Value, arguments: Value, given: Value) -> None:
    """``PyObject *elementwise(PyObject *fixed, PyObject *const *arguments, Py_ssize_t count)``: an op of operands.

    The arguments are the code of the op, and one operand or two. None where that is left to Python: with plain numbers
    of a recording, for an operator of these gives a plain number, and a function does not.
    """
    with code.where(given < 2):
        code.fail("TypeError", "it takes the code of an op and its operands")
    op, x = code.call("PyLong_AsLongLong", code.load(arguments)), code.load(arguments, 1)
    last, handles, fields = code.load(arguments, given - 1), code.outside("handles"), code.room(3)
    needs_python = (code.call("current", fields) < 0) | code.load(fields, 2).unequal(NULL)
    with code.where(code.type_of(x).unequal(handles) | needs_python):
        code.ret(code.call("left_to_python", _NONE))
    with code.where(code.type_of(last).unequal(handles)):
        code.ret(code.call("left_to_python", code.call("with_number", op, x, last, 0)))
    y = select(given.equal(2), code.field(NULL), last)
    code.ret(code.call("left_to_python", code.call("of_handles", op, x, y)))


def _left_to_python(code: Code, result: Value) -> None:
    """``left_to_python(result)``: a result; None in place of -1, null with an exception."""
    with code.where(result.unequal(_NONE)):
        code.ret(result)
    with code.where(code.call("PyErr_Occurred").unequal(NULL)):
        code.ret(NULL)
    code.ret(code.new_reference(code.outside("none")))


def _binary_operator(name: str, reflected: str, op: int) -> Callable[[Code, Value, Value], None]:
    """Return what emits ``PyObject *(PyObject *x, PyObject *y)``."""

    def define(code: Code, x: Value, y: Value) -> None:
        code.ret(code.call("binary", op, x, y, code.outside(name), code.outside(reflected)))

    return define


def _unary_operator(name: str, op: int) -> Callable[[Code, Value], None]:
    """Return what emits ``PyObject *(PyObject *x)``."""

    def define(code: Code, x: Value) -> None:
        found = code.call("of_handles", op, x, NULL)
        code.ret(code.call("finished", found, x, NULL, code.outside(name)))

    return define


def _power_operator(op: int, powers: Mapping[float, int]) -> Callable[[Code, Value, Value, Value], None]:
    """Return what emits ``PyObject *(PyObject *x, PyObject *y, PyObject *modulus)``. Python refuses a modulus."""

    def define(code: Code, x: Value, y: Value, modulus: Value) -> None:
        name = code.outside("__pow__")
        with code.where(code.type_of(x).unequal(code.outside("handles"))):
            with code.where(modulus.unequal(code.outside("none"))):
                code.ret(code.new_reference(code.outside("NotImplemented")))
            code.ret(code.call("binary", op, x, y, name, code.outside("__rpow__")))
        with code.where(modulus.unequal(code.outside("none"))):
            given = code.room(3)
            for k, value in enumerate((x, y, modulus)):
                code.store(value, given, k)
            code.ret(code.call("PyObject_VectorcallMethod", name, given, 3, NULL))
        kind = code.type_of(y)
        with code.body.when(kind.equal(code.outside("float")) | kind.equal(code.outside("int"))):
            exponent = code.call("PyFloat_AsDouble", y)
            # An integer beyond all floats, for which the exponent is -1, is Python's to refuse
            with code.where(code.call("PyErr_Occurred").unequal(NULL)):
                code.call("PyErr_Clear")
                code.ret(code.call("by_python", x, y, name))
            for known, of_power in powers.items():
                with code.body.when(exponent.equal(float(known))):
                    found = code.call("of_handles", of_power, x, NULL)
                    code.ret(code.call("finished", found, x, y, name))
        code.ret(code.call("by_python", x, y, name))

    return define


# --- indexing ----------------------------------------------------------------------------------------------------


def _limit(code: Code, limit: Value, missing: Value) -> None:
    """``limit(limit, missing)``: a limit of a slice as a number, `missing` for None; with an exception for others."""
    with code.body.when(limit.equal(code.outside("none"))):
        code.ret(missing)
    with code.where(code.type_of(limit).unequal(code.outside("int"))):
        code.fail("TypeError", "not a plain integer")
    code.ret(code.call("PyLong_AsLongLong", limit))


def _part(code: Code, part: Value, fields: Value) -> None:
    """``part(part, fields)``: write the fields of a part of a key; -1 where it needs Python.

    It needs Python if it is not an integer, a slice of step 1 or None.
    """
    kind = code.type_of(part)
    with code.body.when(kind.equal(code.outside("int"))):
        code.store(_ROW, fields)
        code.store(code.call("PyLong_AsLongLong", part), fields, 1)
        code.ret(select(code.call("PyErr_Occurred").equal(NULL), code.field(0), _NONE))
    with code.where(part.equal(code.outside("none"))):
        code.store(_NEW_AXIS, fields)
        code.ret(0)
    with code.where(kind.unequal(code.outside("slice"))):
        code.ret(_NONE)
    with code.where(code.load(part, _STEP).unequal(code.outside("none"))):
        code.ret(_NONE)
    code.store(_SLICE, fields)
    code.store(code.call("limit", code.load(part, _START), 0), fields, 1)
    code.store(code.call("limit", code.load(part, _STOP), _END), fields, 2)
    code.store(1, fields, 3)
    code.ret(select(code.call("PyErr_Occurred").equal(NULL), code.field(0), _NONE))


def _selected_by_parts(code: Code, header: Value, slot: Value, key: Value) -> None:
    """``selected_by_parts(header, slot, key)``: a slot on what a tuple selects; negative without one."""
    count = code.call("PyTuple_Size", key)
    with code.where(count > _MAX_PARTS):
        code.ret(_NONE)
    fields = code.room(1 + 4 * _MAX_PARTS)  # how many there are, then four for each part
    code.store(count * 4, fields)
    with code.for_each(count) as k:
        found = code.call("part", code.load(code.items_of(key), k), fields + (k * 4 + 1) * 8)
        with code.where(found < 0):
            code.ret(_NONE)
    code.ret(_engine(code, "view_key", header, slot, fields + 8))


def _selected(code: Code, header: Value, slot: Value, key: Value) -> None:
    """``selected(header, slot, key)``: a slot on what integers and slices of step 1 select; negative without one."""
    with code.body.when(code.type_of(key).equal(code.outside("int"))):
        number = code.call("PyLong_AsLongLong", key)
        with code.where(code.call("PyErr_Occurred").unequal(NULL)):
            code.ret(_NONE)
        code.ret(_engine(code, "view_index", header, slot, number))
    with code.body.when(code.type_of(key).equal(code.outside("tuple"))):
        code.ret(code.call("selected_by_parts", header, slot, key))
    fields = code.room(4)
    with code.where(code.type_of(key).unequal(code.outside("slice"))):
        code.ret(_NONE)
    with code.where(code.call("part", key, fields) < 0):
        code.ret(_NONE)
    code.ret(_engine(code, "view_slice", header, slot, code.load(fields, 1), code.load(fields, 2)))


def _tape_to_view(code: Code, handle: Value) -> None:
    """``tape_to_view(handle)``: the tape on which the engine can make views of a handle; null for none."""
    own, fields = code.load(handle, _TAPE), code.room(3)
    with code.body.when(own.equal(code.outside("tape"))):
        code.ret(own)
    with code.where(own.equal(code.outside("none"))):
        code.ret(NULL)
    code.call("current", fields)
    with code.where(own.unequal(code.load(fields))):
        code.ret(NULL)
    code.ret(own)


def _subscript(code: Code, x: Value, key: Value) -> None:
    """``PyObject *subscript(PyObject *x, PyObject *key)``: elements of what has been written to are left to Python."""
    tape = code.call("tape_to_view", x)
    with code.body.when(tape.unequal(NULL)):
        header, slot = _header_of(code, tape), code.call("slot_of", x, tape)
        with code.body.when((slot >= 0) & code.load(x, _VERSION).equal(code.outside("zero"))):
            selected = code.call("selected", header, slot, key)
            with code.body.when(selected >= 0):
                code.ret(code.call("view", x, tape, header, selected))
            code.call("PyErr_Clear")
    code.ret(code.call("by_python", x, key, code.outside("__getitem__")))


def _view(code: Code, x: Value, tape: Value, header: Value, slot: Value) -> None:
    """``view(x, tape, header, slot)``: a handle for a slot on the memory of another handle."""
    made = code.call("made", tape, header, slot)
    with code.where_null(made):
        code.ret(NULL)
    own, none = code.load(x, _BASE), code.outside("none")
    base = select(own.equal(none), x, own)
    for field, value in (
        (_BASE, base),
        (_VERSION, code.load(base, _VERSION)),
        (_ELEMENT, code.outside("true")),
    ):
        before = code.load(made, field)
        code.store(code.new_reference(value), made, field)
        code.drop(before)
    code.ret(made)


# --- finalisation ------------------------------------------------------------------------------------------------


def _finalise(code: Code, handle: Value) -> None:
    """``void finalise(PyObject *handle)``; an exception that is on its way stays."""
    tape, number = code.load(handle, _TAPE), code.load(handle, _SLOT)
    by_python = tape.equal(NULL) | number.equal(NULL)
    for name in ("attachments", "stale"):
        by_python = by_python | code.call("PyDict_Size", code.outside(name)).unequal(0)
    with code.where(by_python):
        code.call_at(code.call("PyLong_AsLongLong", code.outside("finaliser")), handle)
        code.ret(0)
    slot = code.call("PyLong_AsLongLong", number)
    with code.where(slot < 0):
        code.ret(0)
    with code.where_null(code.load(tape, _HEADER)):  # the garbage collector has cleared the tape
        code.ret(0)
    has_orphans = _engine(code, "drop", _header_of(code, tape), slot, uncompiled=0)
    with code.where(has_orphans.unequal(0)):
        code.call("drop_orphans", handle, tape)
    code.ret(0)


def _drop_orphans(code: Code, handle: Value, tape: Value) -> None:
    """``drop_orphans(handle, tape)``: the tape drops arrays that owned memory."""
    state, given = [code.room(1) for _ in range(3)], code.room(1)
    code.call("PyErr_Fetch", *state)
    code.store(tape, given)
    found = code.call("PyObject_VectorcallMethod", code.outside("name_drop_orphans"), given, 1, NULL)
    with code.where_null(found):
        code.call("PyErr_WriteUnraisable", handle)
    code.drop(found)
    code.call("PyErr_Restore", *(code.load(each) for each in state))
    code.ret(0)


_INTERNAL: tuple[Callable[..., None], ...] = (
    _new, _made, _slot_of, _current, _marked, _by_python, _of_handles, _with_number, _finished,
    _binary, _left_to_python, _limit, _part, _selected_by_parts, _selected, _tape_to_view, _view, _drop_orphans,
)  # fmt: skip
_EXPORTED: tuple[Callable[..., None], ...] = (_new_handle, _elementwise, _finalise, _subscript)
