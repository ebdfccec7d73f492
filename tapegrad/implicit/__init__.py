"""IMPLICIT: values with derivatives by rules of their own, such as roots. Read `ruled` first.

In reading order; each imports only those above it:

    ruled                          values whose derivatives are given rules, in compiled code
    implied                        derivatives of a root by the implicit function theorem

It imports the rooms up to `loops`.
"""
