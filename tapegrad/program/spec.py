"""What a program is made for."""

from dataclasses import dataclass

VALUES, GRADIENT, ROWS, TANGENTS, COLUMNS = "values", "gradient", "rows", "tangents", "columns"
PULLBACK = "pullback"


@dataclass(frozen=True)
class ProgramSpec:
    """What a program computes of a recording.

    Attributes
    ----------
    kind
        VALUES: the outputs. GRADIENT: value and gradient of the first output. ROWS, COLUMNS: its Jacobian, by reverse
        or forward sweeps. TANGENTS: tangents of all outputs along tangents of the inputs that are given. PULLBACK:
        the outputs, and the gradient for cotangents of them that are given later.
    wrt
        Numbers of the inputs to differentiate by.
    values
        Of TANGENTS and COLUMNS: whether the outputs are wanted, too.
    batch
        Of TANGENTS: how many tangents at once, in front of the shapes; `None` for one, without a dimension of its own.
    """

    kind: str = VALUES
    wrt: tuple[int, ...] = ()
    values: bool = False
    batch: int | None = None
