"""DERIVATIVES as instructions: the rules of the ops applied to Tensors, and the sweeps that append their results.

Their results are on the tape like everything else, so they can be differentiated in turn, to any order, and be
replayed. The compiled sweeps are in `tapegrad.engine.sweep`; both follow the formulas of the op table.

In reading order; each imports only those above it:

    custom                         custom ops
    graph_view                     the part of a tape between some results and some inputs
    changed_values                 finds operands that were changed without the tape's knowledge
    regions                        views of a flat buffer as Tensors
    accumulator                    accumulate the tangents or cotangents of buffers during a sweep on Tensors
    hooks                          gradient hooks
    rules                          derivatives of the ops, applied to Tensors
    tensor_sweeps                  the reverse and the forward sweep on Tensors
    sparsity                       sparse derivatives: patterns, and sweeps that columns or rows share
    accumulate_grad                `backward` by the sweep on Tensors
    segmented_backward             `backward` through custom ops and hooks
    backward                       `Tensor.backward`, `Tensor.grad` and what clears it

It imports `ops`, `engine` and `frontend`.
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "accumulate_grad", "hooks", "segmented_backward")
