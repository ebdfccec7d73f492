"""The command line."""

import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.cli import main
from tapegrad.cli.fit import with_progress
from tapegrad.engine import ahead_of_time, kernel_table
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.runtime import object_layouts
from tapegrad.examples import nist

SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def disagreeing(monkeypatch):
    """Every fit agrees to three digits only."""
    problem = nist.load("Misra1a")
    near = problem.certified * 1.001
    fit = nist.Fit("Misra1a", "lower", 1, 10, 9, 1.5, 0.5, 3.0, 0.125, near, True, 8, 0.1, 3.0, 0.125, near)
    monkeypatch.setattr(nist, "fit", lambda problem, start: fit)


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """Three kernels are all that there is, of which one is cached; their units of compilation."""
    names = [kernel_table.KernelName(op, "f64", "forward") for op in ("square", "negative", "positive")]
    units = list(map(ahead_of_time.kernel_unit, names))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(kernel_table, "kernels", lambda: names)
    monkeypatch.setattr(ahead_of_time, "units", lambda target: units)
    objects.obtain(units[0], host())
    return units


def ink(file):
    """The share of a picture that is not white, and its number of colours."""
    from matplotlib.image import imread  # noqa: PLC0415  it is slow to import

    pixels = imread(file)[..., :3].reshape(-1, 3)
    return np.mean(np.any(pixels < 1, axis=1)), len(np.unique(pixels, axis=0))


def run_module(*arguments):
    """``python -m tapegrad`` in another process."""
    command = [sys.executable, "-m", "tapegrad", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["fit", "--help"],
        ["example", "--help"],
        ["info", "--help"],
        ["warmup", "--help"],
        ["cache", "clear", "--help"],
    ],
)
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    assert "usage: tapegrad" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["fit", "--start", "3"], ["example", "nist"], ["cache", "--old"]]
)
def test_nonsense_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: tapegrad" in capsys.readouterr().err


def test_the_package_is_a_command():
    done = run_module("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("fit", "example", "info", "warmup", "cache"))


def test_help_compiles_nothing(tmp_path):
    """Nor does the import: neither LLVM nor the cache is asked for anything."""
    program = (
        "import runpy, sys, llvmlite.binding as llvm\n"
        "def refuse(*arguments, **options): raise AssertionError('compiled')\n"
        "llvm.PassBuilder.__init__ = llvm.ExecutionEngine.add_module = refuse\n"
        "sys.argv = ['tapegrad', '--help']\n"
        "runpy.run_module('tapegrad', run_name='__main__')"
    )
    folder = tmp_path / "cache"
    environment = {**os.environ, "TAPEGRAD_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage: tapegrad" in done.stdout
    assert not folder.exists()


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"tapegrad {tg.__version__}\n"


def test_problems_are_found_in_any_case(disagreeing, capsys):
    for name in nist.names():
        for written in (name, name.lower(), name.upper()):
            assert main(["fit", written]) == 1, capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "meant"),
    [("gaus1", "Gauss1"), ("MISRA", "Misra1"), ("Chwirut", "Chwirut2"), ("", ""), ("zzz", "")],
)
def test_a_name_that_is_nearly_known_is_suggested(written, meant, capsys):
    assert main(["fit", written]) == 2
    err = capsys.readouterr().err
    assert f"unknown problem {written!r}" in err
    assert (f"(did you mean {meant}" in err) == bool(meant)


def test_unknown_problem_lists_the_known_ones(capsys):
    assert main(["fit", "Misra1a", "Misra7"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "unknown problem 'Misra7' (did you mean " in err
    assert all(name in err for name in nist.names())


def test_functions(capsys):
    assert main(["functions", "einsum", "numpy.full", "scipy.special.pbdv", "save"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["numpy.einsum", "differentiates"],
        ["numpy.full", "refused (write tapegrad.full)"],
        ["numpy.save", "refused (but for constants)"],
        ["scipy.special.pbdv", "refused"],
    ]
    assert main(["functions", "numpy.linalg"]) == 0
    assert "numpy.linalg.matrix_rank" in capsys.readouterr().out
    assert main(["functions", "sinn"]) == 2
    assert "no public function is called sinn" in capsys.readouterr().err


def test_table(capsys):
    assert main(["fit", "misra1a", "Thurber", "MISRA1A"]) == 0
    out, err = capsys.readouterr()
    title, rule, *rows, empty, total, native = out.splitlines()
    assert title.split()[:3] == ["problem", "difficulty", "start"]
    assert set(rule) == {"-", " "}
    assert [row.split()[:3] for row in rows] == [
        ["Misra1a", "lower", "1"],
        ["Misra1a", "lower", "2"],
        ["Thurber", "higher", "1"],
        ["Thurber", "higher", "2"],
    ]
    assert {len(row) for row in rows} == {len(title)}
    assert rows[0].split()[-1] == "1.2455138894e-01"
    assert empty == ""
    assert total.startswith("4 fits, 4 agree to 6 digits or more, ")
    calls = [sum(int(row.split()[k]) for row in rows) for k in (3, 4)]
    assert total.endswith(f" s replaying {calls[0]} residuals and {calls[1]} Jacobians for SciPy")
    evaluations = sum(int(row.split()[8]) for row in rows)
    assert native.endswith(f"with {evaluations} evaluations of residuals and Jacobian")
    assert all(
        line.startswith(("tapegrad: compiling kernels", "tapegrad: compiled")) for line in err.splitlines()
    )


def test_one_start(capsys):
    assert main(["fit", "DanWood", "--start", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows[0].split()[:3] == ["DanWood", "lower", "2"]
    assert rows[-2].startswith("1 fit, 1 agree")


def test_json(capsys):
    assert main(["fit", "Nelson", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert result["total"]["fits"] == result["total"]["agreeing"] == 2
    assert 0 < result["total"]["function_seconds"] < result["total"]["seconds"]
    first, second = result["fits"]
    assert (first["name"], first["start"], second["start"]) == ("Nelson", 1, 2)
    assert first["agrees"] is first["success"] is True
    for kind in ("parameters", "native_parameters"):
        np.testing.assert_allclose(first[kind], nist.load("Nelson").certified, rtol=1e-6)
    np.testing.assert_array_equal(first["certified"], nist.load("Nelson").certified)


def test_disagreement_is_an_exit_code(disagreeing, capsys):
    assert main(["fit", "Misra1a", "--start", "1"]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].split()[7:9] == ["3.0", "!"]
    assert rows[-2].startswith("1 fit, 0 agree")
    assert rows[2].split()[11:13] == ["3.0", "!"]


@pytest.mark.parametrize("names", [["Misra1a"], ["Nelson", "ENSO", "Lanczos1"]])
def test_plot(names, tmp_path, capsys):
    file = tmp_path / "fits.png"
    assert main(["fit", *names, "--plot", str(file)]) == 0
    assert f"wrote {file}" in capsys.readouterr().err
    assert file.read_bytes().startswith(SIGNATURE)
    share, colours = ink(file)
    assert 0.02 < share < 0.5
    assert colours > 50


def test_plot_as_vectors(tmp_path):
    file = tmp_path / "fits.svg"
    assert main(["fit", "Rat43", "--start", "1", "--plot", str(file)]) == 0
    assert "<svg" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["fits", "fits.", "fits.png."])
def test_plot_without_an_extension_is_a_png_that_is_named(name, disagreeing, tmp_path, capsys):
    assert main(["fit", "Misra1a", "--start", "1", "--plot", str(tmp_path / name)]) == 1
    assert f"wrote {tmp_path / 'fits.png'}\n" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["fits.png"]


def test_plot_without_matplotlib_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("tapegrad.cli.pictures.find_spec", lambda name: None)
    assert main(["fit", "Misra1a", "--plot", str(tmp_path / "fits.png")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("--plot needs matplotlib: pip install matplotlib\n")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("no/such/folder/fits.png", "there is no folder"),
        ("fits.nonsense", "matplotlib writes "),
        ("fits.png", "cannot be written"),
        ("", "it is a folder"),
        ("folder.png", "it is a folder"),
    ],
)
def test_plot_that_cannot_be_written_is_said_before_the_fits(file, why, monkeypatch, tmp_path, capsys):
    (tmp_path / "folder.png").mkdir()
    if why == "cannot be written":
        monkeypatch.setattr("os.access", lambda file, mode: False)
    assert main(["fit", "Misra1a", "--plot", str(tmp_path / file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"tapegrad fit: cannot draw {tmp_path}")
    assert why in err


def test_plot_that_fails_while_it_is_written(disagreeing, monkeypatch, tmp_path, capsys):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    assert main(["fit", "Misra1a", "--plot", str(tmp_path / "fits.png")]) == 2
    assert capsys.readouterr().err.endswith("fits.png: No space left on device\n")


def test_progress_is_one_rewritten_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert list(with_progress([1, 2], ["", "one", "two"].__getitem__)) == [1, 2]
    assert capsys.readouterr().err == "\r\x1b[K[1/2] one\r\x1b[K[2/2] two\r\x1b[K"


@pytest.mark.parametrize("terminal", ["dumb", None])
def test_progress_needs_a_terminal_that_can_erase(terminal, monkeypatch, capsys):
    if terminal is None:
        monkeypatch.setattr(sys, "stderr", None)  # as in a process without a console
    else:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setenv("TERM", terminal)
    assert list(with_progress(["one"], str)) == ["one"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (OSError(28, "No space left on device"), 2, "tapegrad fit: [Errno 28] No space left on device\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_end_from_outside_is_an_exit_code_and_no_traceback(error, code, said, monkeypatch, capsys):
    def fail(problem, start):
        raise error

    monkeypatch.setattr(nist, "fit", fail)
    monkeypatch.setattr("tapegrad.cli._discard_output", lambda: None)
    assert main(["fit", "Misra1a"]) == code
    assert capsys.readouterr().err == said


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "tapegrad", "fit", "DanWood", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(timeout=300) == 141
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_info():
    done = run_module("info")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    assert {"tapegrad", "python", "numba", "llvmlite", "numpy", "scipy", "threads"} < set(lines)
    assert lines["tapegrad"].strip() == tg.__version__
    assert lines["numpy"].strip() == np.__version__
    assert int(lines["threads"].split()[0]) >= 1
    cached, of, total = lines["kernels"].split()[:3]
    assert 0 <= int(cached) <= int(total)
    assert of == "of"


def test_info_counts_the_files_of_the_cache(kernels, tmp_path, capsys):
    for file in tmp_path.iterdir():
        file.write_bytes(bytes(1000) if file.suffix == ".o" else b"")
    (tmp_path / "another").write_bytes(bytes(1500))
    files = len(list(tmp_path.iterdir()))
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert f"cache folder     {tmp_path}\n" in out
    assert f"cache contents   {files} files, 2.5 kB\n" in out
    assert "kernels          1 of 3 in the package or the cache\n" in out
    assert f"shipped objects  none for {host().level}: what is needed is compiled" in out


def test_info_says_which_objects_have_another_layout(kernels, monkeypatch, capsys):
    assert main(["info"]) == 0
    assert "object layouts   as compiled code reads them\n" in capsys.readouterr().out
    monkeypatch.setattr(object_layouts, "ARRAY_FLAGS", 0)
    assert main(["info"]) == 0
    assert "object layouts   unknown to compiled code: the flags of an array\n" in capsys.readouterr().out


def test_info_without_a_cache(monkeypatch, capsys):
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert main(["info"]) == 0
    assert "cache folder     none" in capsys.readouterr().out


def test_warmup_compiles_what_is_not_cached(kernels, capsys):
    assert main(["warmup"]) == 0
    assert all(objects.is_kept(unit, host()) for unit in kernels)
    assert re.fullmatch(
        r"[2-9] functions compiled in [\d.]+ s, 1 were there already\n", capsys.readouterr().out
    )


def test_warmup_without_a_cache(kernels, monkeypatch, capsys):
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert main(["warmup"]) == 1
    assert not objects.is_kept(kernels[1], host())
    assert "no folder can be written" in capsys.readouterr().err


@pytest.fixture
def two_versions(monkeypatch, tmp_path):
    """A cache of this version, and of one that was used three days ago."""
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TAPEGRAD_CACHE_SIZE", raising=False)
    then = time.time() - 3.1 * 24 * 3600
    own, other = tmp_path / cache.version(), tmp_path / ("0" * 16)
    for folder, size in ((own, 1500), (other, 500)):
        folder.mkdir(mode=0o700)
        (folder / f"tapegrad.sin.forward.f64.8.{'a' * 16}.o").write_bytes(bytes(size))
    os.utime(next(other.iterdir()), (then, then))
    os.utime(other, (then, then))
    return own, other


def test_cache_prints_versions_sizes_and_ages(two_versions, tmp_path, capsys):
    own, other = two_versions
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"folder    {tmp_path}",
        "size      2 kB (at most 1 GB)",
        "contents  2 files of 2 versions",
        "",
        "version           files       size  last used   oldest file",
        f"{own.name}      1     1.5 kB  just now    just now     this version",
        f"{other.name}      1  500 bytes  3 days ago  3 days ago",
    ]


@pytest.mark.parametrize(
    ("arguments", "left", "said"),
    [([], 0, "2 files, 2 kB removed from"), (["--old"], 1, "1 file, 500 bytes removed from")],
)
def test_cache_clear(arguments, left, said, two_versions, capsys):
    assert main(["cache", "clear", *arguments]) == 0
    assert [folder.exists() for folder in two_versions] == [bool(left), False]
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have other permissions")
def test_cache_clear_removes_nothing_where_other_users_may_write(two_versions, tmp_path, capsys):
    tmp_path.chmod(0o777)
    assert main(["cache", "clear"]) == 2
    assert "other users may write to" in capsys.readouterr().err
    assert all(folder.exists() for folder in two_versions)


def test_cache_of_nobody(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TAPEGRAD_CACHE_DIR", str(tmp_path / "none"))
    assert main(["cache"]) == 0
    assert "contents  0 files of 0 versions\n" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
