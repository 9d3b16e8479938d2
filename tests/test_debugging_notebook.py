"""Derivatives in notebooks: how they show themselves, and notebooks on the command line."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main

CELLS = [
    "import numpy as np\nimport tangentlike as tl",
    "%matplotlib inline\ndef helper(x):\n    return np.tanh(x)",
    "%%time\ndef loss(x):\n    y = helper(x)\n    return np.sum(y * y)",
    "gradient = tl.grad(loss)\ngradient",
    "tl.trace(gradient, np.ones(3))",
    "tl.find_nan(loss, np.ones(3))",
    "tl.explain(loss, np.ones(3))",
]


def notebook(cells: list[str], path: Path) -> Path:
    made = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": f"c{n}",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": text.splitlines(keepends=True),
            }
            for n, text in enumerate(cells)
        ],
    }
    path.write_text(json.dumps(made))
    return path


def plain(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_a_derivative_shows_its_source() -> None:
    def inner(x: Any) -> Any:
        return np.tanh(x) * len("<script>")

    page = tl.grad(lambda x: np.sum(inner(x)))._repr_html_()
    assert "<details open>" in page and "<script>" not in page
    text = plain(page)
    assert "with respect to x" in text
    gradient = tl.grad(lambda x: np.sum(np.exp(x)))
    for line in gradient.source.splitlines():
        assert line.strip() in plain(gradient._repr_html_())


def test_a_derivative_that_is_not_made_yet() -> None:
    def waits(x: Any) -> Any:
        return defined_later(x)  # noqa: F821

    assert tl.grad(waits)._repr_html_() is None


def test_other_operators_show_themselves() -> None:
    for operator in (tl.hvp, tl.hessian, tl.jacobian, tl.value_and_grad):
        assert operator.__name__ in plain(operator(lambda x: np.sum(x**2))._repr_html_())


def test_a_notebook_on_the_command_line(tmp_path: Path) -> None:
    path = notebook(
        [*CELLS[:3], 'raise RuntimeError("later cells are not run")'], tmp_path / "n.ipynb"
    )
    done = CliRunner().invoke(main, ["grad", f"{path}:loss"])
    assert done.exit_code == 0, done.output
    assert "def loss_grad(x):" in done.output
    done = CliRunner().invoke(main, ["check", f"{path}:loss", "--shape", "x=3"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x = 1", "y = 1 / 0"], "cell 2 cannot be run: ZeroDivisionError"),
        (["def f(:"], "cell 1 cannot be run: SyntaxError"),
        (["x = 1"], "has no 'loss'"),
    ],
)
def test_notebooks_that_cannot_be_used(cells: list[str], message: str, tmp_path: Path) -> None:
    path = notebook(cells, tmp_path / "bad.ipynb")
    done = CliRunner().invoke(main, ["grad", f"{path}:loss"])
    assert done.exit_code in (1, 2) and message in done.output


def test_what_is_no_notebook(tmp_path: Path) -> None:
    (tmp_path / "bad.ipynb").write_text("hello")
    done = CliRunner().invoke(main, ["grad", f"{tmp_path}/bad.ipynb:loss"])
    assert done.exit_code == 1 and "is not a notebook" in done.output


def test_in_a_running_notebook(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [CELLS[0], *CELLS[2:]]
    cells.insert(1, CELLS[1].partition("\n")[2])
    path = notebook(cells, tmp_path / "n.ipynb")
    ran = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        ran, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [
        output["data"]["text/html"]
        for cell in ran.cells
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert len(shown) == 4
    source, table, nan, page = shown
    assert "def loss_grad(x):" in plain(source)
    assert "(3,) float64" in plain(table) and "is finite" in plain(nan)
    assert page.startswith("<iframe srcdoc=")


def test_messages_where_there_is_no_source() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    return x * x\n", namespace)
    with pytest.raises(tl.UnsupportedError, match="linecache.cache"):
        tl.grad(namespace["f"])
    exec(compile("def f(x):\n    return x * x\n", "<stdin>", "exec"), namespace)
    with pytest.raises(tl.UnsupportedError, match="IPython or a notebook"):
        tl.grad(namespace["f"])


def test_the_advice_for_text_works() -> None:
    import linecache

    text, name, namespace = "def f(x):\n    return x * x\n", "made by a test", {}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace)
    assert tl.grad(namespace["f"])(3.0) == 6.0


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps the text of -c")
def test_python_c() -> None:
    program = "import tangentlike as tl\ndef f(x):\n    return x * x\ntl.grad(f)"
    root = str(Path(__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root)
    assert "by python -c" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_at_the_prompt(tmp_path: Path) -> None:
    """Typed at Python's own prompt: the text is found in the history of lines."""
    import os
    import pty
    import select
    import time

    typed = [
        "import tangentlike as tl",
        "def f(x):",
        "    y = x * x",
        "    return y * 5.0",
        "",
        "g = tl.grad(lambda x: x**3)",
        "print('results', tl.grad(f)(3.0), g(2.0))",
        "exit()",
    ]
    process, terminal = pty.fork()
    if not process:
        root = str(Path(__file__).parent.parent)
        os.environ.update(PYTHONPATH=root, TERM="dumb", HOME=str(tmp_path), PYTHON_HISTORY="")
        os.execv(sys.executable, [sys.executable, "-q"])
    seen, deadline = "", time.monotonic() + 60.0
    pending = list(typed)
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            seen += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the end of the program
            break
        if pending and re.search(r"(>>>|\.\.\.) (\x1b\[\?2004h)?$", seen):
            os.write(terminal, pending.pop(0).encode() + b"\n")
            seen += "\n"
    os.waitpid(process, 0)
    if "readline" not in sys.modules and "cannot be found" in seen:
        pytest.importorskip("readline")
    assert "results 30.0 12.0" in seen, seen
