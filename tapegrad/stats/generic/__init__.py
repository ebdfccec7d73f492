"""Distributions of `scipy.stats` and subclasses of users, computed by their own code with functions that take Tensors.

    >>> import tapegrad as tg
    >>> shape = tg.tensor(2.0)
    >>> tg.stats.lomax.logpdf(1.0, shape).backward()
    >>> shape.grad
    array(-0.19314718)

In reading order; each imports only those above it:

    substitutes                    functions that take Tensors, in place of functions of NumPy and SciPy
    code                           copies of functions and classes with substitutes for their global names
    elements                       elements of a result in one line, selections among them
    own_methods                    methods that stand for SciPy's, where these integrate or find roots
    families                       methods of all distributions, computed by copies of their private methods
    names                          distributions by their names in SciPy
"""
