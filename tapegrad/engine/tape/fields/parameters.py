"""Parameters of an instruction: a block of 64-bit fields, with their number in the field before the first.

The record of the op's row names them.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, malloc, memcpy, store_i64


@inline_njit
def write_params(block, record):
    """Write a record of integers to a block, behind their number; return the address of the first one."""
    count = 0
    for value in record:
        count += 1
        store_i64(block, count, value)
    store_i64(block, 0, count)
    return block + 8


@inline_njit
def new_params(fields):
    """Copy fields to a new block after their number; 0 if there are none."""
    count = load_i64(fields, -1)
    if count == 0:
        return 0
    block = malloc(8 * (count + 1))
    memcpy(block, fields - 8, 8 * (count + 1))
    return block + 8


@inline_njit
def count_params(params):
    """Return the number of fields."""
    return load_i64(params, -1)


@inline_njit
def free_params(params):
    if params != 0:
        free(params - 8)
