"""Streams: instructions bound to frames in the order of execution, and their plan of memory. Read `stream` first.

In reading order; each imports only those above it:

    spec                           specs of programs
    stream                         instruction streams
    edited_stream                  builder of streams from bound instructions
    memory_plan                    when a block is in use, and its offset in the workspace
    transposed_operands            transposed copies of operands that a row goes through many times
"""
