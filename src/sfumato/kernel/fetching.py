"""Memory that is fetched into the cache before it is used: one instruction, which Numba does not know."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import on_address

LINE = 64
"""How many bytes are fetched at a time, in most processors."""


def _in_llvm(builder: Any, address: Any, offset: Any) -> Any:
    from llvmlite import ir

    byte, number = ir.IntType(8), ir.IntType(32)
    name, kind = "llvm.prefetch.p0i8", ir.FunctionType(ir.VoidType(), [byte.as_pointer(), *[number] * 3])
    fetching = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    read, soon, data = number(0), number(3), number(1)
    builder.call(fetching, [builder.inttoptr(builder.add(address, offset), byte.as_pointer()), read, soon, data])
    return ir.IntType(64)(0)


@on_address(_in_llvm)
def fetch(address: Any, offset: Any) -> Any:
    """Have a line fetched in which there is a byte, if there is memory at all; nothing waits for it."""
    return np.uint64(0)
