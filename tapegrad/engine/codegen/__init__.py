"""Writes the examples of the elementwise functions from the op table: ``python -m tapegrad.engine.codegen [--check]``.

In reading order:

    modules, files                 the generated file; writing it, or comparing
    examples                       examples for the docstrings

It imports `ops` and `reference`.
"""
