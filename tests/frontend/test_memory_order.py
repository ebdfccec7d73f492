"""The memory orders 'K' and 'A': NumPy's numbers in every mode, or an error that says what to write."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

Call = Callable[[Any, Any, str], Any]
CUBE = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS: dict[str, np.ndarray] = {
    "C": CUBE.copy(),
    "Fortran": np.asfortranarray(CUBE),
    "turned": CUBE.transpose(2, 0, 1),
    "exchanged": CUBE.transpose(1, 0, 2),
    "reversed": CUBE[::-1, :, ::-1],
    "sliced": np.arange(48.0).reshape(2, 3, 8)[..., ::2],
    "columns": np.asfortranarray(CUBE)[:, 1:],
}
READS: dict[str, Call] = {
    "ravel": lambda xp, x, order: xp.ravel(x, order=order),
    ".ravel": lambda xp, x, order: x.ravel(order),
    ".flatten": lambda xp, x, order: x.flatten(order),
    "reshape": lambda xp, x, order: xp.reshape(x, -1, order="A" if order == "K" else order),
    ".reshape": lambda xp, x, order: x.reshape(-1, order="A" if order == "K" else order),
    "view": lambda xp, x, order: x[:, 1:].T.ravel(order),
    "copy": lambda xp, x, order: xp.copy(x, order=order).ravel("K"),
    ".copy": lambda xp, x, order: x.copy(order).ravel("K"),
    "array": lambda xp, x, order: xp.array(x, order=order).ravel("K"),
    ".astype": lambda xp, x, order: x.astype(np.float32, order=order).ravel("K"),
    "add": lambda xp, x, order: xp.add(x, 1.0, order=order).ravel("K"),
    "computed": lambda xp, x, order: (2.0 * x + 1.0).ravel(order),
    "turned": lambda xp, x, order: (x.T + 1.0).ravel(order),
    "of one axis": lambda xp, x, order: xp.exp(x[0, 0] * 0.1).ravel(order),
    "written": lambda xp, x, order: written(xp, x).ravel(order),
}


ALWAYS = list(READS)[:5]  # takes 'C' and 'F' of whatever argument


def written(xp: Any, x: Any) -> Any:
    y = xp.zeros(x.shape)
    y[0] = x[0]
    return y


def weighed(read: Call, order: str) -> Callable[[Any], Any]:
    return lambda x: tg.sum(read(tg, x, order) * np.arange(1.0, x.size + 1)[: read(tg, x, order).size])


MODES: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: lambda x: f(tg.asarray(x)).data,
    "grad": lambda f: lambda x: tg.value_and_grad(f)(x)[0],
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (x,))[0],
    "jit": tg.jit,
    "vmap": lambda f: lambda x: tg.vmap(f)(np.broadcast_to(x, (9, *x.shape)))[8],
}


@pytest.mark.parametrize("name", READS)
def test_orders_are_numpys_or_refused(name: str) -> None:
    """Functions see each layout after all others, so that no recording may serve for another one."""
    wrong, right = [], 0
    for order in "CFAK":
        functions = {mode: make(weighed(READS[name], order)) for mode, make in MODES.items()}
        for layout, x in (*LAYOUTS.items(), *reversed(LAYOUTS.items())):
            flat = READS[name](np, x, order)
            expected = np.sum(flat * np.arange(1.0, flat.size + 1))
            for mode, function in functions.items():
                try:
                    found = function(x)
                except tg.UnsupportedError as error:
                    if "order='C'" not in str(error):
                        raise
                    if order in "CF" and name in ALWAYS:
                        wrong.append((mode, layout, order, "refused"))
                    continue
                right += 1
                if not np.isclose(found, expected, rtol=1e-6):
                    wrong.append((mode, layout, order, f"{found} for {expected}"))
    assert not wrong
    assert right > 80


@pytest.mark.parametrize("order", "AK")
def test_gradients_come_back_to_where_elements_lie(order: str) -> None:
    for x in map(np.copy, LAYOUTS.values()):
        f, expected = weighed(READS["ravel"], order), np.empty(x.shape)
        weights = np.arange(1.0, x.size + 1)
        for place in np.ndindex(*x.shape):
            unit = np.zeros_like(x)
            unit[place] = 1.0
            expected[place] = np.sum(unit.ravel(order) * weights)
        x_dot = np.cos(x)
        np.testing.assert_array_equal(tg.grad(f)(x), expected)
        np.testing.assert_array_equal(tg.grad(lambda x, f=f: tg.vjp(f, x)[0])(x), expected)
        np.testing.assert_allclose(tg.jvp(f, (x,), (x_dot,))[1], np.sum(expected * x_dot), rtol=1e-12)
        np.testing.assert_allclose(
            tg.hvp(lambda x, f=f: f(x) ** 2)(x, x_dot), 2 * np.sum(expected * x_dot) * expected
        )


def test_files_do_not_look_at_orders() -> None:
    """A function that asks for memory orders is not saved; its pickle records anew."""
    compiled = tg.compile(_asks_for_its_order, CUBE)
    with pytest.raises(TypeError, match="order='C' or order='F'"):
        compiled.save("nowhere.tape")
    again = pickle.loads(pickle.dumps(compiled))
    assert again(CUBE) == compiled(CUBE)
    for function in (compiled, again):
        with pytest.raises(tg.UnsupportedError, match="order='K'"):
            function(LAYOUTS["turned"].reshape(CUBE.shape, order="F"))


def _asks_for_its_order(x: Any) -> Any:
    return tg.sum(x.ravel("K") * np.arange(24.0))
