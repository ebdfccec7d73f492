"""The frame of a segment, by numbers that `word_of` leads to words.

======  ======  ==========================================================================================
number  name    meaning
======  ======  ==========================================================================================
0       TURNS   how many elements there are, or steps of the first outer loop if parts are of that
1, 2    START,  the part of them that is gone through; of elements from a multiple of 256 to another one or the end
        STOP
3       SHARED  address of what threads that share the segment have to know (`engine.sweep.threading.segment_chunks`)
4, ...  COUNTS  the counts, behind them the addresses of the lines, and behind these, for each outer loop, its extent
                and the bytes that each address moves at a step of it
======  ======  ==========================================================================================

The function inside the outer loops is given a frame without them. Behind the addresses that has the number of the step
that each loop is at, where a row has to know which is the first.
"""

from tapegrad.engine.kernels.language.frame import OUTER

TURNS, START, STOP, SHARED, COUNTS = range(5)


def word_of(number: int) -> int:
    """Return the index of a field of the frame, past the count of outer loops, which has to be 0 for the executor."""
    return number if number < OUTER else number + 1
