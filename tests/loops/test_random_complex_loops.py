"""Random loops over few complex numbers, lines of these and real numbers: kernels have the bits of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import random_seeds

P = np.array([0.35, -0.15, 0.2])
ITERATIONS = 70


def makers(a: Any, b: Any, c: Any, line: Any, k: int, j: int) -> list[tuple[str, Callable[[], Any]]]:
    """Instructions on two numbers, a real one and a line of which these are elements, by what they make."""
    return [
        ("number", lambda: a * b * 0.5),
        ("number", lambda: line[k] * c + a),
        ("number", lambda: tg.exp(1j * a.real) * 0.4),
        ("number", lambda: c + 0.2j * c),
        ("line", lambda: tg.stack([line[k] * a * 0.5, b + line[j] * 0.1])),
        ("line", lambda: line * a * 0.4),
        ("line", lambda: tg.conj(line) * c * 0.3),
        ("real", lambda: a.real * c * 0.5),
        ("real", lambda: a.real * 0.3 - b.imag * c * 0.2),
        ("real", lambda: tg.abs(line[k]) * 0.3),
        ("real", lambda: tg.where(c > 0.1, c * 0.5, a.imag * 0.2)),
        ("real", lambda: tg.sin(c)),
    ]


def random_body(seed: int) -> Callable[..., Any]:
    """An iteration on a complex number, a line of two and a real number; what it hands on is about as large."""

    def body(carry: Any, element: Any, p: Any) -> Any:
        rng = np.random.default_rng(seed)
        (z, u, r), (x, w) = carry, element
        numbers, lines, reals = [z, w, p[0] + 1j * p[1]], [u], [r, x, p[2]]

        def one_of(values: list[Any]) -> Any:
            return values[int(rng.integers(0, len(values)))]

        for _ in range(int(rng.integers(1, 7))):
            a, b, c, line = one_of(numbers), one_of(numbers), one_of(reals), one_of(lines)
            k, j = (int(n) for n in rng.integers(0, 2, 2))
            kinds = {"number": numbers, "line": lines, "real": reals}
            kind, make = one_of(makers(a, b, c, line, k, j))
            kinds[kind].append(make())
        last = one_of(numbers), one_of(lines), one_of(reals)
        end = int(rng.integers(0, 4))
        by_part = last[0].real * 0.5 + 0.1j * x if end == 0 else last[0]
        stacked = tg.stack([by_part, last[1][0]]) if end == 1 else last[1]
        seen = {2: z, 3: stacked[0]}.get(end, numbers[-1])
        return (by_part * 0.4 + 0.1 * w, stacked * 0.4, last[2] * 0.4 + x * 0.1), (seen, one_of(reals) * 1.0)

    return body


def first(p: Any) -> Any:
    return p[0] * 0.3 + 0.2j, tg.stack([p[1] + 0.1j, 0.3 - 1j * p[2]]), p[2]


def total(z: Any, u: Any, r: Any) -> Any:
    return z.real - z.imag * 0.5 + tg.sum(u.real) + tg.sum(u.imag) + r


def by_scan(seed: int, p: Any, **options: Any) -> Any:
    body, xs = random_body(seed), np.linspace(0.0, 1.0, ITERATIONS)
    elements = xs, np.exp(1j * np.arange(ITERATIONS)) * 0.5
    carry, (zs, rs) = tg.scan(lambda c, e: body(c, e, p), first(p), elements, **options)
    return total(*carry) + tg.sum(zs.real * xs) + 0.2 * tg.sum(zs.imag) + 0.1 * tg.sum(rs)


def by_condition(seed: int, p: Any, **options: Any) -> Any:
    body = random_body(seed)

    def step(state: Any) -> Any:
        carry, t, seen = state
        carry, (z, r) = body(carry, (0.3 * t, tg.exp(1j * t) * 0.5), p)
        return carry, t + 0.1, seen + 0.1 * (z.real + r)

    limit = 0.1 * ITERATIONS - 0.05
    state = tg.while_loop(lambda s: s[1] < limit, step, (first(p), 0.0, 0.0 * p[0]), **options)
    return total(*state[0]) + state[2]


@pytest.mark.parametrize("loop", [by_scan, by_condition])
@random_seeds(0, 80, 10)
def test_bits_are_those_of_rows(loop: Any, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        options = (
            {"checkpoint": 9}
            if seed % 3 == 1
            else {"reverse": True}
            if loop is by_scan and seed % 3 == 2
            else {}
        )
        monkeypatch.setenv("TAPEGRAD_FUSE", "1")
        found = tg.value_and_grad(tg.jit(lambda p, s=seed, o=options: loop(s, p, **o)))(P)
        monkeypatch.setenv("TAPEGRAD_FUSE", "0")
        by_rows = tg.value_and_grad(tg.jit(lambda p, s=seed, o=options: loop(s, p, **o)))(P)
        assert [each.tobytes() for each in found] == [each.tobytes() for each in by_rows], seed
