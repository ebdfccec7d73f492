"""How much memory the process has, and how much the eager tape holds."""

import gc
from pathlib import Path

import numpy as np

from tapegrad.engine.tape.layout import (
    BUFFERS,
    FREE_BUFFER,
    FREE_SLOT,
    NONE,
    SCALAR_CACHE,
    SCALAR_CACHE_ENTRIES,
    SCALAR_CACHE_WORDS,
    SLOTS,
)
from tapegrad.engine.tape.tape import words_at
from tapegrad.frontend.modes import EAGER


def resident_bytes() -> int:
    """Memory of this process that is in use now; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


def free_entries(word, column):
    """Number of entries on a free list, which is chained through a column."""
    following, count, entry = EAGER.column(column), 0, EAGER.words[word]
    while entry != NONE:
        entry, count = following[entry], count + 1
    return count


def literals():
    """Numbers that the tape keeps in its table of those used last."""
    table = words_at(int(EAGER.words[SCALAR_CACHE]), SCALAR_CACHE_ENTRIES * SCALAR_CACHE_WORDS)
    return np.count_nonzero(table.reshape(-1, SCALAR_CACHE_WORDS)[:, 2])


def live():
    """Live instructions, slots and buffers but for literals, and arrays that the tape keeps alive."""
    gc.collect()
    slots = EAGER.words[SLOTS] - free_entries(FREE_SLOT, "buffer") - literals()
    buffers = EAGER.words[BUFFERS] - free_entries(FREE_BUFFER, "producer") - literals()
    return len(EAGER), int(slots), int(buffers), len(EAGER.owners)
