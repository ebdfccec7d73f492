"""Compiled functions in files: what is loaded is the same function, and a damaged file does no harm."""

import copy
import errno
import hashlib
import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import drawn, share
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.archive import container
from tapegrad.program.programs.workspace import Workspace
from tapegrad.pytree import flatten

X = np.linspace(0.5, 1.5, 6)
PAIR = ({"b": np.array([1.0, 2.0]), "a": [np.array([[0.5, 1.5, 2.5]]), 2.0]},)
MATRIX = np.arange(16.0).reshape(4, 4) + 5 * np.eye(4)


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def scaled(x: Any, n: int) -> Any:
    return tg.sum(x) * n


def branching(x: Any) -> Any:
    return tg.sum(x**2) if x[0] > 0 else tg.sum(x) * 3


def looping(scan: Any, p: Any) -> Any:
    """A loop in a loop, elements and results, integers in the carry, and a branch that some iterations take."""

    def body(carry: Any, x: Any) -> Any:
        value, count = carry
        inner, _ = scan(lambda u, w: (u * p[0] + w, None), value * p[1], np.array([0.1, 0.2]))
        value = inner + x if inner > 1 else inner - x
        return (value, count + 1), (value * count, count)

    (value, count), (ys, _) = scan(body, (1.0, np.int64(0)), np.linspace(0.5, 1.5, 5))
    return value * count + tg.sum(ys)


def root(p: Any) -> Any:
    """Newton's iteration for a square root, which ends by itself."""
    start = (0.5 * (p[0] + 1.0), 1.0)

    def improve(state: Any) -> Any:
        x = 0.5 * (state[0] + p[0] / state[0])
        return x, x - state[0]

    return tg.while_loop(lambda state: abs(state[1]) > 1e-12, improve, start, max_steps=50)[0] * p[1]


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "several results": (lambda x, y: {"p": x * y, "s": tg.sum(x), "none": None, "k": 3.0}, (X, 2.0)),
    "passed integers": (lambda x, n: (x * n, n), (X, np.arange(6, dtype=np.int32))),
    "fixed arguments": (
        lambda x, how: x * 2 if how["name"] == "twice" else x,
        (X, {"name": "twice", "n": 3}),
    ),
    "gradient": (tg.grad(rosenbrock), (X,)),
    "float32": (tg.value_and_grad(rosenbrock), (X.astype(np.float32),)),
    "a value of one element": (tg.value_and_grad(lambda x: tg.sum(x**2, keepdims=True)), (X,)),
    "of a structure": (
        tg.value_and_grad(lambda p: tg.sum(p["a"][0]) * tg.sum(p["b"] ** 2) * p["a"][1]),
        PAIR,
    ),
    "aux": (tg.value_and_grad(lambda x: (tg.sum(x**2), {"m": x * 2, "c": "text"}), has_aux=True), (X,)),
    "constant": (tg.value_and_grad(lambda x: 3.0), (X,)),
    "jacobian": (tg.jacobian(lambda x: tg.sin(x) * x[0]), (X,)),
    "rows": (tg.jacrev(lambda x: tg.stack([x[0] * x[1], tg.sum(x)])), (X,)),
    "hessian": (tg.hessian(lambda x, y: tg.sum(x**2) * y**3, (0, 1)), (X, 2.0)),
    "product": (tg.hvp(rosenbrock), (X, X[::-1].copy())),
    "along": (lambda x, v: tg.jvp(rosenbrock, (x,), (v,)), (X, X)),
    "indices": (tg.value_and_grad(lambda x, i: tg.sum(x[i] ** 2)), (X, np.array([0, 1, 3]))),
    "matrices": (tg.grad(lambda a: tg.sum(tg.linalg.solve(a, X[:4])) + tg.linalg.det(a)), (MATRIX,)),
    "guarded": (tg.grad(lambda x: tg.sum(x[: int(tg.sum(x))] ** 2) * float(tg.max(x) > 1)), (X,)),
    "loops": (tg.value_and_grad(lambda p: looping(tg.scan, p)), (X,)),
    "tangents of loops": (lambda p: tg.jvp(lambda p: looping(tg.scan, p), (p,), (p,)), (X,)),
    "an end by a condition": (tg.value_and_grad(root), (X * 5,)),
    "closed over": (tg.value_and_grad(lambda x: tg.sum((x * X[::-1]) @ np.ones((6, 2)))), (X,)),
}


def saved(h: Any, folder: Path) -> Path:
    path = folder / "function.tape"
    h.save(path)
    return path


def same(found: Any, expected: Any) -> None:
    """Structures, types, dtypes and bits are the same."""
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        assert type(a) is type(b)
        if isinstance(a, np.ndarray | np.generic):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        else:
            assert a == b


def apart(found: Any, others: Any) -> None:
    """No array lies where one of the others does."""
    ours, theirs = (
        [leaf for leaf in flatten(each)[0] if isinstance(leaf, np.ndarray)] for each in (found, others)
    )
    assert not any(np.shares_memory(a, b) for a in ours for b in theirs)


@pytest.mark.parametrize("name", CASES)
def test_what_is_loaded_computes_bit_for_bit_the_same(name: str, tmp_path: Path) -> None:
    function, args = CASES[name]
    h = tg.compile(function, args)
    loaded = tg.load(saved(h, tmp_path))
    assert repr(loaded) == repr(h)
    same(loaded(*args), h(*args))
    for made in (h, loaded):
        apart(made(*args), [made(*args), *args])
    assert pickle.loads(pickle.dumps(h)) is loaded is pickle.loads(pickle.dumps(loaded))


def test_a_file_may_be_open(tmp_path: Path) -> None:
    h = tg.compile(tg.grad(rosenbrock), X)
    stream = io.BytesIO()
    stream.write(b"before")
    h.save(stream)
    np.save(stream, X)
    stream.seek(6)
    content = saved(h, tmp_path).read_bytes()
    assert stream.getvalue()[6:].startswith(content)
    with (tmp_path / "function.tape").open("rb") as file:
        assert tg.load(file) is tg.load(io.BytesIO(content)) is tg.load(tmp_path / "function.tape")
    stream.seek(6 + len(content))
    np.testing.assert_array_equal(tg.load(stream), X)


def test_all_ways_are_in_one_file_and_their_guards_hold(tmp_path: Path) -> None:
    ways = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    h = tg.compile(tg.grad(branching), *ways)
    for other in (tg.load(saved(h, tmp_path)), copy.copy(h), pickle.loads(pickle.dumps(h))):
        for x in (*ways, *ways[::-1]):
            same(other(x), h(x))
    one = tg.load(saved(tg.compile(tg.grad(branching), ways[0]), tmp_path))
    with pytest.raises(tg.UnrecordedWayError, match="branching"):
        one(ways[1])


def test_arrays_that_are_closed_over_are_in_the_file_as_they_were_saved(tmp_path: Path) -> None:
    data = np.array([1.0, 2.0])
    h = tg.compile(lambda x: tg.sum(x * data), np.ones(2))
    data[0] = 5.0
    loaded = tg.load(saved(h, tmp_path))
    data[0] = 7.0
    assert (loaded(np.ones(2)), h(np.ones(2))) == (7.0, 9.0)


def test_an_array_that_has_changed_after_numpy_has_computed_from_it_is_refused(tmp_path: Path) -> None:
    data = np.array([1.0, 2.0])
    h = tg.compile(lambda x: tg.sum(x) * float(np.sum(data)), np.ones(2))
    data[0] = 5.0
    with pytest.raises(ValueError, match="changed since it was compiled"):
        h.save(tmp_path / "function")


own = tg.custom_op("own", np.exp, lambda y_bar, y, x: y_bar * y)


def with_op(x: Any) -> Any:
    return tg.sum(own(x))


class Named(dict[str, Any]):
    pass


def named(x: Any) -> Any:
    return Named(x=x * 2)


def test_what_calls_python_or_is_of_another_structure_is_refused_and_pickled_by_name(tmp_path: Path) -> None:
    x = np.ones((2, 2))
    for function, message in ((named, "Named"), (with_op, "a replay of .* calls Python")):
        h = tg.compile(function, x)
        with pytest.raises(TypeError, match=message):
            h.save(tmp_path / "function")
        same(pickle.loads(pickle.dumps(h))(x), h(x))


def test_another_process_needs_no_function(tmp_path: Path) -> None:
    made = [
        tg.compile(tg.value_and_grad(f), X) for f in (rosenbrock, lambda p: looping(tg.scan, p) + root(p))
    ]
    paths = [tmp_path / f"{number}.tape" for number in range(len(made))]
    for h, path in zip(made, paths, strict=True):
        h.save(path)
    program = (
        "import sys, pickle, numpy as np, tapegrad as tg\n"
        "for path in sys.argv[1:]:\n"
        "    for part in tg.load(path)(np.linspace(0.5, 1.5, 6)): print(part.tobytes().hex())"
    )
    command = [sys.executable, "-c", program, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [each.tobytes().hex() for h in made for each in h(X)]


def test_a_branch_of_a_loop_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    def steps(p: Any) -> Any:
        return tg.scan(lambda c, _: (c * 2 if c < 5 else c + p, None), p, length=3)[0]

    h = tg.compile(tg.grad(steps), 0.1)
    loaded = tg.load(saved(h, tmp_path))
    assert loaded(0.1) == 8.0
    with pytest.raises(tg.UnrecordedWayError, match="a branch, a mask or an integer of the"):
        loaded(3.0)


def test_loops_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    path = saved(tg.compile(root, X), tmp_path)
    header, arrays = container.read(path.read_bytes())
    for change, message in (
        ({"carry": 1}, "operands of a body"),
        ({"length": 3}, "either a length or a condition"),
        ({"length": 1 << 60}, "numbers of a loop"),
        ({"kind": "pullback", "loop": 0}, "a pullback of op 0"),
        ({"kind": "other"}, "no op of kind 'other'"),
        ({"condition": None}, "either a length or a condition"),
        ({"condition": header["inner"][0]["body"]}, "a condition is one boolean"),
    ):
        path.write_bytes(container.written({**header, "inner": [{**header["inner"][0], **change}]}, arrays))
        with pytest.raises(ValueError, match=message):
            tg.load(path)


def test_other_arguments_are_refused(tmp_path: Path) -> None:
    loaded = tg.load(saved(tg.compile(tg.grad(scaled), (X, 2)), tmp_path))
    for args, message in (
        ((X[:3], 2), r"float64 of shape \(6,\), but got float64 of shape \(3,\)"),
        ((X.astype(np.float32), 2), "but got float32"),
        ((X, 3), "other static values"),
        (([X], 2), "structure"),
        ((tg.tensor(X), 2), "not Tensors"),
    ):
        with pytest.raises(TypeError, match=message):
            loaded(*args)


def test_arrays_are_read_as_numpy_does(tmp_path: Path) -> None:
    np.savez(tmp_path / "arrays.npz", x=X)
    np.testing.assert_array_equal(tg.load(tmp_path / "arrays.npz")["x"], X)


# --- damaged files ---------------------------------------------------------------------------------------------


def test_the_names_in_a_file_are_those_of_its_format(tmp_path: Path) -> None:
    """Files of earlier versions are read by them: another name is another `container.FORMAT`."""
    header, arrays = container.read(saved(tg.compile(branching, X), tmp_path).read_bytes())
    columns = {"way0.buffers", "way0.instructions", "way0.slots", "way0.words"}
    assert {name.rstrip("0123456789") for name in arrays} == {"constant", *columns}
    assert sorted(header) == ["arguments", "constants", "format", "name", "results", "ways"]
    assert sorted(header["ways"][0]) == [
        "dtypes", "fused", "inputs", "kind", "ops", "order", "outputs", "sources", "values", "wrt",
    ]  # fmt: skip


def test_later_formats_and_damaged_files_are_refused(tmp_path: Path) -> None:
    path = saved(tg.compile(tg.grad(rosenbrock), X), tmp_path)
    content = path.read_bytes()
    header, arrays = container.read(content)
    path.write_bytes(container.written({**header, "format": container.FORMAT + 1}, arrays))
    with pytest.raises(ValueError, match=f"has format {container.FORMAT + 1}.*load it with a newer one"):
        tg.load(path)
    other = {name: array.astype(array.dtype.newbyteorder()) for name, array in arrays.items()}
    path.write_bytes(container.written(header, other))
    with pytest.raises(ValueError, match="a machine of another byte order has written it"):
        tg.load(path)
    with pytest.raises(ValueError, match="a pickle holds no compiled function"):
        pickle.loads(pickle.dumps(tg.load(io.BytesIO(content))).replace(b"rosenbrock", b"rosenbrack"))
    for end in (100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match="no compiled function that can be loaded"):
            tg.load(path)
    (inside,) = header["arguments"]["structure"]["tuple"]
    for structure in (inside, {"list": [inside]}):
        other = {**header, "arguments": {**header["arguments"], "structure": structure}}
        path.write_bytes(container.written(other, arrays))
        with pytest.raises(ValueError, match="the arguments are no tuple"):
            tg.load(path)
    constant = next(name for name in arrays if name.startswith("constant"))
    path.write_bytes(container.written(header, {**arrays, constant: arrays[constant][::-1]}))
    with pytest.raises(ValueError, match="SHA-256"):
        tg.load(path)


def test_a_header_that_ends_in_the_middle_is_damaged(tmp_path: Path) -> None:
    """NumPy gives text that is no literal to Python's tokenizer, which has an error of its own."""
    path = saved(tg.compile(tg.grad(rosenbrock), X), tmp_path)
    with zipfile.ZipFile(path) as archive:
        parts = {each.filename: archive.read(each) for each in archive.infolist()}
    name = next(iter(parts))
    parts[name] = (
        parts[name].replace(b"), }", b"   , ", 1).replace(b"   , ", b"   ,  ", 1)[: len(parts[name])]
    )
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
    with pytest.raises(ValueError, match=r"no compiled function that can be loaded.*TokenError"):
        tg.load(path)


def test_a_file_whose_beginning_is_damaged_is_still_one_of_ours(tmp_path: Path) -> None:
    path = saved(tg.compile(tg.grad(rosenbrock), X), tmp_path)
    content = path.read_bytes()
    for damaged_part in (slice(0, 4), slice(0, 64), slice(26, 32), slice(30, 40)):
        first = bytearray(content)
        first[damaged_part] = b"\xff" * len(first[damaged_part])
        path.write_bytes(first)
        with pytest.raises(ValueError, match=r"load: .* holds no compiled function that can be loaded"):
            tg.load(path)
    np.savez(path.with_suffix(".npz"), other=X, tapegrad=X)  # arrays of a user's
    np.testing.assert_array_equal(tg.load(path.with_suffix(".npz"))["tapegrad"], X)


def test_a_buffer_takes_no_more_memory_than_its_slots(tmp_path: Path) -> None:
    path = saved(tg.compile(tg.grad(rosenbrock), X), tmp_path)
    header, arrays = container.read(path.read_bytes())
    lines = arrays["way0.buffers"].copy()
    lines[-1, 0] = 1 << 31
    path.write_bytes(container.written(header, {**arrays, "way0.buffers": lines}))
    with pytest.raises(ValueError, match=r"it has 2147483648 bytes, of which \d+ are used"):
        tg.load(path)


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tg.compile(rosenbrock, X), tmp_path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            tg.compile(tg.grad(rosenbrock), X).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(FileNotFoundError):
        tg.compile(rosenbrock, X).save(tmp_path / "missing" / "f.tape")


def test_a_save_onto_a_folder_or_into_a_read_only_one_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = tg.compile(rosenbrock, X)
    path = saved(h, tmp_path)
    before = path.read_bytes()
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="folder"):
        h.save(folder)
    assert folder.is_dir()
    assert not list(folder.iterdir())

    # root may write into any folder: the refusal of the system is imitated
    def refuse(file: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(file))
        return opened(file, flags, *rest, **options)

    opened = os.open
    with monkeypatch.context() as system:
        system.setattr(os, "open", refuse)
        with pytest.raises(PermissionError, match="Permission denied"):
            h.save(path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == sorted((path.name, folder.name))


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is being read cannot be replaced there")
def test_a_file_that_two_processes_save_at_once_is_always_one_of_the_two(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np, tapegrad as tg\n"
        "h = tg.compile(lambda x: x * float(sys.argv[2]), np.zeros(6))\n"
        "h.save(sys.argv[1]); print(flush=True); sys.stdin.readline()\n"
        "for _ in range(20): h.save(sys.argv[1])\n"
    )
    path = tmp_path / "f.tape"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), factor], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for factor in ("2", "3")
    ]
    for each in writers:
        assert each.stdout is not None
        assert each.stdout.readline()
    for each in writers:
        assert each.stdin is not None
        each.stdin.write(b"\n")
        each.stdin.flush()
    seen = 0
    while seen == 0 or any(each.poll() is None for each in writers):
        assert tg.load(path)(X).tobytes() in ((X * 2).tobytes(), (X * 3).tobytes())
        seen += 1
    for each in writers:
        each.communicate()
    assert [each.returncode for each in writers] == [0, 0]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions")
def test_a_save_goes_through_links_and_keeps_permissions(tmp_path: Path) -> None:
    path = saved(tg.compile(rosenbrock, X), tmp_path)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    tg.compile(tg.grad(rosenbrock), X).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(tg.load(path)(X), tg.grad(rosenbrock)(X))
    tg.compile(rosenbrock, X).save(os.devnull)
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("stride", [-2, -1, 2])
def test_a_step_between_numbers_that_lie_side_by_side_is_refused(stride: int, tmp_path: Path) -> None:
    def largest(x: Any) -> Any:
        return tg.sum(tg.take_along_axis(x, tg.argmax(x, axis=1)[:, None], 1))

    path = saved(tg.compile(largest, MATRIX, fuse=False), tmp_path)
    header, arrays = container.read(path.read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    lines, op = arrays["way0.instructions"], header["ways"][0]["ops"].index("locate")
    (place,) = lines[lines[:, 0] == op, 5]
    assert arrays["way0.words"][place + 3] == 1
    arrays["way0.words"][place + 3] = stride
    path.write_bytes(container.written(header, arrays))
    with pytest.raises(ValueError, match="LocateParams"):
        tg.load(path)


NUMBERS = (0, 1, 2, 3, 8, -1, -8, 24, 63, 64, 255, 4096, 1 << 31, 1 << 40, 1 << 62, -(1 << 63))


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """All places of integers and names in a header."""
    for key, part in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(part, dict | list):
            yield from places(part)
        elif type(part) in (int, str):
            yield node, key


def recordings(loop: Any) -> list[Any]:
    """Return the recordings of a loop's functions."""
    return [way for part in ("body", "condition") if loop[part] for way in loop[part]["ways"]]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """A file in which a number or a name is another one, and whose checksums are right."""
    header, arrays = container.read(content)
    header, arrays = json.loads(json.dumps(header)), {name: array.copy() for name, array in arrays.items()}
    for way in header["ways"] + [way for loop in header.get("inner", ()) for way in recordings(loop)]:
        way["fused"] = False  # nothing is compiled for a damaged file
    if chance.random() < 0.2:
        node, key = chance.choice([*places(header)])
        names = [
            "float32",
            "int64",
            "jacrev",
            "forward",
            "matmul",
            "gather",
            "lu_solve",
            "custom",
            "sum",
            "array",
        ]
        node[key] = chance.choice(names) if isinstance(node[key], str) else chance.choice(NUMBERS)
        for loop in header.get("inner", ()):  # how long a file computes is up to its author
            loop["most"] = min(loop["most"], 50) if loop["length"] >= 0 else 50
            loop["length"] = min(loop["length"], 1000)
        return container.written(header, arrays)
    name = chance.choice([name for name, array in arrays.items() if array.size])
    flat = arrays[name].reshape(-1)
    k = chance.randrange(len(flat))
    if flat.dtype == np.uint8:
        flat[k] = chance.randrange(256)
        header["constants"][int(name.removeprefix("constant"))]["sha256"] = hashlib.sha256(
            flat.tobytes()
        ).hexdigest()
    else:
        flat[k] = chance.choice([flat[k] + 1, flat[k] - 1, flat[chance.randrange(len(flat))], *NUMBERS])
    return container.written(header, arrays)


def run_all(h: Any) -> None:
    """Run each program on zeros and on ones, and call the function."""
    for fill in (0, 1):
        inputs = [np.full(view.shape, fill, view.dtype) for view in h.inputs]
        for way in h.handle.specializations:
            program = way.program
            results = [
                np.empty(binding.shape, binding.dtype) for binding in program.bindings[program.given :]
            ]
            arrays = (*[inputs[k] for k in way.order], *results)
            workspace = Workspace(program)
            getattr(replay, program.entry)(workspace.address, id(arrays))


def hammer(seed: int, count: int) -> tuple[int, int]:
    """Load damaged files, and run what is loaded; how many were loaded, and how many refused."""
    chance, loaded, refused = random.Random(seed), 0, 0
    contents = [pickle.dumps(tg.compile(function, args)) for function, args in CASES.values()]
    files = [pickle.loads(each)._content for each in contents]
    for _ in range(count):
        try:
            run_all(type(pickle.loads(contents[0]))._of(damaged(chance.choice(files), chance)))
            loaded += 1
        except ValueError:
            refused += 1
    return loaded, refused


@drawn
def test_no_damaged_file_crashes_or_reaches_beyond_its_memory() -> None:
    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    program = (
        f"import sys; sys.path[:0] = {folders}; import test_files as t; print(*t.hammer(5, {share(300)}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TAPEGRAD_GUARD_PAGES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded, refused = map(int, done.stdout.split())
    assert loaded > share(30)
    assert refused > share(100)
