"""The Tensor: a slot on a tape, its memory, its mode, and its attachments. Read `tensor` first.

In reading order; each imports only those above it:

    arrays                         NumPy arrays on the engine's memory
    copying                        copies and pickles
    description                    descriptions of slots
    recorder                       interface of a recording tape
    modes                          modes of a thread: its tape, whether it differentiates
    array_checks                   checks and conversion of users' arrays
    attachments                    attachments of buffers: gradients that are Tensors, hooks
    inspection                     the tape, to print and to check
    tensor                         the class: a slot on a tape, memory, views
    native_slots                   operators, basic indexing and the finaliser in C
    anomaly                        `detect_anomaly`
    memory_order                   memory orders 'K' and 'A'
    static_keys                    keys of static values: equal if no function can tell them apart
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "native_slots")  # a process that only replays functions computes nothing eagerly
