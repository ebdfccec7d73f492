"""Kernels by name: made when they are first needed, kept on disk, loaded once in a process."""

import functools
import hashlib
import importlib
import itertools
from collections.abc import Callable, Collection, Iterable

import numpy as np

from tapegrad.engine.codegen.ir import lines
from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.machine import machine, objects
from tapegrad.engine.codegen.machine.interrupts import uninterrupted
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.codegen.rows import accumulation, adjacent_loops, exponentials, rows, several_tangents
from tapegrad.engine.codegen.rows.case import Case, FrameFacts
from tapegrad.engine.codegen.rows.functions import complex_symbols, define, define_complex, symbols
from tapegrad.engine.codegen.segments import iterated, segment_kernels
from tapegrad.engine.codegen.segments.iterated import IteratedSegment
from tapegrad.engine.codegen.segments.segment import Segment
from tapegrad.engine.codegen.store import cache, openblas
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.language import library
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.kernels.special import loops
from tapegrad.engine.runtime import library_loops


@functools.cache
def _shared(target: Target) -> dict[str, Callable[[], Body]]:
    """Return the functions that kernels call, by their symbols."""
    pairs = itertools.product((1, 2, 3), (Type("double"), Type("float")))
    return {
        **{
            symbol: functools.partial(define, name, target, n)
            for symbol, (name, n) in symbols(target).items()
        },
        **{
            symbol: functools.partial(define_complex, name, target, n)
            for symbol, (name, n) in complex_symbols(target).items()
        },
        **{
            adjacent_loops.symbol(name, target): functools.partial(adjacent_loops.define, name, target)
            for name in library.LOOPS
        },
        **exponentials.functions(target),
        **lines.functions(target),
        **accumulation.functions(target),
        **{
            several_tangents.apply_symbol(*pair, target): functools.partial(
                several_tangents.define_apply, target, *pair
            )
            for pair in pairs
        },
    }


def bodies(case: Case, direction: str, facts: FrameFacts | None = None) -> list[Body]:
    """Return the functions of a kernel, which is the last of them."""
    try:
        return rows.kernel(case, direction, facts)
    except LookupError as error:
        raise LookupError(f"{case.op.name}: {error}") from None


def definition(parts: Iterable[Body], target: Target, symbol: str) -> objects.Definition:
    """Return the definition of functions, of which one has the symbol, with their calls."""
    parts = list(parts)
    called = {name.strip('@"') for part in parts for name in part.declarations}
    loops = {loop for part in parts for loop in part.loops}
    known = _shared(target).keys()
    return objects.Definition(
        machine.ModuleSource(machine.module_text(parts)),
        symbol,
        tuple(sorted(called & known)),
        tuple(sorted(loops)),
    )


def _unit(symbol: str, target: Target, define: Callable[[], Iterable[Body]]) -> objects.Unit:
    """Return the unit of the functions that `define` writes, of which one has the symbol."""
    return objects.Unit(symbol, lambda: definition(define(), target, symbol), cache.EMITTER)


def unit(case: Case, direction: str, facts: FrameFacts | None = None) -> objects.Unit:
    """Return the unit of a kernel: the general one, or that for frames of which facts are known."""
    return _unit(case.symbol(direction, facts), case.target, lambda: bodies(case, direction, facts))


def shared_units(target: Target) -> list[objects.Unit]:
    """Return the units of the functions that kernels call."""
    return [shared_unit(symbol, target) for symbol in _shared(target)]


def shared_unit(symbol: str, target: Target) -> objects.Unit:
    """Return the unit of a function that kernels call, by its symbol."""
    return _unit(symbol, target, lambda: [_shared(target)[symbol]()])


def accumulation_unit(dtype: str, target: Target | None = None) -> objects.Unit:
    """Return the unit of the kernel that adds lines to lines, or sums them up."""
    target = target or host()
    define = functools.partial(accumulation.accumulate, dtype, target)
    return _unit(accumulation.symbol(dtype, target), target, define)


@functools.cache
def address(case: Case, direction: str, facts: FrameFacts | None = None) -> int:
    """Return the address of a kernel; for frames of which facts are known, 0 if the general one uses none of them."""
    known = None if facts is None else rows.used(case, direction, facts)
    if known != facts:
        return address(case, direction, known) if known else 0
    return _load(unit(case, direction, facts), case.target)


@functools.cache
def _shared_address(symbol: str, target: Target) -> int:
    return _load(shared_unit(symbol, target), target)


def _load(unit: objects.Unit, target: Target) -> int:
    """Return the address of the function that a unit is named by, compiled or taken from the cache."""
    with uninterrupted:
        code = objects.obtain(unit, target)
    with compiling, uninterrupted:
        return machine.address_of(unit.name) or _enter(code, target)


def _enter(code: objects.ObjectCode, target: Target) -> int:
    for symbol in code.calls:
        _shared_address(symbol, target)
    _fill(code.loops)
    (address,) = machine.load(code.code, code.symbol)
    return address


def ensure_loops(names: Collection[str]) -> None:
    """Fill the entries of loops that kernels written by hand call: the emitter's, and those of libraries."""
    _fill(set(names) - set(library.LOOPS))
    for name in set(names) & set(library.LOOPS):
        library_loops.enter(name, _shared_address(adjacent_loops.symbol(name, host()), host()))


def _fill(names: Iterable[str]) -> None:
    """Fill the entries of library loops: found in NumPy and SciPy, or compiled."""
    for name in names:
        if name in library.COMPILED:
            _compile_loops(name)
        elif name in library.RESULTS:
            _compile_result(name)
        elif name in library.OF_DEGREE:
            _compile_of_degree(name)
        elif name in library.PARTS:
            _compile_part(name)
        elif address := openblas.address(name) if name in library.FORTRAN else 0:
            library_loops.enter(name, address)
        else:
            library_loops.ensure((name,))


@functools.cache
def _compile_loops(name: str) -> None:
    """Compile the loop of a function over float64; that over float32 is the same for all of them, and calls it."""
    loop = compiler.compile_c_function(_special_loop(name))
    library_loops.enter(name, loop)
    library_loops.enter(name, _narrow_loop(len(library.SIGNATURES[name]) - 3), "f", data=loop)


@functools.cache
def _compile_result(name: str) -> None:
    """Enter a loop that keeps one result of SciPy's, whose addresses are its data."""
    loop = compiler.compile_c_function(loops.one_result)
    for dtype in library_loops.element_types(name):
        function = library_loops.ufunc(name)
        fields = (*library_loops.loop_of(name, dtype), library.RESULTS[name], function.nout, function.nin)
        _results.append(np.array(fields, np.int64))
        library_loops.enter(name, loop, dtype, data=int(_results[-1].ctypes.data))


_results: list[np.ndarray] = []  # the data of these loops, for as long as the process lives


@functools.cache
def _compile_of_degree(name: str) -> None:
    """Enter loops that convert operands to integers for SciPy's, whose addresses are their data."""
    types = library.OF_DEGREE[name]
    fields = (
        *library_loops.loop_of_degree(name),
        len(types) - 3,
        sum(1 << j for j, code in enumerate(types) if code == "l"),
    )
    _results.append(np.array(fields, np.int64))
    for dtype, loop in loops.OF_DEGREE.items():
        address = compiler.compile_c_function(loop)
        library_loops.enter(name, address, dtype, data=int(_results[-1].ctypes.data))


@functools.cache
def _compile_part(name: str) -> None:
    """Compile the function that computes parts of large calls, if our pool and not BLAS has the threads."""
    if openblas.threads() > 1:
        library_loops.enter(name, compiler.compile_c_function(_part(name)), data=openblas.threads())


def library_functions() -> list[Callable[..., int]]:
    """Return the functions that are compiled for entries of library loops."""
    own = (*map(_special_loop, library.COMPILED), *map(_part, library.PARTS))
    return [*own, loops.one_result, *loops.OF_DEGREE.values(), *loops.NARROW.values()]


def _special_loop(name: str) -> Callable[..., int]:
    module = importlib.import_module(f"tapegrad.engine.kernels.special.{library.COMPILED[name]}")
    return loops.of_function(module, name)


def _part(name: str) -> Callable[..., int]:
    module = importlib.import_module(f"tapegrad.engine.kernels.language.{library.PARTS[name]}")
    return entry_point(module, name)


@functools.cache
def _narrow_loop(arity: int) -> int:
    return compiler.compile_c_function(loops.NARROW[arity])


@functools.cache
def address_of_accumulation(dtype: str, target: Target | None = None) -> int:
    """Return the address of the kernel that adds lines to lines, or sums them up."""
    return _load(accumulation_unit(dtype, target), target or host())


def _defined(segment: Segment | IteratedSegment, target: Target, symbol: str) -> list[Body]:
    if isinstance(segment, IteratedSegment):
        return iterated.define(segment, target, symbol)
    return segment_kernels.define(segment, target, symbol)


def _symbol_of(segment: Segment | IteratedSegment, target: Target) -> str:
    return target.symbol("segment", hashlib.sha256(repr(segment).encode()).hexdigest()[:24])


def segment_text(segment: Segment) -> str:
    """Write the module of a segment's kernel as LLVM text."""
    target = host()
    return machine.module_text(segment_kernels.define(segment, target, _symbol_of(segment, target)))


_segments: dict[Segment | IteratedSegment, int] = {}


def address_of_segment(segment: Segment | IteratedSegment) -> int:
    """Return the address of a segment's kernel, compiled or taken from the cache."""
    if segment not in _segments:
        target = host()
        symbol = _symbol_of(segment, target)
        unit = _unit(symbol, target, lambda: _defined(segment, target, symbol))
        _segments[segment] = _load(unit, target)
    return _segments[segment]
