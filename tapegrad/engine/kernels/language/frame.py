"""Frame: the struct of sixteen 64-bit fields that a kernel reads in one execution.

A kernel is a C function ``int64 kernel(int64 frame, int64 loops)``. `frame` is the address of the fields
below; `loops` is the address of the table of library loops (see `library`). It returns 0, or a
positive status that stops the sweep (a guard that no longer holds, an index out of range).

==========  =====  ===================================================================================
field       index  meaning
==========  =====  ===================================================================================
COUNT       0      elements of the inner loop
X           1-3    address of each operand's primal, 0 if absent
Y           4      address of the result's primal
X_BAR       5-7    address of each operand's cotangent, 0 if it is not wanted
Y_BAR       8      address of the result's cotangent
STRIDE      9-11   bytes from one element of an operand (primal and cotangent alike) to the next
Y_STRIDE    12     bytes from one element of the result to the next
STORE       13     reverse: bit j is set if operand j's cotangent is written, clear if it is added to; forward: VALUE
                   is set if no derivative reads the result; the sweep uses the other bits
OUTER       14     address of the outer loops ``[ndim, extents..., strides of x0..., x1..., x2..., y...]``, or 0
PARAMS      15     address of the parameters of a structural op, or 0
==========  =====  ===================================================================================

A kernel processes COUNT elements along the inner dimension and does not read OUTER: the driver iterates over the outer
dimensions and calls it with moved addresses. A kernel whose row says `takes_lines` runs the last loop of OUTER itself.
A stride of 0 is a broadcast operand, whose cotangent is the sum over the loop.

Kernels of bound rows read only the first fields (see `codegen.rows.rows`), and a workspace stores no others of their
frames.
"""

COUNT = 0
X = 1
Y = 4
X_BAR = 5
Y_BAR = 8
STRIDE = 9
Y_STRIDE = 12
STORE = 13
OUTER = 14
PARAMS = 15
FIELDS = 16
BYTES = 8 * FIELDS

VALUE = 1 << 3  # in STORE: the part of a result that only derivatives read may be left out

MAX_NDIM = 32  # dimensions of a slot or a region, and so the number of loops
