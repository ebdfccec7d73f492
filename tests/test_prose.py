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
# A bound says of what, and in which unit, and begins with MAX or MIN: `_MAX_COPIED_ELEMENTS`.
# Bases from elsewhere that give a class no attributes, and say which parameters it has.
PLAIN_BASES = {"ABC", "Generic", "NamedTuple", "Protocol"}
BARE_BOUNDS = re.compile(
    r"_?(FEW|MANY|MAX|MIN|SHORT|LONG|SMALL|LARGE|LITTLE|BIG)|_?(MOST|LEAST|FEWEST)(_(?!SQUARES)\w+)?"
)


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


def headings(text: str, title: str) -> list[str]:
    """The names that a section of a docstring describes."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = [line for line in found[1].splitlines() if line[:1].strip()] if found else []
    return [name.strip(" *") for line in lines for name in line.partition(" :")[0].split(",")]


def taken_by(function: ast.FunctionDef) -> set[str] | None:
    """The names of a function's parameters; `None` if it takes others, too."""
    given = function.args
    if given.vararg or given.kwarg:
        return None
    return {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


@cache
def classes() -> dict[str, ast.ClassDef]:
    """The classes of the package by their names, of which each means one class."""
    nodes = (node for tree in trees().values() for node in ast.walk(tree))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def base_names(kind: ast.ClassDef) -> list[str]:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in kind.bases]
    return [base.attr if isinstance(base, ast.Attribute) else ast.unparse(base) for base in bases]


def assigned_to(kind: ast.ClassDef) -> Iterator[str]:
    """Yield the names in the body of a class, its methods, and the attributes that these assign to."""
    for node in kind.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target))
            yield from (name.id for name in names if isinstance(name, ast.Name))
    for node in ast.walk(kind):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def attributes(kind: ast.ClassDef) -> set[str] | None:
    """The attributes of a class; `None` if it has some from a base that is not of the package."""
    found = set(assigned_to(kind))
    for name in base_names(kind):
        inherited = (
            attributes(classes()[name]) if name in classes() else set() if name in PLAIN_BASES else None
        )
        if inherited is None:
            return None
        found |= inherited
    return found


def parameters(kind: ast.ClassDef) -> set[str] | None:
    """The parameters of a class: of its constructor, or the fields of a record; `None` if they are not known."""
    methods = [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    makers = [node for node in methods if node.name in ("__init__", "__new__")]
    if makers:
        return taken_by(makers[0])
    decorators = {ast.unparse(decorator).partition("(")[0] for decorator in kind.decorator_list}
    if "NamedTuple" in base_names(kind) or "dataclass" in decorators:
        return attributes(kind)
    bases = [classes()[name] for name in base_names(kind) if name in classes()]
    return parameters(bases[0]) if bases else None


def sections() -> Iterator[tuple[str, list[str], set[str]]]:
    """Yield where each section of parameters or attributes is, the names in it, and those that are there."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or not (text := ast.get_docstring(node)):
                continue
            is_class = isinstance(node, ast.ClassDef)
            known = {
                "Attributes": attributes(node) if is_class else set(),
                "Parameters": parameters(node) if is_class else taken_by(node),
            }
            for title, names in known.items():
                if names is not None and (described := headings(text, title)):
                    yield f"{name}, {node.name}, {title}", described, names


def _check_section(case: tuple[str, list[str], set[str]]) -> None:
    _, described, names = case
    absent = [name for name in described if name not in names]
    assert not absent, f"there is no {', '.join(absent)} among {', '.join(sorted(names))}"


def _check_first_sentence(case: tuple[str, str]) -> None:
    _, text = case
    assert text.split()[0].strip("`.,:;") not in NO_FIRST_WORDS, f"begin with a noun or a verb: {text}"
    assert not NOBODY.search(text), f"name who or what it is: {text}"


def test_first_sentences_name_the_thing() -> None:
    assert_none(_check_first_sentence, docstrings(), lambda case: case[0])


def test_sections_name_what_is_there() -> None:
    found = list(sections())
    assert len(found) > 800
    assert_none(_check_section, found, lambda case: case[0])


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
