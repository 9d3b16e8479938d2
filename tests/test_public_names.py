"""What editors, type checkers and `help` know of the public names and of what they hand back."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

ROOT = Path(__file__).parent.parent
CALLABLE = [name for name in tl.__all__ if not inspect.ismodule(getattr(tl, name))]
HEADING = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
HARMLESS = {"stop_gradient"}  # hands back what it gets, and refuses nothing


# ------------------------------------------------------------------------------ docstrings


def sections(text: str) -> dict[str, str]:
    """The parts of a docstring in numpydoc form, by their headings."""
    pieces = HEADING.split(text)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def listed(section: str) -> list[str]:
    """The names that stand at the left margin of a section: `a, b : type`, `*args : Any`."""
    heads = [line.split(" : ")[0] for line in section.splitlines() if line[:1].strip()]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("name", CALLABLE)
def test_docstring_has_all_sections(name: str) -> None:
    public = getattr(tl, name)
    found = sections(inspect.getdoc(public) or "")
    signature = inspect.signature(public)
    assert sorted(listed(found["Parameters"])) == sorted(signature.parameters)
    assert ">>> " in found["Examples"]
    if inspect.isclass(public):
        return
    if str(signature.return_annotation) != "None":
        assert "Returns" in found or "Yields" in found
    else:
        assert "Returns" not in found
    if name not in HARMLESS:
        for raised in listed(found["Raises"]):
            error = getattr(tl, raised, None) or __builtins__[raised]  # type: ignore[index]
            assert issubclass(error, Exception)


def test_the_check_of_docstrings_sees_what_lacks() -> None:
    text = "One.\n\nParameters\n----------\na, b : int\n    Two.\n*rest : Any\n    More.\n"
    assert listed(sections(text)["Parameters"]) == ["a", "b", "rest"]
    assert "Returns" not in sections(text)


def test_dir_shows_public_names_only() -> None:
    assert set(tl.__all__) <= set(dir(tl)) <= {*tl.__all__, "__version__", "dask", "sweep"}
    assert all(hasattr(tl, name) for name in dir(tl) if name != "dask")


# ----------------------------------------------------------------------- help of a derivative


def loss(w: Any, b: float, x: Any) -> Any:
    """Half the square of the error.

    Of a line.
    """
    r = np.sum(w * x) + b
    return 0.5 * r * r


W, B, X = np.array([1.0, 2.0]), 0.5, np.array([3.0, -1.0])


@pytest.mark.parametrize(
    "made, first",
    [
        (tl.grad(loss, wrt=("w", "b")), "Gradient of loss with respect to w, b: "),
        (tl.grad(loss), "Gradient of loss with respect to w: "),
        (tl.value_and_grad(loss), "Value and gradient of loss with respect to w: "),
        (tl.autodiff(loss), "Value and gradient of loss with respect to w: "),
        (tl.autodiff(loss, mode="forward"), "Value and tangent of loss with respect to w: "),
        (tl.jacobian(loss), "Jacobian of loss with respect to w: "),
        (tl.jacrev(loss, wrt="x"), "Jacobian of loss with respect to x: "),
        (tl.hessian(loss), "Hessian of loss with respect to w: "),
        (tl.hvp(loss), "Product of the Hessian with a vector v of loss with respect to w: "),
        (tl.sparse_jacobian(loss), "Sparse Jacobian of loss with respect to w: "),
        (tl.sparse_hessian(loss), "Sparse Hessian of loss with respect to w: "),
    ],
)
def test_help_says_what_a_derivative_is(made: Any, first: str) -> None:
    text = inspect.getdoc(made)
    assert text.replace("\n", " ").startswith(first)
    assert text.endswith("\n\nHalf the square of the error.\n\nOf a line.")
    assert made.__name__ in repr(made) or "loss" in repr(made)


def test_help_after_a_call_and_of_functions_without_docstring() -> None:
    made = tl.grad(lambda x: x * x)
    before = made.__doc__
    assert made(2.0) == 4.0
    assert made.__doc__ == before
    assert before.startswith("Gradient of ")
    assert "None" not in before


def test_help_shows_the_shapes_of_example() -> None:
    made = tl.grad(loss, wrt="b", example=(W, B, X))
    shapes = "w float64 of shape (2,), b float, x float64 of shape (2,)"
    assert shapes in " ".join((made.__doc__ or "").split())


def test_help_says_that_aux_comes_back() -> None:
    made = tl.grad(lambda x: (x * x, "note"), has_aux=True)
    assert "aux comes back beside the result" in " ".join((made.__doc__ or "").split())
    assert "aux" not in (tl.grad(loss).__doc__ or "")


# -------------------------------------------------------------------------------------- repr


def test_what_is_handed_back_has_a_repr() -> None:
    gradient = tl.grad(loss)
    _, pullback = tl.vjp(loss, W, B, X)
    _, tangent = tl.linearize(loss, W, B, X)
    sparse = tl.sparse_jacobian(lambda x: x * x)
    sparse(X)
    shown = {
        "stages": gradient.stages,
        "saved": gradient.saved(W, B, X),
        "plan": sparse.plan(),
        "report": tl.explain(loss, W, B, X),
        "trace": tl.trace(gradient, W, B, X),
        "nan": tl.find_nan(loss, W, B, X),
        "lines": tl.line_map(gradient),
    }
    for what, value in shown.items():
        assert " object at 0x" not in repr(value), what
    assert repr(shown["lines"]).startswith("LineMap(loss_grad: ")
    assert "pullback of loss" in repr(pullback)
    assert "tangent map of loss" in repr(tangent)


def test_the_tangent_map_of_a_constant_has_a_text_too() -> None:
    value, tangent = tl.linearize(lambda: 3.0)
    assert (value, tangent(), tangent.source, tangent.runs_primal) == (3.0, 0.0, "", False)


# ------------------------------------------------------------------------------------- types

ACCEPTED = """\
import numpy as np
from numpy.typing import NDArray

import tangentlike as tl

Array = NDArray[np.float64]


def loss(w: Array, b: float, *, scale: float = 1.0) -> float:
    return scale * float(np.sum(w)) + b


@tl.grad
def slope(x: float) -> float:
    return x * x


@tl.grad(wrt="y")
def other(x: float, y: float) -> float:
    return x * y


class Model:
    def energy(self, x: float) -> float:
        return x * x

    def __call__(self, x: float) -> float:
        return x * x


w = np.ones(3)
df = tl.grad(loss, wrt=("w", "b"))
text: str = df.source + df.stages["emitted"] + df.__name__
size: int = df.saved(w, 1.0).bytes
df(w, b=1.0, scale=2.0)
value, gradient = tl.value_and_grad(loss)(w, 1.0)
number: float = value
other(1.0, y=2.0)
second = tl.grad(tl.grad(slope))(1.0)
matrix = tl.jacobian(loss, mode="forward", has_aux=False)(w, 1.0)
sweeps: int = tl.sparse_hessian(loss).plan().sweeps
y, pullback = tl.vjp(loss, w, 1.0, scale=3.0)
bars: tuple[object, ...] = pullback(1.0)
z, tangent = tl.linearize(loss, w, 1.0)
tangent(w, None)
shown: str = tangent.source
product = tl.hvp(loss, v_position=1)(w, w, 1.0)
y, change = tl.jvp(loss, (w, 1.0), (w, None))
tl.autodiff(loss)(w, 1.0, 1.0)
tl.grad(Model().energy)(1.0)
tl.grad(Model())(1.0)
tl.grad(lambda x: x**3)(2.0)
tl.jvp(np.sin, 1.0, 1.0)
tl.value_and_grad(has_aux=False)(loss)(w, 2.0)
again: float = tl.checkpoint(loss)(w, 1.0)
for t in tl.checkpointed(range(10), every=3):
    step: int = t
"""
# Each is rejected with this code.
REJECTED = {
    "df(w)": "call-arg",
    'df("no", 1.0)': "arg-type",
    "df(w, 1.0, step=2.0)": "call-arg",
    "df.sauce": "attr-defined",
    "df.saved(w)": "call-arg",
    'slope("x")': "arg-type",
    "other(1.0)": "call-arg",
    'tl.value_and_grad(loss)(w, "b")': "arg-type",
    'tl.jacobian(loss)("w", 1.0)': "arg-type",
    "tl.hessian(loss)()": "call-arg",
    'tl.vjp(loss, "w", 1.0)': "arg-type",
    'tl.linearize(loss, w, "b")': "arg-type",
    "tl.grad(3)": "call-overload",
    "tl.grad(loss, wrt=1.5)": "call-overload",
    'tl.value_and_grad(wrt=0)(loss)("w", 1.0)': "arg-type",
    "tl.no_such_name": "attr-defined",
}


@pytest.mark.thorough  # (half a minute where mypy has not seen the package before)
def test_mypy_knows_derivatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy --strict on a user's script: what is right passes, each wrong line is found."""
    from mypy import api

    script = tmp_path / "user_script.py"
    script.write_text(ACCEPTED + "\n".join(REJECTED) + "\n")
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    options = ["--strict", "--follow-imports=silent", "--config-file="]
    cache = f"--cache-dir={ROOT / '.mypy_cache'}"
    text, errors, _ = api.run([*options, cache, "--no-error-summary", script.name])
    assert not errors
    first = ACCEPTED.count("\n") + 1
    found = re.findall(r"^user_script.py:(\d+): error: .*\[([\w-]+)\]$", text, re.MULTILINE)
    expected = [(str(first + n), code) for n, code in enumerate(REJECTED.values())]
    assert found == expected, text


def test_help_of_the_package_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `help(tl)` and editors ask for each name of `dir` loads nothing that is not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "dask" else find(name)
    )
    assert "dask" not in dir(tl)
    monkeypatch.undo()
    assert "dask" in dir(tl)
