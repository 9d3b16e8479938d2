"""The book of rules: reading templates, binding calls, what is printed, kinds of results."""

# ruff: noqa: F821, F841

from __future__ import annotations

import functools
import math
import operator
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tangentlike import ir, runtime
from tangentlike.codegen.print import show
from tangentlike.errors import Place, TangentlikeError, UnsupportedError
from tangentlike.ir.kind import FLOAT, Kind
from tangentlike.rules import RuleBook, default_book, nondifferentiable, register_array_module, rule
from tangentlike.rules.bind import as_kind_of, bind
from tangentlike.rules.linear import put_tangents
from tangentlike.rules.template import template_of


def shown(value: object) -> str:
    """A test's name must be the same in every process: functions without their addresses."""
    return getattr(value, "__name__", None) or str(value)


BOOK = default_book()
X, W = ir.Var("x"), ir.Var("w")


# ------------------------------------------------------------------------- what is printed


def printed(fn, *args, kinds=None, param=None, text=None, **kwargs):
    call = ir.Call(ir.Ref(text or fn.__name__, fn), args, tuple(kwargs.items()))
    instance = bind(BOOK.find(fn), call, kinds or {})
    params = [param] if param else list(instance.partials)
    expr = instance.adjoint(params[0])
    return None if expr is None else show(expr).replace("$", "")


SAME = {"x": Kind("array", "?", "x"), "w": Kind("array", "?", "x")}
TEXTS = [
    ((operator.pow, X, ir.Const(2)), "2.0 * y_bar * x"),
    ((operator.pow, X, ir.Const(3)), "3.0 * y_bar * x**2"),
    ((operator.pow, X, ir.Const(0.5)), "0.5 * y_bar / y"),
    ((operator.pow, X, ir.Const(1)), "y_bar"),
    ((operator.pow, X, ir.Const(0)), None),
    ((operator.pow, X, ir.Const(1.1)), "1.1 * y_bar * x**0.1"),
    ((np.tanh, X), "y_bar * (1.0 - y * y)"),
    ((np.exp, X), "y_bar * y"),
    ((np.sqrt, X), "0.5 * y_bar / y"),
    ((np.log, X), "y_bar / x"),
    ((np.cos, X), "-(y_bar * np.sin(x))"),
    ((operator.mul, X, W), "y_bar * w"),
    ((operator.truediv, X, W), "y_bar / w"),
    ((operator.add, X, W), "y_bar"),
    ((operator.mul, X, ir.Const(3.0)), "3.0 * y_bar"),
    ((np.maximum, X, ir.Const(0.0)), "y_bar * np.heaviside(x, 0.5)"),
]


@pytest.mark.parametrize(("call", "text"), TEXTS, ids=lambda v: str(v)[:20])
def test_adjoint_reads_as_a_person_writes_it(call, text):
    assert printed(*call, kinds=SAME) == text


def test_unknown_shapes_are_summed_at_run_time():
    assert printed(operator.mul, X, W) == "unbroadcast(y_bar * w, x)"
    assert printed(operator.mul, X, W, kinds={"w": FLOAT}) == "y_bar * w"


def test_complex_partials_are_conjugated():
    kinds = {"x": Kind("array", "complex", "x")}
    assert printed(np.exp, X, kinds=kinds) == "y_bar * np.conj(y)"
    call = ir.Call(ir.Ref("exp", np.exp), (X,))
    careful = bind(BOOK.find(np.exp), call, {}, real=False)
    assert show(careful.adjoint("x")).replace("$", "") == "y_bar * np.conj(y)"


def test_module_is_spelled_as_in_the_call():
    call = ir.Call(ir.Ref("xp.cos", np.cos), (X,))
    instance = bind(BOOK.find(np.cos), call, {})
    assert show(instance.adjoint("x")).replace("$", "") == "-(y_bar * xp.sin(x))"


def forward(fn, *args, dots, kinds=None):
    instance = bind(BOOK.find(fn), ir.Call(ir.Ref(fn.__name__, fn), args), kinds or {})
    expr = instance.tangent_with(dots)
    return None if expr is None else show(expr).replace("$", "")


def test_tangents_of_constants_are_folded():
    x_dot, w_dot = ir.Var("x_dot"), ir.Var("w_dot")
    assert forward(operator.mul, X, W, dots={"a": x_dot}) == "w * x_dot"
    assert forward(operator.sub, X, W, dots={"a": None, "b": w_dot}) == "-w_dot"
    assert forward(operator.sub, X, W, dots={"a": x_dot, "b": w_dot}) == "x_dot - w_dot"
    assert forward(np.sin, X, dots={"x": x_dot}) == "np.cos(x) * x_dot"
    assert forward(np.sin, X, dots={}) is None


def test_zero_tangents_inside_calls_are_zeros_of_the_argument():
    book = RuleBook()

    @rule(np.concatenate, book=book)
    def concatenate(y, a, b):
        y_dot = np.concatenate([a_dot, b_dot])

    @rule(np.where, book=book)
    def where(y, c, a, b):
        y_dot = np.where(c, a_dot, b_dot)

    call = ir.Call(ir.Ref("np.concatenate", np.concatenate), (X, W))
    found = bind(book.find(np.concatenate), call, {})
    with pytest.raises(UnsupportedError, match="defines no adjoint of its argument `a`"):
        found.adjoint("a")
    assert show(found.tangent_with({"a": ir.Var("x_dot")})) == (
        "np.concatenate([x_dot, zeros_like(w)])"
    )
    text = show(put_tangents(found.tangent, {"a": ir.Var("x_dot")}, found.arguments))
    assert text == "np.concatenate([x_dot, zeros_like(w)])"


# ------------------------------------------------------------------------------- the book


def test_every_rule_can_be_read():
    for _, entry in BOOK.rules():
        if not entry.builder:
            template_of(entry)


def test_aliases_and_in_place_operators():
    assert BOOK.find(np.multiply) is BOOK.find(operator.mul) is BOOK.find(operator.imul)
    assert BOOK.find(np.absolute) is BOOK.find(abs)
    assert BOOK.find(np.power) is BOOK.find(pow)
    assert BOOK.find([1, 2]) is None and BOOK.find(np.ones(2)) is None
    assert BOOK.find_attribute("real") is BOOK.find(np.real)
    assert BOOK.is_nondifferentiable(operator.lt)
    clip = ir.Call(ir.Attribute(X, "clip"), (ir.Const(0.0), ir.Const(1.0)))
    assert show(bind(BOOK.find(np.clip), clip, {}).partials["a"]) == "(x >= 0.0) & (x <= 1.0)"


def test_a_second_rule_is_refused_unless_it_overrides():
    def half(x):
        return 0.5 * x

    book = RuleBook()

    @rule(half, book=book)
    def halves(y, x):
        dy_dx = 0.5

    with pytest.raises(TangentlikeError, match="half already has a rule"):
        rule(half, book=book)(halves)
    rule(half, book=book, override=True)(halves)
    both = BOOK | book
    assert both.find(half) is book.find(half) and both.find(np.tanh) is BOOK.find(np.tanh)
    assert BOOK.find(half) is None


def test_names_that_do_not_exist_are_skipped():
    book = RuleBook()

    @rule("numpy.surely_not_there", "numpy.tanh", book=book)
    def tanh(y, x):
        dy_dx = 1.0 - y * y

    assert book.find(np.tanh) is not None


def test_libraries_imported_later_are_found():
    book = RuleBook()

    @rule("later_library.twice", book=book)
    def twice(y, x):
        dy_dx = 2.0

    library = ModuleType("later_library")
    library.twice = lambda x: 2 * x
    assert book.find(library.twice) is None
    sys.modules["later_library"] = library
    try:
        assert book.find(library.twice).name == "later_library.twice"
    finally:
        del sys.modules["later_library"]


def test_mirrors_of_numpy_share_its_rules():
    mirror = ModuleType("mirror")
    for name in ("tanh", "cos", "sin"):
        setattr(mirror, name, functools.partial(getattr(np, name)))
    register_array_module(mirror)
    assert BOOK.find(mirror.tanh) is BOOK.find(np.tanh)
    call = ir.Call(ir.Ref("cp.cos", mirror.cos), (X,))
    found = bind(BOOK.find(mirror.cos), call, {}, alias="cp").adjoint("x")
    assert show(found).replace("$", "") == "-(y_bar * cp.sin(x))"


def test_arguments_without_rule_are_refused_at_the_call():
    place = Place("model.py", 7, "y = np.tanh(x, out=z)", 4, 16)
    call = ir.Call(ir.Ref("np.tanh", np.tanh), (X,), (("out", W),), at=place)
    with pytest.raises(UnsupportedError) as error:
        bind(BOOK.find(np.tanh), call, {})
    assert "model.py:7" in str(error.value) and "`out`" in str(error.value)
    assert "^^^^" in str(error.value) and "tl.rule" in str(error.value)


def test_an_active_argument_without_line_is_refused():
    call = ir.Call(ir.Ref("np.nan_to_num", np.nan_to_num), (X,), (("posinf", W),))
    instance = bind(BOOK.find(np.nan_to_num), call, {})
    with pytest.raises(UnsupportedError, match="posinf"):
        instance.adjoint("posinf")


MALFORMED = {
    "both_forms": "a tangent and adjoints, not both",
    "unknown_name": "`nonsense` is not a parameter",
    "wrong_parameter": "belongs to no parameter",
    "stated_twice": "assigned twice",
    "a_loop": "only assignments",
    "no_parameter": "first parameter",
    "asks_wrongly": "cannot ask about `z`",
}


def both_forms(y, x):
    dy_dx = 1.0
    x_bar = y_bar


def unknown_name(y, x):
    dy_dx = nonsense * x


def wrong_parameter(y, x):
    z_bar = y_bar


def stated_twice(y, x):
    dy_dx = 1.0
    dy_dx = 2.0


def a_loop(y, x):
    while x:
        pass


def no_parameter():
    pass


def asks_wrongly(y, x):
    if z is None:
        dy_dx = 1.0


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_rules_say_file_and_line(name):
    book = RuleBook()
    fn = globals()[name]
    rule(np.tanh, book=book)(fn)
    with pytest.raises(TangentlikeError) as error:
        template_of(book.find(np.tanh))
    assert MALFORMED[name] in str(error.value)
    assert f"{__file__}:" in str(error.value)
    assert error.value.place.line >= fn.__code__.co_firstlineno


def test_branches_builders_and_operands():
    book = RuleBook()

    @rule(np.sum, book=book)
    def total(y, x, axis=None, keepdims=False):
        y_dot = np.sum(x_dot, axis, keepdims=keepdims)
        if axis is None:
            x_bar = broadcast_like(y_bar, x)
        elif rank(x) == 2 and axis == 0:
            x_bar = np.broadcast_to(y_bar, x.shape)
        else:
            x_bar = y_bar[:, None]

    @rule(np.multiply, builder=True, book=book)
    def product(call, kind_of):
        return "def product(y, *xs):\n    xs_bar = first(y_bar)\n    y_dot = sum(xs_dot)\n".replace(
            "first", "list"
        )

    def adjoint_text(kinds, *args):
        call = ir.Call(ir.Ref("np.sum", np.sum), args)
        return show(bind(book.find(np.sum), call, kinds).adjoint("x")).replace("$", "")

    assert adjoint_text({}, X) == "broadcast_like(y_bar, x)"
    plane = {"x": Kind("array", "float", (None, None))}
    assert adjoint_text(plane, X, ir.Const(0)) == "np.broadcast_to(y_bar, x.shape)"
    assert adjoint_text({}, X, ir.Const(0)) == "y_bar[:, None]"
    with pytest.raises(
        UnsupportedError, match="tests `rank.x. == 2 and axis == 0`, which is not known"
    ):
        adjoint_text({}, X, W)
    call = ir.Call(ir.Ref("np.sum", np.sum), (X,))
    assert show(bind(book.find(np.sum), call, {}).tangent_with({"x": W})) == "np.sum(w)"

    call = ir.Call(ir.Ref("np.multiply", np.multiply), (X, W))
    found = bind(book.find(np.multiply), call, {})
    assert list(found.arguments) == ["xs0", "xs1"]
    assert show(found.adjoint("xs1")).replace("$", "") == "xs_bar[1]"
    ((name, value),) = found.temporaries_for(found.adjoint("xs1"))
    assert (name, show(value).replace("$", "")) == ("$xs_bar", "list(y_bar)")
    assert show(found.tangent_with({"xs0": X, "xs1": W})) == "sum((x, w))"


def test_nondifferentiable_by_users():
    book = RuleBook()
    nondifferentiable(np.tanh, book=book)
    assert book.is_nondifferentiable(np.tanh) and not book.is_nondifferentiable(np.sin)


# ---------------------------------------------------------------------- kinds of results

ARRAY = Kind("array", "float", ("n", "m"))
KINDS = [
    (np.exp, (X,), {"x": ARRAY}, ARRAY),
    (operator.mul, (X, ir.Const(2.0)), {"x": ARRAY}, ARRAY),
    (operator.mul, (X, W), {"x": FLOAT, "w": FLOAT}, FLOAT),
    (operator.add, (X, W), {"x": ARRAY, "w": Kind("array", "float", ("m",))}, ARRAY),
    (
        operator.add,
        (X, W),
        {"x": ARRAY, "w": Kind("array", "complex", (1,))},
        Kind("array", "complex", ("n", "m")),
    ),
    (operator.truediv, (ir.Const(1), ir.Const(2)), {}, FLOAT),
    (operator.lt, (X, ir.Const(0)), {"x": ARRAY}, Kind("array", "bool", ("n", "m"))),
    (operator.mul, (X, ir.Const(2.0)), {"x": Kind("array", "?", "x")}, Kind("value", "?", "x")),
    (np.clip, (X, ir.Const(None), ir.Const(1.0)), {"x": ARRAY}, ARRAY),
    (math.sin, (X,), {}, FLOAT),
    (len, (X,), {}, Kind("number", "int", ())),
    (np.abs, (X,), {"x": Kind("array", "complex", ("n",))}, Kind("array", "float", ("n",))),
]


@pytest.mark.parametrize(("fn", "args", "kinds", "expected"), KINDS, ids=shown)
def test_result_kinds(fn, args, kinds, expected):
    call = ir.Call(ir.Ref(fn.__name__, fn), args)
    assert BOOK.result_kind(call, as_kind_of(kinds)) == expected


def test_rules_in_tables_are_those_that_are_written_out() -> None:
    book = RuleBook("written out")

    @rule(np.hypot, book=book)
    def hypot(y, a, b):
        dy_da = ratio_or_zero(a, y)
        dy_db = ratio_or_zero(b, y)

    @rule(runtime.untile, book=book)
    def untile(y, g, like, reps):
        y_dot = untile(g_dot, like, reps)
        g_bar = np.tile(y_bar, reps)
        like_bar = 0
        reps_bar = 0

    @rule(runtime.kron_bar_a, book=book)
    def kron_bar_a(y, g, a, b):
        y_dot = kron_bar_a(g_dot, a, b) + kron_bar_a(g, a, b_dot)
        g_bar = np.kron(y_bar, b)
        a_bar = 0
        b_bar = kron_bar_b(g, y_bar, b)

    for op, written in book.rules():
        stated = default_book().find(op)
        assert stated is not None and stated.text and not written.text
        assert Path(stated.place.file).name in ("elementwise.py", "shape.py", "products.py")
        expected, found = template_of(written), template_of(stated)
        assert [*found.lines()] == [*expected.lines()], op
        assert str(found.signature) == str(expected.signature)
