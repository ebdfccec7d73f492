"""Derivatives of the ops, applied to Tensors. Read `step` first: one instruction, as a rule sees it.

Those of structural ops are stated in `frontend`, beside the functions that record the ops: see
`frontend.recording.rules`.

In reading order; each imports only those above it:

    step                           one instruction, as a rule sees it
    elementwise_rules              the partials of the table, applied to Tensors
    linear_rules                   the derivatives of linear structural ops
    structural_rules               the derivatives of all structural ops, looked up
"""
