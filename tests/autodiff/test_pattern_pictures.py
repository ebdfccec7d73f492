"""Pictures of patterns: a square for each entry or block of entries, in the colour of its columns."""

import xml.etree.ElementTree as ET
from collections import Counter

import numpy as np
import pytest
import scipy.sparse

from tapegrad.autodiff.sparsity.pattern import Pattern

SVG = "{http://www.w3.org/2000/svg}"


def made(matrix, colors):
    pattern = scipy.sparse.csr_array(matrix)
    pattern.sort_indices()
    return Pattern(pattern, np.asarray(colors))


def squares(pattern):
    """Return the squares of a picture, without its ground: tip, fill, opacity, and corners."""
    found = []
    for each in list(ET.fromstring(pattern._repr_svg_()).iter(f"{SVG}rect"))[1:]:
        x, y, width, height = (float(each.get(name)) for name in ("x", "y", "width", "height"))
        opacity = float(each.get("fill-opacity", "1"))
        found.append(
            (each.find(f"{SVG}title").text, each.get("fill"), opacity, (x, y, x + width, y + height))
        )
    return found


def test_each_entry_of_a_small_pattern_has_the_colour_of_its_column():
    matrix = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    found = squares(made(matrix, [0, 1, 0, -1]))
    tips = [tip for tip, *_ in found]
    assert tips == [
        "row 0, column 0, colour 0",
        "row 0, column 1, colour 1",
        "row 1, column 1, colour 1",
        "row 1, column 2, colour 0",
        "row 2, column 2, colour 0",
        "row 2, column 3",
    ]
    fills = [fill for _, fill, *_ in found]
    assert fills[0] == fills[3] == fills[4] != fills[1] == fills[2]
    assert fills[5] not in fills[:5]
    assert {opacity for _, _, opacity, _ in found} == {1.0}


@pytest.mark.parametrize("shape", [(1000, 1000), (1000, 7), (5, 300), (65, 64), (1, 1)])
def test_squares_tell_how_many_entries_blocks_have(shape):
    rng = np.random.default_rng(0)
    m, n = shape
    matrix = scipy.sparse.random_array(shape, density=0.02 if m * n > 10 else 1, rng=rng)
    pattern = made(matrix, np.arange(n) % 3)
    found = squares(pattern)
    counts, places = pattern.counts(64, 64)
    assert len(found) == np.count_nonzero(counts) <= 64 * 64
    assert counts.sum() == pattern.nnz
    told = Counter(int(tip.split(": ")[1].split(" of")[0]) if ": " in tip else 1 for tip, *_ in found)
    assert told == Counter(counts[counts > 0].tolist())
    assert places.sum() == m * n
    picture = pattern.plot()
    for *_, (left, top, right, bottom) in found:
        assert 0 <= left < right <= picture.width
        assert 0 <= top < bottom <= picture.height


def test_blocks_of_several_colours_are_darker_where_they_are_full():
    banded = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(640, 640))
    found = squares(made(banded, np.arange(640) % 3))
    full = {opacity for tip, _, opacity, _ in found if ": 28 of" in tip}
    corner = {opacity for tip, _, opacity, _ in found if ": 1 of" in tip}
    assert len(full) == len(corner) == 1
    assert full.pop() > corner.pop()
    assert len({fill for _, fill, *_ in found}) == 1
    assert "rows 10-19, columns 10-19: 28 of 100 entries" in [tip for tip, *_ in found]


def test_nothing_is_a_picture_and_files_are_svg(tmp_path):
    pattern = made(np.zeros((0, 3)), [-1, -1, -1])
    assert squares(pattern) == []
    pattern.plot().save(tmp_path / "pattern.svg")
    assert ET.parse(tmp_path / "pattern.svg").getroot().tag == f"{SVG}svg"
