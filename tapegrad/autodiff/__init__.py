"""Derivatives as instructions: the rules of the ops applied to Tensors, and the sweeps that append what these give.

What they compute is on the tape like everything else, so it can be differentiated in turn, to any order, and be
replayed. The sweeps of compiled code stand in `tapegrad.engine.sweep`; both follow the same texts of the table.
"""
