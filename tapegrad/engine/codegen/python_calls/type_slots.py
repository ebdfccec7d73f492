"""Slots of a class written in place: the C functions by which the interpreter finalises, adds and indexes instances.

A slot is found by its offset in the structures of a type, and used only if Python's stable interface says that the
same function is there. A class that inherits from the written one, and has a Python method for the slot in its method
resolution order, is given Python's own function by the interpreter.
"""

import ctypes
from typing import NamedTuple

from tapegrad.engine.runtime.object_layouts import TYPE_CALL

_FINALISER = TYPE_CALL // 8 + 33
_NUMBER, _MAPPING = (
    TYPE_CALL - 4 * 8,
    TYPE_CALL - 2 * 8,
)  # addresses of the tables of operators, and of indexing

_slot_of = ctypes.pythonapi.PyType_GetSlot
_slot_of.restype, _slot_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)


class TypeSlot(NamedTuple):
    """Slot of a type.

    Attributes
    ----------
    number
        Its number in Python's stable interface.
    position
        Its field in its table, or in the type.
    table
        Offset in the type of the address of its table; 0 if it is in the type itself.
    """

    number: int
    position: int
    table: int = _NUMBER

    def field(self, cls: type) -> ctypes.c_int64:
        """Return the field of a class that holds the function's address."""
        table = id(cls) if self.table == 0 else ctypes.c_int64.from_address(id(cls) + self.table).value
        return ctypes.c_int64.from_address(table + 8 * self.position)

    def function(self, cls: type) -> int:
        """Return the address of the function in the slot, as Python tells it."""
        return int(_slot_of(cls, self.number) or 0)


# By the names of the methods that the interpreter has Python functions for in these slots.
SLOTS = {
    "__del__": TypeSlot(80, _FINALISER, 0),
    "__getitem__": TypeSlot(5, 1, _MAPPING),
    "__add__": TypeSlot(7, 0),
    "__sub__": TypeSlot(36, 1),
    "__mul__": TypeSlot(29, 2),
    "__truediv__": TypeSlot(37, 30),
    "__pow__": TypeSlot(33, 5),
    "__neg__": TypeSlot(30, 6),
    "__pos__": TypeSlot(32, 7),
    "__abs__": TypeSlot(6, 8),
}


def are_found(cls: type, names: tuple[str, ...]) -> bool:
    """Return whether the slots are where they are expected, each with the function that Python tells."""
    return all(SLOTS[name].function(cls) == SLOTS[name].field(cls).value != 0 for name in names)


def write(cls: type, functions: dict[str, int]) -> None:
    """Write the addresses of functions, by the names of methods, into slots that `are_found`."""
    for name, address in functions.items():
        SLOTS[name].field(cls).value = address
