"""NumPy's face: the Tensor, its functions and modes. A call becomes an instruction.

The class stands at the bottom, in `tensor`; the modules above it bind its methods.
"""

from tapegrad.frontend import conversion as conversion
from tapegrad.frontend import indexing as indexing
from tapegrad.frontend import numpy_protocols as numpy_protocols
