"""Types whose call slot runs a C function first, and a Python method if that returns `None`.

``instance(*args)`` is ``instance._fast(*args)``, and with keywords ``instance._fast(*args, KEYWORDS, kwargs)``. Where
the mode of the thread says so, where there is no such function yet or where it returns `None`, it is
``instance._general(args, kwargs)``.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module
from tapegrad.engine.codegen.python_calls.structures import KEYWORDS
from tapegrad.engine.runtime.object_layouts import TYPE_CALL


def callable_types(name: str, thread: Any, entered: list[Any], *flags: str) -> list[Any]:
    """Return such classes, which differ in what they ask the mode of the thread for.

    They are compiled when the first instance is made: its class, and those that inherit from the same one, get their
    slot then.

    Parameters
    ----------
    name
        The module that they are in.
    thread
        Has the mode of the thread as its `mode`.
    entered
        Empty where no flag is set in the mode of any thread.
    flags
        For each class the attribute of a mode that is true where `_fast` does not serve.
    """
    module = Module(
        "callable_types",
        none=None, false=False, keywords=KEYWORDS, thread=thread, entered=entered,
        fast="_fast", general="_general", mode="mode",
        **{flag: flag for flag in flags},
    )  # fmt: skip
    for function in (_general, _is_set, _with_keywords, _fast):
        module.internal(function)
    for flag in flags:
        module.exported(_call_unless(flag), flag)
    return [_made(name, flag, module) for flag in flags]


def _made(name: str, flag: str, module: Module) -> Any:
    """Return a class whose first instance gives it, and those that inherit from it, the compiled function."""
    ready: set[type] = set()

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  as Python names them
        if cls not in ready:
            _set_call_slots(base, module.addresses()[flag])
            ready.add(cls)
        return object.__new__(cls)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  for who asks for it by name
        return self._general(args, kwargs)

    members = {"__slots__": (), "__module__": name, "__new__": __new__, "__call__": __call__}
    base: Any = type(f"Unless{flag.title()}", (), members)
    return base


def _set_call_slots(base: type, address: int) -> None:
    """Let the interpreter call instances of a class, and of those that inherit from it, by a function of C."""
    waiting = [base]
    while waiting:
        cls = waiting.pop()
        ctypes.c_int64.from_address(id(cls) + TYPE_CALL).value = address
        waiting += type.__subclasses__(cls)


def _general(code: Code, instance: Value, args: Value, kwargs: Value) -> None:
    """``general(instance, args, kwargs)``: what the Python method returns."""
    given = code.room(3)
    for k, value in enumerate((instance, args)):
        code.store(value, given, k)
    with code.where_null(kwargs):
        empty = code.call("PyDict_New")
        with code.where_null(empty):
            code.ret(NULL)
        code.store(empty, given, 2)
        found = code.call("PyObject_VectorcallMethod", code.outside("general"), given, 3, NULL)
        code.drop(empty)
        code.ret(found)
    code.store(kwargs, given, 2)
    code.ret(code.call("PyObject_VectorcallMethod", code.outside("general"), given, 3, NULL))


def _is_set(code: Code, flag: Value) -> None:
    """``is_set(flag)``: True or False, which live for ever; null with an exception."""
    with code.where_null(code.call("PyList_Size", code.outside("entered"))):
        code.ret(code.outside("false"))
    mode = code.call("PyObject_GetAttr", code.outside("thread"), code.outside("mode"))
    with code.where_null(mode):
        code.ret(NULL)
    found = code.call("PyObject_GetAttr", mode, flag)
    code.drop(mode)
    with code.where_null(found):
        code.ret(NULL)
    code.drop(found)
    code.ret(found)


def _fast(code: Code, flag: Value, instance: Value, args: Value, kwargs: Value) -> None:
    """``fast(flag, instance, args, kwargs)``: None where `_fast` does not serve, null with an exception."""
    fast = code.call("PyObject_GetAttr", instance, code.outside("fast"))
    with code.where(fast.equal(NULL) | fast.equal(code.outside("none"))):
        code.ret(fast)
    is_set = code.call("is_set", flag)
    with code.where(is_set.unequal(code.outside("false"))):
        code.drop(fast)
        with code.where_null(is_set):
            code.ret(NULL)
        code.ret(code.new_reference(code.outside("none")))
    items, count = code.items_of(args), code.call("PyTuple_Size", args)
    with (
        code.where(kwargs.unequal(NULL)),
        code.where(code.call("PyDict_Size", kwargs).unequal(NULL)),
    ):
        found = code.call("with_keywords", fast, items, count, kwargs)
        code.drop(fast)
        code.ret(found)
    found = code.call("PyObject_Vectorcall", fast, items, count, NULL)
    code.drop(fast)
    code.ret(found)


def _with_keywords(code: Code, fast: Value, items: Value, count: Value, kwargs: Value) -> None:
    """``with_keywords(fast, items, count, kwargs)``: what a function returns that takes keywords in a dict."""
    given = code.room(count + 2)
    with code.for_each(count) as k:
        code.store(code.load(items, k), given, k)
    code.store(code.outside("keywords"), given, count)
    code.store(kwargs, given, count + 1)
    code.ret(code.call("PyObject_Vectorcall", fast, given, count + 2, NULL))


def _call_unless(flag: str) -> Callable[[Code, Value, Value, Value], None]:
    """Return the function that emits ``PyObject *call(PyObject *instance, PyObject *args, PyObject *kwargs)``."""

    def call(code: Code, instance: Value, args: Value, kwargs: Value) -> None:
        found = code.call("fast", code.outside(flag), instance, args, kwargs)
        with code.where(found.equal(code.outside("none"))):
            code.drop(found)
            code.ret(code.call("general", instance, args, kwargs))
        code.ret(found)

    return call
