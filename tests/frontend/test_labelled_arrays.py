"""Arrays of pandas and xarray, and masked arrays, as operands, as arguments and as what a recorded function sees."""

import operator

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tapegrad as tg

VALUES = np.array([1.0, 2.0, 4.0])
SERIES = pd.Series(VALUES, index=["a", "b", "c"], name="s")
FRAME = pd.DataFrame({"a": VALUES, "y": [3.0, 1.0, 2.0], "group": ["u", "v", "u"]})
ARRAY = xr.DataArray(VALUES, dims="x", coords={"x": [10, 20, 30]})
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
x = np.array([0.5, 1.5, 2.5])


def gradients(function, at):
    """The gradient of a function, eagerly and replayed."""
    return [tg.grad(function)(at), tg.grad(tg.jit(function))(at)]


def assert_same_gradients(function, on_arrays, at):
    expected = tg.grad(on_arrays)(at)
    for found in gradients(function, at):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


# --- operators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operate", OPERATORS)
@pytest.mark.parametrize(
    "make",
    [lambda: SERIES, lambda: FRAME["a"], lambda: SERIES.index.map(dict(zip("abc", VALUES, strict=True)))],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_column_of_pandas_and_a_tensor_give_a_tensor(operate, make, first):
    column = make()

    def function(t, other=column):
        return tg.sum(operate(other, t) if first else operate(t, other))

    result = operate(column, tg.tensor(x)) if first else operate(tg.tensor(x), column)
    assert type(result) is tg.Tensor
    assert_same_gradients(function, lambda t: function(t, np.asarray(column)), x)
    assert_same_gradients(lambda t: function(t[1]), lambda t: function(t[1], np.asarray(column)), x)


@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_with_pandas_are_plain_booleans(compare):
    t = tg.tensor(np.array([1.0, 3.0, 3.0]))
    for found in (compare(t, SERIES), compare(t, FRAME["a"])):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, compare(t.data, VALUES))
    np.testing.assert_array_equal(compare(SERIES, t), compare(VALUES, t.data))


@pytest.mark.parametrize(
    "function",
    [
        lambda t, s: tg.sum(np.multiply(s, t)),
        lambda t, s: tg.sum(np.add(t, s) ** 2),
        lambda t, s: tg.sum(np.sin(s) * t),
        lambda t, s: tg.sum(tg.exp(s) * t),
        lambda t, s: tg.sum(np.where(s > 1.5, t, s)),
        lambda t, s: tg.sum(t[np.asarray(s > 1.5)]),
        lambda t, s: t @ s,
        lambda t, s: np.mean((s - t[0] * s - t[1]) ** 2),
    ],
)
def test_functions_of_a_series_and_a_tensor(function):
    assert_same_gradients(lambda t: function(t, SERIES), lambda t: function(t, VALUES), x)


def test_a_data_frame_and_a_number():
    numbers = FRAME[["a", "y"]]
    assert_same_gradients(
        lambda t: tg.sum(numbers * t[0] + t[1] * numbers),
        lambda t: tg.sum((t[0] + t[1]) * numbers.to_numpy()),
        x,
    )


@pytest.mark.parametrize("operate", OPERATORS + COMPARISONS)
def test_an_array_of_xarray_keeps_its_dimensions(operate):
    """Dimensions are matched by name, so a result without names would be another one two operations later."""
    t, other = tg.tensor(x), xr.DataArray([1.0, 2.0, 3.0], dims="y")
    for found, expected in (
        (operate(t, ARRAY), operate(x, ARRAY)),
        (operate(ARRAY, t), operate(ARRAY, x)),
        (operate(operate(t[0], ARRAY), other), operate(operate(x[0], ARRAY), other)),
    ):
        assert isinstance(found, xr.DataArray)
        assert found.dims == expected.dims
        values = found.data.data if isinstance(found.data, tg.Tensor) else found.data
        np.testing.assert_allclose(values, expected.data)


@pytest.mark.parametrize(
    "function",
    [
        lambda t, a: tg.sum((a * t).data),
        lambda t, a: np.exp(t[0] * a).isel(x=1),
        lambda t, a: (t[0] * a).sel(x=20) * t[1],
        lambda t, a: np.add(t, a).dot(a),
        lambda t, a: tg.sum(tg.exp(t[0] * a) * t),
        lambda t, a: (t[0] * a).where(a > 1.5, 0.0).transpose().isel(x=2),
    ],
)
def test_functions_of_an_array_of_xarray(function):
    """A function may return an xarray object that holds a Tensor."""
    first, second = gradients(lambda t: function(t, ARRAY), x)
    np.testing.assert_allclose(first, second, rtol=1e-14)
    tg.check_grads(tg.jit(lambda t: function(t, ARRAY)), (x,))


# --- what has no numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        FRAME["group"],
        FRAME["group"].astype("category"),
        pd.Series([1, "b", None]),
        pd.Series(pd.to_datetime(["2020", "2021", "2022"])),
        FRAME,
    ],
    ids=["text", "category", "object", "date", "frame"],
)
@pytest.mark.parametrize("first", [True, False])
def test_columns_without_numbers_are_refused_with_what_to_write(column, first):
    t = tg.tensor(x)
    with pytest.raises(
        TypeError,
        match=r"multiply: a (Series|DataFrame) of dtype .* something else than numbers.*to_numpy",
    ):
        column * t[0] if first else t[0] * column


def test_nullable_numbers_are_numbers():
    for column in (pd.Series([1, 2, 3], dtype="Int64"), pd.Series([1.0, 2.0, 3.0], dtype="Float64")):
        np.testing.assert_array_equal((tg.tensor(x) * column).data, [0.5, 3.0, 7.5])


@pytest.mark.parametrize("function", [lambda t: SERIES @ t, lambda t: FRAME[["a", "y"]].T @ t])
def test_products_that_pandas_keeps_to_itself_say_what_to_write(function):
    with pytest.raises(TypeError, match=r"plain array, which would lose its gradient.*s\.to_numpy\(\)"):
        function(tg.tensor(x))


# --- masked arrays -----------------------------------------------------------------------------------------------


def test_a_masked_array_without_a_mask_is_an_array():
    for masked in (np.ma.array(VALUES), np.ma.array(VALUES, mask=[False] * 3)):
        assert_same_gradients(lambda t, m=masked: tg.sum(t * m), lambda t: tg.sum(t * VALUES), x)
        np.testing.assert_array_equal(tg.grad(tg.jit(tg.sum))(masked), np.ones(3))


@pytest.mark.parametrize(
    "use",
    [lambda m: tg.tensor(x) * m, tg.tensor, tg.sum, tg.grad(tg.sum), tg.grad(tg.jit(tg.sum))],
    ids=["product", "tensor", "sum", "gradient", "replayed gradient"],
)
def test_a_masked_element_is_refused_with_what_to_write(use):
    with pytest.raises(TypeError, match=r"1 elements of a masked array are masked.*compressed\(\).*filled"):
        use(np.ma.array(VALUES, mask=[False, True, False]))


def test_numpy_keeps_the_product_of_a_masked_array_and_a_tensor_to_itself():
    with pytest.raises(TypeError, match=r"np\.asarray\(m\) where nothing is masked"):
        np.ma.array(VALUES) * tg.tensor(x)


def test_a_replay_notices_a_mask():
    masked = np.ma.array(VALUES)
    f = tg.jit(lambda t: tg.sum(t * masked))
    f(x)
    masked[1] = np.ma.masked
    with pytest.raises(TypeError, match="1 elements of a masked array"):
        f(x)


# --- arguments and starts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [SERIES, ARRAY], ids=["Series", "DataArray"])
@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
def test_a_gradient_has_the_labels_of_the_argument(start, wrap):
    def function(p):
        assert isinstance(p, tg.Tensor)
        return tg.sum(p**3)

    f = wrap(function)
    value, gradient = tg.value_and_grad(f)(start)
    assert value == np.sum(VALUES**3)
    assert_like(gradient, start, 3 * VALUES**2)
    assert_like(tg.hvp(f)(start, start), start, 6 * VALUES**2)
    assert_like(tg.vjp(f, start)[1](1.0)[0], start, 3 * VALUES**2)
    assert_like(tg.grad(f)({"p": start}["p"]), start, 3 * VALUES**2)
    np.testing.assert_array_equal(tg.hessian(f)(start), np.diag(6 * VALUES))
    assert tg.jvp(f, (start,), (start,))[1] == np.sum(3 * VALUES**3)


def assert_like(found, start, values):
    assert type(found) is type(start)
    np.testing.assert_allclose(found.to_numpy(), values)
    if isinstance(start, pd.Series):
        assert found.index.equals(start.index)
        assert found.name == start.name
    else:
        assert found.dims == start.dims
        assert found.coords.equals(start.coords)


@pytest.mark.parametrize("start", [SERIES, ARRAY], ids=["Series", "DataArray"])
def test_optimisers_start_from_labelled_arrays(start):
    assert_like(tg.optimize.minimize(lambda p: tg.sum((p - 3.0) ** 2), start).x, start, [3.0] * 3)
    assert_like(tg.optimize.least_squares(lambda p: p - 3.0, start).x, start, [3.0] * 3)


def test_other_arguments_of_a_replayed_function_are_data():
    g = tg.grad(tg.jit(lambda p, data: tg.sum(p[0] * data["a"] * data["y"])))
    for factor in (1.0, 2.0):
        data = {name: factor * FRAME[name] for name in ("a", "y")}
        np.testing.assert_allclose(g(x, data)[0], factor**2 * np.sum(FRAME["a"] * FRAME["y"]))
    with pytest.raises(TypeError, match="of type DataFrame is neither an array nor hashable; pass arrays"):
        g(x, FRAME)


# --- what a replay sees --------------------------------------------------------------------------------------------


def set_cell(frame):
    frame.loc[0, "a"] = 70.0


def set_column(frame):
    frame["a"] = frame["a"] * 3


def set_group(frame):
    frame.loc[0, "group"] = "v"


def set_labels(frame):
    frame.index = frame.index[::-1] + 5


def set_element(array):
    array[0] = 9.0


def set_coordinate(array):
    array["x"] = array["x"] * 2


def set_variable(data):
    data["u"] = data["u"] * 2


def set_in_variable(data):
    data["u"][0] = 99.0


CHANGES = {
    "column replaced": (FRAME.copy, set_column, lambda f, t: tg.sum(t[0] * f["a"])),
    "cell": (FRAME.copy, set_cell, lambda f, t: tg.sum(t[0] * f["a"])),
    "cell, by an attribute": (FRAME.copy, set_cell, lambda f, t: tg.sum(t * f.a.mean())),
    "cell, as an array": (FRAME.copy, set_cell, lambda f, t: tg.sum(t * f["a"].to_numpy())),
    "text": (FRAME.copy, set_group, lambda f, t: tg.sum(t[np.asarray(f["group"] == "u")])),
    "labels": (FRAME.copy, set_labels, lambda f, t: tg.sum(t[0] * f.index)),
    "element of a series": (SERIES.copy, lambda s: s.__setitem__("b", 8.0), lambda s, t: tg.sum(t * s)),
    "sum of a series": (SERIES.copy, lambda s: s.__setitem__("b", 8.0), lambda s, t: tg.sum(t) * s.sum()),
    "element of an array": (ARRAY.copy, set_element, lambda a, t: (t * a).isel(x=0)),
    "coordinate": (ARRAY.copy, set_coordinate, lambda a, t: tg.sum(t * a["x"].to_numpy())),
    "variable": (lambda: xr.Dataset({"u": ("x", VALUES)}), set_variable, lambda d, t: tg.sum((d["u"] * t).data)),
    "in a variable": (
        lambda: xr.Dataset({"u": ("x", VALUES.copy())}), set_in_variable, lambda d, t: tg.sum((d["u"] * t).data),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_replay_sees_what_has_changed_in_a_table(name):
    make, change, function = CHANGES[name]
    table = make()
    replayed = tg.value_and_grad(tg.jit(lambda t: function(table, t)))
    before = replayed(x)
    change(table)
    value, gradient = tg.value_and_grad(lambda t: function(table, t))(x)
    np.testing.assert_allclose(replayed(x)[0], value)
    np.testing.assert_allclose(replayed(x)[1], gradient)
    assert before[0] != value


def test_a_table_that_has_not_changed_is_not_recorded_again():
    runs = []

    def function(t):
        runs.append(1)
        return tg.sum(t[0] * FRAME["a"] + t[1] * ARRAY.data)

    f = tg.jit(function)
    for _ in range(3):
        f(x)
    assert len(runs) == 1


# --- functions of xarray's arrays ----------------------------------------------------------------------------------

OTHER_DIMENSION = xr.DataArray([1.0, 3.0, 2.0], dims="y")
OF_ARRAYS = {
    "sin": lambda xp, d: xp.sin(d),
    "power": lambda xp, d: xp.power(d, 2.0),
    "reflected": lambda xp, d: xp.subtract(1.0, d),
    "two": lambda xp, d: xp.multiply(d, d),
    "along another dimension": lambda xp, d: xp.add(d, OTHER_DIMENSION),
    "floor_divide": lambda xp, d: xp.floor_divide(d, 0.7),
    "of a variable": lambda xp, d: xp.exp(d.variable),
    "of integers": lambda xp, d: xp.sqrt(xr.DataArray([1, 4], dims="x")),
    "less": lambda xp, d: xp.less(d, 2.0),
}


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_functions_of_labelled_arrays_give_such_arrays(name):
    """Dimensions broadcast by name; with two Tensors of the same lengths they would by position."""
    expected, found = (OF_ARRAYS[name](xp, ARRAY) for xp in (np, tg))
    assert type(found) is type(expected)
    assert found.dims == expected.dims
    np.testing.assert_allclose(np.asarray(found.data), expected.data, rtol=1e-15)
    if isinstance(found, xr.DataArray):
        assert dict(found.coords).keys() == dict(expected.coords).keys()


def test_functions_of_labelled_tensors_are_differentiated():
    def loss(p):
        spread = tg.exp(tg.multiply(ARRAY, p))  # a Tensor by position
        return tg.sum(tg.add(spread, OTHER_DIMENSION).data ** 2)

    def by_position(p):
        return tg.sum((tg.exp(VALUES * p)[:, None] + OTHER_DIMENSION.data) ** 2)

    assert_same_gradients(loss, by_position, x / 5)
