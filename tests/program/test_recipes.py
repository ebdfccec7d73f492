"""Recipes describe the program that they are found for; what goes wrong with one costs it alone."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers import aliases
from helpers.daily import drawn, share
from helpers.segments import assert_same
from tapegrad.engine.codegen.store import cache, cache_files
from tapegrad.engine.kernels.language import frame as field
from tapegrad.program.fusion import recipes, streams
from tapegrad.program.fusion.outside import ExternalAddresses, located
from tapegrad.program.streams.memory_plan import WorkspaceBlocks
from tapegrad.program.streams.spec import IF_KNOWN
from tapegrad.program.streams.stream import InstructionStream, empty_stream
from tapegrad.special import logsumexp

X = np.random.default_rng(0).uniform(-1, 1, (4, 72))
PROCESSES, PROGRAMS = 3, share(14)
REDUCTIONS = (tg.max, tg.min, tg.nanmax, logsumexp)


@pytest.fixture
def no_recipes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache folder with all that was compiled, and no recipe."""
    folder = cache.folder()
    assert folder is not None
    own = tmp_path / folder.name
    own.mkdir()
    for file in folder.iterdir():
        if not file.name.startswith(("program.", "outline.")):
            (own / file.name).symlink_to(file)
    monkeypatch.setattr(cache, "folder", lambda: own)
    monkeypatch.delenv("TAPEGRAD_FUSE", raising=False)
    return own


# --- arrays that alias ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@drawn
def test_processes_that_differ_in_what_aliases_what(no_recipes: Path) -> None:
    kept = {**os.environ, "TAPEGRAD_CACHE_DIR": str(no_recipes.parent), "TAPEGRAD_CHECK": "1"}
    for process in range(PROCESSES):
        command = [sys.executable, "-W", "ignore", aliases.__file__, "0", str(PROGRAMS), str(process)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=kept, check=False)
        assert done.stdout == f"0 of {PROGRAMS}\n", done.stdout + done.stderr


@pytest.mark.parametrize("lines", [2, 16])
@pytest.mark.parametrize("reduced", REDUCTIONS)
def test_lines_of_a_table_that_is_closed_over(
    reduced: Callable[..., Any], lines: int, no_recipes: Path, rng: np.random.Generator
) -> None:
    """Segments reach the lines at addresses that no frame names."""
    c = rng.uniform(-1, 1, (lines, 64))

    def f(x: Any) -> Any:
        return tg.sum(reduced(c, axis=0) * tg.sin(x)) + tg.sum(reduced(c * x, axis=0))

    x, several = X[0, :64], X[:3, :64]
    rows, fused = (tg.jit(f, fuse=fuse) for fuse in (False, True))
    assert_same(tg.grad(fused)(x), tg.grad(rows)(x))
    assert_same(tg.compile(fused, x)(x), rows(x))
    assert_same(tg.vmap(fused)(several), tg.vmap(rows)(several))
    assert list(no_recipes.glob("program.*"))


def test_a_line_of_a_table_and_an_array_of_its_own(no_recipes: Path, rng: np.random.Generator) -> None:
    c = rng.uniform(-1, 1, (3, 72))

    def closing_over(d: np.ndarray, e: np.ndarray) -> Callable[[Any], Any]:
        return lambda x: tg.sum(tg.max(c * x, axis=0)) + tg.sum(x[0] * d) + tg.sum(x[1] * e)

    for d, e in ((c[1], c[2]), (X[0], X[1])):
        f = closing_over(d, e)
        assert_same(tg.jit(f, fuse=True)(X[:3]), tg.jit(f, fuse=False)(X[:3]))


def test_derived_addresses_keep_their_array(rng: np.random.Generator) -> None:
    """Numbers go by the order of the frames; a step to another line stays with the array that it began in."""
    count = 70_000
    frames = np.zeros((count, field.FIELDS), np.int64)
    frames[:, field.X] = 4096 + 64 * rng.permutation(count)
    frames[1::2, field.Y_BAR] = frames[0::2, field.X]
    outside = ExternalAddresses([InstructionStream(frames[:9]), InstructionStream(frames[9:])])
    made_up = np.concatenate([stream.frames for stream in outside.streams])
    assert len(outside.addresses) == count
    for row in (0, 8, 9, count - 1):
        for offset in (0, 64, 1 << 39):
            array, found = located(int(made_up[row, field.X]) + offset)
            assert (outside.addresses[array], found) == (frames[row, field.X], offset)
    assert (made_up[1::2, field.Y_BAR] == made_up[0::2, field.X]).all()


# --- what a recipe depends on --------------------------------------------------------------------------------------


def test_the_blocks_of_the_workspace_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row may touch without saying so is the block that it is given an address in."""
    keys = []
    monkeypatch.setattr(recipes, "read", keys.append)
    for sizes in ([64, 192], [192, 64], [64, 192]):
        blocks = WorkspaceBlocks()
        blocks.new(sizes)
        streams.fused([streams.UnfusedStream(empty_stream())], blocks, [], IF_KNOWN, {})
    assert keys[0] == keys[2] != keys[1]


def test_the_recipe_of_another_program_is_refused(monkeypatch: pytest.MonkeyPatch, no_recipes: Path) -> None:
    def f(x: Any) -> Any:
        return tg.sum(tg.sin(x) * x)

    tg.jit(f, fuse=True)(X)
    tg.jit(f)(X)
    (file,) = no_recipes.glob("program.*")
    found = cache_files.read(file)
    assert found is not None
    (*first, segment), *others = found[0]
    fields = [*segment.fields[:-1], segment.fields[-1] + 8]
    cache_files.write(file, ([[*first, segment._replace(fields=fields)], *others], found[1]))
    with pytest.raises(tg.IllegalTapeError, match=f"{file.name}.*delete the file"):
        tg.jit(f)(X)


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [pickle.PicklingError, RecursionError, OSError, KeyError, MemoryError])
def test_a_recipe_that_cannot_be_written_costs_the_recipe(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, no_recipes: Path
) -> None:
    def write(path: Path, parts: Any) -> None:
        if path.name.startswith("program."):
            raise error("no recipe today")
        inner(path, parts)

    inner, said = cache_files.write, list[Any]()
    monkeypatch.setattr(cache_files, "write", write)
    monkeypatch.setattr(cache.complaints, "make", lambda *args: said.append(args))
    f = tg.jit(lambda x: tg.sum(tg.max(X * x, axis=0)), fuse=True)
    assert_same(f(X), tg.jit(f, fuse=False)(X))
    assert f.tape(X).segments
    assert [isinstance(each, error) for _, each in said] == [True]
    assert not list(no_recipes.glob("program.*"))


@pytest.mark.parametrize("content", [(), ([],), 3, "units"])
def test_a_recipe_that_cannot_be_read_is_made_anew(content: Any, no_recipes: Path) -> None:
    def f(x: Any) -> Any:
        return tg.sum(tg.cos(x) * x)

    expected = tg.jit(f, fuse=True)(X)
    (file,) = no_recipes.glob("program.*")
    cache_files.write(file, content)
    assert_same(tg.jit(f, fuse=True)(X), expected)
    assert len(cache_files.read(file) or ()) == len(recipes.Recipe._fields)
