"""NUMPY'S FACE: the Tensor, its functions and modes. A call becomes an instruction.

The class is at the bottom, in `tensor`; the modules above it bind its methods. In reading order:

    modes                          what a thread is doing: its tape, whether it differentiates
    tensor, description            the class: a slot on a tape, memory, views; what the engine knows of a slot
    arrays, array_checks           NumPy arrays on the engine's memory; which arrays can become Tensors
    attachments                    what Python keeps for a buffer: gradients that are Tensors, hooks
    record, record_structural      operands in, an instruction, a Tensor out
    running, computed_integers     the engine is called; arithmetic of integers that each replay computes
    recorder                       what a tape that is recorded for replay offers the frontend
    outputs, ufuncs                where a result is written; all other arguments of ufuncs
    calls                          functions of one and of two operands
    unknown_derivatives            operands by which no derivative is known
    elementwise                    the functions of the op table, and the operators
    lists                          lists of Tensors as arrays
    creation, conversion, copying  into the graph and out of it; copies and pickles
    memory_order                   where the order of elements in memory is known
    shape, copied_views            views of all elements; copies of views, made at once
    indexing, keys, writes         parts of Tensors, in-place writes
    locating                       indices that each replay computes
    layouts                        the order of elements in memory
    outcomes                       plain results, and what guards them while recording
    functions                      NumPy's functions by their names, a room of its own
    numpys_own                     what NumPy itself does here: types, settings, indices, files
    numpy_docs, ufunc_docs         docstrings of functions that are made from NumPy's
    array_api                      what the array API standard asks for and NumPy's functions are not
    numpy_protocols                ``np.sin(t)``
    coverage                       what every public function of NumPy's does with a Tensor
    function_names, callers        names and frames for messages
    call_site                      which function of NumPy's the program called, for messages
    notebooks                      how a Tensor is shown in a notebook
    static_keys                    when two static values are the same
    refusal_hints                  what to write where a Tensor is asked for as plain numbers
    anomaly, inspection            `detect_anomaly`; the tape, to print and to check
    array_like                     types of arguments, for annotations

It imports `ops` and `engine`.
"""

from tapegrad.frontend import conversion as conversion
from tapegrad.frontend import indexing as indexing
from tapegrad.frontend import notebooks as notebooks
from tapegrad.frontend import numpy_protocols as numpy_protocols
from tapegrad.frontend.functions import flat as flat
