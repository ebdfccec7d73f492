"""Traces: a function that was run on a tape, the programs made of it, and what it says of itself.

In reading order; each imports only those above it:

    listing                        tuples that are printed as tables
    bars                           bars in SVG: what takes how long
    recording_log                  why each recording was made, and how often for the same cause
    repeated                       a warning about a function that is recorded again and again
    explained                      which recordings a function has, which guards these have
    trace                          a function that was run on it
    source_lines                   the source line of each instruction
    specializations                the recordings for one signature, of which one serves a call
    trace_cache                    the recordings that a function keeps
    timed_replay                   times of the rows of a replay, measured in real replays
    profiled                       profile of a replay: the time of each row, by source line
    slow_parts                     conversions, strided arrays and unrolled loops, and what to write instead
    watched                        what a recorded function is watched for, by name
    explanation                    explanation of a call: recording, guards, fusion, memory, threads
"""
