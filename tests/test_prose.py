"""The prose and names of the package: first sentences that name a thing, and names that say what they are of."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tapegrad
from helpers.offenders import assert_none

PACKAGE = Path(tapegrad.__file__).parent
# A reader who greps must know at the first word whether to go on: it is a noun, or the verb of a function.
NO_FIRST_WORDS = {
    "All", "As", "By", "Each", "Every", "For", "From", "How", "If", "In", "It", "Of", "One", "So", "Such", "That",
    "There", "They", "Those", "To", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why", "With",
    "Without",
}  # fmt: skip
NOBODY = re.compile(r"\b(somebody|nobody|anybody)\b", re.IGNORECASE)
# A bound says of what, and in which unit: `_MAX_COPIED_ELEMENTS`.
BARE_BOUNDS = re.compile(r"_?(FEW|MANY|MOST|LEAST|SHORT|LONG|SMALL|LARGE|LITTLE|BIG)")


@cache
def trees() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))
    }


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield where each docstring is, and its first paragraph."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
                text := ast.get_docstring(node)
            ):
                yield f"{name}, {getattr(node, 'name', 'module')}", text.partition("\n\n")[0]


def _check_first_sentence(case: tuple[str, str]) -> None:
    _, text = case
    assert text.split()[0].strip("`.,:;") not in NO_FIRST_WORDS, f"begin with a noun or a verb: {text}"
    assert not NOBODY.search(text), f"name who or what it is: {text}"


def test_first_sentences_name_the_thing() -> None:
    assert_none(_check_first_sentence, docstrings(), lambda case: case[0])


def test_a_class_name_means_one_thing() -> None:
    found = defaultdict(list)
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    assert not {name: files for name, files in found.items() if len(files) > 1}


def test_bounds_say_of_what_they_are() -> None:
    bare = [
        f"{name}:{node.lineno}: {target.id}"
        for name, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and BARE_BOUNDS.fullmatch(target.id)
    ]
    assert not bare, "\n".join(bare)
