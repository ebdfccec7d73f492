"""Records of fits with a sparse Jacobian for compiled code.

Columns with the same rows are a *group*, and so are treated as one: the nine parameters of a camera, say. Groups have
an order of their own, in which those that are *eliminated* come first: no residual depends on two of them, so they are
the blocks of a block-diagonal part of J^T J. What is left after their elimination, the Schur complement, is factored by
fronts (`engine.kernels.fronts`).

J^T J is one vector. It begins with the lower triangle of each eliminated block, row by row; then each of these has a
*panel*: a row for each of its columns, over the columns of the other groups that it meets. The rest are the lower
triangle's blocks of the other groups: of a group with itself as a triangle, row by row; of two groups as a rectangle,
with a row for each column of the earlier group. L and the Schur complement are laid out alike.
"""

from typing import NamedTuple

from tapegrad.optimize.native.loops import fit_fields as fields


class SparseFitFields(NamedTuple):
    """Record of a fit of `n` residuals by `k` parameters; of what `FitFields` has, the same."""

    n: int
    k: int
    session: (
        int  # evaluates the residuals at `trial` to `values`, and the entries of the Jacobian to `entries`
    )
    x: int
    trial: int
    values: int
    r: int
    entries: int
    matrix: int  # entries of the Jacobian at `x`, rescaled for a robust loss
    starts: int  # (n + 1,) int32: where the rows of the Jacobian begin among its entries
    columns: int  # int32, of each entry
    factors: int
    curvatures: int
    along: int
    gradient: int
    slopes: int  # (k,), gradient of the free parameters where a step begins
    scale: int
    lower: int
    upper: int
    step: int
    free: int
    held: int  # (k,) integers: whether a parameter is held
    scratch: int
    system: int  # record of the linear system
    counts: int  # integers, as those of `fit_fields`, then OUT_OF_MEMORY
    settings: int
    loss: int
    scaled: int
    bounded: int


class SystemFields(NamedTuple):
    """Record of the damped normal equations of `k` parameters.

    `eliminated` is the number of groups that are, `inner` that of their columns.
    """

    k: int
    eliminated: int
    inner: int
    classes: int  # of rows with the same columns
    loops: int  # table of the library's routines
    plan: int  # of the Schur complement's factor
    elements: int  # of the vector of J^T J
    panels: int  # where the panels begin in that vector
    rest: int  # where the other blocks begin
    products: int  # J^T J
    reduced: int  # the same vector: L of the eliminated blocks, L^-1 times panels, Schur complement
    factor: int  # of the Schur complement
    added: int  # (k,), to the diagonal
    right: int  # (k,), a right-hand side, and then the solution; in the order of groups
    order: int  # (k,) integers: the parameter of each column in the order of groups
    first: int  # the first column of each group, and the end of the last
    class_rows: int  # (classes + 1,): where the rows of a class begin in `rows`
    rows: int  # int32
    class_groups: int  # (classes + 1,): where the groups of a class begin in `groups`
    groups: int
    class_entries: int  # (classes + 1,): where the columns of a class begin in `places`
    places: int  # int32: the place of a column, in the order of groups, among the entries of a row
    targets: int  # for each pair of groups of a class: the block of J^T J
    strides: int  # int32, its row length; 0 for a triangle
    gathered: int  # entries of some rows, by class in the order of groups
    blocks: int  # (eliminated + 1,): where the triangle of a block begins
    own_panels: int  # (eliminated + 1,): where the panel of a block begins, from `panels` on
    members: int  # (eliminated + 1,): where the groups that a block meets begin in `met`
    met: int
    pair_starts: int  # (eliminated + 1,): where the pairs of these begin in `pair_targets`
    pair_targets: int  # for each pair: its block, from `rest` on
    diagonal: int  # for each column, in the order of groups: its element


# Counts: whether memory ran out; steps since J^T J was last tried without damping, and how many it is not to be
OUT_OF_MEMORY, WAITED, PAUSE = range(fields.FACTORED + 1, fields.FACTORED + 4)
BASE = fields.SHARE + 1  # setting: damping that every step has, where J^T J is not safely definite
