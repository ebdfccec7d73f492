"""Long streams by their distinct windows: what repeats is grouped once, and moved to the addresses of each repetition.

In reading order; each imports only those above it:

    distinct                       distinct rows of an integer matrix
    row_columns                    rows of a stream as columns
    overlaps                       accesses that have bytes in common
    repeated_units                 the units of a stream, made of those of its distinct windows
"""
