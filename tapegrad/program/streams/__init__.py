"""Streams: instructions bound to frames in the order of execution, and their plan of memory. Read `stream` first.

In reading order; each imports only those above it:

    spec                           what a program is made for
    stream                         instruction streams
    edited_stream                  A stream made of bound rows
    memory_plan                    when a block is in use, and its offset in the workspace
"""
