"""Live functions from emitted text: they see the user's world as the original does."""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tangentlike import ir
from tangentlike.codegen.print import emit, load
from tangentlike.frontend.lower import lower, read_function
from tangentlike.frontend.resolve import Scope
from tangentlike.runtime import unbroadcast

RATE = 0.5
TABLE = [1.0]


def helper(x: float) -> float:
    return x + RATE


def copy_of(fn: Callable[..., Any], rename: str = "") -> Any:
    """A function lowered, printed and loaded again."""
    lowered = lower(fn)
    return load(emit(ir.Module((lowered.function,)), lowered.scope))[fn.__name__]


def uses_globals(x: float) -> float:
    return helper(x) * RATE + TABLE[0]


def test_globals_stay_live(monkeypatch: pytest.MonkeyPatch) -> None:
    made = copy_of(uses_globals)
    assert made(1.0) == uses_globals(1.0)
    monkeypatch.setitem(globals(), "RATE", 7.0)
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    TABLE[0] = 3.0
    assert made(1.0) == uses_globals(1.0) == -4.0
    TABLE[0] = 1.0


def test_closure_cells_are_shared() -> None:
    def make(scale: float) -> tuple[Callable[[float], float], Callable[[float], None]]:
        def inner(x: float) -> float:
            return x * scale

        def change(value: float) -> None:
            nonlocal scale
            scale = value

        return inner, change

    inner, change = make(2.0)
    made = copy_of(inner)
    assert made(3.0) == 6.0
    change(5.0)
    assert made(3.0) == 15.0
    assert made.__closure__ == inner.__closure__


def evaluated_once() -> Any:
    evaluated_once.count += 1  # type: ignore[attr-defined]
    return [evaluated_once.count]  # type: ignore[attr-defined]


evaluated_once.count = 0  # type: ignore[attr-defined]


def with_defaults(x, y=2.0, /, z=evaluated_once(), *, w=np.pi, v: undefined = None):  # type: ignore  # noqa: B008, F821
    return x * y, z, w, v


def test_defaults_are_the_original_objects() -> None:
    made = copy_of(with_defaults)
    assert made.__defaults__[1] is with_defaults.__defaults__[1]
    assert made(1.0) == (2.0, [1], np.pi, None)
    assert str(inspect.signature(made)).startswith("(x, y=2.0, /, z=[1], *, w=3.14")
    assert evaluated_once.count == 1  # type: ignore[attr-defined]


def test_the_text_is_what_tools_show() -> None:
    made = copy_of(uses_globals)
    assert inspect.getsource(made).startswith("def uses_globals(x: float):\n")
    assert made.__module__ == __name__
    assert made.__qualname__ == "uses_globals"
    linecache.checkcache()
    with pytest.raises(TypeError) as caught:
        made("x")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert any("helper(x)" in (f.line or "") for f in frames if "<tangentlike" in f.filename)


def test_file_name_is_stable_and_its_own() -> None:
    first, again, other = copy_of(uses_globals), copy_of(uses_globals), copy_of(helper)
    assert first.__code__.co_filename == again.__code__.co_filename
    assert first.__code__.co_filename != other.__code__.co_filename
    assert first.__code__.co_filename.startswith("<tangentlike uses_globals ")


def test_first_line_is_the_definition() -> None:
    made = copy_of(uses_globals)
    lines = linecache.getlines(made.__code__.co_filename)
    assert lines[made.__code__.co_firstlineno - 1].startswith("def uses_globals")


def test_nothing_is_written_into_the_users_module() -> None:
    names: dict[str, Any] = {"__name__": "model", "np": np}
    before = dict(names)
    source = "def f(x):\n    return unbroadcast(np.exp(x), x)\n"
    fn = read_function(source, {**names, "unbroadcast": unbroadcast})
    made = load(emit(ir.Module((fn,)), Scope.of_names(names)))["f"]
    assert made(0.0) == 1.0
    assert {n: v for n, v in names.items() if n != "__builtins__"} == before


def test_builtin_that_the_users_module_hides() -> None:
    def mine(*args: Any) -> int:
        raise AssertionError

    scope = Scope.of_names({"__name__": "model", "len": mine})
    fn = read_function("def f(x):\n    return len(x)\n", {"len": len})
    assert load(emit(ir.Module((fn,)), scope))["f"]([1, 2]) == 2


def test_local_name_that_hides_an_import() -> None:
    fn = read_function("def f(x):\n    return np.abs(x)\n", {"np": np})
    fn = ir.Function("f", (ir.Param("x"), ir.Param("np")), fn.body, fn.place)
    made = load(emit(ir.Module((fn,)), Scope.of_names({"np": np})))["f"]
    assert made(-2.0, None) == 2.0


def test_same_name_in_two_modules_stays_live_in_both() -> None:
    mine, theirs = {"__name__": "model", "N": 2}, {"__name__": "other", "N": 1}
    first = read_function("def g_fwd(x):\n    return N\n", theirs)
    second = read_function("def f(x):\n    return N + g_fwd(x)\n", {**mine, "g_fwd": object()})
    scopes = {"g_fwd": Scope.of_names(theirs)}
    made = load(emit(ir.Module((first, second)), Scope.of_names(mine), scopes))["f"]
    assert made(0) == 3
    mine["N"], theirs["N"] = 20, 10
    assert made(0) == 30


def test_functions_of_a_file_call_each_other() -> None:
    source = "def even(n):\n    return True if n == 0 else odd(n - 1)\n"
    stands_for = {"odd": object(), "even": object()}
    even = read_function(source, stands_for)
    odd = read_function("def odd(n):\n    return False if n == 0 else even(n - 1)\n", stands_for)
    made = load(emit(ir.Module((even, odd)), Scope.of_names({})))
    assert made["even"](10) is True
    assert made["odd"](10) is False


def test_comprehension_and_lambda_reach_the_cells() -> None:
    source = "def f(xs):\n    return [unbroadcast(np.exp(x), x) for x in xs], (lambda: np.pi)()\n"
    fn = read_function(source, {"np": np, "unbroadcast": unbroadcast})
    made = load(emit(ir.Module((fn,)), Scope.of_names({})))["f"]
    assert made([0.0]) == ([1.0], np.pi)


def test_an_emitted_function_can_be_read_again() -> None:
    made = copy_of(copy_of(uses_globals))
    assert made(1.0) == uses_globals(1.0)
    scope = lower(made).scope
    assert scope.module is not None
    assert scope.module.__name__ == __name__
