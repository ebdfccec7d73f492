"""Fusion: rows over the same elements become segments, one loop each.

In reading order, which is the way that a stream takes:

    rows                           what is known of a row
    nests                          the loops around a row
    accesses                       what rows read and write, by address
    spaces                         the same loops for rows over the same elements
    extremes                       largest and smallest elements, and the ties that their derivatives count
    columns                        short loops written out around these, and around sums of exponentials
    dependences                    which rows stay in order
    grouping                       rows over one iteration space brought together
    recomputed                     rows that several groups compute, so that nobody stores what they do
    repeats                        unrolled loops, whose groups are to be alike
    segments                       a group without addresses, and what of it goes to memory
    groups_to_segments             all of that for a stream
    outside                        made-up addresses for the arrays outside of a program
    recipes                        how streams were fused, on disk
    shown                          segments as text
    streams                        streams in which segments stand in the place of rows
    background, policy             a thread that fuses while others replay; when that pays

It imports of `program` its streams and memory plan, which it works on.
"""
