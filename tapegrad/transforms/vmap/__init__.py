"""`vmap`: many instances at once, by programs over lanes. Read `vmap` first.

In reading order; each imports only those above it:

    lane_goals                     programs of a batch, and the structure of its results
    mapped_axes                    axes of arguments and results
    lane_call                      a batch of arrays, by programs over lanes
    lane_op                        a batch of Tensors, as one op
    lane_section                   a batch within a recording, as instructions of it
    vmap                           the public function
"""
