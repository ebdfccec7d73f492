"""Compiled functions as values: their results, files and entry points. Read `compiled` first.

In reading order; each imports only those above it:

    entry_points                   calls of compiled functions with arrays and floats, in half a microsecond
    frozen                         functions pinned to their recordings
    compiled_results               where their results lie
    stored                         compiled functions from files
    compiled                       recorded functions as values
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "compiled")  # `interop` follows it
