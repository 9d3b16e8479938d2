"""docs/differences.md: gradients beside those of other tools, and what is true.

`python -m tests.test_differences` prints the table for the page. JAX and PyTorch are compared where
they are installed (the extra `peers`), Tangent where `TANGENT_PYTHON` names an interpreter that has
it (tests/tangent_gradients.py says which); without them, their tests are skipped.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import subprocess
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

PAGE = Path(__file__).parent.parent / "docs" / "differences.md"


def root_of_positive(x):
    return np.sum(np.sqrt(np.maximum(x, 0.0)))


def chosen_root(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


def clipped_angle(x):
    return np.sum(np.arccos(np.clip(x, -1.0, 1.0)))


def product(x):
    return np.prod(x)


def sinc(x):
    return np.sum(np.sinc(x))


def second_name(x):
    y = x * 1.0
    z = y
    z *= 2.0
    return np.sum(y * x)


def written_entry(x):
    y = x * 1.0
    y[0] = y[1] * y[2]
    return np.sum(y * y)


def filled_buffer(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[i]
    return np.sum(y)


def plain_float(x):
    return float(np.sum(x)) * 2.0


def norm(x):
    return np.linalg.norm(x)


def deviation(x):
    return np.std(x)


def hypotenuse(x):
    return np.hypot(x[0], x[1])


def angle(x):
    return np.arctan2(x[0], x[1])


@dataclass(frozen=True)
class Case:
    """A program at a point; `smooth` says that it has a derivative there."""

    program: Callable[[Any], Any]
    at: tuple[float, ...]
    smooth: bool = True


CASES = (
    Case(root_of_positive, (-1.0, 4.0)),
    Case(chosen_root, (-1.0, 4.0)),
    Case(clipped_angle, (2.0, 0.5)),
    Case(product, (0.0, 2.0, 3.0)),
    Case(sinc, (0.0, 0.5)),
    Case(second_name, (1.0, 2.0)),
    Case(written_entry, (1.0, 2.0, 3.0)),
    Case(filled_buffer, (1.0, 2.0, 3.0)),
    Case(plain_float, (1.0, 2.0)),
    Case(norm, (0.0, 0.0), smooth=False),
    Case(deviation, (1.0, 1.0), smooth=False),
    Case(hypotenuse, (0.0, 0.0), smooth=False),
    Case(angle, (0.0, 0.0), smooth=False),
)
ids = [case.program.__name__ for case in CASES]


def with_module(program: Any, module: Any) -> Any:
    """The same program, where `np` means another module."""
    return types.FunctionType(program.__code__, {**program.__globals__, "np": module})


def shown(compute: Callable[[], Any]) -> str:
    """A gradient as the table has it, or the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(compute())
    except Exception as error:
        return type(error).__name__
    return f"({', '.join(f'{number + 0.0:.4g}' for number in found)})"


def true_gradient(case: Case) -> str:
    if not case.smooth:
        return "none"
    x, step = np.array(case.at), 1e-6
    sides = [(x + step * e, x - step * e) for e in np.eye(len(x))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(case.program(a) - case.program(b)) / (2 * step) for a, b in sides]
    return f"({', '.join(f'{round(number, 6) + 0.0:.4g}' for number in found)})"


def own(case: Case) -> str:
    return shown(lambda: tl.grad(case.program)(np.array(case.at)))


def of_autograd(case: Case) -> str:
    autograd = pytest.importorskip("autograd")
    program = with_module(case.program, pytest.importorskip("autograd.numpy"))
    return shown(lambda: autograd.grad(program)(np.array(case.at)))


def of_jax(case: Case) -> str:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    program = with_module(case.program, importlib.import_module("jax.numpy"))
    return shown(lambda: jax.grad(program)(jax.numpy.array(case.at)))


def of_torch(case: Case) -> str:
    torch = pytest.importorskip("torch")
    names = "sum where sqrt clip arccos arctan2 hypot sinc prod zeros linalg".split()
    module = types.SimpleNamespace(
        **{name: getattr(torch, name) for name in names},
        maximum=lambda a, b: torch.maximum(a, torch.as_tensor(b, dtype=a.dtype)),
        std=lambda a: torch.std(a, correction=0),
    )

    def compute() -> Any:
        x = torch.tensor(case.at, dtype=torch.float64, requires_grad=True)
        with_module(case.program, module)(x).backward()
        return x.grad.numpy()

    return shown(compute)


@functools.cache
def tangent_column() -> dict[str, Any]:
    """What tests/tangent_gradients.py prints under the interpreter that has Tangent."""
    python = os.environ.get("TANGENT_PYTHON")
    if not python:
        pytest.skip("TANGENT_PYTHON names no interpreter")
    programs = "import numpy as np\n\n" + "".join(inspect.getsource(c.program) for c in CASES)
    points = {case.program.__name__: case.at for case in CASES}
    script = str(Path(__file__).with_name("tangent_gradients.py"))
    done = subprocess.run(
        [python, script], input=json.dumps([programs, points]), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def of_tangent(case: Case) -> str:
    found = tangent_column()[case.program.__name__]
    return found if isinstance(found, str) else shown(lambda: found)


TOOLS = {"autograd": of_autograd, "JAX": of_jax, "PyTorch": of_torch, "Tangent": of_tangent}


def table_row(case: Case) -> dict[str, str]:
    """The row of a program on the page: what is true, ours, and the other tools by their names."""
    start = f"| `{case.program.__name__}` |"
    lines = PAGE.read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(start))
    (heads,) = {line for line in lines if line.startswith("| program | x |")}
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (heads, line)]
    return dict(zip(*cells, strict=True))


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_ours_is_what_differences_say(case: Case) -> None:
    row = table_row(case)
    true, ours = row["true"], row["tangentlike"]
    assert own(case) == ours
    assert true_gradient(case) == true
    assert ours == true or not case.smooth
    assert "nan" not in ours


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_page_shows_the_program(case: Case) -> None:
    assert inspect.getsource(case.program).rstrip() in PAGE.read_text()


@pytest.mark.parametrize("case", CASES, ids=ids)
@pytest.mark.parametrize("tool", TOOLS)
def test_other_tools_are_as_the_page_says(tool: str, case: Case) -> None:
    assert TOOLS[tool](case) == table_row(case)[tool]


if __name__ == "__main__":
    for one in CASES:
        cells = [true_gradient(one), own(one), *(found(one) for found in TOOLS.values())]
        point = f"({', '.join(f'{number:g}' for number in one.at)})"
        print(f"| `{one.program.__name__}` | {point} | {' | '.join(cells)} |")
