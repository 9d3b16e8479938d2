"""What is desugared before either mode: reads of dicts, starred arguments, arrays unpacked."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import operator
from collections.abc import Collection, Container, Iterator
from typing import Any

import numpy as np

from ... import ir
from ...analysis.constructors import initialiser, record_class, required_arguments
from ...analysis.operations import is_python_function, rule_object
from ...ir.kind import OTHER, UNKNOWN, Kind
from ...rules import programs
from ...rules.book import Rule
from ...rules.template import template_of
from ...runtime import pair_of, tangent_of
from ..context import Context
from ..specialize.function_values import words_named
from ..specialize.stored_types import keys_stay
from .container_calls import calls_containers, container, plain_container_calls
from .iterators import no_dicts_for_their_items
from .mappings import reads_by_key, reads_dicts
from .unknown_objects import late_operators, unbound_call


def desugared(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """The function itself where there is nothing to desugar."""
    function = no_dicts_for_their_items(function, wrt, context)
    if reads_dicts(function) or calls_containers(function):
        varied = context.varied(function, wrt)
        function = reads_by_key(function, varied, context)
        function = plain_container_calls(function, varied, context)
    function = late_operators(function, wrt, context)
    function = starred_calls(with_plain_arguments(function, context), wrt, context)
    function = named_before_unpacked(function, context)
    return operands_as_arrays(function, wrt, context)


def named_before_unpacked(function: ir.Function, context: Context) -> ir.Function:
    """Name the array that an operation makes before its entries or rows are unpacked.

    Before: `a, b = np.exp(x)`. After: `parts = np.exp(x); a, b = parts`. The rule of an
    operation is about its result as a whole, and the result of this one is not a tuple. A
    namedtuple that is unpacked where it is made is named in the same way, and so is what a
    function of the user's, or one that only the running program knows, gives, unless it surely
    is a tuple: `a, b = split(x)`.
    """
    pairs = _derivatives_asked_for(function)

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(target=tuple(), value=ir.Call() | ir.Attribute() as value):
                form = context.kind_of(value).form
                if context.rule_for(value) is not None:
                    made_whole = form in ("array", "value")
                else:
                    made_whole = form != "tuple" and _is_of_user(value, pairs, context)
                if made_whole or record_class(value) is not None:
                    parts = context.fresh("parts", context.kind_of(value), temporary=True)
                    again = dataclasses.replace(stmt, value=ir.Var(parts))
                    return (ir.Assign(parts, value, stmt.origin), again)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _is_of_user(value: ir.Expr, pairs: Container[str], context: Context) -> bool:
    fn = value.fn if isinstance(value, ir.Call) else None
    if isinstance(fn, ir.Var):
        return fn.name not in pairs
    return isinstance(fn, ir.Ref) and bool(context.is_callee(fn.obj))


def _derivatives_asked_for(function: ir.Function) -> frozenset[str]:
    """Names of derivatives that the program asks for when it runs: what they give is a tuple."""
    return frozenset(
        name
        for stmt in ir.statements(function.body)
        if isinstance(stmt, ir.Assign)
        and isinstance(stmt.value, ir.Call)
        and getattr(stmt.value.fn, "obj", None) in (pair_of, tangent_of)
        for name in ir.binds(stmt)
    )


# --------------------------------------------------------------------------------------------------
# Arguments as a callee gets them: starred ones one by one, and callees that fit the call.


def with_plain_arguments(function: ir.Function, context: Context) -> ir.Function:
    """`g(x, *pair)` -> `pair_0 = pair[0]; pair_1 = pair[1]; g(x, pair_0, pair_1)`, and calls of
    functions with starred or function-valued parameters -> calls of their variants."""
    if not any(map(_wanted, ir.statements(function.body))):
        return function

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                before, new = _desugared(call, stmt.origin, context)
                yield from before
                yield stmt if new is call else dataclasses.replace(stmt, value=new)
            case _:
                yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def stars_written_out(function: ir.Function, context: Context) -> ir.Function:
    """A function in which calls of the user's functions are given the items of tuples and dicts, as
    far as it is known before it runs which these are."""

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        call = getattr(stmt, "value", None)
        if (
            isinstance(stmt, ir.Assign | ir.Do)
            and isinstance(call, ir.Call)
            and is_python_function(getattr(call.fn, "obj", None))
        ):
            before, new = _written_out(call, stmt.origin, context)
            yield from before
            yield stmt if new is call else dataclasses.replace(stmt, value=new)
        else:
            yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def has_stars(function: ir.Function) -> bool:
    """Whether calls in a function are given the items of containers."""
    return any(_starred(stmt) for stmt in ir.statements(function.body))


def _wanted(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
            is_user = isinstance(call.fn, ir.Ref) and is_python_function(call.fn.obj)
            return is_user or any(map(ir.is_starred, call.args))
    return False


def _written_out(
    call: ir.Call, origin: ir.Origin, context: Context
) -> tuple[list[ir.Stmt], ir.Call]:
    before: list[ir.Stmt] = []
    if any(map(ir.is_starred, call.args)) and not _runs_initialiser(call):
        args = tuple(a for arg in call.args for a in _items(arg, before, origin, context))
        call = dataclasses.replace(call, args=args) if before or args != call.args else call
        if keys_stay(context.book):
            named, call = words_named(call, context.kind_of, context.temporary, origin)
            before += named
        call = _with_all_required(call, before, origin, context)
    return before, call


def _desugared(call: ir.Call, origin: ir.Origin, context: Context) -> tuple[list[ir.Stmt], ir.Call]:
    before, call = _written_out(call, origin, context)
    if any(map(ir.is_starred, call.args)) and rule_object(call, context.kinds) in _OF_SIZES:
        call = _in_one_tuple(call)
    obj, book = rule_object(call, context.kinds), context.book
    if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
        return before, call
    if book.find(obj) is not None or book.is_nondifferentiable(obj):
        return before, call
    return before, context.callees.variants.of_call(call)


def _runs_initialiser(call: ir.Call) -> bool:
    """Whether a class is called whose `__init__` does more than to set fields (it is read where
    the items are known before; otherwise when it runs: `starred_calls`)."""
    return record_class(call) is None and initialiser(getattr(call.fn, "obj", None)) is not None


def _with_all_required(
    call: ir.Call, before: list[ir.Stmt], origin: ir.Origin, context: Context
) -> ir.Call:
    """`Point(*t)` -> `x, y = t; Point(x, y)`: a class all of whose fields must be given says how
    many items there are, and so does a function without defaults."""
    fields = required_arguments(call)
    starred = [arg for arg in call.args if isinstance(arg, ir.Opaque) and ir.is_starred(arg)]
    if fields is None or len(starred) != 1 or (of := container(starred[0])) is None:
        return call
    words = sum(word in fields for word, _ in call.kwargs)
    place, count = call.args.index(starred[0]), len(fields) - len(call.args) - words + 1
    if count < 1 or starred[0].text.startswith("**"):
        return call
    names = tuple(map(context.names.fresh, fields[place : place + count]))
    context.temporaries.update(names)
    before.append(ir.Assign(names, of, origin))
    items = map(ir.Var, names)
    return dataclasses.replace(call, args=(*call.args[:place], *items, *call.args[place + 1 :]))


# Methods of arrays that take integers one by one or as a tuple.
_OF_SIZES = (np.ndarray.reshape, np.ndarray.transpose)


def _in_one_tuple(call: ir.Call) -> ir.Call:
    """`x.reshape(*sizes, -1)` -> `x.reshape((*sizes, -1))`: how many there are, only the running
    program needs to know."""
    parts: list[tuple[str, ir.Expr]] = []
    for place, arg in enumerate(call.args):
        match arg:
            case ir.Opaque(text, (name,), (value,)) if text == f"*{name}":
                parts.append((f"*size{place}", value))
            case ir.Opaque() if ir.is_starred(arg):
                return call
            case _:
                parts.append((f"size{place}", arg))
    texts, values = zip(*parts, strict=True)
    names = tuple(text.lstrip("*") for text in texts)
    sizes = ir.Opaque(f"({', '.join(texts)},)", names, values, at=call.at, inert=True)
    return dataclasses.replace(call, args=(sizes,))


def _items(
    arg: ir.Expr, before: list[ir.Stmt], origin: ir.Origin, context: Context
) -> list[ir.Expr]:
    """What a starred argument stands for, where the number of its items is known."""
    if not ir.is_starred(arg) or not isinstance(arg, ir.Opaque) or len(arg.values) != 1:
        return [arg]
    (value,) = arg.values
    kind = context.kind_of(value)
    plain = arg.text == f"*{arg.names[0]}" and isinstance(value, ir.Var)
    if not plain or kind.form != "tuple" or kind.items is None:
        return [arg]
    found: list[ir.Expr] = []
    for position in range(len(kind.items)):
        name = context.temporary(f"{arg.names[0]}_{position}")
        item = ir.Index(value, ir.Const(position), origin.place)
        before.append(ir.Assign(name, item, origin))
        found.append(ir.Var(name))
    return found


# --------------------------------------------------------------------------------------------------
# Calls with starred arguments whose number only the running program knows.
#
# before::                             after::
#     y = residual(x, *rest)               residual_of = with_items(residual, (None, rest))
#                                          y = residual_of(x, rest)
#
# `with_items` gives a function of the containers themselves, which takes their items and is
# differentiated when the program comes there, as any function that is not known before.


def starred_calls(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function in which calls that may carry derivatives have no starred arguments."""
    if not has_stars(function):
        return function
    varied = context.varied(function, wrt)

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        call = _starred(stmt)
        if call is None or not ir.names_in(call) & varied:
            yield stmt
            return
        assert isinstance(stmt, ir.Assign)
        if isinstance(call.fn, ir.Var) and call.fn.name in varied:
            before, call = _of_object(call, call.fn, stmt, context)
            yield from before
        held, called = _of_containers(call, context)
        yield ir.Assign(held[0], held[1], stmt.origin)
        yield dataclasses.replace(stmt, value=called)

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _of_object(
    call: ir.Call, fn: ir.Var, stmt: ir.Assign, context: Context
) -> tuple[ir.Block, ir.Call]:
    """The call of a callable object as one of its method, which is given the object: what it
    carries is an argument then. `model(*xs)` -> `type(model).__call__(model, *xs)`; where only the
    run knows the class, `model_call = unbound(model); model_call(model, *xs)`."""
    kind = context.kind_of(fn)
    of_class = vars(kind.cls).get("__call__") if kind.form == "object" and kind.cls else None
    if not is_python_function(of_class):
        *before, last = unbound_call(stmt, call, context)
        assert isinstance(last, ir.Assign) and isinstance(last.value, ir.Call)
        return tuple(before), last.value
    method = ir.Attribute(ir.Call(ir.TYPE, (fn,)), "__call__")
    return (), dataclasses.replace(call, fn=method, args=(fn, *call.args))


def _starred(stmt: ir.Stmt) -> ir.Call | None:
    """The call with starred arguments that a statement makes, if these are plain containers."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref() | ir.Var(), args=args) as call):
            stars = [arg for arg in args if ir.is_starred(arg)]
            maps = [arg for arg in stars if arg.text.startswith("**")]  # type: ignore[union-attr]
            if stars and len(maps) <= 1 and all(container(arg) is not None for arg in stars):
                return call
    return None


def _of_containers(call: ir.Call, context: Context) -> tuple[tuple[str, ir.Call], ir.Call]:
    """The function that takes the containers, and its call."""
    layout: list[ir.Expr] = []
    given: list[ir.Expr] = []
    words: list[ir.Expr] = []
    for arg in call.args:
        found = container(arg) if ir.is_starred(arg) else None
        given.append(arg if found is None else found)
        if found is not None and isinstance(arg, ir.Opaque) and arg.text.startswith("**"):
            words.append(found)
        else:
            layout.append(ir.Const(None) if found is None else found)
    text = call.fn.text if isinstance(call.fn, ir.Ref) else call.fn.name  # type: ignore[union-attr]
    text = text.strip("_")
    name = context.names.fresh(f"{text.replace('.', '_')}_of")
    named = tuple(ir.Const(word) for word, _ in call.kwargs)
    options = [ir.Display("tuple", tuple(layout)), *(words or [ir.Const(None)] if named else words)]
    options += [ir.Display("tuple", named)] if named else []
    outer = isinstance(call.fn, ir.Ref) and context.callees.gives_outer(call.fn.obj)
    marks = (("outer", ir.Const(True)),) if outer else ()
    made = ir.Call(context.helper("with_items"), (call.fn, *options), marks, at=call.at)
    context.kinds[name] = OTHER
    context.temporaries.add(name)
    return (name, made), ir.Call(ir.Var(name), tuple(given), call.kwargs, call.at)


# --------------------------------------------------------------------------------------------------
# Lists and tuples that NumPy takes for arrays are made arrays, so that rules see arrays only.


_SEQUENCES = ("list", "tuple")
_ALWAYS = (operator.sub, operator.truediv, operator.pow, operator.matmul)  # lists have none
_JOINING = (operator.add, operator.mul)  # of lists: to join, to repeat


def _named(count: int, names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), count)


# Parameters that are several arrays, as NumPy names them (`np.block` nests them as it likes).
_SEVERAL = ("arrays", "tup", "choicelist", "choices")
_EACH = """made = []
for x in xs:
    array = np.asarray(x)
    made.append(array)
result = made"""
_KEEPS_LISTS: tuple[Any, ...] = (np.block, np.trim_zeros, np.array, np.asarray, np.asanyarray)
_KEEPS_LISTS += (np.require, np.ascontiguousarray, np.asfortranarray)  # (what arrays are made by)
# Methods of ufuncs, and the programs of those that no rule states -> how many are arrays.
_OF_METHODS = _named(1, "reduce accumulate reduceat") | _named(2, "outer")
_PROGRAMS_OF_METHODS = {
    getattr(programs, f"ufunc_{name}"): count for name, count in _OF_METHODS.items()
}


def operands_as_arrays(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """A function whose operations on arrays get no lists and no tuples.

    before::                            after::
        y = np.dot(x, [1.0, 2.0])           array = np.asarray([1.0, 2.0])
                                            y = np.dot(x, array)
        z = x + [a, b]                      require_sequence(x)
                                            z = x + [a, b]
        x[1:3] = [a, b]                     require_sequence(x)
                                            x[1:3] = [a, b]

    `+` and `*` join and repeat lists, unless the other operand is an array, and what is put into
    an array is broadcast: where that is unknown and a derivative depends on it, the text asks.
    """

    latest: list[ir.Stmt | None] = [None]

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        arrays: list[ir.Stmt] = []
        last, latest[0] = latest[0], stmt
        if isinstance(stmt, ir.Store | ir.Update):
            if _fills_array(stmt, context):
                value = _array(stmt.value, stmt.origin, arrays, context)
                yield from arrays
                yield dataclasses.replace(stmt, value=value) if arrays else stmt
                return
            asked = _written_with_list(stmt, context)
            if asked is not None and (ir.names_in(stmt.value) | {asked.name}) & varied():
                yield context.check("require_sequence", (asked,), stmt.origin)
            yield stmt
        elif isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call):
            other = _asked(stmt.value, context)
            if other is not None and ir.names_in(stmt.value) & varied():
                yield from _of_lists_or_arrays(stmt, stmt.value, other, context)
                return
            operands = _operands(stmt.value, context)
            call = _of_arrays(stmt, stmt.value, operands, last, arrays, context)
            if not arrays:
                yield stmt
                return
            yield from arrays
            if isinstance(stmt.target, str):
                context.kinds[stmt.target] = context.kind_of(call)
            yield dataclasses.replace(stmt, value=call)
        else:
            yield stmt

    @functools.cache
    def varied() -> frozenset[str]:
        return context.varied(function, wrt)

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _fills_array(stmt: ir.Store | ir.Update, context: Context) -> bool:
    """Whether a statement writes entries of what is surely an array, which may be an item or a
    field of something."""
    if isinstance(stmt, ir.Update) and context.kind_of(stmt.target).form == "array":
        return True
    target = stmt.target.base if isinstance(stmt.target, ir.Index) else stmt.target
    return isinstance(target, ir.Var) and context.kind_of(target).form == "array"


def _written_with_list(stmt: ir.Store | ir.Update, context: Context) -> ir.Var | None:
    """What may be an array, and is written or updated with a list."""
    target = stmt.target.base if isinstance(stmt.target, ir.Index) else stmt.target
    if not isinstance(target, ir.Var) or context.kind_of(stmt.value).form not in _SEQUENCES:
        return None
    return target if context.kind_of(target).form in ("unknown", "value") else None


def _array(arg: ir.Expr, origin: ir.Origin, before: list[ir.Stmt], context: Context) -> ir.Expr:
    kind = context.kind_of(arg)
    outside = isinstance(arg, ir.Ref) and isinstance(arg.obj, (list, tuple))
    if not outside and (kind.form not in _SEQUENCES or kind.spells is not None):
        return arg
    call = ir.Call(context.numpy("asarray"), (arg,), at=origin.place)
    made = context.kind_of(call)
    made = made if made.form == "array" else Kind("array")
    name = context.fresh("array", made, temporary=True)
    before.append(ir.Assign(name, call, origin))
    return ir.Var(name)


def _of_arrays(
    stmt: ir.Assign,
    call: ir.Call,
    operands: Collection[int | str],
    last: ir.Stmt | None,
    before: list[ir.Stmt],
    context: Context,
) -> ir.Call:
    """A call whose operands are arrays, made `before`; `last` is the statement that it follows."""
    several = _lists_of_operands(call, context)

    def as_array(place: int | str, arg: ir.Expr) -> ir.Expr:
        if place in operands:
            return _array(arg, stmt.origin, before, context)
        return _array_each(arg, stmt, last, before, context) if place in several else arg

    args = tuple(as_array(place, arg) for place, arg in enumerate(call.args))
    kwargs = tuple((name, as_array(name, arg)) for name, arg in call.kwargs)
    return dataclasses.replace(call, args=args, kwargs=kwargs)


def _array_each(
    arg: ir.Expr, stmt: ir.Assign, last: ir.Stmt | None, before: list[ir.Stmt], context: Context
) -> ir.Expr:
    """A list of arrays for one in which there are lists; `last` is the statement before."""
    kind = context.kind_of(arg)
    if kind.form not in _SEQUENCES or kind.spells is not None:
        return arg
    made: list[ir.Stmt]
    match last:
        case ir.Assign(target, ir.Display() as listed) if arg == ir.Var(str(target)):
            items = tuple(_array(item, stmt.origin, before, context) for item in listed.items)
            if items == listed.items:
                return arg
            made = [ir.Assign("", dataclasses.replace(listed, items=items), stmt.origin)]
        case _:
            kinds = [item for item in (kind.item, *(kind.items or ())) if item is not None]
            if not any(item.form in _SEQUENCES for item in kinds):
                return arg
            made = context.instead(dataclasses.replace(stmt, target=""), _EACH, xs=arg)
    name = context.fresh("arrays", Kind("list", item=Kind("array")), temporary=True)
    listing = made.pop()
    assert isinstance(listing, ir.Assign)
    before += [*made, dataclasses.replace(listing, target=name)]
    return ir.Var(name)


def _lists_of_operands(call: ir.Call, context: Context) -> Collection[int | str]:
    """Which arguments of a call, by place or by name, are several arrays, as a list of them."""
    params = _array_parameters(context.rule_for(call), getattr(call.fn, "obj", None))
    found: list[tuple[int | str, ...]]
    found = [(name, params[name][0]) for name in _SEVERAL if name in params]
    return {*itertools.chain(*found)}


def _operands(call: ir.Call, context: Context) -> Collection[int | str]:
    """Which arguments of a call, by place or by name, are arrays whatever they are given as."""
    if any(map(ir.is_starred, call.args)):
        return ()
    match call.fn:
        case ir.Attribute(ir.Ref(obj=np.ufunc()), method):
            return range(_OF_METHODS.get(method, 0))
        case ir.Ref(obj=obj):
            return _operands_of(obj, call, context)
    return ()


def _operands_of(obj: Any, call: ir.Call, context: Context) -> Collection[int | str]:
    if isinstance(obj, np.ufunc):
        return range(obj.nin)
    if any(obj is known for known in _PROGRAMS_OF_METHODS):  # (the ufunc stands first)
        return range(1, 1 + _PROGRAMS_OF_METHODS[obj])
    if obj is np.einsum and call.args and isinstance(call.args[0], ir.Const):
        return range(1, len(call.args))
    if obj is np.meshgrid:
        return range(len(call.args))
    if obj in _ALWAYS:
        return range(2)
    if obj in _JOINING:
        numeric = (_broadcasts(obj, context.kind_of(arg)) for arg in call.args)
        return range(2 if any(numeric) else 0)
    params = _array_parameters(context.book.find(obj), obj)
    params = {name: at for name, at in params.items() if name not in _SEVERAL}
    starred = [place for place, kind in params.values() if kind is inspect.Parameter.VAR_POSITIONAL]
    rest = range(min(starred, default=len(call.args)), len(call.args))
    return {*params, *(place for place, _ in params.values()), *rest}


def _array_parameters(rule: Rule | None, obj: Any) -> dict[str, tuple[int, Any]]:
    """The parameters of an operation that are arrays, or several, whatever they are given as."""
    if rule is None or rule.builder or any(obj is known for known in _KEEPS_LISTS):
        return {}
    return _differentiated(rule) if rule.name.startswith(("numpy.", "scipy.")) else {}


@functools.cache
def _differentiated(rule: Rule) -> dict[str, tuple[int, Any]]:
    """The parameters by which a rule has derivatives: the place and the kind of each."""
    template = template_of(rule)
    by = {
        line.name
        for line in template.lines()
        if line.role in ("partial", "adjoint") and not isinstance(line.expr, ir.Const)
    }
    signature = template.signature.parameters.values()
    return {p.name: (place, p.kind) for place, p in enumerate(signature) if p.name in by}


def _broadcasts(operator_: Any, kind: Kind) -> bool:
    """Whether NumPy takes a list beside an operand for an array: it is not a list itself, and no
    count."""
    counts = operator_ is operator.mul and kind.dtype not in ("float", "complex")
    return kind.form == "array" or (kind.form in ("value", "number") and not counts)


_REPEATED_OR_SCALED = """if isinstance(other, (int, np.integer)): result = items * int(other)
else: array = np.asarray(items); result = array * other"""
_JOINED_OR_ADDED = """if isinstance(other, (list, tuple)): result = a + b
else: array = np.asarray(items); result = array + other"""


def _of_lists_or_arrays(
    stmt: ir.Assign, call: ir.Call, other: ir.Expr, context: Context
) -> list[ir.Stmt]:
    """`[1.0, 2.0] * other`, where it may be a count or an array, or `[1.0, 2.0] + other`."""
    first, second = call.args
    items = second if other is first else first
    given = {"other": other, "items": items}
    if call.fn.obj is operator.mul:  # type: ignore[union-attr]
        made = context.instead(stmt, _REPEATED_OR_SCALED, **given)
    else:
        made = context.instead(stmt, _JOINED_OR_ADDED, **given, a=first, b=second)
    if isinstance(stmt.target, str):
        context.kinds[stmt.target] = UNKNOWN
    return made


def _asked(call: ir.Call, context: Context) -> ir.Expr | None:
    """The operand beside a list that may be an array, as which NumPy would take the list."""
    if not isinstance(call.fn, ir.Ref) or call.fn.obj not in _JOINING or len(call.args) != 2:
        return None
    kinds = [context.kind_of(arg) for arg in call.args]
    for kind, other, arg in zip(kinds, kinds[::-1], call.args[::-1], strict=True):
        open_ = other.form in ("unknown", "value") or (
            other.form == "number" and not other.discrete
        )
        open_ = open_ and not _broadcasts(call.fn.obj, other)
        if kind.form in _SEQUENCES and open_:
            return arg
    return None
