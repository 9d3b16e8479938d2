"""`check` finds every departure from the normal form, `check_program` from the IR itself."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import pytest

from tangentlike.errors import InternalError, Place
from tangentlike.frontend.flatten import flatten
from tangentlike.frontend.lower import check, lower_nested, program, read_function
from tangentlike.ir import (
    Assign,
    Break,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Origin,
    Param,
    Ref,
    Return,
    Store,
    Update,
    Var,
)
from tangentlike.ir.verify import check_program

AT = Origin(Place("model.py", 3, "y = x"))
ADD = Ref("+", operator.add)
X, Y = Var("x"), Var("y")
TOTAL = Call(ADD, (X, Y))


def function(*body: Any) -> Function:
    return Function("f", (Param("x"), Param("y")), tuple(body), AT.place)


END = Return(X, AT)
BRANCH = If(X, (Break(AT),), (), AT)

NO_PROGRAM = {
    "does not end with a return": function(),
    "a return that is not the last": function(If(X, (END,), (), AT), END),
    "a break that is not in tail": function(For("i", X, (BRANCH, Assign("a", X, AT)), AT), END),
    "a break that is not in a branch": function(For("i", X, (Break(AT),), AT), END),
    "a display is unpacked": function(Assign(("a", "b"), Display("tuple", (X, Y)), AT), END),
    "not an expression of the IR": function(Assign("a", Call(ADD, (X, 3)), AT), END),  # type: ignore
    "is bound, which is not a name": function(Assign("$a", X, AT), END),
    "is not a name": function(Assign("a", Var("x.y"), AT), END),
    "is stored to": function(Store(X, Y, AT), END),  # type: ignore[arg-type]
    "is updated": function(Update(TOTAL, ADD, Y, AT), END),  # type: ignore[arg-type]
    "not a statement of the IR": function(dataclasses.replace(BRANCH, body=(X,)), END),
}


@pytest.mark.parametrize("message", NO_PROGRAM)
def test_no_program(message: str) -> None:
    for checked in (check_program, check):
        with pytest.raises(InternalError, match=message):
            checked(NO_PROGRAM[message])


NOT_NORMAL = {
    "a nested operation": function(Assign("a", Call(ADD, (TOTAL, Y)), AT), END),
    "a nested store": program("a[i] = x * y; return a"),
    "a nested update": program("a[i] += x * y; return a"),
    "a nested base": program("y = (a * b)[i]; return y"),
    "a call in a key": program("y = a[f(i)]; return y"),
    "a nested header": program("for i in range(n - 1): x = i\nreturn x"),
    "a nested result": program("return x * y"),
    "a value chosen lazily": program("y = x if x > 0 else z; return y"),
    "definitions that never meet": program("a = x; a = x * a; return a"),
    "a loop variable read later": program("for i in x: t = i\nreturn i"),
    "a loop variable rebound": program("for i in x:\n    i = 2\nreturn x"),
}


@pytest.mark.parametrize("what", NOT_NORMAL)
def test_not_normal(what: str) -> None:
    nested = NOT_NORMAL[what]
    check_program(nested)
    with pytest.raises(InternalError):
        check(nested)
    check(lower_nested(nested).function)


def test_messages_say_where() -> None:
    with pytest.raises(InternalError) as info:
        check(function(Assign("a", Call(ADD, (TOTAL, Y)), AT), END), stage="reverse")
    assert "model.py:3: y = x" in str(info.value)
    assert info.value.stage == "reverse"


def test_flatten_alone_is_checked_as_a_program() -> None:
    text = "def f(x, n):\n    while x > 0:\n        x = x - n * 2\n    return x, [n, {1: x * 2}]"
    flat = flatten(read_function(text))
    check(flat)
    assert Const(None) not in [getattr(stmt, "value", None) for stmt in flat.body]
