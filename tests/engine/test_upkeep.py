"""The cache keeps below its limit, and nothing is removed that is not the cache's."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tapegrad.engine.codegen.store import upkeep

DAY = 24 * 3600.0
OWN, YOUNG, OLD, OLDEST = "f" * 16, "1" * 16, "2" * 16, "3" * 16
AGES = {OWN: 0.0, YOUNG: 1.0, OLD: 20.0, OLDEST: 70.0}  # days since a process last used them


def name(number: int) -> str:
    return f"tapegrad.sin.forward.f64.8.{number:016x}.o"


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four versions of five files of 100 bytes each; file i of a version was used i days before the last."""
    tmp_path.chmod(0o700)
    for version, days in AGES.items():
        folder = tmp_path / version
        folder.mkdir(mode=0o700)
        for number in range(5):
            (folder / name(number)).write_bytes(bytes(100))
            age(folder / name(number), days + number)
        age(folder, days)
    return tmp_path


def left(root: Path) -> dict[str, int]:
    return {version.folder.name: len(version.files) for version in upkeep.versions(root)}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("0", {OWN: 5, YOUNG: 5, OLD: 5}),
        ("1GB", {OWN: 5, YOUNG: 5, OLD: 5}),
        ("1500", {OWN: 5, YOUNG: 5, OLD: 5}),
        ("1499", {OWN: 5, YOUNG: 5}),
        ("1.2 kB", {OWN: 5}),
        ("0.5kb", {OWN: 4}),
        ("400", {OWN: 3}),
        ("1", {OWN: 0}),
    ],
)
def test_what_is_least_recently_used_goes_first(
    limit: str, expected: dict[str, int], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", limit)
    gone = upkeep.tidy(root, OWN)
    assert left(root) == expected
    assert gone == (20 - sum(expected.values()), 100 * (20 - sum(expected.values())))
    kept = sorted(path.name for path in (root / OWN).iterdir())
    assert kept == [name(number) for number in range(expected[OWN])]


def test_a_file_that_is_read_is_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", "250")
    oldest = root / OWN / name(4)
    os.utime(oldest, (time.time() + 10, oldest.stat().st_mtime))
    upkeep.tidy(root, OWN)
    assert sorted(path.name for path in (root / OWN).iterdir()) == [name(0), name(4)]


def test_the_folder_of_a_version_in_use_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that uses it would complain otherwise; without its files it compiles once more."""
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", "500")
    age(root / YOUNG, 0.5)
    upkeep.tidy(root, OWN)
    assert left(root) == {OWN: 4, YOUNG: 0}
    assert time.time() - (root / YOUNG).stat().st_mtime > 0.4 * DAY


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", float("inf")), ("0", float("inf")), ("1e6", 1e6), ("2GB", 2e9), (" 3 M ", 3e6), ("1.5t", 1.5e12)],
)
def test_limit(text: str, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", text)
    assert upkeep.limit() == expected


@pytest.mark.parametrize("text", ["much", "-1", "1 EB", "1GBB", "GB", "nan"])
def test_a_limit_that_is_no_size(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", text)
    assert upkeep.limit() == 1e9
    assert f"TAPEGRAD_CACHE_SIZE={text}: not a size" in capsys.readouterr().err


# --- what is not the cache's ---------------------------------------------------------------------------------------


def test_what_is_not_of_the_cache_stays(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files and folders of other names, links, and what they lead to."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / name(7)).write_bytes(bytes(100))
    (root / ("4" * 16)).symlink_to(elsewhere)
    (root / "f" / OWN).mkdir(parents=True)
    (root / "f" / OWN / name(1)).write_bytes(b"")
    (root / OWN / OWN).mkdir()
    (root / OWN / OWN / name(1)).write_bytes(b"")
    (root / OWN / name(8)).symlink_to(elsewhere / name(7))
    (root / ("5" * 16)).write_text("a file")
    strangers = ["notes.txt", "model.o", "program.py", "a.py311.nbc", f"program.{'G' * 32}", ".hidden"]
    for stranger in strangers:
        (root / OWN / stranger).write_text("mine")
    gone = upkeep.clear(root)
    assert gone == (20, 2000)
    assert sorted(path.name for path in root.iterdir()) == sorted(["4" * 16, "f", OWN, "5" * 16])
    assert sorted(path.name for path in (root / OWN).iterdir()) == sorted([*strangers, OWN, name(8)])
    assert [path.name for path in elsewhere.iterdir()] == [name(7)]
    assert (root / "f" / OWN / name(1)).exists()
    assert (root / OWN / OWN / name(1)).exists()


def test_temporary_files_of_processes_that_ended_go(root: Path) -> None:
    """One that is new may be in work."""
    old, new = (root / OWN / f".{name(1)}.{letter * 16}.tmp" for letter in "ab")
    for file in (old, new):
        file.write_bytes(b"")
    age(old, 0.1)
    upkeep.tidy(root, OWN)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have other permissions")
def test_nothing_is_removed_from_folders_that_others_may_change(root: Path) -> None:
    (root / OLD).chmod(0o777)
    assert upkeep.clear(root).files == 15
    assert left(root) == {OLD: 5}
    root.chmod(0o777)
    with pytest.raises(PermissionError, match="other users may write to"):
        upkeep.clear(root)


def test_no_folder(tmp_path: Path) -> None:
    assert upkeep.versions(tmp_path / "none") == []
    assert upkeep.clear(tmp_path / "none") == (0, 0)


# --- once a day ----------------------------------------------------------------------------------------------------


def test_once_a_day(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", "1400")
    upkeep.tidy_daily(root / OWN)
    assert left(root) == {OWN: 6, YOUNG: 5}  # the marker is one of them
    monkeypatch.setenv("TAPEGRAD_CACHE_SIZE", "1")
    upkeep.tidy_daily(root / OWN)
    assert left(root) == {OWN: 6, YOUNG: 5}
    age(root / OWN / "upkeep", 1.1)
    upkeep.tidy_daily(root / OWN)
    assert left(root) == {OWN: 1}


def test_processes_share_a_cache_that_others_empty(tmp_path: Path) -> None:
    """Each computes what it should though its files vanish while it runs, and complains of nothing."""
    program = """
import sys, numpy as np, tapegrad as tg
from tapegrad.engine.codegen.store import cache, upkeep
def gradient(function):
    x = np.arange(1.0, 4.0)
    return tg.grad(tg.jit(lambda x: tg.sum(function(x)), fuse=True))(x)
assert (gradient(lambda x: x * x + x) == 2 * np.arange(1.0, 4.0) + 1).all()
print("ready", flush=True)
sys.stdin.readline()
assert (gradient(lambda x: x * x * 3.0) == 6 * np.arange(1.0, 4.0)).all()
assert (gradient(lambda x: x * x + x) == 2 * np.arange(1.0, 4.0) + 1).all()
"""
    variables = {**os.environ, "TAPEGRAD_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "error"}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=variables,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    (version,) = upkeep.versions(tmp_path)
    assert len(version.files) > 20
    assert all(
        path.is_file() and path in {file.path for file in version.files} for path in version.folder.iterdir()
    )
    for file in version.files:
        file.path.unlink()
    _, err = process.communicate("go\n", timeout=300)
    assert process.returncode == 0, err
    assert all(
        line.startswith(("tapegrad: compiling kernels", "tapegrad: compiled")) for line in err.splitlines()
    ), err
    assert (version.folder / "upkeep").exists()
