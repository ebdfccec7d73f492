"""Linking of compiled functions: their parts are joined, then optimised once.

Numba optimises every function together with all that it calls, and makes machine code of it, also where only compiled
code calls it: what lies at the bottom of a chain of ten calls is optimised ten times. Here such a function, a part,
stays nearly as it is until the function that Python or a kernel's address calls, a whole, is linked of all its parts.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite import binding
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager

# --- libraries ---------------------------------------------------------------------------------------------------


class _Environments:
    """The code generator as a part's library shows it, which puts environments off until there is machine code."""

    def __init__(self, codegen: Any, environments: dict[str, Any]) -> None:
        self._codegen, self._environments = codegen, environments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Remember the Python objects that a function refers to."""
        self._environments[env_name] = env


class _Library(JITCodeLibrary):
    """A library whose functions are only made simpler when they come in, each by itself.

    Attributes
    ----------
    shared
        The names of functions with machine code of their own that it calls.
    """

    shared: tuple[str, ...] = ()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        builder = binding.create_pass_builder(self._codegen._tm, binding.create_pipeline_tuning_options())
        passes = binding.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        for function in ll_module.functions:
            passes.run(function, builder)


class _Part(_Library):
    """The library of a function that only compiled code calls."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.environments: dict[str, Any] = {}

    @property
    def codegen(self) -> Any:
        """The code generator."""
        return _Environments(self._codegen, self.environments)

    def finalize(self) -> None:
        """Leave everything as it is."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Give no address: there is none."""
        self._ensure_finalized()
        return 0

    def alone(self) -> Any:
        """Return the module of this function, without its callees."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the module for a library of Numba's, which must contain all callees."""
        whole = self.alone().clone()
        for library in _with_parts(self._linking_libraries, {self}):
            whole.link_in(_module(library), preserve=True)
        return whole


class _LoopPart(_Part):
    """The library of a part that is worth optimising in full, whatever it becomes a part of."""

    def finalize(self) -> None:
        """Link and optimise; there is no machine code."""
        for library in _with_parts(self._linking_libraries, set()):
            self._final_module.link_in(_module(library), preserve=True)
        self._linking_libraries.clear()
        self._optimize_final_module()
        self._finalized = True


def _module(library: Any) -> Any:
    return library.alone() if isinstance(library, _Part) else library._get_module_for_linking()


def _with_parts(libraries: list[Any], seen: set[Any]) -> Iterator[Any]:
    """Libraries, and those that parts among them call, each once."""
    for library in libraries:
        if library not in seen:
            seen.add(library)
            yield library
            if isinstance(library, _Part):
                yield from _with_parts(library._linking_libraries, seen)


class _Whole(_Library):
    """The library of a function that is called from outside: linked of all its parts, and optimised once."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        libraries = list(_with_parts(self._linking_libraries, set()))
        for library in libraries:
            self._final_module.link_in(_module(library), preserve=True)
        self._linking_libraries.clear()
        super().finalize()
        self._set_environments([library for library in libraries if isinstance(library, _Part)])

    def _set_environments(self, parts: list[_Part]) -> None:
        """Set what the parts would have set, had they been functions of their own."""
        there = {variable.name for variable in self._final_module.global_variables}
        for part in parts:
            for name in part.environments.keys() & there:
                self._codegen.set_env(name, part.environments[name])

    def _get_module_for_linking(self) -> Any:
        """Return the module that is kept beside the machine code: its names alone, for nothing is ever linked to it."""
        defined = [function for function in self._final_module.functions if not function.is_declaration]
        names = [f'define void @"{function.name}"() {{ ret void }}' for function in defined]
        return binding.parse_assembly("\n".join(names))


class _PlainWhole(_Whole):
    """The same without what makes long loops faster: here they are over dimensions and operands.

    It takes half the time, and what it makes is as fast. LLVM would put each part that is called once where it is
    called, and needs far more time for a large function than for several small ones: large parts are not inlined.
    """

    def _optimize_final_module(self) -> None:
        tuning = binding.create_pipeline_tuning_options(speed_level=1)
        tuning.loop_vectorization = tuning.slp_vectorization = False
        tuning.loop_unrolling = tuning.loop_interleaving = False
        builder = binding.create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


# --- compilers ---------------------------------------------------------------------------------------------------


class _LibraryCompiler(Compiler):
    """Numba's compiler, with a library of another kind."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        """Give the function its library before anything is put into one."""
        if self.state.library is None:
            self.state.library = self.empty_library(
                self.state.targetctx.codegen(), self.state.func_id.func_qualname
            )
        return super().define_pipelines()

    @classmethod
    def empty_library(cls, codegen: Any, name: str) -> JITCodeLibrary:
        """Create a library for a function of this name, whose machine code can be kept."""
        library = cls.library(codegen, name)
        library.enable_object_caching()
        return library


class PartCompiler(_LibraryCompiler):
    """Compiles a function that only compiled code calls."""

    library = _Part


class LoopPartCompiler(_LibraryCompiler):
    """Compiles a loop over elements that only compiled code calls."""

    library = _LoopPart


class WholeCompiler(_LibraryCompiler):
    """Compiles a function that is called from outside."""

    library = _Whole


class _PlainCompiler(_LibraryCompiler):
    """Goes through the passes that plain functions of numbers need: no closures, no arrays, nothing to be inlined."""

    passes = (
        untyped.TranslateByteCode,
        untyped.FixupArgs,
        untyped.IRProcessing,
        untyped.GenericRewrites,
        untyped.ReconstructSSA,
        typed.NopythonTypeInference,
        typed.PreLowerStripPhis,
        typed.IRLegalization,
        typed.NativeLowering,
        typed.NoPythonBackend,
    )

    def define_pipelines(self) -> Any:
        """Take these passes in place of all."""
        super().define_pipelines()
        manager = PassManager("plain")
        for pass_ in self.passes:
            manager.add_pass(pass_, pass_.__name__)
        manager.finalize()
        return [manager]


class PlainPartCompiler(_PlainCompiler):
    """Compiles a plain function that only compiled code calls."""

    library = _Part


class SharedPartCompiler(PlainPartCompiler):
    """Compiles a plain function that many functions from outside call: it has machine code of its own.

    Where one of those is compiled by Numba, it is a part like any other.
    """


class PlainWholeCompiler(_PlainCompiler):
    """Compiles a plain function that is called from outside."""

    library = _PlainWhole
