"""Kinds: what is claimed of names, and what is not."""

from __future__ import annotations

import inspect
import itertools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir
from tangentlike.analysis.kinds import computes_complex, infer_kinds, kinds_from_example
from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower, program
from tangentlike.ir.kind import FLOAT, INT, UNKNOWN, Kind
from tangentlike.rules.book import default_book
from tangentlike.rules.index_kinds import index_kind
from tests import generator
from tests.claims import false_claims
from tests.programs import PROGRAMS, Program
from tests.sampled import one_in


def kinds(f: Any, **given: Kind) -> dict[str, Kind]:
    return infer_kinds(lower(f).function, given, default_book())


VECTOR = Kind("array", "float", ("n",))
MATRIX = Kind("array", "float", ("n", "m"))


def test_annotations_are_promises() -> None:
    def f(x: float, n: int, a: np.ndarray, pair: tuple[float, int], rows: list[float]):
        first, _count = pair
        for v in rows:
            x = x + v * first
        return x

    found = kinds(f)
    assert found["n"].integer and found["a"].form == "array"
    assert found["first"] == FLOAT and found["_count"].integer and found["v"] == FLOAT
    assert found["x"].form == "number"


def test_indices_and_loop_variables_are_integers() -> None:
    def f(a):
        n, _m = a.shape
        s = 0.0
        for i in range(n):
            for j, _row in enumerate(a):
                s = s + a[i, 0] * j
        return s

    found = kinds(f)
    assert found["i"] == ir.replaced(INT, below="a.0") and found["j"] == INT
    assert found["n"].integer and (found["n"].spells, found["_m"].spells) == ("a.0", "a.1")
    assert found["a"].form == "array" and found["a"].rank == 2


@pytest.mark.parametrize(
    ("key", "form", "shape"),
    [
        ("a[0]", "array", ("m",)),
        ("a[0, 1]", "number", ()),
        ("a[:, 0]", "array", ("n",)),
        ("a[..., 0]", "array", ("n",)),
        ("a[None]", "array", (1, "n", "m")),
        ("a[1:, :]", "array", ("n-1", "m")),
        ("a[[0, 1]]", "array", (2, "m")),
        ("a.T", "array", ("m", "n")),
    ],
)
def test_indexing_follows_numpy(key: str, form: str, shape: Any) -> None:
    text = f"def f(a):\n    y = {key}\n    return y\n"
    from tangentlike.frontend.lower import lower_nested, program

    function = lower_nested(program(f"y = {key}; return y")).function
    found = infer_kinds(function, {"a": MATRIX}, default_book())
    assert (found["y"].form, found["y"].shape) == (form, shape), text


def _slices() -> list[slice]:
    bounds = (None, -3, -2, -1, 0, 1, 2, 3)
    return [slice(*b) for b in itertools.product(bounds, bounds, (None, -1, 1, 2))]


def _key(part: slice) -> ir.Slice:
    bounds = (part.start, part.stop, part.step)
    return ir.Slice(*(None if b is None else ir.Const(b) for b in bounds))


@pytest.mark.parametrize("whole", [Kind("array", "float", ("n",)), Kind("array", "float", "a")])
def test_slices_with_equal_symbols_have_equal_lengths(whole: Kind) -> None:
    """Of arrays of every length, also where bounds are clamped; slices of slices too."""
    lengths: dict[Any, set[tuple[int, ...]]] = {}
    once = [(part, index_kind(whole, _key(part), kind_of_literal)) for part in _slices()]
    for part, kind in once:
        found = tuple(len(range(n)[part]) for n in range(8))
        lengths.setdefault(kind.shape, set()).add(found)
    for first, kind in once[::7]:
        for second in _slices()[::3]:
            again = index_kind(kind, _key(second), kind_of_literal)
            found = tuple(len(range(n)[first][second]) for n in range(8))
            lengths.setdefault(again.shape, set()).add(found)
    assert all(len(found) == 1 for found in lengths.values())
    assert len({kind.shape for _, kind in once}) < len(once)


def kind_of_literal(expr: ir.Expr) -> Kind:
    return INT if isinstance(expr, ir.Const) else UNKNOWN


def test_slices_of_one_array_are_compared() -> None:
    def f(a, b, n):
        for _ in range(n):
            a[1:-1] += 0.5 * (a[:-2] * a[2:]) + b[1:]
        left, middle, right, other = a[:-2], a[1:-1], a[2:], b[2:]
        short, rows = a[3:], a[1:-1, 0]
        return left, middle, right, other, short, rows

    found = kinds(f)
    assert found["left"].same_shape(found["middle"]) and found["left"].same_shape(found["right"])
    assert not found["left"].same_shape(found["other"])
    assert not found["left"].same_shape(found["short"])
    assert not found["left"].same_shape(found["rows"])


def test_integers_spell_sizes() -> None:
    def f(w, x):
        n = len(x)
        m, _ = w.shape
        k = 0
        for _ in range(n):
            k = k + 1
        return np.zeros(n), np.ones((m, 3)), np.zeros(w.shape[1]), np.zeros(k), n

    found = kinds(f, x=VECTOR, w=Kind("array", "float", ("p", "q")))
    shapes = [kind.shape for kind in found.values() if kind.form == "array"]
    assert found["n"].spells == "n" and found["m"].spells == "p" and found["k"].spells is None
    assert {("n",), ("p", 3), ("q",)} <= set(shapes)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("[x, x * x]", "float"),
        ("(x, 2)", "float"),
        ("(1, True)", "int"),
        ("(True, False)", "bool"),
        ("(x, 1j)", "complex"),
        ("(x, n)", "?"),
        ("[x, 2]", "float"),
        ("[1, 2]", "?"),  # (one of no items is of floats)
        ("[]", "?"),
    ],
)
def test_an_array_of_a_list_has_the_dtype_of_what_is_in_it(text: str, dtype: str) -> None:
    f = program(f"xs = {text}; y = np.array(xs); return y", {"np": np})
    found = infer_kinds(f, {"x": FLOAT, "n": UNKNOWN}, default_book())
    assert found["y"].dtype == dtype


def test_a_carried_state_keeps_its_shape() -> None:
    def f(w, u, xs):
        h = np.zeros(w.shape[0])
        for x in xs:
            h = np.tanh(w @ h + u @ x)
        return h

    example = {"w": np.ones((4, 4)), "u": np.ones((4, 3)), "xs": np.ones((5, 3))}
    found = kinds(f, **kinds_from_example(example))
    assert found["h"].shape == ("w.0!",) and found["wh"].same_shape(found["ux"])


def test_fancy_and_unknown_keys_are_not_taken_for_numbers() -> None:
    def f(x, i, mask):
        y = x[i]
        z = x[mask > 0]
        return y, z

    found = kinds(f, x=VECTOR)
    assert found["y"].form == "value" and found["y"].rank is None


def test_a_shape_has_a_name_only_where_it_is_one_shape() -> None:
    def f(x, n):
        y = np.sin(x) * 2.0
        for _ in range(n):
            g = np.concatenate([x, x])
            x = g
        return y, g

    found = kinds(f, x=Kind("array", "float"))
    assert found["g"].shape is None


def test_equal_tokens_mean_equal_shapes() -> None:
    def f(x, b):
        y = np.sin(x)
        z = 2.0 * y
        w = x + b
        return z, w

    found = kinds(f)
    assert found["z"].same_shape(found["x"])
    assert not found["w"].same_shape(found["x"])


def test_joins_over_branches_and_loops() -> None:
    def f(x, c):
        if c:
            y = 1.0
        else:
            y = x * 2.0
        s = 0
        while c:
            s = s + 0.5
            c = c - 1
        return y, s

    found = kinds(f, x=VECTOR)
    assert found["y"].form == "value" and found["y"].shape is None
    assert found["s"].form == "number" and not found["s"].discrete


def test_an_accumulator_may_become_an_array() -> None:
    def f(xs):
        s = 0.0
        for x in xs:
            s += x
        return s

    assert kinds(f)["s"].form != "number"
    assert kinds(f, xs=VECTOR)["s"].form == "number"


def test_what_a_list_holds_is_known_only_if_all_of_it_is_seen() -> None:
    def seen(x):
        out = []
        for i in range(3):
            out.append(x[i])
        y = out[0]
        return y

    def aliased(x):
        out = [1.0]
        other = out
        other.append(x)
        y = out[0]
        return y

    assert kinds(seen, x=VECTOR)["y"] == FLOAT

    def nested(x):
        out = [1.0]
        pair = (out, x)
        pair[0].append(x)
        y = out[0]
        return y

    def repeated(x):
        out = [1.0] * 3
        out[1] = x
        y = out[0]
        return y

    assert kinds(aliased, x=VECTOR)["y"].form == "value"
    assert kinds(nested, x=VECTOR)["y"].form == "unknown"
    assert kinds(repeated, x=VECTOR)["y"].form == "value"


def test_a_use_in_one_branch_proves_nothing() -> None:
    def f(x):
        if np.ndim(x) == 2:
            y = x[0, :]
        else:
            y = x
        return y

    assert kinds(f)["x"].form == "unknown"


def test_what_is_left_of_a_set_is_no_number() -> None:
    def f(x):
        a, b = {1, 2, 3} - {2}, frozenset([1, 2]) - {1}
        table = {"a": x, "b": x}
        c = table.keys() - {"a"}
        left = set(table)
        left -= {"a"}
        return x * len(a) * len(b) * len(c) * len(left)

    assert false_claims(f, (1.0,), {}) == []


def test_data_of_the_module_is_not_taken_from_this_run() -> None:
    def f(x):
        return x * SCALE + np.pi

    assert kinds(f, x=FLOAT)["product" if "product" in kinds(f) else "x"].dtype != "int"


SCALE = 3


def test_examples_give_ranks_and_symbols() -> None:
    point = namedtuple("point", "x y")
    found = kinds_from_example(
        {
            "w": np.ones((4, 3)),
            "b": np.ones(3, np.float32),
            "one": np.ones((1, 3)),
            "flag": True,
            "k": np.int64(2),
            "layers": [np.ones((3, 3)), np.ones((3, 4))],
            "p": point(1.0, 2),
            "d": {"a": 1.0},
            "name": "relu",
            "z": 1j,
        }
    )
    assert found["w"].shape == ("w.0!", "w.1!") and found["b"].shape == ("w.1!",)
    assert found["one"].shape == (1, "w.1!")
    assert found["flag"].dtype == "bool" and found["k"] == INT
    assert found["layers"].item is not None and found["layers"].item.form == "array"
    assert found["p"].items == (FLOAT, INT)
    assert (found["d"].names, found["d"].items) == (("a",), (FLOAT,))
    many = kinds_from_example({"d": {f"k{n}": 1.0 for n in range(9)}})["d"]
    assert (many.names, many.item) == ((), FLOAT)
    assert found["name"].discrete and found["z"].dtype == "complex"


def test_complex_programs_are_recognised() -> None:
    def plain(x):
        return np.abs(x) * 2.0

    def spectrum(x):
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    def buffer(x):
        z = np.zeros(len(x), dtype=complex)
        z[:] = x
        return z

    def modes(a):
        return np.linalg.eig(a)[0]

    def levels(a):
        return np.linalg.eigvalsh(a) + np.linalg.eigh(a)[0]

    of_complex, of_real = (spectrum, buffer, modes), (plain, levels)
    for f, expected in [(f, True) for f in of_complex] + [(f, False) for f in of_real]:
        assert computes_complex(lower(f).function, kinds(f)) is expected


@pytest.mark.parametrize("program", one_in(4, PROGRAMS), ids=lambda p: p.name)
def test_claims_hold_in_the_programs(program: Program) -> None:
    if program.theme in ("made_objects", "object_operators"):
        pytest.skip("operators of classes are calls of methods before kinds are asked for")
    args = program.arguments()
    example = kinds_from_example(dict(zip(inspect.signature(program.fn).parameters, args)))
    for given in ({}, example):
        try:
            assert false_claims(program.fn, args, given) == []
        except UnsupportedError:
            pytest.skip("not in our language")


@pytest.mark.parametrize("seed", range(20))
def test_claims_hold_in_generated_programs(seed: int) -> None:
    args = generator.arguments(seed)
    f = generator.load(generator.generate(seed, "containers"), f"claims{seed}")
    example = kinds_from_example(dict(zip(inspect.signature(f).parameters, args)))
    for given in ({}, example):
        assert false_claims(f, args, given) == []


def test_a_false_claim_is_noticed() -> None:
    def f(x):
        y = x * 2.0
        return y

    assert false_claims(f, (np.ones(3),), {"x": FLOAT})


@pytest.mark.thorough
def test_a_long_function_is_inferred_in_linear_time() -> None:
    import time

    from tangentlike.frontend.lower import lower_nested, program

    def seconds(n: int) -> float:
        lines = ["y0 = x * 1.0"]
        lines += [f"y{i + 1} = np.sin(y{i}) + y{i} * x" for i in range(n)]
        function = lower_nested(program("; ".join([*lines, f"return y{n}"]))).function
        start = time.process_time()
        infer_kinds(function, {}, default_book())
        return time.process_time() - start

    seconds(50)
    assert seconds(1000) < 30 * max(seconds(100), 0.003)


def test_sums_over_known_axes_are_plain() -> None:
    """`np.sum(g, axis=0)` instead of a helper, right for sizes of 1 as well."""

    def loss(x, w, b, scale):
        return np.sum(np.sin(x * w + b) * scale)

    column = np.linspace(0.1, 0.4, 4)[:, None]
    arguments = (np.ones((4, 3)), column, np.linspace(1.0, 2.0, 3), 0.5)
    derivative = tl.grad(loss, wrt=(1, 2, 3), example=arguments)
    assert "unbroadcast" not in derivative.source
    assert "axis=1, keepdims=True)" in derivative.source and "axis=0)" in derivative.source
    for rows in (4, 1):
        args = tuple(a[:rows] if np.ndim(a) == 2 else a for a in arguments)
        tl.check_grads(loss, args, wrt=(1, 2, 3))
        expected = tl.grad(loss, wrt=(1, 2, 3))(*args)
        for got, value in zip(derivative(*args), expected, strict=True):
            np.testing.assert_allclose(got, value)
            assert type(got) is type(value) and np.shape(got) == np.shape(value)


def test_a_mean_of_sums_needs_no_array_of_its_weights() -> None:
    def loss(x):
        return np.mean(np.sum(np.exp(x), axis=1)) + np.sum(np.mean(x, axis=0))

    x = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    derivative = tl.grad(loss, example=(x,))
    assert "_like" not in derivative.source
    np.testing.assert_allclose(derivative(x), np.exp(x) / 4 + 0.25)
    np.testing.assert_allclose(tl.grad(loss)(x), derivative(x))


def of_another_shape(x: Any) -> Any:
    rows = np.zeros_like(x, shape=(2, 3))
    rows[0, 1] = x[0] ** 2
    rows[1, 2] = x[1]
    z = np.full_like(x, 0.5, shape=(3,), dtype=float)
    z[1] = x[0] ** 2
    return np.sum((np.sin(x[:2]) @ rows) ** 2) + np.sum(np.abs(z * z))


def test_arrays_like_another_may_have_a_shape_and_type_of_their_own() -> None:
    """(The kind of `np.zeros_like(x, shape=...)` was that of `x`.)"""
    x = np.array([0.3, 0.7])
    tl.check_grads(of_another_shape, (x,), order=2)
    tl.check_grads(lambda x: of_another_shape(np.asarray(x)), (x,))
    text = tl.grad(of_another_shape, example=(x,)).source
    assert np.allclose(tl.grad(of_another_shape, example=(x,))(x), tl.grad(of_another_shape)(x)), (
        text
    )


def test_a_use_tells_only_of_the_definitions_that_reach_it() -> None:
    def f(u, s):
        p = {"u": s}
        q = p["u"]
        if u > 0.0:
            p = [u, s * s]
        return q * len(p)

    assert false_claims(f, (0.6, 0.8), {}) == []


def test_a_number_is_not_the_array_that_another_definition_is() -> None:
    def f(x):
        p, total = 0.5, 0.0
        for _ in range(2):
            total += np.sum(np.ravel(p) ** 2)
            p = x
        return total + np.sum(p[..., 1:])

    assert false_claims(f, (np.array([0.6, 0.8]),), {}) == []
