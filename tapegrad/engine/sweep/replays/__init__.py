"""Replays of bound programs: their loop, their handles and workspaces, and lanes. Read `replay` first.

In reading order; each imports only those above it:

    handle_fields                  the fields of a handle
    offsets                        offsets of blocks in a workspace
    passes                         the loops of passes over a recording
    replay                         replay
    clock_rows                     rows that read the clock between those of a replay
    lanes                          bound programs of many instances at once
    workspace_pool                 the pool of a specialization's workspaces, for all threads
    handle_calls                   calls of a handle on raw addresses, from compiled code and from C
    loop_fields                    the fields of a loop
    loop_moves                     elements between packed arrays and the block of a loop
    loop_iterations                iterations of a loop on its block
    loop_pieces                    many iterations of a loop, by kernels with the loop inside or by programs
    loop_calls                     runs of a loop: forward, in reverse, by tangents
    reached_calls                  outputs of a solver, which may have failed
"""
