"""Traces: a function that was run on a tape, the programs made of it, and what it says of itself.

In reading order; each imports only those above it:

    listing                        tuples that are printed as tables
    bars                           bars in SVG: what takes how long
    explained                      which recordings a function has, which guards these have
    trace                          a function that was run on it
    specializations                the recordings for one signature, of which one serves a call
    trace_cache                    the recordings that a function keeps
    timed_replay                   times of the rows of a replay, measured in real replays
    profiled                       profile of a replay: the time of each row, by source line
    watched                        what a recorded function is watched for, by name
    explanation                    explanation of a call: recording, guards, fusion, memory, threads
"""
