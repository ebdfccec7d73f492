"""The table's texts evaluated by NumPy, the reference of kernels, with its temporary arrays out of guard pages."""

from typing import Any

from tapegrad.engine import reference
from tapegrad.engine.guard_pages import numpys_own_memory


def evaluate_numpy(text: str, **values: Any) -> Any:
    """Evaluate a text of the table; the result lies where NumPy lays it."""
    with numpys_own_memory():
        return reference.evaluate_numpy(text, **values)
