"""DERIVATIVES as instructions: the rules of the ops applied to Tensors, and the sweeps that append their results.

What they compute is on the tape like everything else, so it can be differentiated in turn, to any order, and be
replayed. The compiled sweeps are in `tapegrad.engine.sweep`; both follow the formulas of the op table. In reading
order:

    backward                       `Tensor.backward`, `Tensor.grad` and what clears it
    step                           one instruction, as a rule sees it
    elementwise_rules              the partials of the table, applied to Tensors
    structural_rules               derivatives of structural ops that are not linear
    triangles                      symmetric matrices given by one triangle, for rules
    matrix_rules                   the same of systems of equations, factors and functions of matrices
    ties                           equal eigenvalues and singular values, for the rules of these
    eigenvalue_rules, decomposition_rules  the same of eigenvalues; of other decompositions and determinants
    linear_rules, transposes       derivatives of linear ops, which follow from a transpose
    graph_view                     the part of a tape between some results and some inputs
    tensor_sweeps                  the reverse and the forward sweep on Tensors
    accumulator, regions           sums of cotangents, and of those of views
    accumulate_grad                `backward` by the sweep on Tensors
    segmented_backward, hooks      `backward` where Python is called in between: custom ops and hooks
    changed_values                 finds operands that were changed without the tape's knowledge
    custom                         custom ops

It imports `ops`, `engine` and `frontend`.
"""
