"""A file as a whole: comments, imports, names, and the lines' origins."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from tangentlike import ir
from tangentlike.codegen.print import emit
from tangentlike.errors import Place
from tangentlike.frontend.lower import read_function
from tangentlike.frontend.resolve import Scope
from tangentlike.runtime import unbroadcast

X, Y = ir.Var("x"), ir.Var("y")
MUL = ir.Ref("*", operator.mul)
UNBROADCAST = ir.Ref("unbroadcast", unbroadcast)


def origin(text: str, role: str, line: int = 1) -> ir.Origin:
    return ir.Origin(Place("model.py", line, text), role)


def assign(name: str, value: ir.Expr, text: str, role: str = "adjoint") -> ir.Assign:
    return ir.Assign(name, value, origin(text, role))


def ret(value: ir.Expr) -> ir.Return:
    return ir.Return(value, origin("return y", "adjoint"))


def function(*body: ir.Stmt, name: str = "f_grad", params: tuple[str, ...] = ("x",)) -> ir.Function:
    return ir.Function(name, tuple(map(ir.Param, params)), body, Place("model.py", 1, "def f(x):"))


def source(*functions: ir.Function, **names: Any) -> str:
    return emit(ir.Module(functions), Scope.of_names({"__name__": "model", **names})).source


def times(*args: ir.Expr) -> ir.Call:
    return ir.Call(MUL, args)


# ------------------------------------------------------------------------------ comments


def test_adjoint_quotes_its_primal_line_once() -> None:
    text = source(
        function(
            assign("y", times(X, X), "y = x * x", "primal"),
            assign("y_bar", ir.Const(1.0), "return y"),
            assign("x_bar", times(Y, Y), "y = x * x"),
            assign("x_bar2", times(X, Y), "y = x * x"),
            ret(X),
        )
    )
    assert text == (
        "def f_grad(x):\n"
        "    # primal\n"
        "    y = x * x\n"
        "    # adjoint\n"
        "    y_bar = 1.0                              # return y\n"
        "    x_bar = y * y                            # y = x * x\n"
        "    x_bar2 = x * y\n"
        "    return x\n"
    )


def test_comment_beside_longer_code_stands_two_spaces_off() -> None:
    long = times(*(ir.Var(f"a_rather_long_name_{i}") for i in range(2)))
    line = source(function(assign("y", long, "y = x"), ret(Y))).split("\n")[1]
    assert line == "    y = a_rather_long_name_0 * a_rather_long_name_1  # y = x"


def test_comment_without_room_stands_above() -> None:
    quote = "y = np.sum(first * second, axis=0) + third"
    long = times(*(ir.Var(f"a_rather_long_name_{i}") for i in range(2)))
    lines = source(function(assign("y", long, quote), ret(Y))).split("\n")
    assert lines[1:3] == [
        f"    # {quote}",
        "    y = a_rather_long_name_0 * a_rather_long_name_1",
    ]


def test_comment_too_long_for_a_line_is_shortened() -> None:
    lines = source(function(assign("y", X, "y = " + "x + " * 30), ret(Y))).split("\n")
    assert lines[1].endswith("...")
    assert len(lines[1]) <= 88


def test_comment_that_repeats_the_code_is_left_out() -> None:
    lines = source(function(assign("y", times(X, X), "y = x*x"), ret(Y))).split("\n")
    assert lines[1] == "    y = x * x"


def test_comment_stands_above_a_folded_statement() -> None:
    long = times(*(ir.Var(f"a_really_rather_very_long_name_{i}") for i in range(2)))
    text = source(function(assign("y", times(long, long), "y = x"), ret(Y)))
    _, comment, first, *_ = text.split("\n")
    assert (comment, first[:8], first[-3:]) == ("    # y = x", "    y = ", "* (")


def test_tangents_need_no_comment() -> None:
    body = (
        assign("y", times(X, X), "y = x * x", "primal"),
        assign("y_dot", times(X, X), "y = x * x", "tangent"),
        ret(Y),
    )
    text = source(function(*body, name="f_jvp"))
    assert "#" not in text


def test_what_is_computed_where_it_is_given_back_quotes_its_line() -> None:
    given = ir.Return(
        times(X, Y), ir.Origin(Place("model.py", 1, "y = x * x"), "adjoint", "", "x_bar")
    )
    quoted = "    return x * y                             # y = x * x\n"
    assert source(function(given)) == "def f_grad(x):\n" + quoted


def test_headers_are_not_quoted() -> None:
    text = source(function(assign("y", X, "for i in range(n):"), assign("z", X, "def f(x):")))
    assert "#" not in text


def test_origins_name_the_lines() -> None:
    body = (assign("y", times(X, X), "y = x * x", "primal"), assign("z", X, "z = y"), ret(Y))
    emitted = emit(ir.Module((function(*body),)), Scope.of_names({"__name__": "model"}))
    lines = emitted.source.split("\n")
    for stmt in body:
        numbers = [n for n, o in emitted.origins.items() if o is stmt.origin]
        assert len(numbers) == 1
        assert (stmt.value.name if isinstance(stmt, ir.Return) else str(stmt.target)) in (
            lines[numbers[0] - 1]
        )


# ------------------------------------------------------------------------ imports and names


def test_header_imports_what_the_text_names() -> None:
    text = source(
        function(
            assign("y", ir.Call(ir.Ref("np.tanh", np.tanh), (X,)), "y"),
            assign("z", ir.Call(UNBROADCAST, (X, ir.Ref("ALPHA", 0.5))), "z"),
            assign("u", ir.Call(ir.Ref("la.norm", np.linalg.norm), (X,)), "u"),
            assign("v", ir.Call(ir.Ref("len", len), (X,)), "v"),
            ret(Y),
        ),
        np=np,
        ALPHA=0.5,
        la=np.linalg,
    )
    assert text.startswith(
        "import numpy as np\n"
        "import numpy.linalg as la\n"
        "from tangentlike.runtime import unbroadcast\n"
        "from model import ALPHA\n\n\n"
        "def f_grad"
    )


def test_module_that_only_a_rule_knows() -> None:
    text = source(function(ret(ir.Call(ir.Ref("np.tanh", np.tanh), (X,)))))
    assert text.startswith("import numpy as np\n")


def test_local_name_that_hides_an_import() -> None:
    call = ir.Call(UNBROADCAST, (ir.Var("np"), ir.Ref("np.pi", np.pi)))
    text = source(function(ret(call), params=("np", "unbroadcast")))
    assert text == (
        "import numpy as np2\n"
        "from tangentlike.runtime import unbroadcast as unbroadcast2\n\n\n"
        "def f_grad(np, unbroadcast):\n"
        "    return unbroadcast2(np, np2.pi)\n"
    )


def test_local_name_that_hides_a_builtin() -> None:
    text = source(function(ret(ir.Call(ir.Ref("sum", sum), (ir.Var("sum"),))), params=("sum",)))
    assert text.startswith("from builtins import sum as sum2\n")
    assert "return sum2(sum)" in text


def test_infinity_where_float_is_a_local_name() -> None:
    text = source(function(ret(ir.Const(float("inf"))), params=("float",)))
    assert "return float2('inf')" in text
    assert text.startswith("from builtins import float as float2")


def test_users_function_that_has_the_name_of_a_helper() -> None:
    def mine(x: Any) -> Any:
        return x

    inner = ir.Call(ir.Ref("unbroadcast", mine), (X,))
    text = source(function(ret(ir.Call(UNBROADCAST, (inner, X)))), unbroadcast=mine)
    assert "from tangentlike.runtime import unbroadcast\n" in text
    assert "from model import unbroadcast as unbroadcast2\n" in text
    assert "return unbroadcast(unbroadcast2(x), x)" in text


def test_users_function_that_has_the_name_of_an_emitted_one() -> None:
    def mine(x: Any) -> Any:
        return x

    text = source(function(ret(ir.Call(ir.Ref("f_grad", mine), (X,)))), f_grad=mine)
    assert "from model import f_grad as f_grad2" in text


def test_two_modules_with_the_same_global() -> None:
    first = function(ret(ir.Ref("N", 1)), name="g_fwd")
    second = function(ret(ir.Ref("N", 2)))
    scopes = {"g_fwd": Scope.of_names({"__name__": "other", "N": 1})}
    own = Scope.of_names({"__name__": "model", "N": 2})
    text = emit(ir.Module((first, second)), own, scopes).source
    assert text.startswith("from model import N as N2\nfrom other import N\n")
    assert "return N\n\n\ndef f_grad(x):\n    return N2\n" in text


def test_call_of_a_function_of_the_file_needs_no_import() -> None:
    callee = function(ret(X), name="g_fwd")
    main = function(ret(ir.Call(ir.Ref("g_fwd", object()), (X,))))
    assert source(callee, main).startswith("def g_fwd(x):")


def test_closure_variable_is_announced() -> None:
    def make(scale: float) -> Any:
        def inner(x: float) -> float:
            return x * scale

        return inner

    scope = Scope.of(make(2.0))
    fn = function(ret(times(X, ir.Ref("scale", 2.0))))
    text = emit(ir.Module((fn,)), scope).source
    assert text.startswith("# scale: a closure variable of test_closure_variable_is_announced.")


def test_long_import_is_wrapped() -> None:
    names = {f"helper_number_{i}": 0.0 for i in range(9)}
    refs = tuple(ir.Ref(name, value) for name, value in names.items())
    text = source(function(ret(ir.Display("tuple", refs))), **names)
    assert text.startswith("from model import (\n    helper_number_0, ")
    assert all(len(line) <= 88 for line in text.split("\n"))


def test_annotations_are_never_evaluated() -> None:
    fn = read_function("def f(x: np.ndarray, y: 'Any' = 1):\n    return x\n", {"np": np})
    text = emit(ir.Module((fn,)), Scope.of_names({})).source
    namespace: dict[str, Any] = {"__builtins__": builtins}
    exec(text, namespace)
    assert namespace["f"](3) == 3


def test_same_input_same_text() -> None:
    body = [assign(f"a{i}", ir.Ref(f"G{i}", i), "g") for i in range(30)]
    names = {f"G{i}": i for i in range(30)}
    fn = function(*body, ret(X))
    assert source(fn, **names) == source(fn, **names)
