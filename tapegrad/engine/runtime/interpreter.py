"""Supported interpreters and installations: compiled code reads Python's and NumPy's objects where they lie."""

import sys
from pathlib import Path
from typing import NamedTuple


class Interpreter(NamedTuple):
    """Properties of an interpreter that compiled code depends on."""

    implementation: str
    bits: int
    byteorder: str
    locked: bool

    @classmethod
    def running(cls) -> "Interpreter":
        """Return those of the running interpreter."""
        locked = getattr(sys, "_is_gil_enabled", lambda: True)()
        bits = 64 if sys.maxsize > 2**32 else 32
        return cls(sys.implementation.name, bits, sys.byteorder, locked)


def check(interpreter: Interpreter) -> None:
    """Refuse an interpreter in which compiled code would read or write the wrong memory.

    Raises
    ------
    ImportError
        Saying what is wrong with it.
    """
    faults = {
        f"this is {interpreter.implementation}": interpreter.implementation != "cpython",
        f"this one has {interpreter.bits} bits": interpreter.bits != 64,
        f"this machine is {interpreter.byteorder}-endian": interpreter.byteorder != "little",
        "this one runs without it (start it with PYTHON_GIL=1)": not interpreter.locked,
    }
    found = [fault for fault, is_so in faults.items() if is_so]
    if found:
        raise ImportError(
            "tapegrad needs CPython with 64 bits on a little-endian machine, and its global interpreter lock: "
            + "; ".join(found)
        )


def check_files(file: str) -> None:
    """Refuse a package that is no folder: compiled code is kept by what its source files say.

    Raises
    ------
    ImportError
        Saying what to do.
    """
    if not Path(file).is_file():
        raise ImportError(
            f"tapegrad cannot be imported from an archive ({file}): unpack it, or install it with pip install"
        )


check(Interpreter.running())
check_files(__file__)
