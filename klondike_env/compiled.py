"""How functions are compiled, entry points and the helpers inlined into them; operations on bits.

``NUMBA_DISABLE_JIT=1`` runs the same functions as plain Python, for debugging and coverage; games
are identical, only slower.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls: cached on disk, and running without the GIL."""
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    return _compile(function, nogil=True)


def specialised(function: Function, *args: Any) -> Function:
    """An entry point for arguments of just the types and array layouts of these.

    It skips the look-up of the compiled form, which takes Numba most of a call's fixed time: a
    microsecond for fifteen arguments. Other arguments are not noticed, so callers see to them.
    """
    if numba.config.DISABLE_JIT:
        return function
    compiled: Any = function
    return cast(Function, compiled.compile(tuple([compiled.typeof_pyval(arg) for arg in args])))


def inlined(function: Function) -> Function:
    """Compile a helper that only compiled functions call: inlined where it is called.

    It needs no wrappers to be called from Python or C, which take longer to compile than most
    helpers.
    """
    if numba.config.DISABLE_JIT:
        return function
    return cast(
        Function,
        numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function),
    )


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache with two changes.

    It also notices edits in files that a function's own file imports: their helpers are part of the
    compiled function. And it loads half a second faster, since Numba readies the whole compiler
    before it loads anything. Loading needs Numba's runtime alone; a function that is not found
    readies the compiler itself.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        files = self._cache_file
        folder = Path(inspect.getfile(function)).parent
        files._source_stamp = (files._source_stamp, _digest(_LIBRARY), _digest(folder))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


_LIBRARY = Path(__file__).parent
_ABOVE_KERNELS = {"cli.py", "envs", "evaluation.py", "formats", "play", "records.py", "rendering"}
"""Parts of the library that import kernels but from which no kernel imports."""


@functools.cache
def _digest(folder: Path) -> str:
    """Of the sources in a folder that kernels may import."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] not in _ABOVE_KERNELS:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(function: Function, **options: bool) -> Function:
    compiled = numba.njit(no_cfunc_wrapper=True, **options)(function)
    # Numba may find no folder to write a cache to (a read-only install with no home): each process
    # then compiles anew.
    with contextlib.suppress(RuntimeError):
        compiled._cache = _Cache(function)
    return cast(Function, compiled)


def _interpreted(function: Function) -> Function:
    """Plain Python with two habits of compiled code.

    Fields of records are attributes, and 64-bit numbers wrap silently.
    """

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*(_with_attributes(arg) for arg in args))

    return cast(Function, run)


def _with_attributes(arg: Any) -> Any:
    if isinstance(arg, np.ndarray) and arg.dtype.names:
        return arg.view(np.recarray)
    if type(arg) is tuple:  # a named one holds numbers alone
        return tuple([_with_attributes(item) for item in arg])
    return arg


def _load_word_in_python(row: np.ndarray, at: Any) -> np.uint64:
    return np.uint64(int.from_bytes(row[int(at) : int(at) + 8].tobytes(), "little"))


@intrinsic
def _load_word_compiled(typing_context, row, at):  # type: ignore[no-untyped-def]
    if not (isinstance(row, types.Array) and row.layout == "C" and row.dtype.bitwidth == 8):
        return None

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        place = builder.gep(array.data, [args[1]])
        pointer = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(row, types.int64), generate


load_word = _load_word_in_python if numba.config.DISABLE_JIT else _load_word_compiled
"""Eight bytes of a contiguous int8 row from index `at` on, as one uint64, the first byte lowest.

Counting flags a word at a time is several times faster than what the compiler makes of a loop.
"""


@intrinsic
def _popcount_compiled(typing_context, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _lowest_bit_compiled(typing_context, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def _highest_bit_compiled(typing_context, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
        top = ir.Constant(ir.IntType(64), 1 << 63)
        return builder.lshr(top, zeros)

    return types.uint64(types.uint64), generate


def _popcount_in_python(word: Any) -> np.uint64:
    return np.uint64(int(word).bit_count())


def _lowest_bit_in_python(word: Any) -> np.uint64:
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def _highest_bit_in_python(word: Any) -> np.uint64:
    return np.uint64(1 << (int(word).bit_length() - 1))


popcount = _popcount_in_python if numba.config.DISABLE_JIT else _popcount_compiled
"""How many bits of a uint64 are set."""
lowest_bit = _lowest_bit_in_python if numba.config.DISABLE_JIT else _lowest_bit_compiled
"""Number of the lowest set bit of a uint64 that is not 0."""
highest_bit = _highest_bit_in_python if numba.config.DISABLE_JIT else _highest_bit_compiled
"""The highest set bit of a uint64 that is not 0, alone."""


@intrinsic
def _prefetch_compiled(typing_context, row, at, offset):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(array.data, [args[1]]), byte)
        place = builder.gep(place, [args[2]])
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [place, word(1), word(3), word(1)])  # to write, keep close, data
        return context.get_dummy_value()

    return types.none(row, types.uint64, types.int64), generate


def _prefetch_in_python(row: np.ndarray, at: Any, offset: int) -> None:
    pass


prefetch = _prefetch_in_python if numba.config.DISABLE_JIT else _prefetch_compiled
"""Have memory fetched ahead of its use.

It is `offset` bytes into element `at` (uint64) of a contiguous row; the element need not exist.
"""
