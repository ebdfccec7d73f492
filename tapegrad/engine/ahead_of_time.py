"""Everything that can be compiled before it is needed: what a wheel holds, and ``tapegrad warmup`` fills a folder with.

Left to a first call are segments, which are cut from a user's program, and what is written around a user's functions.
"""

import contextlib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.ir.target import FALLBACK, Target
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.codegen.machine.objects import ObjectCode, Unit
from tapegrad.engine.codegen.python_calls import fast_calls, python_code
from tapegrad.engine.codegen.rows import rows
from tapegrad.engine.codegen.rows.case import Case, FrameFacts, operands
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator import whole
from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS
from tapegrad.engine.kernel_table import KernelName
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.kernels.language.inlining import CALLED_BY_ADDRESS
from tapegrad.engine.runtime.operating_system import processors
from tapegrad.ops import BY_NAME, ROWS, Op

# Where entry points are defined, C functions that are called by address, and functions of Python's C interface.
_MODULES = (
    "engine.codegen.python_calls",
    "engine.elimination",
    "engine.kernels",
    "engine.sweep",
    "engine.tape",
    "frontend.tensor.native_slots",
    "optimize.native",
    "transforms.calling.callables",
)


def import_all() -> None:
    """Import all modules that define units, late ones included."""
    for name in _MODULES:
        module = importlib.import_module(f"tapegrad.{name}")
        for found in pkgutil.walk_packages(vars(module).get("__path__", ()), f"{module.__name__}."):
            with contextlib.suppress(ImportError):  # guard pages, on a system without them
                vars(importlib.import_module(found.name))  # asking a late module for something executes it


def compiled(waiting: list[Unit], target: Target) -> Iterator[tuple[Unit, ObjectCode, float]]:
    """Compile units and those that they call, on all processors.

    Yields
    ------
    unit, code
        A unit and its object code, from a wheel, from the cache folder or compiled.
    share
        The share of the units that are done, as far as it is known.
    """
    begun, done = set[str](), 0
    pool = ThreadPoolExecutor(processors())  # LLVM leaves Python to other threads
    try:
        while waiting:
            begun |= {unit.name for unit in waiting}
            futures = {pool.submit(objects.obtain, unit, target): unit for unit in waiting}
            called: dict[str, Unit] = {}
            for future in as_completed(futures):
                done += 1
                called |= dict.fromkeys(future.result().calls, futures[future])
                yield futures[future], future.result(), done / len(begun)
            waiting = [
                _called(symbol, by, target) for symbol, by in sorted(called.items()) if symbol not in begun
            ]
    finally:
        pool.shutdown(cancel_futures=True)


def _called(symbol: str, by: Unit, target: Target) -> Unit:
    """Return the unit of a function that another one calls."""
    if by.sources == cache.EMITTER:
        return emitter.shared_unit(symbol, target)
    if not whole.is_known(symbol):  # the code of who calls it was kept
        with compiling:
            by.define()
    return whole.shared_unit(symbol)


def units(target: Target) -> list[Unit]:
    """Return all units of the modules that are imported, each once."""
    emitted = (*map(kernel_unit, kernel_table.kernels()), *emitter.shared_units(target))
    # Few have a processor of the plain level, and its code is the longest.
    frames = () if target.level == FALLBACK else _of_frames(target)
    found = (*translated(), *_of_python(), *emitted, *frames)
    return list({unit.name: unit for unit in found}.values())


def kernel_unit(name: KernelName) -> Unit:
    """Return the unit of an op's general kernel."""
    row, place = BY_NAME.get(name.op), kernel_table.location(name)
    if isinstance(row, Op):
        return emitter.unit(Case(row, name.dtype), name.direction)
    if place is None:
        return emitter.accumulation_unit(name.dtype)
    return whole.c_unit(entry_point(importlib.import_module(place[0]), place[1]))


def translated() -> list[Unit]:
    """Return the units of functions that are written in Python."""
    by_hand = (name for name in kernel_table.kernels() if kernel_table.location(name) is not None)
    return [
        *(whole.entry_unit(entry.function, entry.kinds) for entry in ENTRY_POINTS.values()),
        *map(whole.c_unit, CALLED_BY_ADDRESS.values()),
        *map(whole.c_unit, emitter.library_functions()),
        *map(kernel_unit, by_hand),
    ]


def _of_python() -> Iterator[Unit]:
    """Yield the units of functions of Python's C interface."""
    yield from (fast_calls.module_of(entry.wrapper).unit for entry in ENTRY_POINTS.values())
    yield from (module.unit for module in python_code.MODULES.values())


def _of_frames(target: Target) -> Iterator[Unit]:
    """Yield the units of elementwise kernels for the frames that programs of float64 usually have."""
    for row in ROWS:
        if isinstance(row, Op) and row.kind == "elementwise" and "f64" in row.dtypes:
            case = Case(row, "f64", target)
            for direction in kernel_table.DIRECTIONS[:2]:
                if direction == "forward" or row.differentiable:
                    known = (rows.used(case, direction, facts) for facts in _frames(row, direction))
                    for facts in {facts for facts in known if facts is not None}:
                        yield emitter.unit(case, direction, facts)


def _frames(row: Op, direction: str) -> Iterator[FrameFacts]:
    """Yield facts of frames: one element in all, or lines, beside operands that are one element."""
    sizes = [(1, 0), *((0, scalars) for scalars in range(2**row.arity - 1))]
    if direction == "forward":
        yield from (FrameFacts(*size, 0, 0) for size in sizes)
        return
    for wanted in _subsets(row.differentiable_operands):
        for stored in _subsets(operands(wanted)):
            yield from (FrameFacts(*size, wanted, stored) for size in sizes if wanted)


def _subsets(of: Iterable[int]) -> list[int]:
    """Return all sets of operands, as bits."""
    found = [0]
    for j in of:
        found += [bits | 1 << j for bits in found]
    return found
