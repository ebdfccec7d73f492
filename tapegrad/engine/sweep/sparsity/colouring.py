"""Colours of the columns of a sparse matrix. Columns of one colour share a sweep.

*Distance two*: no two columns of a colour have an entry in the same row, so each entry is read where it stands (Curtis,
Powell, Reid 1974; Coleman, Moré 1983). *Star*: of a symmetric matrix, each entry can be read where it stands or where
its mirror image does, if neighbours differ in colour and every path of four vertices has at least three colours
(Gebremedhin, Tarafdar, Manne, Pothen, SIAM J. Sci. Comput. 29, 2007, algorithm 4.1).

All lists are of int64. A colour is -1 where there is none yet.
"""

from tapegrad.engine.codegen.translator.compiler import SPARSITY, entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64


@inline_njit
def _smallest(forbidden, vertex):
    """Return the smallest colour that is not forbidden to a vertex."""
    colour = 0
    while load_i64(forbidden, colour) == vertex:
        colour += 1
    return colour


@entry_point(group=SPARSITY)
def colour_columns(order, count, column_starts, rows, row_starts, columns, colours, forbidden):
    """Colour `count` columns by distance two, in an order.

    The rows of each column are listed, and the columns of each row. `forbidden` has an entry of -1 for each colour that
    there may be, and one more.
    """
    for k in range(count):
        column = load_i64(order, k)
        for p in range(load_i64(column_starts, column), load_i64(column_starts, column + 1)):
            row = load_i64(rows, p)
            for q in range(load_i64(row_starts, row), load_i64(row_starts, row + 1)):
                colour = load_i64(colours, load_i64(columns, q))
                if colour >= 0:
                    store_i64(forbidden, colour, column)
        store_i64(colours, column, _smallest(forbidden, column))


# Arrays of a star colouring, by their place in a list of addresses.
(
    NEIGHBOUR_STARTS,  # of the neighbours of each vertex
    NEIGHBOURS,
    MIRRORED,  # for each entry the place of the same edge among the neighbours of the other end
    COLOURS,
    FORBIDDEN,  # by colour the last vertex that may not have it
    FIRST_VERTEX,  # by colour the last vertex that has met a neighbour of it
    FIRST_EDGE,  # and the edge to the first such neighbour
    TREATED,  # by vertex the last vertex whose colours it has restricted
    STARS,  # by edge its star
    HUBS,  # by star its hub, -1 if either end of its one edge can be it
) = range(10)
STAR_ARRAYS = 10


@inline_njit
def _colour_of(arrays, vertex):
    return load_i64(load_i64(arrays, COLOURS), vertex)


@inline_njit
def _treat(arrays, vertex, through):
    """Forbid a vertex the colours of the neighbours of another one."""
    starts, neighbours = load_i64(arrays, NEIGHBOUR_STARTS), load_i64(arrays, NEIGHBOURS)
    for q in range(load_i64(starts, through), load_i64(starts, through + 1)):
        colour = _colour_of(arrays, load_i64(neighbours, q))
        if colour >= 0:
            store_i64(load_i64(arrays, FORBIDDEN), colour, vertex)
    store_i64(load_i64(arrays, TREATED), through, vertex)


@inline_njit
def _hub_of(arrays, edge):
    """Return the hub of the star of an edge between coloured vertices, -1 if either end can be it."""
    return load_i64(load_i64(arrays, HUBS), load_i64(load_i64(arrays, STARS), edge))


@inline_njit
def _forbid_hubs(arrays, vertex, through):
    """Forbid a vertex the colours of those neighbours of another one that are hubs of the star of their edge."""
    starts, neighbours = load_i64(arrays, NEIGHBOUR_STARTS), load_i64(arrays, NEIGHBOURS)
    for q in range(load_i64(starts, through), load_i64(starts, through + 1)):
        other = load_i64(neighbours, q)
        colour = _colour_of(arrays, other)
        if other != vertex and colour >= 0 and _hub_of(arrays, q) == other:
            store_i64(load_i64(arrays, FORBIDDEN), colour, vertex)


@inline_njit
def _forbid(arrays, vertex):
    """Forbid a vertex all colours that would make a path of four vertices with two colours."""
    starts, neighbours = load_i64(arrays, NEIGHBOUR_STARTS), load_i64(arrays, NEIGHBOURS)
    met_by, met_at = load_i64(arrays, FIRST_VERTEX), load_i64(arrays, FIRST_EDGE)
    for p in range(load_i64(starts, vertex), load_i64(starts, vertex + 1)):
        other = load_i64(neighbours, p)
        colour = _colour_of(arrays, other)
        if colour >= 0:
            store_i64(load_i64(arrays, FORBIDDEN), colour, vertex)
            if load_i64(met_by, colour) == vertex:
                first = load_i64(neighbours, load_i64(met_at, colour))
                if load_i64(load_i64(arrays, TREATED), first) != vertex:
                    _treat(arrays, vertex, first)
                _treat(arrays, vertex, other)
            else:
                store_i64(met_by, colour, vertex)
                store_i64(met_at, colour, p)
                _forbid_hubs(arrays, vertex, other)


@inline_njit
def _edge_of_colour(arrays, through, colour, but):
    """Return the edge from a vertex to a neighbour of a colour, other than one vertex; -1 if there is none."""
    starts, neighbours = load_i64(arrays, NEIGHBOUR_STARTS), load_i64(arrays, NEIGHBOURS)
    for q in range(load_i64(starts, through), load_i64(starts, through + 1)):
        other = load_i64(neighbours, q)
        if other != but and _colour_of(arrays, other) == colour:
            return q
    return -1


@inline_njit
def _join_stars(arrays, vertex, stars):
    """Put the edges from a vertex that has been coloured into stars; return the number of stars."""
    starts, neighbours = load_i64(arrays, NEIGHBOUR_STARTS), load_i64(arrays, NEIGHBOURS)
    met_by, met_at = load_i64(arrays, FIRST_VERTEX), load_i64(arrays, FIRST_EDGE)
    star_of, hubs = load_i64(arrays, STARS), load_i64(arrays, HUBS)
    for p in range(load_i64(starts, vertex), load_i64(starts, vertex + 1)):
        other = load_i64(neighbours, p)
        colour = _colour_of(arrays, other)
        if colour >= 0:
            edge = _edge_of_colour(arrays, other, _colour_of(arrays, vertex), vertex)
            first = load_i64(met_at, colour)
            if edge >= 0:
                star = load_i64(star_of, edge)
                store_i64(hubs, star, other)
            elif load_i64(met_by, colour) == vertex and first != p:
                star = load_i64(star_of, first)
                store_i64(hubs, star, vertex)
            else:
                star = stars
                store_i64(hubs, star, -1)
                stars += 1
            store_i64(star_of, p, star)
            store_i64(star_of, load_i64(load_i64(arrays, MIRRORED), p), star)
    return stars


@entry_point(group=SPARSITY)
def colour_stars(arrays, order, count):
    """Colour `count` vertices of a graph without loops so that two colours make stars alone."""
    stars = 0
    for k in range(count):
        vertex = load_i64(order, k)
        _forbid(arrays, vertex)
        colour = _smallest(load_i64(arrays, FORBIDDEN), vertex)
        store_i64(load_i64(arrays, COLOURS), vertex, colour)
        stars = _join_stars(arrays, vertex, stars)
