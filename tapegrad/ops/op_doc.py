"""The record of the texts of an op's docstring."""

from typing import NamedTuple


class OpDoc(NamedTuple):
    """Texts of the docstring of an op.

    Attributes
    ----------
    summary
        First line of the docstring, in the imperative.
    derivatives
        The partials in their usual form, where the row's texts are longer; empty if `source` describes one in words.
    domain
        Where the op is defined, and what it gives elsewhere.
    kinks
        Which derivative is taken where there is none, or more than one.
    source
        Where the formula comes from.
    scipy
        SciPy's function of the same meaning, if there is one.
    example
        Operands of the example; by default points of the domain that tests draw from.
    """

    summary: str
    derivatives: tuple[str, ...] = ()
    domain: str = ""
    kinks: str = ""
    source: str = ""
    scipy: str = ""
    example: tuple[tuple[float, ...], ...] = ()
