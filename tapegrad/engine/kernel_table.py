"""Tables from op codes to kernels, which compiled code looks ops up in; filled as ops are first used."""

import functools
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import guard_pages, threads
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.rows import case
from tapegrad.engine.codegen.store import openblas
from tapegrad.engine.codegen.store.announcer import announcer
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.kernels.language.library import PARTS
from tapegrad.engine.runtime import library_loops
from tapegrad.engine.runtime.operating_system import at_fork
from tapegrad.engine.sweep.binding.control_fields import (
    BLAS_LIMIT,
    CONTROL_FIELDS,
    DRIVER,
    LOCK,
    POOL,
    THREAD_LIMIT,
    THREADS,
)
from tapegrad.engine.sweep.threading.parallel import parallel_driver, share_parts
from tapegrad.engine.sweep.threading.pool import help_out
from tapegrad.engine.tape.fields import layout
from tapegrad.errors import UnsupportedError
from tapegrad.ops import CODES, COPY, KINDS, ROWS, Op, Row, Structural
from tapegrad.ops.params import fields_of
from tapegrad.ops.row import EMITTED

DTYPE_NAMES = ("f64", "f32", "i64", "b8", "c128", "c64")
DIRECTIONS = ("forward", "reverse", "tangent")
_KINDS = {kind: code for code, kind in enumerate(KINDS)}
_BITS = {"x0": 1, "x1": 2, "x2": 4, "y": layout.READS_Y}

# Elements from which a second thread pays.
_THRESHOLD = 32_768
_COSTLY_THRESHOLD = 8_192


if guard_pages.on:
    guard_pages.put_up()


class KernelName(NamedTuple):
    """Name of a kernel: an op, the dtype that chooses among its kernels, and a direction."""

    op: str
    dtype: str
    direction: str

    def __str__(self) -> str:
        return f"{self.op} {self.direction} {self.dtype}"


_ROWS: dict[str, Row] = {row.name: row for row in ROWS}
_NAMES = tuple(_ROWS)
_kernels = np.zeros((len(CODES), layout.DTYPE_COUNT, len(DIRECTIONS)), np.int64)
_control = np.zeros(CONTROL_FIELDS, np.int64)


def _reads_mask(names: Iterable[str] | None) -> int:
    return sum(_BITS[name] for name in names or ())


def _threshold(row: Row) -> int:
    """Elements from which an instruction runs on several threads; negative: its lines are divided among them."""
    if row.kind in ("reduction", "scan"):
        return -_THRESHOLD
    if row.kind in ("elementwise", "broadcast_sum"):
        return _COSTLY_THRESHOLD if row.costly else _THRESHOLD
    return 0


def _dtype(name: str | None) -> int:
    return layout.NONE if name is None else DTYPE_NAMES.index(name)


def _linear_operands(row: Row) -> int:
    """Return the operands that an op is linear in, a bit each; 0 for an op that is not linear."""
    return sum(1 << j for j, reads in enumerate(row.reads) if reads is not None) if row.linear else 0


def _fields(row: Row) -> list[int]:
    """Return the facts of an op for the engine, in the order of the fields that `layout` names."""
    return [
        _KINDS[row.kind],
        row.variant,
        _dtype(row.result),
        *[*map(_reads_mask, row.reads), 0, 0, 0][:3],
        _threshold(row),
        _dtype(row.operand_dtypes[0]),
        sum(1 << j for j in row.writes),
        _linear_operands(row),
        int(row.params is not None),
        int(row.in_place),
        int(row.takes_lines),
        layout.NONE if row.factors is None else CODES[row.factors[1]],
        sum(1 << j for j in row.real_operands) | row.real_result << 3,
    ]


_op_fields = np.array([len(ROWS), *[field for row in ROWS for field in _fields(row)]], np.int64)
_op_table = _op_fields[1:].reshape(len(ROWS), layout.OP_FIELDS)


def tables() -> dict[int, int]:
    """Return the fields of a header that come from the tables of this module: field -> address or op code."""
    return {
        layout.KERNELS: int(_kernels.ctypes.data),
        layout.OP_TABLE: int(_op_table.ctypes.data),
        layout.LIBRARY: library_loops.table(),
        layout.CONTROL: int(_control.ctypes.data),
        layout.COPY_OP: COPY,
    }


def _has(row: Row, dtype: str, direction: str) -> bool:
    """Return whether a row has a kernel for a dtype and a direction."""
    if dtype not in row.dtypes:
        return False
    if direction == "forward":
        return True
    if direction == "tangent" and row.linear:
        return False  # the forward kernel does it
    return row.differentiable and dtype in ("f64", "f32", "c128", "c64")


def location(name: KernelName) -> tuple[str, str] | None:
    """Return module and function of a kernel that is written by hand; `None` if the emitter makes it."""
    row = _ROWS[name.op]
    if not isinstance(row, Structural) or row.functions == EMITTED:
        return None
    return row.kernel(name.dtype, name.direction)


def kernels() -> list[KernelName]:
    """Yield every kernel of the package."""
    combinations: Iterator[tuple[str, str, str]] = itertools.product(_NAMES, DTYPE_NAMES, DIRECTIONS)
    return [KernelName(*c) for c in combinations if _has(_ROWS[c[0]], c[1], c[2])]


def load(name: KernelName) -> int:
    """Compile a kernel, or take it from the cache, and enter it into the table of kernels; its address.

    Raises
    ------
    UnsupportedError
        If the op's row does not name the dtype.
    """
    code = CODES[name.op]
    if name.dtype not in _ROWS[name.op].dtypes:
        known = ", ".join(_ROWS[name.op].dtypes)
        raise UnsupportedError(f"{name.op}: there is no kernel for {name.dtype}, only for {known}")
    at = (code, DTYPE_NAMES.index(name.dtype), DIRECTIONS.index(name.direction))
    with compiler.compiling:
        if _kernels[at] == 0:
            _kernels[at] = _address(name)
    return int(_kernels[at])


def _address(name: KernelName) -> int:
    """Return the address of a kernel, made or taken from the cache."""
    row, place = _ROWS[name.op], location(name)
    if isinstance(row, Op):
        return emitter.address(case.Case(row, name.dtype), name.direction)
    if place is None:
        return emitter.address_of_accumulation(name.dtype)
    module_name, function = place
    module = importlib.import_module(module_name)
    loops = getattr(module, "LIBRARY", {}).get(function, ())
    emitter.ensure_loops(loops)
    if not PARTS.keys().isdisjoint(loops):
        _share_parts()
    return compiler.compile_c_function(entry_point(module, function))


@functools.cache
def address_of(function: Callable[..., Any]) -> int:
    """Return the address of a C function that belongs to no op, and that is called by its address."""
    with compiler.compiling:
        return compiler.compile_c_function(function)


def expect(kernels_: Iterable[tuple[int, int, int]]) -> None:
    """Announce kernels that will be needed, each given as for `load_code`: those not in the cache are counted."""
    missing = {key for key in kernels_ if _kernels[key] == 0}
    with compiler.compiling:
        places = [location(_name(*key)) for key in missing]
        announcer.expect(place for place in places if place is not None)


def _name(code: int, dtype: int, direction: int) -> KernelName:
    return KernelName(_NAMES[code], DTYPE_NAMES[dtype], DIRECTIONS[direction])


def load_code(code: int, dtype: int, direction: int) -> int:
    """`load` by op code, dtype code and direction code (0 forward, 1 reverse, 2 tangent)."""
    return load(_name(code, dtype, direction))


def load_driver() -> None:
    """Load the parallel driver: from now on large instructions run on all threads."""
    with compiler.compiling:
        if _control[DRIVER] == 0:
            _control[THREADS], _control[POOL] = threads.start(_thread())
            _control[DRIVER] = compiler.compile_c_function(parallel_driver)
        if _control[THREAD_LIMIT] == 0:
            _control[THREAD_LIMIT] = threads.numba_limit()


@functools.cache
def _share_parts() -> None:
    """Let the pool run parts of large calls of BLAS, unless BLAS has threads of its own, or there is one processor."""
    if openblas.threads() > 1:
        load_driver()
        _control[BLAS_LIMIT] = openblas.thread_counter()
        library_loops.enter(
            "share_parts", compiler.compile_c_function(share_parts), data=int(_control.ctypes.data)
        )


@functools.cache
def _thread() -> int:
    """Return the address of the function that the pool's threads run."""
    return compiler.compile_c_function(help_out)


def run_serially() -> None:
    """Run everything in this process on one thread from now on."""
    _control[THREADS] = 1


def _after_fork() -> None:
    """Reset the state of a forked child: threads do not survive a fork."""
    _control[LOCK] = 0
    if _control[DRIVER] != 0:
        run_serially()


at_fork(in_child=_after_fork)


def op_name(code: int) -> str:
    """Return the name of an op by its code."""
    return _NAMES[code]


def row(code: int) -> Row:
    """Return the row of the table of an op by its code."""
    return ROWS[code]


@functools.lru_cache(1024, typed=True)
def params_fields(code: int, params: Any) -> tuple[int, ...]:
    """Return the 64-bit fields of an op's parameters; none for `None`.

    Raises
    ------
    TypeError
        If they are not the record that the row names.
    """
    record = ROWS[code].params
    if type(params) is not (record or type(None)):
        named = "no parameters" if record is None else f"the parameters {record.__name__}"
        raise TypeError(f"{op_name(code)}: its row in the table says {named}, not {params!r}")
    return () if params is None else tuple(fields_of(params))


def op_fields(code: int) -> np.ndarray:
    """Return the facts of an op for the engine."""
    return _op_table[code]


def op_column(codes: np.ndarray, field: int | np.ndarray) -> np.ndarray:
    """Return one of the facts of each of several ops."""
    return _op_table[codes, field]


@functools.cache
def takes_cotangent(code: int, operand: int) -> bool:
    """Return whether an op has a derivative by an operand."""
    return ROWS[code].reads[operand] is not None
