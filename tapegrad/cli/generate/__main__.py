"""Writes all generated files, or with ``--check`` says which differ: ``python -m tapegrad.cli.generate [--check]``."""

import sys

from tapegrad.cli.generate import examples, functions_page, stubs

sys.exit(max(write(sys.argv[1:]) for write in (examples.main, stubs.main, functions_page.main)))
