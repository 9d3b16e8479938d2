"""What of Python is differentiated, passed through, refused: one program for each row.

`docs/language.md` is made of these rows (`python tests/test_language.py`). To add one, add a `Row`:
the syntax nodes it is about, what it shows, what happens, and a program `f(x)` of a float.
"""

from __future__ import annotations

from tests.language_idioms import IDIOMS
from tests.language_row import DONE, PASSED, REFUSED, Row, body

ROWS = (
    # ------------------------------------------------------------------------ statements
    body("FunctionDef arguments arg Return", "`def`, `return`", DONE, "return x * x"),
    body("Assign Name Store Load", "`a = b = v`", DONE, "a = b = x * x\nreturn a * b"),
    body("AugAssign", "`a += v`", DONE, "y = x\ny *= x\ny -= 2.0 * x\nreturn y * y"),
    body("AnnAssign", "`a: float = v`", DONE, "y: float = x * x\nreturn y * x"),
    body("Expr", "a call for its effect", PASSED, "print(x)\nreturn x * x"),
    body("If", "`if`, `elif`, `else`", DONE, "if x > 5:\n    return x\nreturn x * x"),
    body(
        "For Break Continue",
        "`for` with `break`, `continue`, `else`; the variable after the loop",
        DONE,
        "s = 0.0\nfor i in range(9):\n    if i == 1:\n        continue\n    if i > 3:\n"
        "        break\n    s = s + x**i\nelse:\n    s = 0.0\nreturn s * i",
    ),
    body(
        "While",
        "`while` on values, `while True`",
        DONE,
        "y = x\nwhile y < 9.0:\n    y = y * y\nwhile True:\n    y = y * x\n    break\nreturn y",
    ),
    body("Pass", "`pass`", PASSED, "pass\nreturn x * x"),
    body("Delete Del", "`del name`", PASSED, "y = x * x\nz = y\ndel y\nreturn z"),
    body("Assert", "`assert`", PASSED, "assert x > 0, x\nreturn x * x"),
    body(
        "Raise",
        "`raise`",
        PASSED,
        "if x < 0:\n    raise ValueError(f'negative: {x}')\nreturn x * x",
    ),
    body("Import alias", "`import` inside", PASSED, "import math\nreturn x * x * math.pi"),
    body(
        "ImportFrom", "`from ... import` inside", PASSED, "from math import pi\nreturn x * x * pi"
    ),
    body(
        "Import",
        "modules and functions imported inside, applied to what is differentiated",
        DONE,
        "import math\nfrom numpy import exp as e\nreturn math.sin(x) * e(x)",
    ),
    body(
        "Try ExceptHandler",
        "`try`, `except`, `else`, `finally`: the path taken",
        DONE,
        "try:\n    y = x / 0\nexcept ZeroDivisionError as e:\n    print(e)\n    y = x * x\n"
        "else:\n    y = y + 1\nfinally:\n    print('done')\nreturn y",
    ),
    body(
        "Try",
        "`break`, `continue`, `return` inside `try`",
        DONE,
        "for k in range(3):\n    try:\n        return x**k / k\n"
        "    except ZeroDivisionError:\n        continue\nreturn 0.0",
    ),
    body(
        "Try",
        "a jump out of `finally`",
        REFUSED,
        "try:\n    y = x * x\nfinally:\n    return x\nreturn y",
    ),
    body(
        "Try",
        "what a caught exception holds",
        REFUSED,
        "try:\n    raise ValueError(x)\nexcept ValueError as e:\n    y = e.args[0]\nreturn y",
    ),
    body(
        "TryStar",
        "`except*`",
        REFUSED,
        "try:\n    y = x * x\nexcept* ValueError:\n    y = x\nreturn y",
        (3, 11),
    ),
    body(
        "With withitem",
        "`with np.errstate(...)`: holds around the adjoint too",
        DONE,
        "with np.errstate(all='ignore'):\n    return np.sqrt(x)",
    ),
    body(
        "With",
        "`with` a manager of yours, entered once",
        DONE,
        "with contextlib.nullcontext(2) as n, np.errstate(all='ignore'):\n"
        "    y = x * n\nreturn y * y",
    ),
    Row(
        "With Yield",
        "`with` a manager of yours that is given what is differentiated, or gives it",
        DONE,
        "@contextlib.contextmanager\ndef squared(v):\n    yield v * v\n\n"
        "def f(x):\n    with squared(x) as y:\n        return y * x\n",
    ),
    body(
        "With",
        "a manager of a library that is given what is differentiated",
        REFUSED,
        "with contextlib.closing(x) as y:\n    z = y * y\nreturn z",
    ),
    body(
        "Match match_case MatchValue MatchSingleton MatchAs MatchOr",
        "`match`: values, `|`, captures, `as`, `_`, guards",
        DONE,
        "match len('abc'):\n    case 1 | 2 as n:\n        return x * n\n    case None:\n        return x\n"
        "    case n if n > 5:\n        return x**n\n    case _:\n        return x * x",
    ),
    body(
        "MatchSequence MatchStar MatchMapping MatchClass",
        "`match`: sequences, `*rest`, mappings, classes",
        DONE,
        "match [x, {'w': x * x}, 2.0]:\n    case [a, {'w': w}, *rest]:\n"
        "        match rest[0]:\n            case float(c):\n                return a * w * c\n"
        "return x",
    ),
    body(
        "MatchMapping",
        "`match`: `**rest` of a mapping",
        DONE,
        "match {'a': x, 'b': 2.0 * x}:\n    case {'a': a, **rest}:\n"
        "        return a * rest['b']\nreturn x",
    ),
    Row(
        "Global",
        "`global`: values without derivatives, read and written in order",
        PASSED,
        "calls = 0\ndef f(x):\n    global calls\n    calls += 1\n    return x * x",
    ),
    Row(
        "Global",
        "`global`: a value that carries derivatives",
        REFUSED,
        "last = 0.0\ndef f(x):\n    global last\n    last = x * x\n    return last",
    ),
    body(
        "Nonlocal",
        "`nonlocal` in an inner function that is called",
        DONE,
        "s = 0.0\ndef add(v):\n    nonlocal s\n    s = s + v * v\nadd(x)\nadd(2.0 * x)\nreturn s",
    ),
    body(
        "ClassDef",
        "a class inside",
        DONE,
        "class C:\n    def __init__(self, w):\n        self.w = w\n\n"
        "    def twice(self):\n        return self.w * 2.0\nreturn C(x * x).twice()",
    ),
    body(
        "ClassDef",
        "a class inside that captures variables, or is changed",
        REFUSED,
        "class C:\n    def scaled(self, v):\n        return v * x\nreturn C().scaled(x)",
    ),
    Row("AsyncFunctionDef", "`async def`", REFUSED, "async def f(x):\n    return x * x"),
    Row(
        "Await AsyncFor AsyncWith",
        "`await`, `async for`, `async with`",
        REFUSED,
        "async def f(x):\n    async for y in x:\n        async with y:\n            await y\n"
        "    return x",
    ),
    body("TypeAlias", "`type` inside", REFUSED, "type T = float\nreturn x * x", (3, 12)),
    Row(
        "TypeVar ParamSpec TypeVarTuple",
        "type parameters",
        PASSED,
        "def f[T, **P, *Ts](x: T) -> T:\n    return x * x",
        (3, 12),
    ),
    # ----------------------------------------------------------------------- expressions
    body(
        "BinOp Add Sub Mult Div Pow Mod FloorDiv MatMult",
        "arithmetic",
        DONE,
        "a = np.ones((2, 2)) * x\ny = (a @ a)[0, 0] - x / 3 + x**2\nreturn y % 7.0 + x // 5.0",
    ),
    body(
        "UnaryOp UAdd USub Not Invert LShift RShift BitOr BitXor BitAnd",
        "signs; bits of integers",
        PASSED,
        "n = (3 << 2 | 1 ^ 4) & ~2 >> 1\nreturn -x * +x * n * (not n)+ x * n",
    ),
    body(
        "BoolOp And Or",
        "`and`, `or`, `not` as values",
        DONE,
        "y = x > 5 and x or x * x\nreturn y * (not y or 2)",
    ),
    body(
        "Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn",
        "comparisons, also chained",
        PASSED,
        "if 0 < x <= 2 != 3 and x is not None and x not in (5, 6):\n    y = x * x\n"
        "return y * (1 in (1, 2)) * (3 > 2 >= 2 == 2) * (None is None)",
    ),
    body("IfExp", "`a if c else b`", DONE, "return x * x if x > 0 else -x"),
    body("NamedExpr", "`(y := v)`", DONE, "if (y := x * x) > 0:\n    return y * x\nreturn x"),
    body("Call keyword", "calls", DONE, "return np.sum(a=np.array([x, x * x]), axis=0)"),
    body("Lambda", "`lambda`", DONE, "square = lambda v: v * v\nreturn square(x) * x"),
    body(
        "Attribute", "attributes", DONE, "a = np.array([[x, 1.0], [2.0, x]])\nreturn a.T[0, 1] * x"
    ),
    body(
        "Subscript Slice",
        "items and slices",
        DONE,
        "a = np.array([x, x * x, 3.0])\nreturn np.sum(a[1:] * a[:-1]) * a[0]",
    ),
    body("Constant", "literals", PASSED, "'text'\nreturn x * 2 * 1.5"),
    body(
        "List Tuple Dict Set Starred",
        "displays, unpacking, `*rest`",
        DONE,
        "a, *rest = (x, x * x, 2.0)\nd = {'r': [*rest]}\nreturn a * d['r'][0] * len({1, 2})",
    ),
    body(
        "ListComp DictComp SetComp GeneratorExp comprehension",
        "comprehensions",
        DONE,
        "a = [x * i for i in range(4) if i % 2]\nd = {i: v * v for i, v in enumerate(a)}\n"
        "return sum(v for v in d.values()) * len({i for i in range(3)})",
    ),
    body(
        "JoinedStr FormattedValue",
        "f-strings",
        PASSED,
        "print(f'{x:.1f} {x!r}')\nreturn x * x",
    ),
    body("Yield", "`yield`", REFUSED, "y = x * x\nyield y"),
    body("YieldFrom", "`yield from`", REFUSED, "yield from [x]"),
    body("TemplateStr Interpolation", "t-strings", PASSED, "t'{x}'\nreturn x * x", (3, 14)),
    # ---------------------------------------------------------------------------- scopes
    Row(
        "",
        "`np` as a variable",
        DONE,
        "def f(x):\n    np = x * x\n    return np * x",
    ),
    Row(
        "",
        "names like those that are emitted",
        DONE,
        "def f(x):\n    x_bar = x * x\n    x_dot = x_bar * x\n    x_saved = x_dot * x_bar\n"
        "    return x_saved * x_dot",
    ),
    Row(
        "",
        "a built-in's name as a variable",
        DONE,
        "def f(x):\n    sum = 0.0\n    for range in [x, x * x]:\n        sum = sum + range * x\n"
        "    reversed = len = sum\n    return len * reversed",
    ),
    Row(
        "",
        "returns from nested branches in loops",
        DONE,
        "def f(x):\n    s = x\n    for i in range(3):\n        for j in range(3):\n"
        "            if i > 0:\n                if j > 1:\n                    return s * x\n"
        "                elif s > 100:\n                    break\n            s = s * x + j\n"
        "    return s",
    ),
    *IDIOMS,
)
