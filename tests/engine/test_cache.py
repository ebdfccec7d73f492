"""Compiled code is kept between processes, shared by them, and done without where nothing can be written."""

import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tapegrad
from helpers.daily import daily, not_daily
from tapegrad.engine import ahead_of_time, kernel_table
from tapegrad.engine.codegen.store import cache, cache_files
from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS
from tapegrad.engine.runtime import sources, switches
from tapegrad.ops import ELEMENTWISE
from tapegrad.program.fusion import recipes

PACKAGE = Path(tapegrad.__file__).parent

# A gradient of a few instructions, and the compilations of this package's functions that it took.
COUNTING = """
    from tapegrad.engine.codegen.store import cache_files
    compiled = []
    write = cache_files.write
    cache_files.write = lambda path, parts: compiled.append(path.name) or write(path, parts)
"""
GRADIENT = """
    import numpy as np, tapegrad as tg
    def gradient(start=1.0):
        x = tg.tensor(np.arange(start, start + 3.0))
        (x * x).sum().backward()
        assert x.grad.tolist() == [2 * start, 2 * start + 2, 2 * start + 4], x.grad
        return True
"""
REPLAY = "import tapegrad as tg; tg.grad(tg.jit(tg.sin))(1.0)"
LARGE = """
    def large_gradient(n=200_000):
        x = tg.tensor(np.ones(n))
        (x * 3.0 * x).sum().backward()
        assert (x.grad == 6.0).all()
        return True
"""


def start(script: str, path: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    """A new process that runs the script, which imports the package from `path`."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(path or PACKAGE.parent),
        "PYTHONWARNINGS": "error",
        **environment,
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script],
        text=True,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def script(*parts: str) -> str:
    return "\n".join(textwrap.dedent(part) for part in parts)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process said on its two channels; it must have ended well."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}"
    return out, err


def run(*parts: str, path: Path | None = None, **environment: str) -> tuple[str, str]:
    return finish(start(script(*parts), path, **environment))


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], str]:
    """What says the state of a copy of the package."""

    def state_in(package: Path) -> str:
        monkeypatch.setattr(sources, "PACKAGE", package)
        return str(cache.state.__wrapped__())

    return state_in


def copied_package(folder: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, folder / "tapegrad", ignore=shutil.ignore_patterns("__pycache__")))


# --- what is kept --------------------------------------------------------------------------------------


def test_a_second_process_compiles_nothing() -> None:
    run(GRADIENT, "gradient()")
    out, err = run(COUNTING, GRADIENT, "gradient(); print(compiled)")
    assert out == "[]\n"
    assert err == ""


def test_what_is_kept_is_loaded_without_what_numba_compiles_with() -> None:
    """That imports half of SciPy."""
    run(GRADIENT, "gradient()")
    run(GRADIENT, "gradient()", "import sys; assert 'scipy.linalg' not in sys.modules")


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def replace_by_another(file: Path) -> None:
    cache_files.write(file, ("another", "another", (), ()))


@pytest.mark.skipif(not switches.TRANSLATES, reason="Numba keeps what is called with each caller")
@daily(every=3)
@pytest.mark.parametrize("damage", [Path.unlink, shorten, replace_by_another])
def test_what_several_functions_call_is_kept_once(damage: Callable[[Path], None], tmp_path: Path) -> None:
    """Its callers are as good as before where its name is lost, and so is its own code."""
    folder = str(tmp_path / "cache")
    run(GRADIENT, "gradient()", TAPEGRAD_CACHE_DIR=folder)
    (shared,) = tmp_path.rglob("*.drop_tensor_ref.*.name")
    before = cache_files.read(shared)
    damage(shared)
    out, _ = run(COUNTING, GRADIENT, "gradient(); print(*compiled)", TAPEGRAD_CACHE_DIR=folder)
    assert out.split() == [shared.name]
    assert cache_files.read(shared) == before
    again = run(COUNTING, GRADIENT, "gradient(); print(compiled)", TAPEGRAD_CACHE_DIR=folder)
    assert again == ("[]\n", "")


def test_kernels_and_driver_are_kept(tmp_path: Path) -> None:
    body = """
        from tapegrad.engine import kernel_table
        kernel_table.load(kernel_table.KernelName("add", "f64", "forward"))
        kernel_table.load_driver()
        assert kernel_table._control[kernel_table.DRIVER] > 0
        print(len(compiled))
    """
    folder = str(tmp_path / "new" / "folder")
    counts = [run(COUNTING, body, TAPEGRAD_CACHE_DIR=folder)[0] for _ in range(2)]
    assert [int(count) for count in counts][1:] == [0]
    assert int(counts[0]) >= 3


def test_a_changed_source_changes_the_state(tmp_path: Path, states: Callable[[Path], str]) -> None:
    package = copied_package(tmp_path)
    before = states(package)
    assert before == states(PACKAGE)
    for changed in (
        "engine/kernels/language/matmul.py",
        "engine/sweep/derivatives/reverse.py",
        "engine/tape/entries.py",
        "engine/codegen/translator/compiler.py",
        "engine/kernels/new.py",
        "ops/row.py",
        "optimize/native/loops/batch.py",
    ):
        with (package / changed).open("a") as file:
            file.write("\n# changed\n")
        after = states(package)
        assert after != before
        before = after
    with (package / "frontend/tensor/tensor.py").open("a") as file:
        file.write("\n# not compiled\n")
    assert states(package) == before


def test_the_state_covers_all_that_is_compiled() -> None:
    ahead_of_time.import_all()  # entry points of modules that no test has imported yet
    folders = tuple(f"tapegrad.{name.replace('/', '.')}." for name in cache.SOURCES)
    assert {"run_fit", "run_batch", "run_newton", "begin_session"} <= {name for _, name in ENTRY_POINTS}
    modules = {module for module, _ in ENTRY_POINTS} | {module for module, _ in locations()}
    assert [module for module in modules if not module.startswith(folders)] == []


def test_the_state_of_emitted_code_covers_what_the_emitter_imports() -> None:
    covered = tuple(f"tapegrad.{name.removesuffix('.py').replace('/', '.')}" for name in cache.EMITTER)
    folders = [name for name in cache.EMITTER if not name.endswith(".py") and "machine" not in name]
    files = [file for name in folders for file in (PACKAGE / name).rglob("*.py")]
    imported = {
        match
        for file in files
        for match in re.findall(
            r"^from (tapegrad\.engine\.(?:kernels|tape|sweep)[\w.]*) import", file.read_text(), re.M
        )
    }
    parents = {f"{module}.{name}" for module in imported for name in names_of(files, module)} | imported
    modules = {name for name in parents if (PACKAGE.parent / f"{name.replace('.', '/')}.py").exists()}
    assert len(modules) >= 4
    assert [module for module in modules if not module.startswith(covered)] == []


def names_of(files: list[Path], module: str) -> set[str]:
    """What files import of a module by name."""
    text = "\n".join(file.read_text() for file in files)
    found = re.findall(rf"^from {re.escape(module)} import (?:\(([^)]*)\)|(.*))", text, re.M)
    return {name.strip().split(" ")[0] for pair in found for name in "".join(pair).split(",") if name.strip()}


def locations() -> set[tuple[str, str]]:
    """Modules and functions of the kernels that are written by hand."""
    return {place for name in kernel_table.kernels() if (place := kernel_table.location(name)) is not None}


def test_a_process_keeps_nothing_under_the_name_of_files_that_changed_since_the_import(
    tmp_path: Path,
) -> None:
    """What it compiles is of the old text: it would lie under the name of the new one."""
    package, folder = copied_package(tmp_path), tmp_path / "cache"
    program = """
        import pathlib, tapegrad as tg
        from tapegrad.engine.codegen.store import cache
        before = cache.version()
        file = pathlib.Path(tg.__file__).parent / "engine" / "tape" / "slots.py"
        file.write_text(file.read_text() + "# changed")
        print(tg.grad(tg.sin)(0.0), before)
    """
    out, err = run(program, path=tmp_path, TAPEGRAD_CACHE_DIR=str(folder))
    file = package / "engine" / "tape" / "slots.py"
    gradient, before = out.split()
    assert gradient == "1.0"
    assert f"no cache folder is used: {file} has changed since it was imported (start Python anew)" in err
    assert [path.name for path in folder.iterdir()] == [before]


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("engine/tape/slots.py", cache.state.__wrapped__),
        ("engine/codegen/rows/rows.py", cache.state.__wrapped__),
        ("engine/kernels/spectra/svd.py", cache.state.__wrapped__),
        *((f"ops/{file.name}", cache.state.__wrapped__) for file in sorted((PACKAGE / "ops").glob("*.py"))),
        ("ops/structural/lines.py", cache.state.__wrapped__),
        ("optimize/native/loops/damped.py", cache.state.__wrapped__),
        ("engine/codegen/segments/segment.py", lambda: cache.state.__wrapped__(cache.EMITTER)),
        ("engine/kernels/language/frame.py", lambda: cache.state.__wrapped__(cache.EMITTER)),
        ("program/fusion/policy.py", lambda: cache.state.__wrapped__(recipes._SOURCES)),
    ],
)
def test_every_digest_notices_a_changed_file(
    name: str, ask: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it names is of no other process, and there is no folder from then on."""
    monkeypatch.setattr(cache.complaints, "made", True)
    monkeypatch.setattr(sources, "_changed", [])
    assert ask() == ask()
    assert cache.folder() is not None
    file = str(PACKAGE / name)
    monkeypatch.setitem(sources._imported, file, (0, 0))
    assert ask() is None or ask() != ask()
    assert sources.changed() == file
    assert cache.folder() is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({"TAPEGRAD_CACHE_DIR": "/here"}, "/here"), ({"XDG_CACHE_HOME": "/there"}, "/there/tapegrad")],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_root(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPEGRAD_CACHE_DIR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache.root() == Path(expected)


def test_each_kernel_has_a_file_of_its_own() -> None:
    names = {(module.rpartition(".")[2], function) for module, function in locations()}
    assert len(names) == len(locations())


# --- a folder or a file that is not as it should be -------------------------------------------------------

KERNEL = """
    from tapegrad.engine import kernel_table
    from tapegrad.engine.codegen.store import cache, cache_files
    def kernel():
        kernel_table._kernels[:] = 0
        assert kernel_table.load(kernel_table.KernelName("negative", "f64", "forward")) > 0
"""


def complaints(err: str, folder: Path) -> list[str]:
    """The lines on stderr that name the cache folder."""
    assert "Traceback" not in err
    return [line for line in err.splitlines() if str(folder) in line]


def alter_machine_code(file: Path) -> None:
    """The same pickle, with code of which LLVM would say that it ends the process."""
    content = file.read_bytes()
    at = content.index(b"\x7fELF") + 4000 if b"\x7fELF" in content else len(content) // 2
    file.write_bytes(content[:at] + bytes(64) + content[at + 64 :])


def write_pickle(value: object) -> Callable[[Path], None]:
    return lambda file: cache_files.write(file, value) and None


def of_another_numba(file: Path) -> None:
    with file.open("wb") as stream:
        pickle.dump("0.1.0", stream)
        pickle.dump(("stamp", {}), stream)


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


class Bomb:
    """What raises when it is unpickled."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (f"raise {self.error.__name__}('from a pickle')",)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "one byte": lambda file: file.write_bytes(b"t"),
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut by a byte": lambda file: os.truncate(file, file.stat().st_size - 1),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "garbage": lambda file: file.write_bytes(bytes(range(256)) * 40),
    "a bit": lambda file: file.write_bytes(file.read_bytes()[:-100] + b"?" + file.read_bytes()[-99:]),
    "head only": lambda file: os.truncate(file, 40),
    "machine code": alter_machine_code,
    "another numba": of_another_numba,
    "of another type": write_pickle({"not": "code"}),
    "of other parts": write_pickle(("name", "object", b"code")),
    "none": write_pickle(None),
    **{
        e.__name__: write_pickle(Bomb(e))
        for e in (EOFError, KeyError, MemoryError, RecursionError, StopIteration)
    },
}


@pytest.fixture(scope="module")
def one_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that holds one kernel, and what is compiled by an import."""
    folder = tmp_path_factory.mktemp("cache")
    run(KERNEL, "kernel()", TAPEGRAD_CACHE_DIR=str(folder))
    return folder


def kept(folder: Path) -> list[Path]:
    """The files with names of kernels below a folder."""
    return sorted(folder.rglob("*.forward.f64.*.name"))


def code_of(name: Path) -> Path:
    """The file with the object code that a name stands for."""
    contents = cache_files.read(name)
    assert contents is not None
    return name.with_name(f"{contents[0]}.o")


@pytest.mark.parametrize("is_code", [False, True], ids=["names", "code"])
def test_damaged_files_are_compiled_around_and_mended(
    is_code: bool, one_kernel: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(one_kernel, tmp_path / "cache"))
    rows = [row.name for row in ELEMENTWISE if row.arity == 1 and row.ufunc and row.name != "negative"]
    rows = ["negative", *rows][: len(DAMAGES)]
    load = f"""
        for name in {rows}:
            assert kernel_table.load(kernel_table.KernelName(name, "f64", "forward")) > 0
    """
    run(KERNEL, load, TAPEGRAD_CACHE_DIR=str(folder))
    files = kept(folder)
    assert len(files) == len(DAMAGES) == len(rows)
    codes = list(map(code_of, files))
    for file, damage in zip(codes if is_code else files, DAMAGES.values(), strict=True):
        damage(file)
    out, err = run(COUNTING, KERNEL, load, "print(*sorted(compiled))", TAPEGRAD_CACHE_DIR=str(folder))
    assert out.split() == sorted(file.name for file in (*files, *(codes if is_code else ())))
    assert len(complaints(err, folder)) == 1
    assert run(COUNTING, KERNEL, load, "print(compiled)", TAPEGRAD_CACHE_DIR=str(folder)) == ("[]\n", "")


def test_a_file_of_another_function_is_not_taken_for_it(one_kernel: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(one_kernel, tmp_path / "cache"))
    (file,) = kept(folder)
    file.rename(file.with_name(file.name.replace("negative", "square")))
    body = """
        kernel_table.load(kernel_table.KernelName("square", "f64", "forward"))
        from tapegrad.engine.reference import compute
        from tapegrad.ops import BY_NAME
        assert compute(BY_NAME["square"], [[3.0]]) == [9.0]
    """
    _, err = run(KERNEL, body, TAPEGRAD_CACHE_DIR=str(folder))
    assert len(complaints(err, folder)) == 1


def test_a_file_is_of_one_processor(one_kernel: Path) -> None:
    out, _ = run(
        COUNTING, KERNEL, "kernel(); print(sum('negative' in name for name in compiled))",
        TAPEGRAD_CACHE_DIR=str(one_kernel), NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="",
    )  # fmt: skip
    assert out == "1\n"
    assert len(kept(one_kernel)) == 2


# What the folder is when the process begins, or becomes in it before the kernel is needed.
FOLDERS = {
    "a file": "pathlib.Path(place).write_text('')",
    "below a file": "pathlib.Path(place).parent.write_text('')",
    "full": "full = fail(OSError(errno.ENOSPC, 'No space left on device'))",
    "read-only": "full = fail(OSError(errno.EROFS, 'Read-only file system'))",
    "of somebody else": "pathlib.Path.mkdir = fail(PermissionError(errno.EACCES, 'Permission denied'))",
    "small": "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))",
    "of another user": "owned_by_another(place)",
    "open to others": "os.chmod(own(place), 0o777)",
    "not to be searched": "close(place)",
    "gone": f"{REPLAY}; shutil.rmtree(place)",
    "gone for good": f"{REPLAY}; shutil.rmtree(place); pathlib.Path(place).write_text('')",
}


@daily(every=3)
@pytest.mark.parametrize("state", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.skipif(sys.platform == "win32", reason="resource")
def test_a_folder_that_cannot_be_used_is_no_reason_to_stop(
    state: str, one_kernel: Path, tmp_path: Path
) -> None:
    place = tmp_path / "in" / "cache"
    if "Path" not in state or "rmtree" in state:  # an import finds what it needs, and the kernel is missing
        shutil.copytree(one_kernel, place)
        for file in kept(place):
            file.unlink()
    elif "parent.write_text" not in state:
        place.parent.mkdir()
    prepare = f"""
        import errno, os, pathlib, resource, shutil
        place = {str(place)!r}
        def fail(error):
            def call(*args, **kwargs):
                raise error
            return call
        def own(place):
            (folder,) = pathlib.Path(place).iterdir()
            return folder
        def owned_by_another(place):
            if os.geteuid() == 0:  # whose files are trusted
                os.chown(own(place), 12345, -1)
            else:
                os.geteuid = lambda: 12345
        def close(place):
            import builtins
            def guarded(function):
                def call(path, *args, **kwargs):
                    if str(path).startswith(place + "/"):
                        raise PermissionError(errno.EACCES, "Permission denied", str(path))
                    return function(path, *args, **kwargs)
                return call
            pathlib.Path.stat, os.stat, os.open = map(guarded, (pathlib.Path.stat, os.stat, os.open))
            os.mkdir = guarded(os.mkdir)
        {state}
        if "full" in globals():
            from tapegrad.engine.codegen.store import cache_files
            cache_files.write = full
    """
    _, err = run(prepare, KERNEL, "kernel(); kernel()", TAPEGRAD_CACHE_DIR=str(place))
    assert len(complaints(err, place)) == 1
    assert not list(tmp_path.rglob("*.tmp"))


@daily(every=2)
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of files")
@pytest.mark.parametrize("whose", ["open to others", "of another user"])
def test_a_file_that_somebody_else_may_have_written_is_not_loaded(
    whose: str, one_kernel: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(one_kernel, tmp_path / "cache"))
    for file in kept(folder):
        if whose == "open to others":
            file.chmod(0o666)
        elif os.geteuid() == 0:
            os.chown(file, 12345, -1)
        else:
            pytest.skip("only root gives files away")
    out, err = run(COUNTING, KERNEL, "kernel(); print(compiled[0])", TAPEGRAD_CACHE_DIR=str(folder))
    assert len(complaints(err, folder)) == 1
    (file,) = folder.rglob(out.strip())
    assert str(file) in err
    assert file.stat().st_uid == os.geteuid()  # made anew
    assert file.stat().st_mode & 0o077 == 0
    assert run(COUNTING, KERNEL, "kernel(); print(compiled)", TAPEGRAD_CACHE_DIR=str(folder)) == ("[]\n", "")


@daily(every=3)
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of files")
@pytest.mark.parametrize("kind", ["python.fast_calls.*.name", "engine.tape.*.name", "[0-9a-f]*.o"])
def test_no_kind_of_file_is_passed_over_in_silence(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    run(REPLAY, TAPEGRAD_CACHE_DIR=str(folder))
    files = list(folder.rglob(kind))
    for file in files:
        file.chmod(0o666)
    _, err = run(REPLAY, TAPEGRAD_CACHE_DIR=str(folder))
    (line,) = complaints(err, folder)
    assert "run chmod go-w on it" in line
    (named,) = (file for file in files if str(file) in line)
    assert named.stat().st_mode & 0o077 == 0  # made anew


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_folders_and_files_are_their_owners_alone(one_kernel: Path) -> None:
    (folder,) = one_kernel.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}


@not_daily
def test_a_relative_folder_is_kept_through_a_change_of_folders(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    body = """
        import os
        from tapegrad.engine.codegen.store import cache
        first = cache.folder()
        os.chdir("elsewhere")
        kernel()
        assert cache.folder() == first and first.is_absolute(), first
        assert os.listdir() == []
    """
    run(f"import os; os.chdir({str(tmp_path)!r})", KERNEL, body, TAPEGRAD_CACHE_DIR="relative")
    assert kept(tmp_path / "relative")


def test_a_folder_that_cannot_be_written_is_read(one_kernel: Path) -> None:
    body = """
        from tapegrad.engine.codegen.store import cache_files
        def refuse(*args):
            raise OSError(30, "Read-only file system")
        cache_files.write = refuse
        import os
        os.utime = refuse
        kernel()
    """
    assert run(KERNEL, body, TAPEGRAD_CACHE_DIR=str(one_kernel)) == ("", "")


@daily(every=3)
@pytest.mark.parametrize("stderr", ["None", "open(os.devnull)", "closed()"])
def test_a_process_without_stderr(stderr: str, one_kernel: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(one_kernel, tmp_path / "cache"))
    kept(folder)[0].write_bytes(b"")
    body = """
        import os, sys
        def closed():
            file = open(os.devnull, "w")
            file.close()
            return file
    """
    after = "kept, sys.stderr = sys.stderr, " + stderr
    run(body, KERNEL, after, "kernel(); sys.stderr = kept", TAPEGRAD_CACHE_DIR=str(folder))


def test_a_package_that_cannot_be_written(tmp_path: Path) -> None:
    package = copied_package(tmp_path)
    for path in (package, *package.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(package.rglob("*"))
    try:
        run(GRADIENT, "gradient()")
        body = (
            f"import os; assert os.path.dirname(tg.__file__) == {str(package)!r}; gradient(); print(compiled)"
        )
        out, _ = run(COUNTING, GRADIENT, body, path=tmp_path, PYTHONDONTWRITEBYTECODE="1")
        assert out == "[]\n"  # the place of the sources does not count
        assert sorted(package.rglob("*")) == before
    finally:
        for path in (package, *package.rglob("*")):
            path.chmod(0o755)


def test_folders_that_another_process_removes_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Path, "iterdir", lambda path: iter([path / "removed meanwhile"]))
    monkeypatch.setattr(Path, "is_dir", lambda path: "meanwhile" in path.name)
    assert cache._folder.__wrapped__() == tmp_path / cache.version()


# --- several at once -----------------------------------------------------------------------------------

KERNELS = """
    from tapegrad.engine import kernel_table
    names = ["negative", "square", "add", "sin", "exp", "sum"] * 4
    def load(name):
        direction = "reverse" if name == "exp" else "forward"
        assert kernel_table.load(kernel_table.KernelName(name, "f64", direction)) > 0
"""


def test_threads_and_processes_on_one_cold_cache(tmp_path: Path) -> None:
    folder = str(tmp_path / "cold")
    threads = """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(load, names))
        print("right")
    """
    forking = """
        import multiprocessing
        child = multiprocessing.get_context("fork").Process(target=load, args=("add",))
        child.start()
        list(map(load, names))
        child.join()
        assert child.exitcode == 0
        print("right")
    """
    processes = [
        start(script(KERNELS, threads), TAPEGRAD_CACHE_DIR=folder),
        start(script(KERNELS, forking), TAPEGRAD_CACHE_DIR=folder, PYTHONWARNINGS="ignore"),
    ]
    for process in processes:
        assert finish(process)[0] == "right\n"
    out, _ = run(COUNTING, KERNELS, "list(map(load, names)); print(compiled)", TAPEGRAD_CACHE_DIR=folder)
    assert out == "[]\n"


def test_spawned_processes(tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    guarded = """
        if __name__ == "__main__":
            import multiprocessing
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                assert all(pool.map(gradient, [1.0, 2.0, 3.0, 4.0]))
            print("right")
    """
    main.write_text(script(GRADIENT, guarded))
    assert run(f"import runpy; runpy.run_path({str(main)!r}, run_name='__main__')")[0] == "right\n"


FORK = """
    import os
    def in_a_child(call):
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if call() else 1)
            finally:
                os._exit(2)
        return os.waitpid(child, 0)[1]
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")


@daily(every=2)
@needs_fork
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_a_child_forked_after_a_parallel_computation(layer: str) -> None:
    body = """
        large_gradient()
        statuses = [in_a_child(lambda: large_gradient() and gradient()) for _ in range(2)]
        large_gradient()
        print(statuses)
    """
    environment = {"NUMBA_THREADING_LAYER": layer, "PYTHONWARNINGS": "ignore"}
    assert run(GRADIENT, LARGE, FORK, body, **environment)[0] == "[0, 0]\n"


@needs_fork
def test_a_child_forked_after_somebody_elses_parallel_computation() -> None:
    body = """
        import numba
        @numba.njit(parallel=True)
        def total(x):
            s = 0.0
            for i in numba.prange(x.size):
                s += x[i]
            return s
        total(np.ones(100))
        print(in_a_child(large_gradient))
    """
    assert run(GRADIENT, LARGE, FORK, body, PYTHONWARNINGS="ignore")[0] == "0\n"


@daily(every=2)
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_threads_replay_large_computations_at_once(layer: str) -> None:
    body = """
        from concurrent.futures import ThreadPoolExecutor
        f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * x * 0.5)))
        def work(k):
            x = np.full(100_000, float(k))
            for _ in range(30):
                value, gradient = f(x)
                assert value == 50_000.0 * k * k, value
                assert (gradient == k).all()
            return large_gradient()
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(1, 9)))
        print("right")
    """
    assert run(GRADIENT, LARGE, body, NUMBA_THREADING_LAYER=layer)[0] == "right\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stacks of other sizes")
def test_a_thread_without_room_for_the_compiler_is_refused(tmp_path: Path) -> None:
    body = """
        import threading
        x = np.arange(3.0)
        f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.exp(x) * np.sin(x)), fuse=True))
        found = []
        def work():
            try:
                found.append(f(x)[0])
            except RuntimeError as error:
                found.append(error)
        def in_a_thread(size):
            threading.stack_size(size)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return found.pop()
        refused = in_a_thread(64 * 1024)
        assert "stack has 64 KiB" in str(refused) and "threading.stack_size(1 << 20)" in str(refused), refused
        value = in_a_thread(1 << 20)
        assert value == f(x)[0] == in_a_thread(64 * 1024)
    """
    run("import numpy as np, tapegrad as tg", body, TAPEGRAD_CACHE_DIR=str(tmp_path))


def test_a_large_computation_is_the_first_of_its_process() -> None:
    for body in ("large_gradient()", "assert tg.ones(100_000).sum().item() == 100_000"):
        run(GRADIENT, LARGE, body)


def test_a_process_ends_in_silence_with_tensors_alive() -> None:
    body = """
        x = tg.tensor([1.0, 2.0])
        y = tg.sin(x) * x
        kept = [x, y, y.data, x[1:], tg.zeros(3)]
        class Late:
            def __del__(self):
                kept.clear()
        late = Late()
    """
    out, err = run(GRADIENT, body)
    assert out == ""
    assert "Exception" not in err
