"""Linking of compiled functions: parts are joined to a whole, which is optimised once.

Numba optimises each function together with its callees and makes machine code of it, even if only compiled code calls
it: the last function in a chain of ten calls is optimised ten times. Here a *part*, a function that only compiled code
calls, is hardly optimised. A *whole*, a function called from Python or by its address, is linked of all its parts, then
optimised.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite import binding

from tapegrad.engine.kernels.language.llvm_types import unlocked
from tapegrad.engine.kernels.language.numba_internals import Compiler, JITCodeLibrary, PassManager
from tapegrad.engine.kernels.language.numba_internals import typed_passes as typed
from tapegrad.engine.kernels.language.numba_internals import untyped_passes as untyped

# --- passes ------------------------------------------------------------------------------------------------------


def simplify_functions(module: Any, machine: Any) -> None:
    """Simplify each function by itself."""
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    for function in module.functions:
        unlocked("LLVMPY_RunNewFunctionPassManager")(passes, function, builder)


def optimize_plainly(module: Any, machine: Any) -> None:
    """Run LLVM's passes on a module without long loops: those for such loops are left out.

    It compiles in half the time to code of the same speed. LLVM would inline each part with one call, and takes far
    longer for a large function than for several small ones: large parts are not inlined.
    """
    tuning = binding.create_pipeline_tuning_options(speed_level=1)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.loop_unrolling = tuning.loop_interleaving = False
    builder = binding.create_pass_builder(machine, tuning)
    _run(builder.getModulePassManager(), module, builder)


def optimize_fully(module: Any, machine: Any) -> None:
    """Run LLVM's passes on a module with loops over elements, as Numba does: a cheap run, then all of them."""
    cheap = _builder(machine, 0, vectorizes=False)
    passes = cheap.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    _run(passes, module, cheap)
    full = _builder(machine, 3, vectorizes=True)
    _run(full.getModulePassManager(), module, full)


def _builder(machine: Any, level: int, vectorizes: bool) -> Any:
    tuning = binding.create_pipeline_tuning_options()
    tuning.speed_level = level
    tuning.slp_vectorization, tuning.loop_vectorization = False, vectorizes
    return binding.create_pass_builder(machine, tuning)


def _run(passes: Any, module: Any, builder: Any) -> None:
    unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)


# --- libraries ---------------------------------------------------------------------------------------------------


class _Environments:
    """Code generator of a part: defers environments until there is machine code."""

    def __init__(self, codegen: Any, environments: dict[str, Any]) -> None:
        self._codegen, self._environments = codegen, environments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Record the Python objects that a function refers to."""
        self._environments[env_name] = env


class _Library(JITCodeLibrary):
    """Library that simplifies each function when it is added, and optimises none across calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        simplify_functions(ll_module, self._codegen._tm)


class _Part(_Library):
    """Library of a part."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.environments: dict[str, Any] = {}

    @property
    def codegen(self) -> Any:
        """The code generator."""
        return _Environments(self._codegen, self.environments)

    def finalize(self) -> None:
        """Do nothing: a part is optimised in its whole."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: a part has none."""
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
    """Library of a part with a loop over elements, which is optimised in full even if its whole is not."""

    def finalize(self) -> None:
        """Link and optimise, without machine code."""
        for library in _with_parts(self._linking_libraries, set()):
            self._final_module.link_in(_module(library), preserve=True)
        self._linking_libraries.clear()
        self._optimize_final_module()
        self._finalized = True


def _module(library: Any) -> Any:
    return library.alone() if isinstance(library, _Part) else library._get_module_for_linking()


def _with_parts(libraries: list[Any], seen: set[Any]) -> list[Any]:
    """Return libraries and those of their parts, each once, callers before callees.

    LLVM links a function of a library only if what is linked already refers to it, and a call that was simplified away
    has left its library in the list.
    """
    return list(_callees_first(libraries, seen))[::-1]


def _callees_first(libraries: list[Any], seen: set[Any]) -> Iterator[Any]:
    for library in libraries:
        if library not in seen:
            seen.add(library)
            if isinstance(library, _Part):
                yield from _callees_first(library._linking_libraries, seen)
            yield library


class _Whole(_Library):
    """Library of a whole: linked of all its parts, and optimised once."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        libraries = _with_parts(self._linking_libraries, set())
        for library in libraries:
            self._final_module.link_in(_module(library), preserve=True)
        self._linking_libraries.clear()
        super().finalize()
        self._set_environments([library for library in libraries if isinstance(library, _Part)])

    def _set_environments(self, parts: list[_Part]) -> None:
        """Set the environments of the parts, which their own libraries have deferred."""
        there = {variable.name for variable in self._final_module.global_variables}
        for part in parts:
            for name in part.environments.keys() & there:
                self._codegen.set_env(name, part.environments[name])

    def _get_module_for_linking(self) -> Any:
        """Return the module to keep beside the machine code: declarations only, as no other function links to it."""
        defined = [function for function in self._final_module.functions if not function.is_declaration]
        names = [f'define void @"{function.name}"() {{ ret void }}' for function in defined]
        return binding.parse_assembly("\n".join(names))


class _PlainWhole(_Whole):
    """Library of a whole without long loops."""

    def _optimize_final_module(self) -> None:
        optimize_plainly(self._final_module, self._codegen._tm)


# --- compilers ---------------------------------------------------------------------------------------------------


class _LibraryCompiler(Compiler):
    """Numba's compiler, with a library of this module."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        """Set the library of the function before code is added to it."""
        if self.state.library is None:
            self.state.library = self.empty_library(
                self.state.targetctx.codegen(), self.state.func_id.func_qualname
            )
        return super().define_pipelines()

    @classmethod
    def empty_library(cls, codegen: Any, name: str) -> JITCodeLibrary:
        """Create a library for a function of this name; its machine code can be cached."""
        library = cls.library(codegen, name)
        library.enable_object_caching()
        return library


class PartCompiler(_LibraryCompiler):
    """Compiler of a part."""

    library = _Part


class LoopPartCompiler(_LibraryCompiler):
    """Compiler of a part with a loop over elements."""

    library = _LoopPart


class WholeCompiler(_LibraryCompiler):
    """Compiler of a whole."""

    library = _Whole


class _PlainCompiler(_LibraryCompiler):
    """Compiler of plain functions: numbers only, without closures, arrays or calls that Numba inlines."""

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
        """Return the passes that plain functions need."""
        super().define_pipelines()
        manager = PassManager("plain")
        for pass_ in self.passes:
            manager.add_pass(pass_, pass_.__name__)
        manager.finalize()
        return [manager]


class PlainPartCompiler(_PlainCompiler):
    """Compiler of a plain part."""

    library = _Part


class SharedPartCompiler(PlainPartCompiler):
    """Compiler of a plain function with many wholes as callers: it has machine code of its own.

    In a caller that Numba compiles it is an ordinary part.
    """


class PlainWholeCompiler(_PlainCompiler):
    """Compiler of a plain whole."""

    library = _PlainWhole
