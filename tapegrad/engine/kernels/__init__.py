"""Compiled loops: islands that import numba, numpy and math only, and are called by address."""
