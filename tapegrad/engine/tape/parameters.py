"""Parameters of an instruction: a block of 64-bit words, with their number in the word before the first.

What the words mean is the record of the op's row.
"""

from tapegrad.engine.kernels.raw_memory import free, load_i64, malloc, memcpy, store_i64
from tapegrad.engine.runtime.compiler import inline_njit
from tapegrad.engine.tape.geometry import array_data, array_length


@inline_njit
def new_params(array):
    """A block with a copy of an int64 array, given by its id; 0 for no array, whose id is given as 0."""
    if array == 0:
        return 0
    count = array_length(array)
    block = malloc(8 * (count + 1))
    store_i64(block, 0, count)
    memcpy(block + 8, array_data(array), 8 * count)
    return block + 8


@inline_njit
def count_params(params):
    """How many words there are."""
    return load_i64(params, -1)


@inline_njit
def free_params(params):
    if params != 0:
        free(params - 8)
