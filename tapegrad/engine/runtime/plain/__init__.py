"""Plain functions of numbers as LLVM's text: what the engine's own functions are made of, without Numba's way to it."""
