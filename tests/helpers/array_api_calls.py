"""Calls of every function of the array API standard, by its name, for any library: ``call(xp, operands)``."""

from collections.abc import Callable
from typing import Any, NamedTuple

Call = Callable[[Any, "Operands"], Any]


class Operands(NamedTuple):
    """Arrays of one dtype, with elements that every dtype holds."""

    a: Any  # (2, 3)
    b: Any  # (2, 3), no zeros
    v: Any  # (3,)
    e: Any  # no elements
    s: Any  # no dimensions

    @property
    def square(self) -> Any:
        return self.a[:, :2]

    @property
    def definite(self) -> Any:
        return self.a @ self.a.mT


def operands(xp: Any, dtype: str) -> Operands:
    """Make the operands in a library."""
    values = [[1, 2, 3], [5, 2, 0]], [[2, 1, 3], [1, 2, 4]], [3, 1, 2], [], 2
    return Operands(*(xp.asarray(value, dtype=getattr(xp, dtype)) for value in values))


def _unary(name: str) -> list[Call]:
    return [lambda xp, o, k=k: getattr(xp, name)(getattr(o, k)) for k in "aes"]


def _binary(name: str) -> list[Call]:
    pairs: list[Call] = [
        lambda xp, o, x=x, y=y: getattr(xp, name)(getattr(o, x), getattr(o, y))
        for x, y in ("ab", "av", "ss", "ee")
    ]
    scalars: list[Call] = [
        *(lambda xp, o, s=s: getattr(xp, name)(o.b, s) for s in (True, 2, 2.5)),
        lambda xp, o: getattr(xp, name)(2, o.b),
    ]
    return pairs + scalars


def _with(name: str, *arguments: dict[str, Any]) -> list[Call]:
    """Calls of a function of one array with arguments by their names."""
    return [lambda xp, o, each=each: getattr(xp, name)(o.a, **each) for each in arguments]


_AXES = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}, {"keepdims": True})
_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan"
    " log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan"
    " tanh trunc"
)
_BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal"
    " floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum"
    " minimum multiply nextafter not_equal pow remainder subtract"
)
_KINDS = (
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
    ("bool", "integral"),
)  # fmt: skip

CALLS: dict[str, list[Call]] = {
    **{name: _unary(name) for name in _UNARY.split()},
    **{name: _binary(name) for name in _BINARY.split()},
    "clip": [
        *_with("clip", {}, {"min": 1, "max": 3}, {"min": 2}, {"max": 2}),
        lambda xp, o: xp.clip(o.a, o.s, o.b),
        lambda xp, o: xp.clip(o.a, None, o.v),
        lambda xp, o: xp.clip(o.e, 1, 2),
    ],
    # statistics
    **{name: _with(name, *_AXES) for name in ("max", "min", "mean", "all", "any", "count_nonzero")},
    **{
        name: [
            *_with(name, *_AXES),
            lambda xp, o, name=name: getattr(xp, name)(o.a, axis=0, dtype=xp.float32),
            lambda xp, o, name=name: getattr(xp, name)(o.e),
        ]
        for name in ("sum", "prod")
    },
    **{name: _with(name, *_AXES, {"axis": 1, "correction": 1}) for name in ("std", "var")},
    **{
        name: [
            lambda xp, o, name=name: getattr(xp, name)(o.v),
            lambda xp, o, name=name: getattr(xp, name)(o.a, axis=0, include_initial=True),
            lambda xp, o, name=name: getattr(xp, name)(o.a, axis=-1, dtype=xp.float64),
        ]
        for name in ("cumulative_sum", "cumulative_prod")
    },
    "diff": [
        *_with("diff", {}, {"n": 2}),
        lambda xp, o: xp.diff(o.a, axis=0, prepend=o.b, append=o.a),
    ],
    # order, and where elements are
    **{
        name: _with(
            name,
            *({}, {"axis": 0}, {"descending": True}, {"stable": False}, {"descending": True, "axis": 0}),
        )
        for name in ("sort", "argsort")
    },
    **{
        name: _with(name, {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True})
        for name in ("argmax", "argmin")
    },
    "nonzero": [lambda xp, o: xp.nonzero(o.a)],
    "searchsorted": [
        lambda xp, o: xp.searchsorted(xp.sort(o.v), o.a),
        lambda xp, o: xp.searchsorted(o.v, o.a, side="right", sorter=xp.argsort(o.v)),
    ],
    "where": [
        lambda xp, o: xp.where(o.a > o.b, o.a, o.b),
        lambda xp, o: xp.where(o.a > 2, o.a, 0),
        lambda xp, o: xp.where(xp.asarray([True, False, True]), 1.5, o.a),
        lambda xp, o: xp.where(xp.asarray(True), o.v, o.a),
    ],
    **{
        f"unique_{what}": [lambda xp, o, w=what, k=k: getattr(xp, f"unique_{w}")(getattr(o, k)) for k in "aves"]
        for what in ("all", "counts", "inverse", "values")
    },
    "take": [
        lambda xp, o: xp.take(o.v, xp.asarray([0, 2])),
        lambda xp, o: xp.take(o.a, xp.asarray([1, -1]), axis=1),
    ],
    "take_along_axis": [
        lambda xp, o: xp.take_along_axis(o.a, xp.argsort(o.a)),
        lambda xp, o: xp.take_along_axis(o.a, xp.argsort(o.a, axis=0), axis=0),
    ],
    # creation
    **{
        name: [
            lambda xp, o, name=name: getattr(xp, name)((2, 3)).shape,
            lambda xp, o, name=name: getattr(xp, name)(3, dtype=o.a.dtype, device=o.a.device).shape,
            lambda xp, o, name=name: getattr(xp, f"{name}_like")(o.a).shape,
            lambda xp, o, name=name: getattr(xp, f"{name}_like")(o.a, dtype=xp.float32, device=o.a.device).shape,
        ]
        for name in ("empty",)
    },
    **{
        name: [
            lambda xp, o, name=name: getattr(xp, name)((2, 3)),
            lambda xp, o, name=name: getattr(xp, name)((), dtype=o.a.dtype),
            lambda xp, o, name=name: getattr(xp, name)(3, dtype=o.a.dtype, device=o.a.device),
        ]
        for name in ("zeros", "ones")
    },
    **{
        f"{name}_like": [
            lambda xp, o, name=name: getattr(xp, f"{name}_like")(o.a),
            lambda xp, o, name=name: getattr(xp, f"{name}_like")(o.a, dtype=xp.float32, device=o.a.device),
        ]
        for name in ("zeros", "ones")
    },
    "full": [
        lambda xp, o: xp.full((2,), 2, dtype=o.a.dtype),
        lambda xp, o: xp.full(3, 2.5),
        lambda xp, o: xp.full((), True),
        lambda xp, o: xp.full((2, 2), 3, device=o.a.device),
    ],
    "full_like": [
        lambda xp, o: xp.full_like(o.a, True),
        lambda xp, o: xp.full_like(o.a, 2.5, dtype=xp.float32),
    ],
    "arange": [
        lambda xp, o: xp.arange(5, device=o.a.device),
        lambda xp, o: xp.arange(1.0, 5),
        lambda xp, o: xp.arange(1, 6, 2, dtype=o.a.dtype),
    ],
    "linspace": [
        lambda xp, o: xp.linspace(0, 1, 5),
        lambda xp, o: xp.linspace(0, 1, 5, endpoint=False, dtype=o.a.dtype, device=o.a.device),
    ],
    "eye": [
        lambda xp, o: xp.eye(3),
        lambda xp, o: xp.eye(2, 3, k=1, dtype=o.a.dtype),
        lambda xp, o: xp.eye(2, None, k=-1, device=o.a.device),
    ],
    "tril": [lambda xp, o: xp.tril(o.a)],
    "triu": [lambda xp, o: xp.triu(o.a, k=1)],
    "meshgrid": [lambda xp, o: xp.meshgrid(o.v, o.v), lambda xp, o: xp.meshgrid(o.v, o.e, indexing="ij")],
    "asarray": [
        lambda xp, o: xp.asarray(o.a),
        lambda xp, o: xp.asarray(o.a, copy=True, device=o.a.device),
        lambda xp, o: xp.asarray(o.a, copy=False),
        lambda xp, o: xp.asarray(o.a, dtype=xp.float32),
        *(lambda xp, o, value=value: xp.asarray(value) for value in ([1, 2], 2.5, [True], [[]])),
    ],
    # dtypes
    "astype": [
        *(lambda xp, o, to=to: xp.astype(o.a, getattr(xp, to)) for to in ("float64", "float32", "int64", "uint8")),
        lambda xp, o: xp.astype(o.a, xp.bool),
        lambda xp, o: xp.astype(o.a, o.a.dtype, copy=False, device=o.a.device),
    ],
    "result_type": [
        lambda xp, o: xp.zeros(0, dtype=xp.result_type(o.a, xp.float64)),
        lambda xp, o: xp.zeros(0, dtype=xp.result_type(o.a.dtype, o.b, 1)),
    ],
    "can_cast": [lambda xp, o: xp.can_cast(o.a, o.a.dtype), lambda xp, o: xp.can_cast(o.a.dtype, xp.uint8)],
    "finfo": [
        lambda xp, o: [float(getattr(xp.finfo(o.a.dtype), k)) for k in ("eps", "max", "min", "smallest_normal")],
        lambda xp, o: xp.finfo(o.a.dtype).bits,
    ],
    "iinfo": [lambda xp, o: [int(getattr(xp.iinfo(o.a.dtype), k)) for k in ("bits", "max", "min")]],
    "isdtype": [
        *(lambda xp, o, kind=kind: xp.isdtype(o.a.dtype, kind) for kind in _KINDS),
        lambda xp, o: xp.isdtype(o.a.dtype, xp.float64),
    ],
    # shapes
    "broadcast_to": [lambda xp, o: xp.broadcast_to(o.v, (2, 3))],
    "broadcast_arrays": [lambda xp, o: xp.broadcast_arrays(o.a, o.v), lambda xp, o: xp.broadcast_arrays(o.a)],
    "concat": [
        lambda xp, o: xp.concat((o.a, o.b)),
        *(lambda xp, o, axis=axis: xp.concat([o.a, o.b], axis=axis) for axis in (None, -1)),
        lambda xp, o: xp.concat([o.a, xp.astype(o.b, xp.float64)], axis=1),
    ],
    "stack": [lambda xp, o: xp.stack([o.a, o.b]), lambda xp, o: xp.stack((o.a, o.b), axis=-1)],
    "unstack": _with("unstack", {}, {"axis": 1}),
    "expand_dims": _with("expand_dims", {"axis": 0}, {"axis": -1}),
    "squeeze": [
        lambda xp, o, axis=axis: xp.squeeze(o.a[None, ..., None], axis=axis) for axis in (0, -1, (0, 3))
    ],
    "flip": _with("flip", {}, {"axis": 0}, {"axis": (0, 1)}),
    "roll": _with("roll", {"shift": 1}, {"shift": (1, 2), "axis": (0, 1)}, {"shift": -1, "axis": 0}),
    "moveaxis": [lambda xp, o: xp.moveaxis(o.a, 0, 1), lambda xp, o: xp.moveaxis(o.a, (0, 1), (1, 0))],
    "permute_dims": [lambda xp, o: xp.permute_dims(o.a, (1, 0))],
    "matrix_transpose": [lambda xp, o: xp.matrix_transpose(o.a)],
    "reshape": [
        lambda xp, o: xp.reshape(o.a, (3, -1)),
        *(lambda xp, o, copy=copy: xp.reshape(o.a, (-1,), copy=copy) for copy in (True, False)),
    ],
    "repeat": [
        lambda xp, o: xp.repeat(o.a, 2),
        lambda xp, o: xp.repeat(o.a, 2, axis=1),
        lambda xp, o: xp.repeat(o.v, xp.asarray([1, 0, 2])),
    ],
    "tile": [lambda xp, o: xp.tile(o.a, (2,)), lambda xp, o: xp.tile(o.a, (2, 1, 2))],
    # products
    "matmul": [
        lambda xp, o: xp.matmul(o.a, o.b.T),
        lambda xp, o: xp.matmul(o.a, o.v),
        lambda xp, o: xp.matmul(o.v, o.v),
    ],
    "tensordot": [
        *(
            lambda xp, o, axes=axes: xp.tensordot(o.a, o.b, axes=axes)
            for axes in (2, 0, ((0, 1), (0, 1)), ((1,), (1,)))
        ),
        lambda xp, o: xp.tensordot(o.a, o.v, axes=1),
    ],
    "vecdot": [
        lambda xp, o: xp.vecdot(o.a, o.b),
        lambda xp, o: xp.vecdot(o.a, o.v),
        lambda xp, o: xp.vecdot(o.v, o.a),
        lambda xp, o: xp.vecdot(o.a, o.b, axis=-2),
    ],
}  # fmt: skip
CALLS["empty_like"] = CALLS["empty"][2:]

LINALG: dict[str, list[Call]] = {
    "cholesky": [lambda xp, o, up=up: xp.linalg.cholesky(o.definite, upper=up) for up in (False, True)],
    "cross": [lambda xp, o: xp.linalg.cross(o.a, o.b)],
    "det": [lambda xp, o: xp.linalg.det(o.square)],
    "diagonal": [lambda xp, o: xp.linalg.diagonal(o.a), lambda xp, o: xp.linalg.diagonal(o.a, offset=1)],
    "eigh": [lambda xp, o: xp.linalg.eigh(o.definite).eigenvalues],
    "eigvalsh": [lambda xp, o: xp.linalg.eigvalsh(o.definite)],
    "inv": [lambda xp, o: xp.linalg.inv(o.square)],
    "matmul": [lambda xp, o: xp.linalg.matmul(o.square, o.square)],
    "matrix_norm": [
        lambda xp, o: xp.linalg.matrix_norm(o.a),
        lambda xp, o: xp.linalg.matrix_norm(o.a, keepdims=True, ord=1),
    ],
    "matrix_power": [lambda xp, o: xp.linalg.matrix_power(o.square, 3)],
    "matrix_rank": [lambda xp, o: xp.linalg.matrix_rank(o.a)],
    "matrix_transpose": [lambda xp, o: xp.linalg.matrix_transpose(o.a)],
    "outer": [lambda xp, o: xp.linalg.outer(o.v, o.v)],
    "pinv": [lambda xp, o: xp.linalg.pinv(o.a)],
    "qr": [lambda xp, o: xp.abs(xp.linalg.qr(o.square).R)],
    "slogdet": [lambda xp, o: xp.linalg.slogdet(o.square)],
    "solve": [
        lambda xp, o: xp.linalg.solve(o.square, o.b),
        lambda xp, o: xp.linalg.solve(o.square, o.v[:2]),
    ],
    "svd": [lambda xp, o: xp.linalg.svd(o.a, full_matrices=False).S],
    "svdvals": [lambda xp, o: xp.linalg.svdvals(o.a)],
    "tensordot": [lambda xp, o: xp.linalg.tensordot(o.a, o.b, axes=2)],
    "trace": [
        lambda xp, o: xp.linalg.trace(o.a),
        lambda xp, o: xp.linalg.trace(o.a, offset=1, dtype=xp.float64),
    ],
    "vecdot": [lambda xp, o: xp.linalg.vecdot(o.a, o.b)],
    "vector_norm": [
        lambda xp, o, each=each: xp.linalg.vector_norm(o.a, **each)
        for each in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"ord": 1}, {"ord": 0}, {"ord": 3, "axis": 1})
    ],
}  # fmt: skip
