"""``python -m tapegrad``."""

import sys

from tapegrad.cli import main

sys.exit(main())
