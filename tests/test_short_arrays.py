"""`target="numba"`: operations on arrays of few entries are loops over these, in which nothing is
made. The texts are run by Python, too, which takes no second to compile them."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir
from tangentlike.codegen.optimize.facts import Facts, derived
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import program
from tangentlike.ir.kind import FLOAT, INT, Kind
from tangentlike.rules.book import default_book

pytest.importorskip("numba")
from tangentlike.numba.short_arrays import short_arrays_as_loops

RNG = np.random.default_rng(0)


def coulomb(x, q):
    e = 0.0
    for i in range(len(q)):
        for j in range(i):
            d = x[i] - x[j]
            e += q[i] * q[j] / np.sqrt(d @ d + 0.01)
    return e


def force(a, b, q):
    d = a - b
    return q * d / (np.sum(d**2) + 0.01) ** 1.5


def orbits(x, v, q, steps):
    for _ in range(steps):
        pull = np.zeros((len(q), 3))
        for i in range(len(q)):
            for j in range(len(q)):
                if i != j:
                    pull[i] += force(x[i], x[j], q[i] * q[j])
        v = v + 0.01 * pull
        x = x + 0.01 * v
    return np.sum(x**2)


def bonds(x, k, length):
    e = 0.0
    for i in range(len(x) - 1):
        d = x[i + 1] - x[i]
        r = np.linalg.norm(d)
        e += k[i] * (r - length) ** 2 + d[0] * d[-1]
    return e


def in_place(x, v, c):
    """What is read of a row is not what stands there later, nor what a view of it shows."""
    y = np.zeros((len(x), 3))
    shown = y[:, :]
    for i in range(len(x)):
        y[i] += x[i] * v[i]
        d = y[i] - c
        shown[i] += d * d
        y[i] *= 1.0 + d @ c
    return np.sum(y * x)


def shifted(x, c):
    """Writing an entry changes another that is read."""
    y = np.zeros(4)
    a, b = y[:3], y[1:]
    for i in range(len(x)):
        y[0] += x[i, 0]
        b += a * c
    return np.sum(y**2)


def columns(x, w):
    """Each axis of a short array may be the one that is gone through."""
    e = 0.0
    for j in range(x.shape[1]):
        u = x[:, j] * w
        e += np.sin(np.dot(u, x[:, 0])) + u[-1]
    return e


def named_again(x, v):
    """A sum has the name of another, which is read before."""
    e, r2 = 0.0, 1.0
    for i in range(len(x)):
        d = x[i] - v[i]
        z = d @ d
        e += z * r2
        r2 = np.dot(d, x[i])
    return e + r2


def carried(x, v):
    """What is read first is what the round before has made."""
    e, d = 0.0, 0.3 * v[0]
    for i in range(len(x)):
        e += np.sin(x[i] @ d)
        d = x[i] - v[i]
        e += d @ d
    return e


ROWS = RNG.random((4, 3))
PROGRAMS = {
    coulomb: (RNG.random((5, 3)), RNG.random(5)),
    orbits: (ROWS, RNG.random((4, 3)), RNG.random(4), 2),
    bonds: (ROWS, RNG.random(4), 0.4),
    in_place: (ROWS, RNG.random((4, 3)), RNG.random(3)),
    shifted: (ROWS, RNG.random(3)),
    carried: (ROWS, RNG.random((4, 3))),
    named_again: (ROWS, RNG.random((4, 3))),
    columns: (RNG.random((3, 6)), RNG.random(3)),
}


def run_by_python(text, args):
    """What the text of a derivative gives where Python runs it."""
    names: dict = {}
    exec(text.replace("@compiled\n", ""), names)
    (df,) = [obj for name, obj in names.items() if name.endswith("_value_and_grad")]
    return df(*args)


@pytest.mark.every
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_texts_of_short_arrays(f):
    args = PROGRAMS[f]
    wrt = tuple(n for n, arg in enumerate(args) if not isinstance(arg, int))
    value, grads = tl.value_and_grad(f, wrt)(*args)
    text = tl.value_and_grad(f, wrt, target="numba", example=args).source
    assert "in range(3):" in text and "b[k] += a[k]" not in text, text
    found, others = run_by_python(text, args)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    for grad, other in zip(grads, others, strict=True):
        np.testing.assert_allclose(other, grad, rtol=1e-10, atol=1e-12)
    tl.check_grads(f, args, wrt=wrt)


def test_nothing_is_made_for_a_pair():
    text = tl.grad(coulomb, (0, 1), target="numba", example=PROGRAMS[coulomb]).source
    assert "'x: float[n, 3], q: float[n]'" in text
    loops = text[text.index("for i") :].replace("d_saved[i, j, k]", "")
    assert "x[i]" not in loops.replace("# d = x[i] - x[j]", "") and ".append(" not in text, text


def test_a_version_is_for_its_sizes_alone():
    df = tl.grad(coulomb, (0, 1), target="numba")
    texts = [
        df.source_for(RNG.random((6, n)), RNG.random(6)).partition("\n@compiled")[0][-40:]
        for n in (2, 3, 5)
    ]
    assert [text[text.index("x:") :] for text in texts] == [
        "x: float[n, 2], q: float[n]')",
        "x: float[n, 3], q: float[n]')",
        "x: float[n, :], q: float[n]')",
    ]
    text = tl.grad(coulomb, (0, 1), target="numba", example=PROGRAMS[coulomb]).source
    names: dict = {}
    exec(text.replace("@compiled\n", ""), names)
    with pytest.raises(TypeError, match="made for arguments of other types"):
        names["coulomb_grad"](RNG.random((5, 2)), RNG.random(5))


@pytest.mark.thorough
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_numba_compiles_loops_of_short_arrays(f):
    args = PROGRAMS[f]
    wrt = tuple(n for n, arg in enumerate(args) if not isinstance(arg, int))
    grads = tl.grad(f, wrt)(*args)
    for grad, other in zip(tl.grad(f, wrt, target="numba")(*args), grads, strict=True):
        np.testing.assert_allclose(grad, other, rtol=1e-10, atol=1e-12)


def test_sums_stand_where_their_names_are_not_read():
    f = derived(
        program("""d = x[i] - x[j]
z = d @ d
w = r * z
r = np.dot(d, x[j])
u = np.dot(2.0, x[j])
return w + r, u""")
    )
    f = ir.replaced(f, params=tuple(map(ir.Param, ("x", "i", "j", "r"))))
    kinds = {"x": Kind("array", "float", ("n!", 3)), "i": INT, "j": INT, "r": FLOAT}
    found = show(short_arrays_as_loops(f, Facts(kinds), default_book()).body)
    assert found.index("w = r * z") < found.index("r = 0.0") < found.index("r += d * x[j, k]")
    assert "u = np.dot(2.0, x[j])" in found, found
