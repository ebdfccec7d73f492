"""Offsets inside Python's and NumPy's objects are checked, and other interpreters and layouts are refused."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tapegrad.engine import guard_pages
from tapegrad.engine.codegen.python_calls import python_code
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.runtime import library_loops, object_layouts
from tapegrad.engine.runtime.interpreter import Interpreter, check

RUNNING = Interpreter("cpython", 64, "little", True, sys.version_info[:2])


OFFSETS = [
    name
    for name, value in vars(object_layouts).items()
    if name.isupper() and name[0] != "_" and isinstance(value, int)
]


def test_objects_are_laid_out_as_compiled_code_reads_them():
    assert object_layouts.unknown() == []
    object_layouts.ensure_known()


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("shift", [-16, -8, 8, 16])
def test_another_layout_is_refused_and_nothing_is_read_from_it(name, shift, monkeypatch):
    monkeypatch.setattr(object_layouts, name, getattr(object_layouts, name) + shift)
    monkeypatch.setattr(object_layouts, "ensure_known", object_layouts.ensure_known.__wrapped__)
    with pytest.raises(ImportError, match=rf"numpy {np.__version__} has another place for .*; install"):
        object_layouts.ensure_known()


@pytest.mark.parametrize(
    "use",
    [
        lambda: python_code.Module("nothing").addresses(),
        lambda: library_loops._loop(np.add, "dd->d"),
        lambda: guard_pages._let_numpy_use([0] * 4),
    ],
)
def test_layouts_are_checked_before_they_are_used(use, monkeypatch):
    monkeypatch.setattr(object_layouts, "ARRAY_STRIDES", object_layouts.ARRAY_EXTENTS)
    object_layouts.ensure_known.cache_clear()
    with pytest.raises(ImportError, match="the strides of an array"):
        use()


@pytest.mark.parametrize("layout", ["object", "tuple"])
def test_names_in_the_cache_are_not_shared_by_interpreters_with_other_heads(layout, monkeypatch):
    own = cache.state()
    monkeypatch.setattr(cache, layout, SimpleNamespace(__basicsize__=99), raising=False)
    assert cache.state.__wrapped__() != own


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"implementation": "pypy"}, "this is pypy"),
        ({"version": (3, 16)}, "this is 3.16, whose bytecode is not known"),
        ({"bits": 32}, "32 bits"),
        ({"byteorder": "big"}, "big-endian"),
        ({"locked": False}, "PYTHON_GIL=1"),
        ({"eager": False}, "Numba takes no lazy imports"),
    ],
)
def test_other_interpreters_are_refused(change, fault):
    with pytest.raises(ImportError, match=f"tapegrad needs CPython.*{fault}"):
        check(RUNNING._replace(**change))


def test_this_one_is_not():
    assert Interpreter.running() == RUNNING
    check(RUNNING)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("sys._is_gil_enabled = lambda: False", "PYTHON_GIL=1"),
        (
            "sys.get_lazy_imports = lambda: 'all'; sys.get_lazy_imports_filter = lambda: None",
            "-X lazy_imports=all",
        ),
    ],
)
def test_what_builds_and_options_of_python_say_is_asked_for(lines, fault):
    """Numba is not imported before: it may fail with a message of its own."""
    program = f"import sys; {lines}\ntry: import tapegrad\nexcept ImportError as error: print(error)\n"
    program += "print(*({'numba'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    message, imported = done.stdout.split("\n", 1)
    assert message.startswith("tapegrad needs CPython")
    assert fault in message
    assert not imported.strip()


def test_the_interpreter_is_checked_before_the_rest_is_imported():
    program = "import sys, tapegrad; print(*(name for name in sys.modules if name.startswith('tapegrad')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    first = modules.index("tapegrad.engine.runtime.interpreter")
    packages = {"tapegrad", "tapegrad.engine", "tapegrad.engine.runtime"}
    assert {*modules[:first]} <= packages


def test_an_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "packages.zip"
    package = Path(cache.__file__).parents[3]
    with zipfile.ZipFile(archive, "w") as packed:
        for file in package.rglob("*.py"):
            packed.write(file, Path("tapegrad") / file.relative_to(package))
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import tapegrad"],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.search(r"ImportError: tapegrad cannot be imported from an archive .*: unpack it", done.stderr)
