"""The reverse and the tangent sweep over a tape. Read `reachability` and `reverse` first.

In reading order; each imports only those above it:

    bind_tangent                   bind an instruction to a frame for its tangent
    jacobian_columns               kernels of a tangent stream that belong to no op
    reachability                   mark the instructions of an eager tape that a reverse sweep visits
    seeds                          seeding of a reverse sweep
    reverse                        reverse sweep over the eager tape
    bind_recording                 bind the instructions of a recording for replay
    subgraph                       the instructions between results and inputs, for Python
    reverse_segments               the reverse sweep over an eager tape, with pauses for Python
    tangent_reachability           instructions that a tangent sweep goes through
    tangent                        tangent sweep over the eager tape
"""
