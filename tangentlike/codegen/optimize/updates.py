"""`A[k] = A[k] * x` and `y = y + e`: written as the in-place operation they are."""

from __future__ import annotations

import operator

from ... import ir
from .analyses import analyses
from .effects import expr_effect, is_trusted
from .facts import Facts
from .sharing import Sharing

_IN_PLACE = {
    "+": ir.Ref("+=", operator.iadd),
    "-": ir.Ref("-=", operator.isub),
    "*": ir.Ref("*=", operator.imul),
    "/": ir.Ref("/=", operator.itruediv),
    "//": ir.Ref("//=", operator.ifloordiv),
    "%": ir.Ref("%=", operator.imod),
    "**": ir.Ref("**=", operator.ipow),
    "@": ir.Ref("@=", operator.imatmul),
}


def restore_updates(function: ir.Function, facts: Facts) -> ir.Function:
    """Give the user's `y += e` back, and write our own stores of that form alike.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from .rewriting import derived
    >>> f = derived(program("A[k] = A[k] * x; return A"))
    >>> print(show(restore_updates(f, Facts(kinds={"A": Kind("array")})).body))
    A[k] *= x
    return A
    """
    sharing = analyses(function, facts).sharing
    guarding = _guarding(function)

    def one(stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Store(target=ir.Index() as place, value=ir.Call(fn=ir.Ref(text=text)) as call):
                if not _is_array(place.base, facts):
                    return stmt
                if _was_written(stmt, call, text):
                    return ir.Update(place, _IN_PLACE[text], call.args[1], stmt.origin)
                if text in _IN_PLACE and _is_ours(stmt):
                    rest = _without(call, place)
                    if rest is not None and _is_repeatable(place, rest, facts):
                        return ir.Update(place, _IN_PLACE[text], rest, stmt.origin)
            case ir.Assign() if any(stmt is g for g in guarding):
                return stmt  # `x = x + e` of a parameter: the caller's array is left alone
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(text=text)) as call):
                first = text in _IN_PLACE and call.args[0] == ir.Var(name)
                rest = _without(call, ir.Var(name)) if first else None
                was_update = rest is not None and _was_update(stmt, name, text)
                if rest is not None and was_update and _is_alone(name, facts, sharing):
                    return ir.Update(ir.Var(name), _IN_PLACE[text], rest, stmt.origin)
        return stmt

    return ir.with_body(function, ir.rewrite(function.body, after=one))


def _guarding(function: ir.Function) -> list[ir.Stmt]:
    """The first binding of each parameter: until then it is the caller's object."""
    found: dict[str, ir.Stmt] = {}
    for stmt in ir.statements(function.body):
        for name in ir.binds(stmt):
            if name in function.param_names:
                found.setdefault(name, stmt)
    return list(found.values())


def _is_ours(stmt: ir.Stmt) -> bool:
    return stmt.origin.role in ("adjoint", "tangent")


def _without(call: ir.Call, place: ir.Expr) -> ir.Expr | None:
    """`e` of `place op e` (or of `e * place`: of our own, always numbers and arrays)."""
    if len(call.args) != 2 or call.kwargs:
        return None
    left, right = call.args
    fn = call.fn
    assert isinstance(fn, ir.Ref)
    if left == place:
        return right
    if right == place and fn.text in ("*", "+"):
        return left
    # `2.0 * A[k] * x`: the place stands at the end of the left spine, or inside it.
    if fn.text == "*" and isinstance(left, ir.Call) and left.fn == fn:
        inner = _without(left, place)
        return None if inner is None else ir.Call(fn, (inner, right))
    return None


def _is_repeatable(place: ir.Index, rest: ir.Expr, facts: Facts) -> bool:
    """Whether place and value may be evaluated in another order, the place once."""
    silent = expr_effect(place, facts, True).silent and expr_effect(rest, facts, True).silent
    return silent and ir.names_in(place.base).isdisjoint(ir.names_in(rest))


def _was_update(stmt: ir.Assign, name: str, text: str) -> bool:
    """Whether the user's own line is this update."""
    if is_trusted(stmt):
        return False
    head, sign, _ = stmt.origin.place.text.partition(f" {text}= ")
    return bool(sign) and head.strip() == name


def _is_array(base: ir.Expr, facts: Facts) -> bool:
    """Whether `base[k] += e` writes entries: an item of a list or dict that is an array would be
    written in place, where the store puts another one there. An adjoint or a tangent is an array
    where its value is."""
    if not isinstance(base, ir.Var):
        return False
    name, kind = base.name, facts.kind(base.name)
    while kind.form == "unknown" and name.endswith(_DERIVED):
        name = name.removesuffix("_bar").removesuffix("_dot")
        kind = facts.kind(name)
    return kind.form == "array"


_DERIVED = ("_bar", "_dot")


def _was_written(stmt: ir.Store, call: ir.Call, text: str) -> bool:
    """Whether the user's own line is this update of entries: `A[k] /= x`."""
    line = stmt.origin.place.text
    own = stmt.origin.role == "primal" and f" {text}= " in line and ";" not in line
    return own and text in _IN_PLACE and len(call.args) == 2 and call.args[0] == stmt.target


def _is_alone(name: str, facts: Facts, sharing: Sharing) -> bool:
    """Whether rebinding the name and writing its object cannot be told apart."""
    if facts.kind(name).form == "number":
        return True
    return sharing.members(name) == [name] and not sharing.is_outside(name)
