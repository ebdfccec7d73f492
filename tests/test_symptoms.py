"""The page of symptoms: each error that it lists is raised by such a program, in these words."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import integrate, sparse

import tapegrad as tg

PAGE = (Path(__file__).parents[1] / "docs" / "guide" / "by_symptom.md").read_text()
HEADINGS = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
X = np.array([0.5, 1.0, 1.5])


def fill(x: tg.Tensor) -> tg.Tensor:
    out = np.zeros(3)
    out[0] = x[0] ** 2
    return tg.sum(out)


@njit
def doubled(x: Any) -> Any:
    return 2 * x


def sweep_twice() -> None:
    y = tg.sum(tg.tensor(X) ** 2)
    y.backward()
    y.backward()


SYMPTOMS: dict[str, list[Callable[[], object]]] = {
    "TracedValueError: float() of a Tensor was asked for": [
        lambda: tg.grad(fill)(X),
        lambda: tg.grad(lambda x: float(x[0]))(X),
        lambda: tg.grad(lambda x: math.sin(x[0]))(X),
    ],
    "TracedValueError: numpy.array() of a Tensor was asked for": [
        lambda: tg.grad(lambda x: np.sum(np.array([x[0], 1.0])))(X),
    ],
    "TracedValueError: scipy. ... was asked for": [
        lambda: tg.grad(lambda k: integrate.odeint(lambda y, t: -k * y, [1.0], [0.0, 1.0])[-1, 0])(2.0),
    ],
    "grad: the function returned shape (3,)": [lambda: tg.grad(lambda x: x**2)(X)],
    "grad needs one number": [lambda: tg.grad(lambda x: (tg.sum(x), 1))(X)],
    "cannot differentiate by an argument of dtype int64": [
        lambda: tg.grad(tg.sum)(np.array([1, 2], dtype=np.int64))
    ],
    "dtype float16 is not supported": [lambda: tg.grad(tg.sum)(np.ones(2, dtype=np.float16))],
    "dtype object is not supported": [lambda: tg.grad(tg.sum)(np.array([1, "a"], dtype=object))],
    "FreedGraphError: backward through a part of the graph ...": [sweep_twice],
    "'numpy.float64' object has no attribute 'backward'": [
        lambda: np.sin(tg.tensor(X).data).sum().backward()
    ],
    "being recorded: every replay would use this one value": [
        lambda: tg.jit(lambda x: x[0].item())(X),
        lambda: tg.jit(lambda x: float(x[0]))(X),
    ],
    "TracedValueError: scipy.sparse. ... was asked for": [
        lambda: tg.grad(lambda x: np.sum(sparse.coo_matrix((x, ([0, 1, 2], [0, 1, 2]))) @ x))(X),
        lambda: tg.grad(lambda x: np.sum(sparse.csr_array(np.eye(3)).multiply(x) @ x))(X),
    ],
    "UnsupportedError: ... an @njit function, takes arrays, not Tensors": [
        lambda: tg.grad(lambda x: np.sum(doubled(x)))(X)
    ],
}


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_an_error_says_what_the_page_says(symptom: str) -> None:
    assert any(f"`{symptom}`" in heading for heading in HEADINGS)
    for program in SYMPTOMS[symptom]:
        with pytest.raises(Exception) as raised:  # noqa: PT011  the text below says which one
            program()
        text = f"{raised.type.__name__}: {raised.value}"
        assert re.search(re.escape(symptom).replace(r"\ \.\.\.\ ", ".* ").replace(r"\.\.\.", ".*"), text), (
            text
        )


def test_every_error_of_the_page_is_tried() -> None:
    quoted = {
        text
        for heading in HEADINGS
        for text in re.findall(r"`([^`]*(?:[Ee]rror:|'|dtype|grad|:) [^`]*)`", heading)
    }
    assert quoted == SYMPTOMS.keys()
