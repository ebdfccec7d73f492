"""`vmap`: many instances at once, by programs over lanes. Read `vmap` first.

In reading order; each imports only those above it:

    lane_goals                     what it computes by programs over lanes
    mapped_axes                    the axes that `vmap` maps over
    empty_batches                  what it returns where there is no instance
    lane_call                      a call of it
    lane_op                        the same of Tensors, as one instruction
    lane_section                   the same within a recording, as instructions of it
    vmap                           many instances at once
"""
