"""Recordings: the signature of a call, and the tape that it leaves. Read `recording` first.

In reading order; each imports only those above it:

    calling                        how transforms call functions, and what those may return
    guards                         what must be the same in a replay, and who has asked for it
    tape_picture                   picture of a tape, with segments and workspace
    recording                      the tape of a recording
    signature                      arguments of a recorded function
    constant_results               results that no replay computes
"""
