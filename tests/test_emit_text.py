"""Spelling: every IR node as Python, parsed back to the same tree; long lines folded."""

from __future__ import annotations

import ast
import cmath
import math
import operator

import numpy as np
import pytest

from tangentlike import ir
from tangentlike.codegen.print import emit, show
from tangentlike.codegen.print.folding import WIDTH
from tangentlike.codegen.print.module import parse_back
from tangentlike.codegen.print.printer import Printer
from tangentlike.errors import InternalError, Place
from tangentlike.frontend.lower import program, read_function
from tangentlike.frontend.resolve import Scope

PLACE = Place("model.py", 1, "y = f(x)")
ORIGIN = ir.Origin(PLACE)
SCOPE = Scope.of_names({"np": np, "__name__": "model"})


def emitted(source: str) -> str:
    """A function read and printed again."""
    function = read_function(source, {"np": np})
    return emit(ir.Module((function,)), SCOPE).source


def same_tree(a: str, b: str) -> bool:
    return ast.dump(ast.parse(a)) == ast.dump(ast.parse(b))


EXPRESSIONS = [
    "a + b * c - d",
    "(a + b) * c",
    "a - (b - c)",
    "a / (b * c)",
    "-a**2",
    "(-a)**2",
    "(-1.5)**2",
    "a**-1",
    "a ** b**c",
    "(a**b) ** c",
    "2.0 ** (a + b)",
    "-(a @ b)",
    "~a & b | c ^ d",
    "a << 1 >> b",
    "not a",
    "not (a and b) or c",
    "a not in b",
    "a is not None",
    "(a < b) == c",
    "a if b else c",
    "(a if b else c).T",
    "f(a if b else c, key=d)",
    "a[1:-1, None, ..., ::2]",
    "a[()]",
    "a[1,]",
    "a[b[c]]",
    "(a, b)[0]",
    "[a, (b,), (), {c: d, 'k': []}]",
    "f(*a, b, *c, k=d, **e)",
    "(a + b).sum(axis=-1, keepdims=True)",
    "1e-300 + 5e-324 * 0.1",
    "'it\\'s' + \"\\n\"",
    "b'x'",
    "f'{a!r:>{b}} {c:.3f}'",
    "[x * a for x in b if x for y in x]",
    "{k: v for k, v in a}",
    "f(x for x in a)",
    "lambda x, *y, z=1: x + z",
    "(lambda: a)()",
    "{a, b}",
    "(1).real",
    "2j * a",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression_keeps_its_meaning(text: str) -> None:
    function = program(f"out = {text}")
    assert same_tree(show(function.body), f"out = {text}")


@pytest.mark.parametrize("text", [e for e in EXPRESSIONS if "'" not in e and "lambda x" not in e])
def test_expression_is_printed_as_it_is_written(text: str) -> None:
    assert show(program(f"out({text})").body) == f"out({text})"


NUMBERS: list[complex] = [
    *(0, -3, 10**30, 0.0, -0.0, 1e22, 1e-7, 0.1, math.inf, -math.inf, math.nan),
    *(2j, -2j, 1 + 2j, 1 - 2j, -1 - 2j, complex(0.0, -2.0), complex(-0.0, 2.0)),
    *(complex(1.0, -0.0), complex(math.inf, 1.0), complex(0.0, math.nan)),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_number_comes_back_bit_by_bit(value: complex) -> None:
    text = show(ir.Const(value))
    back = eval(text)
    assert type(back) is type(value)
    assert repr(back) == repr(value) or cmath.isnan(value)
    power = ir.Call(ir.Ref("**", operator.pow), (ir.Const(value), ir.Const(2)))
    if not cmath.isnan(value) and abs(value) < 1e100:
        assert eval(show(power)) == value**2


STATEMENTS = """
def f(a, /, b, c=1, *rest, d, e: float = 2.0, **more):
    x, (y, z) = b
    x[0], a.b = 1, 2
    x[1:, 0] += y
    a.b *= 2
    z **= a
    if x:
        y = 1
    elif z:
        y = 2
    else:
        y = 3
    for i, (j, k) in enumerate(zip(a, b)):
        while k > 0:
            k -= 1
            if j:
                break
    import math as m
    assert a, f'no {b}'
    print(y)
    return x, y
"""


def test_statements_keep_their_meaning() -> None:
    source = STATEMENTS.replace("    x[0], a.b = 1, 2\n", "")
    assert same_tree(emitted(source).partition("\n\n\n")[2], source)


def test_docstring_is_printed_as_a_docstring() -> None:
    text = emitted('def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n')
    assert '    """One.\n\n    Two.\n    """\n    return x\n' in text


@pytest.mark.parametrize("doc", ['ends with "', "back\\slash", 'three """ quotes', "bell \a"])
def test_awkward_docstring(doc: str) -> None:
    function = ir.Function("f", (), (ir.Return(None, ORIGIN),), PLACE, doc=doc)
    namespace: dict[str, object] = {}
    exec(emit(ir.Module((function,)), SCOPE).source, namespace)
    assert namespace["f"].__doc__ == doc


# ------------------------------------------------------------------------------- folding

LONG = """
return np.concatenate([first_layer_weights, second_layer_weights, bias, c, d, e, f, gg, hh])
x = (alpha_long_name + beta_long_name * gamma_long_name - delta_long_name + eps) * zeta_x
x = np.sum(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)
x = (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb).sum(axis=0)
if aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa and bbbbbbbbbbbbbbbbbbbbbbb < cccccccccccccccccccc or d:
return aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccc
x[aaaaaaaaaaaaaaaaaaaaaaaaaaaa] += -(bbbbbbbbbbbbbbbbbbbbbbbbbbb + ccccccccccccccccccccccccc)
x = [aaaaaaaaaaaaaaaaaaaaaaaaa for bbbbbbbbbbbbbbbbb, bbbbbb in cccccccccccccccccccccccc if x]
x = {'aaaaaaaaaaaaaaaaaaaaaaa': aaaaaaaaaaaaaaaaaaaaaaa, 'bbbbbbbbbbbbbb': bbbbbbbbbbbbbbbbb}
x = a[bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:cccccccccccccccccccccccccccc, dddddddddddddddddddddddd:]
x = (aaaaaaaaaaaaaaaaaaaaaaaaaaaaa(bbbbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccccccccccc),)
np.add.at(aaaaaaaaaaaaaaaaaaaaaaaaaa, (iiiiiiiiiiiii, jjjjjjjjjjjjjj), aaaaaaa * bbbbbb * cccc)
x = f(xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx for xxxxxxxxxxxxxxxxxx in yyyyyyyyyyyyyyyyyyyyyyyy)
x = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa if bbbbbbbbbbbbbbbbbbbbbbbbb else cccccccccccccccccccccc
x = not (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa and bbbbbbbbbbbbbbbbbbbbbbbbbbbb and ccccccccccccccc)
x = (aaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbb) ** (cccccccccccccccccccccc + ddddddd)
for aaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb in zip(cccccccccccccccccccccccc, dddddddddddddddddddd):
aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccccc, d = tape
x[aaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbb:, ccccccccccccccccccc:ddddddddddddddddddddddd] = y
x[aaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbb:, ccccccccccccccccccc:ddddddddddddddddddddddd] += y
for aaaaaaaaaaaaaaaaaaaaaaaaaaaa, (bbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccc) in dddddddddd:
""".strip().split("\n")


@pytest.mark.parametrize("text", LONG)
def test_long_statement_is_folded(text: str) -> None:
    text += "\n x" * text.endswith(":")
    folded = show(program(text).body)
    assert "\n" in folded
    assert all(len(line) <= WIDTH for line in folded.split("\n"))
    assert same_tree(f"def f():\n{_indented(folded)}", f"def f():\n{_indented(text)}")


def _indented(text: str) -> str:
    return "\n".join(" " + line for line in text.split("\n"))


def test_a_product_that_a_sum_begins_with_needs_no_brackets() -> None:
    first = " + ".join(f"some_part_of[{k}:]" for k in range(4))
    text = f"residual = ({first}) / step * weight - source_of_it[1:-1]"
    assert show(program(text).body) == (
        f"residual = (\n    ({first}) / step\n    * weight - source_of_it[1:-1]\n)"
    )


def test_folding_opens_the_outermost_brackets() -> None:
    items = "first_layer_weight, second_layer_weight, more_of_it"
    text = f"w = np.concatenate([{items}], axis=-1, out=w)\nnarrow = 1"
    assert show(program(text).body) == (
        "w = np.concatenate(\n"
        "    [first_layer_weight, second_layer_weight, more_of_it], axis=-1, out=w\n"
        ")\n"
        "narrow = 1"
    )


def test_long_target_is_folded_and_its_names_are_packed() -> None:
    names = [f"name_{i}" for i in range(12)]
    assert show(program(f"{', '.join(names)} = tape\nx = 1").body) == (
        f"(\n    {', '.join(names[:10])},\n    {', '.join(names[10:])},\n) = tape\nx = 1"
    )


def test_long_signature_is_folded() -> None:
    names = ", ".join(f"parameter_{i}" for i in range(12))
    text = emitted(f"def f({names}):\n    return parameter_0\n")
    assert text.startswith("def f(\n    parameter_0,\n")
    assert same_tree(text, f"def f({names}):\n    return parameter_0\n")


# -------------------------------------------------------------------------- opaque code


def opaque(text: str, **values: ir.Expr) -> str:
    names = tuple(values)
    return show(ir.Opaque(text, names, tuple(values.values())))


def test_opaque_code_gets_present_values() -> None:
    total = ir.Call(ir.Ref("+", operator.add), (ir.Var("a"), ir.Var("b")))
    assert opaque("[n * i for i in range(n)]", n=total) == "[(a + b) * i for i in range(a + b)]"


def test_comprehension_does_not_capture() -> None:
    assert opaque("[i * n for i in range(n)]", n=ir.Var("i")) == "[i2 * i for i2 in range(i)]"
    assert opaque("[i for i in i]", i=ir.Var("k")) == "[i for i in k]"


def test_lambda_does_not_capture() -> None:
    assert opaque("lambda x, y=x: x + n", n=ir.Var("x"), x=ir.Var("z")) == (
        "lambda x2, y=z: x2 + x"
    )


def test_opaque_statement_is_renamed() -> None:
    stmt = ir.OpaqueStmt("import math as m", (), (), (), ("m2",), ORIGIN)
    assert show(stmt) == "import math as m2"


# --------------------------------------------------------------------------- the checks


def test_text_that_means_something_else_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def sloppy(self: Printer, node: object) -> None:
        self.result.append("0.5")

    monkeypatch.setattr(Printer, "visit_Constant", sloppy)
    with pytest.raises(InternalError, match=r"means another program: return 0\.5"):
        emitted("def f(x):\n    return 0.25\n")


def test_text_that_does_not_parse_is_caught() -> None:
    with pytest.raises(InternalError, match="does not parse"):
        parse_back("def f(:", [])


def test_operator_is_no_value() -> None:
    with pytest.raises(InternalError, match="operator"):
        show(ir.Ref("+", operator.add))


def test_literal_of_a_strange_type_is_refused() -> None:
    with pytest.raises(InternalError, match="is not a literal"):
        show(ir.Const(np.float64(1.0)))
