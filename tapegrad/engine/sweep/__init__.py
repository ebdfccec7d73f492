"""The sweeps: execution of instructions forwards and backwards."""
