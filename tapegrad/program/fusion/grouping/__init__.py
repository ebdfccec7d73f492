"""Groups of rows that become segments, in the order in which a stream takes the steps. Read `rows` first.

In reading order; each imports only those above it:

    nests                          the loops around a row
    rows                           what is known of a row
    columns                        short loops written out around these, and around sums of exponentials
    dependences                    which rows stay in order
    extremes                       largest and smallest elements, and the ties that their derivatives count
    accesses                       what rows read and write, by address
    grouping                       rows over one iteration space brought together
    recomputed                     rematerialization: cheap rows that several groups compute instead of loading
    rolls                          rolled arrays, made by two copies
    repeats                        unrolled loops, whose groups are to be alike
    segments                       a group without addresses, and what of it goes to memory
    spaces                         the same loops for rows over the same elements
    scalars                        arrays of few elements written out
    groups_to_segments             fusion of a stream: rows, dependences, groups, segments
"""
