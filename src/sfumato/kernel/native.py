"""Machine code of kernels, kept so that it can be run without Numba: loaded by LLVM, called as Numba would.

Numba is imported to find out which machine code fits the arguments, and to load it: a fifth of a second, where LLVM
takes a few milliseconds for all kernels of a job. So the machine code that Numba made, which takes Python objects and
returns them, is kept a second time, in a file of its own for each kind of arguments. It is found again by everything
that it depends on: the kernels' sources, the versions of Python, NumPy, Numba and LLVM, the processor, and the kind of
each argument. The few functions of Numba's runtime that it calls are in extension modules, which need no other part of
Numba. Whatever is missing, damaged or unknown is left to Numba. Only on Linux; elsewhere Numba is always imported.
"""

import builtins
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pickle
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sfumato.own_folder import is_private, read_sealed, user_folder, write_sealed

_PLAIN = "biuf"
"""The kinds of numbers that arrays may hold: booleans, integers and floats."""
_C_CONTIGUOUS, _F_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400
_LAYOUT = _C_CONTIGUOUS | _F_CONTIGUOUS | _ALIGNED | _WRITEABLE
_LARGEST = 1 << 63
_OURS = "sfumato.kernel."
"""The kernels whose sources a stamp covers."""
_lock = Lock()


def kind_of(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides which machine code fits: types, of arrays also dimensions and layout; None if that is not known."""
    found: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            found += (value.dtype, value.ndim, value.flags.num & _LAYOUT)
        elif isinstance(value, tuple):
            inside = kind_of(value)
            if inside is None:
                return None
            found += (kind, inside)
        elif kind is int:
            if not -_LARGEST <= value < _LARGEST:
                return None
            found.append(kind)
        elif kind in (bool, float) or value is None or isinstance(value, np.number | np.bool_):
            found.append(kind)
        else:
            return None
    return tuple(found)


def _words(args: Sequence[Any]) -> str | None:
    """The same in words that another process finds again; None if an array holds anything but plain numbers."""
    found = []
    for value in args:
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in _PLAIN or not value.dtype.isnative:
                return None
            layout = value.flags.num & _LAYOUT
            shape = "C" if layout & _C_CONTIGUOUS else "F" if layout & _F_CONTIGUOUS else "A"
            found.append(f"{value.dtype.str}{value.ndim}{shape}{layout & (_ALIGNED | _WRITEABLE):x}")
        elif isinstance(value, tuple):
            inside = _words(value)
            if inside is None:
                return None
            found.append(f"{type(value).__module__}.{type(value).__qualname__}({inside})")
        else:
            found.append(f"{type(value).__module__}.{type(value).__qualname__}")
    return ", ".join(found)


def _file(function: Callable[..., Any], args: Sequence[Any], stamp: str) -> Path | None:
    """The file for a kernel and such arguments; None if there is no folder for it, or none can be kept."""
    if not function.__module__.startswith(_OURS) or len(args) != function.__code__.co_argcount:
        return None
    words, folder = _words(args), _folder(stamp)
    if words is None or folder is None:
        return None
    name = f"{function.__module__}.{function.__qualname__}"
    return folder / f"{hashlib.sha256(f'{name}: {words}'.encode()).hexdigest()[:32]}.kernel"


@cache
def _folder(stamp: str) -> Path | None:
    """The folder for everything that agrees with this process and the kernels' sources, if it is private."""
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    base = os.environ.get("NUMBA_CACHE_DIR") or user_folder()
    depends = _depends()
    if base is None or depends is None:
        return None
    folder = Path(base) / "native" / hashlib.sha256(f"{stamp} {depends}".encode()).hexdigest()[:32]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_private(str(folder)) else None


def _depends() -> str | None:
    """What machine code depends on besides the sources; None if Numba's version cannot be told without importing it."""
    llvm = _llvm()
    versions = [_version("numba"), _version("llvmlite")]
    if None in versions:
        return None
    asked = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_") and item[0] != "NUMBA_CACHE_DIR")
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return repr((sys.implementation.cache_tag, platform.machine(), np.__version__, versions, processor, asked))


def _version(package: str) -> str | None:
    """A digest of the file in which a package states its version."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return None
    with suppress(OSError):
        stated = Path(found.origin).with_name("_version.py").read_bytes()
        return hashlib.sha256(found.origin.encode() + stated).hexdigest()
    return None


@cache
def _llvm() -> Any:
    import llvmlite.binding

    return llvmlite.binding


@cache
def _runtime() -> Any:
    """The extension module that makes functions of machine code; LLVM then knows the functions of Numba's runtime.

    They are loaded by themselves: to import them as parts of Numba would import all of it.
    """
    llvm, folder = _llvm(), Path(str(importlib.util.find_spec("numba").origin)).parent  # type: ignore[union-attr]
    maker, helpers, counting = (
        _extension(name, folder) for name in ("numba._dynfunc", "numba._helperlib", "numba.core.runtime._nrt_python")
    )
    tables = {"numba_": {**helpers.c_helpers, **maker.c_helpers}, "NRT_": counting.c_helpers}
    for prefix, table in tables.items():
        for name, address in table.items():
            llvm.add_symbol(prefix + name if name[0] != "_" else name, address)
    errors = {e for e in vars(builtins).values() if isinstance(e, type) and issubclass(e, BaseException)}
    for error in errors:  # by these names Numba means the classes, C variables that point to them
        llvm.add_symbol(f"PyExc_{error.__name__}", id(error))
    llvm.add_symbol("_Py_NoneStruct", id(None))
    llvm.add_symbol("numba_unpickle", ctypes.cast(_unpickle, ctypes.c_void_p).value)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return maker


def _named_object(data: int, length: int, _: int) -> Any:
    """The class of a tuple or the type of an array that machine code names, in Numba's notation: a pickle.

    It is part of the machine code, so that it is as trusted as that. Numba's own function would import Numba.
    """
    if data not in _named:
        _named[data] = pickle.loads(ctypes.string_at(data, length))
    return _named[data]


_named: dict[int, Any] = {}
_unpickle = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(_named_object)


def _extension(name: str, folder: Path) -> Any:
    """An extension module by its file; Python gives the same one to whoever imports it later."""
    if name in sys.modules:
        return sys.modules[name]
    stem = folder.joinpath(*name.split(".")[1:])
    file = next(f"{stem}{end}" for end in importlib.machinery.EXTENSION_SUFFIXES if Path(f"{stem}{end}").is_file())
    loader = importlib.machinery.ExtensionFileLoader(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def find(function: Callable[..., Any], args: Sequence[Any], stamp: str) -> Callable[..., Any] | None:
    """The machine code of a kernel for such arguments, if it was kept and Numba has not been imported anyway."""
    if "numba" in sys.modules:
        return None
    with _lock, suppress(Exception):  # whatever goes wrong, Numba loads or compiles the kernel
        file = _file(function, args, stamp)
        data = None if file is None else read_sealed(file)
        return None if data is None else _loaded(function, data)
    return None


def _loaded(function: Callable[..., Any], data: bytes) -> Callable[..., Any] | None:
    """The function of a file; None if it calls what is not there."""
    (length,) = struct.unpack_from("<q", data)
    stated, code = json.loads(data[8 : 8 + length]), data[8 + length :]
    maker, llvm, process = _runtime(), _llvm(), ctypes.CDLL(None)
    if any(llvm.address_of_symbol(name) is None and not hasattr(process, name) for name in stated["calls"]):
        return None  # LLVM would end the process
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    environment = maker.Environment(function.__globals__)
    environment.consts.extend(np.dtype(name) for name in stated["constants"])
    place = engine.get_global_value_address(stated["environment"])
    ctypes.c_void_p.from_address(place).value = id(environment)
    address = engine.get_function_address(stated["entry"])
    module = sys.modules[function.__module__]
    made: Callable[..., Any] = maker.make_function(
        module, function.__name__, function.__doc__ or "", address, environment, (engine, environment)
    )
    return made


def keep(function: Callable[..., Any], args: Sequence[Any], compiled: Any, stamp: str) -> None:
    """Keep the machine code that Numba has just made or loaded for such arguments, unless it is kept already."""
    with _lock, suppress(Exception):  # then it is not kept
        file = _file(function, args, stamp) if kind_of(args) is not None else None
        if file is None or file.exists():
            return
        found = compiled.overloads[tuple(compiled.typeof_pyval(value) for value in args)]
        code = compiled._cache.machine_code(tuple(found.signature.args), found.target_context)
        constants = found.environment.consts
        calls = undefined_symbols(code)
        if not all(isinstance(c, np.dtype) and c.kind in _PLAIN for c in constants):
            return
        stated = {
            "entry": found.fndesc.llvm_cpython_wrapper_name,
            "environment": found.fndesc.env_name,
            "constants": [c.str for c in constants],
            "calls": [name for name in calls if name != "_GLOBAL_OFFSET_TABLE_"],
        }
        head = json.dumps(stated).encode()
        write_sealed(file, struct.pack("<q", len(head)) + head + code)


def undefined_symbols(code: bytes) -> list[str]:
    """The names that an object file (64-bit ELF) expects to find elsewhere."""
    if code[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    size, number = struct.unpack_from("<HH", code, 0x3A)
    found = []
    for section in range(number):
        at = sections + section * size
        (kind,) = struct.unpack_from("<I", code, at + 4)
        if kind != 2:  # a table of symbols
            continue
        begin, length, link = struct.unpack_from("<QQI", code, at + 24)
        (names,) = struct.unpack_from("<Q", code, sections + link * size + 24)
        for place in range(begin, begin + length, 24):
            name, _, _, where = struct.unpack_from("<IBBH", code, place)
            if name and where == 0:
                end = code.index(b"\0", names + name)
                found.append(code[names + name : end].decode())
    return found
