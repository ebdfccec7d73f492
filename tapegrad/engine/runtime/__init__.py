"""Compiling, caching and announcing machine code."""
