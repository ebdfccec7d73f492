"""Inspection of the eager tape: print it, check it."""

from tapegrad.engine.inspection import printing, verify
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.tensor.modes import EAGER


def _as_text(tape: Tape) -> str:
    return printing.as_text(tape)


Tape.as_text = _as_text


def tape() -> Tape:
    """Return the eager tape: all computations that can still be differentiated.

    Returns
    -------
    Tape
        Print it to see its instructions. Values are named after the instruction that computes them; ``x0, x1, ...``
        are Tensors that gradients flow into, ``c0, c1, ...`` constants.

    See Also
    --------
    tapegrad.transforms.jit.Jit.tape : The tape of what `jit` has recorded.

    Examples
    --------
    >>> import tapegrad as tg
    >>> print(tg.jit(lambda x: tg.sum(x[1:] * x[:-1])).tape(tg.ones(4).data))
    inputs    x0 (4,) f64
      0  v0 = multiply(x0[1:], x0[:3])    (3,) f64
      1  v1 = sum(v0)                     () f64
    outputs   v1 () f64
    """
    return EAGER


def check_tape() -> None:
    """Check that the eager tape is legal, and raise if it is not.

    An illegal tape is a fault of tapegrad, never of its user. With ``TAPEGRAD_CHECK=1`` in the environment this check
    is done before every `backward`, and every recording is checked before it is replayed.

    Raises
    ------
    IllegalTapeError
        Names what is wrong.

    Examples
    --------
    >>> import tapegrad as tg
    >>> y = tg.sin(tg.tensor([1.0, 2.0]))
    >>> tg.check_tape()
    """
    verify.check(EAGER)
