"""NumPy's face: the Tensor, its functions and modes. A call becomes an instruction."""
