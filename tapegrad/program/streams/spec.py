"""Specs of programs."""

from dataclasses import dataclass

from tapegrad.autodiff.sparsity.shared_columns import SharedColumns

# The kinds of programs; each has a class in `program.programs.kinds`.
FORWARD = "forward"
VALUE_AND_GRAD = "value_and_grad"
JACREV = "jacrev"
JVP = "jvp"
JACFWD = "jacfwd"
VJP = "vjp"
WHOLE_VJP = "whole vjp"
COLUMNS = "columns"

# Fusion policies of a program.
NEVER = "never"
IF_KNOWN = "if known"
NOW = "now"
WHOLE = "whole"  # now, and if it can be as one segment of numbers


@dataclass(frozen=True)
class ProgramSpec:
    """Spec of the quantities that a program computes of a recording.

    Attributes
    ----------
    kind
        FORWARD: the outputs. VALUE_AND_GRAD: value and gradient of the first output. JACREV, JACFWD: its Jacobian, by
        reverse or forward sweeps. COLUMNS: the same by forward sweeps, left in the workspace. JVP: tangents of all
        outputs along tangents of the inputs that are given. VJP: the outputs, and the gradient for cotangents of them
        that are given later. WHOLE_VJP: that gradient alone, for cotangents that are given with the inputs.
    wrt
        Numbers of the inputs to differentiate by.
    values
        Of JVP, JACFWD and COLUMNS: whether the outputs are wanted, too. Of VALUE_AND_GRAD and JACREV: whether those
        after the first are.
    shared
        Of JACFWD: the columns that share a tangent; `None` for a tangent of each column by itself.
    """

    kind: str = FORWARD
    wrt: tuple[int, ...] = ()
    values: bool = False
    shared: SharedColumns | None = None
