"""What type checkers see of the package: stubs that say what is there, and types that hold."""

import re
from pathlib import Path

import numpy as np
import pytest
from mypy import api, stubtest
from mypy.options import Options

import tapegrad as tg
from helpers.daily import not_daily
from tapegrad.cli.generate import stubs

EXAMPLES = Path(__file__).parent / "typing"
CONFIGURATION = Path(__file__).parent.parent / "pyproject.toml"


of_newest_numpy = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0",
    reason="NumPy does not tell the parameters of zeros() and its like",
)


@of_newest_numpy
def test_stubs_are_fresh() -> None:
    """`make gen` writes them."""
    assert stubs.main(["--check"]) == 0


@of_newest_numpy
def test_stub_holds_the_names_of_the_package_and_no_others() -> None:
    said = re.findall(r"^(?:def |from \S+ import \w+ as )?(\w+)(?:\(|$|:)", stubs.root(), re.MULTILINE)
    assert sorted({*said} - {"overload"}) == sorted({*dir(tg)} - {"__all__", "__doc__"})


# What the stubs leave out, or cannot say as it is.
ALLOWED = [
    r"tapegrad\.frontend\.tensor\.tensor\.Tensor\.\w+ is inconsistent, stub parameter \"self\" differs",
    r"tapegrad\.where is inconsistent, runtime parameter \"[xy]\" has a default value",  # two signatures in the stubs
]


@not_daily
@of_newest_numpy
def test_stubs_say_what_is_there() -> None:
    """Parameters by name, kind and default, and the kinds of everything else."""
    options = Options()
    options.config_file, options.incremental = str(CONFIGURATION), False
    modules = ["tapegrad", "tapegrad.frontend.tensor.tensor"]
    stubtest.build_stubs(modules, options, find_submodules=False)
    found = [error.get_description(concise=True) for name in modules for error in stubtest.test_module(name)]
    assert [text for text in found if not any(re.match(pattern, text) for pattern in ALLOWED)] == []


def _findings(folder: Path) -> dict[str, set[int]]:
    """The lines of the examples that mypy says something of, by the file's name."""
    files = [str(path) for path in sorted(EXAMPLES.glob("*.py"))]
    output, errors, _ = api.run(["--config-file", str(CONFIGURATION), "--cache-dir", str(folder), *files])
    assert not errors
    found: dict[str, set[int]] = {Path(name).name: set() for name in files}
    for path, line in re.findall(r"^(.+?):(\d+): error: ", output, re.MULTILINE):
        found[Path(path).name].add(int(line))
    print(output)
    return found


@not_daily
def test_types_hold_and_mistakes_are_found(request: pytest.FixtureRequest) -> None:
    found = _findings(request.config.cache.mkdir("mypy"))
    lines = (EXAMPLES / "misuse.py").read_text().splitlines()
    mistakes = {number for number, line in enumerate(lines, 1) if line.endswith("# error")}
    assert found == {"face.py": set(), "misuse.py": mistakes}
