"""Switches of the compilers: environment variables, read once."""

import os

TRANSLATES = os.environ.get("TAPEGRAD_TRANSLATE", "1") not in ("", "0")
"""Whether functions of numbers are translated; ``TAPEGRAD_TRANSLATE=0`` has Numba compile all of them."""
