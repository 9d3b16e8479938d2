"""`--no-import`: a file is read and not run; what is not known for that is refused."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tangentlike.cli import main

HEAD = '''\
"""A model."""
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.special
import not_installed_anywhere as nia

if TYPE_CHECKING:
    import pandas as pd

RATE: float = 3.0
WEIGHTS = np.array([1.0, 2.0])
TABLE = {"a": RATE, "b": [1.0, -2.0]}
TOUCHED = [1.0]
open("ran", "w").close()
TOUCHED.append(2.0)
print(nia.version)
sum = nia.sum


def helper(x: pd.DataFrame, n=2):
    return RATE * np.sin(x) ** n


def loss(x):
    return np.sum(helper(x) * WEIGHTS) + TABLE["b"][1] * np.sum(x) + np.pi


@dataclass
class Model:
    rate: float = 2.0

    def energy(self, x):
        return self.rate * np.sum(x * x)

    @staticmethod
    def cube(x):
        return x**3


def of_scipy(x):
    return scipy.special.erf(x)


def uses_touched(x):
    return x * TOUCHED[0]


def uses_other(x):
    return helper(x) + nia.f(x)


def uses_sum(x):
    return inner_sum(x)


def inner_sum(x):
    return sum([x, x])


@nia.jit
def decorated(x):
    return x


def rebound(x):
    return x * x


rebound = nia.jit(rebound)

if __name__ == "__main__":
    RATE = 5.0
    loss(WEIGHTS)
'''


@pytest.fixture
def here(folder_apart: Path) -> Iterator[Path]:
    (folder_apart / "unrun.py").write_text(HEAD)
    yield folder_apart
    assert not (folder_apart / "ran").exists()


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def read(folder: Path, text: str, function: str = "f") -> Any:
    (folder / "unrun_other.py").write_text(text)
    sys.modules.pop("unrun_other", None)
    return run("grad", f"unrun_other.py:{function}", "--no-import")


@pytest.mark.parametrize("name", ["loss", "helper", "Model.cube", "of_scipy"])
def test_a_file_is_not_run(here: Path, name: str) -> None:
    done = run("grad", f"unrun.py:{name}", "--no-import", "--standalone")
    assert done.exit_code == 0, done.stderr
    compile(done.stdout, name, "exec")


def test_the_gradient_is_that_of_the_file(here: Path) -> None:
    import numpy as np

    done = run("grad", "unrun.py:loss", "--no-import", "--standalone")
    namespace: dict[str, Any] = {}
    exec(done.stdout, namespace)
    x, weights = np.array([0.3, 0.7]), np.array([1.0, 2.0])
    expected = 6.0 * np.sin(x) * np.cos(x) * weights - 2.0
    assert np.allclose(namespace["loss_grad"](x), expected)


def test_a_method(here: Path) -> None:
    done = run("grad", "unrun.py:Model.energy", "--wrt", "x", "--no-import")
    assert done.exit_code == 0 and "np.sum(product_bar" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "unknown", "line"),
    [("uses_touched", "TOUCHED", 18), ("uses_other", "nia", 8), ("uses_sum", "sum", 20)],
)
def test_what_is_not_known_is_refused(here: Path, name: str, unknown: str, line: int) -> None:
    done = run("grad", f"unrun.py:{name}", "--no-import")
    assert done.exit_code == 1
    assert f"`{unknown}` is not known without running the file" in done.stderr
    assert f"unrun.py:{line}: " in done.stderr


@pytest.mark.parametrize("name", ["decorated", "rebound"])
def test_what_is_rebound_or_decorated_is_not_there(here: Path, name: str) -> None:
    done = run("grad", f"unrun.py:{name}", "--no-import")
    assert done.exit_code == 2 and f"has no '{name}'" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "K = [1.0]\ndef f(x):\n    return x * K[0]\ndef g():\n    K[0] = 2.0\ng()\n",
        "K = 1.0\ndef f(x):\n    return x * K\ndef g():\n    global K\n    K = 2.0\ng()\n",
        "K = [1.0]\ndef f(x):\n    return x * K[0]\ndef g():\n    h()\n"
        "def h():\n    K.append(1.0)\nprint(g())\n",
        "K = [1.0]\ndef f(x):\n    return x * K[0]\nclass G:\n    def __init__(self):\n"
        "        K.append(1.0)\nG()\n",
        "K = [1.0]\ndef f(x):\n    return x * K[0]\n@run\ndef g():\n    K.append(1.0)\n",
        "K = 1.0\nmatch [2.0]:\n    case [K]:\n        pass\ndef f(x):\n    return x * K\n",
        "sum = max\ndef g(x):\n    return sum([x, x])\nT = {'g': g}\ndef f(x):\n"
        "    return T['g'](x)\n",
        "sum = max\ndef g(x):\n    return sum([x, x])\ndef f(x, g=g):\n    return g(x)\n",
        "K = 1.0\nfor K in range(3):\n    pass\ndef f(x):\n    return x * K\n",
        "K = 1.0\nK += 1.0\ndef f(x):\n    return x * K\n",
        "K = 1.0\nif K:\n    K = 2.0\ndef f(x):\n    return x * K\n",
        "import numpy as np\nnp.sin = np.cos\ndef f(x):\n    return np.sin(x)\n",
        "import numpy as np\nimport other\nother.patch(np)\ndef f(x):\n    return np.sin(x)\n",
        "K = [1.0]\nL = K\nL.append(2.0)\nL[0] = 3.0\ndef f(x):\n    return x * L[0]\n",
        "class A:\n    k = 1.0\nA.k = 2.0\ndef f(x):\n    return x * A.k\n",
        "try:\n    from fast import g\nexcept ImportError:\n    def g(x):\n        return x\n"
        "def f(x):\n    return g(x)\n",
        "from other import *\ndef f(x):\n    return x\n",
        "K = 1.0\nglobals()['K'] = 2.0\ndef f(x):\n    return x * K\n",
        "K = 1.0\nexec('K = 2.0')\ndef f(x):\n    return x * K\n",
        "K = 1.0\n(K := 2.0)\ndef f(x):\n    return x * K\n",
        "K = 1.0\ndel K\nK: float\ndef f(x):\n    return x * K\n",
        "def g(x):\n    return x\nh = [g]\ng, k = h[0], 1\ndef f(x):\n    return g(x)\n",
    ],
)
def test_what_another_statement_may_change_is_refused(here: Path, text: str) -> None:
    done = read(here, text)
    assert done.exit_code == 1 and "not known without running the file" in done.stderr, done.stdout


def test_what_the_other_methods_use(here: Path) -> None:
    text = "sum = max\nclass A:\n    def f(self, x):\n        return self.g(x)\n"
    done = read(here, text + "    def g(self, x):\n        return sum([x, x])\n", "A.f")
    assert done.exit_code == 1 and "`sum` is not known" in done.stderr, done.stdout


def test_an_alias_of_what_is_changed(here: Path) -> None:
    done = read(here, "K = [1.0]\nL = K\nL[0] = 3.0\ndef f(x):\n    return x * K[0]\n")
    assert done.exit_code == 1 and "not known" in done.stderr, done.stdout


def test_errors(here: Path) -> None:
    done = read(here, "def f(x:\n")
    assert done.exit_code == 1 and "syntax error" in done.stderr
    done = run("grad", "unrun.py:loss", "--no-import", "--args", "made")
    assert done.exit_code == 2


def test_the_header_says_so(here: Path) -> None:
    assert run("grad", "unrun.py:helper", "--no-import", "-o", "unrun_made.py").exit_code == 0
    assert "helper --no-import -o" in (here / "unrun_made.py").read_text().splitlines()[1]
    del sys.modules["unrun"]
    assert run("stale").exit_code == 0


def test_verbose_says_first_whether_the_file_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cli_said.py").write_text("print('executed')\n\ndef f(x):\n    return x * x\n")
    said = run("grad", "cli_said.py:f", "--no-import", "--verbose")
    assert said.stderr.splitlines()[0] == "cli_said.py is read, and not run"
    said = run("grad", "cli_said.py:f", "--verbose")
    assert said.stderr.splitlines() == ["cli_said.py is read, and not run"]
    Path("cli_run.py").write_text("from helpers import g\n\ndef f(x):\n    return x * x\n")
    Path("helpers.py").write_text("print('executed')\ng = abs\n")
    said = run("grad", "cli_run.py:f", "--verbose")
    first = "cli_run.py is imported, which executes its top level: line 1 imports helpers"
    assert said.stderr.splitlines() == [first, "executed"]
    assert "is imported" not in said.stdout and "def f_grad" in said.stdout


def test_a_file_is_run_where_that_may_change_the_derivative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule of the file counts; what cannot change the derivative is not run."""
    monkeypatch.chdir(tmp_path)
    rule = "@tl.rule(half)\ndef half_rule(y, x):\n    dy_dx = 7.0\n"
    half = "def half(x):\n    return x / 2.0\n"
    use = "def f(x):\n    return half(x)\n"
    Path("cli_rules.py").write_text(f"import tangentlike as tl\n{half}{rule}{use}")
    assert "7.0" in run("grad", "cli_rules.py:f").stdout
    Path("cli_plain.py").write_text(f"import os, sys\nopen('ran', 'w').close()\n{half}{use}")
    assert "def f_grad" in run("grad", "cli_plain.py:f").stdout
    assert not Path("ran").exists()
    assert "def f_grad" in run("grad", "cli_plain.py:f", "--value", "x=2.0").stdout
    assert not Path("ran").exists()
    Path("cli_plain.py").write_text(
        f"{half}{use}RATE = 2.0\nRATE += 1.0\ndef g(x):\n    return x * RATE\n"
    )
    done = run("grad", "cli_plain.py:g", "--standalone")
    assert "RATE = 3.0" in done.stdout, done.output


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
@pytest.mark.parametrize("how", [[], ["--no-import"], ["--standalone"]])
def test_cupy_programs_are_printed_without_cupy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import cupy as cp\n\ndef f(x, i):\n    y = cp.exp(x[i]) * cp.linalg.norm(x)\n    return cp.sum(y)\n"
    file = f"cli_device{len(''.join(how))}.py"  # (a process knows one file of a name)
    Path(file).write_text(text)
    done = run("grad", f"{file}:f", *how)
    assert done.exit_code == 0, done.output
    assert "import cupy as cp\n" in done.stdout and "cp.linalg.norm(x)" in done.stdout
    assert "cupy" not in sys.modules
    done = run("check", f"{file}:f", "--shape", "x=3", "--value", "i=1")
    assert done.exit_code == 1 and "CuPy is not installed" in done.output
