"""The wheel with compiled kernels: ``make wheel``.

``python tests/wheel.py dist`` builds the pure wheel, compiles what `tapegrad.engine.ahead_of_time` lists for each level
of x86-64 (elsewhere for this processor), and adds it. Object code is the same for all Pythons that lay out objects as
this one does; ``python tests/wheel.py dist PYTHON...`` adds that for others, in whose environments Numba, NumPy and
SciPy are installed. What is compiled is kept in `build/objects`, so that a second run takes a minute.
"""

import base64
import hashlib
import os
import pickle
import platform
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import llvmlite.binding as llvm
import numba

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # of each interpreter

import tapegrad  # noqa: E402
from tapegrad.engine import ahead_of_time  # noqa: E402
from tapegrad.engine.codegen.ir import target  # noqa: E402
from tapegrad.engine.codegen.store import shipped  # noqa: E402

LARGEST = 25e6  # bytes, that nobody waits for a download in place of a compiler


def pure_wheel(folder: Path, tree: Path = ROOT) -> Path:
    """Build the wheel without object code."""
    backend = tomllib.loads((tree / "pyproject.toml").read_text())["build-system"]["build-backend"]
    before = Path.cwd()
    os.chdir(tree)
    try:
        return folder / import_module(backend).build_wheel(str(folder))
    finally:
        os.chdir(before)


def levels() -> list[str]:
    """Return the kinds of processors that object code is made for; the empty one is this processor."""
    return list(target.LEVELS) if platform.machine() in ("x86_64", "AMD64") else [""]


def compile_all(level: str, file: Path) -> None:
    """Compile everything for a level, and write it to a file; this process must not run any of it."""
    if level:
        target.only_compile_for(level)
    ahead_of_time.import_all()
    found, began = [], time.monotonic()
    for unit, code, share in ahead_of_time.compiled(ahead_of_time.units(target.host()), target.host()):
        found.append((unit.name, shipped.key_of(unit.name, unit.sources), code))
        if len(found) % 500 == 0:
            print(f"  {level}: {share:.0%}, {time.monotonic() - began:.0f} s", flush=True)
    made_by = {
        "tapegrad": tapegrad.__version__,
        "numba": numba.__version__,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
    }
    file.write_bytes(pickle.dumps((target.host().level, found, made_by)))


def object_files(pythons: Sequence[str], folder: Path, cache: Path) -> dict[str, Path]:
    """Compile everything for each level by each interpreter; return the file of each kind of processor."""
    variables = {
        **os.environ,
        "TAPEGRAD_CACHE_DIR": str(cache),
        "TAPEGRAD_CACHE_SIZE": "0",
    }
    files: dict[str, Path] = {}
    for level in levels():
        codes, made_by, name = [], {}, ""
        for number, python in enumerate(pythons):
            file = folder / f"{level}.{number}.pickle"
            subprocess.run([python, __file__, "objects", level, str(file)], check=True, env=variables)
            name, found, made_by = pickle.loads(file.read_bytes())
            codes += found
        files[name] = folder / name
        packing = (
            "lzma" if level == target.FALLBACK else "zlib"
        )  # few have such processors, and all its bytes
        shipped.write(files[name], codes, made_by, packing)
        print(f"{name}: {len(codes)} functions, {files[name].stat().st_size / 1e6:.1f} MB", flush=True)
    return files


def tag() -> str:
    """Return the tag of the platform. Object code calls the C library by names that have been there for ever."""
    machine = platform.machine().lower().replace("amd64", "x86_64")
    if sys.platform == "linux":
        return f"manylinux_2_17_{machine}"
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    return "win_amd64" if machine == "x86_64" else f"win_{machine}"


def with_objects(pure: Path, files: dict[str, Path], folder: Path) -> Path:
    """Write a wheel for this platform: the pure one, and files of object code."""
    made = folder / pure.name.replace("-none-any.whl", f"-none-{tag()}.whl")
    with ZipFile(pure) as source, ZipFile(made, "w", ZIP_DEFLATED, compresslevel=9) as wheel:
        stamp = source.infolist()[0].date_time
        contents = {info.filename: source.read(info) for info in source.infolist()}
        (record,) = [name for name in contents if name.endswith(".dist-info/RECORD")]
        about = record.replace("RECORD", "WHEEL")
        contents[about] = re.sub(rb"(?m)^Tag: (.*)-any$", rb"Tag: \1-" + tag().encode(), contents[about])
        contents[about] = contents[about].replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
        contents |= {f"tapegrad/objects/{name}": file.read_bytes() for name, file in files.items()}
        del contents[record]
        contents[record] = "".join(_rows(contents.items(), record)).encode()
        for name, data in contents.items():
            info = ZipInfo(name, stamp)
            info.external_attr = 0o644 << 16
            info.compress_type = ZIP_DEFLATED
            wheel.writestr(info, data)
    return made


def _rows(contents: Iterable[tuple[str, bytes]], record: str) -> Iterable[str]:
    for name, data in contents:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(data)}\n"
    yield f"{record},,\n"


def main(folder: Path, pythons: Sequence[str]) -> None:
    """Build the wheel in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        parts = Path(temporary)
        files = object_files([sys.executable, *pythons], parts, ROOT / "build" / "objects")
        made = with_objects(pure_wheel(parts), files, folder)
    size = made.stat().st_size
    print(f"{made}: {size / 1e6:.1f} MB")
    if size > LARGEST:
        raise SystemExit(f"it should have no more than {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    if sys.argv[1] == "objects":
        compile_all(sys.argv[2], Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
