"""The structural ops, in one row each: their kernels are written by hand."""

from tapegrad.ops.row import Structural

_ALL = ("f64", "f32", "i64", "b8")
STRUCTURAL: tuple[Structural, ...] = (
    Structural("sum", "accumulate", "accumulate.accumulate_{dtype}", ((),), linear=True),
    Structural("prod_reduce", "lines", "prod.prod_reduce_{direction}_{dtype}", (("x0", "y"),)),
    Structural("max_reduce", "lines", "reduce.max_reduce_{direction}_{dtype}", (("x0", "y"),)),
    Structural("min_reduce", "lines", "reduce.min_reduce_{direction}_{dtype}", (("x0", "y"),)),
    Structural("cumsum", "lines", "scan.cumsum_{direction}_{dtype}", ((),), linear=True),
    Structural("matmul", "products", "matmul.matmul_{direction}_{dtype}", (("x1",), ("x0",))),
    # x1: row numbers
    Structural(
        "gather", "whole", "index.gather_{direction}_{dtype}", (("x1",), None), dtypes=_ALL, linear=True
    ),
    # x1: row numbers; the derivative of gather
    Structural("scatter_add", "whole", "index.scatter_add_{direction}_{dtype}", (("x1",), None), linear=True),
    # x0: the old contents of a buffer, x1: what is written into a region of it
    Structural(
        "write",
        "whole",
        "region.write_{direction}_{dtype}",
        ((), ()),
        dtypes=_ALL,
        writes=(0,),
        linear=True,
    ),
    # the same, x2: row numbers
    Structural(
        "scatter_write",
        "whole",
        "index.scatter_write_{direction}_{dtype}",
        (("x2",), ("x2",), None),
        dtypes=_ALL,
        writes=(0,),
        linear=True,
    ),
    # Operands laid into regions of a result of zeros; x1 and x2 may be absent.
    Structural(
        "embed", "whole", "embed.embed_{direction}_{dtype}", ((), (), ()), writes=(0, 1, 2), linear=True
    ),
    Structural(
        "cast_f64",
        "elementwise",
        "cast.cast_{dtype}_f64_{direction}",
        ((),),
        ("f32", "i64", "b8"),
        result="f64",
        linear=True,
    ),
    Structural(
        "cast_f32",
        "elementwise",
        "cast.cast_{dtype}_f32_{direction}",
        ((),),
        ("f64", "i64", "b8"),
        result="f32",
        linear=True,
    ),
    # Integers and booleans, which have no derivative; from its own dtype it is a copy.
    Structural(
        "cast_i64", "elementwise", "cast.cast_{dtype}_i64_{direction}", (None,), ("i64", "b8"), result="i64"
    ),
    Structural(
        "cast_b8", "elementwise", "cast.cast_{dtype}_b8_{direction}", (None,), ("i64", "b8"), result="b8"
    ),
    # A user's own op. x0: its float operands end to end, x1: what is called, x2: its other operands as float64.
    Structural("custom", "call", "callback.custom_{direction}", (("x0", "x2", "y"), None, None)),
    # A replay stops where a value that Python has seen while recording is another one.
    Structural("guard", "whole", "guard.guard_{direction}", (None,), dtypes=_ALL),
    Structural("truth_guard", "whole", "guard.truth_guard_{direction}_{dtype}", (None,), dtypes=_ALL),
)
