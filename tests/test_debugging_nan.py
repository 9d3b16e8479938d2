"""`tl.find_nan`: planted NaNs are found at the right line, with the right cause."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main

# Each program has `# here` in the line where what is not finite begins.


pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def root(x: Any) -> Any:
    y = np.sqrt(x)  # here
    return np.sum(y)


def root_of_difference(x: Any) -> Any:
    d = x - np.mean(x)
    return np.sum(np.sqrt(d))  # here


def entropy(p: Any) -> Any:
    return -np.sum(p * np.log(p))  # here


def exponentials(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.exp(x)  # here
    return np.sum(x / np.sum(x))


def masked_product(x: Any, mask: Any) -> Any:
    z = np.sum(x) + mask
    return np.sum(z * (mask == 0.0))  # here


def normalised(x: Any) -> Any:
    total = np.sum(x)
    return np.sum(x / total)  # here


def inverse_power(x: Any) -> Any:
    y = x**-1.5  # here
    return np.sum(y)


def fractional(x: Any, p: float) -> Any:
    y = x**p  # here
    return np.sum(y)


def power_at_zero(x: Any) -> Any:
    return np.sum(x**0.5)  # here


def distances(points: Any, centre: Any) -> Any:
    total = 0.0
    for point in points:
        total = total + distance(point - centre)
    return total


def distance(d: Any) -> Any:
    square = np.sum(d * d)
    return np.sqrt(square)  # here


def growing(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * x  # here
    return np.sum(x - x)


def angle(c: Any) -> Any:
    return np.sum(np.arccos(c))  # here


def in_place(x: Any) -> Any:
    a = np.zeros(3)
    a += x
    a[1:] /= a[:-1]  # here
    return np.sum(a)


def written_in_a_loop(x: Any) -> Any:
    a = np.zeros(4)
    for i in range(4):
        a[i] = 1.0 / x[i]  # here
    return np.sum(a * a)


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return np.log(self.factor * x)  # here


def with_a_method(x: Any, factor: Any) -> Any:
    return np.sum(Scale(factor)(x))


def clipped(x: Any) -> Any:
    return np.sum(np.where(x > 0.0, x * np.log(x * x), 0.0))  # here


X = np.array([1.0, 0.0, 4.0])
POINTS = np.array([[1.0, 2.0], [0.5, 0.5], [3.0, 1.0]])
INF = np.array([0.0, -np.inf, 0.0])

PLANTED: list[Any] = [
    # program, arguments, cause, role, iteration of the innermost loop
    (root, (X,), "the derivative of sqrt at 0 is infinite", "adjoint", None),
    (root_of_difference, (X,), "sqrt of a negative number", "primal", None),
    (entropy, (X,), "log of 0", "primal", None),
    (exponentials, (np.array([1.0, 2.0]), 5), "overflow of exp", "primal", 2),
    (masked_product, (X, INF), "0 * inf", "primal", None),
    (normalised, (np.array([1.0, -1.0]),), "division by 0", "primal", None),
    (inverse_power, (X,), "0 to a negative power", "primal", None),
    (fractional, (-X, 0.5), "a negative number to a fractional power", "primal", None),
    (power_at_zero, (X,), "the derivative of power at 0 is infinite", "adjoint", None),
    (distances, (POINTS, np.array([0.5, 0.5])), "the derivative of sqrt at 0", "adjoint", None),
    (growing, (np.array([1e30, 2.0]), 6), "overflow of a product", "primal", 3),
    (angle, (np.array([0.5, 1.5]),), "an argument outside of its domain", "primal", None),
    (angle, (np.array([0.5, 1.0]),), "the derivative of arccos at 1", "adjoint", None),
    (in_place, (X,), "division by 0", "primal", None),
    (written_in_a_loop, (np.array([1.0, 2.0, 0.0, 3.0]),), "division by 0", "primal", 2),
    (with_a_method, (np.ones(2), 0.0), "log of 0", "primal", None),
]


def line_of(program: Any) -> int:
    text = Path(__file__).read_text().splitlines()
    helper = {distances: distance, with_a_method: Scale.__call__}.get(program, program)
    first = helper.__code__.co_firstlineno
    return next(n for n, line in enumerate(text[first - 1 :], first) if line.endswith("# here"))


@pytest.mark.parametrize(("program", "args", "cause", "role", "iteration"), PLANTED)
def test_planted(program: Any, args: Any, cause: Any, role: str, iteration: Any) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        report = tl.find_nan(program, *args)
    assert not warned, "the run for the report warns of what the report says"
    found = report.first
    assert found is not None
    assert (found.place.file, found.place.line) == (__file__, line_of(program)), str(report)
    assert found.statement.role == role, str(report)
    if cause is not None:
        assert found.cause.what.startswith(cause), str(report)
    if iteration is not None:
        assert found.iterations[-1][1] == iteration
    assert not found.value.is_finite
    assert "Usual way out: " in str(report)


def test_the_caret_is_under_the_operation() -> None:
    def mixed(x: Any) -> Any:
        return np.sum(np.exp(x) * np.sqrt(x) * 2.0)

    text = str(tl.find_nan(mixed, X))
    line, caret = text.splitlines()[1:3]
    assert line[caret.index("^") : caret.rindex("^") + 1] == "np.sqrt(x)"


def test_the_entry_and_its_operands() -> None:
    found = tl.find_nan(normalised, np.array([[1.0, -1.0]])).first
    assert found is not None and found.cause.index == (0, 0)
    assert ("total", "0") in found.cause.entries


def test_callers_of_a_helper() -> None:
    found = tl.find_nan(distances, POINTS, np.array([0.5, 0.5])).first
    assert found is not None
    assert [place.text for place in found.callers] == ["total = total + distance(point - centre)"]


def test_an_infinity_that_is_masked_is_not_reported() -> None:
    def softmax(z: Any, mask: Any) -> Any:
        z = z + np.where(mask, 0.0, -np.inf)
        e = np.exp(z - np.max(z))
        return np.sum(e * e) / np.sum(e)

    report = tl.find_nan(softmax, X, np.array([True, False, True]))
    assert not report and report.first is None
    assert "finite" in str(report) and report.masked


def test_an_infinity_of_the_program_that_meets_a_zero() -> None:
    def weighted(z: Any, mask: Any) -> Any:
        z = z + np.where(mask, 0.0, -np.inf)
        return np.sum(z * mask)

    found = tl.find_nan(weighted, X, np.array([True, False, True])).first
    assert found is not None and found.cause.what == "0 * inf"
    assert found.place.text == "return np.sum(z * mask)"


def test_an_argument_that_is_not_finite() -> None:
    found = tl.find_nan(root, np.array([1.0, np.nan])).first
    assert found is not None and found.cause.what == "`x` holds NaN when the function begins"


def test_finite_programs_have_no_findings() -> None:
    report = tl.find_nan(root, np.ones(3))
    assert not report and all(summary.is_finite for summary in report.results)


def test_any_derivative() -> None:
    for operator in (tl.grad, tl.hessian, tl.jacobian):
        found = tl.find_nan(operator(root), X).first
        assert found is not None and found.place.line == line_of(root)
    with np.errstate(all="ignore"):
        assert not np.isfinite(tl.hvp(root)(X, np.ones(3))).all()
    found = tl.find_nan(tl.hvp(root), X, np.ones(3)).first
    assert found is not None and found.place.line == line_of(root)


def test_an_exception_after_a_nan() -> None:
    def checked(x: Any) -> Any:
        a = x / np.sum(x)
        if np.isnan(a).any() or np.isinf(a).any():
            raise ValueError("what is this?")
        return np.sum(a)

    report = tl.find_nan(checked, np.array([1.0, -1.0]))
    assert isinstance(report.error, ValueError)
    assert report.first is not None and report.first.place.text == "a = x / np.sum(x)"


def test_check_finite() -> None:
    gradient = tl.grad(root, check_finite=True)
    assert np.array_equal(gradient(np.ones(3)), tl.grad(root)(np.ones(3)))
    with np.errstate(all="ignore"), pytest.raises(tl.NonFiniteError) as caught:
        gradient(X)
    assert caught.value.place.line == line_of(root)
    assert "the derivative of sqrt at 0 is infinite" in str(caught.value)
    assert isinstance(caught.value, ArithmeticError) and caught.value.report.first
    with np.errstate(all="ignore"), pytest.raises(tl.NonFiniteError):
        tl.value_and_grad(entropy, check_finite=True)(X)
    assert pickle.loads(pickle.dumps(gradient)) is gradient
    assert tl.grad(root) is not gradient


def test_check_finite_leaves_aux_alone() -> None:
    def with_aux(x: Any) -> Any:
        return np.sum(x * x), np.array([np.inf])

    gradient, aux = tl.grad(with_aux, has_aux=True, check_finite=True)(X)
    assert np.array_equal(gradient, 2.0 * X) and aux[0] == np.inf


def test_check_finite_of_what_changes_from_run_to_run() -> None:
    calls: list[int] = []

    def draw() -> float:
        calls.append(1)
        return float(len(calls))

    tl.nondifferentiable(draw)

    def drawn(x: Any) -> Any:
        d = draw() - 1.0
        return np.sum(x / d)

    with np.errstate(all="ignore"), pytest.raises(tl.NonFiniteError, match="run again"):
        tl.grad(drawn, check_finite=True)(X)


def test_growth_along_a_loop() -> None:
    def rnn(w: Any, h: Any, n: int) -> Any:
        for _ in range(n):
            h = w @ h
        return np.sum(h)

    w = np.diag([2.0, 0.5])
    growth = tl.trace(tl.grad(rnn), w, np.ones(2), 12).growth()
    fastest = growth.series[0]
    assert fastest.factor == pytest.approx(2.0, rel=0.02) and len(fastest.norms) == 12
    assert {s.statement.role for s in growth.series} >= {"primal", "adjoint"}
    assert "times 1.99 in each" in str(growth)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = growth.plot()
    assert axes.get_yscale() == "log" and len(axes.lines) >= 2
    pyplot.close("all")


def test_command(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import numpy as np\n\ndef loss(x):\n    return np.sum(np.log(x - x))\n"
    )
    target = f"{tmp_path}/broken.py:loss"
    done = CliRunner().invoke(main, ["nan", target, "--shape", "x=3"])
    assert done.exit_code == 1 and "log of 0" in done.output
    fine = CliRunner().invoke(main, ["nan", f"{tmp_path}/broken.py:loss", "--help"])
    assert fine.exit_code == 0
