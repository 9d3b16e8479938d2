"""The tangent of an assignment: by the operation's rule, mirrored, or from the callee's."""

from __future__ import annotations

import dataclasses
import operator

import numpy as np

from ... import ir
from ...analysis.constructors import record_class, record_names, record_values
from ...analysis.hidden_writes import is_late, late_places
from ...analysis.memory import element
from ...analysis.operations import (
    is_constant,
    is_container_method,
    is_python_function,
    joins_lists,
    rule_object,
    written_position,
)
from ...analysis.refusals import unknown_class
from ...errors import UnsupportedError
from ...frontend.owners import is_numerical, is_ours, module_of
from ...ir.kind import OTHER, UNKNOWN
from ...ir.names import Names
from ...rules.bind import Instance
from ...runtime import schedules
from ...runtime.functions import position_name
from ...runtime.records import field_order
from ..fragile import SILENT, SINGULAR, guarded, leaves_nan, taken
from ..normalize.shadow_calls import shadow_method
from ..specialize.late import function_name, late_request
from .state import Tangents


def assignment(stmt: ir.Assign, state: Tangents) -> list[ir.Stmt]:
    """`y = value` with the statements that compute `y_dot`."""
    value = stmt.value
    _refuse_files(stmt, state)
    if shadow_method(value):
        return on_shadow(stmt, state)
    if isinstance(value, ir.Call) and is_user_call(value, state):
        return user_call(stmt, stmt.target, value, state)
    if isinstance(value, ir.Call) and is_late(value, state.active):
        return late_call(stmt, value, state)
    if not any(name in state.active for name in ir.target_names(stmt.target)):
        return _inactive(stmt, value, state)
    if not state.operands(value) and not isinstance(value, ir.Display):
        if isinstance(value, ir.Call) and joins_lists(value, state.context.kinds):
            return _joined(stmt, value, state)
        return [stmt, *state.zeros_of(stmt.target)]
    match value:
        case ir.Call() if is_container_method(value, state.context.kinds):
            return _mirrored_method(stmt, value, state)
        case ir.Call() | ir.Attribute() if is_constant(
            value, state.context.kinds, state.context.book
        ):
            return [stmt, *state.zeros_of(stmt.target)]
        case ir.Call() if isinstance(stmt.target, str) and record_values(value) is not None:
            return [stmt, state.assign(state.dot(stmt.target), _record(stmt.target, value, state))]
        case ir.Call():
            return _by_rule(stmt, value, state)
        case ir.Attribute() if state.context.rule_for(value) is not None:
            obj = rule_object(value, state.context.kinds)
            call = ir.Call(ir.Ref(value.name, obj), (value.base,), at=value.at)
            return _by_rule(stmt, call, state)
        case ir.Opaque() | ir.Lazy():
            raise state.refuse(
                f"`{stmt.origin.place.text.strip()}` is not differentiated, and `{stmt.target}` in "
                "it carries derivatives",
                "Write it with a loop or plain statements, or apply tl.stop_gradient.",
                getattr(value, "at", None),
            )
        case _:
            return _mirrored(stmt, value, state)


def on_shadow(stmt: ir.Assign | ir.Do, state: Tangents) -> list[ir.Stmt]:
    """`y_bar = bars.take(y)` with `y_bar_dot = bars_dot.take(y)`, `bars.add(x, g)` with
    `bars_dot.add(x, g_dot)`: tangents of adjoints are found as the adjoints are."""
    call = stmt.value
    assert isinstance(call, ir.Call)
    dot = state.tangent(call.args[0])
    if dot is None:  # (nothing is ever added there)
        return [stmt] if isinstance(stmt, ir.Do) else [stmt, *state.zeros_of(stmt.target)]
    args, position = [dot, *call.args[1:]], written_position(getattr(call.fn, "obj", None))
    if position is not None and position < len(args) and args[position] != ir.Const(None):
        g = state.tangent(args[position])
        if g is None and shadow_method(call).startswith("add"):
            return [stmt]
        args[position] = ir.Const(0.0) if g is None else g
    mirrored = dataclasses.replace(call, args=tuple(args))
    if isinstance(stmt, ir.Do):
        return [stmt, ir.Do(mirrored, state.tangent_origin())]
    return [stmt, state.assign(state.target(stmt.target), mirrored)]


def _refuse_files(stmt: ir.Assign, state: Tangents) -> None:
    """States that are files have no tangents beside them."""
    match stmt:
        case ir.Assign(str(name), ir.Call(fn=ir.Ref(obj=obj))) if (
            obj is schedules.stack_on_disk and name in state.active
        ):
            raise UnsupportedError(
                "states that a checkpointed loop saves to disk carry no tangents",
                stmt.origin.place,
                "Leave out `to=` for second derivatives, or take them in reverse mode.",
            )


def _inactive(stmt: ir.Assign, value: ir.Expr, state: Tangents) -> list[ir.Stmt]:
    """A value without tangent; but `xs.pop()` must shorten the list of tangents as well."""
    if isinstance(value, ir.Call) and is_container_method(value, state.context.kinds):
        assert isinstance(value.fn, ir.Attribute)
        if value.fn.name in ("pop", "popleft", "popitem", "setdefault"):
            mirrored = _on_tangents(value, state)
            if mirrored is not None:
                return mirrored_call(stmt, ir.Do(mirrored, state.tangent_origin()), value)
    return [stmt]


def mirrored_call(stmt: ir.Stmt, line: ir.Stmt, call: ir.Call) -> list[ir.Stmt]:
    """A container's method and the same of its tangents, before it where its arguments compute
    something, which may read what it changes: `s.pop(len(s) // 2)`, `s.insert(len(s) - 1, v)`."""
    computed = (arg for arg in ir.arguments(call) if not isinstance(arg, ir.Var))
    return [line, stmt] if any(map(ir.names_in, computed)) else [stmt, line]


def is_user_call(call: ir.Call, state: Tangents) -> bool:
    obj = rule_object(call, state.context.kinds)
    if is_container_method(call, state.context.kinds) or obj is None:
        return False
    return state.context.book.find(obj) is None and (
        is_python_function(obj) and not is_constant(call, state.context.kinds, state.context.book)
    )


# --------------------------------------------------------------------------- mirrored


def _joined(stmt: ir.Assign, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    """`rows = [row] * 2` holds one list twice, and so do its tangents."""
    held = ("list", "tuple", "dict")
    args = tuple(state.zeros(a) if state.kind_of(a).form in held else a for a in call.args)
    mirrored = ir.Call(call.fn, args, call.kwargs, call.at)
    return [stmt, state.assign(state.target(stmt.target), mirrored)]


def _mirrored(stmt: ir.Assign, value: ir.Expr, state: Tangents) -> list[ir.Stmt]:
    """Copies, items, attributes and displays: the same of the tangents."""
    tangent = state.tangent_or_zeros(value)
    line = state.assign(state.target(stmt.target), tangent)
    if ir.names_in(tangent) & set(ir.target_names(stmt.target)):
        return [line, stmt]  # the key is about to be rebound
    return [stmt, line]


def _mirrored_method(stmt: ir.Assign, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    """`v = xs.pop()` becomes `v_dot = xs_dot.pop()`."""
    mirrored = _on_tangents(call, state)
    if mirrored is None:
        return [stmt, *state.zeros_of(stmt.target)]
    line = state.assign(state.target(stmt.target), mirrored)
    if ir.names_in(mirrored) & set(ir.target_names(stmt.target)):
        return [line, stmt]
    return mirrored_call(stmt, line, call)


def _on_tangents(call: ir.Call, state: Tangents) -> ir.Call | None:
    """A container's method applied to its tangents; a default value gives its tangent."""
    assert isinstance(call.fn, ir.Attribute)
    base = state.tangent(call.fn.base)
    if base is None:
        return None
    args = call.args
    if call.fn.name in ("get", "setdefault", "pop") and len(args) == 2:
        args = (args[0], state.tangent_or_zeros(args[1]))
    return ir.Call(ir.Attribute(base, call.fn.name), args, call.kwargs, call.at)


def _record(name: str, call: ir.Call, state: Tangents) -> ir.Expr:
    """The tangent of `layer = Layer(w, b)`: a mirror, which has the fields and no code."""
    given, record = record_values(call) or {}, ir.Var(name)
    parts = []
    for field in field_order(record_class(call), record_names(call)):
        value: ir.Expr = given.get(field, ir.Attribute(record, ir.field_name(field)))
        parts.append(state.tangent_or_zeros(value) if field in given else state.zeros(value))
    return state.call("record_like", record, *parts)


# ---------------------------------------------------------------------------- by rule


def _by_rule(stmt: ir.Assign, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    """The tangent of an operation that has a rule."""
    instance = bound(call, state)
    if not isinstance(stmt.target, str):
        return _unpacked(stmt, stmt.target, instance, state)
    name = stmt.target
    tangent, temporaries = tangent_of(instance, state)
    if tangent is None:
        return [stmt, *state.zeros_of(name)]
    result = ir.Var(name)
    tangent = _of_moving(stmt, tangent, state)
    tangent = mirrored(owned(tangent, instance, name, state), instance, name, state)
    read = ir.names_in(tangent).union(*(ir.names_in(e) for _, e in temporaries))
    reads_result = "$y" in read
    old: list[ir.Stmt] = []
    if name in read and reads_result:
        before = state.fresh(f"{name}_old", state.kind_of(result))
        old.append(ir.Assign(before, result, stmt.origin))
        renamed: dict[str, ir.Expr] = {name: ir.Var(before)}
        tangent = ir.substitute(tangent, renamed)
        temporaries = [(n, ir.substitute(e, renamed)) for n, e in temporaries]
    put: dict[str, ir.Expr] = {"$y": result}
    fitted = with_shape_of(result, tangent, instance, state)
    lines: list[ir.Stmt] = [
        state.assign(n, ir.substitute(e, put), instance.rule.name) for n, e in temporaries
    ]
    dot = state.dot(name)
    if name in read and not reads_result:
        lines.append(state.assign(dot, tangent, instance.rule.name))
        after = [] if fitted is tangent else [_fit_later(dot, name, state)]
        return [*lines, stmt, *after]
    lines.append(state.assign(dot, ir.substitute(fitted, put), instance.rule.name))
    return [*old, stmt, *lines]


def _of_moving(stmt: ir.Assign, tangent: ir.Expr, state: Tangents) -> ir.Expr:
    """The tangent where the operand of a singular operation is held by what came before, or the
    operand of `maximum`, of an infinite tangent, is not the larger one."""
    fragility = state.discarded.fragility
    worth = SINGULAR if leaves_nan(stmt.value) else SILENT
    for name, mask in taken(stmt.value).items():
        if name in state.active and fragility.of(name, of_entries=True) >= worth:
            dot = ir.Var(state.dot(name))
            finite = ir.Call(state.context.numpy("where"), (mask, dot, ir.Const(0.0)))
            tangent = ir.substitute(tangent, {dot.name: finite})
    moving = state.held.moving(stmt)
    if moving is None or not isinstance(stmt.value, ir.Call):
        return tangent
    moved = state.tangent(stmt.value.args[0])
    if not isinstance(moved, ir.Var):
        return tangent
    return guarded(tangent, moved.name, moving, state.context, held=True)


def _fit_later(dot: str, name: str, state: Tangents) -> ir.Stmt:
    return state.assign(dot, state.call("broadcast_like", ir.Var(dot), ir.Var(name)))


def _unpacked(
    stmt: ir.Assign, target: ir.Target, instance: Instance, state: Tangents
) -> list[ir.Stmt]:
    """`q, r = np.linalg.qr(a)`: the result gets a name, since its tangent may read it."""
    tangent, temporaries = tangent_of(instance, state)
    if tangent is None:
        return [stmt, *state.zeros_of(target)]
    whole = state.fresh("_".join(ir.target_names(target)), instance.result_kind)
    put: dict[str, ir.Expr] = {"$y": ir.Var(whole)}
    rule = instance.rule.name
    return [
        ir.Assign(whole, stmt.value, stmt.origin),
        *(state.assign(n, ir.substitute(e, put), rule) for n, e in temporaries),
        *_unpacked_tangent(whole, target, ir.substitute(tangent, put), rule, state),
        ir.Assign(target, ir.Var(whole), stmt.origin),
    ]


def _unpacked_tangent(
    whole: str, target: ir.Target, tangent: ir.Expr, rule: str, state: Tangents
) -> list[ir.Stmt]:
    """`q_dot, r_dot = <tangent>`, one by one where the tangent is a display of them."""
    if not isinstance(tangent, ir.Display):
        return [state.assign(state.target(target), tangent, rule)]
    parts = tuple(zip(target, tangent.items, strict=False))
    dots = {state.dot(name) for name in ir.target_names(target) if name in state.active}
    if all(isinstance(part, str) for part in target) and not ir.names_in(tangent) & dots:
        return [
            state.assign(state.dot(str(part)), item, rule)
            for part, item in parts
            if part in state.active
        ]
    name = state.fresh(f"{whole}_dot", UNKNOWN)
    return [
        state.assign(name, tangent, rule),
        state.assign(state.target(target), ir.Var(name), rule),
    ]


def bound(call: ir.Call, state: Tangents) -> Instance:
    """The rule of a call, applied to it; refused where there is none."""
    rule = state.context.rule_for(call)
    if rule is None:
        if isinstance(call.fn, ir.Var | ir.Attribute):
            raise unknown_class(call.fn, call.at or state.origin.place)
        what = call.fn.text if isinstance(call.fn, ir.Ref) else "this call"
        raise state.refuse(
            f"no derivative rule for {what}",
            "Add a rule with @tl.rule, or apply tl.stop_gradient to its argument.",
            call.at,
        )
    return state.discarded.fragility.instance(call) or state.context.bind(rule, call)


def tangent_of(
    instance: Instance, state: Tangents
) -> tuple[ir.Expr | None, list[tuple[str, ir.Expr]]]:
    """The rule's tangent (`$y` still in it) and the shared temporaries it reads, by new names."""
    dots = {param: state.tangent(actual) for param, actual in instance.arguments.items()}
    if any(dots.values()) and joins_lists(instance.call, state.context.kinds):
        for param, actual in instance.arguments.items():  # an item without tangent has a place too
            if dots[param] is None and state.kind_of(actual).form != "number":
                dots[param] = state.zeros(actual)
    tangent = instance.tangent_with(dots, state.context.of_a_call)
    if tangent is None:
        return None, []
    renamed: dict[str, ir.Expr] = {}
    temporaries: list[tuple[str, ir.Expr]] = []
    at = instance.call.at
    for placeholder, expr in instance.temporaries_for(tangent):
        name = state.fresh(placeholder.lstrip("$"), state.kind_of(expr))
        temporaries.append((name, ir.located(ir.substitute(expr, renamed), at)))
        renamed[placeholder] = ir.Var(name)
    return ir.located(ir.substitute(tangent, renamed), at), temporaries


# --------------------------------------------------------------------------------------------------
# A tangent has the shape of its value, and memory of its own where the value has.

_OPERATORS = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg)
    + (operator.pos, operator.mod, operator.floordiv, np.where)
)
POSITIVE = ir.Ref("+", operator.pos)


def with_shape_of(
    result: ir.Expr, tangent: ir.Expr, instance: Instance, state: Tangents
) -> ir.Expr:
    """The tangent, broadcast at run time unless it surely has the shape of the result.

    In `y = x + b` with constant b, `y_dot = x_dot` may be smaller than y.
    """
    if not instance.partials:
        return tangent  # what a rule states as `y_dot` has the shape of the result
    kind = instance.result_kind
    if kind.form == "number" or state.kind_of(tangent).same_shape(kind):
        return tangent
    seen = _operands(tangent)
    if "$y" in seen or any(state.kind_of(ir.Var(n)).spans(kind) for n in sorted(seen)):
        return tangent
    for actual in instance.arguments.values():
        if state.kind_of(actual).form == "number":
            continue
        names = ir.names_in(actual)
        if not names or not all(n in seen or state.dots.get(n) in seen for n in names):
            return state.call("broadcast_like", tangent, result)
    return tangent


def _operands(expr: ir.Expr) -> frozenset[str]:
    """The names that broadcast against each other in an elementwise expression."""
    match expr:
        case ir.Var(name):
            return frozenset((name,))
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if is_elementwise(obj):
            return frozenset().union(*map(_operands, args))
        case _:
            return frozenset()


def is_elementwise(obj: object) -> bool:
    """Whether an operation's result has the broadcast shape of all its arguments."""
    if isinstance(obj, np.ufunc):
        return obj.signature is None
    try:
        if obj in _OPERATORS:
            return True
    except TypeError:  # unhashable
        return False
    return module_of(obj).endswith("tangentlike.runtime.kinks")


def owned(tangent: ir.Expr, instance: Instance, name: str, state: Tangents) -> ir.Expr:
    """`y = x + b` makes a new array; so must `y_dot = x_dot` if either is written later. And where
    b is complex, what is written there may be complex, and `x_dot` is real."""
    kind = state.kind_of(ir.Var(name))
    if instance.rule.view_of(instance.call) != "no":
        return tangent
    sources = [n for n in ir.names_in(instance.call) if ir.Var(state.dots.get(n, "")) == tangent]
    kinds = [state.kind_of(ir.Var(n)) for n in (name, *sources)]  # (numbers are broadcast)
    if all(kind.form == "number" for kind in kinds):
        return tangent  # (of an array of rank 0 a number is computed, too)
    if sources and kind.form == "number":
        return ir.Call(POSITIVE, (tangent,))
    if isinstance(tangent, ir.Var) and any(map(state.is_written, (name, *sources))):
        if all(kind.form == "array" and kind.rank for kind in kinds):
            tangent = ir.Call(ir.Attribute(tangent, "copy"))
        elif kind.form == "number" or is_elementwise(getattr(instance.call.fn, "obj", None)):
            tangent = ir.Call(POSITIVE, (tangent,))  # like the primal: a new array, or a number
        else:  # (a sum of adjoints may be a container)
            tangent = state.call("copy", tangent)
    if state.real or kind.dtype == "float" or not state.is_written(name):
        return tangent
    return state.call("cast_like", tangent, ir.Var("$y"))


def mirrored(tangent: ir.Expr, instance: Instance, name: str, state: Tangents) -> ir.Expr:
    """Where `v = a.ravel()` may be a view that is written, `v_dot` must be one exactly if v is."""
    base = next(iter(instance.arguments.values()))
    dot = state.tangent(base) if isinstance(base, ir.Var) else None
    if (
        instance.rule.view_of(instance.call) != "maybe"
        or dot is None
        or is_ours(getattr(instance.call.fn, "obj", None))
        or instance.result_kind.form == "number"
    ):
        return tangent
    if not any(map(state.is_written, (name, *ir.names_in(base)))):
        return tangent
    is_list = state.kind_of(base).form in ("list", "tuple")
    if is_list and is_numerical(getattr(instance.call.fn, "obj", None)):
        return tangent  # (NumPy makes an array of it)
    return state.call("mirrored_view", tangent, dot, ir.Var("$y"), base)


# --------------------------------------------------------------------------------------------------
# Calls of the user's own functions become calls of their tangent functions.


def user_call(
    stmt: ir.Assign | ir.Do, target: ir.Target | None, call: ir.Call, state: Tangents
) -> list[ir.Stmt]:
    """`y = g(a, b)` becomes `y, y_dot = g_jvp(a, b, a_dot=a_dot)`.

    The plain call stays where no derivative goes in, or none comes out: neither in the
    result nor in an argument that g writes.
    """
    assert isinstance(call.fn, ir.Ref)
    callees = state.context.callees
    zeros = [] if target is None else state.zeros_of(target)
    if not state.operands(call):
        return [stmt, *zeros]
    actuals = callees.bind(call)
    dots = {formal: state.tangent(actual) for formal, actual in actuals.items()}
    active = tuple(formal for formal, dot in dots.items() if dot is not None)
    wanted = target is not None and any(n in state.active for n in ir.target_names(target))
    effects = callees.effects_here(call, state.kind_of)
    written = active if effects is None else [f for f in active if f in effects.written]
    if not active or not (wanted or written):
        return [stmt, *zeros]
    from .functions import tangent_parameters

    kinds = {formal: state.kind_of(actual) for formal, actual in actuals.items()}
    exposed = _is_exposed(call, target, state)
    fn = callees.tangent(call.fn.obj, active, kinds, exposed, call.at)
    names = tangent_parameters(callees.lowered(call.fn.obj).function, active)
    given = tuple((names[formal], dots[formal] or ir.Const(0.0)) for formal in active)
    both = ir.Call(fn, call.args, (*call.kwargs, *given), call.at)
    if isinstance(stmt, ir.Do) or target is None:
        return [dataclasses.replace(stmt, value=both)]
    return [dataclasses.replace(stmt, target=(target, state.target(target)), value=both)]


def _is_exposed(call: ir.Call, target: ir.Target | None, state: Tangents) -> bool:
    """Whether what a call is given or gives back may be written in place, here or further out."""
    names = ir.names_in(call) | frozenset(() if target is None else ir.target_names(target))
    return any(state.is_written(node) for n in names for node in (n, element(n)))


def late_call(stmt: ir.Assign, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    """`y = f(x)` of a function that only the running program knows:
    `f_jvp = tangent_of(f, 1, (0,))` and `y, y_dot = f_jvp(x, x0_dot=x_dot)`."""
    places = late_places(call, state.active)
    name = state.fresh(f"{function_name(call)}_jvp", OTHER)
    made = late_request(call, places, "tangent_of", state.context)
    arguments = dict(enumerate(call.args)) | dict(call.kwargs)
    # As `derive_call` names the parameters, and `tangent_parameters` their tangents.
    words = [word for word, _ in call.kwargs]
    formals = {p: position_name(p, words) if isinstance(p, int) else p for p in arguments}
    names = Names(formals.values())
    dots = tuple(
        (names.fresh(f"{formals[p]}_dot"), state.tangent_or_zeros(arguments[p])) for p in places
    )
    both = ir.Call(ir.Var(name), call.args, (*call.kwargs, *dots), call.at)
    return [
        ir.Assign(name, made, stmt.origin),
        dataclasses.replace(stmt, target=(stmt.target, state.target(stmt.target)), value=both),
    ]
