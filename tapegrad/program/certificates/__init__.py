"""Certificates: what a program computes, held against the same numbers found in another way. Read `certificate` first.

In reading order; each imports only those above it:

    executions                     one execution of a program, on fresh memory
    products                       products of the derivative with directions, by programs of each kind
    checks                         the checks of a program: values, tiers, memory, and the adjoint identity
    wrong_parts                    the first instruction whose derivative is wrong, and which settings are right
    certificate                    the checks of a replay as a table, and the error where one fails
"""
