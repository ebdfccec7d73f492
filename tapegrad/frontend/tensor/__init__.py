"""The Tensor: a slot on a tape, its memory, its mode, and what Python keeps for it. Read `tensor` first.

In reading order; each imports only those above it:

    arrays                         NumPy arrays on the engine's memory
    copying                        copies and pickles
    description                    what the engine knows of a slot
    recorder                       what a tape that is recorded for replay offers the frontend
    modes                          what a thread is doing: its tape, whether it differentiates
    array_checks                   which arrays can become Tensors
    attachments                    what Python keeps for a buffer: gradients that are Tensors, hooks
    inspection                     the tape, to print and to check
    tensor                         the class: a slot on a tape, memory, views
    anomaly                        `detect_anomaly`
    memory_order                   where the order of elements in memory is known
    static_keys                    keys of static values: equal if no function can tell them apart
"""
