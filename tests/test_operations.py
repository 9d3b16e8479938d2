"""Every operation of the list is differentiated, constant, or refused with a reason.

`python -m tests.test_operations` writes `docs/operations.md` anew.
"""

from __future__ import annotations

import importlib
import linecache
import math
import operator
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import default_book
from tangentlike.rules.book import resolve
from tests import operation_calls
from tests.operation_list import CONSTANT, DIFFERENTIATED, REFUSED
from tests.sampled import one_in

PAGE = Path(__file__).parent.parent / "docs" / "operations.md"
COSTS = "\n## What their adjoints cost"  # (written by examples/benchmarks/operations.py)
SCIPY = ("linalg", "sparse", "special", "stats", "signal", "integrate", "spatial", "optimize")
SCIPY += ("ndimage",)


def program(call: str) -> Callable[[Any, Any], Any]:
    """A function of x and y that computes a call of the list."""
    names = {**vars(operation_calls), "math": math, "np": np}
    if "scipy." in call:
        names["scipy"] = pytest.importorskip("scipy")
        for part in SCIPY:
            importlib.import_module(f"scipy.{part}")
    text, file = f"def operation(x, y):\n    return {call}\n", f"<operation {call}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names["operation"]


def values(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Arguments in general position, inside the domain of every call."""
    rng = np.random.default_rng(sum(shape))
    return rng.uniform(0.25, 0.85, shape), rng.uniform(0.3, 0.9, shape)


def runs(fn: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> bool:
    """Whether this version of NumPy has the operation."""
    try:
        fn(*values(shape))
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize(
    ("call", "shape"),
    one_in(5, [pytest.param(row[1], row[2], id=row[0]) for row in DIFFERENTIATED]),
)
@pytest.mark.filterwarnings("ignore")
def test_differentiated(call: str, shape: tuple[int, ...]) -> None:
    fn = program(call)
    if not runs(fn, shape):
        pytest.skip("not in this version")
    tl.check_grads(fn, values(shape))


def test_constant() -> None:
    if any(path.startswith("scipy.") for _, path, *_ in CONSTANT):
        pytest.importorskip("scipy.special")
    book = default_book()
    found = {name: operator.lt if name == "op comparison" else resolve(path)
             for name, path, *_ in CONSTANT}  # fmt: skip
    missing = [
        name
        for name, obj in found.items()
        if obj is not None and not book.is_nondifferentiable(obj)
    ]
    assert missing == []


@pytest.mark.parametrize("call", [pytest.param(row[1], id=row[0]) for row in REFUSED])
def test_refused(call: str) -> None:
    with pytest.raises(tl.UnsupportedError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tl.grad(program(call))(*values((5,)))


def test_entries_that_are_no_view_are_refused_while_arrays_are_written() -> None:
    """`a.T.flat` sees a later write to `a`; a vector copied from it would not."""
    with pytest.raises(tl.UnsupportedError, match="`flat` of an array"):
        tl.grad(program("flat_kept_transposed(x)"))(*values((5,)))


def test_every_rule_of_numpy_is_listed() -> None:
    """An operation of NumPy that has a rule has a row of the list, under one of its names."""
    texts = " ".join(row[1] for row in DIFFERENTIATED)
    listed = {row[0].split()[0] for row in (*DIFFERENTIATED, *CONSTANT, *REFUSED)}
    listed.add("trapz")  # what NumPy 2.2 still calls trapezoid
    missing = []
    for obj, _ in default_book().rules():
        name = getattr(obj, "__name__", "")
        if getattr(np, name, None) is obj and name not in listed and f"np.{name}(" not in texts:
            missing.append(name)
    assert sorted(missing) == []


# ------------------------------------------------------------------------------- the page

HEAD = """# Operations

What is differentiated, beside autograd and JAX. The table is written from the list that the tests
run (`tests/operation_list.py`): each operation marked *both modes* is checked against central
differences in forward and reverse mode.

- **both modes**: differentiated, and its derivative can be differentiated again.
- **constant**: the result carries no derivative.
- **refused**: an error that names the line; instead: what the note says.

A list or tuple given where NumPy takes an array is one (`np.dot(x, [1.0, 2.0])`, `np.sin(items)`, `x - [a, b]`). Beside `+` and `*`
it is one where the other operand is known to be an array; else write `np.asarray(...)` around it.

Of `scipy.special` both modes know more than the table has: orthogonal polynomials (`eval_legendre` and its like), Kelvin and Struve functions,
`hankel1`, derivatives of Bessel functions (`jvp`), `airy`, `sici`, `fresnel`, `ellipj`, `ellipk`, `ellipe`, `spence`, `owens_t`, transformations of Box and
Cox, distribution functions by what they are functions of (`stdtr`, `chdtrc`, `fdtri`, `betaincinv`). Indices and orders carry no derivative.

In the columns of the peers *pass* is a constant, *exists* an operation that is there and was not run.

| operation | tangentlike | autograd | JAX |
|---|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    rows = [(n, "both modes", ag, jax) for n, _, _, ag, jax in DIFFERENTIATED]
    rows += [(n, "constant", ag, jax) for n, _, ag, jax in CONSTANT]
    rows += [(n, f"refused: {reason}", ag, jax) for n, _, ag, jax, reason in REFUSED]
    lines = ["| " + " | ".join([f"`{n}`".replace("|", "\\|"), *rest]) + " |" for n, *rest in rows]
    return HEAD + "\n".join(lines) + "\n"


def test_the_page_is_written_from_the_list() -> None:
    listed = PAGE.read_text().partition(COSTS)[0]
    assert listed == page(), "run `python -m tests.test_operations`"


if __name__ == "__main__":
    _, heading, costs = PAGE.read_text().partition(COSTS)
    PAGE.write_text(page() + heading + costs)


@pytest.mark.parametrize(
    "call",
    [
        "np.average(np.arange(3), weights=x)",
        "np.average(np.arange(6).reshape(3, 2), axis=0, weights=x)",
        "np.average(x, weights=[1, 2, 3])",
        "np.interp(np.arange(3), np.arange(0, 6, 2), x)",
        "np.interp(1, [0, 1, 2], x)",
        "np.arange(1, 4) ** x",
        "np.where(x > 0.5, 2, x) ** 2",
        "np.linalg.solve(np.diag([2, 1, 3]), x)",
        "np.polyval(x, 2)",
        "np.array([1, 2, x[0]]) ** 2",
        "scipy.linalg.solve_sylvester(np.diag(x), np.diag(y), np.eye(3, dtype=int))",
        "scipy.stats.poisson.logpmf(np.arange(3), x)",
        "np.abs(scipy.linalg.solve_sylvester(np.diag(x * 1j + y), np.diag(y), np.eye(3))) ** 2",
        "np.abs(np.average(x, weights=y + 1j * x**2)) ** 2",
        "np.abs(np.interp(x, [0, 0.5, 1], 1j * y + x**2)) ** 2",
    ],
)
def test_integers_and_reals_beside_what_varies(call: str) -> None:
    """To claim that a value is an integer is to say that it carries no derivative, and that it is
    real, that its adjoint needs no conjugate."""
    tl.check_grads(program(call), values((3,)))
