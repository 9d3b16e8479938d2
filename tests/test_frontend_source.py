"""Finding the source of live functions, and resolving what their names mean."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy as xp
import pytest

import tangentlike as tl
from tangentlike import UnsupportedError
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import Scope, lower
from tangentlike.frontend.source import code_in_file, restore_sources, sources_of
from tangentlike.ir import Call, Opaque, Ref, expressions, statements, walk

SCALE = 3.0


def text_of(fn: Callable[..., Any]) -> str:
    return show(lower(fn).function.body)


def refs(fn: Callable[..., Any]) -> dict[str, Any]:
    found = {}
    for stmt in statements(lower(fn).function.body):
        for expr in expressions(stmt):
            for part in walk(expr):
                if isinstance(part, Ref):
                    found[part.text] = part.obj
                if isinstance(part, Opaque):
                    found.update((ref.text, ref.obj) for ref in part.refs)
    return found


class Scaled:
    def __init__(self) -> None:
        self.__w = 2.0
        self.both = (lambda x: self.__w * x), (lambda x: self.__w / x)


def test_lambdas_on_one_line() -> None:
    f, g = lambda x: x + 1, lambda x: x + 1.0
    table = {"a": lambda x: lambda y: x * y, "b": (lambda x: x / 2)}
    inner = table["a"](3)
    twins = [lambda x: x - SCALE, lambda x: x - SCALE]
    assert text_of(f) == "total = x + 1\nreturn total"
    assert text_of(g) == "total = x + 1.0\nreturn total"
    assert text_of(inner) == "product = x * y\nreturn product"
    assert text_of(table["b"]) == "ratio = x / 2\nreturn ratio"
    assert [text_of(t) for t in twins] == ["difference = x - SCALE\nreturn difference"] * 2
    assert [text_of(t).splitlines()[1] for t in Scaled().both] == [
        "product = _Scaled__w * x",
        "ratio = _Scaled__w / x",
    ]


def test_lambdas_on_one_line_of_a_file_that_has_changed() -> None:
    name = "<changed lambdas>"
    text = "f, g = lambda x: x + 1, lambda x: x + 2"
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    new = text.replace("1", "3")
    linecache.cache[name] = (len(new), None, [new], name)
    with pytest.raises(UnsupportedError, match="is not at this line"):
        lower(namespace["f"])
    assert text_of(namespace["g"]) == "total = x + 2\nreturn total"


def test_lambda_over_several_lines_and_its_name() -> None:
    f = lambda x: (  # noqa: E731
        x + 1
    )
    function = lower(f).function
    assert function.name == "f"
    assert function.body[0].origin.place.text == "x + 1"


def doubled(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        return 2 * fn(*args)

    return wrapper


@doubled
@doubled
def decorated(x: float, *, n: int = 2) -> float:
    """Its documentation."""
    return x * n


class Model:
    def __init__(self) -> None:
        self.__w = 2.0

    def predict(self, x: float) -> float:
        return self.__w * x

    @staticmethod
    def shift(x: float) -> float:
        return x + 1

    def up(self) -> Any:
        return super().up()


def test_decorated_functions_and_methods() -> None:
    inner = decorated.__wrapped__.__wrapped__  # type: ignore[attr-defined]
    function = lower(inner).function
    assert function.doc == "Its documentation."
    assert [(p.name, p.kind, p.annotation) for p in function.params] == [
        ("x", "any", "float"),
        ("n", "keyword", "int"),
    ]
    assert "self._Model__w" in text_of(Model().predict)
    assert text_of(Model.shift) == "total = x + 1\nreturn total"


def test_parameters() -> None:
    def f(a, /, b, c=SCALE, *rest, d, e=(1, "x"), **options):
        return a

    params = lower(f).function.params
    assert [(p.name, p.kind) for p in params] == [
        ("a", "positional"),
        ("b", "any"),
        ("c", "any"),
        ("rest", "*"),
        ("d", "keyword"),
        ("e", "keyword"),
        ("options", "**"),
    ]
    assert params[2].default == Ref("SCALE", SCALE)


def test_notebook_cells_and_changed_files(tmp_path: Path) -> None:
    cell = "<ipython-input-7-tl>"
    code = "import numpy as np\ndef f(x):\n    return np.sin(x)\n"
    linecache.cache[cell] = (len(code), None, code.splitlines(True), cell)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, cell, "exec"), names)
    assert text_of(names["f"]) == "sin_x = np.sin(x)\nreturn sin_x"

    path = tmp_path / "model.py"
    path.write_text("def f(x):\n    return x * 2\n")
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text("# moved down\n\ndef f(x):\n    return x * 2\n")
    with pytest.raises(UnsupportedError, match="not at this line"):
        lower(names["f"])


def test_no_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x", names)
    with pytest.raises(UnsupportedError, match="cannot be found") as info:
        lower(names["f"])
    assert "@tl.rule" in info.value.hint
    for fn in (math.sin, np.sum, functools.partial(test_no_source, 1), Model):
        with pytest.raises(UnsupportedError):
            lower(fn)


def test_texts_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 knows the text of `python -c` as `<string>`, as it calls that of any `exec`."""
    text = "def f(x):\n    return x * 2"
    given = (len(text), None, text.splitlines(True), "<string>")
    monkeypatch.setitem(linecache.cache, "<string>", given)
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x * 2.0", names)
    with pytest.raises(UnsupportedError, match="cannot be found"):
        lower(names["f"])
    exec(text, names)
    assert text_of(names["f"]) == "product = x * 2\nreturn product"


def make(scale: Any, helper: Any) -> Callable[..., Any]:
    def inner(x):
        return helper(x) * scale + SCALE + xp.linalg.norm(x) + Model.shift(x) + math.pi

    return inner


def test_names_are_resolved() -> None:
    helper = test_no_source
    fn = make(np.ones(2), helper)
    found = refs(fn)
    assert found["helper"] is helper
    assert found["xp.linalg.norm"] is np.linalg.norm
    assert found["Model.shift"] is Model.shift
    assert found["SCALE"] is SCALE
    assert found["math.pi"] is math.pi
    scope = lower(fn).scope
    assert scope.fn is fn
    assert scope.module is sys.modules[__name__]
    assert scope.numpy_alias == "xp"
    kinds = {name: scope.kind_of_name(name) for name in ("scale", "SCALE", "len")}
    assert kinds == {"scale": "closure", "SCALE": "global", "len": "builtin"}
    with pytest.raises(KeyError):
        scope.lookup("no_such_name")
    assert lower(fn).function.free == ("helper", "scale")


def test_alias_of_the_array_module() -> None:
    module = types.ModuleType("stand_in")
    for name in ("ndarray", "tanh", "matmul", "zeros_like"):
        setattr(module, name, getattr(np, name))
    assert Scope.of_names({"math": math, "cp": module}).numpy_alias == "cp"
    assert Scope.of_names({"math": math}).numpy_alias == "np"


def test_names_inside_opaque_code() -> None:
    def f(xs, k):
        return [str(x * k * SCALE) for x in xs if x > min(xs)]

    values = [e for s in statements(lower(f).function.body) for e in expressions(s)]
    (listed,) = (v for v in values if isinstance(v, Opaque))
    assert listed.names == ("xs", "k")
    assert {ref.text for ref in listed.refs} == {"SCALE", "min", "str"}


def live(code: str) -> Any:
    """The function `f` of some code, its text known as that of a notebook cell is."""
    names: dict[str, Any] = {"np": np}
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), names)
    return names["f"]


def test_calls_know_their_place() -> None:
    fn = live("""def f(x):
    é = "ü"; y = np.sin(x) + np.cos(
        # a comment
        x * 2,
        dtype=float,  # another
    )
    return y
""")
    calls = {}
    for stmt in statements(lower(fn).function.body):
        for expr in expressions(stmt):
            for part in walk(expr):
                if isinstance(part, Call) and part.at is not None:
                    calls[show(part)] = part.at
    at = calls["np.cos(product, dtype=float)"]
    assert at.text == "y = np.sin(x) + np.cos(x * 2, dtype=float,)"
    assert at.text[at.column : at.column + at.width] == "np.cos(x * 2, dtype=float,)"
    assert at.file == fn.__code__.co_filename
    inner = calls["x * 2"]
    assert inner.text[inner.column : inner.column + inner.width] == "x * 2"
    assert inner.line == at.line + 2


def test_text_of_headers() -> None:
    fn = live("""def f(xs, t):
    for i, x in enumerate(
        xs,
    ):  # a comment
        if (x > t  # why: because
                and i):
            t = x; t += 1
        elif x: t = 2
        else:
            while t < 3: t += 1  # on one line
    return t
""")
    texts = [s.origin.place.text for s in statements(lower(fn).function.body)]
    assert "for i, x in enumerate(xs,):" in texts
    assert "if (x > t and i):" in texts
    assert "elif x:" in texts
    assert "while t < 3:" in texts
    assert "t += 1" in texts
    assert "t = x" in texts


def test_a_file_that_changes_before_the_first_call(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("import numpy as np\n\n\ndef loss(x):\n    return np.sum(x**2)\n")
    spec = importlib.util.spec_from_file_location("edited", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gradient, square = tl.grad(module.loss), tl.grad(lambda x: x * x)
    path.write_text("import numpy as np\n\n\ndef loss(x):\n    return np.sum(x**30)\n")
    np.testing.assert_array_equal(gradient(np.array([1.0, 2.0])), [2.0, 4.0])
    assert square(3.0) == 6.0


EDITED = {
    "a number": "return SCALE * x - y / 3.0",
    "an operator": "return SCALE * x + y / 2.0",
    "the order": "return SCALE * y - x / 2.0",
    "a name": "return OTHER * x - y / 2.0",
}


@pytest.mark.parametrize("new", EDITED.values(), ids=EDITED)
def test_a_file_that_has_changed_since_it_was_imported(tmp_path, new) -> None:
    """The derivative of the new text would not be that of the function that is called."""
    old = "SCALE = OTHER = 2.0\nclass Model:\n    def loss(self, x, y):\n        return SCALE * x - y / 2.0\n"
    path = tmp_path / "edited.py"
    path.write_text(old)
    namespace: dict[str, Any] = {}
    exec(compile(old, str(path), "exec"), namespace)
    path.write_text(old.replace("return SCALE * x - y / 2.0", new))
    with pytest.raises(UnsupportedError, match="`loss` has changed"):
        lower(namespace["Model"].loss)
    path.write_text(old.replace("    def", "    # (a comment)\n    def"))
    with pytest.raises(UnsupportedError, match="not at this line"):
        lower(namespace["Model"].loss)
    path.write_text(old + "\n\nOTHER = 3.0\n")
    lower(namespace["Model"].loss)


ARRIVED = """\
import numpy as np

def helper(x):
    return np.sin(x) * x

def loss(x):
    square = lambda v: v * helper(v)
    return square(x) + helper(x)
"""


def test_a_function_that_arrives_without_its_file_has_the_text_that_came_with_it(
    tmp_path: Path,
) -> None:
    """As `cloudpickle` brings functions since 3.1.3."""
    file = tmp_path / "arrived.py"
    file.write_text(ARRIVED)
    namespace: dict[str, Any] = {"__name__": "arrived"}
    exec(compile(ARRIVED, str(file), "exec"), namespace)
    loss, helper = namespace["loss"], namespace["helper"]
    texts = sources_of(loss)
    assert texts == {str(file): ARRIVED}
    for function in (loss, helper):
        function.__code__ = code_in_file(function.__code__, "<dynamic-code>")
    file.unlink()
    linecache.checkcache(str(file))
    with pytest.raises(tl.UnsupportedError, match="the source of `loss` cannot be found"):
        tl.grad(loss)
    restore_sources(texts)
    df, e = tl.grad(loss), 1e-6
    assert df(0.7) == pytest.approx((loss(0.7 + e) - loss(0.7 - e)) / (2 * e))
    assert tl.grad(df)(0.7) == pytest.approx((df(0.7 + e) - df(0.7 - e)) / (2 * e))
    assert loss.__code__.co_filename == helper.__code__.co_filename == str(file)
    assert sources_of(loss) == texts


chosen = lambda a, h=lambda v: v**2: h(a)  # noqa: E731


def test_a_lambda_that_is_a_default_of_a_lambda() -> None:
    assert tl.grad(chosen)(3.0) == 6.0
    assert tl.grad(chosen)(3.0, lambda v: v**3) == 27.0
