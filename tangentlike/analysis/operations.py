"""Which operation an expression applies: the object its derivative rule is found under."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import re
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir, runtime
from ..frontend.owners import (
    is_installed,
    is_library,
    is_numpy,
    is_standard,
    mark_of,
    module_of,
    package_of,
)
from ..frontend.signatures import plain_signature
from ..ir.kind import UNKNOWN, Kind
from ..rules.book import Rule, as_function_call
from ..rules.linear import is_zero
from ..rules.template import template_of
from ..runtime.records import attribute_of

CONTAINER_METHODS = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "index", "count")
    + ("get", "items", "keys", "values", "popitem", "setdefault", "update", "reverse")
    + ("appendleft", "extendleft", "popleft")
)  # methods of lists, dicts and deques that arrays do not have
# (Any other method of a list, tuple or dict, as `xs.__add__(ys)`, is a call of what is not known.)
_OF_CONTAINERS = CONTAINER_METHODS | {"copy", "sort", "_replace", "_asdict"}
# Methods of lists, dicts and deques -> which argument they put in: one item, or several.
PUTTING_ONE = {"append": 0, "appendleft": 0, "insert": 1}
PUTTING = PUTTING_ONE | {"extend": 0, "extendleft": 0, "update": 0, "setdefault": 1}
# All methods that put their arguments into the object.
STORING_METHODS = frozenset((*PUTTING, "add", "fill", "put", "itemset"))
MUTATING_METHODS = STORING_METHODS.union(
    ("pop", "popleft", "remove", "clear", "sort", "reverse", "popitem", "discard"),
    ("difference_update", "intersection_update", "symmetric_difference_update", "subtract"),
    ("partition", "resize"),
    ("__setitem__", "__delitem__", "__setattr__", "__delattr__", "setfield", "byteswap"),
)  # all methods that change the object
_GIVING_MODULES = ("__array_namespace__", "array_namespace", "get_array_module")
# Of a dict they see the keys.
_ITERATING = frozenset(map(id, (list, tuple, set, sorted, min, max, sum, iter)))
GENERATORS = (np.random.Generator, np.random.RandomState)
_CONTAINERS = ("list", "tuple", "dict")


# The classes of arrays and containers of each form, whose methods may be values.
VALUE_CLASSES = {"array": np.ndarray, "value": np.ndarray, "list": list, "dict": dict, "set": set}
VALUE_METHODS = frozenset(
    name
    for cls in VALUE_CLASSES.values()
    for name, value in vars(cls).items()
    if isinstance(value, types.MethodDescriptorType)
)


def is_one_of(obj: Any, objects: Iterable[Any]) -> bool:
    """Membership by identity: arrays and objects of the user's compare in their own ways."""
    return any(obj is each for each in objects)


def is_container_method(call: ir.Call, kinds: Mapping[str, Kind]) -> bool:
    """Whether the call is a method of a Python list, tuple or dict.

    >>> append = ir.Call(ir.Attribute(ir.Var("xs"), "append"), (ir.Var("x"),))
    >>> is_container_method(append, {})
    True
    """
    if not isinstance(call.fn, ir.Attribute):
        return False
    base = call.fn.base
    known = kinds.get(base.name) if isinstance(base, ir.Var) else None
    if known is not None and known.form in _CONTAINERS:
        return call.fn.name in _OF_CONTAINERS
    if known is not None and known.cls is not None:  # (which may have what is no function there)
        method = inspect.getattr_static(known.cls, call.fn.name, None)
        known_name = call.fn.name in CONTAINER_METHODS or call.fn.name == "rotate"
        return known_name and isinstance(method, types.MethodDescriptorType)
    return call.fn.name in CONTAINER_METHODS


def gives_iterator(obj: Any) -> bool:
    """Whether calling `obj` makes something that is run through once.

    >>> [gives_iterator(obj) for obj in (np.ndindex, iter, range)]
    [True, True, False]
    """
    return obj is iter or (inspect.isclass(obj) and hasattr(obj, "__next__"))


def changes_its_object(call: ir.Call, kinds: Mapping[str, Kind]) -> bool:
    """Whether a call is that of a method which changes lists, dicts or arrays, by its name.

    `nx.sort(x, axis=0)` is none: lists are given no axis, and arrays no second one. Nor is
    `nx.subtract(x, y)`: a `Counter` is given one argument.
    """
    if not isinstance(call.fn, ir.Attribute) or call.fn.name not in MUTATING_METHODS:
        return False
    if call.fn.name == "subtract":
        return len(call.args) == 1 and not call.kwargs
    if call.fn.name != "sort" or not call.args or not isinstance(call.args[0], ir.Var):
        return True
    kind = kinds.get(call.args[0].name, UNKNOWN)
    of_arrays = kind.form in ("array", "value") and not kind.integer
    return not of_arrays and not any(word == "axis" for word, _ in call.kwargs)


def joins_lists(call: ir.Call, kinds: Mapping[str, Kind]) -> bool:
    """Whether a call is `xs + ys`, `2 * xs` or `d | e`, whose result holds the same items again."""
    if not isinstance(call.fn, ir.Ref):
        return False
    forms = _JOINING.get(id(call.fn.obj))
    return forms is not None and any(_form(arg, kinds) in forms for arg in call.args)


def may_join_lists(call: ir.Call, kinds: Mapping[str, Kind]) -> bool:
    """Whether a call `joins_lists`, or may turn out to when it runs: nothing is known of operands
    that may be lists or dicts."""
    if joins_lists(call, kinds):
        return True
    if not isinstance(call.fn, ir.Ref) or id(call.fn.obj) not in _JOINING:
        return False
    forms = [_form(arg, kinds) for arg in call.args]
    if call.fn.obj is operator.mul:
        # (Of two operands of which nothing is known, neither is taken for a count.)
        return "unknown" in forms and any(_is_count(arg, kinds) for arg in call.args)
    return set(forms) <= {"unknown", "list", "tuple", "dict"}


def _is_count(expr: ir.Expr, kinds: Mapping[str, Kind]) -> bool:
    if isinstance(expr, ir.Var):
        return kinds.get(expr.name, UNKNOWN).integer
    return isinstance(expr, ir.Const) and isinstance(expr.value, int)


_SEQUENCES = ("list", "tuple")
_JOINING = {  # by the id of the operator
    id(operator.add): _SEQUENCES,
    id(operator.mul): _SEQUENCES,
    id(operator.or_): ("dict",),
}


def _form(expr: ir.Expr, kinds: Mapping[str, Kind]) -> str:
    if isinstance(expr, ir.Display):
        return expr.form
    return kinds.get(expr.name, UNKNOWN).form if isinstance(expr, ir.Var) else ""


def rule_object(expr: ir.Expr, kinds: Mapping[str, Kind]) -> Any:
    """The live object an operation is known by, or None where only the running program knows.

    A `Ref` is its object; `x.sum()` is `np.ndarray.sum` and `x.T` is `np.ndarray.T` unless
    x is a container. An attribute that arrays have as a method only (`layer.mean` without a call)
    is a field of some object.
    """
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj)):
            return obj
        case ir.Call(fn=ir.Attribute(base, name)):
            if _is_generator(base, kinds):
                return getattr(np.random.Generator, name, None)
            if isinstance(base, ir.Var) and kinds.get(base.name, UNKNOWN).form == "object":
                return None
            return None if is_container_method(expr, kinds) else _of_array(base, name)
        case ir.Attribute(base, name):
            obj = _of_array(base, name)
            return obj if inspect.isgetsetdescriptor(obj) else None
        case _:
            return None


def _is_generator(base: ir.Expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether an expression is surely a random generator of NumPy."""
    if isinstance(base, ir.Ref):
        return isinstance(base.obj, GENERATORS)
    known = kinds.get(base.name) if isinstance(base, ir.Var) else None
    return known is not None and known.cls in GENERATORS


def _of_array(base: ir.Expr, name: str) -> Any:
    if isinstance(base, ir.Ref) and isinstance(base.obj, np.ufunc):
        return getattr(base.obj, name, None)  # np.add.at, np.multiply.outer
    return None if name.startswith("__") else getattr(np.ndarray, name, None)


_WRITING_METHODS = ("fill", "sort", "partition", "put", "resize", "setfield", "byteswap")
# Modules of Python with functions that write their arguments.
_WRITING_MODULES = ("random", "heapq", "bisect", "operator", "struct", "ctypes")

# Functions that move or add values into their first argument: position of what they put there.
_WRITERS: dict[Any, int] = {
    np.add.at: 2,
    np.subtract.at: 2,
    np.copyto: 1,
    np.put: 2,
    np.place: 2,
    np.putmask: 2,
    np.fill_diagonal: 1,
    np.put_along_axis: 2,
    setattr: 2,
    object.__setattr__: 2,
    runtime.add_at: 2,
    runtime.update_in_place: 1,
    runtime.put_contents: 1,
    runtime.put_inside: 1,
    runtime.put_item: 2,
    runtime.Shadow.add: 2,
    runtime.Shadow.put: 2,
    runtime.Shadow.put_at: 3,
    runtime.Shadow.add_at: 4,
}


def written_position(obj: Any) -> int | None:
    """Where a function that writes its first argument takes the values; None if it is none.

    >>> written_position(np.copyto), written_position(np.sin)
    (1, None)
    """
    try:
        return _WRITERS.get(obj)
    except TypeError:  # unhashable
        return None


def may_write(fn: ir.Expr) -> bool:
    """Whether what is called is a function without rule or source that may write its arguments:
    one of a library other than NumPy, or one of Python's that is known to.

    >>> import heapq
    >>> may_write(ir.Ref("len", len)), may_write(ir.Ref("heappush", heapq.heappush))
    (False, True)
    """
    if not isinstance(fn, ir.Ref) or inspect.isclass(fn.obj):
        return False
    if attribute_of(fn.obj, "__objclass__", None) is np.ndarray:  # `np.ndarray.fill(w, 0.0)`
        return fn.obj.__name__ in _WRITING_METHODS or fn.obj.__name__.startswith("__")
    package = package_of(fn.obj).lstrip("_")
    return package in _WRITING_MODULES or (
        package not in ("", "numpy", "tangentlike") and not is_standard(package)
    )


def adds_values(obj: Any) -> bool:
    """Whether a function that writes its first argument adds to what is there."""
    return obj in (np.add.at, np.subtract.at, runtime.add_at)


def is_stop_gradient(obj: Any) -> bool:
    """Whether an object is our `stop_gradient`: identity for values, constant for derivatives."""
    return obj is runtime.stop_gradient


def is_constant(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> bool:
    """Whether an operation's result carries no derivative, whatever goes in.

    >>> is_constant(ir.Attribute(ir.Var("x"), "shape"), {}, None)
    True
    """
    if isinstance(expr, ir.Attribute) and expr.name in ir.QUERIES:
        return True
    obj = rule_object(expr, kinds)
    if gives_module(expr):
        return True
    if isinstance(expr, ir.Call) and _gives_keys(expr, obj, kinds):
        return True
    if obj is None:
        return False
    if is_stop_gradient(obj):
        return True
    return book is not None and bool(book.is_nondifferentiable(obj))


def gives_module(expr: ir.Expr) -> bool:
    """Whether an expression asks for a module by a name that says so, or by the name of one."""
    match expr:
        case ir.Call(fn=ir.Attribute(name=name)):
            return name in _GIVING_MODULES
        case ir.Call(fn=ir.Ref(obj=obj)):
            return getattr(obj, "__name__", "") in _GIVING_MODULES and is_installed(module_of(obj))
        case ir.Index(ir.Ref(obj=obj), _):
            return obj is sys.modules
    return False


def _gives_keys(call: ir.Call, obj: Any, kinds: Mapping[str, Kind]) -> bool:
    """Whether a result is made of the keys of a dict: `d.keys()`, `list(d)`, `max(d)`."""
    if isinstance(call.fn, ir.Attribute):
        return call.fn.name == "keys" and not call.args
    if id(obj) not in _ITERATING or not call.args:
        return False
    first = call.args[0]
    return isinstance(first, ir.Var) and kinds.get(first.name, UNKNOWN).form == "dict"


def operands(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> tuple[str, ...]:
    """The names whose value (or memory) may be in the value of an expression, in order.

    Keys of items, tests, and what only gives a shape do not count.

    >>> expr = ir.Index(ir.Var("x"), ir.Var("i"))
    >>> operands(expr, {}, None), operands(ir.Attribute(expr, "shape"), {}, None)
    (('x',), ())
    """
    parts: tuple[ir.Expr, ...]
    match expr:
        case ir.Var(name):
            return (name,)
        case ir.Index(ir.Ref(obj=obj), key) if makes_of_key(obj):
            parts = tuple(ir.Var(name) for name in sorted(ir.names_in(key)))
        case ir.Index(base, _):
            return () if gives_module(expr) else operands(base, kinds, book)
        case ir.Attribute(base, _):
            return () if is_constant(expr, kinds, book) else operands(base, kinds, book)
        case ir.Call() | ir.Slice() if is_slice(expr):  # (what is given one may read its bounds)
            parts = ir.children(expr)
        case ir.Call(fn, args, kwargs):
            if is_constant(expr, kinds, book):
                return ()
            chosen = _by_rule(expr, kinds, book)
            parts = (*args, *(value for _, value in kwargs))
            if chosen is not None:
                parts = chosen
            elif not isinstance(fn, ir.Ref):
                parts = (fn.base if isinstance(fn, ir.Attribute) else fn, *parts)
        case ir.Lazy("if", items):
            parts = items[1:]
        case ir.Display(items=items):
            parts = items
        case ir.Text() | ir.Opaque(inert=True):
            return ()
        case ir.Lazy() | ir.Opaque():
            parts = ir.children(expr)
        case _:
            return ()
    return tuple(dict.fromkeys(name for e in parts for name in operands(e, kinds, book)))


def _by_rule(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> tuple[ir.Expr, ...] | None:
    """The arguments that the rule of a call differentiates by, where it leaves some out. What
    only looks like a method of arrays (`model.sum(x)`) may use all of them."""
    if isinstance(call.fn, ir.Attribute) and not is_array_method(call.fn, kinds):
        return None
    obj = None if book is None else rule_object(call, kinds)
    return None if obj is None else differentiable_arguments(call, book.find(obj))


def is_array_method(fn: ir.Attribute, kinds: Mapping[str, Kind]) -> bool:
    """Whether what has a method is surely an array or a number."""
    if isinstance(fn.base, ir.Ref):
        return isinstance(fn.base.obj, (np.ndarray, np.generic, np.ufunc))
    return _form(fn.base, kinds) in ("array", "value", "number")


def is_field(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> bool:
    """Whether an expression reads a field of an object, and not an attribute that arrays have.

    >>> is_field(ir.Attribute(ir.Var("layer"), "w"), {}, None)
    True
    """
    if not isinstance(expr, ir.Attribute) or isinstance(expr.base, ir.Ref):
        return False
    obj = rule_object(expr, kinds)
    known = book is not None and obj is not None and book.find(obj) is not None
    return not known and not is_constant(expr, kinds, book)


def makes_of_key(obj: Any) -> bool:
    """Whether indexing an object makes something new of the key, as `np.mgrid` does.

    >>> makes_of_key(np.mgrid), makes_of_key([1.0]), makes_of_key(np.float64)
    (True, False, False)
    """
    held = (np.ndarray, list, tuple, dict, str, range, type)
    return not isinstance(obj, held) and module_of(type(obj)).startswith("numpy.lib")


def is_python_function(obj: Any) -> bool:
    """Whether an object is a user's function, with Python source that a transform can enter."""
    is_function = isinstance(obj, types.FunctionType)
    return is_function and obj is not runtime.instance and not is_library(obj)


def is_entered(obj: Any) -> bool:
    """Whether a transform enters a function: one of the user's, and not `tl.grad` or its like, for
    the call of which a derivative stands."""
    return is_python_function(obj) and not mark_of(obj, "derives")


def is_slice(expr: ir.Expr) -> bool:
    """Whether an expression makes a slice object."""
    match expr:
        case ir.Slice() | ir.Call(fn=ir.Ref(obj=builtins.slice)):
            return True
    return False


def bind_actuals(obj: Any, call: ir.Call) -> dict[str, tuple[ir.Expr, ...]] | None:
    """The actual arguments of a call by formal name; None where they cannot be matched.

    Starred formals collect several actuals, hence the tuples.

    >>> def scale(x, *, by=2.0): return x * by
    >>> bind_actuals(scale, ir.Call(ir.Ref("scale", scale), (ir.Var("a"),)))
    {'x': (Var(name='a'),)}
    """
    try:
        signature = plain_signature(obj)
        bound = signature.bind(*call.args, **dict(call.kwargs))
    except (TypeError, ValueError):
        return None
    actuals: dict[str, tuple[ir.Expr, ...]] = {}
    for name, value in bound.arguments.items():
        match signature.parameters[name].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                actuals[name] = tuple(value)
            case inspect.Parameter.VAR_KEYWORD:
                actuals[name] = tuple(value.values())
            case _:
                actuals[name] = (value,)
    return actuals


# --------------------------------------------------------------------------------------------------
# Arguments that an operation takes without any derivative by them.

_known: dict[int, tuple[Rule, frozenset[str]]] = {}


def inert_parameters(rule: Rule) -> frozenset[str]:
    """The parameters for which a rule states nothing but zero: those that give only a shape.

    >>> from ..rules.book import default_book
    >>> from .. import runtime
    >>> sorted(inert_parameters(default_book().find(runtime.broadcast_like)))
    ['x']
    """
    found = _known.get(id(rule))
    if found is None:
        found = _known[id(rule)] = (rule, _inert(rule))
    return found[1]


def _inert(rule: Rule) -> frozenset[str]:
    if rule.builder:
        return frozenset()
    stated: dict[str, bool] = {}
    read: set[str] = set()
    for line in template_of(rule).lines():
        if line.role in ("partial", "adjoint"):
            stated[line.name] = stated.get(line.name, True) and is_zero(line.expr)
        else:
            read |= ir.names_in(line.expr)
    return frozenset(p for p, zero in stated.items() if zero and f"${p}_dot" not in read)


def differentiable_arguments(call: ir.Call, rule: Rule | None) -> tuple[ir.Expr, ...] | None:
    """The arguments that a rule differentiates by; None where all may matter."""
    inert = frozenset[str]() if rule is None else inert_parameters(rule)
    if not inert or rule is None:
        return None
    flat = as_function_call(call)
    try:
        bound = template_of(rule).signature.bind(*flat.args, **dict(flat.kwargs))
    except TypeError:
        return None
    found: list[ir.Expr] = []
    for name, value in bound.arguments.items():
        if name not in inert:
            found.extend(value if isinstance(value, tuple) else (value,))
    return tuple(found)


def in_source(name: str, function: ir.Function) -> str:
    """How a message says a value: by its name, or by the expression that a name of ours stands
    for."""
    made = [
        s for s in ir.statements(function.body) if isinstance(s, ir.Assign) and s.target == name
    ]
    place = getattr(made[0].value, "at", None) if len(made) == 1 else None
    if place is None or re.search(rf"\b{re.escape(name)}\b", made[0].origin.place.text):
        return name
    (line, *_) = place.text.splitlines() or [""]
    text = str(line[place.column : place.column + place.width])
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return name
    return text


# --------------------------------------------------------------------------------------------------
# The arrays that a call of NumPy writes its result into: `out=`, by name or by position.
#
# What such a call returns is the array that was given. Whoever asks what a call writes, what its
# result shares memory with, or of which kind it is, asks here.


# Where methods, and functions whose signature cannot be read, take `out`.
_METHOD = (
    dict.fromkeys(("max", "min", "all", "any", "argmax", "argmin", "dot", "round", "choose"), 1)
    | dict.fromkeys(("sum", "mean", "prod", "std", "var", "cumsum", "cumprod", "take", "clip"), 2)
    | {"compress": 2, "trace": 4, "ptp": 1}
)
_FUNCTION = {np.dot: 2, np.concatenate: 2, np.where: None, np.putmask: None}
_UFUNC_METHOD = {"reduce": 3, "accumulate": 3, "reduceat": 4}
# The same for methods of random generators, and where they take `size`.
_DRAWING = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3}
_SIZE = {"random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_gamma": 1}
_CALLED_ON = ("array", "value", "number", "unknown")  # what may be an array


def out_position(obj: Any) -> int | None:
    """The position at which a NumPy function takes `out`; None where it takes none.

    >>> out_position(np.cumsum), out_position(np.add), out_position(np.reshape), out_position(len)
    (3, 2, None, None)
    """
    known = is_numpy(obj) or isinstance(attribute_of(obj, "__self__", None), np.ufunc)
    owner = attribute_of(obj, "__objclass__", None)
    if owner is np.ndarray:  # `np.ndarray.clip(x, 0, 1, out)`
        at = _METHOD.get(obj.__name__)
        return None if at is None else at + 1
    return _out_position(obj) if known else None


@functools.lru_cache(maxsize=1024)
def _out_position(obj: Any) -> int | None:
    if isinstance(obj, np.ufunc):
        return obj.nin
    if isinstance(attribute_of(obj, "__self__", None), np.ufunc):
        return _UFUNC_METHOD.get(obj.__name__)
    if obj in _FUNCTION:
        return _FUNCTION.get(obj)
    try:
        params = list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return None
    for position, param in enumerate(params):
        if param.name == "out" and param.kind is not inspect.Parameter.KEYWORD_ONLY:
            return position
    return None


def outputs(call: ir.Call, kinds: Mapping[str, Kind]) -> tuple[ir.Expr, ...]:
    """What a call writes its result into, `None` left out; of starred arguments, all that they
    may hold.

    >>> x, out = ir.Var("x"), ir.Var("out")
    >>> outputs(ir.Call(ir.Ref("np.sin", np.sin), (x, out)), {})
    (Var(name='out'),)
    >>> outputs(ir.Call(ir.Ref("np.sin", np.sin), (x,), (("out", out),)), {})
    (Var(name='out'),)
    """
    if not call.args and not call.kwargs:
        return ()
    if isinstance(call.fn, ir.Ref):
        at, is_read = _of_function(call.fn)
        if is_read:
            return ()
        if call.fn.obj is np.nan_to_num:
            call = with_output_named(call)
    else:
        at = position_of_output(call.fn, kinds)
    given = [value for name, value in call.kwargs if name == "out"]
    if at is not None and (len(call.args) > at or any(map(ir.is_starred, call.args))):
        given += call.args[at:]
        given += [arg for arg in call.args[:at] if ir.is_starred(arg)]
    if not given:
        return ()
    found: list[ir.Expr] = []
    for expr in given:
        found += expr.items if isinstance(expr, ir.Display) else (expr,)
    return tuple(expr for expr in found if not isinstance(expr, ir.Const))


@ir.of_node
def _of_function(fn: ir.Ref) -> tuple[int | None, bool]:
    """Where a function takes `out`, and whether that is a word of the user's own."""
    return out_position(fn.obj), names_its_own(fn.obj)


def names_its_own(obj: Any) -> bool:
    """Whether `out=` is no array that a call of an object writes its result into: for the user's
    functions it is a parameter like any other, for a class a field."""
    return is_python_function(obj) or isinstance(obj, type) or obj is runtime.instance


def with_output_named(call: ir.Call) -> ir.Call:
    """`np.nan_to_num(x, copy=False, nan=v)` as `np.nan_to_num(x, nan=v, out=x)`, which it is where
    x is an array; any other call as it is.

    >>> x = ir.Var("x")
    >>> with_output_named(ir.Call(ir.Ref("f", np.nan_to_num), (x, ir.Const(False)))).kwargs
    (('out', Var(name='x')),)
    """
    if not isinstance(call.fn, ir.Ref) or call.fn.obj is not np.nan_to_num or not call.args:
        return call
    x, *given = call.args
    options = dict(zip(("copy", "nan", "posinf", "neginf"), given, strict=False))
    options |= dict(call.kwargs)
    if options.pop("copy", ir.Const(True)) != ir.Const(False):
        return call
    return replace(call, args=(x,), kwargs=(*options.items(), ("out", x)))


def position_of_output(fn: ir.Expr, kinds: Mapping[str, Kind]) -> int | None:
    """The position at which what is called takes `out`, as far as its class is known."""
    match fn:
        case ir.Ref(obj=obj):
            return out_position(obj)
        case ir.Attribute(ir.Ref(obj=np.ufunc() as ufunc), name):
            return out_position(getattr(ufunc, name, None))
        case ir.Attribute(_, name) if draws(fn, kinds):
            return _DRAWING[name]
        case ir.Attribute(ir.Var(base), name):
            return _METHOD.get(name) if kinds.get(base, UNKNOWN).form in _CALLED_ON else None
    return None


def draws(fn: ir.Expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether a method that takes `out` is that of a random generator (by its name, where the
    class is not known: arrays have no such methods)."""
    match fn:
        case ir.Attribute(ir.Ref(obj=owner), name):
            return name in _DRAWING and isinstance(owner, GENERATORS)
        case ir.Attribute(ir.Var(base), name):
            kind = kinds.get(base, UNKNOWN)
            return name in _DRAWING and (kind.cls in GENERATORS or kind.form == "unknown")
    return False


def with_size(call: ir.Call, out: ir.Expr) -> ir.Call:
    """A call of a method that draws as many numbers as its output takes: `rng.random(out=y)` ->
    `rng.random(size=y.shape, out=y)`.

    >>> rng, y = ir.Ref("rng", np.random.default_rng()), ir.Var("y")
    >>> with_size(ir.Call(ir.Attribute(rng, "random"), (), (("out", y),)), y).kwargs[0]
    ('size', Attribute(base=Var(name='y'), name='shape'))
    """
    assert isinstance(call.fn, ir.Attribute)
    size, at = ir.Attribute(out, "shape"), _SIZE[call.fn.name]
    if len(call.args) > at:
        return replace(call, args=(*call.args[:at], size, *call.args[at + 1 :]))
    others = tuple((name, value) for name, value in call.kwargs if name != "size")
    return replace(call, kwargs=(("size", size), *others))


def output_kind(call: ir.Call, kinds: Mapping[str, Kind]) -> Kind | None:
    """What is known of the result of a call that writes it into its arguments; None for others.

    >>> call = ir.Call(ir.Ref("np.sum", np.sum), (ir.Var("x"),), (("out", ir.Var("y")),))
    >>> output_kind(call, {"y": Kind("array", "float", ())}).form  # (and no number)
    'array'
    """
    written = outputs(call, kinds)
    if not written:
        return None
    if any(map(ir.is_starred, written)):
        return UNKNOWN
    found = [kinds.get(e.name, UNKNOWN) if isinstance(e, ir.Var) else UNKNOWN for e in written]
    if len(found) == 1 and found[0].form == "tuple":
        found = list(found[0].items or (UNKNOWN,))
    if len(found) > 1:
        return Kind("tuple", items=tuple(found))
    several = isinstance(call.fn, ir.Ref) and getattr(call.fn.obj, "nout", 1) > 1
    return UNKNOWN if several else _written(found[0])


def _written(kind: Kind) -> Kind:
    """The kind of what can be written, or of a new result where it turns out to be None."""
    return kind if kind.form == "array" else Kind("value", kind.dtype)
