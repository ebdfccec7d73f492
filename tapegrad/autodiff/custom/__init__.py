"""Custom ops: functions of NumPy arrays that are one instruction on the tape.

In reading order; each imports only those above it:

    packing                        several arrays as one
    functions                      calls of its functions, and checks of their results
    call                           an op at given shapes, dtypes and static arguments
    njit_calls                     calls of Numba-compiled functions from the sweeps, without Python
    callbacks                      C callbacks by which compiled code has Python execute an instruction of a custom op
    operands                       arguments as operands
    op                             a custom op: a call becomes an instruction
    custom_op                      the public function
    tensor_rules                   derivatives of derivatives
    gauss_hypergeometric           an op for SciPy's function, imported when it is first asked for

It imports `ops`, `engine`, `frontend`, and `autodiff` for the rules on Tensors.
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "njit_calls")  # which extends Numba
