"""PYTENSOR'S GRAPHS: run with Tensors, and functions of ours inside of them.

In reading order; each imports only those above it:

    generations                    what differs between PyTensor 2 and 3
    dispatch                       `tapegrad_funcify`: Ops as functions or text
    functions                      what the text calls beside NumPy
    loops                          Scan
    writer                         graphs as text, and as functions
    rewrites                       checks of parameters behind sums
    ops                            the Ops that are known
    pymc_ops                       those of PyMC
    graph                          `pytensor`
    linker                         `register_pytensor`: a mode of PyTensor's
    function_op                    `pytensor_op`: functions as Ops

PyTensor is imported by the first call. `writer`, `ops` and `pymc_ops` need it, and are imported then.
"""

from tapegrad.interop.pytensor_graphs.dispatch import tapegrad_funcify as tapegrad_funcify
from tapegrad.interop.pytensor_graphs.function_op import pytensor_op as pytensor_op
from tapegrad.interop.pytensor_graphs.graph import pytensor as pytensor
from tapegrad.interop.pytensor_graphs.linker import register_pytensor as register_pytensor
