"""What a first hour on the command line meets: arguments, encodings, methods, terminals."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main

ROOT = Path(__file__).parent.parent
MODEL = """\
import numpy as np


def loss(w, x):
    p = np.tanh(x @ w)
    return np.sum(p * p)


def made():
    return np.ones((3, 2)), np.ones((4, 3))


class Spring:
    rate = 2.0

    def energy(self, x):
        return self.rate * np.sum(x * x)

    @classmethod
    def relaxed(cls, x):
        return cls.rate * np.sum(x)

    class Inner:
        @staticmethod
        def cube(x):
            return x**3


def pulled():
    return Spring(), np.ones(3)
"""


@pytest.fixture
def here(folder_apart: Path) -> Path:
    (folder_apart / "hour_model.py").write_text(MODEL)
    return folder_apart


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def defined(done: Any) -> dict[str, Any]:
    assert done.exit_code == 0, done.stderr
    namespace: dict[str, Any] = {}
    exec(done.stdout, namespace)
    return namespace


# -------------------------------------------------------------------- arguments tell the ranks


@pytest.mark.parametrize("command", ["grad", "jvp", "vjp", "hvp"])
@pytest.mark.parametrize(
    "how", [["--shape", "w=3,2", "--shape", "x=4,3"], ["--args", "made"],
            ["--args", "hour_model.py:made"]]
)  # fmt: skip
def test_arguments_make_plainer_source(here: Path, command: str, how: list[str]) -> None:
    plain, told = run(command, "hour_model.py:loss"), run(command, "hour_model.py:loss", *how)
    helpers = re.compile(r"\b(un)?broadcast\w*\(|matmul_bar_\w|\bunreduce\(")
    assert len(helpers.findall(told.stdout)) < len(helpers.findall(plain.stdout)) or (
        command == "jvp" and not helpers.search(plain.stdout)
    )
    defined(told)


def test_the_text_for_given_arguments_is_right(here: Path) -> None:
    gradient = defined(run("grad", "hour_model.py:loss", "--args", "made"))["loss_grad"]
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal((3, 2)), rng.standard_normal((4, 3))
    p = np.tanh(x @ w)
    assert np.allclose(gradient(w, x), x.T @ (2.0 * p * (1.0 - p * p)))


def test_some_arguments_are_enough(here: Path) -> None:
    defined(run("grad", "hour_model.py:loss", "--shape", "x=4,3"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (["--shape", "q=3"], "loss has no parameter 'q'"),
        (["--shape", "w=a,b"], "'a,b' is not a shape"),
        (["--shape", "w=-3"], "'-3' is not a shape"),
        (["--value", "w=open("], "'open(' is not a Python literal"),
        (["--args", "made", "--shape", "w=3"], "excludes --shape"),
        (["--args", "nothing"], "has no 'nothing'"),
        (["--show", "lowered", "--standalone"], "exclude each other"),
    ],
)
def test_bad_usage(here: Path, how: list[str], message: str) -> None:
    done = run("grad", "hour_model.py:loss", *how)
    assert done.exit_code == 2 and message in done.stderr


def test_a_parameter_by_keyword_only(here: Path) -> None:
    (here / "hour_keyword.py").write_text("def f(x, *, n=2.0):\n    return x * n\n")
    assert run("check", "hour_keyword.py:f", "--value", "x=1.0").exit_code == 0
    done = run("check", "hour_keyword.py:f", "--value", "x=1.0", "--value", "n=3.0")
    assert done.exit_code == 2 and "by keyword only" in done.stderr


@pytest.mark.parametrize("command", ["check", "saved"])
def test_shapes_that_do_not_fit_are_an_error_at_the_users_line(here: Path, command: str) -> None:
    done = run(command, "hour_model.py:loss", "--shape", "w=3,2", "--shape", "x=4,5")
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    where, line, caret, *_ = done.stderr.splitlines()
    assert "hour_model.py:5: hour_model.py:loss cannot be run at these arguments" in where
    assert line.strip() == "p = np.tanh(x @ w)"
    assert sys.version_info < (3, 11) or line[caret.index("^") : caret.rindex("^") + 1] == "x @ w"


def test_arguments_that_cannot_be_made(here: Path) -> None:
    (here / "hour_args.py").write_text("def made():\n    return {}['x']\n")
    for command in ("grad", "check"):
        done = run(command, "hour_model.py:loss", "--args", "hour_args.py:made")
        assert done.exit_code == 1 and "hour_args.py:2: " in done.stderr
        assert "does not give arguments: KeyError" in done.stderr


# ------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize(
    ("target", "options", "name"),
    [
        ("Spring.energy", ["--wrt", "x"], "energy_grad"),
        ("Spring.relaxed", [], "relaxed_grad"),
        ("Spring.Inner.cube", [], "cube_grad"),
    ],
)
def test_a_method(here: Path, target: str, options: list[str], name: str) -> None:
    namespace = defined(run("grad", f"hour_model.py:{target}", *options))
    module = sys.modules["hour_model"]
    x = np.arange(3.0)
    if name == "energy_grad":
        assert np.array_equal(namespace[name](module.Spring(), x), 4.0 * x)
    elif name == "relaxed_grad":
        assert np.array_equal(namespace[name](module.Spring, x), np.full(3, 2.0))
    else:
        assert namespace[name](2.0) == 12.0


def test_a_method_is_checked_with_its_object(here: Path) -> None:
    assert run("check", "hour_model.py:Spring.energy", "--args", "pulled").exit_code == 0


# ------------------------------------------------------------------------- encodings and names


def test_a_declared_encoding_is_honoured(here: Path) -> None:
    text = "# -*- coding: latin-1 -*-\nimport numpy as np\n\n\ndef énergie(x):\n    à = np.sin(x)  # déjà\n    return np.sum(à) + len('été')\n"
    (here / "hour_latin.py").write_bytes(text.encode("latin-1"))
    (here / "hour_bom.py").write_bytes(b"\xef\xbb\xbf" + text.partition("\n")[2].encode())
    for target in ("hour_latin.py:énergie", "hour_bom.py:énergie"):
        assert run("grad", target, "-o", "hour_made.py").exit_code == 0
        made = (here / "hour_made.py").read_text(encoding="utf-8")
        assert "à = np.sin(x)" in made
        namespace: dict[str, Any] = {}
        exec(made, namespace)
        assert namespace["énergie_grad"](0.5) == np.cos(0.5)
        assert run(*tl_check(target)).exit_code == 0


def tl_check(target: str) -> list[str]:
    return ["grad", target, "--check", "hour_made.py"]


def test_the_output_of_a_pipe_is_utf_8(here: Path) -> None:
    (here / "hour_e.py").write_text("def f(é):\n    return é * é\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tangentlike", "grad", "hour_e.py:f"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
    )
    assert "* é  " in done.stdout.decode("utf-8"), done.stderr


def test_a_file_whose_name_no_import_statement_can_say(here: Path) -> None:
    (here / "hour-model.py").write_text(
        "import math as m\nSCALE = [3.0]\n\n\ndef f(x):\n    return SCALE[0] * m.exp(x)\n"
    )
    namespace = defined(run("grad", "hour-model.py:f"))
    assert namespace["f_grad"](0.0) == 3.0
    f = sys.modules["hour-model"].f
    assert tl.grad(f)(0.0) == 3.0


# ---------------------------------------------------------------------------- ends and terminals


def test_interrupted(here: Path) -> None:
    (here / "hour_long.py").write_text("raise KeyboardInterrupt\n")
    done = run("grad", "hour_long.py:f")
    assert done.exit_code == 130 and "Traceback" not in done.stderr


def test_the_help_says_that_the_file_is_imported() -> None:
    for command in ("grad", "jvp", "vjp", "hvp"):
        assert "is imported" in " ".join(run(command, "--help").stdout.split())


def on_terminal(folder: Path, *args: str, columns: int = 40) -> str:
    """What a command prints on a narrow terminal, with the escapes in it."""
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "COLUMNS"):
        environment.pop(name, None)
    done = subprocess.Popen(
        [sys.executable, "-m", "tangentlike", *args],
        stdout=follower, stderr=follower, cwd=folder, env=environment,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert done.wait() == 0, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_lines_are_never_cut_on_a_terminal(here: Path) -> None:
    shown = on_terminal(here, "grad", "hour_model.py:loss", "--wrt", "w,x")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain == run("grad", "hour_model.py:loss", "--wrt", "w,x").stdout
    assert max(map(len, plain.splitlines())) > 40
    # Attributes, magenta and red are all: they read well on light and on dark.
    assert set(re.findall(r"\x1b\[([0-9;]*)m", shown)) <= {"0", "1", "2", "31", "35"}


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_tables_are_never_cut_on_a_terminal(here: Path) -> None:
    shown = on_terminal(here, "check", "hour_model.py:Spring.Inner.cube", "--value", "x=2.0")
    assert "…" not in shown and "12" in shown
