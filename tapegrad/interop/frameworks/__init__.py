"""FRAMEWORKS WITH AUTODIFF OF THEIR OWN: compiled functions as nodes of their graphs.

In reading order; each imports only those above it:

    jax_ffi                        calls by XLA without Python
    jax_function                   functions for JAX, blackjax and NumPyro
    derived                        functions of arrays and their derivatives, of any order
    torch_nodes                    calls of them as nodes of PyTorch's graph
    torch_function                 functions for PyTorch
"""

from tapegrad.interop.frameworks.jax_function import jax as jax
from tapegrad.interop.frameworks.torch_function import torch as torch
