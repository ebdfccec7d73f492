"""Programs over lanes: the recording of one instance, widened so that one program computes many at once.

A *lane* is the place of an instance in a block of them. In reading order:

    layout                         where the lanes of a buffer lie, and views of them
    widened_tape                   a tape that is made, not recorded
    widening                       a recording over lanes: its buffers, slots and instructions
    products, stacks, rows         how products of matrices, ops of stacks, and rows by number are widened
    by_lane                        instructions that run lane by lane
    rules                          how each kind of instruction is widened
    within                         what a recording has of one instance, appended to it for all
    programs                       programs of widened recordings
    job                            a call: the caller's arrays, workspaces, threads
    pool                           how many lanes a call gets; its programs and workspaces

Most instructions are widened by geometry: lanes are one more dimension, the last one, and kernels stay what they are.
Those whose kernels read more than loops have rules of their own, or run lane by lane. Stacks have their lanes in front.
"""
