"""SciPy's functions for arrays of any library, with Tensors and plain arrays: one process with SCIPY_ARRAY_API=1."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy", minversion="1.17", reason="fewer functions of SciPy take arrays of any library")

from helpers import scipy_array_api
from helpers.daily import not_daily

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "tensors_and_numpy.md"


@pytest.fixture(scope="module")
def errors() -> dict[str, list[str]]:
    """The errors of all cases, from a process of their own: SciPy reads the variable when it is imported."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, scipy_array_api.__file__]
    done = subprocess.run(
        command, env=environment, check=True, timeout=600, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


@not_daily  # all of them are one process, which takes fifteen seconds
@pytest.mark.parametrize("name", scipy_array_api.CASES)
def test_function_is_differentiated(name: str, errors: dict[str, list[str]]) -> None:
    assert not errors[name], "\n".join(errors[name])


@not_daily
@pytest.mark.parametrize("name", scipy_array_api.REFUSED)
def test_function_is_refused_with_what_to_write(name: str, errors: dict[str, list[str]]) -> None:
    assert not errors[name], "\n".join(errors[name])


ORDERS = """
import numpy as np, {imports}
from scipy import special
from scipy._lib import array_api_compat

t, plain = tapegrad.tensor([1.0, 2.0]), np.array([1.0, 0.5])
assert array_api_compat.array_namespace(plain, t, np.float64(2.0), 1.0, None) is tapegrad
assert array_api_compat.array_namespace(plain) is not tapegrad
special.logsumexp(t, b=plain).backward()
weights = plain * np.exp(t.data)
np.testing.assert_allclose(t.grad, weights / weights.sum(), rtol=1e-15)
try:
    array_api_compat.array_namespace(t, plain.tolist())
except TypeError as error:
    assert "list is not a supported array type" in str(error)
assert not any(type(each).__module__.startswith("tapegrad") and "fft" not in each._module for each in sys.meta_path)
"""


@pytest.mark.parametrize("imports", ["sys, tapegrad, scipy", "sys, scipy.special, tapegrad"])
def test_either_import_comes_first(imports: str) -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run(
        [sys.executable, "-c", ORDERS.format(imports=imports)], env=environment, check=True, timeout=300
    )


def test_the_guide_lists_what_is_differentiated() -> None:
    """Its table has a row for each module of SciPy."""
    rows = re.findall(r"^\| `scipy\.([\w.]+)` \| (.*?) \|", GUIDE.read_text(), re.MULTILINE)
    listed = {f"{module}.{name}" for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed == {name.partition(",")[0] for name in scipy_array_api.CASES}
