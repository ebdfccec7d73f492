"""The compiler's lock: held while code is compiled or taken from the cache.

Numba locks its compiler, not the way to its cache. The lock is taken and given back by C code, which an interrupt
cannot stop in the middle.
"""

import threading

compiling = threading.RLock()
