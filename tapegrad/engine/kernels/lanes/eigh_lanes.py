"""Eigenvalues and eigenvectors of small symmetric matrices, as many at once as there are lanes.

The tridiagonal matrices of `tridiagonal_lanes` are made diagonal by implicit QL or QR steps with Wilkinson's shift
(Parlett 1998, "The symmetric eigenvalue problem", chapter 8). Steps and choices are those of LAPACK's `dsyevd` for few
rows, so that vectors have the same signs. Each lane is at an index of its own: `where` keeps the numbers that it must
not change. QR steps are QL steps of the mirrored matrix.
"""

from typing import Any

from tapegrad.engine.kernels.lanes.lane_blocks import exchange, is_ordinary, scatter_all, turn
from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    below,
    equal,
    lanes_at,
    less,
    put_lanes,
    roots,
    same,
    sizes,
    spread,
    unless,
    where,
    with_signs_of,
)
from tapegrad.engine.kernels.lanes.tridiagonal_lanes import (
    STATES,
    at_beside,
    at_diagonal,
    at_states,
    at_vectors,
    gather_symmetric,
    tridiagonalize,
)
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import size_of

MAX_ROWS = 8
_STEPS = 30  # limit for each eigenvalue
_START, _FIRST, _END, _MIRRORED, _SPLIT = range(STATES)


@always_inline
def _inside(first: Any, i: int, end: Any, zero: Any) -> Any:
    """Return the lanes where `i` is not before the first index, and before the end."""
    return unless(below(spread(i, zero), first)) & below(spread(i, zero), end)


# --- parts that fall apart -------------------------------------------------------------------------------------


@noinline
def _picked(block: int, begin: int, count: int, index: Any, otherwise: Any, zero: Any) -> Any:
    """Return the number at the index of each lane if the index is in range, else `otherwise`."""
    found = otherwise
    for i in range(count):
        found = where(equal(index, spread(i, zero)), lanes_at(block, begin + i, zero), found)
    return found


@noinline
def _mirror(block: int, n: int, vectors: int, mask: Any, zero: Any) -> None:
    """Mirror matrices, exchanging their ends, in lanes with a 1."""
    none = spread(0, zero)
    for i in range(n // 2):
        other = n - 1 - i
        exchange(block, at_diagonal(n) + i, at_diagonal(n) + other, 1, none, mask, zero)
        if vectors:
            exchange(block, at_vectors(n) + n * i, at_vectors(n) + n * other, n, none, mask, zero)
    for i in range((n - 1) // 2):
        exchange(block, at_beside(n) + i, at_beside(n) + n - 2 - i, 1, none, mask, zero)


@noinline
def _begin_parts(block: int, n: int, vectors: int, rounding: Any, zero: Any) -> None:
    """Begin the next unreduced part of each lane, if there is one, with its smaller end first."""
    none, one, states = spread(0, zero), spread(1, zero), at_states(n)
    start, mirrored = lanes_at(block, states + _START, zero), lanes_at(block, states + _MIRRORED, zero)
    first, end = lanes_at(block, states + _FIRST, zero), lanes_at(block, states + _END, zero)
    fresh, last = below(start, spread(n, zero)), spread(n - 1, zero)
    if anywhere(less(none, mirrored)):
        _mirror(block, n, vectors, mirrored, zero)
    for step in range(n - 1):
        i = n - 2 - step
        one_, other = lanes_at(block, at_diagonal(n) + i, zero), lanes_at(block, at_diagonal(n) + i + 1, zero)
        near = roots(sizes(one_)) * roots(sizes(other)) * rounding
        small = unless(below(near, sizes(lanes_at(block, at_beside(n) + i, zero))))
        last = where(small & _inside(start, i, last, zero), spread(i, zero), last)
    for i in range(n - 1):
        apart = fresh & same(last, spread(i, zero))
        put_lanes(block, at_beside(n) + i, where(apart, none, lanes_at(block, at_beside(n) + i, zero)))
    at_start = sizes(_picked(block, at_diagonal(n), n, start, none, zero))
    at_last = sizes(_picked(block, at_diagonal(n), n, last, none, zero))
    turned = fresh & below(at_last, at_start)
    begin = where(turned, spread(n - 1, zero) - last, start)
    put_lanes(block, states + _FIRST, where(fresh, begin, first))
    put_lanes(block, states + _END, where(fresh, begin + last - start, end))
    put_lanes(block, states + _START, where(fresh, last + one, start))
    mirrored = where(turned, one, none)
    put_lanes(block, states + _MIRRORED, mirrored)
    _mirror(block, n, vectors, mirrored, zero)


@always_inline
def _is_small(block: int, n: int, i: int, rounding: Any, zero: Any) -> Any:
    """Return the lanes where the off-diagonal number at i is negligible: the matrix splits there."""
    beside = lanes_at(block, at_beside(n) + i, zero)
    one, other = lanes_at(block, at_diagonal(n) + i, zero), lanes_at(block, at_diagonal(n) + i + 1, zero)
    least = spread(2.0**-1022 if size_of(zero) == 8 else 2.0**-126, zero)
    near = rounding * rounding * sizes(one) * sizes(other) + least
    return unless(below(near, beside * beside))


@noinline
def _split(block: int, n: int, rounding: Any, zero: Any) -> None:
    """Advance past finished eigenvalues, and write the end of the unreduced part that begins there."""
    none, one, states = spread(0, zero), spread(1, zero), at_states(n)
    first, end = lanes_at(block, states + _FIRST, zero), lanes_at(block, states + _END, zero)
    for i in range(n):
        number = spread(i, zero)
        done = same(first, number) & same(end, number)
        if i < n - 1:
            apart = _inside(first, i, end, zero) & _is_small(block, n, i, rounding, zero)
            put_lanes(block, at_beside(n) + i, where(apart, none, lanes_at(block, at_beside(n) + i, zero)))
            done = done | apart & same(first, number)
        first = where(done, first + one, first)
    put_lanes(block, states + _FIRST, first)
    split = end
    for step in range(n - 1):
        i = n - 2 - step
        apart = same(lanes_at(block, at_beside(n) + i, zero), none) & _inside(first, i, end, zero)
        split = where(apart, spread(i, zero), split)
    put_lanes(block, states + _SPLIT, split)


# --- steps -----------------------------------------------------------------------------------------------------


@always_inline
def _two_by_two(a: Any, b: Any, c: Any, zero: Any) -> tuple[Any, Any, Any, Any]:
    """Return the eigenvalues of ``[[a, b], [b, c]]``, the larger one first, and cosine and sine of its vector."""
    none, one = spread(0, zero), spread(1, zero)
    total, apart, twice = a + c, sizes(a - c), b + b
    root = roots(apart * apart + twice * twice)
    large, small = where(less(sizes(c), sizes(a)), a, c), where(less(sizes(c), sizes(a)), c, a)
    first = spread(0.5, zero) * (total + where(less(total, none), none - root, root))
    divisor = where(equal(first, none), one, first)
    second = (large / divisor) * small - (b / divisor) * b
    second = where(equal(total, none), none - first, second)
    side = a - c + where(less(a, c), none - root, root)
    steep = less(sizes(twice), sizes(side))
    ratio = where(steep, none - twice, none - side) / where(
        equal(where(steep, side, twice), none), one, where(steep, side, twice)
    )
    length = one / roots(one + ratio * ratio)
    cosine, sine = where(steep, ratio * length, length), where(steep, length, ratio * length)
    swapped = where(less(total, none), less(a, c), unless(less(a, c)))
    return first, second, where(swapped, none - sine, cosine), where(swapped, cosine, sine)


@noinline
def _finish_pairs(block: int, n: int, vectors: int, zero: Any) -> None:
    """Diagonalize isolated pairs by one rotation."""
    none, one, states = spread(0, zero), spread(1, zero), at_states(n)
    first, mirrored = (
        lanes_at(block, states + _FIRST, zero),
        below(none, lanes_at(block, states + _MIRRORED, zero)),
    )
    pairs = same(lanes_at(block, states + _SPLIT, zero), first + one)
    upper = _picked(block, at_diagonal(n), n, first, one, zero)
    lower = _picked(block, at_diagonal(n), n, first + one, one, zero)
    beside = _picked(block, at_beside(n), n - 1, first, none, zero)
    a, c = where(mirrored, lower, upper), where(mirrored, upper, lower)
    large, small, cosine, sine = _two_by_two(a, beside, c, zero)
    upper, lower = where(mirrored, small, large), where(mirrored, large, small)
    sine = where(mirrored, none - sine, sine)
    for i in range(n - 1):
        here, d = pairs & same(first, spread(i, zero)), at_diagonal(n) + i
        put_lanes(block, d, where(here, upper, lanes_at(block, d, zero)))
        put_lanes(block, d + 1, where(here, lower, lanes_at(block, d + 1, zero)))
        put_lanes(block, at_beside(n) + i, where(here, none, lanes_at(block, at_beside(n) + i, zero)))
        column = at_vectors(n) + n * i
        c, s = where(here, cosine, one), where(here, sine, none)
        if vectors:
            turn(block, column + n, column, n, c, s, zero)
    put_lanes(block, states + _FIRST, where(pairs, first + spread(2, zero), first))


@always_inline
def _shifted(block: int, n: int, first: Any, end: Any, zero: Any) -> Any:
    """Return the start of a step: the last diagonal element minus Wilkinson's shift of the first two."""
    none, one = spread(0, zero), spread(1, zero)
    p = _picked(block, at_diagonal(n), n, first, none, zero)
    following = _picked(block, at_diagonal(n), n, first + one, none, zero)
    beside = _picked(block, at_beside(n), n - 1, first, one, zero)
    beside = where(equal(beside, none), one, beside)
    g = (following - p) / (beside + beside)
    g = g + with_signs_of(roots(g * g + one), g)
    return _picked(block, at_diagonal(n), n, end, none, zero) - p + beside / g


@noinline
def _step(block: int, n: int, vectors: int, zero: Any) -> None:
    """Apply an implicit QL step from the end to the first index, in lanes with more than two rows."""
    none, one, states = spread(0, zero), spread(1, zero), at_states(n)
    first, end = lanes_at(block, states + _FIRST, zero), lanes_at(block, states + _SPLIT, zero)
    mask = below(first + one, end)
    g, s, c, p = _shifted(block, n, first, end, zero), one, one, none
    for back in range(n - 1):
        i = n - 2 - back
        here, d, e = mask & _inside(first, i, end, zero), at_diagonal(n) + i, at_beside(n) + i
        if not anywhere(here):
            continue
        f, b = s * lanes_at(block, e, zero), c * lanes_at(block, e, zero)
        length = roots(f * f + g * g)
        r, nothing = with_signs_of(length, g), equal(length, none)
        new_c, new_s = where(nothing, one, sizes(g) / length), where(nothing, none, f / r)
        following = here & below(spread(i + 1, zero), end)
        put_lanes(block, e + 1, where(following, r, lanes_at(block, e + 1, zero)))
        lead = lanes_at(block, d + 1, zero) - p
        r = (lanes_at(block, d, zero) - lead) * new_s + (new_c + new_c) * b
        put_lanes(block, d + 1, where(here, lead + new_s * r, lanes_at(block, d + 1, zero)))
        c, s, p = where(here, new_c, c), where(here, new_s, s), where(here, new_s * r, p)
        g = where(here, new_c * r - b, g)
        column = at_vectors(n) + n * i
        if vectors:
            turn(block, column, column + n, n, where(here, c, one), where(here, s, none), zero)
        at_first = here & same(first, spread(i, zero))
        put_lanes(block, d, where(at_first, lanes_at(block, d, zero) - p, lanes_at(block, d, zero)))
        put_lanes(block, e, where(at_first, g, lanes_at(block, e, zero)))


@noinline
def _diagonalize(block: int, n: int, vectors: int, zero: Any) -> bool:
    """Make the tridiagonal matrices diagonal, and rotate the vectors if wanted; return whether it converged."""
    none, states = spread(0, zero), at_states(n)
    rounding = spread(2.0**-53 if size_of(zero) == 8 else 2.0**-24, zero)
    for state in range(STATES):
        put_lanes(block, states + state, none)
    put_lanes(block, states + _FIRST, spread(1, zero))
    for _ in range(_STEPS * n):
        _split(block, n, rounding, zero)
        first, end = lanes_at(block, states + _FIRST, zero), lanes_at(block, states + _SPLIT, zero)
        if anywhere(less(first + spread(1, zero), end)):
            _step(block, n, vectors, zero)
        elif anywhere(less(first, end)):
            _finish_pairs(block, n, vectors, zero)
        elif anywhere(less(lanes_at(block, states + _START, zero), spread(n, zero))):
            _begin_parts(block, n, vectors, rounding, zero)
        else:
            _mirror(block, n, vectors, lanes_at(block, states + _MIRRORED, zero), zero)
            return True
    return False


@noinline
def _sort(block: int, n: int, vectors: int, zero: Any) -> None:
    """Sort eigenvalues in ascending order, with their vectors."""
    for i in range(n):
        for j in range(i + 1, n):
            a, b = lanes_at(block, at_diagonal(n) + i, zero), lanes_at(block, at_diagonal(n) + j, zero)
            if vectors:
                exchange(block, at_vectors(n) + n * i, at_vectors(n) + n * j, n, b, a, zero)
            exchange(block, at_diagonal(n) + i, at_diagonal(n) + j, 1, b, a, zero)


@noinline
def decompose_block(block: int, x: int, y: int, last: int, p: Any, zero: Any) -> bool:
    """Write eigenvalues and, if wanted, eigenvectors as rows of a block; return False to leave it to LAPACK."""
    n, stride = p.n, (p.n + p.n * p.n) * size_of(zero)
    gather_symmetric(x, n, p.lower, last, block, zero)
    if not is_ordinary(block, n * n, zero):
        return False
    tridiagonalize(block, n, p.lower, p.vectors, zero)
    if not _diagonalize(block, n, p.vectors, zero):
        return False
    _sort(block, n, p.vectors, zero)
    scatter_all(block + at_diagonal(n) * LANE_BYTES, n, y, stride, last, zero)
    if p.vectors:
        scatter_all(block + at_vectors(n) * LANE_BYTES, n * n, y + n * size_of(zero), stride, last, zero)
    return True
