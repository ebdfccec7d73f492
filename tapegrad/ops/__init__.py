"""THE TABLE: what every op is, in one row each.

In reading order; each imports only those above it:

    examples                       the examples in these docstrings, generated
    params                         the parameters of structural ops, a named record each
    row                            what a row says: formulas or kernels, operands, parameters, derivatives
    special_functions              those of the elementwise ops that are special functions
    elementwise                    the elementwise ops, each a line of formulas
    structural                     the structural ops, whose kernels are written by hand
    codes                          the number of each op on a tape
    words                          what is said of an op
    special_words                  of special functions
    documentation                  what the docstring of an elementwise function says

It imports nothing of the package.
"""

from tapegrad.ops.codes import BY_NAME as BY_NAME
from tapegrad.ops.codes import CODES as CODES
from tapegrad.ops.codes import COPY as COPY
from tapegrad.ops.codes import GUARDS as GUARDS
from tapegrad.ops.codes import ROWS as ROWS
from tapegrad.ops.elementwise import ELEMENTWISE as ELEMENTWISE
from tapegrad.ops.row import CONSTANTS as CONSTANTS
from tapegrad.ops.row import FUSED as FUSED
from tapegrad.ops.row import KINDS as KINDS
from tapegrad.ops.row import PRIMALS as PRIMALS
from tapegrad.ops.row import Op as Op
from tapegrad.ops.row import Row as Row
from tapegrad.ops.row import Structural as Structural
from tapegrad.ops.row import as_function as as_function
from tapegrad.ops.row import evaluate as evaluate
from tapegrad.ops.row import names_in as names_in
from tapegrad.ops.structural import STRUCTURAL as STRUCTURAL
