"""Structural ops, one row each: ops whose kernels are written by hand.

A new op takes these parts; a test names the missing one:

1. a row in the file of its family, with all facts of the op, and there a record of its parameters if it has any;
2. the kernels that the row names, in `engine.kernels`;
3. a function in `frontend` that records the op, by `record_new` or another call of `recording.record_structural`, and
   at the end of its file the derivative on Tensors, by `state_rules` of `recording.rules`; that of a linear op by
   `state_transpose`, unless the transpose in its row is another op;
4. a case in ``tests/autodiff/test_structural_rules.py``, which compares kernels and derivatives of all orders.

That is three files of the package and a test. No other file names an op: passes, segments, lanes and the verifier read
the fields of its row.

In reading order; each imports only those above it:

    lines                          ops along lines, and conversions of elements
    fourier                        Fourier transforms
    indexing                       ops that take or write rows and regions
    matrices                       ops of stacks of matrices
    sparse_systems                 ops of sparse symmetric matrices with a constant pattern
    control                        ops that check, guard, or call Python
"""

from tapegrad.ops.row import Structural
from tapegrad.ops.structural.control import CONTROL
from tapegrad.ops.structural.fourier import FOURIER
from tapegrad.ops.structural.indexing import INDEXING
from tapegrad.ops.structural.lines import LINES
from tapegrad.ops.structural.matrices import MATRICES
from tapegrad.ops.structural.sparse_systems import SPARSE_SYSTEMS

STRUCTURAL: tuple[Structural, ...] = (*LINES, *FOURIER, *INDEXING, *MATRICES, *SPARSE_SYSTEMS, *CONTROL)
