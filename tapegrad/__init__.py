"""NumPy-like automatic differentiation on a flat Wengert tape."""
