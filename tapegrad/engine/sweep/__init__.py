"""The sweeps: execution of instructions forwards and backwards.

In reading order:

    bind, bind_tangent, bind_recording  instructions bound to frames
    passes, offsets                the loops of passes over a recording; places in a workspace
    execute, segment_chunks, chunks  a kernel over all loops of a frame; parts of a segment
    parallel, pool, synchronization  the same on several threads
    eager                          append an instruction and run it
    eager_lines, eager_products    the same for reductions and scans, and for products of matrices, in one call each
    eager_matrices                 for functions of square matrices, and systems of equations
    eager_rows, eager_joining      and for rows by number, and several slots joined
    writes                         write in place
    earlier_contents               what was there before, for the rules that read it
    reachability, seeds, reverse, reverse_segments  the reverse sweep
    tangent_reachability, tangent  the tangent sweep
    subgraph                       the instructions between results and inputs, for Python
    replay, jacobian_columns       bound programs
    handle_words, workspace_pool   compiled functions: what is known of one, and its workspaces
    handle_calls                   calls of one on raw addresses, from compiled code and from C
    lanes                          bound programs of many instances at once
    export                         the engine's memory as NumPy arrays
    control_words                  words shared with Python

It imports `tape`, `kernels` and `runtime`.
"""
