"""Results that NumPy writes into an argument: every ufunc, and every function that takes `out`.

Each program is a table by itself: the operands in every order, the output by position and by name,
at top level and in a helper, its result used or not. What a helper writes is read by its caller.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.generator import load
from tests.sampled import one_in

X = np.array([[0.31, 0.74, 0.52], [0.83, 0.27, 0.66], [0.45, 0.58, 0.39]])
ORDERS = {1: ("p", "q"), 2: ("0.5, p", "p, 0.5", "p, p", "p, q", "q, p")}
UFUNCS = sorted({id(u): u.__name__ for u in vars(np).values() if isinstance(u, np.ufunc)}.values())
FULL = ("subtract", "greater", "tanh", "floor")

# Calls whose output is `p` or `v`, a row of it; `{}` stands for `out`, by position or by name.
FUNCTIONS = """
np.sum(q, 0, None, {v})
np.sum(q, None, None, {s})
np.mean(q, 1, None, {v})
np.prod(q, 0, None, {v})
np.cumsum(q, 0, None, {p})
np.cumprod(p, 1, None, {p})
np.nancumsum(q, 1, None, {p})
np.max(q, 0, {v})
np.amin(q, 1, {v})
np.std(q, 0, None, {v})
np.var(q, 0, None, {v})
np.ptp(q, 0, {v})
np.median(q, 0, {v})
np.percentile(q, 30.0, 0, {v})
np.nansum(q, 0, None, {v})
np.clip(p, 0.3, 0.7, {p})
np.around(p, 1, {p})
np.dot(q, q, {p})
np.outer(q[0], q[1], {p})
np.take(q, [2, 0, 1], 1, {p})
np.compress([True, False, True], q, 0, {two})
np.choose([0, 1, 1], [q[0], q[1]], {v})
np.concatenate([q[:1], q[1:]], 0, {p})
np.stack([q[0], q[1], q[0]], 1, {p})
np.matmul(q, q, {p})
np.add.reduce(q, 0, None, {v})
np.add.accumulate(q, 1, None, {p})
np.multiply.reduce(q, 1, None, {v})
np.add.reduceat(q, [0, 2], 0, None, {two})
np.subtract(0.5, v, {v})
np.fix(p, {p})
np.sign(p, {p})
p.clip(0.3, 0.7, {p})
q.sum(0, None, {v})
q.mean(1, None, {v})
q.cumsum(0, None, {p})
q.max(0, {v})
q.dot(q, {p})
q.take([1, 1, 0], 0, {p})
q.round(1, {p})
np.ndarray.clip(p, 0.3, 0.7, {p})
""".strip().splitlines()

HEAD = """
import functools
def program(x):
    total = 0.0
    w = np.arange(1.0, 10.0).reshape(3, 3)
"""
BLOCK = """    p, q, s = x * 0.9 + {shift}, x * 0.8 + {shift}, np.zeros(())
    v, two = p[1], p[:2]
    {call}
    total = total + np.sum(w * p * p) + np.sum(q * p) + 3.0 * s * s
"""


def program(calls: list[str], shift: float = 0.0, top: bool = True) -> str:
    """One function that makes each of the calls in helpers, as a statement and for its result, and
    at `top` level."""
    helpers, blocks = "", HEAD
    for k, call in enumerate(calls):
        names = ", ".join(n for n in ("p", "q", "s", "v", "two") if re.search(rf"\b{n}\b", call))
        ways = {
            f"write{k}": (f"    {call}\n", f"write{k}({names})"),
            f"give{k}": (f"    return {call}\n", f"r = give{k}({names}); r *= x[0, 0]"),
        }
        for name, (body, used) in ways.items():
            helpers += f"def {name}({names}):\n{body}"
            blocks += BLOCK.format(call=used, shift=shift)
        if top:
            blocks += BLOCK.format(call=call, shift=shift)
            blocks += BLOCK.format(call=f"r = {call}; r *= x[0, 1]", shift=shift)
    return helpers + blocks + "    return total\n"


def check(text: str, name: str) -> None:
    fn, u = load(text, name), np.cos(np.arange(9.0)).reshape(3, 3)
    value = agreement.call(fn, (X,))
    slope = agreement.slope(fn, (X,), (u,), 1e-5)
    assert np.isfinite(slope)
    found, gradient = tl.value_and_grad(fn)(X)
    assert found == pytest.approx(value, rel=1e-12)
    assert np.sum(gradient * u) == pytest.approx(slope, rel=1e-6, abs=1e-7)
    found, tangent = tl.jvp(fn, (X,), (u,))
    assert found == pytest.approx(value, rel=1e-12)
    assert tangent == pytest.approx(slope, rel=1e-6, abs=1e-7)


def outputs(name: str) -> Iterator[str]:
    """The arguments of a ufunc with each order of operands, its output by position and by name."""
    for operands in ORDERS[getattr(np, name).nin]:
        yield f"np.{name}({operands}, p)"
        yield f"np.{name}({operands}, out=p)"


def is_of_floats(name: str) -> bool:
    """Whether a ufunc computes one float, or a truth value, of one or two floats."""
    ufunc = getattr(np, name)
    types = [kind for kind in ufunc.types if set(kind.partition("->")[0]) == {"d"}]
    return bool(types) and ufunc.nout == 1 and ufunc.signature is None


@pytest.mark.parametrize("name", one_in(5, filter(is_of_floats, UFUNCS)))
def test_ufunc(name: str) -> None:
    calls = list(outputs(name))  # (the first operand is a number, where there are two)
    text = program(calls[:1], shift=1.0 if name == "arccosh" else 0.1, top=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # (`np.maximum` with three operands)
        check(text, name)


@pytest.mark.parametrize("call", one_in(5, [call for name in FULL for call in outputs(name)]))
def test_order_of_operands(call: str) -> None:
    check(program([call], shift=0.1), call)


@pytest.mark.parametrize("call", one_in(5, FUNCTIONS))
def test_function(call: str) -> None:
    names = ("p", "v", "s", "two")
    by_position = call.format(**{name: name for name in names})
    by_name = call.format(**{name: f"out={name}" for name in names})
    assert by_position != by_name
    check(program([by_position], top=False), by_position)
    if "None" not in call:  # (otherwise `out` stands behind what is left out)
        check(program([by_name], top=False), by_name)
