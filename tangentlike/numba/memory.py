"""Adjoints found by identity, as compiled code has them: `runtime.Shadow` of arrays.

Numba knows the memory of an array by its `MemInfo`, which counts who holds it and says where it
begins and how long it is. Numbers have no identity there: what asks for the adjoint of one by what
holds it has no form.
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
from .forms import bare, form, is_array, is_none, is_number, parts_of

types: Any = numba.types
new_struct: Any = structref.new
_BYTES: Any = types.Array(types.uint8, 1, "C")


@structref.register
class _ShadowType(types.StructRef):  # type: ignore[misc]
    """The blocks of adjoints; the memory that each is the adjoint of, which is kept alive; and the
    address by which that is known."""


_SHADOW = _ShadowType(
    (
        ("known", types.List(types.intp)),
        ("owners", types.List(_BYTES)),
        ("blocks", types.List(_BYTES)),
    )
)


@form(runtime.Shadow)
def _shadow() -> Any:
    def made() -> Any:
        shadow = new_struct(_SHADOW)
        shadow.known = [0 for _ in range(0)]
        shadow.owners = _no_bytes()
        shadow.blocks = _no_bytes()
        return shadow

    return made


@register_jitable
def _no_bytes():
    return [np.empty(0, np.uint8) for _ in range(0)]


# --------------------------------------------------------------------------------------------------
# Memory.


def _in_array(make: Any) -> Any:
    """An intrinsic that makes something of what an array refers to."""

    def typing(context: Any, x: Any) -> Any:
        result = _BYTES if make is _bytes_of else types.intp

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return make(context, builder, make_array(x)(context, builder, args[0]), x)

        return result(x), generate

    return intrinsic(bare(typing))


def _bytes_of(context: Any, builder: Any, array: Any, x: Any) -> Any:
    """All of the memory that an array is a view of. (What Numba has not made itself, a constant or
    an array of Python's, does not say how long it is: then the entries.)"""
    size = builder.mul(array.nitems, array.itemsize)
    size = size if x.layout in "CF" else context.get_constant(types.intp, 0)
    data = builder.bitcast(array.data, llvm.IntType(8).as_pointer())
    places = [cgutils.alloca_once_value(builder, value) for value in (data, size)]
    with builder.if_then(cgutils.is_not_null(builder, array.meminfo)):
        words = builder.bitcast(array.meminfo, _meminfo_struct_type.as_pointer())
        at = [builder.gep(words, [llvm.IntType(32)(0), llvm.IntType(32)(k)]) for k in (3, 4)]
        begin, length = map(builder.load, at)
        with builder.if_then(builder.icmp_unsigned("!=", length, length.type(0))):
            builder.store(begin, places[0])
            builder.store(length, places[1])
    begin, length = map(builder.load, places)
    one = context.get_constant(types.intp, 1)
    made = make_array(_BYTES)(context, builder)
    populate_array(made, begin, [length], [one], one, array.meminfo)
    return impl_ret_borrowed(context, builder, _BYTES, made._getvalue())


def _address_of(context: Any, builder: Any, array: Any, x: Any) -> Any:
    """Where the first entry of an array is."""
    return builder.ptrtoint(array.data, context.get_value_type(types.intp))


def _identity_of(context: Any, builder: Any, array: Any, x: Any) -> Any:
    """By which all views of the same memory know it; a constant by where it is."""
    integer = context.get_value_type(types.intp)
    held = builder.ptrtoint(array.meminfo, integer)
    alone = builder.icmp_unsigned("==", held, integer(0))
    return builder.select(alone, builder.ptrtoint(array.data, integer), held)


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


_memory, _address, _identity = map(_in_array, (_bytes_of, _address_of, _identity_of))
_view: Any = intrinsic(bare(_view_of))


@register_jitable
def _extent(x):
    """Where the entries of an array begin and end in memory."""
    low = high = _address(x)
    for size, step in zip(x.shape, x.strides):  # noqa: B905
        if step < 0:
            low += (size - 1) * step
        else:
            high += (size - 1) * step
    return low, high + x.itemsize if x.size > 0 else low


@register_jitable
def _offset(x, memory):
    """How many bytes after its memory an array begins."""
    begin, (low, high) = _address(memory), _extent(x)
    if x.size > 0 and (low < begin or high > begin + memory.size):
        raise TypeError(
            "the adjoint of an array of Python's is not found by its memory: leave target= out"
        )
    return _address(x) - begin


@register_jitable
def _place(shadow, identity):
    """Where the block of some memory stands; -1 where there is none. (What was asked for last is
    likely to be asked for again.)"""
    known = shadow.known
    for place in range(len(known) - 1, -1, -1):
        if known[place] == identity:
            return place
    return -1


@register_jitable
def _adjoint(shadow, x):
    identity = _identity(x)
    place = _place(shadow, identity)
    if place < 0:
        memory = _memory(x)
        place = len(shadow.known)
        shadow.known.append(identity)
        shadow.owners.append(memory)
        shadow.blocks.append(np.zeros(memory.size, np.uint8))
    return _view(shadow.blocks[place], x, _offset(x, shadow.owners[place]))


@register_jitable
def _forget(shadow, place):
    """(The last block takes the place of one that goes: `pop(place)` of Numba's lists damages what
    counts its references.)"""
    for held in (shadow.owners, shadow.blocks):
        held[place] = held[-1]
        held.pop()
    shadow.known[place] = shadow.known[-1]
    shadow.known.pop()


def _require_entries_apart(x: Any) -> None:
    """Check that entries lie beside each other, and not one on another."""


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
                raise TypeError(
                    "the adjoint of entries that lie on each other in memory is not found by their "
                    "memory: leave target= out"
                )

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


def _are_held(x: Any) -> bool:
    """Whether this is a container of which each item may be asked for like the others."""
    return isinstance(x, types.List) or (isinstance(x, types.UniTuple) and len(x) > 0)


@_method("of")
def _of(self: Any, x: Any) -> Any:
    if _are_held(x):
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
    if _are_held(x) and not is_number(g):

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
    if _are_held(x) and not made_of:
        return lambda self, x, *made_of: [self.take(item) for item in x]
    if not is_array(x) or not all(is_array(each) or is_number(each) for each in made_of):
        return None
    if not _carries(x):
        return lambda self, x, *made_of: np.zeros(x.shape)

    def taken(self: Any, x: Any, *made_of: Any) -> Any:
        place = _place(self, _identity(x))
        if place < 0 or _is_held(x, made_of):
            return np.zeros(x.shape, x.dtype)
        bar = _adjoint(self, x)
        _require_entries_apart(bar)
        g = np.empty(x.shape, x.dtype)
        g[...] = bar
        if self.blocks[place].size == g.size * g.itemsize:
            _forget(self, place)
        else:
            bar[...] = 0.0
        return g

    return taken


def _is_held(x: Any, arrays: Any) -> Any:
    """Whether the memory of an array is that of one of a tuple of arrays and numbers."""


@form(_is_held)
def _is_held_form(x: Any, arrays: Any) -> Any:
    if len(arrays) == 0:
        return lambda x, arrays: False
    if not is_array(arrays[0]):
        return lambda x, arrays: _is_held(x, arrays[1:])
    return lambda x, arrays: _identity(arrays[0]) == _identity(x) or _is_held(x, arrays[1:])


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
        if _identity(item) != _identity(base):
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


@form(runtime.require_read_first)
def _require_read_first(a: Any, key: Any, value: Any) -> Any:
    return lambda a, key, value: None  # (Numba copies what it assigns where that may overlap)


_surely_apart = python_calls.caller(runtime.require_apart, "ab")


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
