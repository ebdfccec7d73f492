"""Frames that bound kernels are run on, and all facts of such frames."""

import ctypes
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad
from helpers.complex_kernels import RESULT, dtype_of
from helpers.daily import IS_DAILY
from helpers.elementwise_kernels import SPECIAL
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.rows.case import Case, FrameFacts
from tapegrad.engine.guard_pages import PAGE, fenced_pages
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.runtime import library_loops
from tapegrad.ops import ELEMENTWISE, Op

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
SUMMED = ("multiply", "subtract", "where")  # ops that are run with cotangents that are sums
_COUNT = 39  # elements: whole vectors, and each of the pieces that are left of one


def bits(array: Any) -> bytes:
    """The bits of elements; what is not a number has no sign."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = np.array([array.real, array.imag])
    return bytes(np.where(np.isnan(array), np.nan, array).astype(array.dtype).tobytes())


class Frame:
    """A frame on memory of its own: operands, result, cotangents, with a guard element behind each."""

    def __init__(self, op: Op, dtype: str, direction: str, count: int, scalars: int, wanted: int) -> None:
        rng = np.random.default_rng(7)
        self.fields, self.arrays = np.zeros(FIELDS, np.int64), []
        self.fields[COUNT] = count

        def place(field: int, stride: int, values: np.ndarray) -> None:
            self.arrays.append(values)
            self.fields[field], self.fields[stride] = values.ctypes.data, values.itemsize

        def drawn() -> np.ndarray:
            return np.where(
                rng.random(count + 1) < 0.5, rng.choice(SPECIAL, count + 1), rng.normal(size=count + 1)
            )

        def of_role(role: int) -> np.ndarray:
            kind = dtype_of(op, role, dtype)
            if kind.kind != "c":
                return drawn().astype(kind)
            numbers = np.empty(count + 1, kind)
            numbers.real, numbers.imag = drawn(), drawn()
            return numbers

        for j in range(op.arity):
            place(X + j, STRIDE + j, drawn() > 0 if j in op.boolean_operands else of_role(j))
        place(Y, Y_STRIDE, np.zeros(count + 1, bool if op.predicate else dtype_of(op, RESULT, dtype)))
        if direction == "reverse":
            place(Y_BAR, Y_STRIDE, of_role(RESULT))
            for j in op.differentiable_operands:
                if wanted >> j & 1:
                    place(X_BAR + j, STRIDE + j, of_role(j))
        for j in range(op.arity):
            if scalars >> j & 1:
                self.fields[STRIDE + j] = 0

    def run(self, address: int) -> list[bytes]:
        """The memory after a kernel."""
        self._call(address, self.fields)
        return [bits(array) for array in self.arrays]

    def run_on(self, address: int, fields: np.ndarray) -> None:
        """Run a kernel on the first fields of the frame, which are all that there are."""
        fields[:] = self.fields[: len(fields)]
        self._call(address, fields)

    def _call(self, address: int, fields: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            assert _KERNEL(address)(fields.ctypes.data, library_loops.table()) == 0


def all_facts(op: Op, direction: str) -> Iterator[FrameFacts]:
    """All facts that a frame of an op can have."""
    able = sum(1 << j for j in op.differentiable_operands)
    subsets = [bits for bits in range(1, able + 1) if bits & ~able == 0] if direction == "reverse" else [0]
    for single, scalars, wanted in itertools.product((0, 1), range(1 << op.arity), subsets):
        if (scalars & wanted and op.name not in SUMMED) or (single and scalars):
            continue
        for stored in range(wanted + 1):
            if stored & ~wanted == 0:
                yield FrameFacts(single, scalars, wanted, stored)


def call_all(direction: str, dtype: str, count: int, names: Sequence[str]) -> None:
    """Run the kernels for all facts on so many fields with nothing behind them; those of ops, or of all."""
    fields = fenced_pages(2 * PAGE, [PAGE])[PAGE - 8 * count : PAGE].view(np.int64)
    for number, op in enumerate(ELEMENTWISE):
        if (
            dtype not in op.dtypes
            or (direction == "reverse" and op.predicate)
            or (names and op.name not in names)
        ):
            continue
        every = [*all_facts(op, direction)]
        few = 3 if IS_DAILY and len(every) > 2 else 1
        for facts in every[number % few :: few]:
            address = kernels.address(Case(op, dtype), direction, facts)
            if address:
                print(op.name, facts, flush=True)
                elements = 1 if facts.single else _COUNT
                frame = Frame(op, dtype, direction, elements, facts.scalars, facts.wanted)
                frame.fields[STORE] = facts.stored
                frame.run_on(address, fields)


def run_before_fence(
    direction: str, dtype: str, count: int, names: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """`call_all` in a process of its own, which ends where a kernel reads what is not there."""
    script = (
        f"from helpers.bound_frames import call_all; call_all({direction!r}, {dtype!r}, {count}, {names!r})"
    )
    places = [Path(__file__).parents[1], Path(tapegrad.__file__).parents[1], os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
