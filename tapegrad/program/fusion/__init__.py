"""Fusion: rows over the same elements become segments, one loop each. Read `streams` first.

In reading order; each imports only those above it:

    background                     a thread that fuses while others replay
    grouping                       groups of rows that become segments, in the order in which a stream takes the steps
    outside                        made-up addresses for the arrays outside of a program
    policy                         when that pays
    recipes                        how streams were fused, on disk
    shown                          segments as text
    streams                        streams in which segments stand in the place of rows

It imports of `program` its streams and memory plan, which it works on.
"""
