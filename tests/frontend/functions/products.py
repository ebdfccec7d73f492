"""Cases of products: of vectors, matrices, stacks of them, and by subscripts."""

from typing import Any

import numpy as np

from helpers.functions import Case, case, normal


def subscripts(text: str, *shapes: tuple[int, ...], **arguments: Any) -> Case:
    """A case of `einsum`."""
    return case(
        "einsum", lambda xp, *xs: xp.einsum(text, *xs, **arguments), *(normal(*shape) for shape in shapes)
    )


def of_two(name: str, *shapes: tuple[int, ...], **arguments: Any) -> Case:
    """A case of a function of two operands."""
    return case(
        name, lambda xp, x, y: getattr(xp, name)(x, y, **arguments), *(normal(*shape) for shape in shapes)
    )


def of_linalg(name: str, *shapes: tuple[int, ...], **arguments: Any) -> Case:
    """A case of a function of numpy.linalg."""
    return case(
        f"linalg.{name}",
        lambda xp, *xs: getattr(xp.linalg, name)(*xs, **arguments),
        *(normal(*shape) for shape in shapes),
    )


def norm(*shape: int, **arguments: Any) -> Case:
    return of_linalg("norm", shape, **arguments)


CASES = [
    subscripts("ij,jk", (2, 3), (3, 4)),
    subscripts("ij,jk->ki", (2, 3), (3, 4)),
    subscripts("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    subscripts("ijb,jkb->ikb", (2, 3, 2), (3, 2, 2)),
    subscripts("ijkl,klmn->ijmn", (2, 1, 2, 3), (2, 3, 1, 2)),
    subscripts("ii", (3, 3)),
    subscripts("ii->i", (3, 3)),
    subscripts("iji->ij", (2, 3, 2)),
    subscripts("iij,jk->ik", (2, 2, 3), (3, 2)),
    subscripts("ba", (2, 3)),
    subscripts("ij->", (2, 3)),
    subscripts("i,j", (2,), (3,)),
    subscripts(",ij->ji", (), (2, 3)),
    subscripts("ij,ij->i", (3, 2), (3, 2)),
    subscripts("ij,ij", (1, 3), (2, 3)),
    subscripts("ij,jk", (2, 1), (3, 2)),
    subscripts("...ij,...jk", (2, 2, 3), (3, 2)),
    subscripts("...,...", (3, 1), (2,)),
    subscripts("i...->...", (2, 3)),
    subscripts("b...i,...i->...b", (2, 3, 2), (1, 2)),
    subscripts("i,ij,j->", (2,), (2, 3), (3,)),
    subscripts("i,ij,j->", (2,), (2, 3), (3,), optimize=["einsum_path", (0, 2), (0, 1)]),
    subscripts("ab,bc,cd->ad", (2, 3), (3, 2), (2, 3), optimize="optimal"),
    subscripts("i,i,i->i", (3,), (3,), (3,)),
    subscripts("ij,jk->ik", (2, 0), (0, 3)),
    subscripts("ij,jk->ik", (0, 2), (2, 3)),
    subscripts("ij,jk->ik", (2, 3), (3, 2), order="F"),
    case("einsum", lambda xp, x, y: xp.einsum(x, [0, 1], y, [1, 2]), (2, 3), (3, 2)),
    case("einsum", lambda xp, x: xp.einsum(x, [..., 7, 3], [3, ...]), (2, 3, 2)),
    case("einsum", lambda xp, x: xp.einsum("ij,jk", x, np.ones((3, 2))), (2, 3)),
    case("einsum", lambda xp, x: xp.einsum("i,j", x, [1, 2]), (3,)),
    of_two("tensordot", (2, 3, 2), (3, 2, 2)),
    of_two("tensordot", (2, 3), (3, 2), axes=1),
    of_two("tensordot", (2,), (3, 2), axes=0),
    of_two("tensordot", (2, 3, 4), (4, 2, 3), axes=([0, 1], [-2, 2])),
    of_two("tensordot", (2, 3), (3, 2), axes=(-1, 0)),
    of_two("tensordot", (2, 0), (0, 3), axes=1),
    of_two("dot", (3,), (3,)),
    of_two("dot", (2, 3), (3,)),
    of_two("dot", (2, 3), (2, 3, 2)),
    of_two("dot", (), (2, 3)),
    case("dot", lambda xp, x, y: x.dot(y), (2, 3), (3, 2)),
    of_two("inner", (3,), (3,)),
    of_two("inner", (2, 3), (2, 1, 3)),
    of_two("inner", (2, 3), ()),
    of_two("vdot", (2, 3), (3, 2)),
    of_two("outer", (2,), (2, 2)),
    of_two("outer", (), (0,)),
    of_two("kron", (2, 2), (3,)),
    of_two("kron", (3,), (2, 1, 2)),
    of_two("kron", (), (2,)),
    of_two("matmul", (2, 3), (3,)),
    of_two("matmul", (3, 2, 4), (3, 4, 2), axes=[(1, 2), (1, 2), (2, 0)]),
    of_two("matmul", (3,), (3, 2), axes=[0, (0, 1), 0]),
    of_two("matmul", (2, 3), (3, 2), dtype=np.float64, casting="same_kind", order="F"),
    of_two("vecdot", (3,), (3,)),
    of_two("vecdot", (2, 3), (3,)),
    of_two("vecdot", (3,), (4, 2, 3)),
    of_two("vecdot", (2, 1, 3), (4, 3)),
    of_two("vecdot", (3, 2), (3, 1), axis=0),
    of_two("vecdot", (3, 2), (2, 3), axes=[0, 1, 0], keepdims=True),
    of_two("matvec", (2, 3), (3,)),
    of_two("matvec", (2, 3), (4, 3)),
    of_two("matvec", (3, 2), (3,), axes=[(1, 0), 0, 0]),
    of_two("vecmat", (2, 3), (3, 2)),
    of_two("vecmat", (3,), (2, 3, 2)),
    of_two("cross", (3,), (3,)),
    of_two("cross", (2, 1, 3), (4, 3)),
    of_two("cross", (3, 2), (3, 2), axis=0),
    of_two("cross", (3, 2), (2, 3), axisa=0, axisc=0),
    case("trace", lambda xp, x: xp.trace(x), (3, 3)),
    case("trace", lambda xp, x: xp.trace(x, 1), (2, 3)),
    case("trace", lambda xp, x: xp.trace(x, -1, axis1=2, axis2=0), (2, 2, 3)),
    case("trace", lambda xp, x: xp.trace(x, 5), (2, 3)),
    case("trace", lambda xp, x: xp.trace(x, dtype=np.float32), (2, 2), derivatives=0, tolerance=1e-6),
    case("trace", lambda xp, x: x.trace(), (3, 2)),
    of_linalg("outer", (2,), (3,)),
    of_linalg("cross", (2, 3), (3,)),
    of_linalg("cross", (3, 2), (3, 2), axis=0),
    of_linalg("trace", (2, 3, 3)),
    of_linalg("trace", (2, 3), offset=-1),
    of_linalg("diagonal", (2, 3, 2)),
    of_linalg("diagonal", (3, 3), offset=1),
    of_linalg("matrix_transpose", (2, 3, 2)),
    of_linalg("tensordot", (2, 3), (3, 2), axes=1),
    of_linalg("vecdot", (3, 2), (3, 1), axis=0),
    of_linalg("matmul", (2, 3), (3, 2)),
    case("linalg.multi_dot", lambda xp, *xs: xp.linalg.multi_dot(xs), (2, 3), (3, 4), (4, 2)),
    case("linalg.multi_dot", lambda xp, *xs: xp.linalg.multi_dot(xs), (3,), (3, 2), (2, 4), (4,)),
    *(
        case("linalg.matrix_power", lambda xp, x, n=n: xp.linalg.matrix_power(x, n), (2, 2))
        for n in (1, 2, 5)
    ),
    case("linalg.matrix_power", lambda xp, x: xp.linalg.matrix_power(x, 3), (2, 2, 2)),
    case("linalg.matrix_power", lambda xp, x: xp.linalg.matrix_power(x, 0), (2, 2), derivatives=0),
    norm(3),
    norm(2, 3),
    norm(2, 2, 2),
    norm(2, 3, axis=-1),
    norm(2, 3, axis=0, keepdims=True),
    norm(2, 3, axis=(1, 0), keepdims=True),
    norm(0),
    *(norm(4, ord=ord) for ord in (2, 1, np.inf, -np.inf)),
    *(norm(2, 3, 2, ord=ord, axis=(2, 0)) for ord in ("fro", 1, -1, np.inf, -np.inf)),
    *(
        case("linalg.norm", lambda xp, x, ord=ord: xp.linalg.norm(x, ord, axis=-1), (2, 3), tolerance=1e-10)
        for ord in (3, 0.5, -2)
    ),
    case("linalg.norm", lambda xp, x: xp.linalg.norm(x, 0), (3,), derivatives=0),
    case("linalg.norm", lambda xp, x: xp.linalg.norm(x, np.inf), (0,), derivatives=0),
    of_linalg("vector_norm", (2, 3)),
    of_linalg("vector_norm", (2, 3, 2), axis=(0, 2), keepdims=True),
    of_linalg("vector_norm", (2, 3), ord=np.inf, axis=0),
    of_linalg("matrix_norm", (2, 3, 2)),
    of_linalg("matrix_norm", (2, 2), ord=1, keepdims=True),
]
