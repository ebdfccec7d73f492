"""The frame: what one execution of a kernel is given.

A kernel is a C function ``int64 kernel(int64 frame, int64 loops)``. `frame` is the address of sixteen 64-bit
words, laid out below; `loops` is the address of the table of library loops (see `library`). It returns 0, or a
positive status that stops the sweep (a guard that no longer holds, an index out of range).

==========  =====  ===================================================================================
word        index  meaning
==========  =====  ===================================================================================
COUNT       0      elements of the inner loop
X           1-3    address of each operand's primal, 0 where absent
Y           4      address of the result's primal
X_BAR       5-7    address of each operand's cotangent, 0 where none is wanted
Y_BAR       8      address of the result's cotangent
STRIDE      9-11   bytes from one element of an operand (primal and cotangent alike) to the next
Y_STRIDE    12     the same for the result
STORE       13     backwards, bit j set: operand j's cotangent is written, otherwise it is added to; forwards, VALUE
                   set: no derivative will read the result; the rest is the sweep's
OUTER       14     address of the outer loops ``[ndim, extents..., strides of x0..., x1..., x2..., y...]``, or 0
PARAMS      15     address of the parameters of a structural op, or 0
==========  =====  ===================================================================================

A kernel reads COUNT elements along the inner dimension and knows nothing of OUTER: the driver walks the outer
dimensions and hands on a frame whose addresses have moved. Kernels of rows that take lines go through the last loop
of OUTER themselves. A stride of 0 is a broadcast operand, whose cotangent
is the sum over the loop.

Kernels of bound rows read the first words alone (see `codegen.rows.bound`), and a workspace has no others of
their frames.
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
WORDS = 16
BYTES = 8 * WORDS

VALUE = 1 << 3  # in STORE: what only derivatives read of a result may be left out

MAX_NDIM = 32  # dimensions of a slot, of a region, and so the most loops
