"""A machine plays views, in-place writes and arithmetic on Tensors beside the same on NumPy arrays.

Values are compared after every step. For derivatives the program is run again on complex arrays, its input displaced by
a complex step in some direction; what comes out is compared with the derivatives of every mode along that direction.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tapegrad as tg
from helpers.daily import examples

STEP = 1e-30
Arrays = list[Any]
Action = Callable[[Arrays], None]


# --- what is drawn ---------------------------------------------------------------------------------------------


@st.composite
def slices(draw: Any, extent: int) -> slice:
    limits = st.none() | st.integers(-extent - 1, extent + 1)
    return slice(draw(limits), draw(limits), draw(st.sampled_from([None, 1, 2, -1, -2])))


@st.composite
def basic_keys(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Numbers, slices and new axes; the ellipsis makes a view even of one element."""
    parts: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.integers(0, 7)) == 0:
            parts.append(None)
        number = st.integers(-extent, extent - 1) if extent else st.nothing()
        parts.append(draw(number | slices(extent)))
    return (*parts, Ellipsis)


@st.composite
def index_arrays(draw: Any, extent: int, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    found = draw(st.lists(st.integers(-extent, extent - 1), min_size=count, max_size=count))
    return np.array(found, np.int64).reshape(shape)


@st.composite
def advanced_keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """A mask, or index arrays that may name an element twice, among slices."""
    kind = draw(st.integers(0, 2))
    if kind == 0 or 0 in shape or not shape:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape)
    counts = draw(st.sampled_from([(1,), (3,), (2, 2), ()]))
    if kind == 1:
        return draw(index_arrays(shape[0], counts))
    return tuple(
        draw(index_arrays(extent, counts)) if draw(st.booleans()) else draw(slices(extent))
        for extent in shape
    )


def keys(shape: tuple[int, ...]) -> Any:
    return basic_keys(shape) | advanced_keys(shape)


# --- the machine -----------------------------------------------------------------------------------------------


SIZE = 35


def start(x: Any) -> Arrays:
    """Return the initial Tensors of a program: results, library memory, and a user's array in its own order."""
    own, ordered = np.zeros(20, x.dtype), np.ones((6, 6), x.dtype, order="F")[::2, 1:5]
    zeros = np.zeros((4, 3, 4), x.dtype)
    if isinstance(x, tg.Tensor):
        zeros, own, ordered = tg.zeros((4, 3, 4)), tg.asarray(own), tg.asarray(ordered)
    return [np.reshape(x[:30], (6, 5)) * 1.0, x[30:] * x[30:], zeros, own, ordered]


def loss(arrays: Arrays) -> Any:
    return sum(np.sum(array * array) * (0.5 + 0.1 * k) for k, array in enumerate(arrays))


class Views(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.given, self.direction = rng.uniform(0.3, 1.2, SIZE), rng.uniform(-1, 1, SIZE)
        self.leaf = tg.tensor(self.given)
        self.tensors, self.arrays = start(self.leaf), start(self.given)
        self.program: list[Action] = []
        self.differentiable_twice = True

    def act(self, action: Action) -> None:
        """Do something with the Tensors and with the arrays, and remember it."""
        action(self.tensors)
        action(self.arrays)
        self.program.append(action)

    def any_array(self, data: Any) -> int:
        return int(data.draw(st.integers(0, len(self.arrays) - 1)))

    def any_writeable(self, data: Any) -> int:
        writeable = [k for k, array in enumerate(self.arrays) if array.flags.writeable]
        return int(data.draw(st.sampled_from(writeable)))

    def value_for(self, shape: tuple[int, ...], data: Any) -> Callable[[Arrays], Any]:
        """Draw what can be written to a shape: a number, a sum, or an array that broadcasts, of any memory."""
        fitting = [k for k, array in enumerate(self.arrays) if fits(array.shape, shape)]
        k, kind = self.any_array(data), data.draw(st.integers(0, 3))
        if kind >= 2 and fitting:
            k = data.draw(st.sampled_from(fitting))
            return (lambda arrays: arrays[k]) if kind == 2 else lambda arrays: np.sin(arrays[k]) * 0.9
        if kind == 0:
            number = data.draw(st.sampled_from([0.0, 0.5, 1, -0.75]))
            return lambda arrays: number
        return lambda arrays: np.sin(np.sum(arrays[k]))

    # --- views ---------------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def take_view(self, data: Any) -> None:
        k = self.any_array(data)
        key = data.draw(basic_keys(self.arrays[k].shape))
        self.act(lambda arrays: arrays.append(arrays[k][key]))

    @rule(data=st.data())
    def transpose(self, data: Any) -> None:
        k = self.any_array(data)
        axes = data.draw(st.permutations(range(self.arrays[k].ndim)))
        self.act(lambda arrays: arrays.append(np.transpose(arrays[k], axes)))

    @rule(data=st.data())
    def reshape(self, data: Any) -> None:
        k = self.any_array(data)
        shape = data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1)]))
        if self.arrays[k].size:
            self.act(lambda arrays: arrays.append(np.reshape(arrays[k], shape)))

    @rule(data=st.data())
    def broadcast(self, data: Any) -> None:
        k = self.any_array(data)
        shape = (2, *self.arrays[k].shape)
        if len(shape) < 5:
            self.act(lambda arrays: arrays.append(np.broadcast_to(arrays[k], shape)))

    @rule(data=st.data())
    def gather(self, data: Any) -> None:
        k = self.any_array(data)
        key = data.draw(advanced_keys(self.arrays[k].shape))
        self.act(lambda arrays: arrays.append(as_array(arrays[k][key])))

    # --- writes --------------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def write(self, data: Any) -> None:
        k = self.any_writeable(data)
        key = data.draw(keys(self.arrays[k].shape))
        value = self.value_for(self.arrays[k][key].shape, data)
        self.act(lambda arrays: arrays[k].__setitem__(key, value(arrays)))

    @rule(data=st.data())
    def write_one(self, data: Any) -> None:
        """The keys of a loop over elements: plain numbers, one for each axis."""
        k = self.any_writeable(data)
        shape = self.arrays[k].shape
        if self.arrays[k].size and shape:
            key = tuple(data.draw(st.integers(-extent, extent - 1)) for extent in shape)
            value, plain_key = self.value_for((), data), key[0] if len(key) == 1 else key
            self.act(lambda arrays: arrays[k].__setitem__(plain_key, value(arrays)))

    @rule(data=st.data())
    def operate_in_place(self, data: Any) -> None:
        k = self.any_writeable(data)
        value = self.value_for(self.arrays[k].shape, data)
        operate = data.draw(st.sampled_from(["__iadd__", "__isub__", "__imul__", "__itruediv__"]))
        divide = operate == "__itruediv__"

        def action(arrays: Arrays) -> None:
            other = value(arrays)
            getattr(arrays[k], operate)(2.0 + other * other if divide else other)

        if np.abs(self.arrays[k]).max(initial=0.0) < 10:
            self.act(action)

    @rule(data=st.data())
    def operate_on_part(self, data: Any) -> None:
        k = self.any_writeable(data)
        key = data.draw(keys(self.arrays[k].shape))
        value = self.value_for(self.arrays[k][key].shape, data)

        def action(arrays: Arrays) -> None:
            arrays[k][key] += value(arrays)

        if np.abs(self.arrays[k]).max(initial=0.0) < 10:
            self.act(action)

    @rule(data=st.data())
    def write_without_gradient(self, data: Any) -> None:
        """Under no_grad the contents change, and gradients pass as if they had not: no function has such a derivative.

        A recording refuses that.
        """
        self.differentiable_twice = False
        k = self.any_writeable(data)
        key, number = data.draw(keys(self.arrays[k].shape)), data.draw(st.sampled_from([0.25, -1.0]))

        def action(arrays: Arrays) -> None:
            if isinstance(arrays[k], tg.Tensor):
                with tg.no_grad():
                    arrays[k][key] = number
            else:
                arrays[k][key] = number + np.asarray(arrays[k][key] - arrays[k][key].real)

        self.act(action)

    @rule(data=st.data())
    def write_to_out(self, data: Any) -> None:
        k = self.any_writeable(data)
        value = self.value_for(self.arrays[k].shape, data)
        self.act(lambda arrays: np.multiply(np.sin(arrays[k]), value(arrays), out=arrays[k]))

    # --- arithmetic ----------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def multiply(self, data: Any) -> None:
        k = self.any_array(data)
        value = self.value_for(self.arrays[k].shape, data)
        self.act(lambda arrays: arrays.append(as_array(np.sin(arrays[k] * value(arrays)))))

    @rule(data=st.data())
    def read(self, data: Any) -> None:
        """A value between two writes, of which the old contents are kept."""
        k = self.any_array(data)
        self.act(lambda arrays: arrays.append(np.reshape(np.sum(arrays[k] * arrays[k] * 0.1), (1,))))

    @rule(data=st.data())
    def forget(self, data: Any) -> None:
        """Something goes, and with it what only it needed."""
        k = self.any_array(data)
        if len(self.arrays) > 3:
            self.act(lambda arrays: arrays.pop(k))

    @rule(data=st.data())
    def differentiate(self, data: Any) -> None:
        """A sweep from something in the midst of the program; what it goes through is written to afterwards."""
        k = self.any_array(data)
        result = np.sum(self.tensors[k] * self.tensors[k])
        if not result.constant:
            self.leaf.null_grad()
            result.backward(retain_graph=True)
            expected = self.derivative(self.given, lambda arrays: np.sum(arrays[k] * arrays[k]))
            agree(self.along(self.leaf.grad), expected)

    # --- checks --------------------------------------------------------------------------------------------------

    @invariant()
    def values_agree(self) -> None:
        for tensor, array in zip(getattr(self, "tensors", []), getattr(self, "arrays", []), strict=True):
            assert tensor.shape == array.shape
            agree(tensor.data, array)

    def teardown(self) -> None:
        if hasattr(self, "program"):
            self.check_backward()
            self.check_other_modes()

    def run(self, x: Any, result: Callable[[Arrays], Any] = loss) -> Any:
        arrays = start(x)
        for action in self.program:
            action(arrays)
        return result(arrays)

    def derivative(self, at: np.ndarray, result: Callable[[Arrays], Any] = loss) -> float:
        """The derivative of the program along the direction, by a complex step."""
        return float(self.run(at + STEP * 1j * self.direction, result).imag) / STEP

    def along(self, gradient: Any) -> float:
        """The derivative along the direction that a gradient says; None says zero."""
        values = gradient.data if isinstance(gradient, tg.Tensor) else gradient
        return 0.0 if values is None else float(np.sum(values * self.direction))

    def check_backward(self) -> None:
        expected, total = self.derivative(self.given), loss(self.tensors)
        if total.constant:
            assert expected == 0
            return
        self.leaf.null_grad()
        total.backward(retain_graph=True)
        agree(self.along(self.leaf.grad), expected)
        total.backward(create_graph=True, accumulate=False)
        agree(self.along(self.leaf.grad), expected)
        total.backward(accumulate=False)
        agree(self.along(self.leaf.grad), expected)

    def check_other_modes(self) -> None:
        expected = self.derivative(self.given)
        agree(tg.jvp(self.run, (self.given,), (self.direction,))[1], expected)
        if not self.differentiable_twice:
            return
        agree(self.along(tg.grad(tg.jit(self.run))(self.given)), expected)
        product, step = tg.hvp(self.run)(self.given, self.direction), 1e-5
        ends = [self.derivative(self.given + sign * step * self.direction) for sign in (1, -1)]
        agree(self.along(product), (ends[0] - ends[1]) / (2 * step), 1e-5)


def fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def as_array(value: Any) -> Any:
    """A result as a Tensor or an array: NumPy makes numbers of arrays without dimensions."""
    return value if isinstance(value, tg.Tensor) else np.asarray(value)


def agree(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance)


TestViews = Views.TestCase
TestViews.settings = examples(
    40, stateful_step_count=14, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate],
)  # fmt: skip
