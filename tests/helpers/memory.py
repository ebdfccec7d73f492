"""How much memory the process has, and how much the eager tape holds."""

import contextlib
import gc
from pathlib import Path

from tapegrad.engine.tape.fields.layout import (
    BUFFERS,
    FREE_BUFFER,
    FREE_SLOT,
    NONE,
    SCALAR_CACHE,
    SCALAR_CACHE_ENTRIES,
    SCALAR_CACHE_FIELDS,
    SLOTS,
)
from tapegrad.engine.tape.tape import fields_at
from tapegrad.frontend.tensor.modes import EAGER


def resident_bytes() -> int:
    """Memory of this process that is in use now; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


def free_entries(field, column):
    """Number of entries on a free list, which is chained through a column."""
    following, count, entry = EAGER.column(column), 0, EAGER.fields[field]
    while entry != NONE:
        entry, count = following[entry], count + 1
    return count


def literals():
    """Slots of the numbers that the tape keeps in its table of those used last."""
    table = fields_at(int(EAGER.fields[SCALAR_CACHE]), SCALAR_CACHE_ENTRIES * SCALAR_CACHE_FIELDS)
    return {int(entry) for entry in table.reshape(-1, SCALAR_CACHE_FIELDS)[:, 2] if entry}


def live():
    """Live instructions, slots and buffers but for literals, and arrays that the tape keeps alive."""
    gc.collect()
    numbers = len(literals())
    slots = EAGER.fields[SLOTS] - free_entries(FREE_SLOT, "buffer") - numbers
    buffers = EAGER.fields[BUFFERS] - free_entries(FREE_BUFFER, "producer") - numbers
    return len(EAGER), int(slots), int(buffers), len(EAGER.owners)


@contextlib.contextmanager
def leaving_nothing():
    """Fail if the tape holds more in the end than in the beginning.

    It may hold less, because other tests' graphs can be let go at any time. And a literal that makes room for another
    one in the table is alive as long as such a graph reads it.
    """
    before, kept = live(), literals()
    yield
    displaced = len(kept - literals())
    instructions, slots, buffers, owners = before
    after = live()
    allowed = (instructions, slots + displaced, buffers + displaced, owners)
    assert all(now <= most for now, most in zip(after, allowed, strict=True)), (before, after, displaced)
