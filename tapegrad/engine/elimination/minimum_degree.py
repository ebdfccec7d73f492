"""Order of elimination by approximate minimum degree (Amestoy, Davis, Duff 1996).

The quotient graph has variables, which are not eliminated yet, and elements, each a clique that an eliminated pivot
has left. The list of a variable has its elements first, then the variables that no element joins it with; that of an
element has variables. Variables with equal lists are one, with a weight. The degree of a variable is bounded by the sum
over its elements of what each has outside of the newest one.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64

LISTS_PER_VERTEX = 12


class QuotientGraph(NamedTuple):
    """Addresses of the lists of the quotient graph, each with an integer for each vertex.

    Attributes
    ----------
    n
        Number of vertices.
    start, length
        Where the list of a variable or an element begins, -1 for one that is no more; and its length.
    elements
        How many of a variable's list are elements.
    weight
        Number of vertices that a variable stands for, 0 for an element and for what is part of another variable;
        negative while the variable is in the newest element.
    degree
        Bound of the degree of a variable, weight of the variables of an element.
    stamp
        What an element has outside of the newest one, plus the number of the pass.
    head, following, previous
        Variables of each degree, a list linked in both directions.
    hashed
        The first variable of each hash value.
    member, last
        Vertices that a variable stands for, as a linked list: the one after each, and the last.
    """

    n: int
    start: int
    length: int
    elements: int
    weight: int
    degree: int
    stamp: int
    head: int
    following: int
    previous: int
    hashed: int
    member: int
    last: int


@inline_njit
def _graph(n: int, lists: int) -> QuotientGraph:
    step = 8 * n
    return QuotientGraph(
        n, lists, lists + step, lists + 2 * step, lists + 3 * step, lists + 4 * step, lists + 5 * step,
        lists + 6 * step, lists + 7 * step, lists + 8 * step, lists + 9 * step, lists + 10 * step, lists + 11 * step,
    )  # fmt: skip


@inline_njit
def _insert(g: QuotientGraph, i: int, degree: int) -> None:
    """Enter a variable into the list of its degree."""
    first = load_i64(g.head, degree)
    store_i64(g.following, i, first)
    store_i64(g.previous, i, -1)
    if first != -1:
        store_i64(g.previous, first, i)
    store_i64(g.head, degree, i)
    store_i64(g.degree, i, degree)


@inline_njit
def _remove(g: QuotientGraph, i: int) -> None:
    """Take a variable out of the list of its degree."""
    after, before = load_i64(g.following, i), load_i64(g.previous, i)
    if after != -1:
        store_i64(g.previous, after, before)
    if before != -1:
        store_i64(g.following, before, after)
    else:
        store_i64(g.head, load_i64(g.degree, i), after)


@inline_njit
def _join(g: QuotientGraph, i: int, j: int) -> None:
    """Make variable j a part of variable i."""
    store_i64(g.weight, j, 0)
    store_i64(g.start, j, -1)
    store_i64(g.member, load_i64(g.last, i), j)
    store_i64(g.last, i, load_i64(g.last, j))


@entry_point()
def minimum_degree(
    n: int, starts: int, neighbours: int, order: int, lists: int, room: int, other: int
) -> int:
    """Write the vertices of a graph in an order with little fill; return their number.

    `neighbours` has both directions of each edge, and no loops. `lists` is scratch, `LISTS_PER_VERTEX` integers for
    each vertex; `room` and `other` are lists of twice as many integers as `neighbours` has, plus n.
    """
    g, count = _graph(n, lists), load_i64(starts, n)
    size, free = 2 * count + n, count
    for i in range(n):
        store_i64(g.head, i, -1)
        store_i64(g.hashed, i, -1)
    for k in range(count):
        store_i64(room, k, load_i64(neighbours, k))
    for i in range(n):
        length = load_i64(starts, i + 1) - load_i64(starts, i)
        store_i64(g.start, i, load_i64(starts, i))
        store_i64(g.length, i, length)
        store_i64(g.elements, i, 0)
        store_i64(g.weight, i, 1)
        store_i64(g.stamp, i, 0)
        store_i64(g.member, i, -1)
        store_i64(g.last, i, i)
        _insert(g, i, length)
    listed, done, smallest, mark = 0, 0, 0, 1
    while done < n:
        while load_i64(g.head, smallest) == -1:
            smallest += 1
        pivot = load_i64(g.head, smallest)
        _remove(g, pivot)
        if size - free < load_i64(g.degree, pivot):
            free = _compress(g, room, other)
            room, other = other, room
        done += load_i64(g.weight, pivot)
        end = _form_element(g, pivot, room, free)
        _count_outside(g, room, free, end, mark)
        weight = _update(g, pivot, room, free, end, mark)
        done += weight
        _join_equal(g, room, free, end)
        mark += 2 * n + 2
        free, least = _finish(g, pivot, room, free, end, n - done)
        smallest = min(smallest, least)
        vertex = pivot
        while vertex != -1:
            store_i64(order, listed, vertex)
            listed += 1
            vertex = load_i64(g.member, vertex)
    return listed


@inline_njit
def _compress(g: QuotientGraph, room: int, other: int) -> int:
    """Copy all lists one after the other to other memory; return their length."""
    place = 0
    for i in range(g.n):
        start = load_i64(g.start, i)
        if start != -1:
            store_i64(g.start, i, place)
            for k in range(load_i64(g.length, i)):
                store_i64(other, place, load_i64(room, start + k))
                place += 1
    return place


@inline_njit
def _take(g: QuotientGraph, i: int, room: int, place: int) -> int:
    """Append a variable to the newest element unless it is there, or is no more; return the place after it."""
    weight = load_i64(g.weight, i)
    if weight <= 0:
        return place
    store_i64(g.weight, i, -weight)
    store_i64(room, place, i)
    _remove(g, i)
    return place + 1


@inline_njit
def _form_element(g: QuotientGraph, pivot: int, room: int, free: int) -> int:
    """Append the variables of a pivot, and those of its elements, to the lists; return the place after the last."""
    start, elements, length = (
        load_i64(g.start, pivot),
        load_i64(g.elements, pivot),
        load_i64(g.length, pivot),
    )
    store_i64(g.weight, pivot, -load_i64(g.weight, pivot))  # it is not a variable of its element
    place = free
    for k in range(elements):
        element = load_i64(room, start + k)
        begin = load_i64(g.start, element)
        for p in range(load_i64(g.length, element)):
            place = _take(g, load_i64(room, begin + p), room, place)
        store_i64(g.start, element, -1)
    for k in range(elements, length):
        place = _take(g, load_i64(room, start + k), room, place)
    store_i64(g.weight, pivot, 0)
    return place


@inline_njit
def _count_outside(g: QuotientGraph, room: int, begin: int, end: int, mark: int) -> None:
    """Write what each element has outside of the newest one, plus `mark`."""
    for p in range(begin, end):
        i = load_i64(room, p)
        start, weight = load_i64(g.start, i), -load_i64(g.weight, i)
        for k in range(load_i64(g.elements, i)):
            element = load_i64(room, start + k)
            if load_i64(g.start, element) == -1:
                continue
            stamp = load_i64(g.stamp, element)
            if stamp < mark:
                stamp = load_i64(g.degree, element) + mark
            store_i64(g.stamp, element, stamp - weight)


@inline_njit
def _update(g: QuotientGraph, pivot: int, room: int, begin: int, end: int, mark: int) -> int:
    """Renew lists, degrees and hash values of the variables of the newest element.

    Variables without any other neighbour are eliminated with the pivot: return their weight.
    """
    weight = 0
    for p in range(begin, end):
        i = load_i64(room, p)
        degree, hashed = _renew_list(g, i, pivot, room, mark)
        if degree == 0:
            weight -= load_i64(g.weight, i)
            _join(g, pivot, i)
        else:
            store_i64(g.degree, i, min(load_i64(g.degree, i), degree))
            value = hashed % g.n
            store_i64(g.previous, i, value)
            store_i64(g.following, i, load_i64(g.hashed, value))
            store_i64(g.hashed, value, i)
    return weight


@inline_njit
def _renew_list(g: QuotientGraph, i: int, pivot: int, room: int, mark: int) -> tuple[int, int]:
    """Drop what is no more or within the newest element, and enter that; return degree outside of it and hash."""
    start, elements, length = load_i64(g.start, i), load_i64(g.elements, i), load_i64(g.length, i)
    degree, hashed, place = 0, pivot, start
    # the pivot's element comes first: its place is that of something that is dropped
    held = pivot
    for k in range(elements):
        element = load_i64(room, start + k)
        if load_i64(g.start, element) == -1:
            continue
        outside = load_i64(g.stamp, element) - mark
        if outside > 0:
            degree += outside
            hashed += element
            store_i64(room, place, held)
            held = element
            place += 1
        else:
            store_i64(g.start, element, -1)
    kept = place + 1
    first_variable = load_i64(room, start + elements) if elements < length else -1
    next_held = first_variable
    store_i64(room, place, held)
    place += 1
    for k in range(elements, length):
        variable = next_held
        next_held = load_i64(room, start + k + 1) if k + 1 < length else -1
        weight = load_i64(g.weight, variable)
        if weight > 0:
            degree += weight
            hashed += variable
            store_i64(room, place, variable)
            place += 1
    store_i64(g.elements, i, kept - start)
    store_i64(g.length, i, place - start)
    return degree, hashed


@inline_njit
def _join_equal(g: QuotientGraph, room: int, begin: int, end: int) -> None:
    """Join variables of the newest element that have the same list."""
    for p in range(begin, end):
        i = load_i64(room, p)
        if load_i64(g.weight, i) == 0:
            continue
        value = load_i64(g.previous, i)
        i = load_i64(g.hashed, value)
        store_i64(g.hashed, value, -1)
        while i != -1:
            _join_with(g, i, room)
            i = load_i64(g.following, i)


@inline_njit
def _join_with(g: QuotientGraph, i: int, room: int) -> None:
    """Join the variables after i in its list of equal hash values with it, if their lists are equal."""
    j, before = load_i64(g.following, i), i
    start, length = load_i64(g.start, i), load_i64(g.length, i)
    while j != -1:
        after = load_i64(g.following, j)
        is_equal = load_i64(g.length, j) == length and load_i64(g.elements, j) == load_i64(g.elements, i)
        if is_equal:
            is_equal = _same_sets(room, start, load_i64(g.start, j), length)
        if is_equal:
            store_i64(g.weight, i, load_i64(g.weight, i) + load_i64(g.weight, j))
            _join(g, i, j)
            store_i64(g.following, before, after)
        else:
            before = j
        j = after


@inline_njit
def _same_sets(room: int, one: int, other: int, length: int) -> bool:
    """Return whether two lists without repetitions have the same numbers."""
    for k in range(length):
        value, p = load_i64(room, one + k), 0
        # most are at the same place
        if load_i64(room, other + k) != value:
            while p < length and load_i64(room, other + p) != value:
                p += 1
            if p == length:
                return False
    return True


@inline_njit
def _finish(g: QuotientGraph, pivot: int, room: int, begin: int, end: int, left: int) -> tuple[int, int]:
    """Make the pivot an element; return the place after its list, and the smallest degree of its variables."""
    place, total, least = begin, 0, g.n
    for p in range(begin, end):
        weight = -load_i64(g.weight, load_i64(room, p))
        if weight > 0:
            total += weight
    for p in range(begin, end):
        i = load_i64(room, p)
        weight = -load_i64(g.weight, i)
        if weight > 0:
            store_i64(g.weight, i, weight)
            degree = max(min(load_i64(g.degree, i) + total - weight, left - weight), 0)
            _insert(g, i, degree)
            least = min(least, degree)
            store_i64(room, place, i)
            place += 1
    store_i64(g.start, pivot, begin if place > begin else -1)
    store_i64(g.length, pivot, place - begin)
    store_i64(g.degree, pivot, total)
    return place, least
