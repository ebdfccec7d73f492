"""Bound programs: forward, reverse and tangent streams, and the workspaces that they run in. Read `program` first.

In reading order; each imports only those above it:

    program                        the two streams
    gradient                       programs with a reverse stream
    packed_frames                  the fields that kernels read
    pullback                       the program of a pullback
    tangents                       programs with tangents, and how these lie in memory
    jacobian_columns               the program of a Jacobian column by column
    compressed_columns             the program of a Jacobian whose columns share tangents
    kinds                          the class of each kind
    workspace                      the memory of one execution, its image, and the idle workspaces of a program
    certified_columns              certificate of columns that share tangents
    handle                         the native handle of a compiled function
"""
