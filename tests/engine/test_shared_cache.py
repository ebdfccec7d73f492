"""One cache folder for several: versions of the package and of Python, processes that start together, threads."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.test_cache import COUNTING, PACKAGE, copied_package, finish, run, script, start
from helpers.daily import not_daily
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.codegen.machine.machine import ModuleSource
from tapegrad.engine.codegen.store import cache, cache_files, name_locks
from tapegrad.engine.runtime import switches

pytestmark = pytest.mark.skipif(not switches.TRANSLATES, reason="Numba compiles for one version of Python")

# An eager gradient, and matrices: entry points, functions of C, kernels by hand and by the emitter.
PROGRAM = """
    import numpy as np, tapegrad as tg
    a = tg.tensor([[2.0, 1.0], [1.0, 3.0]])
    (np.linalg.inv(a) @ np.sin(a)).sum().backward()
    print(round(float(a.grad.sum()), 12))
"""
ANSWER = "-0.578371188354\n"  # by complex steps through NumPy


def objects_in(folder: Path) -> set[str]:
    return {file.name for file in folder.rglob("[0-9a-f]*.o")}


def program(folder: Path, *before: str, **options: Any) -> set[str]:
    """Run the program with a cache folder; return the object code that has been compiled."""
    earlier = objects_in(folder)
    out, err = run(*before, PROGRAM, TAPEGRAD_CACHE_DIR=str(folder), **options)
    assert out == ANSWER, err
    return objects_in(folder) - earlier


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the program needs."""
    folder = tmp_path_factory.mktemp("cache")
    assert len(program(folder)) > 30
    return folder


@pytest.fixture
def folder(compiled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(compiled, tmp_path / "cache"))


# --- versions of the package ---------------------------------------------------------------------------------------

COMMENTED = (
    "engine/kernels/lines/scan.py",
    "engine/kernels/language/frame.py",
    "engine/tape/slots.py",
    "ops/row.py",
)


def test_comments_keep_all_object_code(folder: Path, tmp_path: Path) -> None:
    package = copied_package(tmp_path)
    for name in COMMENTED:
        text = (package / name).read_text()
        (package / name).write_text(f"{text}\n\n# A comment\n")
    names = len(list(folder.rglob("*.name")))
    assert program(folder, path=tmp_path) == set()
    assert len(list(folder.rglob("*.name"))) == 2 * names


@not_daily
def test_a_changed_constant_keeps_what_does_not_read_it(folder: Path, tmp_path: Path) -> None:
    frame = copied_package(tmp_path) / "engine" / "kernels" / "language" / "frame.py"
    frame.write_text(frame.read_text().replace("MAX_NDIM = 32", "MAX_NDIM = 31"))
    before = len(objects_in(folder))
    assert 0 < len(program(folder, path=tmp_path)) < before / 2


# --- versions of Python --------------------------------------------------------------------------------------------

# An interpreter whose tuples begin elsewhere: code that reads them is made and not called.
ANOTHER = """
    from tapegrad.engine.codegen.store import cache
    from tapegrad.engine.runtime import object_layouts
    installed = cache._installed
    cache._installed = lambda: ("another Python", *installed())
    object_layouts.TUPLE_ITEMS += 8
    object_layouts.ensure_known = lambda: None
    from tapegrad.engine.codegen.python_calls import python_code
    def refuse(self, code):
        raise SystemExit
    python_code.Module._load = refuse
"""
MODULES = """
    import contextlib, tapegrad
    from tapegrad.engine.codegen.python_calls import comparisons, fast_calls
    from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS
    wrappers = sorted({entry.wrapper for entry in ENTRY_POINTS.values()})
    for module in (comparisons._MODULE, *map(fast_calls.module_of, wrappers)):
        with contextlib.suppress(SystemExit):
            module.addresses()
    print("made")
"""


@pytest.mark.parametrize("another_first", [True, False], ids=["another first", "another last"])
def test_two_versions_of_python_share_a_folder(another_first: bool, compiled: Path, tmp_path: Path) -> None:
    """Offsets are in the text that is compiled: neither version loads what was compiled with other ones."""
    folder = tmp_path / "cache"
    if another_first:
        folder.mkdir(mode=0o700)
    else:
        shutil.copytree(compiled, folder)
    before = {file: file.read_bytes() for file in folder.rglob("*.name")}
    assert run(ANOTHER, MODULES, TAPEGRAD_CACHE_DIR=str(folder))[0] == "made\n"
    assert before.items() <= {file: file.read_bytes() for file in folder.rglob("*.name")}.items()
    if another_first:
        shutil.copytree(compiled, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.name"))
    program(folder, MODULES.replace('print("made")', ""))
    digests: dict[str, set[str]] = {}
    for file in folder.rglob("python.*.name"):
        digests.setdefault(file.name.rsplit(".", 2)[0], set()).add((cache_files.read(file) or ("",))[0])
    assert {len(both) for both in digests.values()} == {1, 2}


OTHER_NUMBERS = "from tapegrad.engine.codegen.store import cache; cache._installed = lambda: ('another',)"


def test_numbers_of_versions_are_in_names_alone(folder: Path) -> None:
    """Another NumPy, or another Python of the same layouts, compiles nothing that the first one has compiled."""
    before = len(list(folder.rglob("*.name")))
    assert program(folder, OTHER_NUMBERS) == set()
    assert len(list(folder.rglob("*.name"))) == 2 * before


PLAIN = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


@not_daily
def test_processors_share_no_object_code(folder: Path, tmp_path: Path) -> None:
    own, there = objects_in(folder), tmp_path / "there"
    foreign = program(folder, **PLAIN)
    assert program(there, **PLAIN) == foreign
    assert program(there) == own
    assert own.isdisjoint(foreign)


@not_daily
def test_texts_are_the_same_in_each_process(tmp_path: Path) -> None:
    """Whatever the order in which functions are translated, and whatever the hashes of strings are."""
    body = """
        from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS
        for entry in list(ENTRY_POINTS.values())[:40][::STEP]:
            entry.compiled()
    """
    contents = []
    for step, seed in ((1, "1"), (-1, "2")):
        folder = tmp_path / seed
        run(body.replace("STEP", str(step)), TAPEGRAD_CACHE_DIR=str(folder), PYTHONHASHSEED=seed)
        contents.append({file.name: cache_files.read(file) for file in folder.rglob("*.name")})
    common = contents[0].keys() & contents[1].keys()
    assert len(common) > 30
    assert [name for name in common if contents[0][name] != contents[1][name]] == []


# --- processes and threads at once ---------------------------------------------------------------------------------


def test_processes_that_start_together_compile_each_object_once(tmp_path: Path) -> None:
    counting = script(COUNTING, PROGRAM, "print(*(name for name in compiled if name.endswith('.o')))")
    folder = tmp_path / "cold"
    processes = [start(counting, TAPEGRAD_CACHE_DIR=str(folder)) for _ in range(2)]
    outputs = [finish(process)[0].splitlines() for process in processes]
    assert {lines[0] for lines in outputs} == {ANSWER.strip()}
    compiled = [name for lines in outputs for name in lines[1].split()]
    assert sorted(compiled) == sorted(set(compiled))
    assert set(compiled) == objects_in(folder)


HOLDER = """
    import sys, time
    from pathlib import Path
    from tapegrad.engine.codegen.store import name_locks
    with name_locks.locked("name", Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("dies", [True, False])
def test_a_name_is_waited_for_while_its_holder_lives(dies: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", script(HOLDER), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    polled, waits = threading.Event(), []
    original = name_locks.try_lock

    def try_lock(*args: int) -> bool:
        is_free = original(*args)
        if not is_free:
            polled.set()
        return is_free

    with (
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        descriptor, byte = name_locks._open(tmp_path), name_locks.byte_of("name")
        patch.setattr(name_locks, "try_lock", try_lock)
        waiter = threading.Thread(target=lambda: waits.append(name_locks._acquire(descriptor, byte)))
        waiter.start()
        assert polled.wait(60)
        assert waits == []
        holder.send_signal(signal.SIGKILL) if dies else holder.communicate("\n")
        waiter.join()
    assert waits == [True]
    name_locks.unlock(descriptor, byte)


def test_a_folder_without_locks_is_no_reason_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: int) -> bool:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(name_locks, "try_lock", refuse)
    entered = []
    for folder in (tmp_path, tmp_path / "none", None):
        with name_locks.locked("name", folder):
            entered.append(folder)
    assert len(entered) == 3


def definition(number: int) -> objects.Definition:
    symbol = f"tapegrad.test_shared_cache.{number}"
    return objects.Definition(ModuleSource(f'define i64 @"{symbol}"() {{\n  ret i64 {number}\n}}'), symbol)


@pytest.fixture
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


def test_threads_compile_side_by_side(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits for the other one: each is at work when both are."""
    both, compile_source = threading.Barrier(2, timeout=60), objects.compile_source

    def together(*args: Any) -> bytes:
        both.wait()
        return compile_source(*args)

    monkeypatch.setattr(objects, "compile_source", together)

    def obtain(number: int) -> objects.ObjectCode:
        made = definition(number)
        with objects.compiling:
            return objects.obtain(objects.Unit(made.symbol, lambda: made), host())

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(obtain, (1, 2)))
    assert [each.symbol for each in found] == [definition(1).symbol, definition(2).symbol]


def test_threads_that_need_the_same_code_make_it_once(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Callable[..., bytes]] = []
    compile_source = objects.compile_source
    monkeypatch.setattr(
        objects, "compile_source", lambda *args: calls.append(compile_source) or compile_source(*args)
    )
    with ThreadPoolExecutor(4) as pool:
        same = objects.Unit("same", lambda: definition(3))
        codes = list(pool.map(lambda _: objects.obtain(same, host()), range(4)))
    assert len(calls) == len(set(codes)) == 1


@not_daily
def test_two_threads_compile_what_one_compiles(tmp_path: Path) -> None:
    """LLVM is called without a lock: each object is the same to the byte."""
    body = """
        from concurrent.futures import ThreadPoolExecutor
        from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS
        entries = list(ENTRY_POINTS.values())[:60]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda entry: entry.compiled(), entries))
    """
    contents = []
    for threads in ("1", "3"):
        folder = tmp_path / threads
        run(body.replace("THREADS", threads), TAPEGRAD_CACHE_DIR=str(folder))
        contents.append({file.name: file.read_bytes() for file in folder.rglob("[0-9a-f]*.o")})
    assert len(contents[0]) > 50
    assert contents[0] == contents[1]


@not_daily
def test_old_names_and_their_code_are_removed_on_demand(folder: Path) -> None:
    present = objects_in(folder)
    program(folder, OTHER_NUMBERS, **PLAIN)
    command = [sys.executable, "-m", "tapegrad", "cache", "clear", "--old"]
    environment = {**os.environ, "TAPEGRAD_CACHE_DIR": str(folder)}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert "removed from" in said
    assert objects_in(folder) == present
    assert program(folder) == set()
