"""The arrays, containers and objects of the module, or of an enclosing function, as they are now.

    STATE, CACHE = Model(), {}

`STATE.rows[0]` is the array that is there now. Of `CACHE[n]` only the run can say which item it
is: it stands for all that is in `CACHE`, and for what is put there later.
"""

from __future__ import annotations

import inspect
import re
import types
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ir
from ..frontend.owners import is_library, is_ours
from ..frontend.resolve import once_a_reading
from ..frontend.structures import sets_attribute
from ..ir.index import named
from ..ir.kind import Kind
from ..pytree.leaves import is_data, is_plain
from ..runtime.records import attribute_of
from .operations import MUTATING_METHODS

Found = Mapping[str, ir.Ref]  # outer objects by their nodes in the alias analysis
_CHANGING = (list, dict, deque, MutableSet)
_DEPTH = 4  # to which containers and objects are searched
_MOST_ITEMS = 1000
_OF_HEAP = 1 << 9  # (Py_TPFLAGS_HEAPTYPE: classes that Python code made)
LATER = "+"  # ends the node of what may be put into a container later
_NAME = "="  # begins that of what a name may mean later


def node(obj: Any) -> str:
    return f"@{id(obj)}"


def live(expr: ir.Expr) -> ir.Ref | None:
    """The object that `STATE.rows[0]` is now, where `STATE` is an outer object."""
    match expr:
        case ir.Ref():
            return expr
        case ir.Attribute(base, name):
            holder = live(base)
            if holder is None:
                return None
            found = inspect.getattr_static(holder.obj, name, None)
            if isinstance(found, types.MemberDescriptorType):  # (of `__slots__`)
                found = getattr(holder.obj, name, None)
            if found is None or hasattr(type(found), "__get__"):
                return None
            return ir.Ref(f"{holder.text}.{name}", found)
        case ir.Index(base, ir.Const(key)):
            holder = live(base)
            if holder is None or not isinstance(holder.obj, (list, tuple, dict)):
                return None
            try:  # (of a `defaultdict`, asking for an item would make one)
                found = (
                    dict.get(holder.obj, key) if isinstance(holder.obj, dict) else holder.obj[key]
                )
            except (LookupError, TypeError):
                return None
            return None if found is None else ir.Ref(f"{holder.text}[{key!r}]", found)
        case _:
            return None


def itself(known: ir.Ref) -> dict[str, ir.Ref]:
    """An outer object, if it can be changed."""
    changing = is_outer_array(known.obj) or is_box(known.obj) or is_cached(known)
    return {node(known.obj): known} if changing else {}


def later(expr: ir.Expr, known: ir.Ref | None) -> dict[str, ir.Ref]:
    """What a place that has a number now (`STATE.total`), or nothing, may be given by the program
    itself."""
    if not isinstance(expr, ir.Attribute | ir.Index) or not (known is None or is_plain(known.obj)):
        return {}
    holder = live(expr.base)
    if holder is None or not (is_box(holder.obj) or is_code(holder.obj)):
        return {}
    if isinstance(expr, ir.Attribute) and type(holder.obj) in CONTAINERS:
        return {}  # (a method)
    return {node(holder.obj) + LATER: holder}


def bound_later(expr: ir.Expr) -> dict[str, ir.Ref]:
    """What an outer name that is bound again may mean when it is read, or hold then, whatever it
    means now."""
    while isinstance(expr, ir.Attribute | ir.Index):
        expr = expr.base
    if not isinstance(expr, ir.Ref) or not expr.again:
        return {}
    return {f"{_NAME}{expr.text}{LATER}": expr}


def is_of_name(node: str) -> bool:
    """Whether a node is that of what a name may mean later."""
    return _NAME in node


def unset(expr: ir.Attribute) -> bool:
    """Whether a function, a class or an object outside lacks an attribute, which it may be given
    by the program itself: `f.cache = {}`."""
    holder = live(expr.base)
    return holder is not None and inspect.getattr_static(holder.obj, expr.name, None) is None


def is_table(obj: Any) -> bool:
    """Whether a container or an object holds nothing but numbers, names and the like, and types
    that take no attributes: `float`, `np.float32`."""
    held = _items(obj)
    return bool(held) and all(is_plain(item) or _is_static(item) for _, item in held)


def _is_static(obj: Any) -> bool:
    """Whether an object is a type of Python or NumPy, which nothing can be put into."""
    return isinstance(obj, type) and not obj.__flags__ & _OF_HEAP


def inside(known: ir.Ref) -> Found:
    """What can be changed of what an outer object holds, with the texts that name it.

    >>> import numpy as np
    >>> outer = ir.Ref("D", {"a": np.zeros(2), "b": [np.ones(1), 3]})
    >>> [ref.text for ref in inside(outer).values()]
    ['D', 'D', "D['a']", "D['b']", "D['b']", "D['b'][0]"]
    """
    return _inside(known.obj, known.text, _DEPTH)


@once_a_reading
def _inside(obj: Any, text: str, depth: int) -> dict[str, ir.Ref]:
    held = _items(obj) if depth else []
    found = {node(obj) + LATER: ir.Ref(text, obj)} if isinstance(obj, (list, tuple, dict)) else {}
    if is_box(obj) and _may_hold_others([item for _, item in held], obj):
        found |= itself(ir.Ref(text, obj))
    for part, item in held:
        found |= itself(ir.Ref(text + part, item)) | _inside(item, text + part, depth - 1)
    return found


@once_a_reading
def functions_inside(obj: Any, depth: int = _DEPTH) -> tuple[types.FunctionType, ...]:
    """The functions that a container or an object holds."""
    found: list[types.FunctionType] = []
    for _, item in _items(obj) if depth else ():
        found += [item] if isinstance(item, types.FunctionType) else []
        found += functions_inside(item, depth - 1)
    return tuple(found)


def _may_hold_others(items: list[Any], obj: Any) -> bool:
    """Whether a container may be given items that are containers, by what it holds now."""
    return not items or isinstance(obj, defaultdict) or any(map(is_box, items))


def _items(obj: Any) -> list[tuple[str, Any]]:
    if isinstance(obj, dict):
        pairs = [(f"[{key!r}]", value) for key, value in obj.items()]
    elif isinstance(obj, (list, tuple, deque)):
        pairs = [(f"[{k}]", value) for k, value in enumerate(obj)]
    elif holds_objects(obj):
        pairs = [(f"{list(k)}", value) for k, value in np.ndenumerate(obj)]
    elif is_box(obj) and not isinstance(obj, _CHANGING):
        pairs = [(f".{name}", value) for name, value in vars(obj).items()]
    else:
        pairs = []
    return pairs[:_MOST_ITEMS]


def is_cached(fn: ir.Ref) -> bool:
    """Whether a function is one that `lru_cache` wraps (it is called without its cache): what
    a call of it gives may be what an earlier one gave."""
    return fn.text.endswith(".__wrapped__")


def is_outer_array(obj: Any) -> bool:
    """Whether an outer object is an array, of whatever library.

    >>> import numpy as np
    >>> is_outer_array(np.zeros(2)), is_outer_array([0.0]), is_outer_array(np.float64(1.0))
    (True, False, False)
    """
    if isinstance(obj, type) or not hasattr(type(obj), "__setitem__"):
        return False  # (a module may say something when it is asked for an attribute)
    return attribute_of(obj, "shape") is not None


def holds_objects(obj: Any) -> bool:
    """Whether an object is an array of Python's objects."""
    return isinstance(obj, np.ndarray) and obj.dtype.kind == "O"


def is_box(obj: Any) -> bool:
    """Whether something can be put into an object: a container, or an instance with attributes."""
    if isinstance(obj, _CHANGING):
        return True
    other = is_code(obj) or is_outer_array(obj)
    return not other and isinstance(attribute_of(obj, "__dict__", None), dict)


def is_code(obj: Any) -> bool:
    """Whether an object is a function, a class or a module: it can be given attributes, too."""
    called = isinstance(attribute_of(type(obj), "__call__", None), types.FunctionType)
    return isinstance(obj, (type, types.ModuleType)) or (callable(obj) and not called)


def can_be_asked(obj: Any) -> bool:
    """Whether it can be seen of an object that it is not changed."""
    return is_outer_array(obj) or (is_box(obj) and not is_code(obj))


def without_tables(found: Found, written: Found) -> dict[str, ir.Ref]:
    """The same less what may be put later into tables that nothing is put into."""
    return {
        key: ref
        for key, ref in found.items()
        if not key.endswith(LATER)
        or is_of_name(key)
        or key.removesuffix(LATER) in written
        or not is_table(ref.obj)
    }


def arrays_of(found: Found) -> dict[str, ir.Ref]:
    """Those whose entries are written: arrays, and what is put into containers later."""
    return {
        key: ref
        for key, ref in found.items()
        if key.endswith(LATER) or not (is_box(ref.obj) or is_code(ref.obj))
    }


def reads_of(expr: ir.Expr, written: set[int]) -> Iterator[tuple[str, ir.Ref]]:
    """The outer objects that an expression reads, with what they hold; `written` are the
    expressions (by id) that are written through."""
    if id(expr) in written or (isinstance(expr, ir.Attribute) and expr.name in ir.QUERIES):
        return
    known = live(expr)
    if known is not None:
        yield from {**itself(known), **inside(known), **later(expr, known)}.items()
        return
    if isinstance(expr, ir.Attribute | ir.Index):  # (there is no such attribute or item yet)
        yield from later(expr, None).items()
    for child in ir.children(expr):
        yield from reads_of(child, written)


def outermost(found: Found) -> dict[str, ir.Ref]:
    """Objects by the texts that name them, without what the others hold."""
    texts = {ref.text: ref for ref in found.values()}
    held = (t for t in texts if any(t.startswith((f"{o}.", f"{o}[")) for o in texts))
    return {text: texts[text] for text in sorted(texts.keys() - set(held))}


def as_named(known: ir.Ref, names: Iterable[ir.Ref]) -> ir.Ref:
    """A reference to an outer object in a function that has these names: as it is known, or as
    what the text is given."""
    for name in names:
        if known.text == name.text and known.obj is name.obj:
            return known
    return ir.Ref("_".join(re.findall(r"\w+", known.text)), known.obj)


def lasting_defaults(obj: Any, given: Collection[str]) -> dict[str, ir.Ref]:
    """The parameters of a function for which nothing is given, and whose defaults can be changed:
    all calls have the same one.

    >>> def f(x, seen={}, at=(), *, total=np.zeros(2)):
    ...     pass
    >>> [ref.text for ref in lasting_defaults(f, ["x"]).values()]
    ["f's default of seen", "f's default of total"]
    """
    code = getattr(obj, "__code__", None)
    if code is None:
        return {}
    values = attribute_of(obj, "__defaults__", None) or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(values) :]
    defaults = dict(zip(names, values, strict=True))
    defaults |= attribute_of(obj, "__kwdefaults__", None) or {}
    return {
        name: ir.Ref(f"{obj.__name__}'s default of {name}", value)
        for name, value in defaults.items()
        if name not in given and (is_outer_array(value) or is_box(value))
    }


# --------------------------------------------------------------------------------------------------
# Which objects a program may change, itself or by what it calls, and which outer data it names.
#
# A derivative works on copies of the arguments that are changed. A list or an object that is found
# in two ways, twice in an argument or by a name outside, would be two things there.

CONTAINERS = (list, dict, set, deque)


@dataclass(frozen=True)
class Changed:
    """Objects with one of these `attributes`, and `containers`, may be changed."""

    attributes: frozenset[str] = frozenset()
    containers: bool = False

    def may_change(self, obj: Any) -> bool:
        """Whether a container or an object may be changed. (Arrays are known by their memory.)"""
        if isinstance(obj, CONTAINERS):
            return self.containers
        fields = attribute_of(obj, "__dict__", None) or {}
        return any(a in fields or sets_attribute(type(obj), a) for a in self.attributes)


def changed_by(
    functions: Iterable[ir.Function], kinds_of: Callable[[ir.Function], Callable[[ir.Expr], Kind]]
) -> Changed:
    """What functions change."""
    attributes: set[str] = set()
    containers = False
    for function in functions:
        kind_of = kinds_of(function)
        for stmt in ir.statements(function.body):
            for target in _changed_places(stmt):
                if isinstance(target, ir.Attribute):
                    attributes.add(target.name)
                elif kind_of(target).form not in ("array", "number"):
                    containers = True
    return Changed(frozenset(attributes), containers)


def named_by(
    main: ir.Function, read: Callable[[Any], ir.Function | None]
) -> tuple[tuple[ir.Function, ...], tuple[ir.Ref, ...]]:
    """A function with those that it calls, and the data outside that they name; `read` gives the
    functions that can be read, None for others."""
    outer = dict[int, ir.Ref]()
    functions, seen = [main], set[int]()
    for function in functions:
        for ref in (ref for stmt in ir.statements(function.body) for ref in named(stmt)):
            if id(ref.obj) in seen:
                continue
            seen.add(id(ref.obj))
            if is_data(ref.obj) or isinstance(ref.obj, types.MethodType):
                outer[id(ref.obj)] = ref
            elif isinstance(ref.obj, types.FunctionType) and not _is_known(ref.obj):
                callee = read(ref.obj)
                functions += [callee] if callee is not None else []
    return tuple(functions), tuple(outer.values())


def _is_known(obj: Any) -> bool:
    return is_library(obj) or is_ours(obj)


def _changed_places(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """Attributes that a statement sets, and what may be a container that it changes."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            yield target.base if isinstance(target, ir.Index) else target
        case ir.OpaqueStmt(text=text, values=values) if text.startswith("del "):
            yield from values
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(base, name)) if name in MUTATING_METHODS:
            yield base
