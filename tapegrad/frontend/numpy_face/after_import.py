"""Actions on modules of other libraries, which this package does not import: now, or right behind their import."""

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class _AfterImport:
    """Finder of modules that finds one module once, by the other finders, and acts on it behind its execution."""

    def __init__(self, module: str, action: Action) -> None:
        self._module, self._action = module, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._action(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def after_import(name: str, action: Action) -> None:
    """Call a function with a module: now, or right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
    else:
        sys.meta_path.insert(0, _AfterImport(name, action))
