"""Tapes as Python reads, prints and checks them. Read `tape_view` first.

In reading order; each imports only those above it:

    narrow_columns                 integer arrays in few bytes
    dependence                     whether a result depends on some inputs
    view_columns                   the views of many slots
    tape_entries                   its instructions, slots and buffers as objects
    tape_columns                   as columns of numbers
    tape_view                      a tape at one moment, as Python reads it
    verify                         the checker of legal tapes: an executable specification of what a sweep may rely on
    view_names                     views as text
    svg                            pictures in SVG
    printing                       A tape as text, one readable instruction a line
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "verify", "printing")
