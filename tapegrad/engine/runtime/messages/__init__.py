"""Messages to the user: lines on stderr, logging, progress.

In reading order; each imports only those above it:

    stderr                         messages on stderr
    logs                           loggers of the package, and ``TAPEGRAD_LOG``
"""
