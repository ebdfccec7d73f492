"""Peers: the derivative of a workload by each library, as its users would write it: one table a derivative.

A peer that is not installed, or has nothing for a workload, is left out with a note.
"""

from perf.peers.base import Peer as Peer
from perf.peers.base import Unavailable as Unavailable
from perf.peers.base import enter as enter
from perf.peers.base import load as load
from perf.peers.base import tapegrad as tapegrad
from perf.peers.batched_fits import Stopping as Stopping
from perf.peers.batched_fits import in_blocks as in_blocks
from perf.peers.fits import FUNCTIONS as FUNCTIONS
from perf.peers.gradients import GRADIENTS as GRADIENTS
from perf.peers.hessians import HESSIANS as HESSIANS
from perf.peers.jacobians import JACOBIANS as JACOBIANS
from perf.peers.jacobians import RESIDUALS as RESIDUALS
from perf.peers.products import PRODUCTS as PRODUCTS
