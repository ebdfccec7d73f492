"""LLVM's passes, object code and the loader: from a finished function to an address.

In reading order; each imports only those above it:

    interrupts                     Ctrl-C, held back while code is compiled
    lock                           the lock of whoever compiles
    machine                        compiling and loading
    objects                        object code on disk
"""
