"""Programs over lanes: the recording of one instance, widened so that one program computes many at once.

A *lane* is the place of an instance in a block of them.

In reading order; each imports only those above it:

    layout                         positions of lanes in a buffer, and views of them
    widening                       a recording over lanes: its buffers, slots and instructions
    products                       products of matrices over lanes
    widened_tape                   a tape that is made, not recorded
    programs                       programs of widened recordings
    job                            a call: the caller's arrays, workspaces, threads
    rows                           ops that take or write rows by number, over lanes
    stacks                         ops of stacks over lanes
    rules                          how each kind of instruction is widened
    pool                           how many lanes a call gets; its programs and workspaces
    within                         what a recording has of one instance, appended to it for all

Most instructions are widened by geometry: lanes are one more dimension, the last one, and kernels stay what they are.
Those whose kernels read more than loops have rules of their own, or run lane by lane. Stacks have their lanes in front.
"""
