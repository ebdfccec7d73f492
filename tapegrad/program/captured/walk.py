"""The walk over what a function can see: what waits to be visited, and what was found."""

import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError, name_of
from tapegrad.foreign import original
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.captured import references
from tapegrad.program.captured.ambient import PathSettings, is_path, is_question, setting_read_by
from tapegrad.program.captured.ambient import answer as ambient_answer
from tapegrad.program.captured.code import fields_of
from tapegrad.program.captured.methods import SpecialMethodCalls
from tapegrad.program.captured.objects import Answers, Attributes
from tapegrad.program.captured.origin import is_trusted, reads_fields
from tapegrad.program.captured.paths import Owner, Path
from tapegrad.program.captured.references import Captured, Missing

MAX_REFERENCES = 100_000
_PLAIN = frozenset({bool, int, float, complex, str, bytes, range, types.CodeType, type(None), type(...)})
SEQUENCES = (list, tuple, deque, set, frozenset)
MAPPINGS = (dict, types.MappingProxyType)


class Walk:
    """Walk over all that a function, and the functions that it may call, can reach beside its arguments.

    Attributes are watched by name wherever an object with such an attribute is reached: by every name, and every
    text, that occurs in the code of these functions. Attributes that no code names are not even
    looked at. Aliases, lists of objects, `super()` and `getattr` need no care then.

    Parameters
    ----------
    roots
        The function, or objects that it is called with.
    base
        The walk from the function, where this one is from objects: what that one has found is not watched again.

    Attributes
    ----------
    references
        What must not change.
    tokens
        What was found, in the order of the walk: equal for two walks that found the same.
    arrays
        The arrays that were reached, by their ids.
    paths
        How code comes to these, by the same.
    names
        The names of attributes in all the code that was reached.
    functions
        The functions of the user that were reached.
    opaque
        Whether there is something in which more arrays may be: a Tensor, or an object that is no container.
    """

    def __init__(self, roots: Iterable[Any], base: "Walk | None" = None) -> None:
        self.references: list[Captured] = []
        self.tokens: list[Any] = []
        self.arrays: dict[int, np.ndarray] = {} if base is None else dict(base.arrays)
        self.paths: dict[int, Path] = {} if base is None else dict(base.paths)
        self.functions: list[types.FunctionType] = [] if base is None else list(base.functions)
        self.names: set[str] = set() if base is None else set(base.names)
        self.any_attribute: bool = base is not None and base.any_attribute
        self.asks_for_absence: bool = base is not None and base.asks_for_absence
        self.opaque: bool = base is not None and base.opaque
        self.any_field: bool = base is not None and base.any_field
        self.calls: SpecialMethodCalls = SpecialMethodCalls() if base is None else base.calls.copy()
        self._seen: dict[Any, Any] = {} if base is None else dict(base._seen)
        self._owners: list[Owner] = [] if base is None else [owner.copy() for owner in base._owners]
        self._namespaces: dict[type, Any] = {} if base is None else dict(base._namespaces)
        self._path = Path(None, "function", "")
        self._waiting: deque[tuple[Any, Path]] = deque((root, _root(root, base)) for root in roots)
        self._walk()

    @property
    def objects(self) -> dict[int, Any]:
        """The objects that were visited, by their ids."""
        return {key: value for key, value in self._seen.items() if type(key) is int}

    def _walk(self) -> None:
        """Visit queued values; when none is left, look up newly met names in all objects."""
        found = True
        while self._waiting or found:
            while self._waiting:
                self._visit(*self._waiting.popleft())
            found = any(
                [
                    *map(self._look_up, self._owners),
                    *map(self._look_up, self.calls.methods(self.names, self.any_field)),
                ]
            )

    def _look_up(self, owner: Owner) -> bool:
        self._path = owner.path
        return owner.look_up(self)

    def see(self, value: Any, kind: str, key: Any) -> None:
        """Queue a value for a visit, one step from the visited one."""
        self._see(value, self._path.step(kind, key))

    def _see(self, value: Any, path: Path) -> None:
        value = original(value)
        if type(value) is str:
            self.names.update(fields_of(value) if "{" in value else ())
            self.calls.formats.update({"%-text"} if "%" in value else ())
        if type(value) in _PLAIN or references.is_dead(value):
            return
        if not isinstance(value, np.generic | np.dtype) or type(value) is np.void:
            self._waiting.append((value, path))

    def watch(self, reference: Captured, path: Path | None = None) -> None:
        """Watch a reference, by default one of the value that is visited."""
        if len(self.references) >= MAX_REFERENCES:
            raise UnsupportedError(
                f"a recorded function sees more than {MAX_REFERENCES} objects beside its arguments, each of which would"
                " be compared before every replay: pass large tables as arrays, or as arguments"
            )
        reference.path = self._path if path is None else path
        self.references.append(reference)

    def bound(self, names: Any, name: Any, kind: str = "attribute") -> Any:
        """Watch what a namespace has under a name, and see it."""
        value = names.get(name, Missing)
        if self._first(("entry", id(names), name), names):
            path = self._path.step(kind, name)
            self.watch(references.entry(names, name, value), path)
            self.note(name, value)
            self._see(value, path)
            if name == "__match_args__" and isinstance(value, tuple):  # names of attributes that `case` reads
                self.names.update(value)
        return value

    def bound_data(self, names: Any, kind: str = "attribute") -> None:
        """Watch all that a namespace has, and see what is neither code nor a module."""
        if self._first(("entries", id(names)), names):
            self.watch(
                references.entries(names),
                self._path.step(kind, "globals()" if kind == "global" else "__dict__"),
            )
        for name, value in tuple(names.items()):
            # A module's loader leads to all there is
            hidden = isinstance(name, str) and name.startswith("__")
            if not hidden and not isinstance(value, types.ModuleType | types.FunctionType | type):
                self.bound(names, name, kind)

    def note(self, *found: Any) -> None:
        """Remember what was found, by which two walks are compared."""
        self.tokens.extend(map(_token, found))

    def _first(self, key: Any, kept: Any) -> bool:
        """Return whether a key is new; `kept` stays alive, so that its id is not given anew."""
        if key in self._seen:
            return False
        self._seen[key] = kept
        return True

    def _visit(self, value: Any, path: Path) -> None:
        if not self._first(id(value), value) or value is Missing:
            return
        self._path = path
        if is_tensor(value):
            self.opaque = True
        else:
            self.visit_setting(setting_read_by(value))
            self.visit_setting(setting_read_by(type(value)))
            if is_path(value):
                self._owners.append(PathSettings(self._path))
            self._visit_one(value)

    def visit_setting(self, setting: Any) -> None:
        """Capture a setting of the process that a function of a library reads."""
        if setting is Missing:
            return
        if isinstance(setting, tuple):
            if self._first(("setting", id(setting)), setting):
                self.watch(reference := references.result(*setting))
                self.tokens.append(id(reference.rows[0][-1]))
        elif not is_question(setting):
            self.see(setting, "contents", "")
        elif self._first(("setting", setting), setting):
            self.watch(reference := ambient_answer(setting))
            self.tokens.append(reference.rows[0][-1])

    def _own(self, owner: Any, namespaces: tuple[Any, ...]) -> None:
        """Look for the attributes of an owner, by the names that code mentions."""
        self._owners.append(Attributes(owner, namespaces, self._path))

    def _hear(self, owner: Any) -> None:
        """Look for what an owner answers to the names that code mentions."""
        answers = Answers(owner, self._path)
        if answers.asks:
            self._owners.append(answers)

    def _hand_over(self, module: Any) -> None:
        """Note that a value may be handed to code of a package, which is not read."""
        self.calls.by_others |= not is_trusted(module)
        self.any_field |= reads_fields(module)

    def _visit_one(self, value: Any) -> None:
        """Visit a value that is no Tensor, by its kind."""
        raise NotImplementedError


def _root(root: Any, base: Walk | None) -> Path:
    """Return the path to a function that is recorded, or to an object among the arguments of its call."""
    if base is not None:
        return Path(None, "argument", f"argument of type {type(root).__name__}")
    return Path(None, "function", name_of(root) if callable(root) else "")


def _token(value: Any) -> Any:
    """Return the token of a value in a walk, of containers that of their type only: their contents follow."""
    if not references.is_dead(value) and isinstance(value, (*SEQUENCES, *MAPPINGS)):
        return type(value)
    return references.token(value)
