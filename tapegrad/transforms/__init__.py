"""Functions of functions: gradients, Jacobians, and recording once for replay."""
