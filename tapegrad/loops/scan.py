"""`scan`: a loop along the first axis of arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.loops.carry import Carry, leaf_of, snapshots_of, taken_apart
from tapegrad.loops.run import FlatLoop
from tapegrad.transforms.stop_gradient import stop_gradient


class _ScanBody:
    """Body of `scan` as a function of leaves.

    Attributes
    ----------
    structure
        Structure of the results for each iteration.
    """

    def __init__(self, name: str, function: Callable[..., Any], carry: Carry, sequence: Any) -> None:
        self._name, self._function, self._carry, self._sequence = name, function, carry, sequence
        self.structure: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        count = self._carry.count
        returned = self._function(self._carry.built(leaves[:count]), self._sequence.built(leaves[count:]))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{self._name}: {name_of(self._function)} must return a pair (carry, y), but returned"
                f" {type(returned).__name__}; write y = None if there is nothing to stack"
            )
        stacked, self.structure = taken_apart(returned[1])
        return [*self._carry.leaves_of(returned[0], name_of(self._function)), *map(leaf_of, stacked)]


@hides_frames
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
    *,
    checkpoint: str | int = "auto",
) -> tuple[Any, Any]:
    """Repeat ``carry, y = f(carry, x)`` along the first axis of arrays; return the last carry, and the stacked `y`.

    Parameters
    ----------
    f : callable
        Takes the carry and an element of `xs`, and returns a pair: the next carry, of the same structure, shapes and
        dtypes, and what is to be stacked, of any structure. It is recorded once, and must be pure.
    init : array_like, Tensor or structure of them
        The first carry.
    xs : array_like, Tensor or structure of them, optional
        Arrays of the same first extent, the number of iterations. With None `f` gets None, and `length` is needed.
    length : int, optional
        Number of iterations.
    reverse : bool, optional
        Whether the iterations go from the last element to the first. Results are stacked where their elements are.
    unroll : int, optional
        Accepted for the sake of JAX's programs, without effect.
    checkpoint : {"auto", "sqrt"} or int, optional
        Carries that the reverse sweep has in memory at a time: so many, the square root of twice the number of
        iterations, or by default all of them, up to 64 MB. From fewer carries than iterations it computes the others
        again: with "sqrt" each of them once at most.

    Returns
    -------
    carry
        The last carry, `init` if there are no iterations.
    ys
        Results of `f`, stacked along a new first axis.

    Raises
    ------
    TypeError
        If `f` returns no pair, or a carry of another structure, shape or dtype; the message names the leaf.
    ValueError
        If extents of `xs` differ, from each other or from `length`, or if there is neither.

    See Also
    --------
    fori_loop : The same with a counter and without results.
    while_loop : Iterations until a condition ends them.

    Notes
    -----
    On the tape a loop is one instruction, however many iterations it has. The reverse sweep runs the pullback of `f`
    from the last iteration to the first, each from the carry that it began with. So a gradient needs memory for the
    carries alone; what is computed in between is computed once more. With fewer carries than iterations these are
    chosen so that as few iterations as can be are run again [1]_. Where they take at most 16 MB, the forward run keeps
    the first choice of them, from which the reverse sweep begins; it has memory of its own for as many. Tensors that
    `f` takes from the function around it are differentiated by like arguments. A branch of `f` on a Tensor is recorded
    for each outcome that an iteration has. One kernel runs all iterations of a long loop whose body computes with few
    floats; other short bodies take several iterations at a time.

    Integers, booleans and complex numbers may be in the carry, in `xs` and in the results; integers must stay below
    2**53 in size.

    References
    ----------
    .. [1] A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical Software 26(1), 2000.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def compound(balance, rate):
    ...     balance = balance * (1 + rate)
    ...     return balance, balance
    >>> last, years = tg.scan(compound, 100.0, np.array([0.02, 0.01, 0.03]))
    >>> years
    Tensor([102.    , 103.02  , 106.1106])
    >>> tg.grad(lambda rates: tg.scan(compound, 100.0, rates)[0])(np.array([0.02, 0.01, 0.03]))
    array([104.03, 105.06, 103.02])
    """
    return scanned(f, init, xs, length, reverse, checkpoint)


def scanned(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: int | str = "auto",
    pulled_at_once: bool = False,
) -> tuple[Any, Any]:
    """Run a `scan`, whose pullback inside of recordings may be one instruction."""
    check_function("scan", f)
    leaves, structure = taken_apart(xs)
    sequences = [leaf_of(leaf) for leaf in leaves]
    count = _length(sequences, length)
    carry = Carry("scan", init)
    step = _ScanBody("scan", f, carry, structure)
    snapshots = snapshots_of("scan", checkpoint, count)
    run = FlatLoop(
        "scan", step, f, carry.count, count, bool(reverse), snapshots=snapshots, pulled_at_once=pulled_at_once
    )
    last, stacked = carry.run(run, sequences)
    return carry.built(last), step.structure.built(stacked)


def scan_with_retries(
    f: Callable[[Any, Any], tuple[Any, Any, Any]], going: Callable[[Any], Any], init: Any, xs: Any
) -> tuple[Any, Any, Any]:
    """Repeat ``carry, y, done = f(carry, x)`` with one element of `xs` until it is done, then with the next one.

    It ends after the last element, or before an iteration for which the number ``going(carry)`` is not positive.
    Return the last carry, how many elements are done, as a float, and the stacked `y` of these, nan of the others.
    """
    leaves, structure = taken_apart(xs)
    sequences = [leaf_of(leaf) for leaf in leaves]
    count = _length(sequences, None)

    def body(state: Any, x: Any) -> tuple[Any, Any]:
        carry, number = state
        carry, y, done = f(carry, x)
        number = stop_gradient(number)
        y = np.where(done, y, np.zeros((), y.dtype))  # in place of nan, which would be looked at once more
        return (carry, np.where(done, number + 1.0, number)), y

    def condition(*leaves: Any) -> list[Any]:
        carry, number = whole.built(leaves)
        return [np.minimum(going(carry), float(count) - number) > 0]

    whole = Carry("scan", (init, np.zeros(())))
    step = _ScanBody("scan", body, whole, structure)
    run = FlatLoop(
        "scan", step, f, whole.count, count, pulled_at_once=True, condition=condition, condition_seen=going,
        cursor=whole.count - 1,
    )  # fmt: skip
    last, (stacked,) = whole.run(run, sequences)
    return *whole.built(last), stacked


def _length(sequences: Sequence[Any], length: int | None) -> int:
    """Return the number of iterations."""
    for sequence in sequences:
        if sequence.ndim == 0:
            raise ValueError("scan: xs must be arrays with an axis to go along, but one is a number")
    extents = {sequence.shape[0] for sequence in sequences}
    if length is not None:
        extents.add(int(length))
    if len(extents) != 1:
        given = f"extents {', '.join(map(str, sorted(extents)))}" if extents else "neither xs nor length"
        raise ValueError(f"scan: the number of iterations must be one, but there are {given}")
    count = int(extents.pop())
    if count < 0:
        raise ValueError(f"scan: length={count} is negative")
    return count
