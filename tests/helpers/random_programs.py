"""Random programs with shared subexpressions, views and in-place writes.

A program is a list of steps on a list of values. One interpreter runs it on Tensors and on complex NumPy
arrays: with x + 1e-30j d as input, the imaginary part of the result is the derivative along d.
"""

import operator

import numpy as np

import tapegrad as tg

STEP = 1e-30
SHAPES = [(), (3,), (1,), (4, 3), (4, 1), (1, 3), (3, 4), (2, 4, 3), (2, 1, 3), (0, 3)]
UNARY = ["sin", "cos", "tanh", "square", "negative", "positive", "exp"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum"]


class Complex:
    """The functions that programs use, on complex arrays in C order; comparisons look at real parts."""

    @staticmethod
    def call(name, *args, **kwargs):
        function = getattr(Complex, name, None) or getattr(np, name)
        return np.asarray(function(*args, **kwargs), order="C")

    @staticmethod
    def maximum(a, b):
        return np.where(np.real(a) >= np.real(b), a, b)

    @staticmethod
    def minimum(a, b):
        return np.where(np.real(a) <= np.real(b), a, b)

    @staticmethod
    def max(a, axis=None, keepdims=False):
        return Complex._extreme(a, axis, keepdims, np.max)

    @staticmethod
    def min(a, axis=None, keepdims=False):
        return Complex._extreme(a, axis, keepdims, np.min)

    @staticmethod
    def _extreme(a, axis, keepdims, function):
        best = np.asarray(a).real == function(np.real(a), axis=axis, keepdims=True)
        return np.sum(np.where(best, a, 0), axis, keepdims=keepdims) / np.sum(best, axis, keepdims=keepdims)

    @staticmethod
    def select(a, b):
        return np.where(np.real(a) > 0.1, a, b * b)

    @staticmethod
    def copy(a):
        return a.copy()


class Tape:
    """The same functions on Tensors."""

    @staticmethod
    def call(name, *args, **kwargs):
        if name == "select":
            return tg.where(args[0] > 0.1, args[0], args[1] * args[1])
        return args[0].copy() if name == "copy" else getattr(tg, name)(*args, **kwargs)


def interpret(program, inputs, backend):
    """Run a program; all values that are left."""
    values = [backend.call("positive", x) for x in inputs]
    for kind, *args in program:
        STEPS[kind](values, backend, *args)
    return [value for value in values if value is not None]


def _view(values, _, k, method, *args):
    x = values[k]
    if method == "index":
        key = args[0] if isinstance(args[0], tuple) else (args[0],)
        values.append(x[key if Ellipsis in key else (*key, Ellipsis)])
    elif method == "broadcast_to":
        values.append((tg if isinstance(x, tg.Tensor) else np).broadcast_to(x, *args))
    else:
        values.append(getattr(x, method)(*args))


def _pick(values, backend, k, key):
    values.append(backend.call("copy", values[k][key]))


def _call(values, backend, name, operands, arguments):
    values.append(backend.call(name, *[values[k] for k in operands], **arguments))


def _join(values, backend, name, operands, axis):
    values.append(backend.call(name, [values[k] for k in operands], axis=axis))


def _write(values, _, k, key, source, scale):
    value = values[source] if isinstance(source, int) else np.asarray(source)
    values[k][key] = value * scale if scale is not None else value


def _update(values, _, k, name, source):
    other = values[source] if isinstance(source, int) else source
    values[k] = getattr(operator, name)(values[k], other)


def _update_part(values, _, k, key, source):
    values[k][key] += values[source]


def _drop(values, _, k):
    values[k] = None


STEPS = {
    "call": _call, "join": _join, "view": _view, "pick": _pick, "write": _write, "update": _update,
    "update_part": _update_part, "drop": _drop,
}  # fmt: skip


ADDITIONS = ("call", "join", "view", "pick")  # what adds a value and changes none


def is_moderate(value):
    """Whether a value is small enough, of few elements, to go on with."""
    return value.size <= 200 and np.abs(value).max(initial=0) < 30


class Generator:
    """Draws programs whose every step NumPy accepts; runs them on NumPy while drawing."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        picked = [SHAPES[i] for i in self.rng.choice(len(SHAPES) - 1, 3)]
        if seed % 20 == 0:
            picked[0] = (0, 3)
        self.inputs = [self.rng.uniform(-1.5, 1.5, shape) for shape in picked]
        self.values = [x.astype(complex) for x in self.inputs]
        self.program = []

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def alive(self):
        return [k for k, value in enumerate(self.values) if value is not None]

    def attempt(self, *step):
        """Append a step if NumPy takes it and its values stay of moderate size."""
        attempt = self._attempt_addition if step[0] in ADDITIONS else self._attempt_change
        if attempt(step):
            self.program.append(step)

    def _attempt_addition(self, step):
        """Whether a step that only adds a value could be taken."""
        try:
            STEPS[step[0]](self.values, Complex, *step[1:])
        except (ValueError, IndexError, TypeError):
            return False
        if is_moderate(self.values[-1]):
            return True
        self.values.pop()
        return False

    def _attempt_change(self, step):
        """The same of a step that writes to values, which others may be views of, or drops one."""
        kept = list(self.values)
        contents = [None if v is None else v.copy() for v in kept]
        try:
            STEPS[step[0]](self.values, Complex, *step[1:])
        except (ValueError, IndexError, TypeError):
            self.values[:] = kept
            return False
        alive = [v for v in self.values if v is not None]
        if len(alive) > 1 and all(map(is_moderate, alive)):
            return True
        self.values[:] = kept
        for value, content in zip(kept, contents, strict=True):
            if value is not None and value.flags.writeable:
                value[...] = content
        return False

    def key(self, shape):
        """A basic key for a shape."""
        parts = []
        for extent in shape:
            a, b = sorted(self.rng.integers(0, extent + 1, 2).tolist())
            options = [slice(None), slice(None, None, -1), slice(a, b), slice(a, None, 2)]
            if extent:
                options.append(int(self.rng.integers(-extent, extent)))
            parts.append(self.choose(options))
        parts = parts[: self.rng.integers(len(parts) + 1)]
        if self.rng.random() < 0.3:
            parts.insert(self.rng.integers(len(parts) + 1), None)
        return (*parts, Ellipsis)

    def advanced_key(self, shape):
        """Row numbers with repetitions, a mask, or a mixture of row numbers and slices."""
        if not shape or 0 in shape:
            return Ellipsis
        rows = self.rng.integers(-shape[0], shape[0], 3)
        kind = self.rng.integers(4)
        if kind == 0:
            return rows
        if kind == 1:
            return self.rng.random(shape) < 0.5
        if kind == 2 and len(shape) > 1:
            return (rows, self.rng.integers(0, shape[1], 3))
        return (*[slice(None)] * (len(shape) - 1), self.rng.integers(0, shape[-1], 2))

    def axis(self, ndim):
        if ndim == 0 or self.rng.random() < 0.2:
            return None
        return int(self.rng.integers(-ndim, ndim))

    def draw_call(self):
        a, b = self.choose(self.alive()), self.choose(self.alive())
        kind = self.rng.random()
        if kind < 0.35:
            self.attempt("call", self.choose(UNARY), [a], {})
        elif kind < 0.7:
            self.attempt("call", self.choose([*BINARY, "select"]), [a, b], {})
        elif kind < 0.9:
            name = self.choose(["sum", "mean", "prod", "max", "min"])
            arguments = {"axis": self.axis(self.values[a].ndim), "keepdims": bool(self.rng.integers(2))}
            if self.values[a].size:
                self.attempt("call", name, [a], arguments)
        elif kind < 0.95:
            self.attempt("call", "cumsum", [a], {"axis": self.axis(self.values[a].ndim)})
        else:
            self.attempt("call", "matmul", [a, b], {})

    def draw_view(self):
        a = self.choose(self.alive())
        shape = self.values[a].shape
        axes = tuple(self.rng.permutation(len(shape)).tolist())
        options = [
            ("index", self.key(shape)),
            ("reshape", shape[::-1]),
            ("reshape", -1),
            ("transpose", axes),
            ("broadcast_to", (2, *shape)),
            ("ravel",),
        ]
        self.attempt("view", a, *self.choose(options))

    def draw_write(self):
        a, b = self.choose(self.alive()), self.choose(self.alive())
        shape = self.values[a].shape
        kind = self.rng.random()
        key = self.key(shape) if self.rng.random() < 0.6 else self.advanced_key(shape)
        if kind < 0.4:
            self.attempt("write", a, key, b, self.choose([None, 0.5, -1.0]))
        elif kind < 0.5:
            self.attempt("write", a, key, float(self.rng.uniform(-1, 1)), None)
        elif kind < 0.7:
            self.attempt("update_part", a, key, b)
        else:
            if shape == ():  # the name of a number is bound to a new one, that of an array is not
                return
            name = self.choose(["iadd", "isub", "imul"])
            self.attempt("update", a, name, self.choose([b, float(self.rng.uniform(0.5, 1))]))

    def draw(self, steps):
        for _ in range(steps):
            kind = self.rng.random()
            if kind < 0.4:
                self.draw_call()
            elif kind < 0.6:
                self.draw_view()
            elif kind < 0.8:
                self.draw_write()
            elif kind < 0.87:
                a, b = self.choose(self.alive()), self.choose(self.alive())
                self.attempt("join", self.choose(["concatenate", "stack"]), [a, b, a], 0)
            elif kind < 0.94:
                a = self.choose(self.alive())
                self.attempt("pick", a, self.advanced_key(self.values[a].shape))
            else:
                self.attempt("drop", self.choose(self.alive()))
        return self.program


def weighted_sum(values, weights, backend):
    """One number that depends on every value."""
    total = 0.0
    for value, weight in zip(values, weights, strict=True):
        total = total + backend.call("sum", value * weight)
    return total


def complex_derivative(program, inputs, directions, weights):
    """Value and derivative along a direction."""
    moved = [x + STEP * 1j * d for x, d in zip(inputs, directions, strict=True)]
    result = complex(weighted_sum(interpret(program, moved, Complex), weights, Complex))
    return result.real, result.imag / STEP
