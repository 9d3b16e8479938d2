"""The command line, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from tangentlike.cli import main
from tangentlike.pipeline.table import STAGE_NAMES
from tests.processes import python

ROOT = Path(__file__).parent.parent

MODEL = """\
import zlib

import numpy as np
print("being imported")

def loss(x, y):
    r = np.sin(x) * y
    return r * r

def refused(x):
    return unknown_operation(x)

def unknown_operation(x):
    return zlib.crc32(x)

class Model:
    @staticmethod
    def loss(x):
        return x * x

def arguments():
    return 0.5, np.array(2.0)

CONSTANT = 3
"""


@pytest.fixture
def folder(folder_apart: Path) -> Path:
    (folder_apart / "model.py").write_text(MODEL)
    return folder_apart


def run(folder: Path, *args: str) -> Any:
    """What a command prints in a folder; in this process, which is quicker."""
    assert Path.cwd() == folder
    done = CliRunner().invoke(main, list(args))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)


def run_apart(folder: Path, *args: str) -> Any:
    """The same in a process of its own, as a user runs it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "tangentlike", *args],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )


def test_grad_prints_plain_source_that_runs(folder: Path) -> None:
    done = run_apart(folder, "grad", "model.py:loss", "--wrt", "x,y")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "being imported" not in done.stdout
    namespace: dict[str, Any] = {}
    exec(done.stdout, namespace)
    assert namespace["loss_grad"](0.0, 2.0) == (0.0, 0.0)


@pytest.mark.parametrize("command", ["jvp", "vjp", "hvp"])
def test_other_derivatives(folder: Path, command: str) -> None:
    done = run(folder, command, "model.py:loss")
    assert done.returncode == 0, done.stderr
    assert "def loss" in done.stdout
    compile(done.stdout, "text", "exec")


@pytest.mark.parametrize("stage", ["lowered", "called", "emitted"])
def test_show(folder: Path, stage: str) -> None:
    done = run(folder, "grad", "model.py:loss", "--show", stage)
    assert done.returncode == 0, done.stderr
    assert "def loss" in done.stdout


@pytest.mark.parametrize("command", ["grad", "hvp"])
def test_time(folder: Path, command: str) -> None:
    done = run(folder, command, "model.py:loss", "--time")
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["stage", "ms", "runs", "statements", "analyses"]
    assert [row[0] for row in rows[1:]] == [*STAGE_NAMES, "between them", "total"]
    assert sum(float(row[1]) for row in rows[1:-1]) == pytest.approx(float(rows[-1][1]), abs=1.0)
    assert all(int(row[3]) > 0 for row in rows[1:-3])  # (the text has no statements)
    assert int(rows[-1][4]) > 0
    assert run(folder, command, "model.py:loss", "--time", "--show", "lowered").returncode == 2


def test_output_file(folder: Path) -> None:
    done = run(folder, "grad", "model.py:Model.loss", "-o", "made.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "def loss_grad(x)" in (folder / "made.py").read_text()


def test_a_derivative_for_numba(folder: Path) -> None:
    pytest.importorskip("numba")
    done = run(folder, "grad", "model.py:loss", "--target", "numba", "-o", "made.py")
    assert done.returncode == 0, done.stderr
    text = (folder / "made.py").read_text()
    assert "@compiled\ndef loss_grad(" in text and "--target numba -o made.py" in text
    assert (
        run(folder, "grad", "model.py:loss", "--target", "numba", "--check", "made.py").returncode
        == 0
    )
    for command in ("jvp", "vjp", "hvp"):
        refused = run(folder, command, "model.py:loss", "--target", "numba")
        assert refused.returncode == 2 and f"{command} has no --target" in refused.stderr


def test_standalone_needs_numpy_only(folder: Path) -> None:
    done = run(folder, "grad", "model.py:loss", "--standalone", "-o", "made.py")
    assert done.returncode == 0, done.stderr
    assert "tangentlike" not in [
        line.split()[1].split(".")[0]
        for line in (folder / "made.py").read_text().splitlines()
        if line.startswith(("import ", "from "))
    ]
    script = (
        "import sys; sys.modules['tangentlike'] = None; import made; "
        "print(made.loss_grad(0.0, 2.0))"
    )
    assert python("-c", script, folder=folder).strip() == "0.0"


@pytest.mark.parametrize(
    ("target", "status", "message"),
    [
        ("missing.py:loss", 2, "there is no file missing.py"),
        ("model.py:nothing", 2, "model.py has no 'nothing'\nIt defines loss, refused"),
        ("model.py:CONSTANT", 2, "CONSTANT in model.py is a int, not a function"),
        ("model.py", 2, "expected FILE.py:FUNC"),
        ("bad.py:f", 1, "bad.py:2: syntax error:"),
        ("broken.py:f", 1, "broken.py cannot be imported: ZeroDivisionError"),
        ("model.py:refused", 1, "model.py:14: no derivative rule for zlib.crc32"),
    ],
)
def test_refusals(folder: Path, target: str, status: int, message: str) -> None:
    (folder / "bad.py").write_text("def f(x):\n    return (x\n")
    (folder / "broken.py").write_text("def f(x):\n    return x * RATE\n\nRATE = 1 / 0\n")
    done = run(folder, "grad", target, "-o", "made.py")
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("made.py*"))


def test_a_refusal_leaves_an_existing_file_alone(folder: Path) -> None:
    (folder / "made.py").write_text("precious\n")
    assert run(folder, "grad", "model.py:refused", "-o", "made.py").returncode == 1
    assert (folder / "made.py").read_text() == "precious\n"


@pytest.mark.parametrize(
    "args",
    [["grad"], ["gradient", "model.py:loss"], ["grad", "model.py:loss", "--show", "nothing"]],
)
def test_bad_usage(folder: Path, args: list[str]) -> None:
    assert run(folder, *args).returncode == 2


def test_unknown_wrt(folder: Path) -> None:
    done = run(folder, "grad", "model.py:loss", "--wrt", "z")
    assert done.returncode == 1
    assert "loss has no parameter 'z'" in done.stderr


def test_a_module_inside_a_package(folder: Path) -> None:
    package = folder / "pkg" / "sub"
    package.mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (folder / "pkg" / "common.py").write_text("SCALE = 2.0\n")
    (package / "inner.py").write_text(
        "from ..common import SCALE\n\ndef f(x):\n    return SCALE * x\n"
    )
    done = run(folder, "grad", "pkg/sub/inner.py:f")
    assert done.returncode == 0, done.stderr
    assert "def f_grad(x)" in done.stdout


@pytest.mark.parametrize(
    "how", [["--shape", "x=3", "--value", "y=0.5"], ["--args", "arguments"], ["--shape", "x=",
            "--shape", "y=2,2", "--wrt", "y", "--seed", "4"]],
)  # fmt: skip
def test_check(folder: Path, how: list[str]) -> None:
    done = run(folder, "check", "model.py:loss", *how)
    assert done.returncode == 0, done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.startswith("mode\targument")
    assert rows and all(row.endswith("ok") for row in rows)


def test_check_needs_all_arguments(folder: Path) -> None:
    done = run(folder, "check", "model.py:loss", "--shape", "x=3")
    assert done.returncode == 2
    assert "no value for the parameter 'y'" in done.stderr
    assert run(folder, "check", "model.py:loss", "--shape", "z=3").returncode == 2
    assert run(folder, "check", "model.py:loss", "--shape", "x").returncode == 2


def test_a_wrong_derivative_fails_the_check(folder: Path) -> None:
    (folder / "wrong.py").write_text(
        "import tangentlike as tl\n\n"
        "def cube(x):\n    return x * x * x\n\n"
        "@tl.rule(cube)\ndef cube_rule(y, x):\n    dy_dx = 2.0 * x * x\n\n"
        "def loss(x):\n    return cube(x)\n"
    )
    done = run(folder, "check", "wrong.py:loss", "--value", "x=2.0")
    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_rules(folder: Path) -> None:
    done = run(folder, "rules", "--like", "tanh")
    assert done.returncode == 0
    assert any(row.startswith("numpy.tanh\t") for row in done.stdout.splitlines())
