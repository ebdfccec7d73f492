"""Programs over lanes: the recording of one instance, widened so that one program computes a block of instances.

A *lane* is the index of an instance in its block.

In reading order; each imports only those above it:

    layout                         positions of lanes in a buffer, and views of them
    widening                       the pass: buffers, slots and instructions over lanes
    products                       rule of products of matrices
    stacks                         rules of ops of stacks, and of ops that take or write rows by number
    rules                          rules of all instructions
    widened_tape                   columns of a widened recording
    programs                       programs of widened recordings, and their workspaces
    pool                           calls: programs by the number of lanes, the caller's arrays, threads

Most instructions are widened by geometry: lanes are one more dimension, the last one, and kernels do not change.
Kernels that read parameters beside loops have rules of their own, or run lane by lane. Stacks have lanes in front.
"""
