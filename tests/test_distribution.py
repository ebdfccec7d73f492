"""What users get: a wheel and a source distribution, and the package as it is installed from them."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from mypy import api
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import tapegrad as tg
import versions
import wheel as platform_wheel
from helpers.daily import not_daily

ROOT = Path(__file__).parents[1]
NAME = f"tapegrad-{tg.__version__}"
LEFT_BY_TOOLS = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "*.png")
PROGRAM = """
import json
import numpy as np
import tapegrad as tg

value, gradient = tg.value_and_grad(tg.jit(lambda x: tg.sum(x**3)))(np.array([1.0, 2.0]))
print(json.dumps([tg.__file__, tg.__version__, float(value), gradient.tolist()]))
"""


def build(kind: str, tree: Path, folder: Path) -> Path:
    """Call the build backend as installers do: in the source tree, with the time of the files fixed."""
    backend = import_module(
        tomllib.loads((tree / "pyproject.toml").read_text())["build-system"]["build-backend"]
    )
    with contextlib.chdir(tree), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1577836800")
        return folder / getattr(backend, f"build_{kind}")(str(folder))


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder.parent).as_posix() for path in folder.rglob("*") if path.is_file()}


def copy_of_the_source_tree(folder: Path) -> Path:
    """The source tree, with nothing in it that tools have left."""
    return shutil.copytree(ROOT, folder, ignore=LEFT_BY_TOOLS)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_source_tree(tmp_path_factory.mktemp("source") / "tree")


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", tree, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def distribution(wheel: Path) -> metadata.Distribution:
    """What the wheel says of itself."""
    (found,) = metadata.distributions(path=[str(wheel)])
    return found


@pytest.mark.parametrize(
    ("python", "oldest"),
    [
        ("3.11", {"numba==0.62", "numpy==2.0", "scipy==1.13"}),
        ("3.13", {"numba==0.62", "numpy==2.1", "scipy==1.14.1"}),
        ("3.14", {"numba==0.63", "numpy==2.3.2", "scipy==1.16.1"}),
        ("3.15", {"numba==0.68", "numpy==2.5.2", "scipy==1.18.1"}),
    ],
)
def test_the_oldest_dependencies_are_what_the_project_allows(python: str, oldest: set[str]) -> None:
    """And all have a newest version, which has been tried."""
    wanted = list(versions.requirements(python, "oldest"))
    assert oldest < set(wanted)
    bounded = {Requirement(each).name for each in wanted if "<" in each}
    assert bounded == {"numba", "numpy", "scipy"}


def needed_by(distribution: metadata.Distribution) -> Iterator[metadata.Distribution]:
    """The installed distributions that one asks for when it is installed without extras, and what those ask for."""
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found = metadata.distribution(requirement.name)
            yield found
            yield from needed_by(found)


@pytest.fixture(scope="module")
def environment(
    wheel: Path, distribution: metadata.Distribution, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The scripts of a new environment with the wheel in it, and with what the wheel asks for and nothing else.

    These are links to what is installed here, for there may be no network to install them from.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    scripts, packages = (
        Path(sysconfig.get_path(name, "venv", {"base": str(folder)})) for name in ("scripts", "purelib")
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(scripts / "python")]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)], check=True
    )
    for needed in {found.name: found for found in needed_by(distribution)}.values():
        for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            (packages / name).symlink_to(Path(str(needed.locate_file(name))).resolve())
    return scripts


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints that is run in an environment without a way to this checkout."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what is in them ---------------------------------------------------------------------------------------------


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, tree: Path) -> None:
    assert wheel.name == f"{NAME}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    own = {name for name in names if name.startswith(f"{NAME}.dist-info/")}
    assert names - own == files_below(tree / "tapegrad")
    assert {"tapegrad/__init__.py", "tapegrad/py.typed"} < names
    assert "tapegrad/ops/examples.tsv" in names
    assert any(name.endswith(".json") for name in names)  # the NIST problems


def test_a_wheel_for_a_platform_holds_object_code_beside_the_package(wheel: Path, tmp_path: Path) -> None:
    """What installers read of it: the tags, and a record of each file."""
    code = tmp_path / "x86-64-v3"
    code.write_bytes(bytes(range(256)) * 40)
    made = platform_wheel.with_objects(wheel, {code.name: code}, tmp_path)
    assert made.name == f"{NAME}-py3-none-{platform_wheel.tag()}.whl"
    with ZipFile(made) as archive, ZipFile(wheel) as before:
        added = f"tapegrad/objects/{code.name}"
        assert set(archive.namelist()) == {*before.namelist(), added}
        assert archive.read(added) == code.read_bytes()
        about = archive.read(f"{NAME}.dist-info/WHEEL").decode()
        record = archive.read(f"{NAME}.dist-info/RECORD").decode().splitlines()
    assert f"Tag: py3-none-{platform_wheel.tag()}\n" in about
    assert "Root-Is-Purelib: false\n" in about
    assert len(record) == len(set(record)) == len(archive.namelist())
    folder = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-compile", "--target", str(folder), str(made)], check=True)
    assert (folder / "tapegrad" / "objects" / code.name).read_bytes() == code.read_bytes()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_the_root_holds_a_few_entries() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    roots = {line.partition("/")[0] for line in listed.splitlines()}
    files = {"LICENSE", "Makefile", "README.md", "pyproject.toml"}
    folders = {"docs", "perf", "tapegrad", "tests"}
    assert {name for name in roots if not name.startswith(".")} == files | folders


def test_the_source_distribution_holds_what_the_package_is_built_from(sdist: Path, tree: Path) -> None:
    assert sdist.name == f"{NAME}.tar.gz"
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive if member.isfile()}
    beside = {"PKG-INFO", "README.md", "LICENSE", "pyproject.toml"}
    assert names == {f"{NAME}/{name}" for name in beside | files_below(tree / "tapegrad")}


def test_the_licence_is_where_installers_look_for_it_and_nowhere_else(
    wheel: Path, sdist: Path, tree: Path
) -> None:
    text = (tree / "LICENSE").read_bytes()
    assert text.startswith(b"MIT License\n\nCopyright (c) ")
    with ZipFile(wheel) as archive:
        assert archive.read(f"{NAME}.dist-info/licenses/LICENSE") == text
        assert [archive.read(name) for name in archive.namelist()].count(text) == 1
    with tarfile.open(sdist) as archive:
        file = archive.extractfile(f"{NAME}/LICENSE")
        assert file is not None
        assert file.read() == text


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    assert build("wheel", tmp_path / NAME, tmp_path).read_bytes() == wheel.read_bytes()


def test_building_leaves_nothing_in_the_source_tree(tmp_path: Path) -> None:
    """So nothing of an older build comes into a newer one."""
    tree = copy_of_the_source_tree(tmp_path / "tree")
    before = files_below(tree)
    build("wheel", tree, tmp_path)
    build("sdist", tree, tmp_path)
    assert files_below(tree) == before


# --- what they say -----------------------------------------------------------------------------------------------


def test_metadata(distribution: metadata.Distribution) -> None:
    found = distribution.metadata
    assert (found["Name"], found["Version"]) == ("tapegrad", tg.__version__)
    assert found["License-Expression"] == "MIT"
    assert found.get_all("License-File") == ["LICENSE"]
    assert found["Description-Content-Type"] == "text/markdown"
    urls = dict(text.split(", ") for text in found.get_all("Project-URL") or ())
    assert urls.keys() == {"Homepage", "Source", "Issues", "Documentation", "Changelog"}
    assert all(url.startswith(urls["Homepage"]) for url in urls.values())
    assert all(found[name] for name in ("Summary", "Author", "Keywords"))
    assert {entry.value for entry in distribution.entry_points} == {"tapegrad.cli:main"}


def test_versions_of_python_that_are_named_are_versions_that_are_let_in(
    distribution: metadata.Distribution,
) -> None:
    prefix = "Programming Language :: Python :: 3."
    classifiers = distribution.metadata.get_all("Classifier") or []
    named = [f"3.{text.removeprefix(prefix)}" for text in classifiers if text.startswith(prefix)]
    bound = SpecifierSet(distribution.metadata["Requires-Python"])
    assert str(bound) == f">={named[0]}"
    assert all(map(bound.contains, named))


@pytest.mark.parametrize("name", ["Documentation", "Changelog"])
def test_pages_that_are_named_are_there(distribution: metadata.Distribution, name: str) -> None:
    urls = dict(text.split(", ") for text in distribution.metadata.get_all("Project-URL") or ())
    assert (ROOT / urls[name].rpartition("/main/")[2]).exists()


# --- what they install -------------------------------------------------------------------------------------------


@not_daily
def test_an_installed_wheel_differentiates(environment: Path, tmp_path: Path) -> None:
    file, version, value, gradient = json.loads(run(environment / "python", "-c", PROGRAM, cwd=tmp_path))
    assert Path(file).is_relative_to(environment.parent)  # and not in this checkout
    assert (version, value, gradient) == (tg.__version__, 9.0, [3.0, 12.0])


@not_daily
def test_an_installed_wheel_is_a_module_that_runs(environment: Path, tmp_path: Path) -> None:
    lines = run(environment / "python", "-m", "tapegrad", "info", cwd=tmp_path).splitlines()
    assert lines[0].split() == ["tapegrad", tg.__version__]
    assert not any("not installed" in line for line in lines)


@not_daily
def test_an_installed_wheel_is_a_command_with_its_data(environment: Path, tmp_path: Path) -> None:
    assert run(environment / "tapegrad", "--version", cwd=tmp_path) == f"tapegrad {tg.__version__}\n"
    found = json.loads(run(environment / "tapegrad", "fit", "DanWood", "--json", cwd=tmp_path))
    assert found["total"]["agreeing"] == 2


@not_daily
def test_an_installed_wheel_has_types(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # away from this checkout, and from its settings
    Path("program.py").write_text(
        "import tapegrad as tg\nreveal_type(tg.sin(tg.tensor(1.0)))\ntg.sinn(1.0)\n"
    )
    python = ["--python-executable", str(environment / "python")]
    output, errors, _ = api.run(["--strict", "--cache-dir", "cache", *python, "program.py"])
    assert not errors
    revealed, error, *_ = output.splitlines()
    assert revealed.endswith('Revealed type is "tapegrad.frontend.tensor.tensor.Tensor"')
    assert error.startswith('program.py:3: error: Module has no attribute "sinn"')
