"""C entry points of replays for Python callers: check arguments, take a workspace, run the program, return arrays.

Such a function takes arrays and floats, or structures of them, and returns new arrays, or structures of them. It asks
whether the arguments are of the expected types and whether all else is as before, takes a workspace, makes arrays for
the results, has them computed without the global lock, and puts the workspace back. For a call that it does not serve
it returns `None`, having done nothing. Another function tries several of them, beginning with the one that served last.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.python_calls import structures
from tapegrad.engine.codegen.python_calls.fast_calls import python_function
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module
from tapegrad.engine.codegen.python_calls.structures import Container, Structure, lay_out, slots_of
from tapegrad.engine.kernels.language.status import CALL_FAILED
from tapegrad.engine.runtime.object_layouts import ARRAY_DATA, FLOAT_VALUE

# Fields of such a function.
(
    ARITY,  # number of arguments
    HOLDS,  # a Python function that says whether all else is as before, or 0
    FAILURE,  # a Python function that raises what was raised in a callback
    KINDS,  # address of the types of the leaves
    SPECIALIZATION,  # address of the fields of its specialization
    LEAVES,  # number of arrays and floats among the arguments
    ARGUMENTS,  # address of the row that describes the arguments, or 0 where each is a leaf
) = range(7)
# Fields of a specialization.
(
    ENTRY,  # address of the compiled function
    RESULTS,  # number of results
    VALUED,  # whether the workspace's value is among what is returned
    WORKSPACES,  # a list of those that are not in use
    SHAPES,  # address of the descriptions of the results
    RETURNS,  # address of the row that describes what is returned
) = range(6)
_DTYPE, _NDIM, _EXTENTS = range(3)  # fields of a description
_SHAPE_FIELDS = 3

_DATA, _NUMBER = ARRAY_DATA // 8, FLOAT_VALUE // 8  # fields of an array and of a float
_MODULE = Module(
    "array_calls",
    none=None,
    true=True,
    float64=np.dtype(np.float64),
    address="address",
    value="value",
    **structures.OBJECTS,
)
structures.add_to(_MODULE)


class ArraySpecialization(NamedTuple):
    """Specialization of a C entry point: one program that can compute the results.

    Attributes
    ----------
    entry
        Address of the compiled function ``f(workspace, arrays)``, where `arrays` is the id of a tuple.
    results
        Shapes and dtypes of the results.
    workspaces
        Those that are not in use, with an `address` and a `value`.
    returns
        The results as they are returned. The slot behind those of the results is the value of the workspace.
    valued
        Whether there is that slot in `returns`; the value is 0-d.
    """

    entry: int
    results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    workspaces: list[Any]
    returns: Structure
    valued: bool = False

    def fields(self) -> tuple[list[int], Any]:
        """Its fields, and what has to live as long as they do."""
        shapes = np.zeros((len(self.results), _SHAPE_FIELDS), np.int64)
        extents = [np.array(shape, np.int64) for shape, _ in self.results]
        for row, (shape, dtype), sizes in zip(shapes, self.results, extents, strict=True):
            row[:] = id(dtype), len(shape), sizes.ctypes.data
        returns, kept = lay_out(self.returns)
        described = int(shapes.ctypes.data), returns
        fields = [self.entry, len(self.results), self.valued, id(self.workspaces), *described]
        return fields, (self, shapes, extents, kept)


class ArrayCall(NamedTuple):
    """Facts of a C entry point for arrays.

    Attributes
    ----------
    arguments
        The arguments, each of them an array, what is a Python float inside, or a structure.
    specialization
        Computes the results.
    holds
        Says whether all else is as before; `None` if that does not matter.
    failure
        Returns what was raised in a callback.
    """

    arguments: Container
    specialization: ArraySpecialization
    holds: Callable[[], bool] | None
    failure: Callable[[], BaseException]

    def function(self) -> Callable[..., Any]:
        """Return the Python function."""
        row, kept = self.specialization.fields()
        specialization = np.array(row, np.int64)
        parts, leaves = self.arguments.parts, tuple(slots_of(self.arguments))
        kinds = np.array([id(leaf.kind) for leaf in leaves], np.int64)
        raised = functools.partial(_raise, self.failure)
        holds = 0 if self.holds is None else id(self.holds)
        addresses = kinds.ctypes.data, specialization.ctypes.data
        arguments, rows = lay_out(self.arguments)
        described = len(leaves), 0 if leaves == parts else arguments
        fields = np.array([len(parts), holds, id(raised), *addresses, *described], np.int64)
        # all that has to live on
        fixed = fields, self, raised, specialization, kinds, kept, rows
        return python_function("replay", _MODULE.addresses()["replayed"], fixed)


def first_of(calls: list[Any]) -> Callable[..., Any]:
    """Return the Python function that tries several C entry points, beginning with the one that served last.

    They are given by `fixed_of`, in a list that may be changed at any time.
    """
    last = np.zeros(1, np.int64)
    return python_function("replay", _MODULE.addresses()["first"], (last, calls))


def fixed_of(function: Any) -> tuple[Any, ...]:
    """Return what a C entry point has at hand: its fields, its `ArrayCall`, and all else that has to live on."""
    fixed: tuple[Any, ...] = function.__self__
    return fixed


def _raise(failure: Callable[[], BaseException]) -> None:
    raise failure()


# --- its parts ---------------------------------------------------------------------------------------------------


@_MODULE.internal
def _fits(code: Code, fields: Value, arguments: Value, count: Value) -> None:
    """``fits(fields, arguments, count)``: whether these arguments are of the expected types."""
    kinds = code.load(fields, KINDS)
    with code.for_each(count) as k:
        different = code.type_of(code.load(arguments, k)).unequal(code.load(kinds, k))
        with code.where(different):
            code.ret(NULL)
    code.ret(1)


@_MODULE.internal
def _taken(code: Code, workspaces: Value) -> None:
    """``taken(workspaces)``: the last one, which the list no longer has; null if there is none."""
    count = code.call("PyList_Size", workspaces)
    with code.where_null(count):
        code.ret(NULL)
    last = count - 1
    workspace = code.new_reference(code.call("PyList_GetItem", workspaces, last))
    failed = code.call("PyList_SetSlice", workspaces, last, count, NULL)
    with code.where(failed.unequal(NULL)):  # no memory to shrink the list
        code.call("PyErr_Clear")
        code.drop(workspace)
        code.ret(NULL)
    code.ret(workspace)


@_MODULE.internal
def _put_back(code: Code, workspaces: Value, workspace: Value) -> None:
    """``put_back(workspaces, workspace)``, whether there is an exception or not; without memory it is given up."""
    failed = code.call("PyList_Append", workspaces, workspace)
    with code.where(failed.unequal(NULL)):
        code.call("PyErr_Clear")
    code.drop(workspace)
    code.ret(NULL)


@_MODULE.internal
def _as_array(code: Code, argument: Value) -> None:
    """``as_array(argument)``: an array itself, a new one with a float, or null with an exception."""
    with code.where(code.type_of(argument).equal(code.outside("array"))):
        code.ret(code.new_reference(argument))
    dtype = code.new_reference(code.outside("float64"))
    array = code.call("PyArray_Empty", NULL, NULL, dtype, NULL)
    with code.where_null(array):
        code.ret(NULL)
    code.store(code.load(argument, _NUMBER), code.load(array, _DATA))
    code.ret(array)


@_MODULE.internal
def _released(code: Code, arrays: Value, count: Value) -> None:
    """``released(arrays, count)``: give up the references to so many arrays, some of which may be null."""
    with code.for_each(count) as k:
        code.drop(code.load(arrays, k))
    code.ret(NULL)


@_MODULE.internal
def _plugged(code: Code, fields: Value, specialization: Value, arguments: Value, arrays: Value) -> None:
    """``plugged(fields, specialization, arguments, arrays)``: write the bound arrays; null with an exception."""
    given = code.load(fields, LEAVES)

    def put(array: Value, k: Value) -> None:
        with code.where_null(array):
            code.call("released", arrays, k)
            code.ret(NULL)
        code.store(array, arrays, k)

    with code.for_each(given) as k:
        put(code.call("as_array", code.load(arguments, k)), k)
    shapes = code.load(specialization, SHAPES)
    with code.for_each(code.load(specialization, RESULTS)) as k:
        shape = shapes + k * (8 * _SHAPE_FIELDS)
        dtype = code.new_reference(code.load(shape, _DTYPE))
        ndim, extents = code.load(shape, _NDIM), code.load(shape, _EXTENTS)
        put(code.call("PyArray_Empty", ndim, extents, dtype, NULL), given + k)
    code.ret(1)


@_MODULE.internal
def _returned(code: Code, specialization: Value, results: Value, workspace: Value) -> None:
    """``returned(specialization, results, workspace)``: what Python gets; behind `results` is room for the value."""
    returns = code.load(specialization, RETURNS)
    with code.where_null(code.load(specialization, VALUED)):
        code.ret(code.call("built", returns, results))
    value = code.call("PyObject_GetAttr", workspace, code.outside("value"))
    with code.where_null(value):
        code.ret(NULL)
    code.store(value, results, code.load(specialization, RESULTS))
    found = code.call("built", returns, results)
    code.drop(value)
    code.ret(found)


@_MODULE.internal
def _run(code: Code, fields: Value, specialization: Value, arguments: Value, workspace: Value) -> None:
    """``run(fields, specialization, arguments, workspace)``: the results; None if unfit; null with an exception."""
    attribute = code.call("PyObject_GetAttr", workspace, code.outside("address"))
    with code.where_null(attribute):
        code.ret(NULL)
    address = code.call("PyLong_AsLongLong", attribute)
    code.drop(attribute)
    given = code.load(fields, LEAVES)
    count = given + code.load(specialization, RESULTS)
    arrays = code.room(count + 1)
    with code.where_null(code.call("plugged", fields, specialization, arguments, arrays)):
        code.ret(NULL)
    _, status = code.call_compiled(code.load(specialization, ENTRY), address, code.tuple_around(arrays))
    with code.where(status.unequal(NULL)):
        code.call("released", arrays, count)
        with code.where(status.equal(CALL_FAILED)):
            code.ret(code.call("PyObject_CallNoArgs", code.load(fields, FAILURE)))
        code.ret(code.new_reference(code.outside("none")))
    results = arrays + given * 8
    found = code.call("returned", specialization, results, workspace)
    code.call("released", arrays, count)
    code.ret(found)


@_MODULE.internal
def _served(code: Code, fields: Value, leaves: Value) -> None:
    """``served(fields, leaves)``: the results for leaves of the expected types; None where the call is not served."""
    check = code.load(fields, HOLDS)
    with code.where(check.unequal(NULL)):
        holds = code.call("PyObject_CallNoArgs", check)
        with code.where_null(holds):
            code.ret(NULL)
        code.drop(holds)
        with code.where(holds.unequal(code.outside("true"))):
            code.ret(code.new_reference(code.outside("none")))
    specialization = code.load(fields, SPECIALIZATION)
    workspaces = code.load(specialization, WORKSPACES)
    workspace = code.call("taken", workspaces)
    with code.where_null(workspace):
        code.ret(code.new_reference(code.outside("none")))
    found = code.call("run", fields, specialization, leaves, workspace)
    code.call("put_back", workspaces, workspace)
    code.ret(found)


@_MODULE.internal
def _taken_apart(code: Code, fields: Value, arguments: Value) -> None:
    """``taken_apart(fields, arguments)``: what `served` returns for the leaves of structures.

    It holds them itself, for what `holds` asks may change the structures.
    """
    count = code.load(fields, LEAVES)
    leaves = code.room(count)
    with code.for_each(count) as k:
        code.store(NULL, leaves, k)
    matches = code.call("all_matched", code.load(fields, ARGUMENTS), arguments, leaves)
    with code.where_null(matches):
        code.call("released", leaves, count)
        code.ret(code.new_reference(code.outside("none")))
    found = code.call("served", fields, leaves)
    code.call("released", leaves, count)
    code.ret(found)


@_MODULE.exported
def _replayed(code: Code, fixed: Value, arguments: Value, count: Value) -> None:
    """``replayed(fixed, arguments, count)``, which Python calls. `fixed` has the array of fields first."""
    fields = code.load(code.load(code.items_of(fixed)), _DATA)
    with code.where(code.load(fields, ARITY).unequal(count)):
        code.ret(code.new_reference(code.outside("none")))
    with code.where(code.load(fields, ARGUMENTS).unequal(NULL)):
        code.ret(code.call("taken_apart", fields, arguments))
    with code.where_null(code.call("fits", fields, arguments, count)):
        code.ret(code.new_reference(code.outside("none")))
    code.ret(code.call("served", fields, arguments))


@_MODULE.internal
def _tried(code: Code, calls: Value, number: Value, arguments: Value, count: Value) -> None:
    """``tried(calls, number, arguments, count)``: what one of several returns; None if it is not there any more."""
    call = code.call("PyList_GetItem", calls, number)
    with code.where_null(call):
        code.call("PyErr_Clear")
        code.ret(code.new_reference(code.outside("none")))
    code.new_reference(call)
    found = code.call("replayed", call, arguments, count)
    code.drop(call)
    code.ret(found)


@_MODULE.internal
def _others(code: Code, last: Value, calls: Value, arguments: Value, count: Value) -> None:
    """``others(last, calls, arguments, count)``: the same of all but number `*last`, until one serves."""
    number = code.load(last)
    with code.for_each(code.call("PyList_Size", calls)) as k, code.where(k.unequal(number)):
        found = code.call("tried", calls, k, arguments, count)
        with code.where(found.unequal(code.outside("none"))):
            code.store(k, last)
            code.ret(found)
        code.drop(found)
    code.ret(code.new_reference(code.outside("none")))


@_MODULE.exported
def _first(code: Code, fixed: Value, arguments: Value, count: Value) -> None:
    """``first(fixed, arguments, count)``, which Python calls. `fixed` has an array and a list.

    They are the number that served last, and what entry points have as their `fixed`.
    """
    items = code.items_of(fixed)
    last, calls = code.load(code.load(items), _DATA), code.load(items, 1)
    found = code.call("tried", calls, code.load(last), arguments, count)
    with code.where(found.equal(code.outside("none"))):
        code.drop(found)
        code.ret(code.call("others", last, calls, arguments, count))
    code.ret(found)
