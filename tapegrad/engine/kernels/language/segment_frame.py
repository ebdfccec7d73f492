"""Frame of a segment: its fields by numbers, which `field_of` maps to indices.

======  ======  ==========================================================================================
number  name    meaning
======  ======  ==========================================================================================
0       TURNS   number of elements, or of steps of the first outer loop if chunks are ranges of these steps
1, 2    START,  the range to process; a range of elements begins and ends at a multiple of 256 or at the last element
        STOP
3       SHARED  address of the state of threads that share the segment (`engine.sweep.threading.segment_chunks`)
4, ...  COUNTS  the counts, then the addresses of the lines, then for each outer loop its extent and the bytes that
                each address moves at a step of it
======  ======  ==========================================================================================

The function inside the outer loops gets a frame without them. After the addresses it has the current step of each loop,
if a row depends on whether the step is the first.
"""

from tapegrad.engine.kernels.language.frame import OUTER

TURNS, START, STOP, SHARED, COUNTS = range(5)


def field_of(number: int) -> int:
    """Return the index of a field of the frame, past the count of outer loops, which has to be 0 for the executor."""
    return number if number < OUTER else number + 1
