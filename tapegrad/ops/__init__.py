"""THE OP TABLE: formulas, kernels and facts of every op, one row each.

In reading order; each imports only those above it:

    params                         the parameters of structural ops, a named record each
    row                            the fields of a row: formulas or kernels, operands, parameters, derivatives
    formulas                       pieces of the formulas of special functions
    distribution_functions         rows of incomplete gamma and beta functions and of Student's distribution
    hypergeometric_functions       rows of elliptic integrals, confluent functions, polynomials and Legendre functions
    special_functions              rows of special functions
    complex_rows                   rows for complex operands, and the choice of a row by its operands
    elementwise                    the elementwise ops, each a line of formulas
    structural                     the structural ops, whose kernels are written by hand
    codes                          the number of each op on a tape
    op_doc                         the record of the texts of an op's docstring
    special_docs                   texts of special functions
    documentation                  docstrings of elementwise functions, made of the texts and the rows

The examples in these docstrings are generated, into ``examples.tsv``. It imports nothing of the package.
"""

from tapegrad.ops.codes import BY_NAME as BY_NAME
from tapegrad.ops.codes import CODES as CODES
from tapegrad.ops.codes import COPY as COPY
from tapegrad.ops.codes import GUARDS as GUARDS
from tapegrad.ops.codes import ROWS as ROWS
from tapegrad.ops.complex_rows import ChosenRow as ChosenRow
from tapegrad.ops.complex_rows import choose_row as choose_row
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
