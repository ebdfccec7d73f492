"""Fusion: rows over the same elements become segments, one loop each. Read `streams` first.

In reading order; each imports only those above it:

    background                     a thread that fuses while others replay
    grouping                       groups of rows that become segments, in the order in which a stream takes the steps
    repetitions                    long streams by their distinct windows
    reasons                        why rows run by themselves
    outside                        made-up addresses for the arrays outside of a program
    checked_lists                  unchanging lists of row numbers, which are checked once
    policy                         fusion policy
    recipes                        recipes: fused streams on disk
    shown                          segments as text
    assembly                       rows and segments of a fused stream, in order
    streams                        fused streams

It imports of `program` its streams and memory plan, which it works on.
"""
