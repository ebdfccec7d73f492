"""C entry points of replays for Python callers: check arguments, take a workspace, run the program, return arrays.

Such a function takes arrays and floats, and returns new arrays. It asks whether the arguments are of the expected types
and whether all else is as before, takes a workspace, makes arrays for the results, has them computed without the global
lock, and puts the workspace back. For a call that it does not serve it returns `None`, having done nothing. Another
function tries several of them, beginning with the one that served last.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.codegen.python_calls.fast_calls import python_function
from tapegrad.engine.codegen.python_calls.python_code import (
    NULL,
    Code,
    ExternalObjects,
    Module,
    compiled,
    word,
)
from tapegrad.engine.kernels.language.status import CALL_FAILED
from tapegrad.engine.runtime.object_layouts import ARRAY_DATA, FLOAT_VALUE

# Words of such a function.
(
    ARITY,  # number of arguments
    HOLDS,  # a Python function that says whether all else is as before, or 0
    FAILURE,  # a Python function that raises what was raised in a callback
    KINDS,  # address of the types of the arguments
    SPECIALIZATION,  # address of the words of its specialization
) = range(5)
# Words of a specialization.
(
    ENTRY,  # address of the compiled function
    RESULTS,  # number of results
    FORM,  # how they are returned
    WORKSPACES,  # a list of those that are not in use
    SHAPES,  # address of the descriptions of the results
) = range(5)
_DTYPE, _NDIM, _EXTENTS = range(3)  # words of a description
_SHAPE_WORDS = 3
# Forms, which are added up.
_VALUED = 1  # the workspace's value comes first
_TOGETHER = 2  # the arrays are in a tuple of their own

_DATA, _NUMBER = ARRAY_DATA // 8, FLOAT_VALUE // 8  # words of an array and of a float
_OUTSIDE = ExternalObjects(
    none=None, true=True, array=np.ndarray, float64=np.dtype(np.float64), address="address", value="value"
)


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
    valued
        Whether the value of the workspace is returned first.
    together
        Whether the results are returned as a tuple.
    """

    entry: int
    results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    workspaces: list[Any]
    valued: bool = False
    together: bool = False

    def words(self) -> tuple[list[int], Any]:
        """Its words, and what has to live as long as they do."""
        shapes = np.zeros((len(self.results), _SHAPE_WORDS), np.int64)
        extents = [np.array(shape, np.int64) for shape, _ in self.results]
        for row, (shape, dtype), sizes in zip(shapes, self.results, extents, strict=True):
            row[:] = id(dtype), len(shape), sizes.ctypes.data
        form = _VALUED * self.valued + _TOGETHER * self.together
        words = [self.entry, len(self.results), form, id(self.workspaces), int(shapes.ctypes.data)]
        return words, (self, shapes, extents)


class ArrayCall(NamedTuple):
    """Facts of a C entry point for arrays.

    Attributes
    ----------
    kinds
        The types of the arguments: arrays, and what is a Python float inside.
    specialization
        Computes the results.
    holds
        Says whether all else is as before; `None` if that does not matter.
    failure
        Returns what was raised in a callback.
    """

    kinds: tuple[type, ...]
    specialization: ArraySpecialization
    holds: Callable[[], bool] | None
    failure: Callable[[], BaseException]

    def function(self) -> Callable[..., Any]:
        """Return the Python function."""
        row, kept = self.specialization.words()
        specialization = np.array(row, np.int64)
        kinds = np.array([id(kind) for kind in self.kinds], np.int64)
        raised = functools.partial(_raise, self.failure)
        holds = 0 if self.holds is None else id(self.holds)
        addresses = kinds.ctypes.data, specialization.ctypes.data
        words = np.array([len(self.kinds), holds, id(raised), *addresses], np.int64)
        # all that has to live on
        fixed = words, self, raised, specialization, kinds, kept
        return python_function("replay", _addresses()[0], fixed)


def first_of(calls: list[Any]) -> Callable[..., Any]:
    """Return the Python function that tries several C entry points, beginning with the one that served last.

    They are given by `fixed_of`, in a list that may be changed at any time.
    """
    last = np.zeros(1, np.int64)
    return python_function("replay", _addresses()[1], (last, calls))


def fixed_of(function: Any) -> tuple[Any, ...]:
    """Return what a C entry point has at hand: its words, its `ArrayCall`, and all else that has to live on."""
    fixed: tuple[Any, ...] = function.__self__
    return fixed


def _raise(failure: Callable[[], BaseException]) -> None:
    raise failure()


@functools.cache
def _addresses() -> list[int]:
    """Addresses of the C functions that they share: of one entry point, and of several."""
    return compiled("array_calls", _define, _OUTSIDE, "replayed", "first")


def _define(module: Module) -> None:
    for define in (
        _fits,
        _taken,
        _as_array,
        _released,
        _plugged,
        _returned,
        _packed,
        _run,
        _put_back,
        _replayed,
        _tried,
        _others,
        _first,
    ):
        define(module)


# --- its parts ---------------------------------------------------------------------------------------------------


def _fits(module: Module) -> None:
    """``fits(words, arguments, count)``: whether there are as many arguments as expected, of the expected types."""
    code = Code(module, "fits", 3)
    words, arguments, count = code.arguments
    with code.where(code.differ(code.load(words, ARITY), count)):
        code.ret(NULL)
    kinds = code.load(words, KINDS)
    with code.for_each(count) as k:
        different = code.differ(code.type_of(code.load(arguments, k)), code.load(kinds, k))
        with code.where(different):
            code.ret(NULL)
    code.ret(word(1))


def _taken(module: Module) -> None:
    """``taken(workspaces)``: the last one, which the list no longer has; null if there is none."""
    code = Code(module, "taken", 1)
    (workspaces,) = code.arguments
    count = code.call("PyList_Size", workspaces)
    with code.where_null(count):
        code.ret(NULL)
    last = code.builder.sub(count, word(1))
    workspace = code.new_reference(code.call("PyList_GetItem", workspaces, last))
    failed = code.call("PyList_SetSlice", workspaces, last, count, NULL)
    with code.where(code.differ(failed, NULL)):  # no memory to shrink the list
        code.call("PyErr_Clear")
        code.drop(workspace)
        code.ret(NULL)
    code.ret(workspace)


def _put_back(module: Module) -> None:
    """``put_back(workspaces, workspace)``, whether there is an exception or not; without memory it is given up."""
    code = Code(module, "put_back", 2)
    workspaces, workspace = code.arguments
    failed = code.call("PyList_Append", workspaces, workspace)
    with code.where(code.differ(failed, NULL)):
        code.call("PyErr_Clear")
    code.drop(workspace)
    code.ret(NULL)


def _as_array(module: Module) -> None:
    """``as_array(argument)``: an array itself, a new one with a float, or null with an exception."""
    code = Code(module, "as_array", 1)
    (argument,) = code.arguments
    with code.where(code.equal(code.type_of(argument), code.outside("array"))):
        code.ret(code.new_reference(argument))
    dtype = code.new_reference(code.outside("float64"))
    array = code.call("PyArray_Empty", NULL, NULL, dtype, NULL)
    with code.where_null(array):
        code.ret(NULL)
    code.store(code.load(argument, _NUMBER), code.load(array, _DATA))
    code.ret(array)


def _released(module: Module) -> None:
    """``released(arrays, count)``: give up the references to so many arrays."""
    code = Code(module, "released", 2)
    arrays, count = code.arguments
    with code.for_each(count) as k:
        code.drop(code.load(arrays, k))
    code.ret(NULL)


def _plugged(module: Module) -> None:
    """``plugged(words, specialization, arguments, arrays)``: write the bound arrays; null with an exception."""
    code = Code(module, "plugged", 4)
    words, specialization, arguments, arrays = code.arguments
    given = code.load(words, ARITY)

    def put(array: Any, k: Any) -> None:
        with code.where_null(array):
            code.call("released", arrays, k)
            code.ret(NULL)
        code.store(array, arrays, k)

    with code.for_each(given) as k:
        put(code.call("as_array", code.load(arguments, k)), k)
    shapes = code.load(specialization, SHAPES)
    with code.for_each(code.load(specialization, RESULTS)) as k:
        shape = code.builder.add(shapes, code.builder.mul(k, word(8 * _SHAPE_WORDS)))
        dtype = code.new_reference(code.load(shape, _DTYPE))
        ndim, extents = code.load(shape, _NDIM), code.load(shape, _EXTENTS)
        put(code.call("PyArray_Empty", ndim, extents, dtype, NULL), code.builder.add(given, k))
    code.ret(word(1))


def _returned(module: Module) -> None:
    """``returned(specialization, results)``: the results for Python; a 0-d one as a NumPy scalar."""
    code = Code(module, "returned", 2)
    specialization, results = code.arguments
    together = code.builder.and_(code.load(specialization, FORM), word(_TOGETHER))
    with code.where_null(together):
        code.ret(code.call("PyArray_Return", code.new_reference(code.load(results))))
    count = code.load(specialization, RESULTS)
    made = code.call("PyTuple_New", count)
    with code.where_null(made):
        code.ret(NULL)
    with code.for_each(count) as k:
        result = code.call("PyArray_Return", code.new_reference(code.load(results, k)))
        with code.where_null(result):
            code.drop(made)
            code.ret(NULL)
        code.call("PyTuple_SetItem", made, k, result)
    code.ret(made)


def _packed(module: Module) -> None:
    """``packed(specialization, results, workspace)``: the same with the value of the workspace, if that is wanted."""
    code = Code(module, "packed", 3)
    specialization, results, workspace = code.arguments
    found = code.call("returned", specialization, results)
    valued = code.builder.and_(code.load(specialization, FORM), word(_VALUED))
    with code.where(code.builder.or_(code.equal(valued, NULL), code.equal(found, NULL))):
        code.ret(found)
    value = code.call("PyObject_GetAttr", workspace, code.outside("value"))
    with code.where_null(value):
        code.drop(found)
        code.ret(NULL)
    value = code.call("PyArray_Return", value)
    with code.where_null(value):
        code.drop(found)
        code.ret(NULL)
    pair = code.call("PyTuple_New", word(2))
    with code.where_null(pair):
        code.drop(value)
        code.drop(found)
        code.ret(NULL)
    code.call("PyTuple_SetItem", pair, word(0), value)
    code.call("PyTuple_SetItem", pair, word(1), found)
    code.ret(pair)


def _run(module: Module) -> None:
    """``run(words, specialization, arguments, workspace)``: the results; None if unfit; null with an exception."""
    code = Code(module, "run", 4)
    words, specialization, arguments, workspace = code.arguments
    attribute = code.call("PyObject_GetAttr", workspace, code.outside("address"))
    with code.where_null(attribute):
        code.ret(NULL)
    address = code.call("PyLong_AsLongLong", attribute)
    code.drop(attribute)
    given = code.load(words, ARITY)
    count = code.builder.add(given, code.load(specialization, RESULTS))
    arrays = code.room(count)
    with code.where_null(code.call("plugged", words, specialization, arguments, arrays)):
        code.ret(NULL)
    status = code.call_compiled(code.load(specialization, ENTRY), address, code.tuple_around(arrays))
    with code.where(code.differ(status, NULL)):
        code.call("released", arrays, count)
        with code.where(code.equal(status, word(CALL_FAILED))):
            code.ret(code.call("PyObject_CallNoArgs", code.load(words, FAILURE)))
        code.ret(code.new_reference(code.outside("none")))
    results = code.builder.add(arrays, code.builder.mul(given, word(8)))
    found = code.call("packed", specialization, results, workspace)
    code.call("released", arrays, count)
    code.ret(found)


def _replayed(module: Module) -> None:
    """``replayed(fixed, arguments, count)``, which Python calls. `fixed` has the array of words first."""
    code = Code(module, "replayed", 3, own=False)
    fixed, arguments, count = code.arguments
    words = code.load(code.load(code.items_of(fixed)), _DATA)
    with code.where_null(code.call("fits", words, arguments, count)):
        code.ret(code.new_reference(code.outside("none")))
    check = code.load(words, HOLDS)
    with code.where(code.differ(check, NULL)):
        holds = code.call("PyObject_CallNoArgs", check)
        with code.where_null(holds):
            code.ret(NULL)
        code.drop(holds)
        with code.where(code.differ(holds, code.outside("true"))):
            code.ret(code.new_reference(code.outside("none")))
    specialization = code.load(words, SPECIALIZATION)
    workspaces = code.load(specialization, WORKSPACES)
    workspace = code.call("taken", workspaces)
    with code.where_null(workspace):
        code.ret(code.new_reference(code.outside("none")))
    found = code.call("run", words, specialization, arguments, workspace)
    code.call("put_back", workspaces, workspace)
    code.ret(found)


def _tried(module: Module) -> None:
    """``tried(calls, number, arguments, count)``: what one of several returns; None if it is not there any more."""
    code = Code(module, "tried", 4)
    calls, number, arguments, count = code.arguments
    call = code.call("PyList_GetItem", calls, number)
    with code.where_null(call):
        code.call("PyErr_Clear")
        code.ret(code.new_reference(code.outside("none")))
    code.new_reference(call)
    found = code.call("replayed", call, arguments, count)
    code.drop(call)
    code.ret(found)


def _others(module: Module) -> None:
    """``others(last, calls, arguments, count)``: the same of all but number `*last`, until one serves."""
    code = Code(module, "others", 4)
    last, calls, arguments, count = code.arguments
    number = code.load(last)
    with code.for_each(code.call("PyList_Size", calls)) as k, code.where(code.differ(k, number)):
        found = code.call("tried", calls, k, arguments, count)
        with code.where(code.differ(found, code.outside("none"))):
            code.store(k, last)
            code.ret(found)
        code.drop(found)
    code.ret(code.new_reference(code.outside("none")))


def _first(module: Module) -> None:
    """``first(fixed, arguments, count)``, which Python calls. `fixed` has an array and a list.

    They are the number that served last, and what entry points have as their `fixed`.
    """
    code = Code(module, "first", 3, own=False)
    fixed, arguments, count = code.arguments
    items = code.items_of(fixed)
    last, calls = code.load(code.load(items), _DATA), code.load(items, 1)
    found = code.call("tried", calls, code.load(last), arguments, count)
    with code.where(code.equal(found, code.outside("none"))):
        code.drop(found)
        code.ret(code.call("others", last, calls, arguments, count))
    code.ret(found)
