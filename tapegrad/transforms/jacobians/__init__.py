"""Jacobians and Hessians, dense and sparse.

In reading order; each imports only those above it:

    sparse                         sparse derivatives: the entries are recorded, and replayed
    jacobian                       Jacobians, by forward or by reverse sweeps, each a single call into compiled code
    hessian                        second derivatives, as tangents of the recorded gradient
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "sparse")  # with it comes `scipy.sparse`, which is slow to import
