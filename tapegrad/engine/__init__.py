"""Compiled code: kernels, the tape, the sweeps, and what compiles, caches and checks them. It knows no Tensor."""
