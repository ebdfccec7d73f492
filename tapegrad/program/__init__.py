"""RECORD AND REPLAY: a function's trace, the passes over it, its memory plan and its bound program.

Read `recording`, `traces` and `programs` first.

In reading order; each imports only those above it:

    captured                       captured state of a recorded function, compared before each replay
    passes                         passes: each makes a new view of a recorded tape, from which programs are bound
    streams                        streams: instructions bound to frames in the order of execution
    fusion                         fusion: rows over the same elements become segments, one loop each
    programs                       bound programs: forward, reverse and tangent streams
    recording                      recordings: the signature of a call, and the tape that it leaves
    rolling                        loops of plain Python, found in recordings
    dataflow                       dataflow analysis of bytecode: captured arrays whose contents Python may read
    traces                         traces: a function that was run on a tape, the programs made of it
    certificates                   what a program computes, held against the same numbers found in another way
    lanes                          programs of many instances at once
    archive                        recordings in files: numbers and names only, checked before use

It imports the rooms up to `autodiff`.
"""
