"""The kind of one expression, from the kinds of the names in it."""

from __future__ import annotations

import builtins
import collections
import functools
import operator
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .. import ir, runtime
from ..frontend.comprehensions import is_generator
from ..frontend.owners import module_of
from ..frontend.resolve import once_a_reading, trusted
from ..frontend.signatures import plain_signature
from ..frontend.structures import (
    assigned_attributes,
    has_own_methods,
    is_function,
    is_object,
    structure_of,
)
from ..ir.kind import (
    BOOL,
    FLOAT,
    FUNCTION,
    INT,
    MADE_ITERATOR,
    NONE,
    NOTHING,
    OTHER,
    SET,
    UNKNOWN,
    Kind,
)
from ..rules import iterator_programs as programs
from ..rules.index_kinds import element_kind, index_kind, key_parts, total_size
from ..rules.twins import twin
from .constructors import (
    initialiser_of,
    is_replace,
    record_class,
    record_constants,
    record_fields,
    record_values,
)
from .operations import (
    gives_iterator,
    gives_module,
    is_array_method,
    is_container_method,
    is_stop_gradient,
    output_kind,
    rule_object,
)

__all__ = ["element_kind", "item_kind", "key_parts", "kind_of"]

_OF_ITERATORS = ("builtins", "itertools")  # (classes of others may have methods, too)
_INTEGERS = Kind("tuple", "int", item=INT)
_SHAPE_KINDS = {
    "shape": _INTEGERS,
    "strides": _INTEGERS,
    "ndim": INT,
    "size": INT,
    "nbytes": INT,
    "itemsize": INT,
    "dtype": OTHER,
    "flags": OTHER,
}
_BUILTIN_KINDS: dict[Any, Kind] = {
    builtins.len: INT,
    builtins.int: INT,
    builtins.bool: BOOL,
    builtins.ord: INT,
    builtins.id: INT,
    builtins.hash: INT,
    builtins.isinstance: BOOL,
    builtins.hasattr: BOOL,
    builtins.callable: BOOL,
    builtins.any: BOOL,
    builtins.all: BOOL,
    builtins.str: OTHER,
    builtins.repr: OTHER,
    builtins.type: OTHER,
    builtins.print: OTHER,
    builtins.format: OTHER,
    builtins.set: SET,
    builtins.frozenset: SET,
    builtins.sorted: Kind("list"),
    builtins.range: Kind("list", "int", item=INT),
    collections.defaultdict: Kind("dict", cls=collections.defaultdict),
    runtime.ExplicitDefaults: Kind("dict", cls=collections.defaultdict),
    collections.OrderedDict: Kind("dict"),
    collections.Counter: Kind("dict"),
    runtime.Shadow: Kind("object", cls=runtime.Shadow),
}


def kind_of(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """What is known of the value of `expr`.

    >>> kind_of(ir.Const(2.0), {}, None).dtype
    'float'
    >>> vector = Kind("array", "float", ("n",))
    >>> kind_of(ir.Index(ir.Var("x"), ir.Const(0)), {"x": vector}, None).form
    'number'
    """
    match expr:
        case ir.Var(name):
            return kinds.get(name, UNKNOWN)
        case ir.Call() | ir.Attribute() | ir.Index() if _may_be_method(expr, kinds):
            found = _of_method(expr, kinds, book)
            return _plain(expr, kinds, book) if found is None else found
        case ir.Call(fn=ir.Ref(obj=obj), kwargs=()) if _only_computes(obj, expr.args):
            return _by_rule(expr, kinds, book)
        case _:
            return _plain(expr, kinds, book)


def _only_computes(obj: Any, args: tuple[ir.Expr, ...]) -> bool:
    """Whether a call is of an arithmetic operator, or of a ufunc that makes a new array, as most
    calls are: their rules say all that there is to say."""
    if type(obj) is np.ufunc:
        return len(args) <= obj.nin and not any(map(ir.is_starred, args))
    return id(obj) in _ARITHMETIC


def _may_be_method(expr: ir.Call | ir.Attribute | ir.Index, kinds: Mapping[str, Kind]) -> bool:
    """Whether an expression asks something of an object of a known class, or makes one."""
    parts = (expr.base,) if not isinstance(expr, ir.Call) else (expr.fn, *expr.args[:2])
    for part in parts:
        base = part.base if isinstance(part, ir.Attribute) else part
        match base:
            case ir.Var(name) if name in kinds and kinds[name].form in ("object", "tuple"):
                return True
            case ir.Ref(obj=obj) if isinstance(obj, (type, MethodType)) or is_object(obj):
                return True
    return False


def _of_method(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> Kind | None:
    """What a method gives, where the book knows methods."""
    find = getattr(book, "method_kind", None)
    if find is None:
        return None
    found: Kind | None = find(expr, lambda e: kind_of(e, kinds, book))
    return found


def _plain(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """The kind of an expression that is not a call of a method."""
    if gives_module(expr):
        return OTHER
    match expr:
        case ir.Const(value):
            return literal(value)
        case ir.Ref():
            return _live(expr)
        case ir.Display():
            return _display(expr, kinds, book)
        case ir.Index(base, key):
            base_kind = kind_of(base, kinds, book)
            found = index_kind(base_kind, key, lambda e: kind_of(e, kinds, book))
            return _entry(base_kind, found, book)
        case ir.Attribute(base, name):
            return _attribute(expr, kind_of(base, kinds, book), name, kinds, book)
        case ir.Lazy(form, items):
            values = items[1:] if form == "if" else items
            joined = kind_of(values[0], kinds, book)
            for value in values[1:]:
                joined = joined.join(kind_of(value, kinds, book))
            return joined
        case ir.Call():
            return _call(expr, kinds, book)
        case ir.Text():
            return OTHER
        case ir.Set():
            return SET
        case ir.Opaque(text, refs=refs):  # `map(lambda k: k + 1, ks)`, `(k for k in ks)`
            made = (ref for ref in refs if text.startswith(f"{ref.text}("))
            known = (
                gives_iterator(ref.obj) and module_of(ref.obj) in _OF_ITERATORS for ref in made
            )
            runs_out = is_generator(expr) or any(known)
            return MADE_ITERATOR if runs_out else UNKNOWN
        case _:
            return UNKNOWN


def _entry(base: Kind, found: Kind, book: Any) -> Kind:
    """The kind of what is read from `base`: entries of arrays are as the book says."""
    return book.entry_kind(found) if book and base.form in ("array", "value") else found


def item_kind(base: Kind, book: Any) -> Kind:
    """What iteration over a value of this kind yields."""
    return _entry(base, element_kind(base), book)


def literal(value: Any) -> Kind:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return ir.replaced(INT, spells=value) if value >= 0 else INT
    if isinstance(value, float):
        return FLOAT
    return Kind("number", "complex", ()) if isinstance(value, complex) else OTHER


_structure = once_a_reading(structure_of)
_CONSTANTS = ("pi", "e", "inf")  # of libraries


def _live(ref: ir.Ref) -> Kind:
    """What is known of what a name outside means. Data of the user's may be bound to something
    else: numbers and arrays are trusted to stay of their dtype and rank, all other is not."""
    obj = ref.obj
    if isinstance(obj, ModuleType):
        return Kind("other", module=obj)
    if is_function(obj):
        return FUNCTION
    if isinstance(obj, type) or twin(obj) is not None:
        return OTHER
    if trusted(ref):
        return structure_of(obj, ranks=True)
    if "." in ref.text and type(obj) is float and ref.text.rpartition(".")[2] in _CONSTANTS:
        return FLOAT
    if not is_object(obj) and not isinstance(obj, (list, tuple)):
        return UNKNOWN
    kind = _structure(obj)  # (each method asks whether it is given an object of its class)
    return kind if kind.holds_objects else UNKNOWN


def _display(expr: ir.Display, kinds: Mapping[str, Kind], book: Any) -> Kind:
    items = tuple(kind_of(item, kinds, book) for item in expr.items)
    integers = all(item.dtype in ("int", "bool") for item in items)
    dtype = "int" if integers and items else "?"
    length = None if any(map(ir.is_starred, expr.items)) else len(items)
    if expr.form == "tuple":
        return Kind("tuple", dtype, items=items, length=length)
    # What a list holds may change later, through any of its names. (Methods check the classes.)
    common = functools.reduce(Kind.join, items) if items else UNKNOWN
    known = common.checked if common.holds_objects else None
    return Kind(expr.form, item=known, length=length)


def _attribute(
    expr: ir.Attribute, base: Kind, name: str, kinds: Mapping[str, Kind], book: Any
) -> Kind:
    of_object = name != (name := ir.plain_name(name))
    held = functools.reduce(Kind.join, (field_kind(one, name) for one in base.among or (base,)))
    if name in ("shape", "strides", "ndim", "dtype") and not of_object and held is UNKNOWN:
        return _shape_of(base) if name == "shape" else _SHAPE_KINDS[name]
    if base.has_methods and name == "_fields":
        return Kind("tuple", items=(OTHER,) * len(base.items or ()))
    if held is not UNKNOWN or base.form not in ("array", "value", "number"):
        return held
    if name in _SHAPE_KINDS:
        return _SHAPE_KINDS[name]
    return _by_rule(expr, kinds, book)


def field_kind(record: Kind, name: str) -> Kind:
    """What is known of a field of an object or a named tuple."""
    if record.form == "object":
        return dict(record.fields).get(name, UNKNOWN)
    if record.form == "tuple" and (record.names or record.has_methods):
        names = record.names or record_fields(record.cls) or ()
        return dict(zip(names, record.items or (), strict=False)).get(name, UNKNOWN)
    return UNKNOWN


def _shape_of(base: Kind) -> Kind:
    """`x.shape`: a tuple of integers that remembers whose sizes they are."""
    if base.form not in ("array", "value"):
        return _INTEGERS
    if isinstance(base.shape, tuple):
        sizes = tuple(ir.replaced(INT, spells=d) for d in base.shape)
        return ir.replaced(_INTEGERS, items=sizes, item=None)
    return ir.replaced(_INTEGERS, spells=base.shape)


def _call(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> Kind:
    written = output_kind(call, kinds)
    if written is not None:
        return written
    obj = rule_object(call, kinds)
    if is_stop_gradient(obj) and call.args:
        return kind_of(call.args[0], kinds, book)
    if is_container_method(call, kinds):
        return _container_method(call, kinds, book)
    made = record_class(call)
    if made is not None and not issubclass(made, tuple):
        return _record(call, made, kinds, book)
    if made is not None:
        return _named_tuple(call, made, kinds, book)
    if is_replace(obj) and call.args:
        of = kind_of(call.args[0], kinds, book)
        return Kind("object", cls=of.cls) if of.cls is not None else UNKNOWN
    if obj is slice:  # (bounds that carry derivatives are refused where they are read)
        bounds = [kind_of(arg, kinds, book) for arg in call.args]
        whole = all(kind.integer or kind == NONE for kind in bounds) and not call.kwargs
        return Kind("other", cls=slice) if whole else UNKNOWN
    known = _BUILTIN_KINDS.get(obj) if _hashable(obj) else None
    if obj is len and len(call.args) == 1:
        rows = index_kind(
            _shape_of(kind_of(call.args[0], kinds, book)), ir.Const(0), lambda e: UNKNOWN
        )
        return rows if rows.integer else INT
    if known is None and isinstance(obj, FunctionType):
        held = iterator_kind(obj, call, lambda e: kind_of(e, kinds, book))
        known = held if held != UNKNOWN else None
    if known is None and gives_iterator(obj) and module_of(obj) in _OF_ITERATORS:
        return MADE_ITERATOR
    return known if known is not None else _by_rule(call, kinds, book)


def _named_tuple(call: ir.Call, cls: type, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """A namedtuple made from values, which stay what they are."""
    names = record_fields(cls) or ()
    given = {name: kind_of(v, kinds, book) for name, v in (record_values(call) or {}).items()}
    items = tuple(given.get(name, UNKNOWN) for name in names)
    if has_own_methods(cls):
        return Kind("tuple", items=items, cls=cls)
    return Kind("tuple", items=items, names=names)


def _record(call: ir.Call, cls: type, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """An object made from values: its fields that hold objects, and those that hold numbers,
    arrays, containers and texts, as far as what the program stores is such (of the containers
    nothing but that; neither they nor texts where a method assigns them)."""
    given = {n: kind_of(v, kinds, book) for n, v in (record_values(call) or {}).items()}
    nothing = {n: NONE for n in _left_out(call, cls) if n not in given}
    known = [(n, k.checked) for n, k in given.items() if k.holds_objects]
    held = getattr(book, "held", None)
    if held is not None:
        constants = {n: _constant(value) for n, value in record_constants(call).items()}
        plain = {n: k for n, k in {**given, **constants}.items() if not k.holds_objects}
        claimed = {n: k for n, k in plain.items() if k.form in ("number", "array")}
        whole = {n: Kind(k.form, cls=k.cls) for n, k in plain.items() if k.form in _CONTAINERS}
        whole |= {n: k for n, k in plain.items() if k == OTHER}
        for name in assigned_attributes(cls) if whole else ():
            whole.pop(name, None)
        known += [(n, k) for n, k in held(cls, {**claimed, **whole}).items() if k != UNKNOWN]
    return Kind("object", cls=cls, fields=(*known, *nothing.items()))


def _constant(value: Any) -> Kind:
    return Kind("tuple") if isinstance(value, tuple) else literal(value)


_CONTAINERS = ("dict", "list", "tuple")


def _left_out(call: ir.Call, cls: type) -> tuple[str, ...]:
    """The fields that are None since a call does not give them, and no method assigns them."""
    called = call.fn == ir.Ref(cls.__name__, cls) and isinstance(initialiser_of(cls), FunctionType)
    init = plain_signature(cls).parameters.items() if called else ()
    named = [n for n, p in init if p.default is None and n in (record_fields(cls) or ())]
    return tuple(n for n in named if n not in assigned_attributes(cls)) if named else ()


def _container_method(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> Kind:
    assert isinstance(call.fn, ir.Attribute)
    base = kind_of(call.fn.base, kinds, book)
    match call.fn.name:
        case "append" | "extend" | "insert" | "clear" | "update" | "remove" | "sort" | "reverse":
            return OTHER
        case "count" | "index":
            return INT
        case "copy":
            return ir.replaced(base, lasting=False)
        case "values" if element_kind(base) != UNKNOWN:
            return Kind(item=element_kind(base))  # (a view: no list)
        case "items" if element_kind(base) != UNKNOWN:
            return Kind(item=Kind("tuple", items=(UNKNOWN, element_kind(base))))
        case "_replace" if base.has_methods:
            return ir.replaced(base, items=(UNKNOWN,) * len(base.items or ()))
        case "_replace" if base.names and base.form == "tuple":
            given = {word: kind_of(value, kinds, book) for word, value in call.kwargs}
            olds = zip(base.names, base.items or (), strict=True)
            return ir.replaced(base, items=tuple(given.get(name, old) for name, old in olds))
        case "pop" if base.form in ("list", "dict") and len(call.args) < 2:
            return element_kind(base)
        case _:
            return UNKNOWN


_OURS = runtime.__name__


def _by_rule(expr: ir.Call | ir.Attribute, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """What the operation's entry in the rulebook says of its result."""
    obj = rule_object(expr, kinds)
    if obj is None or book is None:
        return UNKNOWN
    if isinstance(expr, ir.Call) and not _is_of_array(expr, obj, kinds, book):
        return UNKNOWN  # (an object's own method of that name gives anything)
    call = expr if isinstance(expr, ir.Call) else ir.Call(ir.Ref(expr.name, obj), (expr.base,))
    known: dict[str | int, Kind] = {}  # of what it is given: each is asked for several times
    if isinstance(obj, np.ufunc) or id(obj) in _ARITHMETIC:
        kinds_given = [kind_of(arg, kinds, book) for arg in call.args]
        numeric = _is_numeric(obj, kinds_given)
        for arg, kind in zip(call.args, kinds_given, strict=True):
            if numeric and kind.form == "unknown":
                kind = ir.replaced(kind, form="value")
            known[arg.name if type(arg) is ir.Var else id(arg)] = kind

    def given(e: ir.Expr) -> Kind:
        kind = known.get(e.name if type(e) is ir.Var else id(e))
        return kind_of(e, kinds, book) if kind is None else kind

    result: Kind = book.result_kind(call, given)
    if result.integer and (obj is operator.add or obj is operator.sub):
        first, second = (k.spells if k.integer else None for k in map(given, call.args))
        sign = 1 if obj is operator.add else -1
        return ir.replaced(result, spells=total_size(sign, first, second))
    if (result.holds_objects or result.lasting) and module_of(obj).startswith(_OURS):
        # The adjoint of an object is a mirror of it, and has another class; that of a container
        # holds zeros of any form.
        return UNKNOWN if result.holds_objects else Kind(result.form)
    return result


def _is_of_array(call: ir.Call, obj: Any, kinds: Mapping[str, Kind], book: Any) -> bool:
    """Whether a call that looks like one of a method of an array surely is one."""
    fn = call.fn
    if not isinstance(fn, ir.Attribute) or isinstance(fn.base, ir.Ref):
        return True
    if is_array_method(fn, kinds) or obj is not getattr(np.ndarray, fn.name, None):
        return True
    return not isinstance(fn.base, ir.Var) and kind_of(fn.base, kinds, book).form == "array"


_REPEATING = (operator.add, operator.mul, operator.iadd, operator.imul)
_ARITHMETIC = frozenset(
    id(op)
    for op in (
        *_REPEATING,
        *(operator.sub, operator.truediv, operator.pow, operator.floordiv, operator.neg),
        *(operator.isub, operator.itruediv, operator.ipow, operator.ifloordiv),
    )
)


def _is_numeric(obj: Any, operands: list[Kind]) -> bool:
    """Whether an elementwise operation has a numeric result whatever its operands are.

    `x - y` has, since no list can be subtracted, unless a set is: `x + y` may join lists,
    `2 * x` repeat one.
    """
    if isinstance(obj, np.ufunc):
        return obj.signature is None
    if obj not in _REPEATING:
        return all(kind.form != "set" for kind in operands)
    return any(
        kind.form in ("array", "value")
        or (kind.form == "number" and kind.dtype in ("float", "complex"))
        for kind in operands
    )


def _hashable(obj: Any) -> bool:
    return getattr(type(obj), "__hash__", None) is not None


# --------------------------------------------------------------------------------------------------
# What the lists hold that stand for the iterators of `itertools`: objects of known classes.
#
# pairs = combination_items(points, 2)     # a list of tuples of two points

_SAME = (programs.slice_items, programs.compress_items)
_SAME_AFTER_A_TEST = (programs.takewhile_items, programs.dropwhile_items)
_ROWS = (programs.combination_items, programs.combinations_again, programs.permutation_items)


def iterator_kind(obj: Any, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Kind:
    """The kind of what such a function gives; unknown for others, and where no objects are held."""
    item = UNKNOWN
    match programs.program_of(obj), call.args:
        case made, (iterable, *_) if made in _SAME:
            item = element_kind(kind_of(iterable))
        case made, (_, iterable) if made in _SAME_AFTER_A_TEST:
            item = element_kind(kind_of(iterable))
        case made, (iterable, ir.Const(int(count))) if made in _ROWS:
            item = _row((element_kind(kind_of(iterable)),) * count)
        case programs.pairwise_items, (iterable,):
            item = _row((element_kind(kind_of(iterable)),) * 2)
        case programs.chain_items, iterables if iterables:
            item = functools.reduce(Kind.join, (element_kind(kind_of(e)) for e in iterables))
        case programs.flattened_items, (iterables,):
            item = element_kind(element_kind(kind_of(iterables)))
        case programs.product_items, iterables if iterables:
            item = _row(tuple(element_kind(kind_of(e)) for e in iterables) * _repeats(call))
    return Kind("list", item=item) if item.holds_objects else UNKNOWN


def _row(items: tuple[Kind, ...]) -> Kind:
    return Kind("tuple", items=items) if items else UNKNOWN


def _repeats(call: ir.Call) -> int:
    """How often `product` goes through its arguments; 0 where that is not written."""
    match dict(call.kwargs).get("repeat", ir.Const(1)):
        case ir.Const(int(count)):
            return count
    return 0
