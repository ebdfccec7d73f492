"""Elementwise kernels written from the op table by ``python -m tapegrad.engine.codegen``; not edited by hand."""
