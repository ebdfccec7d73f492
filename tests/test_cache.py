"""Compiled code is kept between processes, shared by them, and done without where nothing can be written."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tapegrad
from tapegrad import cache, compiler, loader

PACKAGE = Path(tapegrad.__file__).parent
MESSAGE = "compiling kernels on first use"

# A gradient of a few instructions, and the compilations of this package's functions that it took.
COUNTING = """
    from numba.core import ccallback, event
    compiled = []

    class Listener(event.Listener):
        def on_start(self, e):
            name = e.data["dispatcher"].py_func.__module__
            compiled.append(name) if name.startswith("tapegrad.") else None
        def on_end(self, e):
            pass

    event.register("numba:compile", Listener())
    uncached = ccallback.CFunc._compile_uncached
    def compile_uncached(self):
        compiled.append(self.__name__)
        return uncached(self)
    ccallback.CFunc._compile_uncached = compile_uncached
"""
GRADIENT = """
    import numpy as np, tapegrad as tg
    def gradient(start=1.0):
        x = tg.tensor(np.arange(start, start + 3.0))
        (x * x).sum().backward()
        assert x.grad.tolist() == [2 * start, 2 * start + 2, 2 * start + 4], x.grad
        return True
"""
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


def digest_of(package: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(cache, "_PACKAGE", package)
    return str(cache.digest.__wrapped__())


def copied_package(folder: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, folder / "tapegrad", ignore=shutil.ignore_patterns("__pycache__")))


# --- what is kept --------------------------------------------------------------------------------------


def test_a_second_process_compiles_nothing() -> None:
    run(GRADIENT, "gradient()")
    out, err = run(COUNTING, GRADIENT, "gradient(); print(compiled)")
    assert out == "[]\n"
    assert err == ""


def test_kernels_and_driver_are_kept(tmp_path: Path) -> None:
    body = """
        from tapegrad import loader
        loader.load(loader.KernelName("add", "f64", "forward"))
        loader.load_driver()
        assert loader._control[loader.DRIVER] > loader.DRIVER_REFUSED
        print(len(compiled))
    """
    folder = str(tmp_path / "new" / "folder")
    counts = [run(COUNTING, body, TAPEGRAD_CACHE_DIR=folder)[0] for _ in range(2)]
    assert [int(count) for count in counts][1:] == [0]
    assert int(counts[0]) >= 3


def test_a_changed_source_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = copied_package(tmp_path)
    before = digest_of(package, monkeypatch)
    assert before == cache.digest()
    for changed in (
        "kernels/matmul.py",
        "sweep/reverse.py",
        "tape/columns.py",
        "compiler.py",
        "kernels/new.py",
    ):
        with (package / changed).open("a") as file:
            file.write("\n# changed\n")
        after = digest_of(package, monkeypatch)
        assert after != before
        before = after
    with (package / "tensor.py").open("a") as file:
        file.write("\n# not compiled\n")
    assert digest_of(package, monkeypatch) == before


def test_a_folder_not_used_for_long_is_removed(tmp_path: Path) -> None:
    old, young, own = tmp_path / "old", tmp_path / "young", tmp_path / "own"
    for folder in (old, young, own):
        folder.mkdir()
    os.utime(old, (0, 0))
    os.utime(own, (0, 0))
    cache._remove_unused(tmp_path, keep=own)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "young"]


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
    places = [loader._place(name) for name in loader.kernels()]
    names = {(module.rpartition(".")[2], function) for module, function in places}
    assert len(names) == len(set(places))


# --- nothing can be written ----------------------------------------------------------------------------


def test_without_a_cache_folder_every_process_compiles_and_says_so_once(tmp_path: Path) -> None:
    regular = tmp_path / "file"
    regular.touch()
    out, err = run(
        GRADIENT, "gradient()", "gradient(2.0)", "from tapegrad import cache; print(cache.folder())",
        TAPEGRAD_CACHE_DIR=str(regular / "below"),
    )  # fmt: skip
    assert out == "None\n"
    assert err.count(MESSAGE) == 1
    assert "no cache folder is writable" in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


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


def test_a_cache_folder_that_goes_away_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that goes away while the process runs."""
    body = """
        import shutil
        from tapegrad import cache, loader
        shutil.rmtree(cache.folder())
        loader.load(loader.KernelName("add", "f64", "forward"))
    """
    run("import tapegrad", body, TAPEGRAD_CACHE_DIR=str(tmp_path / "cache"))


def test_the_message_waits_for_a_noticeable_time(capsys: pytest.CaptureFixture[str]) -> None:
    announcer = compiler._Announcer()
    for _ in range(3):
        announcer.on_start(None)
        announcer.on_end(None)
    assert capsys.readouterr().err == ""
    for _ in range(3):
        announcer.seconds = 2.0
        announcer.on_start(None)
        announcer.on_end(None)
    assert capsys.readouterr().err.count(MESSAGE) == 1


# --- several at once -----------------------------------------------------------------------------------

IN_THREADS = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(gradient, map(float, range(1, 41))))
    print("right")
"""


def test_threads_and_processes_on_one_cold_cache(tmp_path: Path) -> None:
    folder = str(tmp_path / "cold")
    forking = """
        import multiprocessing
        child = multiprocessing.get_context("fork").Process(target=gradient, args=(2.0,))
        child.start()
        child.join()
        assert child.exitcode == 0
        print("right")
    """
    processes = [
        start(script(GRADIENT, IN_THREADS), TAPEGRAD_CACHE_DIR=folder),
        start(script(GRADIENT, forking), TAPEGRAD_CACHE_DIR=folder, PYTHONWARNINGS="ignore"),
    ]
    for process in processes:
        assert finish(process)[0] == "right\n"
    out, _ = run(COUNTING, GRADIENT, "gradient(); print(compiled)", TAPEGRAD_CACHE_DIR=folder)
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
