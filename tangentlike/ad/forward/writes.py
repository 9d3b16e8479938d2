"""Writes in place are mirrored on the tangent's buffer."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

from ... import ir
from ...analysis.hidden_writes import is_of_keys
from ...analysis.memory import base_names
from ...analysis.operations import (
    PUTTING,
    adds_values,
    is_container_method,
    rule_object,
    written_position,
)
from ...errors import InternalError
from ...frontend.owners import is_ours
from ...ir.kind import UNKNOWN
from ...rules.bind import Instance
from ..context import operation
from ..normalize.shadow_calls import shadow_method
from .assign import bound, is_user_call, mirrored_call, on_shadow, user_call
from .state import Tangents

_ACCUMULATING = (operator.iadd, operator.isub)
IMUL = ir.Ref("*=", operator.imul)
_CONTAINERS = ("list", "tuple", "dict")
_SCALING = (operator.imul, operator.itruediv)
_MIRRORED = frozenset(PUTTING)
_TAKING_ITEMS = ("extend", "extendleft")
_STRUCTURAL = frozenset(("pop", "popleft", "popitem", "clear", "reverse"))
_REORDERING = frozenset(("sort", "partition", "resize", "remove", "itemset"))


def store(stmt: ir.Store, state: Tangents) -> list[ir.Stmt]:
    """`A[k] = v` with `A_dot[k] = v_dot`."""
    reshapes = isinstance(stmt.target, ir.Attribute) and stmt.target.name in ir.QUERIES
    reshapes = reshapes and state.kind_of(stmt.target.base).form != "object"
    if reshapes and state.tangent(stmt.target.base) is not None:
        assert isinstance(stmt.target, ir.Attribute)
        raise state.refuse(
            f"`{stmt.target.name}` of what carries derivatives is assigned",
            "Make a new array: `x = x.reshape(shape)`, `x = x.astype(dtype)`.",
        )
    target = state.tangent(stmt.target)
    if target is None:
        return [stmt]
    assert isinstance(target, (ir.Index, ir.Attribute))
    value = state.tangent(stmt.value)
    if value is None:
        base = state.kind_of(stmt.target.base)
        value = ir.Const(0.0) if base.form in ("array", "value") else state.zeros(stmt.value)
    line = ir.Store(target, value, state.tangent_origin())
    if isinstance(stmt.target, ir.Attribute) and state.kind_of(stmt.target.base).cls is None:
        asked = (stmt.target.base, ir.Const(ir.plain_name(stmt.target.name)))
        return [state.context.check("require_stored", asked, stmt.origin), stmt, line]
    return [line, stmt] if _key_changes(stmt.target, state) else [stmt, line]


def _key_changes(target: ir.Index | ir.Attribute, state: Tangents) -> bool:
    """Whether the write itself may change what its key reads."""
    if not isinstance(target, ir.Index):
        return False
    return any(state.is_written(name) for name in ir.names_in(target.key))


def update(stmt: ir.Update, state: Tangents) -> list[ir.Stmt]:
    """`A[k] op= v`, `a op= v`, mirrored on the tangent."""
    dot = state.tangent(stmt.target)
    if dot is None:
        return [stmt]
    assert isinstance(dot, (ir.Var, ir.Index, ir.Attribute))
    value = state.tangent(stmt.value)
    if stmt.op.obj in _ACCUMULATING:
        return _accumulated(stmt, dot, value, state)
    if stmt.op.obj is operator.ior and state.kind_of(stmt.target).form == "dict":
        return [stmt, _mirrored("update", dot, (stmt.value,), (), state)]
    if stmt.op.obj in _SCALING and value is None:
        line = ir.Update(dot, stmt.op, stmt.value, state.tangent_origin())
        return [line, stmt]
    return _replaced(stmt, dot, state)


def _accumulated(
    stmt: ir.Update, dot: ir.Var | ir.Index | ir.Attribute, value: ir.Expr | None, state: Tangents
) -> list[ir.Stmt]:
    """`a += v`: the tangent's `a_dot += v_dot` adds in place or rebinds as the primal does."""
    if value is None:
        in_array = state.kind_of(stmt.target).form == "array" or (
            not isinstance(stmt.target, ir.Var)
            and state.kind_of(stmt.target.base).form in ("array", "value")
        )
        if in_array or state.kind_of(stmt.value).form == "number":
            return [stmt]
        # A number may become an array here, and a list grow.
        grows = state.kind_of(stmt.target).form == "list"
        value = _zero_items(stmt.value, state) if grows else state.zeros(stmt.value)
    line = ir.Update(dot, stmt.op, value, state.tangent_origin())
    if isinstance(stmt.target, ir.Index) and _key_changes(stmt.target, state):
        return [line, stmt]
    return [stmt, line]


def _zero_items(items: ir.Expr, state: Tangents) -> ir.Expr:
    """The tangents of what is added to a list item by item: a range, a string, a set may be."""
    kind = state.kind_of(items)
    if kind.form not in ("list", "tuple", "array") or kind.dtype == "int":
        items = ir.Call(ir.LIST, (items,))
    return state.zeros(items)


def _replaced(
    stmt: ir.Update, dot: ir.Var | ir.Index | ir.Attribute, state: Tangents
) -> list[ir.Stmt]:
    """Any other operation: the new tangent from the old values, before the primal's line."""
    call = operation(stmt)
    either = _either_form(stmt, state)
    if state.context.is_constant(call):  # (`a //= b`)
        zeros = state.zeros(stmt.target)
        line = _as_it_turns_out(dot, zeros, state) if either else [_put(stmt, dot, zeros, state)]
        return [*line, stmt, *_grown(stmt, dot, state)]
    instance = bound(call, state)
    if either and instance.partials:
        wanted = _factor_and_term(stmt, instance, state)
    else:
        wanted = (instance.tangent_with(_dots(instance, state)),)
    lines, put = _prepared(call, instance, wanted, state)
    values = [None if e is None else ir.substitute(e, put) for e in wanted]
    if either and instance.partials:
        lines += _scaled_and_moved(dot, values, state)
    elif either:
        lines += _as_it_turns_out(dot, values[0] or state.zeros(stmt.target), state)
    else:
        lines.append(_put(stmt, dot, values[0] or state.zeros(stmt.target), state))
    return [*lines, stmt, *_grown(stmt, dot, state)]


def _either_form(stmt: ir.Update, state: Tangents) -> bool:
    """Whether `a op= v` may write into shared memory or rebind a number, and we cannot tell."""
    name, form = _written_name(stmt), state.kind_of(stmt.target).form
    if isinstance(stmt.target, ir.Index):
        base = state.kind_of(stmt.target.base).form
        if base in ("array", "value") or (base not in _CONTAINERS and state.flow.is_alone(name)):
            return False  # (what may be a list may hold an array that has another name)
    held = not isinstance(stmt.target, ir.Var)
    alone = not held and state.flow.is_alone(name) and name not in state.parameters
    return form not in ("number", "array") and not alone


def _written_name(stmt: ir.Update) -> str:
    (name,) = base_names(stmt.target) or ("",)
    return name


def _dots(instance: Instance, state: Tangents) -> dict[str, ir.Expr | None]:
    return {param: state.tangent(actual) for param, actual in instance.arguments.items()}


def _factor_and_term(
    stmt: ir.Update, instance: Instance, state: Tangents
) -> tuple[ir.Expr | None, ...]:
    """What `a_dot` is multiplied by, and what is then added to it."""
    first, second = instance.arguments
    factor = instance.partials.get(first)
    return factor, instance.tangent_with({second: state.tangent(stmt.value)})


def _scaled_and_moved(
    dot: ir.Var | ir.Index | ir.Attribute, values: list[ir.Expr | None], state: Tangents
) -> list[ir.Stmt]:
    """`term = ...; a_dot *= factor; a_dot += term`: right for numbers and for arrays."""
    factor, term = values
    lines: list[ir.Stmt] = []
    if term is not None:
        name = state.fresh("term", UNKNOWN)
        lines.append(state.assign(name, term))
    origin = state.tangent_origin()
    lines.append(ir.Update(dot, IMUL, ir.Const(0.0) if factor is None else factor, origin))
    if term is not None:
        lines.append(ir.Update(dot, ir.IADD, ir.Var(name), origin))
    return lines


def _as_it_turns_out(
    dot: ir.Var | ir.Index | ir.Attribute, tangent: ir.Expr, state: Tangents
) -> list[ir.Stmt]:
    """`new_dot = ...; update_in_place(a_dot, new_dot); a_dot = updated(a_dot, new_dot)`: the
    tangent of an array is written in place, that of a number rebound."""
    new, origin = ir.Var(state.fresh("new_dot", UNKNOWN)), state.tangent_origin()
    found = state.call("updated", dot, new)
    rebound: ir.Stmt
    if isinstance(dot, ir.Var):
        rebound = state.assign(dot.name, found)
    else:
        rebound = ir.Store(dot, found, origin)
    return [
        state.assign(new.name, tangent),
        ir.Do(state.call("update_in_place", dot, new), origin),
        rebound,
    ]


def _prepared(
    call: ir.Call, instance: Instance, wanted: tuple[ir.Expr | None, ...], state: Tangents
) -> tuple[list[ir.Stmt], dict[str, ir.Expr]]:
    """Statements for the temporaries that a rule's lines read, and for its result."""
    temporaries = instance.temporaries_for(*wanted)
    exprs = [e for e in wanted if e is not None] + [e for _, e in temporaries]
    lines: list[ir.Stmt] = []
    put: dict[str, ir.Expr] = {}
    if any("$y" in ir.names_in(e) for e in exprs):
        new = state.fresh("new", instance.result_kind)
        put["$y"] = ir.Var(new)
        lines.append(state.assign(new, call))
    for placeholder, expr in temporaries:
        name = state.fresh(placeholder.lstrip("$"), state.kind_of(expr))
        lines.append(state.assign(name, ir.substitute(expr, put), instance.rule.name))
        put[placeholder] = ir.Var(name)
    return lines, put


def _is_item(stmt: ir.Update, state: Tangents) -> bool:
    """Whether `xs[i] op= v` writes into an array that a container holds."""
    if isinstance(stmt.target, ir.Var) or state.kind_of(stmt.target).form != "array":
        return False
    if isinstance(stmt.target, ir.Attribute):
        return True
    return state.kind_of(stmt.target.base).form in _CONTAINERS


def _put(
    stmt: ir.Update, dot: ir.Var | ir.Index | ir.Attribute, tangent: ir.Expr, state: Tangents
) -> ir.Stmt:
    """Write a tangent where `a op= v` writes: into an array, or over a number."""
    if not isinstance(dot, ir.Var) and not _is_item(stmt, state):
        return ir.Store(dot, tangent, state.tangent_origin())
    if state.kind_of(stmt.target).form == "array":
        whole = ir.Index(dot, ir.Const(...))
        return ir.Store(whole, tangent, state.tangent_origin())
    assert isinstance(dot, ir.Var)
    return state.assign(dot.name, tangent)


def _grown(
    stmt: ir.Update, dot: ir.Var | ir.Index | ir.Attribute, state: Tangents
) -> list[ir.Stmt]:
    """A number times an array is an array: its tangent follows."""
    target = stmt.target
    fixed = state.kind_of(target).form == "array" or state.kind_of(stmt.value).form == "number"
    if fixed or not isinstance(dot, ir.Var):
        return []
    return [state.assign(dot.name, state.call("broadcast_like", dot, target))]


# ---------------------------------------------------------------------------- effects


def effect(stmt: ir.Do, state: Tangents) -> list[ir.Stmt]:
    """A statement run for its effect: `xs.append(v)`, `step(a, b)`, `np.add.at(a, i, v)`."""
    call = stmt.value
    if shadow_method(call):
        return on_shadow(stmt, state)
    if not isinstance(call, ir.Call) or not state.operands(call):
        return [stmt]
    if is_container_method(call, state.context.kinds):
        return _container_method(stmt, call, state)
    obj = rule_object(call, state.context.kinds)
    position = written_position(obj)
    if position is not None:
        return _writer(stmt, call, call.args[0], position, state)
    if is_user_call(call, state):
        return user_call(stmt, None, call, state)
    if is_of_keys(call, state.discarded.function, state.context.kinds):
        return [stmt]
    _refuse_hidden_write(call, obj, state)
    return [stmt]


def _container_method(stmt: ir.Do, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    assert isinstance(call.fn, ir.Attribute)
    base, method = state.tangent(call.fn.base), call.fn.name
    if base is None:
        return [stmt]
    if method in _STRUCTURAL:
        mirrored = ir.Call(ir.Attribute(base, method), call.args, call.kwargs, call.at)
        return mirrored_call(stmt, ir.Do(mirrored, state.tangent_origin()), call)
    if method in _MIRRORED:
        line = _mirrored(method, base, call.args, call.kwargs, state)
        return mirrored_call(stmt, line, call)
    if method in _REORDERING:
        raise state.refuse(
            f"`{method}` of a list that carries derivatives",
            "Which element goes where is not tracked. Use np.sort, or build a new list.",
            call.at,
        )
    return [stmt]


def _mirrored(
    method: str,
    dot: ir.Expr,
    args: tuple[ir.Expr, ...],
    kwargs: tuple[tuple[str, ir.Expr], ...],
    state: Tangents,
) -> ir.Do:
    """What puts the tangents of values where the method puts the values."""
    keys, values = args[:-1], args[-1:]
    if method in _TAKING_ITEMS:
        dots = tuple(state.tangent(v) or _zero_items(v, state) for v in values)
    else:
        dots = tuple(map(state.tangent_or_zeros, values))
    if method == "update" and any(state.kind_of(v).form != "dict" for v in values):
        dots = (state.call("dict_dot", *values, *dots),)  # (the keys may stand in pairs)
    words = tuple((word, state.tangent_or_zeros(v)) for word, v in kwargs)
    call = ir.Call(ir.Attribute(dot, method), (*keys, *dots), words)
    return ir.Do(call, state.tangent_origin())


def _writer(
    stmt: ir.Do, call: ir.Call, target: ir.Expr, position: int, state: Tangents
) -> list[ir.Stmt]:
    """`np.add.at(a, i, v)` with `np.add.at(a_dot, i, v_dot)`."""
    dot = state.tangent(target)
    if dot is None:
        return [stmt]
    if len(call.args) <= position:
        raise InternalError("forward", "a writer has its operands by keyword")
    value = state.tangent(call.args[position])
    if value is None and adds_values(rule_object(call, state.context.kinds)):
        return [stmt]
    args = list(call.args)
    args[0] = dot
    if value is None and is_ours(rule_object(call, state.context.kinds)):
        value = state.zeros(call.args[position])  # (of what may be a container)
    args[position] = ir.Const(0.0) if value is None else value
    mirrored = dataclasses.replace(call, args=tuple(args))
    return [stmt, ir.Do(mirrored, state.tangent_origin())]


def _refuse_hidden_write(call: ir.Call, obj: Any, state: Tangents) -> None:
    """A call whose result nothing reads, and that is not known to leave its operands alone."""
    book = state.context.book
    written = dict(call.kwargs).get("out")
    reorders = isinstance(call.fn, ir.Attribute) and call.fn.name in _REORDERING
    known = obj is not None and (book.is_nondifferentiable(obj) or book.find(obj) is not None)
    if known and not reorders and (written is None or not state.operands(written)):
        return
    what = call.fn.text if isinstance(call.fn, ir.Ref) else f"`{getattr(call.fn, 'name', '')}`"
    raise state.refuse(
        f"{what} may write its arguments, which carry derivatives",
        "Assign what it computes instead, or apply tl.stop_gradient to its arguments.",
        call.at,
    )
