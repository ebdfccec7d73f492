"""Instructions bound to frames, and a kernel run over all loops of a frame.

In reading order; each imports only those above it:

    control_fields                 fields shared with Python
    bind                           bind an instruction to a frame
    execute                        run a kernel over all the loops of a frame
"""
