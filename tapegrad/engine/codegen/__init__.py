"""Writes the elementwise kernels from the op table: ``python -m tapegrad.engine.codegen [--check]``.

A kernel's text is the row's text, with two changes. A function that is not compiled in line (see
`expressions.INLINE`) becomes a call of a library loop that fills a scratch block, before the arithmetic loop that
reads it. And a partial is multiplied by the result's cotangent where that costs least: ``where(c, 1,
0)`` becomes ``where(c, bar, 0)``. A product is zero where one of its factors is, whatever the other one is; constant
partials need no care for that.

In reading order:

    modules, files                 the generated files; writing them, or comparing
    forward_reverse, tangent       the kernels of a row
    kernel, expressions            the text of a kernel as it grows; expressions in it
    examples                       examples for the docstrings

It imports `ops`, `kernels` and `reference`.
"""
