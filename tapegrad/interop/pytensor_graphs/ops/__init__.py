"""PYTENSOR'S OPS: a function or a text for each, registered with `tapegrad_funcify` when the folder is imported.

In reading order; each imports only those above it:

    scalars                        elementwise functions: one table
    shapes                         shapes, and arrays made of them
    indexing                       reads and writes at positions
    reductions                     sums, extremes, softmax, sorting
    linear                         products, factors and solutions
    inner_graphs                   loops, branches, checks, batches, and graphs as Ops
"""

from tapegrad.interop.pytensor_graphs.ops import indexing as indexing
from tapegrad.interop.pytensor_graphs.ops import inner_graphs as inner_graphs
from tapegrad.interop.pytensor_graphs.ops import linear as linear
from tapegrad.interop.pytensor_graphs.ops import reductions as reductions
from tapegrad.interop.pytensor_graphs.ops import scalars as scalars
from tapegrad.interop.pytensor_graphs.ops import shapes as shapes
