"""CUTEst by the package sif2jax: its problems on tapegrad, compared and timed beside JAX."""
