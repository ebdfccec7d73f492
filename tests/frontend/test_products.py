"""Products: what the table of oracles cannot say. Refusals, outputs, views, integers, and how they are computed."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg


def ones(n: Any, *shape: int) -> Any:
    return n.ones(shape)


# Calls that NumPy refuses.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "einsum nothing": lambda n: n.einsum(),
    "einsum operands": lambda n: n.einsum("i,i", ones(n, 2)),
    "einsum dimensions": lambda n: n.einsum("i", ones(n, 2, 2)),
    "einsum too many": lambda n: n.einsum("ijk", ones(n, 2, 2)),
    "einsum extents": lambda n: n.einsum("ij,jk", ones(n, 2, 2), ones(n, 3, 2)),
    "einsum diagonal": lambda n: n.einsum("ii", ones(n, 1, 3)),
    "einsum output": lambda n: n.einsum("i->j", ones(n, 2)),
    "einsum output twice": lambda n: n.einsum("i->ii", ones(n, 2)),
    "einsum ellipsis": lambda n: n.einsum("i...->i", ones(n, 2, 2)),
    "einsum two ellipses": lambda n: n.einsum("...i...", ones(n, 2, 2)),
    "einsum dots": lambda n: n.einsum("i..", ones(n, 2)),
    "einsum arrows": lambda n: n.einsum("i->i->i", ones(n, 2)),
    "einsum digit": lambda n: n.einsum("1", ones(n, 2)),
    "einsum list": lambda n: n.einsum(ones(n, 2), [52]),
    "einsum list of text": lambda n: n.einsum(ones(n, 2), ["a"]),
    "einsum casting": lambda n: n.einsum("i,i->", ones(n, 2), ones(n, 2), dtype=np.float32),
    "einsum order": lambda n: n.einsum("i->i", ones(n, 2), order="Z"),
    "einsum out": lambda n: n.einsum("i->", ones(n, 2), out=ones(n, 2)),
    "tensordot extents": lambda n: n.tensordot(ones(n, 2, 3), ones(n, 2, 3)[:, :2], 1),
    "tensordot axis": lambda n: n.tensordot(ones(n, 2), ones(n, 2), 2),
    "tensordot pairs": lambda n: n.tensordot(ones(n, 2, 2), ones(n, 2, 2), ([0, 1], [0])),
    "inner": lambda n: n.inner(ones(n, 2), ones(n, 3)),
    "vdot": lambda n: n.vdot(ones(n, 2), ones(n, 3)),
    "dot": lambda n: n.dot(ones(n, 2, 3), ones(n, 2, 2, 3)),
    "outer out": lambda n: n.outer(ones(n, 2), ones(n, 3), out=ones(n, 3, 2)),
    "cross components": lambda n: n.cross(ones(n, 4), ones(n, 4)),
    "cross number": lambda n: n.cross(ones(n), ones(n, 3)),
    "cross axis": lambda n: n.cross(ones(n, 3), ones(n, 3), axis=1),
    "cross axisc": lambda n: n.cross(ones(n, 3), ones(n, 3), axisc=1),
    "cross broadcast": lambda n: n.cross(ones(n, 2, 3), ones(n, 4, 3)),
    "trace vector": lambda n: n.trace(ones(n, 3)),
    "trace axes": lambda n: n.trace(ones(n, 3, 3), axis1=0, axis2=0),
    "trace axis": lambda n: n.trace(ones(n, 3, 3), axis2=2),
    "matmul axis": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), axis=0),
    "matmul keepdims": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), keepdims=True),
    "matmul axes": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), axes=[(0, 1), (0, 1)]),
    "matmul axes of a vector": lambda n: n.matmul(ones(n, 2), ones(n, 2, 2), axes=[(0, 1), (0, 1), 0]),
    "matmul axes tuple": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), axes=((0, 1),) * 3),
    "matmul casting": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), dtype=np.float32, casting="safe"),
    "matmul argument": lambda n: n.matmul(ones(n, 2, 2), ones(n, 2, 2), keepdim=True),
    "vecdot extents": lambda n: n.vecdot(ones(n, 2), ones(n, 1)),
    "vecdot number": lambda n: n.vecdot(ones(n), ones(n, 1)),
    "vecdot axes": lambda n: n.vecdot(ones(n, 2), ones(n, 2), axes=[0, 0, 0]),
    "vecdot axis and axes": lambda n: n.vecdot(ones(n, 2), ones(n, 2), axes=[0, 0], axis=0),
    "matvec": lambda n: n.matvec(ones(n, 2, 3), ones(n, 2)),
    "vecmat": lambda n: n.vecmat(ones(n, 3), ones(n, 2, 3)),
    "norm axes": lambda n: n.linalg.norm(ones(n, 2, 2, 2), axis=(0, 1, 2)),
    "norm of nothing": lambda n: n.linalg.norm(ones(n, 0), -np.inf),
    "norm text": lambda n: n.linalg.norm(ones(n, 2), "fro"),
    "norm order": lambda n: n.linalg.norm(ones(n, 2, 2), 3),
    "norm twice": lambda n: n.linalg.norm(ones(n, 2, 2), axis=(0, 0)),
    "norm dimensions": lambda n: n.linalg.norm(ones(n, 2, 2, 2), 2),
    "linalg outer": lambda n: n.linalg.outer(ones(n, 2, 2), ones(n, 2)),
    "linalg cross": lambda n: n.linalg.cross(ones(n, 2), ones(n, 2)),
    "linalg transpose": lambda n: n.linalg.matrix_transpose(ones(n, 2)),
    "multi_dot one": lambda n: n.linalg.multi_dot([ones(n, 2, 2)]),
    "multi_dot extents": lambda n: n.linalg.multi_dot([ones(n, 2, 3), ones(n, 2, 2), ones(n, 2)]),
    "multi_dot dimensions": lambda n: n.linalg.multi_dot([ones(n, 2), ones(n, 2, 2, 2), ones(n, 2)]),
    "matrix_power": lambda n: n.linalg.matrix_power(ones(n, 2, 3), 2),
    "matrix_power of a number": lambda n: n.linalg.matrix_power(ones(n, 2, 2), 0.5),
}
KINDS = (TypeError, ValueError, IndexError)


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    with pytest.raises((*KINDS, np.linalg.LinAlgError)):
        REFUSED[name](np)
    with pytest.raises(KINDS) as found:
        REFUSED[name](tg)
    assert str(found.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.matmul(x, x, signature="dd->d"), "numpy.matmul"),
    ],
)
def test_what_is_not_supported_is_named(call: Callable[[Any], Any], name: str) -> None:
    with pytest.raises(tg.UnsupportedError) as caught:
        call(tg.ones((2, 2)))
    assert str(caught.value).startswith(f"{name}: ")


OUT: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "einsum": (lambda n, x, out: n.einsum("ij,jk->ki", x, x, out=out), (2, 2)),
    "dot": (lambda n, x, out: n.dot(x, x, out=out), (2, 2)),
    "outer": (lambda n, x, out: n.outer(x, x[0], out=out), (4, 2)),
    "trace": (lambda n, x, out: n.trace(x * x, out=out), ()),
    "matmul": (lambda n, x, out: n.matmul(x, x, out=out), (2, 2)),
    "matmul by position": (lambda n, x, out: n.matmul(x, x, out), (2, 2)),
    "vecdot": (lambda n, x, out: n.vecdot(x, x, axis=0, out=out), (2,)),
    "matvec": (lambda n, x, out: n.matvec(x, x[0], out=out), (2,)),
    "vecmat": (lambda n, x, out: n.vecmat(x[0], x, out=out), (2,)),
    "multi_dot": (lambda n, x, out: n.linalg.multi_dot([x, x, x], out=out), (2, 2)),
    ".dot": (lambda n, x, out: x.dot(x, out=out), (2, 2)),
    ".trace": (lambda n, x, out: (x * x).trace(out=out), ()),
}


@pytest.mark.parametrize("name", OUT)
def test_results_are_written_into_out(name: str) -> None:
    call, shape = OUT[name]
    values = np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = np.empty(shape)
    call(np, values, expected)
    for n in (tg, np):
        x, out = tg.tensor(values), tg.zeros(shape)
        assert call(n, x, out) is out
        np.testing.assert_array_equal(out.data, expected)
        out.sum().backward()
        y = tg.tensor(values)
        tg.sum(call(n, y, None)).backward()
        np.testing.assert_array_equal(x.grad, y.grad)


def test_einsums_diagonals_are_views() -> None:
    for take in (lambda x: tg.einsum("ii->i", x), lambda x: np.einsum(x, [0, 0], [0])):
        x = tg.ones((3, 3)) * 2.0
        diagonal = take(x)
        assert diagonal.base is x
        diagonal[...] = tg.tensor([1.0, 2.0, 3.0])
        np.testing.assert_array_equal(x.data, 2.0 + np.diag([-1.0, 0.0, 1.0]))
    y = tg.ones(3)
    same = tg.einsum("i->i", y)
    assert same is not y
    assert same.base is y


def test_integers_and_booleans_are_constants() -> None:
    whole, truths = np.arange(4).reshape(2, 2), np.array([[True, False], [True, True]])
    for x in (whole, truths):
        for call in (
            lambda n, x: n.einsum("ij,jk", x, x),
            lambda n, x: n.einsum("ij->", x),
            lambda n, x: n.tensordot(x, x, 1),
            lambda n, x: n.inner(x, x),
            lambda n, x: n.outer(x, x),
            lambda n, x: n.kron(x, x),
            lambda n, x: n.vecdot(x, x),
            lambda n, x: n.trace(x),
            lambda n, x: n.linalg.matrix_power(x, 1),
        ):
            found, expected = call(tg, tg.tensor(x)), call(np, x)
            assert found.constant
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.data, expected)


def test_norms_of_zeros_have_the_derivative_0() -> None:
    for norm in (
        tg.linalg.norm,
        lambda x: tg.linalg.norm(x, 1),
        lambda x: tg.linalg.norm(x, 3),
        lambda x: tg.linalg.norm(x, np.inf),
        lambda x: tg.linalg.vector_norm(x),
        lambda x: tg.linalg.matrix_norm(tg.reshape(x, (1, -1))),
    ):
        np.testing.assert_array_equal(tg.grad(lambda x, norm=norm: tg.sum(norm(x)))(np.zeros(3)), 0.0)
        np.testing.assert_array_equal(
            tg.hvp(lambda x, norm=norm: tg.sum(norm(x)))(np.zeros(3), np.ones(3)), 0.0
        )


@pytest.mark.parametrize(
    ("text", "shapes", "products"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4)), 1),
        ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4)), 1),
        ("abcd,cd->ab", ((2, 2, 3, 4), (3, 4)), 1),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2)), 2),
        ("i,j->ij", ((2,), (3,)), 0),
    ],
)
def test_contractions_are_matrix_products(
    text: str, shapes: tuple[tuple[int, ...], ...], products: int
) -> None:
    xs = [np.ones(shape) for shape in shapes]
    recorded = str(tg.jit(lambda *xs: tg.einsum(text, *xs)).tape(*xs))
    assert recorded.count("matmul") == products
    assert "sum" not in recorded


def some_subscripts(rng: random.Random) -> tuple[str, list[tuple[int, ...]]]:
    """Subscripts and shapes: repeated labels, extents of 1 and 0, ellipses; some of them malformed."""
    extents = {label: rng.choice((0, 1, 2, 3, 3)) for label in "abcd"}
    terms, shapes = [], []
    for _ in range(rng.choice((1, 1, 2, 2, 2, 3, 4))):
        labels = [rng.choice("abcd") for _ in range(rng.randint(0, 3))]
        own = {label: rng.choice((extents[label], extents[label], 1)) for label in sorted(set(labels))}
        shape = [own[label] for label in labels]
        if rng.random() < 0.2:
            at = rng.randint(0, len(labels))
            labels[at:at], shape[at:at] = ["..."], [2] * rng.randint(0, 2)
        terms.append("".join(labels))
        shapes.append(tuple(shape))
    text = ",".join(terms)
    if rng.random() < 0.3:
        return text, shapes
    used = sorted({*text} - {",", "."})
    kept = rng.sample(used, rng.randint(0, len(used)))
    return f"{text}->{'...' * ('.' in text)}{''.join(kept)}", shapes


@pytest.mark.parametrize("seed", range(4))
def test_any_subscripts_do_what_numpy_does(seed: int) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(60):
        text, shapes = some_subscripts(rng)
        xs = [numbers.standard_normal(shape) for shape in shapes]
        try:
            expected = np.einsum(text, *xs)
        except ValueError:
            with pytest.raises(ValueError, match=r"numpy\.einsum"):
                tg.einsum(text, *map(tg.tensor, xs))
            continue
        tensors = [tg.tensor(x) for x in xs]
        found = tg.einsum(text, *tensors, optimize=rng.choice((False, True, "optimal")))
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found.data, expected, atol=1e-12, err_msg=text)
        found.sum().backward()
        for x, t in zip(xs, tensors, strict=True):  # it is linear in each operand
            slope = np.sum(x * t.grad)
            np.testing.assert_allclose(slope, np.sum(expected), atol=1e-11, err_msg=text)


def test_the_order_of_a_chain_is_the_cheapest() -> None:
    xs = [np.ones((50, 2)), np.ones((2, 50)), np.ones((50, 1))]
    recorded = str(tg.jit(lambda *xs: tg.linalg.multi_dot(xs)).tape(*xs))
    assert "(2, 1)" in recorded
    assert "(50, 50)" not in recorded


def test_the_path_is_numpys() -> None:
    xs = [np.ones((2, 3)), np.ones((3, 4)), np.ones(4)]
    for n in (tg, np):
        assert n.einsum_path("ij,jk,k", *map(tg.tensor, xs))[0] == np.einsum_path("ij,jk,k", *xs)[0]
