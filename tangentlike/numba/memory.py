"""Adjoints found by identity, as compiled code has them: `runtime.Shadow` of arrays.

The memory of an array is known to Numba by its `MemInfo`, which says where the memory begins and
how long it is. Numbers have no identity there: what asks for the adjoint of one has no form.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from llvmlite import ir as llvm
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.runtime.nrtdynmod import _meminfo_struct_type
from numba.experimental import structref
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array, populate_array

from .. import runtime
from . import python_calls
from .functions import bare, form, is_array, is_none, is_number, parts_of

types: Any = numba.types
new_struct: Any = structref.new
_BYTES: Any = types.Array(types.uint8, 1, "C")


@structref.register
class _ShadowType(types.StructRef):  # type: ignore[misc]
    """The blocks of adjoints, and the memory that each is the adjoint of, which is kept alive."""


_SHADOW = _ShadowType((("owners", types.List(_BYTES)), ("blocks", types.List(_BYTES))))


@form(runtime.Shadow)
def _shadow() -> Any:
    def made() -> Any:
        shadow = new_struct(_SHADOW)
        shadow.owners = _no_bytes()
        shadow.blocks = _no_bytes()
        return shadow

    return made


@register_jitable
def _no_bytes():
    return [np.empty(0, np.uint8) for _ in range(0)]


# --------------------------------------------------------------------------------------------------
# Memory.


def _begin_and_size(context: Any, builder: Any, x: Any, array: Any) -> Any:
    """Where memory begins and how long it is; of a constant, without a `MemInfo`, its entries."""
    size = builder.mul(array.nitems, array.itemsize)
    size = size if x.layout in "CF" else context.get_constant(types.intp, 0)
    data = builder.bitcast(array.data, llvm.IntType(8).as_pointer())
    places = [cgutils.alloca_once_value(builder, value) for value in (data, size)]
    with builder.if_then(cgutils.is_not_null(builder, array.meminfo)):
        words = builder.bitcast(array.meminfo, _meminfo_struct_type.as_pointer())
        for place, at in zip(places, (3, 4), strict=True):
            index = [llvm.Constant(llvm.IntType(32), k) for k in (0, at)]
            builder.store(builder.load(builder.gep(words, index)), place)
    return tuple(map(builder.load, places))


@bare
def _memory_of(typing: Any, x: Any) -> Any:
    """All of the memory that an array is a view of, as bytes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(x)(context, builder, args[0])
        begin, size = _begin_and_size(context, builder, x, array)
        one = context.get_constant(types.intp, 1)
        made = make_array(_BYTES)(context, builder)
        populate_array(made, begin, [size], [one], one, array.meminfo)
        return impl_ret_borrowed(context, builder, _BYTES, made._getvalue())

    return _BYTES(x), generate


@bare
def _view_of(typing: Any, block: Any, x: Any, offset: Any) -> Any:
    """The view of a block that `x` is of its memory, where it begins `offset` bytes after that."""
    result = types.Array(x.dtype, x.ndim, x.layout)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bars = make_array(_BYTES)(context, builder, args[0])
        array = make_array(x)(context, builder, args[1])
        made = make_array(result)(context, builder)
        pointer = builder.bitcast(builder.gep(bars.data, [args[2]]), made.data.type)
        populate_array(made, pointer, array.shape, array.strides, array.itemsize, bars.meminfo)
        return impl_ret_borrowed(context, builder, result, made._getvalue())

    return result(block, x, types.intp), generate


_memory: Any = intrinsic(_memory_of)
_view: Any = intrinsic(_view_of)


def _refusing(what: str) -> Any:
    """What refuses some memory, as the shadow of Python's does."""
    call = python_calls.caller(runtime.refuse_memory, (), {"what": what})
    return register_jitable(bare(lambda: call(())))


_refuse_unknown = _refusing("an array of Python's")
_refuse_overlapping = _refusing("entries that lie on each other in memory")


@register_jitable
def _extent(x):
    """Where the entries of an array begin and end in memory."""
    low = high = x.ctypes.data
    for size, step in zip(x.shape, x.strides):  # noqa: B905
        if step < 0:
            low += (size - 1) * step
        else:
            high += (size - 1) * step
    return low, high + x.itemsize if x.size > 0 else low


@register_jitable
def _offset(x, memory):
    """How many bytes after its memory an array begins."""
    begin = memory.ctypes.data
    low, high = _extent(x)
    if low < begin or high > begin + memory.size:
        _refuse_unknown()
    return x.ctypes.data - begin


@register_jitable
def _place(shadow, memory):
    """Where the block of some memory stands; -1 where there is none. (What was asked for last is
    likely to be asked for again.)"""
    begin = memory.ctypes.data
    for place in range(len(shadow.owners) - 1, -1, -1):
        if shadow.owners[place].ctypes.data == begin:
            return place
    return -1


@register_jitable
def _adjoint(shadow, x):
    memory = _memory(x)
    offset, place = _offset(x, memory), _place(shadow, memory)
    if place < 0:
        place = len(shadow.owners)
        shadow.owners.append(memory)
        shadow.blocks.append(np.zeros(memory.size, np.uint8))
    return _view(shadow.blocks[place], x, offset)


@register_jitable
def _forget(shadow, place):
    shadow.owners.pop(place)
    shadow.blocks.pop(place)


def _require_entries_apart(x: Any) -> None:
    """Check that entries lie beside each other, and not one on another."""
    raise NotImplementedError


@form(_require_entries_apart)
def _require_entries_apart_form(x: Any) -> Any:
    if x.layout in "CF":
        return lambda x: None

    def apart(x: Any) -> Any:
        for axis in range(x.ndim):
            end = x.itemsize  # (of the entries along the axes with shorter steps)
            for other in range(x.ndim):
                step = abs(x.strides[other])
                if (step, other) < (abs(x.strides[axis]), axis):
                    end += step * (x.shape[other] - 1)
            if x.shape[axis] > 1 and abs(x.strides[axis]) < end:
                _refuse_overlapping()

    return apart


# --------------------------------------------------------------------------------------------------
# What a shadow is asked for.


def _method(name: str) -> Any:
    """A decorator: what chooses the form of a method from the types of its operands."""

    def tell(choose: Any) -> Any:
        @functools.wraps(choose)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return bare(choose(*args, **kwargs))

        numba.extending.overload_method(_ShadowType, name, strict=False)(bare(chosen))  # type: ignore[call-arg]
        return choose

    return tell


def _carries(x: Any) -> bool:
    """Whether an array has an adjoint of its own."""
    return isinstance(x.dtype, (types.Float, types.Complex))


@_method("of")
def _of(self: Any, x: Any) -> Any:
    if isinstance(x, types.List):
        return lambda self, x: [self.of(item) for item in x]
    if isinstance(x, types.UniTuple) and len(x) > 0:
        return lambda self, x: [self.of(item) for item in x]
    if not is_array(x):
        return None
    if not _carries(x):
        return lambda self, x: np.zeros(x.shape)
    return lambda self, x: _adjoint(self, x)


@_method("add")
def _add(self: Any, x: Any, g: Any) -> Any:
    if isinstance(g, types.NoneType) or (is_array(x) and not _carries(x)):
        return lambda self, x, g: None  # (it is in place already, or there is none)
    if isinstance(x, (types.List, types.UniTuple)):
        if is_number(g):
            return None

        def each(self: Any, x: Any, g: Any) -> Any:
            for place in range(len(x)):
                self.add(x[place], g[place])

        return each
    if not is_array(x) or not (is_number(g) or is_array(g)):
        return None

    def whole(self: Any, x: Any, g: Any) -> Any:
        bar = _adjoint(self, x)
        _require_entries_apart(bar)
        bar += runtime.unbroadcast(g, x)

    def spread(self: Any, x: Any, g: Any) -> Any:
        bar = _adjoint(self, x)
        _require_entries_apart(bar)
        bar += g

    return whole if is_array(g) else spread


@_method("take")
def _take(self: Any, x: Any, *made_of: Any) -> Any:
    if len(made_of) == 1 and isinstance(made_of[0], types.BaseTuple):
        made_of = tuple(made_of[0])
    if isinstance(x, (types.List, types.UniTuple)) and not made_of:
        return lambda self, x, *made_of: [self.take(item) for item in x]
    if not is_array(x) or not all(is_array(each) or is_number(each) for each in made_of):
        return None
    if not _carries(x):
        return lambda self, x, *made_of: np.zeros(x.shape)

    def taken(self: Any, x: Any, *made_of: Any) -> Any:
        memory = _memory(x)
        place = _place(self, memory)
        if place < 0 or _is_held(memory, made_of):
            return np.zeros(x.shape, x.dtype)
        bar = _adjoint(self, x)
        _require_entries_apart(bar)
        g = np.empty(x.shape, x.dtype)
        g[...] = bar
        if memory.size == g.size * g.itemsize:
            self.owners.pop(place)
            self.blocks.pop(place)
        else:
            bar[...] = 0.0
        return g

    return taken


def _is_held(memory: Any, arrays: Any) -> Any:
    """Whether some memory is that of one of a tuple of arrays and numbers."""
    raise NotImplementedError


@form(_is_held)
def _is_held_form(memory: Any, arrays: Any) -> Any:
    if len(arrays) == 0:
        return lambda memory, arrays: False
    if not is_array(arrays[0]):
        return lambda memory, arrays: _is_held(memory, arrays[1:])

    def held(memory: Any, arrays: Any) -> Any:
        first = _memory(arrays[0])
        return first.ctypes.data == memory.ctypes.data or _is_held(memory, arrays[1:])

    return held


@_method("add_at")
def _add_at(self: Any, base: Any, key: Any, item: Any = None, g: Any = None) -> Any:
    given = not is_none(g)
    if isinstance(base, (types.List, types.BaseTuple)):
        if not given:  # (an item of a container is itself)
            return lambda self, base, key, item=None, g=None: None
        return lambda self, base, key, item=None, g=None: self.add(item, g)
    if not is_array(base):
        return None
    if not _carries(base):
        return lambda self, base, key, item=None, g=None: None
    if given:

        def added(self: Any, base: Any, key: Any, item: Any = None, g: Any = None) -> Any:
            runtime.add_at(_adjoint(self, base), key, g)

        return added
    if not is_array(item):
        return None

    def moved(self: Any, base: Any, key: Any, item: Any = None, g: Any = None) -> Any:
        if _memory(item).ctypes.data != _memory(base).ctypes.data:
            runtime.add_at(_adjoint(self, base), key, self.take(item))

    return moved


@_method("take_at")
def _take_at(self: Any, base: Any, key: Any, value: Any = None) -> Any:
    if isinstance(base, (types.List, types.BaseTuple)):
        held = isinstance(base.dtype, (types.Array, types.List, types.BaseTuple))
        return (lambda self, base, key, value=None: None) if held else None
    if not is_array(base):
        return None
    if not _carries(base):
        return lambda self, base, key, value=None: 0.0
    if is_none(value):
        return lambda self, base, key, value=None: _taken_out(_adjoint(self, base), key)

    def taken(self: Any, base: Any, key: Any, value: Any = None) -> Any:
        return runtime.unbroadcast(_taken_out(_adjoint(self, base), key), value)

    return taken


def _taken_out(bar: Any, key: Any) -> Any:
    """Entries of an adjoint, which are then zero; of repeated ones the last."""
    raise NotImplementedError


@form(_taken_out)
def _taken_out_form(bar: Any, key: Any) -> Any:
    parts = parts_of(key)
    single = len(parts) == bar.ndim and all(isinstance(p, types.Integer) for p in parts)

    def number(bar: Any, key: Any) -> Any:
        g = bar[key]
        bar[key] = 0.0
        return g

    def entries(bar: Any, key: Any) -> Any:
        _require_entries_apart(bar)
        g = bar[key] * runtime.survivors(bar, key)
        bar[key] = 0.0
        return g

    return number if single else entries


# --------------------------------------------------------------------------------------------------
# What is asked of memory besides.


@form(runtime.own)
def _own(x: Any) -> Any:
    if is_array(x):
        return lambda x: x.copy()
    if isinstance(x, types.List):
        return lambda x: [runtime.own(item) for item in x]
    if isinstance(x, types.UniTuple) and any(map(is_array, x)):
        return lambda x: (runtime.own(x[0]), *runtime.own(x[1:]))
    plain = (types.Number, types.Boolean, types.NoneType, types.UnicodeType)
    inside = x if isinstance(x, types.BaseTuple) else (x,)
    return (lambda x: x) if all(isinstance(each, plain) for each in inside) else None


_surely_apart = python_calls.caller(runtime.require_apart, "ab", {})


@form(runtime.require_apart)
def _require_apart(a: Any, b: Any) -> Any:
    if is_number(a) or is_number(b):
        return lambda a, b: None
    if not is_array(a) or not is_array(b):
        return None

    def apart(a: Any, b: Any) -> Any:
        (begin, end), (first, last) = _extent(a), _extent(b)
        if begin < last and first < end:
            _surely_apart((a, b))

    return apart


@form(runtime.require_read_first)
def _require_read_first(a: Any, key: Any, value: Any) -> Any:
    return lambda a, key, value: None  # (Numba copies what it assigns where that may overlap)
