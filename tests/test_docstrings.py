"""The docstrings of all public names: complete, in NumPy's form, and with examples that run."""

import numpy as np
import pytest

from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops import ELEMENTWISE, Op
from tapegrad.ops.documentation import WORDS

PUBLIC = [row for row in ELEMENTWISE if row.public]


@pytest.mark.parametrize("row", PUBLIC, ids=lambda row: row.name)
def test_every_elementwise_op_is_described(row: Op) -> None:
    if row.name not in ("where", "clip"):
        assert row.name in WORDS, f"say what {row.name} does: an entry of WORDS in ops/documentation.py"


def test_nothing_is_described_that_is_no_op() -> None:
    assert WORDS.keys() <= {row.name for row in PUBLIC}


@pytest.mark.parametrize(
    "row", [row for row in PUBLIC if WORDS.get(row.name, ((), ()))[1]], ids=lambda row: row.name
)
def test_the_usual_form_of_a_derivative_is_the_row_s_partial(row: Op) -> None:
    rng = np.random.default_rng(0)
    values = {f"x{j}": rng.uniform(*domain, 20) for j, domain in enumerate(row.domains)}
    y = evaluate_numpy(row.primal, **values)
    for usual, partial in zip(WORDS[row.name].derivatives, row.partials, strict=True):
        found, expected = (evaluate_numpy(text, y=y, **values) for text in (usual, partial))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
