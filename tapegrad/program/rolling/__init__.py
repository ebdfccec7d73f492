"""Loops of plain Python, found in recordings. `loops.rolled` makes instructions of them. Read `plan` first.

In reading order; each imports only those above it:

    roller                         what makes loops of recordings
    section                        instructions of a recording as columns, and their kinds
    stretches                      stretches that repeat
    wires                          where the operands of a repetition come from
    plan                           what a loop carries, goes along, stacks and fills
    emission                       instructions, recorded once more
    iteration                      iteration of a loop as a function
"""
