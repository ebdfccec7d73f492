"""The import of the package: what it executes, and that what it leaves for later is there all the same."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
import scipy.stats

import tapegrad as tg
from tapegrad.engine.codegen.store import cache

# Modules of others that are slow to import: none of them is needed for a gradient.
HEAVY = (
    "argparse", "asyncio", "concurrent.futures.process", "decimal", "distributed", "email", "fractions", "html.parser",
    "http", "matplotlib", "multiprocessing.pool", "numba", "numpy.fft", "numpy.ma", "numpy.polynomial",
    "numpy.random", "numpy.testing", "pandas", "scipy", "sqlite3", "ssl", "statistics", "unittest",
    "urllib.request", "xarray", "xml",
)  # fmt: skip
# Rooms, and folders of the engine, that an import leaves for later
LATE = (
    "tapegrad.autodiff.custom", "tapegrad.autodiff.rules", "tapegrad.cli", "tapegrad.engine.codegen.ir",
    "tapegrad.engine.codegen.mathematics", "tapegrad.engine.codegen.segments", "tapegrad.engine.inspection.printing",
    "tapegrad.examples", "tapegrad.integrate", "tapegrad.interop", "tapegrad.interpolate", "tapegrad.optimize",
    "tapegrad.program", "tapegrad.stats", "tapegrad.testing", "tapegrad.transforms",
)  # fmt: skip
MAX_MODULES = 272

REPORT = """
import json, sys
executed = [name for name, module in sys.modules.items() if type(module).__name__ != "_LateModule"]
print(json.dumps(executed))
"""


def run(program: str, **environment: str) -> str:
    """Run a program in a fresh process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def executed_by(program: str) -> list[str]:
    """Return the modules that a fresh process has executed after a program."""
    names: list[str] = json.loads(run(program + REPORT).splitlines()[-1])
    return names


def own(modules: list[str]) -> list[str]:
    return [name for name in modules if name.partition(".")[0] == "tapegrad"]


def is_in(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(each + ".") for each in packages)


def test_an_import_executes_little() -> None:
    modules, already = executed_by("import tapegrad"), executed_by("import numpy, llvmlite.binding")
    assert not [name for name in modules if is_in(name, HEAVY) and name not in already]
    assert not [name for name in modules if is_in(name, LATE)]
    assert len(own(modules)) <= MAX_MODULES


def test_a_gradient_by_backward_records_no_program() -> None:
    program = (
        "import tapegrad as tg; x = tg.tensor([1.0, 2.0]); tg.sum(tg.sin(x) * x).backward()\n"
        "assert x.grad[0] > 1\n"
    )
    rooms = (
        "tapegrad.program",
        "tapegrad.transforms",
        "tapegrad.stats",
        "tapegrad.integrate",
        "tapegrad.interpolate",
        "tapegrad.optimize",
        "tapegrad.interop",
    )
    assert not [name for name in executed_by(program) if is_in(name, rooms)]


def test_a_recorded_gradient_needs_no_other_rooms() -> None:
    program = "import tapegrad as tg; assert tg.grad(tg.jit(lambda x: x * x))(3.0) == 6\n"
    rooms = (
        "tapegrad.stats",
        "tapegrad.integrate",
        "tapegrad.interpolate",
        "tapegrad.optimize",
        "tapegrad.interop",
        "tapegrad.testing",
        "tapegrad.program.archive",
    )
    assert not [name for name in executed_by(program) if is_in(name, rooms)]


FIRST_USES = """
import numpy as np, tapegrad as tg
x = tg.tensor([1.0, 2.0])
tg.sum(tg.sin(x) * x).backward()
slope = tg.jit(tg.grad(lambda x: tg.sum(tg.exp(-x) * x)))
for _ in range(3):
    slope(np.arange(3.0))
t = np.linspace(0.0, 1.0, 50)
a, b = tg.optimize.curve_fit(lambda t, a, b: a * tg.exp(-b * t), t, 2 * np.exp(-3 * t), p0=[1.0, 1.0])[0]
assert abs(a - 2) < 1e-6 and abs(b - 3) < 1e-6
covariances = np.eye(3) + np.ones((9, 3, 3))
tg.grad(lambda a: tg.sum(tg.linalg.cholesky(a)) + tg.sum(tg.linalg.inv(a)))(covariances)
"""


def test_code_that_is_kept_needs_no_numba() -> None:
    run(FIRST_USES)  # which compiles what is missing
    assert not [name for name in executed_by(FIRST_USES) if is_in(name, ("numba",))]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NUMBA_CPU_NAME": "generic"},
        {"NUMBA_CPU_NAME": "haswell"},
        {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2"},
        {"NUMBA_CPU_FEATURES": ""},
        {"NUMBA_NUM_THREADS": "1"},
    ],
)
def test_numbas_settings_hold_without_numba(environment: dict[str, str]) -> None:
    program = """
import sys
from tapegrad.engine import threads
from tapegrad.engine.codegen.ir.target import host
print(host(), threads.allowed())
"""
    without = run(program + "assert 'numba' not in sys.modules", **environment)
    assert run("import numba" + program, **environment) == without


def test_a_file_of_numbas_settings_is_read(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text("cpu_name: haswell\ncpu_features: +avx\n")
    program = (
        f"import os; os.chdir({str(tmp_path)!r})\n"
        + """
from tapegrad.engine.codegen.ir.target import host
print(host().cpu, host().features)
"""
    )
    assert run(program).split() == ["haswell", "+avx"]


def test_the_version_of_numba_is_told_without_it() -> None:
    assert numba.__version__.encode() in cache._version_of_numba()  # type: ignore[operator]


def test_public_names_are_the_same_before_and_after_they_are_asked_for() -> None:
    program = """
import tapegrad as tg
before, listed = dir(tg), tg.__all__
from tapegrad import *
assert dir(tg) == before
assert {name: vars(tg)[name] for name in listed} == {name: globals()[name] for name in listed}
print(*before)
"""
    assert run(program).split() == dir(tg)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'tapegrad' has no attribute 'gard'"):
        _ = tg.gard  # type: ignore[attr-defined]
    assert not hasattr(tg, "__wrapped__")


@pytest.mark.parametrize(
    "name",
    [
        "integrate",
        "interop",
        "interpolate",
        "linalg",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
        "stats",
        "testing",
    ],
)
def test_a_room_shows_its_names(name: str) -> None:
    program = (
        f"import tapegrad as tg; print(*dir(tg.{name})); assert tg.{name}.__doc__; print(*vars(tg.{name}))"
    )
    listed, held = run(program).splitlines()
    room = getattr(tg, name)
    # Other tests may have imported modules of the room since.
    later = {
        each for each in vars(room).keys() - set(listed.split()) if isinstance(vars(room)[each], ModuleType)
    }
    assert set(dir(room)) - later == set(listed.split())
    made = {each for each in listed.split() if not each.startswith("__")} - set(held.split())
    assert not made or name == "stats"  # which makes distributions of SciPy's names when they are asked for
    assert all(hasattr(scipy.stats, each) for each in made)


@pytest.mark.parametrize(
    "expression",
    [
        "tg.stats.norm.logpdf(0.5, 0.0, 1.0)",
        "tg.linalg.expm(np.zeros((2, 2)))[0, 0]",
        "tg.optimize.minimize(lambda x: tg.sum((x - 1) ** 2), np.zeros(2), method='native').x[0]",
        "tg.vmap(tg.grad(lambda x: x * x))(np.ones(3))[0]",
        "tg.hessian(lambda x: x ** 3)(2.0)",
        "tg.fft.ifft(np.ones(1))[0].real",
        "float(tg.check_grads(lambda x: x * x, 1.0) is None)",
        "tg.compile(lambda x: x * x, 1.0).cfunc('double(double x)').ctypes(3.0)",
    ],
)
def test_first_uses_in_a_fresh_process(expression: str) -> None:
    program = f"import numpy as np, tapegrad as tg; print(float(np.asarray({expression})))"
    assert float(run(program)) == float(np.asarray(eval(expression, {"np": np, "tg": tg})))


def test_a_compiled_function_from_a_pickle_is_whole(tmp_path: Path) -> None:
    """A pickle names the module of compiled functions alone, and `interop` completes them."""
    file = tmp_path / "square"
    file.write_bytes(pickle.dumps(tg.compile(lambda x: x * x, 1.0)))
    program = f"""
import pickle, numba
h = pickle.loads(open({str(file)!r}, "rb").read())
@numba.njit
def of_global(x):
    return h(x)
print(h.cfunc("double(double x)").ctypes(3.0), of_global(4.0))
"""
    assert run(program).split() == ["9.0", "16.0"]


def test_pickles_name_what_is_imported_late() -> None:
    pickles = {
        name: pickle.dumps(getattr(tg, name)) for name in ("grad", "jit", "vmap", "sin", "sum", "Tensor")
    }
    pickles["norm"] = pickle.dumps(tg.stats.norm.logpdf) if _is_picklable(tg.stats.norm.logpdf) else b""
    program = f"import pickle\nfor each in {[*filter(None, pickles.values())]!r}: print(pickle.loads(each).__name__)"
    assert run(program).split()[: len(pickles) - 1] == [*pickles][:-1]


def _is_picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    return True


def test_threads_may_ask_first_at_the_same_time() -> None:
    program = """
import threading, tapegrad as tg
gate, found = threading.Barrier(8), []
def ask(k):
    gate.wait()
    found.append((tg.jit, tg.stats.norm, tg.optimize.minimize, tg.compile, tg.linalg.expm)[k % 5])
threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8
assert tg.Compiled.cfunc
"""
    run(program)
