"""RECORD AND REPLAY: a function's trace, the passes over it, its memory plan and its bound program.

In reading order:

    signature, static_arguments    arguments: which are arrays, which are fixed
    calling                        how transforms call functions, and what those may return
    recording, trace               the tape of a recording; a function that was run on it
    outcome_guards                 guards on results of plain NumPy
    op_facts, liveness             what passes know of ops; which instructions a program needs
    passes                         common subexpressions and dead code
    layouts, layout_costs          in which order the dimensions of what is computed lie
    spec, kinds                    what a program is made for; the class of each kind
    in_place                       writes to where the old contents are
    stream, edited_stream          instructions bound to frames, in the order of execution
    memory_plan, program           when a block is in use, and its offset in the workspace; the two streams
    fusion                         rows brought together in segments, and when
    cotangent_flow                 who reaches a cotangent first, and what is handed on in place
    gradient, pullback             programs with a reverse stream
    tangents, jacobian_columns     programs with tangents
    tangent_frames, seed_sparsity  frames of tangents; which seeds a tangent depends on
    packed_frames, workspace       the words that kernels read; the memory of one execution
    workspace_image, handle        workspaces that compiled code makes; what it knows a compiled function by
    archive                        recordings in files
    lanes                          programs of many instances at once
    trace_cache                    the recordings that a function keeps
    captured_state, watch          what the function sees beside its arguments, and whether it has changed
    watched, explained             what `watched` and `explain` list
    listing, short_times           tuples that are printed as tables; how long a short call takes

It imports the rooms up to `autodiff`.
"""
