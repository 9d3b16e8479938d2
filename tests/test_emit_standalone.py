"""Files that need NumPy only: run in an interpreter that has no tangentlike."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import json
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
import tangentlike.runtime
from tangentlike import ir
from tangentlike.codegen.print import standalone
from tangentlike.codegen.print.short_forms import SHORT, fitting
from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower, read_function
from tangentlike.frontend.resolve import Scope
from tangentlike.runtime import unbroadcast
from tests.processes import python
from tests.programs import BY_NAME

RATE = 0.5
SINGLE = np.float32(1.5)
TABLE = np.array([[1.0, 2.0], [3.0, np.inf]], dtype=np.float32)
SETTINGS = {"steps": (1, 2), "name": "x"}
LARGE = np.zeros(65)
STRANGE = object()


def halve(x: Any) -> Any:
    return x * RATE


def twice_halved(x: Any) -> Any:
    """Uses another helper."""
    return halve(halve(x))


@functools.cache
def nodes(n: int) -> Any:
    return np.polynomial.legendre.leggauss(n)[0] * RATE


def at_nodes(x: Any) -> Any:
    return np.sum(np.sin(x * nodes(3)))


class Stepper:
    def __init__(self, step: float) -> None:
        self.step = step * RATE


def model(x: Any) -> Any:
    y = twice_halved(x) + TABLE[0, 1] + SINGLE
    return y * SETTINGS["steps"][1] + Stepper(2.0).step


def text_of(fn: Any) -> str:
    lowered = lower(fn)
    return standalone(ir.Module((lowered.function,)), lowered.scope)


def run(text: str, call: str) -> str:
    """The printed value of an expression after a file, in an interpreter without tangentlike."""
    block = "import sys\nsys.modules['tangentlike'] = None\n"
    program = text.replace("from __future__ import annotations", "", 1)
    return python("-c", f"{block}{program}\nprint({call})").strip()


def test_helpers_data_and_classes_come_along() -> None:
    text = text_of(model)
    assert "# model as a file of its own: needs only NumPy." in text
    assert "import tangentlike" not in text and "from tests" not in text
    assert text.index("def halve") < text.index("def twice_halved") < text.index("def model")
    assert float(run(text, "float(model(3.0))")) == pytest.approx(float(model(3.0)))


# (Those that derive functions when the program runs are refused in a file of its own.)
HELPERS = sorted(
    {name for name, obj in vars(tangentlike.runtime).items() if callable(obj)}
    - {"pair_of", "tangent_of"}
)


def test_a_helper_with_a_cache_is_copied() -> None:
    text = text_of(at_nodes)
    assert "@functools.cache\ndef nodes(n" in text
    assert float(run(text, "at_nodes(0.7)")) == pytest.approx(at_nodes(0.7))


def test_runtime_helpers_come_along_with_what_they_call() -> None:
    fn = read_function("def f(g, x):\n    return unbroadcast(g, x)\n", {"unbroadcast": unbroadcast})
    text = standalone(ir.Module((fn,)), Scope.of_names({}))
    assert "tangentlike" not in text
    assert run(text, "f(np.ones((2, 3)), np.ones(3))") == "[2. 2. 2.]"


@functools.cache
def alone() -> dict[str, str]:
    """For each helper of the runtime, the text of a file that calls it and nothing else."""
    texts = {}
    for name in HELPERS:
        names = {name: getattr(tangentlike.runtime, name)}
        fn = read_function(f"def f(x):\n    return {name}(x)\n", names)
        texts[name] = standalone(ir.Module((fn,)), Scope.of_names({}))
    return texts


def test_every_runtime_helper_can_be_copied() -> None:
    for name, text in alone().items():
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        undefined = _undefined(namespace)
        assert not undefined, f"{name} needs {undefined}"
        assert "tangentlike" not in text.replace("tangentlike/", ""), name


_EXAMPLES = """
import doctest, json, sys
import numpy as np
sys.modules["tangentlike"] = None
count, failed = 0, []
for name, (text, doc) in json.load(sys.stdin).items():
    namespace = {"np": np}
    exec(text, namespace)
    namespace[name].__doc__ = doc
    for test in doctest.DocTestFinder().find(namespace[name], name, globs=namespace):
        result = doctest.DocTestRunner(verbose=False).run(test)
        count += result.attempted
        failed += [name] * bool(result.failed)
print(count, failed)
"""


def test_examples_of_the_runtime_hold_in_files_of_their_own() -> None:
    """Each helper alone in an interpreter that has no tangentlike; its constants come along."""
    texts = {n: (text, getattr(tangentlike.runtime, n).__doc__) for n, text in alone().items()}
    done = subprocess.run(
        [sys.executable, "-c", _EXAMPLES], input=json.dumps(texts), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    count, _, failed = done.stdout.strip().splitlines()[-1].partition(" ")
    assert failed == "[]", done.stdout
    assert int(count) >= 70


def _undefined(namespace: dict[str, Any]) -> list[str]:
    missing = []
    for value in list(namespace.values()):
        if isinstance(value, types.FunctionType) and value.__globals__ is namespace:
            for name in _global_names(value.__code__):
                builtins = namespace["__builtins__"]
                if name not in namespace and name not in builtins:
                    missing.append(name)
    return missing


def _global_names(code: types.CodeType) -> set[str]:
    import dis

    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _global_names(inner)
    return found


def test_closure_values_are_written_out() -> None:
    def make(scale: float) -> Any:
        def inner(x: float) -> float:
            return x * scale

        return inner

    text = text_of(make(2.5))
    assert "\nscale = 2.5\n" in text
    assert run(text, "inner(2.0)") == "5.0"


class Doubled:
    def twice(self) -> Any:
        return self.w * 2.0  # type: ignore[attr-defined]


class Scaled:
    def __init__(self, w: Any) -> None:
        self.w = w


class Both(Doubled, Scaled):
    pass


def both(x: float) -> Any:
    return Both(x * 3.0).twice() * Scaled(x).w


def test_classes_stand_below_those_that_they_are_made_of() -> None:
    text = tl.grad(both).__tangentlike__.derive().standalone()  # type: ignore[attr-defined]
    assert text.index("class Scaled") < text.index("class Both(Doubled, Scaled)")
    assert run(text, "both_grad(2.0)") == "24.0"


def test_same_name_in_the_runtime_and_in_the_users_code() -> None:
    names = {"unbroadcast": unbroadcast, "_sum_to": halve}
    fn = read_function("def f(g, x):\n    return unbroadcast(_sum_to(g), x)\n", names)
    text = standalone(ir.Module((fn,)), Scope.of_names({"_sum_to": halve}))
    assert run(text, "f(np.ones((2, 3)), np.ones(3))") == "[1. 1. 1.]"


def test_libraries_are_imported_and_mentioned() -> None:
    special = pytest.importorskip("scipy.special")
    source = "def f(x):\n    return special.expit(x) + gamma(x)\n"
    names = {"special": special, "gamma": special.gamma}
    fn = read_function(source, names)
    text = standalone(ir.Module((fn,)), Scope.of_names({**names, "__name__": "model"}))
    assert "needs NumPy and scipy." in text
    assert run(text, "f(1.0) > 1.7") == "True"


def uses_large(x: Any) -> Any:
    return x * LARGE[0]


def uses_strange(x: Any) -> Any:
    return x if STRANGE else x * 2.0


@pytest.mark.parametrize(("fn", "name"), [(uses_large, "LARGE"), (uses_strange, "STRANGE")])
def test_data_that_cannot_be_written_out_is_refused(fn: Any, name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"`{name}` is a .*\nMake it a parameter"):
        text_of(fn)


def test_lambda_is_refused() -> None:
    fn = read_function("def f(x):\n    return g(x)\n", {"g": lambda x: x})
    with pytest.raises(UnsupportedError, match="`g` has no source that could be copied"):
        standalone(ir.Module((fn,)), Scope.of_names({}))


def test_module_of_the_users_is_refused() -> None:
    mine = types.ModuleType("mine")
    mine.helper = halve  # type: ignore[attr-defined]
    fn = read_function("def f(x):\n    return mine.helper(x)\n", {"mine": mine})
    with pytest.raises(UnsupportedError, match="cannot import `mine`"):
        standalone(ir.Module((fn,)), Scope.of_names({"mine": mine}))


def test_same_input_same_text() -> None:
    assert text_of(model) == text_of(model)


# --------------------------------------------------------------- short forms of helpers

NUMBERS: list[Any] = [2.0, 3, np.float64(1.5), np.float32(0.5), 1.0 + 2.0j]
ARRAYS = [
    *(rng.normal(size=shape) for rng in [np.random.default_rng(1)] for shape in [(), (3,)]),
    *(np.arange(1.0, 4.0).reshape(1, 3), np.arange(6.0).reshape(2, 3) + 0.5),
    *(np.arange(3.0, dtype=np.float32), np.arange(3), np.array([1.0j, 2.0, 3.0])),
]
SEEDS = [np.full(shape, 0.5) for shape in [(), (3,), (2, 3), (4, 2, 3), (1, 3)]]
SEEDS += [np.arange(6.0).reshape(2, 3) * (1.0 + 2.0j), np.float64(2.0), np.ones(3, np.float32)]


def _same(short: Any, long: Any, like: Any) -> bool:
    """Equal, in one dtype where that of an array is asked for (`2.0` may stand for
    `np.float32(2.0)`: NumPy computes the same with it)."""
    floats = getattr(like, "ndim", 0) > 0 and like.dtype.kind in "fc"
    of_one_type = not floats or np.asarray(short).dtype == np.asarray(long).dtype
    return (
        np.allclose(short, long, rtol=1e-15) and np.shape(short) == np.shape(long) and of_one_type
    )


def _compared(name: str, cases: list[tuple[Any, ...]]) -> int:
    """How many cases the runtime's own helper takes; its short form gives the same in each."""
    count = 0
    for args in cases:
        try:
            want = getattr(tangentlike.runtime, name)(*copy.deepcopy(args))
        except Exception:  # (a seed that fits no such value)
            continue
        got = SHORT[name](*copy.deepcopy(args))
        assert _same(got, want, args[-1]), f"{name}{args}: {got!r}, and not {want!r}"
        count += 1
    return count


@pytest.mark.parametrize("name", ["unbroadcast", "broadcast_like"])
def test_short_forms_sum_and_spread_as_the_runtime_does(name: str) -> None:
    cases = [(g, like) for g in (*SEEDS, *NUMBERS) for like in (*ARRAYS, *NUMBERS)]
    cases = [
        (g, y) for g, y in cases if np.isrealobj(g) or (np.ndim(y) and np.asarray(y).dtype != int)
    ]
    if name == "broadcast_like":
        cases = [(g, y) for g, y in cases if np.ndim(g) == 0 or np.shape(g) == np.shape(y)]
    assert _compared(name, cases) >= 60


@pytest.mark.parametrize("name", ["zeros_like", "scalar_seed", "conj", "swap_last"])
def test_short_forms_of_one_value(name: str) -> None:
    assert _compared(name, [(x,) for x in (*ARRAYS, *NUMBERS)]) >= 5


def test_tests_of_types() -> None:
    """They refuse what the runtime's helper refuses."""
    stated = ["float", "int", "bool", "complex", "number", "float[]", "float[:]", "float[n, m]"]
    stated += ["float[...]", "int[?]", "float[3]", "complex[:]", "float[1, n]"]
    refused = 0
    for text in stated:
        for x in (*ARRAYS, *NUMBERS, True, np.int8(3), np.ones(1), "x", None):
            types = f"x: {text}, w: float[n]"
            test = fitting(types)
            assert test is not None
            try:
                tangentlike.runtime.require_types(types, x, np.ones(3))
            except TypeError:
                refused += 1
                assert not eval(test, {"np": np}, {"x": x, "w": np.ones(3)}), (text, x)
            else:
                assert eval(test, {"np": np}, {"x": x, "w": np.ones(3)}), (text, x)
    assert 100 < refused < 200
    for text in ("list[list[float[n]]]", "None", "float | None", "dict(v: None)"):
        assert fitting(f"x: float[:], y: {text}, w: float[n]") is None


class Point:
    def __init__(self, x: Any) -> None:
        self.x = x


def test_tests_of_containers() -> None:
    """They refuse what the runtime's helper refuses, or cannot be asked of it."""
    v, m, one = np.ones(3), np.ones((3, 2)), np.ones(1)
    values = (
        *([v, v], [v, one], [v, 1.0], [1.0, 2], [m, m], [m, np.ones((3, 4))], [], (v, 1.0), (v, v)),
        *({"v": v, "m": m}, {"v": v}, {"v": one, "m": m}, {"v": v, "m": np.ones((4, 2))}, {}),
        *(Point(v), Point(m), Point(1.0), v, None, [1.0j], {"v": 1.0, "m": 2.0}),
    )
    stated = ("list[float]", "list[float[:]]", "list[float[n, m]]", "list[float[...]]")
    stated += ("dict[float[...]]", "dict(v: float[n], m: float[n, k])", "dict[float]")
    stated += ("tuple[float[:], float]", "Point(x: float[n])", "dict(v: float)")
    fits = 0
    for text in stated:
        for x in values:
            types = f"x: {text}, w: float[n]"
            test = fitting(types)
            assert test is not None
            try:
                found = eval(test, {"np": np, "x": x, "w": np.ones(3)})
            except (KeyError, AttributeError):
                found = False
            try:
                tangentlike.runtime.require_types(types, x, np.ones(3))
            except TypeError:
                assert not found, (text, x)
            else:
                fits += 1
                assert found, (text, x)
    assert fits >= 15


def test_short_forms_add_at_places() -> None:
    keys: list[Any] = [
        0,
        slice(1),
        [0, 0, 1],
        (0, 1),
        np.array([True, False]),
        Ellipsis,
        (0, [1, 1]),
    ]
    cases = [(np.ones((2, 3)), key, g) for key in keys for g in (2.0, np.float32(1.0), 1.0j)]
    assert _compared("add_at", cases) == 21


def test_short_forms_of_products() -> None:
    shapes: list[tuple[int, ...]] = [(3,), (2, 3), (4, 2, 3), (1, 3)]
    others: list[tuple[int, ...]] = [(3,), (3, 2), (4, 3, 2), (3, 1)]
    rng = np.random.default_rng(2)
    for name in ("matmul_bar_a", "matmul_bar_b"):
        count = 0
        for a, b in itertools.product(shapes, others):
            x, y = rng.integers(4, size=(2, *a))[0] * 1.0, rng.integers(4, size=b) * (1.0 + 1.0j)
            for z in (y, y.real):
                for shape in {(x @ z).shape, (5, *(x @ z).shape), (x @ z).shape[:-1] + (2,)}:
                    count += _compared(name, [(np.ones(shape), x, z)])
        assert count >= 60


def test_short_forms_of_dot() -> None:
    rng = np.random.default_rng(3)
    count = 0
    lefts: list[tuple[int, ...]] = [(), (3,), (2, 3), (4, 2, 3)]
    rights: list[tuple[int, ...]] = [(), (3,), (3, 5), (6, 3, 5)]
    for a, b in itertools.product(lefts, rights):
        x, y = rng.normal(size=a), rng.normal(size=b) + 1.0j
        for z in (y, np.real(y)):
            shape = np.dot(x, z).shape
            larger = [(5, *shape)] if 0 < len(a) < 3 > len(b) > 0 else []
            for g in (np.ones(s, np.result_type(x, z)) for s in (shape, *larger)):
                count += _compared("dot_bar_a", [(g, x, z)]) + _compared("dot_bar_b", [(g, x, z)])
    assert count == 80


def test_short_forms_of_what_a_mask_selects() -> None:
    rng = np.random.default_rng(4)
    masks: list[Any] = [rng.random(shape) < 0.4 for shape in [(), (3,), (2, 3), (4, 2, 3), (2, 1)]]
    cases = [(m, x) for m in [*masks, np.array([0, -1, 1])] for x in (*ARRAYS, 2.0)]
    count = 0
    for mask, x in cases:
        found = tangentlike.runtime.reached(mask, x)
        want = np.broadcast_to(found, np.shape(x)).astype(bool)
        assert np.array_equal(SHORT["reached"](mask, x), want)
        count += 1
    assert count == 48


def test_short_forms_of_slopes() -> None:
    cases = [(x, p) for x in (2.0, ARRAYS[3]) for p in (0, 0.0, 2, 2.5, np.array([0.0, 1.0, 2.0]))]
    for x, p in cases:
        short, long = SHORT["power_slope"](x, p), tangentlike.runtime.power_slope(x, p)
        assert np.allclose(short, long, rtol=1e-15)


def flat(value: Any) -> Any:
    """The numbers in lists, dicts and arrays."""
    if hasattr(value, "__dict__"):
        value = {name: item for name, item in vars(value).items() if name != "name"}
    if isinstance(value, dict):
        value = list(value.values())
    parts = map(flat, value) if isinstance(value, (list, tuple)) else [np.ravel(value)]
    return np.concatenate(list(parts))


def weighted_sum(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(x @ w))


def of_layers(x: Any, layers: Any) -> Any:
    for w, b in layers:
        x = np.tanh(x @ w + b)
    return np.sum(x)


def of_a_list(x: Any, w: Any) -> Any:
    states = []
    for k in range(3):
        x = np.tanh(x * w[k])
        states.append(x)
    return np.sum(np.stack(states)) * states[1][0]


def of_a_dict(x: Any, weights: Any) -> Any:
    return np.sum(np.tanh(x @ weights["w"]))


def of_pieces(x: Any, w: Any) -> Any:
    pieces = np.split(w, [1])
    found = np.linalg.lstsq(np.diag(w), x, rcond=None)
    return pieces[0] @ pieces[0] + np.sum(found[0]) + np.sum(np.diag(w) @ x)


def of_pullbacks(x: Any, w: Any) -> Any:
    y, pull = tl.vjp(lambda v: np.tanh(v @ w), x)
    (u,) = pull(y)
    return np.sum(u * y)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (of_pullbacks, (np.ones(3), np.eye(3))),
        (of_layers, (np.ones(3), [(np.eye(3), 1.0), (np.eye(3), np.ones(3))])),
        (of_a_list, (np.ones(2), np.ones(3))),
        (of_pieces, (np.ones(3), np.array([0.5, 1.5, 2.5]))),
        (of_a_dict, (np.ones(3), {"w": np.eye(3)})),
    ],
)
def test_programs_with_containers_take_the_helpers_for_them(fn: Any, args: Any) -> None:
    text = tl.grad(fn, wrt=1).__tangentlike__.derive().derived.standalone()
    assert "; for numbers and arrays." not in text
    want = tl.grad(fn, wrt=1)(*args)
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    got = namespace[f"{fn.__name__}_grad"](*args)
    assert np.allclose(flat(got), flat(want), rtol=1e-15)


CONTAINERS = [
    program
    for program in BY_NAME.values()
    if program.theme in ("containers_readonly", "records", "function_values")
][::3]


def test_files_for_containers_give_what_the_package_gives() -> None:
    """Their helpers are the short ones for numbers, arrays and what holds such."""
    count = 0
    for program in CONTAINERS:
        made = tl.grad(program.fn, wrt=program.wrt)
        try:
            text = made.__tangentlike__.derive().derived.standalone()
        except UnsupportedError:
            continue
        if "what holds such." not in text.split("\n", 1)[0]:
            continue
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        got = namespace[f"{program.fn.__name__}_grad"](*program.arguments())
        want = made(*program.arguments())
        for short, long in zip(got, want, strict=True):
            named = hasattr(long, "_asdict")
            long = long._asdict() if named else long
            assert np.allclose(flat(short), flat(long), rtol=1e-12), program.name
        count += 1
    assert count >= 8, count


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.w + self.b)


@dataclasses.dataclass
class Network:
    first: Layer
    second: Layer
    scale: float


NETWORK = Layer(np.eye(3), 0.5), Layer(np.eye(3), np.ones(3)), 2.0


def of_objects(network: Any, x: Any) -> Any:
    return network.scale * np.sum(network.second(network.first(network.first(x))))


def of_named_weights(weights: Any, x: Any) -> Any:
    for w in weights["layers"]:
        x = np.tanh(x @ w + weights["b"])
    return np.sum(x) * weights["scale"]


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (of_objects, (Network(*NETWORK), np.ones(3))),
        (
            of_named_weights,
            ({"layers": [np.eye(3)] * 2, "b": np.ones(3), "scale": 0.5}, np.ones(3)),
        ),
        (of_layers, (np.ones(3), [(np.eye(3), np.ones(3)), (np.eye(3), np.ones(3))])),
    ],
)
def test_containers_of_stated_types_take_few_lines(fn: Any, args: Any) -> None:
    """And those tests refuse arguments of other types."""
    wrt = 0 if fn is not of_layers else 1
    typed = tl.grad(fn, wrt=wrt, example=args)
    text = typed.__tangentlike__.derive().standalone()
    assert len(text.splitlines()) <= 160
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    want = flat(typed(*args))
    if fn is of_objects:  # (the file has these classes of its own)
        first, second = (namespace["Layer"](*vars(part).values()) for part in NETWORK[:2])
        args = (namespace["Network"](first, second, 2.0), *args[1:])
    got = namespace[f"{fn.__name__}_grad"](*args)
    assert np.allclose(flat(got), want, rtol=1e-15)
    with pytest.raises((TypeError, AttributeError)):
        namespace[f"{fn.__name__}_grad"](*args[:-1], 2)


class Spring:
    stiffness = 2.0

    def __init__(self, rest: Any) -> None:
        self.rest = rest

    def force(self, x: Any) -> Any:
        return self.stiffness * (x - self.rest)


class Bent(Spring):
    def force(self, x: Any) -> Any:
        return super().force(x) * self.stiffness + Spring(self.rest * 2.0).force(x) ** 2


def of_class_numbers(x: Any) -> Any:
    return np.sum(Bent(x * x).force(x))


def test_adjoints_of_objects_have_the_numbers_of_their_classes() -> None:
    made = tl.grad(of_class_numbers)
    namespace: dict[str, Any] = {}
    exec(made.__tangentlike__.derive().standalone(), namespace)  # type: ignore[attr-defined]
    x = np.array([1.0, 2.0])
    assert np.array_equal(namespace["of_class_numbers_grad"](x), made(x))


def test_files_are_short() -> None:
    """Helpers without annotations, one line of what they do, nothing for lists and objects."""
    derived = tl.grad(weighted_sum, wrt=(0, 1)).__tangentlike__.derive().derived
    text = derived.standalone()
    assert "needs only NumPy; for numbers and arrays." in text
    assert len(text.splitlines()) <= 55 and ">>>" not in text
    typed = tl.grad(weighted_sum, wrt=(0, 1), example=(np.ones((2, 3)), np.ones(3)))
    alone = typed.__tangentlike__.derive().derived.standalone()
    assert len(alone.splitlines()) <= len(typed.source.splitlines()) + 2


def test_distributions_are_imported_from_where_they_are() -> None:
    from scipy.stats import norm

    def price(s: Any, k: Any) -> Any:
        return np.sum(s * norm.cdf(np.log(s / k)) - k * norm.cdf(np.log(s / k) - 0.2))

    args = np.array([90.0, 110.0]), np.array([100.0, 95.0])
    df = tl.grad(price, example=args)
    text = df.__tangentlike__.derive().standalone()
    assert "from scipy.stats import norm" in text and "needs NumPy and scipy" in text
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert np.array_equal(namespace["price_grad"](*args), df(*args))


class Root:
    def __init__(self, w: Any) -> None:
        self.w = w

    def square(self) -> Any:
        return self.w * self.w


def of_classes_inside(x: Any) -> Any:
    class First(Root):
        def square(self) -> Any:
            return super().square() + self.w

    class Second(First):
        def square(self) -> Any:
            return super().square() * 2.0 + First(self.w * 2.0).square()

    return np.sum(Second(x).square())


def test_a_class_inside_that_another_sees_in_its_cell_is_one_class() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for made, args in (
        (tl.grad(of_classes_inside), (x,)),
        (tl.autodiff(of_classes_inside, mode="forward"), (x, x)),
    ):
        text = made.__tangentlike__.derive().standalone()  # type: ignore[attr-defined]
        assert text.count("class First(Root)") == 1
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        np.testing.assert_allclose(namespace[made.__name__](*args), made(*args))


def of_parts(params, x):
    w, b = params
    return np.sum(np.tanh(x @ w + b) ** 2)


def of_phases(n, d):
    p = n * d
    m = np.array([[np.cos(p), 1j * np.sin(p) / n], [1j * n * np.sin(p), np.cos(p)]])
    for _ in range(2):
        m = m @ m
    return np.abs(m[0, 1]) ** 2


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (of_parts, ((np.array([[0.3, 0.5], [0.2, -0.4]]), np.array([0.1, 0.7])), np.eye(2))),
        (of_phases, (1.3, 0.4)),
    ],
)
def test_what_is_taken_apart_may_be_a_tuple_and_real_parts_of_lists_stay_real(f, args):
    for options in ({}, {"example": args}):
        derivative = tl.grad(f, wrt=(0, 1), **options)
        namespace: dict[str, Any] = {}
        exec(derivative.__tangentlike__.derive().standalone(), namespace)
        got = leaves_of(namespace[derivative.__name__](*args))
        assert got == pytest.approx(leaves_of(derivative(*args)), rel=1e-12)


def of_clipped(x):
    return np.sum(np.clip(x, -0.5, 0.5) * np.cos(x))


def of_greatest(x):
    return np.max(x) * np.sum(np.sin(x))


@pytest.mark.parametrize("f", [of_clipped, of_greatest])
@pytest.mark.parametrize(
    "x",
    [
        (np.array([1.3, -0.1]), np.array([0.9, -0.4])),
        [1.0, 0.5, -2.0],
        [[0.1, 0.7], [-0.6, 0.3]],
        (0.3, 0.2),
    ],
    ids=repr,
)
def test_what_is_only_read_as_an_array_may_be_a_container(f, x):
    derivative = tl.grad(f, example=(x,))
    text = derivative.__tangentlike__.derive().standalone()
    exec(text, namespace := {})
    got = namespace[derivative.__name__](x)
    assert len(got) == len(x)
    assert leaves_of(got) == pytest.approx(leaves_of(derivative(x)), rel=1e-12)
    assert "numbers and arrays." not in text


def leaves_of(tree: Any) -> list[float]:
    """The entries of tuples and arrays, which have to be real."""
    if isinstance(tree, (tuple, list)):
        return [entry for part in tree for entry in leaves_of(part)]
    assert not np.iscomplexobj(tree)
    return [float(entry) for entry in np.ravel(tree)]


def test_functions_of_yours_that_are_named_as_pythons_are_not_those_of_the_helpers(tmp_path):
    """(The helpers counted axes by the `range` of the file.)"""
    text = """
import numpy as np
from numpy import any
def range(n): return [0, 2]
def f(x, s):
    r = 0.0
    for i in range(4):
        r = r + x[i] * s
    return r if any(x > 0.0) else r * 2.0
"""
    path = tmp_path / "shadowing.py"
    path.write_text(text)
    namespace: dict[str, Any] = {"__name__": "shadowing"}
    exec(compile(text, str(path), "exec"), namespace)
    gradient = tl.grad(namespace["f"], (0, 1))
    made: dict[str, Any] = {}
    exec(gradient.__tangentlike__.derive().standalone(), made)
    x = np.array([0.5, 1.0, 2.0])
    for found, expected in zip(made["f_grad"](x, 0.3), gradient(x, 0.3), strict=True):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(gradient(x, 0.3)[0], [0.3, 0.0, 0.3])
