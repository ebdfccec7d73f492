"""Examples that are installed with the library and use its public names only.

    nist                           the NIST regressions, which ``tapegrad fit`` runs

Nothing but `cli` imports them.
"""
