"""Ambient state: settings of the process that functions of the standard library and of NumPy read."""

import builtins
import decimal
import importlib
import locale
import operator
import os
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any

import numpy as np

from tapegrad.program.captured import references
from tapegrad.program.captured.origin import is_library_file, is_library_module, variables_of
from tapegrad.program.captured.paths import Owner, Path

Question = Callable[[], Any]
_STATE = (
    list, dict, set, deque, Mapping, ContextVar, threading.local,
    bool, int, float, complex, str, bytes, tuple,
)  # fmt: skip


def _decimal_context() -> Any:
    context = decimal.getcontext()
    return context.prec, context.rounding, context.Emin, context.Emax, context.clamp, context.capitals


def _locale() -> Any:
    return locale.setlocale(locale.LC_ALL)


_format_options = getattr(sys.modules.get("numpy._core.printoptions"), "format_options", None)
# The function and its argument that give the object of all options for printing arrays, which is exchanged as a whole
_PRINT_OPTIONS: Any = np.get_printoptions if _format_options is None else (_format_options.get, None)

# For each module the names by which code comes to a setting, and the setting: an object, or a function that tells it.
_SETTINGS: dict[types.ModuleType, dict[str, Any]] = {
    os: {
        **dict.fromkeys(("getenv", "getenvb", "get_exec_path", "environb"), os.environ),
        **dict.fromkeys(("getcwd", "getcwdb"), os.getcwd),
    },
    os.path: {
        **dict.fromkeys(("expandvars", "expanduser"), os.environ),
        **dict.fromkeys(("abspath", "realpath", "relpath"), os.getcwd),
    },
    sys: {"getrecursionlimit": sys.getrecursionlimit},
    np: {
        **dict.fromkeys(("geterr", "errstate"), np.geterr),
        **dict.fromkeys(
            ("get_printoptions", "printoptions", "array2string", "array_repr", "array_str"),
            np.get_printoptions,
        ),
    },
    decimal: dict.fromkeys(("getcontext", "localcontext", "Decimal"), _decimal_context),
    importlib: {"import_module": sys.modules},
    builtins: {
        "__import__": sys.modules,
        **dict.fromkeys(("str", "repr", "ascii", "format"), _PRINT_OPTIONS),
    },
    locale: dict.fromkeys(("localeconv", "getlocale", "atof", "atoi", "str", "format_string"), _locale),
}
# The same for methods of paths.
_OF_PATHS = {
    **dict.fromkeys(("cwd", "absolute", "resolve"), os.getcwd),
    **dict.fromkeys(("home", "expanduser"), os.environ),
}
_BY_FUNCTION = {
    id(vars(module)[name]): setting
    for module, settings in _SETTINGS.items()
    for name, setting in settings.items()
    if name in vars(module)
}


def setting_read_by(function: Any) -> Any:
    """Return what a function or a class of a library reads of the process; `Missing` if that is nothing known."""
    setting = _BY_FUNCTION.get(id(function), references.Missing)
    return _setting_of_package(function) if setting is references.Missing else setting


def _setting_of_package(function: Any) -> Any:
    """Return what a function reads of a package that not everybody imports."""
    special, pandas = sys.modules.get("scipy.special"), sys.modules.get("pandas")
    if special is not None and (function is special.geterr or function is special.errstate):
        return special.geterr
    if pandas is not None and (function is pandas.get_option or function is pandas.options):
        return _pandas_options
    return references.Missing


def _pandas_options() -> str:
    return repr(sys.modules["pandas"].options.d)


def is_question(setting: Any) -> bool:
    """Return whether a setting is a function that tells it."""
    return callable(setting)


def answer(question: Question) -> references.Captured:
    """Return a reference to the answer of a function without arguments."""
    return references.called(operator.call, question)


class LibraryVariables(Owner):
    """The containers, numbers, texts and settings among the variables of a library's module that code names.

    Parameters
    ----------
    module
        The module.
    path
        How code comes to it.
    """

    def __init__(self, module: types.ModuleType, path: Path) -> None:
        super().__init__(path)
        self._module = module

    def look_up(self, reach: Any) -> bool:
        """Visit those with names that were met since; return whether there were any."""
        names = self._new(reach.names)
        variables = variables_of(self._module)
        for name in sorted(names & variables.keys()):
            value = variables[name]
            if isinstance(value, _STATE) or self._module is builtins:
                reach.bound(variables, name)
            elif isinstance(value, types.ModuleType) or _has_settings(value):
                reach.see(value, "attribute", name)
        return bool(names)


class PathSettings(Owner):
    """The settings that methods of paths read: of a path of `pathlib`, or of its class."""

    def look_up(self, reach: Any) -> bool:
        """Visit the settings of methods that were met since; return whether there were any."""
        names = self._new(reach.names & _OF_PATHS.keys())
        for name in sorted(names):
            reach.visit_setting(_OF_PATHS[name])
        return bool(names)


def is_path(value: Any) -> bool:
    """Return whether a value is a path of `pathlib`, or a class of such."""
    return issubclass(value if isinstance(value, type) else type(value), PurePath)


def _has_settings(value: Any) -> bool:
    return setting_read_by(value) is not references.Missing or is_path(value)


def user_modules() -> list[str]:
    """Return the names of the modules that were imported and are no library's."""
    return [name for name, module in tuple(sys.modules.items()) if _is_user_module(module)]


def _is_user_module(module: Any) -> bool:
    if not issubclass(type(module), types.ModuleType) or is_library_module(module):
        return False
    file = variables_of(module).get("__file__")
    return not is_library_file(file if isinstance(file, str) else "")
