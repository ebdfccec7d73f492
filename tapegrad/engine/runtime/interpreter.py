"""Supported interpreters and installations: compiled code reads Python's and NumPy's objects where they lie."""

import sys
from pathlib import Path
from typing import NamedTuple

# The analysis of bytecode was not written for later versions (`program.dataflow`, `program.captured.code`).
_NEWEST = (3, 15)


class Interpreter(NamedTuple):
    """Properties of an interpreter that compiled code depends on."""

    implementation: str
    bits: int
    byteorder: str
    locked: bool
    version: tuple[int, int]
    eager: bool = True

    @classmethod
    def running(cls) -> "Interpreter":
        """Return those of the running interpreter."""
        locked = getattr(sys, "_is_gil_enabled", lambda: True)()
        bits = 64 if sys.maxsize > 2**32 else 32
        lazy, filter_ = (getattr(sys, f"get_lazy_imports{end}", str)() for end in ("", "_filter"))
        eager = lazy != "all" or filter_ is not None
        return cls(sys.implementation.name, bits, sys.byteorder, locked, sys.version_info[:2], eager)


def check(interpreter: Interpreter) -> None:
    """Refuse an interpreter in which compiled code would read or write the wrong memory.

    Raises
    ------
    ImportError
        Saying what is wrong with it.
    """
    newest, version = (".".join(map(str, each)) for each in (_NEWEST, interpreter.version))
    faults = {
        f"this is {interpreter.implementation}": interpreter.implementation != "cpython",
        f"this is {version}, whose bytecode is not known": interpreter.version > _NEWEST,
        f"this one has {interpreter.bits} bits": interpreter.bits != 64,
        f"this machine is {interpreter.byteorder}-endian": interpreter.byteorder != "little",
        "this one runs without it (start it with PYTHON_GIL=1)": not interpreter.locked,
        "Numba takes no lazy imports (start Python without -X lazy_imports=all)": not interpreter.eager,
    }
    found = [fault for fault, is_so in faults.items() if is_so]
    if found:
        raise ImportError(
            f"tapegrad needs CPython up to {newest} with 64 bits on a little-endian machine, and its global"
            " interpreter lock: " + "; ".join(found)
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
