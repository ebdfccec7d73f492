"""Messages to the user: lines on stderr, logging, progress.

In reading order; each imports only those above it:

    stderr                         messages on stderr
    progress                       progress of searches, and ``TAPEGRAD_PROGRESS``
    logs                           loggers of the package, and ``TAPEGRAD_LOG``
"""
