"""The file itself: an ``.npz`` of plain arrays, one of which is the header, as the bytes of a JSON text."""

import io
import json
import math
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np

from tapegrad.program.archive.fields import DamagedFileError, field, refuse_unless

FORMAT = 1
_HEADER = "tapegrad"  # the first array, by whose name a file is known
_NAME_AT = 30  # where a zip archive has the name of its first part
FIRST_BYTES, LAST_BYTES = 64, 1 << 16  # enough for `is_ours`
_DIRECTORY = b"PK\x01\x02"  # what each entry of a zip archive's directory begins with
_NAME_IN_ENTRY = 46
_DTYPES = (np.dtype(np.uint8), np.dtype(np.int64))
_NO_FILE = (
    zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, EOFError, OSError, OverflowError, IndexError,
    NotImplementedError, RuntimeError, SyntaxError, UnicodeError, tokenize.TokenError,
)  # fmt: skip


def written(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a file with this header and these arrays."""
    text = json.dumps({"format": FORMAT, **header}, separators=(",", ":"), allow_nan=False).encode()
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **{_HEADER: np.frombuffer(text, np.uint8)}, **arrays)
    return stream.getvalue()


def is_ours(first: bytes, last: bytes = b"") -> bool:
    """Return whether a file is one that `written` has made, by its first bytes or by its last ones.

    The first name is there twice, and so a file with one damaged end is still known.
    """
    name, entry = f"{_HEADER}.npy".encode(), last.find(_DIRECTORY)
    return first.startswith(name, _NAME_AT) or (entry >= 0 and last.startswith(name, entry + _NAME_IN_ENTRY))


def read(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a file.

    Raises
    ------
    DamagedFileError
        If it is something else, or of a later format.
    """
    try:
        arrays = _arrays(content)
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except DamagedFileError:
        raise
    except _NO_FILE as error:  # all that a damaged archive makes zipfile, NumPy's header and JSON raise
        raise DamagedFileError(f"it cannot be read ({type(error).__name__}: {error})") from None
    number = field(header, "format", int)
    refuse_unless(
        number <= FORMAT,
        f"it has format {number}, and this version of tapegrad reads formats up to {FORMAT}: load it with a newer one",
    )
    refuse_unless(number == FORMAT, f"there is no format {number}")
    return header, arrays


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays, none of which takes more than its bytes in the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        plain = all(
            each.compress_type == zipfile.ZIP_STORED and each.file_size == each.compress_size
            for each in members
        )
        refuse_unless(plain, "parts of it are compressed")
        claimed = sum(each.file_size for each in members)
        refuse_unless(claimed <= len(content), f"its parts claim {claimed} bytes, but it has {len(content)}")
        return {each.filename.removesuffix(".npy"): _array(archive.read(each)) for each in members}


def _array(content: bytes) -> np.ndarray:
    """Return one array, if its bytes are as many as its header says."""
    stream = io.BytesIO(content)
    refuse_unless(np.lib.format.read_magic(stream) == (1, 0), "an array of another version")
    shape, in_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    refuse_unless(
        dtype.isnative, f"a machine of another byte order has written it: an array of dtype {dtype}"
    )
    refuse_unless(dtype in _DTYPES and not in_columns, f"an array of dtype {dtype}")
    rest = content[stream.tell() :]
    refuse_unless(
        min(shape, default=0) >= 0 and math.prod(shape) * dtype.itemsize == len(rest),
        f"an array of shape {shape} has {len(rest)} bytes",
    )
    return np.frombuffer(rest, dtype).reshape(shape)
