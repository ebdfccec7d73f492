"""NUMPY'S FACE: the Tensor, its functions and modes. A call becomes an instruction.

Read `tensor` first, then `recording`: the folders above bind methods to the class.

In reading order; each imports only those above it:

    words                          names, docstrings, source lines and hints: the texts that users read
    tensor                         the Tensor: a slot on a tape, its memory, its mode, and its attachments
    recording                      recorded calls: operands in, an instruction, a Tensor out
    conversions                    conversions into the graph and out of it
    indexing                       parts of Tensors: read by keys, written in place
    functions                      NUMPY'S FUNCTIONS: each by its name, a file for each subject
    numpy_face                     NumPy's protocols: ``np.sin(t)``, the array API, and the table of coverage

It imports `ops` and `engine`.
"""

from tapegrad.frontend.conversions import conversion as conversion
from tapegrad.frontend.conversions import notebooks as notebooks
from tapegrad.frontend.conversions import texts as texts
from tapegrad.frontend.functions.shapes import flat as flat
from tapegrad.frontend.indexing import indexing as indexing
from tapegrad.frontend.numpy_face import numpy_protocols as numpy_protocols
