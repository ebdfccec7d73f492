"""Systems that differ: what holds on macOS, Windows and an unknown one, in a process that claims to run there."""

import ast
import mmap
import os
import platform
import stat
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import tapegrad
from tapegrad.engine import guard_pages
from tapegrad.engine.runtime import operating_system, thread_stack, whole_files
from tapegrad.engine.runtime.operating_system import Clock
from tapegrad.engine.runtime.pace import aside, pace_beside, working

HOME = Path("/home/ada")
POSIX = {"getuid", "geteuid", "fchmod", "register_at_fork"}
LINUX = {"sched_getaffinity"}
# What Python's modules lack there
LACKS = {"linux": set(), "darwin": LINUX, "win32": POSIX | LINUX, "plan9": LINUX}
SYSTEMS = list(LACKS)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Claim to be another system: its name, and only those functions of `os` that it has."""
    name: str = request.param
    monkeypatch.setattr(sys, "platform", name)
    monkeypatch.setattr(Path, "home", lambda: HOME)
    for function in LACKS[name]:
        monkeypatch.delattr(os, function, raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    if name == "win32":
        monkeypatch.delattr(mmap, "MAP_ANONYMOUS", raising=False)
        monkeypatch.delattr(time, "CLOCK_MONOTONIC", raising=False)
    return name


each_system = pytest.mark.parametrize("on", SYSTEMS, indirect=True)


@each_system
def test_the_cache_is_where_the_system_has_caches(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"darwin": HOME / "Library" / "Caches", "win32": HOME / "AppData" / "Local"}
    assert operating_system.cache_base() == own.get(on, HOME / ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    chosen = {"darwin": HOME / "Library" / "Caches", "win32": Path("/local")}
    assert operating_system.cache_base() == chosen.get(on, Path("/xdg"))


@each_system
def test_files_of_others_are_told_where_files_have_owners(on: str, tmp_path: Path) -> None:
    own = getattr(os, "geteuid", lambda: 1000)()
    mine, world, other = (
        SimpleNamespace(st_uid=uid, st_mode=stat.S_IFREG | mode)
        for uid, mode in ((own, 0o600), (own, 0o622), (own + 1, 0o600))
    )
    assert whole_files.distrust(tmp_path, mine) == ""
    expected = (False, False) if on == "win32" else (True, True)
    assert (
        bool(whole_files.distrust(tmp_path, world)),
        bool(whole_files.distrust(tmp_path, other)),
    ) == expected


@each_system
def test_a_file_is_replaced_as_a_whole(on: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tape"
    path.write_bytes(b"before")
    path.chmod(0o640)
    whole_files.write_whole(path, b"after")
    assert path.read_bytes() == b"after"
    assert on == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["model.tape"]


@each_system
def test_processors_are_counted(on: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(operating_system, "_MEMBERSHIP", tmp_path / "none")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    if on == "linux":
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3}, raising=False)
    assert operating_system.processors() == (2 if on == "linux" else 6)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert operating_system.processors() >= 1


@each_system
def test_there_is_a_clock_or_a_sentence(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = operating_system.clock()
    if on == "win32":
        assert found.function == "QueryPerformanceCounter"
        assert found.argument == round(time.get_clock_info("perf_counter").resolution * 1e9)
        return
    assert found == Clock("clock_gettime", time.CLOCK_MONOTONIC)
    monkeypatch.delattr(time, "CLOCK_MONOTONIC")
    with pytest.raises(ImportError, match=rf"needs the clock CLOCK_MONOTONIC.*\({on}\)"):
        operating_system.clock()


@each_system
def test_guard_pages_are_made_where_their_flags_are_known(on: str) -> None:
    if on in ("linux", "darwin"):
        fresh = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        assert operating_system.mapping() == (fresh, fresh | 0x10)
        return
    reason = "has no mmap" if on == "win32" else rf"the flags of mmap on this system \({on}\)"
    with pytest.raises(ImportError, match=f"TAPEGRAD_GUARD_PAGES: .*{reason}.*; unset the variable|{reason}"):
        guard_pages.put_up()


@pytest.mark.parametrize("on", [name for name in SYSTEMS if name != "linux"], indirect=True)
def test_a_stack_of_unknown_size_is_trusted(on: str) -> None:
    found: list[object] = []
    size = threading.stack_size(64 * 1024)
    try:
        thread = threading.Thread(
            target=lambda: found.extend([operating_system.stack_bytes(), thread_stack.require()])
        )
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()
    assert found == [0, None]


@pytest.mark.parametrize("on", [name for name in SYSTEMS if name != "linux"], indirect=True)
def test_priorities_stay_where_they_are_those_of_the_process(
    on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work is then done in the thread itself."""

    def fail(*arguments: int) -> None:
        raise AssertionError("the priority of the process was changed")

    monkeypatch.setattr(os, "setpriority", fail, raising=False)
    with working(pace_beside(1e-3)):
        assert aside(threading.get_ident) == threading.get_ident()


@each_system
def test_functions_are_registered_where_processes_fork(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[dict[str, object]] = []
    if on != "win32":
        monkeypatch.setattr(os, "register_at_fork", lambda **given: registered.append(given))
    operating_system.at_fork(in_child=abs)
    operating_system.at_fork(before=len, in_parent=min, in_child=max)
    both = {"before": len, "after_in_parent": min, "after_in_child": max}
    assert registered == ([] if on == "win32" else [{"after_in_child": abs}, both])


@pytest.mark.parametrize(
    ("machine", "hint"),
    [
        ("x86_64", ("llvm.x86.sse2.pause",)),
        ("AMD64", ("llvm.x86.sse2.pause",)),
        ("arm64", ("llvm.aarch64.hint", 1)),
        ("aarch64", ("llvm.aarch64.hint", 1)),
        ("riscv64", ()),
    ],
)
def test_a_spin_loop_has_the_hint_of_the_processor(
    machine: str, hint: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert operating_system.spin_hint() == hint


def test_systems_are_told_apart_in_one_file() -> None:
    """What asks for the name of the system, or whether `os` has a function, stands there."""
    package = Path(tapegrad.__file__).parent
    found = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            asks = isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr")
            about = ast.unparse(node.args[0]) if asks and node.args else ""
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if about in ("os", "time", "mmap") or name in ("sys.platform", "os.name", "platform.system"):
                found.append(path.relative_to(package).as_posix())
    assert set(found) == {"engine/runtime/operating_system.py"}
