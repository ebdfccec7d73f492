"""The site's list of public names (``docs/_ext/public_names.py``), which is no package."""

import importlib
import sys
from pathlib import Path
from typing import Any

_EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"


def public_names() -> Any:
    """Import the module."""
    sys.path.insert(0, str(_EXTENSIONS))
    try:
        return importlib.import_module("public_names")
    finally:
        sys.path.remove(str(_EXTENSIONS))
