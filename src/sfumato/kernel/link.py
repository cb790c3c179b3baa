"""Inner kernels become part of the kernels that call them, instead of being compiled separately first.

Numba turns every function into machine code as soon as it is typed, together with all that it calls. Nobody runs the
machine code of a function that only other compiled functions call: the caller takes over its LLVM code. Here an inner
function stops at its optimized LLVM code, without that of the functions it calls: all of it is linked into the kernel,
once. (To leave out the optimization too would save more, but Anatomy then took
half as long again: what is inlined must have been optimized before.)
"""

from collections.abc import Callable
from typing import Any

import numba.core.codegen
import numba.core.compiler
import numba.core.options
from numba._dynfunc import make_function

_Compiler: Any = numba.core.compiler.Compiler
_Library: Any = numba.core.codegen.JITCodeLibrary
_Flags: Any = numba.core.compiler.Flags
_Options: Any = numba.core.options.DefaultOptions
_NEEDED = ("_get_module_for_linking", "_finalize_dynamic_globals", "_optimize_final_module")


class InnerLibrary(_Library):  # type: ignore[misc]
    """The LLVM code of one inner function; that of the functions it calls joins it when a kernel is linked."""

    def finalize(self) -> None:
        """As Numba does it, but without machine code, and without the functions it calls, which are optimized once."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    def alone(self) -> Any:
        """The code of this function only."""
        if self._shared_module is None:
            super()._get_module_for_linking()
        return self._shared_module

    def called(self) -> list[Any]:
        """All libraries that this one needs, directly or not, each after those that call it.

        LLVM takes over a function only if what is linked so far calls it.
        """
        found: dict[Any, None] = {}
        below: list[Any] = []

        def visit(library: Any) -> None:
            if library in found:
                return
            found[library] = None
            for callee in library._linking_libraries if isinstance(library, InnerLibrary) else []:
                visit(callee)
            below.append(library)

        for library in self._linking_libraries:
            visit(library)
        return below[::-1]

    def _get_module_for_linking(self) -> Any:
        """This function with all that it calls, to be linked into a kernel."""
        whole = self.alone().clone()
        for library in self.called():
            inner = isinstance(library, InnerLibrary)
            whole.link_in(library.alone() if inner else library._get_module_for_linking(), preserve=True)
        return whole


class LinkedCompiler(_Compiler):  # type: ignore[misc]
    """Numba's compiler up to LLVM code."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        state = self.state
        state.flags.no_compile = True
        state.library = InnerLibrary(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()
        found = super().compile_extra(func)
        returned = found.signature.return_type
        if not state.flags.nrt and state.targetctx.data_model_manager[returned].contains_nrt_meminfo():
            raise TypeError(f"{func.__qualname__} counts no references, so it cannot return {returned}; make it @inner")
        # Numba knows a function that others call by its entry point; this one stands for no address.
        entry = make_function(found.fndesc.lookup_module(), func.__name__, "", 0, found.environment, (found.library,))
        state.targetctx.insert_user_function(entry, found.fndesc, [found.library])
        return found._replace(entry_point=entry)


def inner_compiler() -> Any:
    """How inner functions are compiled: as here, or by Numba's default if its internals are not the ones we know."""
    known = all(hasattr(_Library, name) for name in _NEEDED) and hasattr(_Flags, "no_compile")
    return LinkedCompiler if known else _Compiler


def counts_no_references() -> dict[str, bool]:
    """The option that leaves out the counting of references to arrays, if Numba's internals are the ones we know."""
    known = hasattr(_Options, "_nrt") and hasattr(_Flags, "nrt") and inner_compiler() is LinkedCompiler
    return {"_nrt": False} if known else {}
