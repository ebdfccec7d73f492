"""With TAPEGRAD_GUARD_PAGES=1, who reads or writes past a block of memory, or one that is freed, ends the process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.daily import not_daily
from tapegrad.engine.guard_pages import PAGE
from tapegrad.program.streams.memory_plan import assign_fenced_offsets

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such pages on Windows")

PROLOGUE = """
import ctypes, numpy as np, tapegrad as tg
from tapegrad.engine.codegen.translator import compiler; from tapegrad.engine.runtime import library_loops
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.kernels.language import frame
def read(array, offset):
    return ctypes.c_double.from_address(array.ctypes.data + offset).value
class Shown:
    "Knows where an array lies, and does not keep it alive."
    def __init__(self, array):
        self.address = array.ctypes.data
    first = property(lambda self: ctypes.c_double.from_address(self.address).value)
def add(count, source, target):
    "Run the engine's own loop that adds `count` elements to others."
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        emitter.address_of_accumulation("f64"))
    fields = np.zeros(frame.FIELDS, np.int64)
    fields[frame.COUNT], fields[frame.X_BAR], fields[frame.Y_BAR] = count, target.ctypes.data, source.ctypes.data
    fields[frame.STRIDE] = fields[frame.Y_STRIDE] = 8
    kernel(fields.ctypes.data, library_loops.table())
x = tg.tensor(np.arange(5.0))
"""
REPLAY = """
f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x) * x)))
f(np.arange(5.0))
y = f._fast.__self__[1].specialization.workspaces[0].value
"""
# What makes an array `y` and its memory, and what is done that is allowed and that is not.
MEMORY = {
    "a block": ("y = (x * 2).data", "read(y, 32)", "read(y, 40)"),
    "before a block": ("y = (x * 2).data", "read(y, 0)", "read(y, -4096)"),
    "a large block": ("y = (tg.tensor(np.ones(1000)) * 2).data", "read(y, 7992)", "read(y, 8000)"),
    "a block of zeros": ("y = tg.zeros(1000).data", "read(y, 7992)", "read(y, 8000)"),
    "a cotangent": ("(x * x).backward(); y = x.grad", "read(y, 32)", "read(y, 40)"),
    "a freed block": ("y = (x * 2).data; shown = Shown(y)", "shown.first", "del y; shown.first"),
    "an array": ("y = np.arange(5.0)", "read(y, 32)", "read(y, 40)"),
    "a block of a workspace": (REPLAY, "read(y, 0)", "read(y, 8)"),
    "a kernel that writes": ("y = (x * 2).data", "add(5, np.ones(6), y)", "add(6, np.ones(6), y)"),
    "a kernel that reads": ("y = (x * 2).data", "add(5, y, np.ones(6))", "add(6, y, np.ones(6))"),
}  # fmt: skip


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TAPEGRAD_GUARD_PAGES": "1", "TAPEGRAD_TESTS": "daily"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=600, env=environment, check=False
    )


IN_CHILDREN = """
import os, sys
for made, allowed, forbidden in eval(sys.argv[1]):
    child = os.fork()
    if child == 0:
        exec(made + "\\n" + allowed)
        print("so far", end=" ", flush=True)
        exec(forbidden)
        print("too far", end=" ", flush=True)
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


def test_what_goes_too_far_ends_the_process():
    """Each case in a child of one process, which has imported the package."""
    done = run("-W", "ignore", "-c", PROLOGUE + IN_CHILDREN, repr([*MEMORY.values()]))
    ends = dict(zip(MEMORY, done.stdout.splitlines(), strict=True))
    killed = {f"so far {int(number)}" for number in (signal.SIGSEGV, signal.SIGBUS)}
    assert {name: end for name, end in ends.items() if end not in killed} == {}, done.stderr


def test_without_the_switch_nothing_is_laid_apart():
    script = "from numpy._core.multiarray import get_handler_name as name; import tapegrad; print(name())"
    variables = {**os.environ, "TAPEGRAD_GUARD_PAGES": "0"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "default_allocator\n"


def test_new_memory_is_full_of_nan():
    script = PROLOGUE + "print(np.isnan(np.empty(3)).all(), np.zeros(3), tg.zeros(3).data)"
    assert run("-c", script).stdout == "True [0. 0. 0.] [0. 0. 0.]\n"


EMPTIES = """
import warnings, numpy as np, tapegrad as tg
warnings.simplefilter("ignore")
arrays = [np.zeros(shape) for shape in ((0,), (0, 3), (3, 0), (2, 0, 3))]
arrays += [arrays[1].T, np.zeros((0, 6))[::-1, ::2], np.zeros((4, 0))[::2]]
functions = [
    tg.sum, tg.cumsum, tg.prod, lambda x: x * x + 2, lambda x: tg.sum(x, axis=0), lambda x: tg.cumsum(x, 0),
    lambda x: tg.cumsum(x, -1), lambda x: tg.prod(x, axis=-1), lambda x: x.reshape(-1) @ x.reshape(-1),
    lambda x: x[..., None] * np.ones(3), lambda x: tg.concatenate([x, x]), lambda x: tg.stack([x, x.copy()]),
    lambda x: x[[]], lambda x: x[x > 0], lambda x: x[::-1] * 2, lambda x: tg.where(x > 0, x, 0),
    lambda x: x @ np.ones((x.shape[-1], 2)), lambda x: tg.broadcast_to(x, (2, *x.shape)) * 1.0,
    lambda x: x.astype("f4"), lambda x: tg.clip(x, 0, 1),
]
for array in arrays:
    for function in functions:
        for made in (tg.asarray, tg.tensor):
            x = made(array)
            y = function(x)
            y.backward(retain_graph=True)
            assert x.grad is None or x.grad.shape == x.shape
            y.backward(create_graph=True, accumulate=False)
            x.null_grad()
            y[...] = 1.0
            (y * y).backward()
        scalar = lambda x: tg.sum(function(x) * function(x))
        assert tg.value_and_grad(tg.jit(scalar))(array)[1].shape == array.shape
        assert tg.jvp(function, (array,), (array,))[1].shape == y.shape
        assert tg.hessian(tg.jit(scalar))(array).size == 0
"""


@not_daily  # twelve seconds: each array lies on pages of its own
def test_arrays_without_elements():
    """NumPy gives them strides of 0, which elsewhere say that all elements are one: that one is not there."""
    done = run("-c", EMPTIES)
    assert done.returncode == 0, done.stderr


def test_random_programs_and_replays():
    """As everywhere, but every overrun, use of freed memory and use of what was never written shows."""
    programs = Path(__file__).parents[1] / "program" / "test_random_replays.py"
    chosen = f"{programs}::test_replay_is_the_program_run_anew[1000]"  # `make test-guarded` runs all
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", chosen)
    assert done.returncode == 0, done.stdout + done.stderr


def test_blocks_of_a_workspace_end_at_fences():
    sizes = [0, 8, 12, PAGE, PAGE + 8]
    offsets, bytes_, fences = assign_fenced_offsets(np.array(sizes))
    assert all(offset % PAGE == 0 for offset in (bytes_, *fences))
    for offset, size, fence in zip(offsets, sizes, fences[1:], strict=True):
        assert offset + max(size, 1) <= fence < offset + max(size, 1) + 8
        assert offset % 8 == 0
    assert np.all(np.diff(fences) >= 2 * PAGE)
    assert bytes_ == fences[-1] + PAGE


def test_many_blocks_share_fences():
    """A process may have a limited number of mappings."""
    sizes = np.array([0, 8, 12, PAGE, PAGE + 8, 40, 3])
    offsets, bytes_, fences = assign_fenced_offsets(sizes, most=3)
    groups = [offsets[:3], offsets[3:6], offsets[6:]]
    for group, fence in zip(groups, fences[1:], strict=True):
        assert np.all(np.diff(group) >= 8)
        assert fence - 3 * PAGE < group[0] <= group[-1] < fence
    ends = offsets + np.maximum(sizes, 1)
    assert np.all(ends[:-1] <= offsets[1:])
    for last, fence in zip(ends[[2, 5, 6]], fences[1:], strict=True):
        assert last <= fence < last + 8
    assert len(fences) == 4
    assert bytes_ == fences[-1] + PAGE
