"""Object code that a wheel brings: found by what it follows from, and used only as it was written."""

import os
import sys
from pathlib import Path

import pytest

from engine.test_cache import copied_package, run
from engine.test_shared_cache import ANSWER, PROGRAM, definition, objects_in
from helpers.daily import not_daily
from tapegrad.engine.codegen.ir import target as targets
from tapegrad.engine.codegen.ir.target import LEVELS, Target, host, of_level
from tapegrad.engine.codegen.machine import objects
from tapegrad.engine.codegen.machine.machine import compile_source
from tapegrad.engine.codegen.store import cache, shipped
from tapegrad.engine.codegen.store.cache_files import DamagedObjectError
from tapegrad.engine.codegen.store.shipped import NamedCode, ObjectCode
from tapegrad.engine.runtime import switches
from tapegrad.engine.runtime.whole_files import UntrustedFileError

MADE_BY = {"llvm": "of a test"}
CODES = {
    f"code.{k}": ObjectCode(bytes([k]) * 9_000, f"symbol.{k}", (f"callee.{k}",), ("log",)) for k in range(20)
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of shipped files, which nothing has been read from."""

    def forget() -> None:
        for function in (shipped._index, shipped._block, shipped._digest):
            function.cache_clear()

    forget()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    yield tmp_path
    monkeypatch.undo()
    forget()


def keyed(codes: dict[str, ObjectCode]) -> list[NamedCode]:
    return [(name, shipped.key_of(name, cache.SOURCES), code) for name, code in codes.items()]


def found(kind: str) -> dict[str, ObjectCode | None]:
    return {name: shipped.find(kind, name, cache.SOURCES) for name in CODES}


@pytest.fixture
def file(folder: Path) -> Path:
    """A file of some code for a kind of processor named "kind"."""
    shipped.write(folder / "kind", keyed(CODES), MADE_BY)
    return folder / "kind"


@pytest.mark.parametrize("packing", ["zlib", "lzma"])
def test_code_is_found_by_its_name(packing: str, file: Path) -> None:
    shipped.write(file, keyed(CODES), MADE_BY, packing)
    assert found("kind") == CODES
    assert shipped.find("kind", "code.20", cache.SOURCES) is None
    assert shipped.find("another", "code.0", cache.SOURCES) is None
    assert shipped.holds("kind", "code.3", cache.SOURCES)
    assert not shipped.holds("kind", "code.20", cache.SOURCES)
    assert not shipped.holds("another", "code.3", cache.SOURCES)
    assert shipped.contents("kind") == (20, MADE_BY)
    assert file.stat().st_size < 9_000  # of 180,000


def test_code_of_other_sources_or_of_another_layout_is_not_found(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.find("kind", "code.0", cache.EMITTER) is None
    monkeypatch.setattr(shipped, "layout", lambda: "16 40 ")
    assert shipped.find("kind", "code.0", cache.SOURCES) is None


def test_equal_code_of_two_layouts_is_written_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = keyed(CODES)
    monkeypatch.setattr(shipped, "layout", lambda: "16 40 ")
    others = CODES | {"code.0": CODES["code.0"]._replace(code=b"of another layout")}
    other = keyed(others)
    shipped.write(folder / "one", own, MADE_BY)
    shipped.write(folder / "two", own + other, MADE_BY)
    assert found("two") == others
    assert (folder / "two").stat().st_size - (folder / "one").stat().st_size < 50 * len(CODES)


@pytest.mark.parametrize("where", ["head", "index", "block", "end"])
def test_a_damaged_file_is_not_used(where: str, file: Path) -> None:
    data = bytearray(file.read_bytes())
    at = {"head": 3, "index": 200, "block": len(data) - 5, "end": 0}[where]
    data[at] ^= where != "end"
    file.write_bytes(data[:-9] if where == "end" else data)
    with pytest.raises(DamagedObjectError):
        found("kind")
    if where in ("head", "index"):
        assert not shipped.holds("kind", "code.0", cache.SOURCES)
        assert shipped.contents("kind") is None


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_a_file_is_trusted_as_the_sources_are(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the sources need not write to the object code."""
    status = os.stat(shipped.__file__)
    source = [status.st_mode & ~0o022]
    monkeypatch.setattr(shipped, "_source", lambda: os.stat_result([source[0], *status[1:]]))
    file.chmod(0o664)
    with pytest.raises(UntrustedFileError, match="other users may write to"):
        shipped.find("kind", "code.0", cache.SOURCES)
    source[0] |= 0o020
    assert shipped.find("kind", "code.0", cache.SOURCES) == CODES["code.0"]
    file.chmod(0o666)
    shipped._block.cache_clear()
    with pytest.raises(UntrustedFileError):
        shipped.find("kind", "code.0", cache.SOURCES)


def test_what_is_shipped_is_not_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = definition(77)
    unit = objects.Unit("tapegrad.unit", lambda: made)
    code = ObjectCode(compile_source(made.source, host()), made.symbol, (), ())
    shipped.write(folder / host().level, keyed({unit.name: code}), MADE_BY)
    compiled: list[str] = []
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(cache, "complaints", cache.Complaints())
    monkeypatch.setattr(objects, "_make", lambda *args: compiled.append(args[2]))
    assert objects.obtain(unit, host()) == code
    assert objects.is_kept(unit, host())
    assert compiled == []
    file = folder / host().level
    file.write_bytes(file.read_bytes()[:-1])
    shipped._block.cache_clear()
    objects.obtain(unit, host())
    assert len(compiled) == 1
    assert "a damaged file in" in capfd.readouterr().err


# --- processors ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="levels are of x86-64")
def test_processors_have_the_level_whose_code_they_run() -> None:
    for level, (needed, lanes) in LEVELS.items():
        assert of_level(level).level == level
        features = ",".join(f"+{feature}" for feature in (*needed, "sse2"))
        assert Target(host().triple, "a processor", features, lanes).level == level
    lacking = ",".join(f"+{feature}" for feature in LEVELS["x86-64-v4"][0] if feature != "avx512vl")
    assert Target(host().triple, "a processor", lacking, 16).level not in LEVELS
    assert Target(host().triple, "a processor", lacking, 8).level == "x86-64-v3"
    assert host().level in LEVELS


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="levels are of x86-64")
def test_a_level_is_chosen_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAPEGRAD_CPU", "x86-64")
    assert host.__wrapped__() == of_level("x86-64")
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("TAPEGRAD_CPU", "x86-64-v9")
    assert host.__wrapped__().level in LEVELS
    assert "TAPEGRAD_CPU=x86-64-v9 is not used: this processor runs x86-64" in capfd.readouterr().err
    monkeypatch.setattr(targets.llvm, "get_host_cpu_features", lambda: _Features())
    monkeypatch.setenv("TAPEGRAD_CPU", "x86-64-v4")
    assert host.__wrapped__().lanes == 4
    assert "this processor runs x86-64;" not in capfd.readouterr().err


class _Features:
    def flatten(self) -> str:
        return "+sse2"


# --- a package with object code --------------------------------------------------------------------------------------

SHIP = """
    from tapegrad.engine import ahead_of_time
    from tapegrad.engine.codegen.ir.target import host
    from tapegrad.engine.codegen.machine import objects
    from tapegrad.engine.codegen.store import shipped
    ahead_of_time.import_all()
    units = [unit for unit in ahead_of_time.units(host()) if objects.is_kept(unit, host())]
    codes = [
        (unit.name, shipped.key_of(unit.name, unit.sources), code)
        for unit, code, _ in ahead_of_time.compiled(units, host())
    ]
    shipped.write(shipped.file_of(host().level), codes, {})
    print(len(codes))
"""


@not_daily
@pytest.mark.skipif(not switches.TRANSLATES, reason="Numba's code is not shipped")
def test_a_program_compiles_nothing_that_the_package_brings(tmp_path: Path) -> None:
    package = copied_package(tmp_path)
    before, fresh, edited = (tmp_path / name for name in ("before", "fresh", "edited"))
    out, err = run(PROGRAM, TAPEGRAD_CACHE_DIR=str(before), path=tmp_path)
    assert out == ANSWER, err
    count = int(run(SHIP, TAPEGRAD_CACHE_DIR=str(before), path=tmp_path)[0])
    assert count > 30
    assert run(PROGRAM, TAPEGRAD_CACHE_DIR=str(fresh), path=tmp_path) == (ANSWER, "")
    assert objects_in(fresh) == set()
    scan = package / "engine" / "kernels" / "lines" / "scan.py"
    scan.write_text(scan.read_text() + "\n# edited\n")
    assert run(PROGRAM, TAPEGRAD_CACHE_DIR=str(edited), path=tmp_path)[0] == ANSWER
    assert len(objects_in(edited)) > 30
