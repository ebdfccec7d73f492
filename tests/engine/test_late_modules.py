"""Modules that are executed when something in them is first asked for."""

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tapegrad.engine.runtime import sources
from tapegrad.engine.runtime.lazy import load_later

NAME = "package_of_late_modules"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with the late modules `one`, `two` and the late package `inner`, which note their execution."""
    made = tmp_path / NAME
    (made / "inner").mkdir(parents=True)
    (made / "__init__.py").write_text(
        "from tapegrad.engine.runtime.lazy import load_later\n"
        "executed = []\n"
        'load_later(__name__, "one", "two", "inner")\n'
    )
    note = f"from {NAME} import executed\nexecuted.append(__name__.rpartition('.')[2])\n"
    (made / "one.py").write_text(f'"""The first."""\n{note}value = 1\n')
    (made / "two.py").write_text(f"{note}from {NAME} import one\ndef double():\n    return 2 * one.value\n")
    (made / "inner" / "__init__.py").write_text(f"{note}from {NAME}.inner.part import value as value\n")
    (made / "inner" / "part.py").write_text(f"{note}value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def modules() -> tuple[ModuleType, list[str]]:
    package = __import__(NAME)
    return package, package.executed


def test_modules_are_executed_once_and_in_the_order_of_use(folder: Path) -> None:
    package, executed = modules()
    assert executed == []
    assert package.two.double() == 2
    assert executed == ["two", "one"]
    assert package.two.double() == 2
    assert executed == ["two", "one"]
    assert type(package.two) is type(package.one) is ModuleType


def test_an_import_of_a_name_executes(folder: Path) -> None:
    _, executed = modules()
    exec(f"import {NAME}.one as one\nfrom {NAME} import two")
    assert executed == []
    exec(f"from {NAME}.one import value\nassert value == 1")
    assert executed == ["one"]


def test_a_part_of_a_late_folder_can_be_imported_alone(folder: Path) -> None:
    package, executed = modules()
    exec(f"from {NAME}.inner.part import value\nassert value == 3")
    assert executed == ["part"]
    assert package.inner.value == 3
    assert executed == ["part", "inner"]


@pytest.mark.parametrize("ask", [dir, vars, lambda module: module.__doc__])
def test_what_shows_a_module_executes_it(folder: Path, ask) -> None:
    package, _ = modules()
    found = ask(package.one)
    assert found == "The first." if isinstance(found, str) else "value" in found


def test_tools_that_ask_all_modules_execute_none(folder: Path) -> None:
    package, executed = modules()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules of other packages warn that they are deprecated
        for module in list(sys.modules.values()):
            getattr(module, "__warningregistry__", None)  # as unittest's `assertWarns` asks
    assert package.one.__file__ == str(folder / "one.py")
    assert package.one.__spec__.name == package.one.__name__ == f"{NAME}.one"
    assert executed == []


def test_a_variable_that_is_set_first_stays(folder: Path) -> None:
    package, executed = modules()
    package.one.value = 10
    assert executed == ["one"]
    assert package.two.double() == 20


def test_a_module_that_fails_is_executed_again(folder: Path) -> None:
    package, executed = modules()
    (folder / "one.py").write_text("raise OSError('out of files')\n")
    with pytest.raises(OSError, match="out of files"):
        _ = package.one.value
    (folder / "one.py").write_text("value = 'long enough for another size of the file'\n")
    assert package.one.value.startswith("long")
    assert executed == []


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tapegrad\.engine\.nothing'"):
        load_later("tapegrad.engine", "nothing")


def test_threads_wait_for_the_one_that_executes(folder: Path) -> None:
    package, executed = modules()
    text = (folder / "one.py").read_text()
    (folder / "one.py").write_text(f"import time\ntime.sleep(0.2)\n{text}")
    gate, found = threading.Barrier(4), []

    def ask() -> None:
        gate.wait()
        found.append(package.two.double())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 4
    assert executed == ["two", "one"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_while_a_module_is_executed_executes_it_itself(folder: Path) -> None:
    """The thread that does it is not there."""
    (folder / "one.py").write_text(
        f"import threading\nfrom {NAME} import executed\nthread = threading.current_thread()\n"
        "executed.append(thread.name)\nif thread.name == 'slow':\n    thread.forked.wait()\nvalue = 1\n"
    )
    program = f"""
import os, threading, time
import {NAME} as package
slow = threading.Thread(target=lambda: package.one.value, name="slow", daemon=True)
slow.forked = threading.Event()
slow.start()
while not package.executed: time.sleep(0.01)
child = os.fork()
if child == 0:
    os._exit(0 if package.one.value == 1 and package.executed == ["slow", "MainThread"] else 1)
assert os.waitpid(child, 0)[1] == 0
slow.forked.set()
slow.join()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder.parent), *sys.path])},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_file_that_has_changed_since_the_import_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cache is used from then on, as for all source files of the package."""
    package, _ = modules()
    monkeypatch.setattr(sources, "_FOLDER", str(folder) + os.sep)
    monkeypatch.setattr(sources, "_changed", [])
    monkeypatch.setattr(sources, "_imported", sources._states(str(folder)))
    assert package.one.value == 1
    assert sources.changed() == ""
    (folder / "two.py").write_text("# edited\ndef double():\n    return 0\n")
    assert package.two.double() == 0
    assert sources.changed() == str(folder / "two.py")
