"""Files that the command line writes: never the input, never someone else's, whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tangentlike.cli import main

MODEL = "import numpy as np\n\n\ndef loss(x):\n    return np.sum(np.sin(x))\n"
OTHER = "import numpy as np\n\n\ndef make():\n    return (np.ones(3),)\n"


@pytest.fixture
def here(folder_apart: Path) -> Path:
    (folder_apart / "cli_model.py").write_text(MODEL)
    return folder_apart


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


# ------------------------------------------------------------------------ the input is left alone


def spelled(folder: Path, how: str) -> str:
    """The path of the input, written in another way."""
    model = folder / "cli_model.py"
    (folder / "sub").mkdir()
    if how == "symlink":
        (folder / "link.py").symlink_to(model)
        return "link.py"
    if how == "hard link":
        os.link(model, folder / "hard.py")
        return "hard.py"
    if how == "link to its folder":
        (folder / "again").symlink_to(folder)
        return "again/cli_model.py"
    names = {"same": "cli_model.py", "absolute": str(model), "dots": "sub/../cli_model.py"}
    return names[how]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    "how", ["same", "absolute", "dots", "symlink", "hard link", "link to its folder"]
)
def test_the_input_is_never_written(here: Path, how: str, force: list[str]) -> None:
    done = run("grad", "cli_model.py:loss", "-o", spelled(here, how), *force)
    assert done.exit_code == 1
    assert "is the file that is read" in done.stderr
    assert (here / "cli_model.py").read_text() == MODEL


def test_the_input_given_through_a_link_is_never_written(here: Path) -> None:
    (here / "link.py").symlink_to("cli_model.py")
    assert run("grad", "link.py:loss", "-o", "cli_model.py", "--force").exit_code == 1
    assert run("grad", "link.py:loss", "-o", "link.py", "--force").exit_code == 1
    assert (here / "cli_model.py").read_text() == MODEL


def test_a_file_that_gives_the_arguments_is_never_written(here: Path) -> None:
    (here / "cli_other.py").write_text(OTHER)
    how = ["--args", "cli_other.py:make", "--force"]
    done = run("grad", "cli_model.py:loss", *how, "-o", "cli_other.py")
    assert done.exit_code == 1
    assert (here / "cli_other.py").read_text() == OTHER


def test_a_written_file_that_is_the_input_is_never_written(here: Path) -> None:
    assert run("grad", "cli_model.py:loss", "-o", "cli_made.py").exit_code == 0
    before = (here / "cli_made.py").read_text()
    assert run("jvp", "cli_made.py:loss_grad", "-o", "cli_made.py").exit_code == 1
    assert (here / "cli_made.py").read_text() == before


# -------------------------------------------------------------------------- files of other people


def test_a_file_that_we_did_not_write_needs_force(here: Path) -> None:
    (here / "notes.py").write_text("precious = 1\n")
    done = run("grad", "cli_model.py:loss", "-o", "notes.py")
    assert done.exit_code == 1
    assert "was not written by tangentlike" in done.stderr and "--force" in done.stderr
    assert (here / "notes.py").read_text() == "precious = 1\n"
    assert run("grad", "cli_model.py:loss", "-o", "notes.py", "--force").exit_code == 0
    assert "def loss_grad" in (here / "notes.py").read_text()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00binary", b"\n", b"x\n# Written by tangentlike"])
def test_only_our_header_on_the_first_line_makes_a_file_ours(here: Path, content: bytes) -> None:
    (here / "notes.py").write_bytes(content)
    assert run("grad", "cli_model.py:loss", "-o", "notes.py").exit_code == 1
    assert (here / "notes.py").read_bytes() == content


def test_what_we_wrote_and_an_empty_file_are_replaced(here: Path) -> None:
    (here / "made.py").touch()
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    assert run("jvp", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    assert "def loss_jvp" in (here / "made.py").read_text()


def test_a_folder_is_bad_usage(here: Path) -> None:
    (here / "made").mkdir()
    assert run("grad", "cli_model.py:loss", "-o", "made").exit_code == 2


# ------------------------------------------------------------------------------ how it is written


def test_a_symlink_stays_and_its_target_is_replaced(here: Path) -> None:
    (here / "real").mkdir()
    (here / "link.py").symlink_to("real/made.py")  # (there is nothing yet)
    for _ in range(2):
        assert run("grad", "cli_model.py:loss", "-o", "link.py").exit_code == 0
        assert (here / "link.py").is_symlink()
        assert "def loss_grad" in (here / "real" / "made.py").read_text()
    assert os.listdir(here / "real") == ["made.py"]


def test_a_symlink_to_a_file_that_we_did_not_write_needs_force(here: Path) -> None:
    (here / "notes.py").write_text("precious = 1\n")
    (here / "link.py").symlink_to("notes.py")
    assert run("grad", "cli_model.py:loss", "-o", "link.py").exit_code == 1
    assert (here / "notes.py").read_text() == "precious = 1\n"


def test_the_mode_is_as_before_and_new_files_follow_the_mask(here: Path) -> None:
    made = here / "made.py"
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~mask
    made.chmod(0o750)
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    assert stat.S_IMODE(made.stat().st_mode) == 0o750


def test_a_failure_leaves_the_file_as_it_was(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    before = (here / "made.py").read_text()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    done = run("jvp", "cli_model.py:loss", "-o", "made.py")
    assert done.exit_code == 1 and "No space left on device" in done.stderr
    assert (here / "made.py").read_text() == before
    assert not [name for name in os.listdir(here) if name.endswith(".part")]


def test_a_folder_that_is_not_there(here: Path) -> None:
    done = run("grad", "cli_model.py:loss", "-o", "nowhere/made.py")
    assert done.exit_code == 1 and "nowhere" in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_a_device_is_written_to_and_not_replaced(here: Path) -> None:
    os.mkfifo(here / "pipe")
    reader = os.open(here / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("grad", "cli_model.py:loss", "-o", "pipe").exit_code == 0
        assert b"def loss_grad" in os.read(reader, 10_000)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)


@pytest.mark.parametrize("how", [["-o", "-"], []])
def test_standard_output(here: Path, how: list[str]) -> None:
    done = run("grad", "cli_model.py:loss", *how)
    assert done.exit_code == 0 and not (here / "-").exists()
    assert done.stdout.startswith("import numpy as np\n") and "def loss_grad" in done.stdout


# ------------------------------------------------------------------------------------- the header


def test_the_header_says_how_it_was_made(here: Path) -> None:
    (here / "sub").mkdir()
    command = ["grad", "cli_model.py:loss", "--wrt", "x", "--shape", "x=3", "--standalone"]
    assert run(*command, "-o", "sub/made.py").exit_code == 0
    first, second, *_ = (here / "sub" / "made.py").read_text().splitlines()
    assert first.startswith("# Written by tangentlike ")
    assert second == (
        "# tangentlike grad ../cli_model.py:loss --wrt x --shape x=3 --standalone -o made.py"
    )
    namespace: dict[str, Any] = {}
    exec((here / "sub" / "made.py").read_text(), namespace)
    assert namespace["loss_grad"].__name__ == "loss_grad"


# ----------------------------------------------------------------------------------- stale or not


def test_check_says_whether_a_file_is_stale(here: Path) -> None:
    command = ["grad", "cli_model.py:loss", "--check", "made.py"]
    done = run(*command)
    assert done.exit_code == 1 and "there is no file made.py" in done.stderr
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    before = (here / "made.py").read_bytes()
    assert run(*command).exit_code == 0
    (here / "cli_model.py").write_text(MODEL.replace("sin", "cos"))
    del sys.modules["cli_model"]
    done = run(*command)
    assert done.exit_code == 1
    assert "-    return " in done.stdout and "sin" in done.stdout
    assert "tangentlike grad cli_model.py:loss -o made.py" in done.stderr
    assert (here / "made.py").read_bytes() == before


def test_check_sees_a_change_by_hand(here: Path) -> None:
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    made = here / "made.py"
    made.write_text(made.read_text() + "# a note\n")
    done = run("grad", "cli_model.py:loss", "--check", "made.py")
    assert done.exit_code == 1 and "-# a note" in done.stdout


def test_check_does_not_mind_the_version_that_wrote_it(here: Path) -> None:
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    made = here / "made.py"
    first, rest = made.read_text().split("\n", 1)
    made.write_text("# Written by tangentlike 0.0.1;" + first.partition(";")[2] + "\n" + rest)
    assert run("grad", "cli_model.py:loss", "--check", "made.py").exit_code == 0


def test_diff_shows_the_change_and_writes_nothing(here: Path) -> None:
    done = run("grad", "cli_model.py:loss", "-o", "made.py", "--diff")
    assert done.exit_code == 0 and "+def loss_grad(x):" in done.stdout
    assert not (here / "made.py").exists()
    assert run("grad", "cli_model.py:loss", "-o", "made.py").exit_code == 0
    done = run("jvp", "cli_model.py:loss", "-o", "made.py", "--diff")
    assert done.exit_code == 0
    assert "-def loss_grad(x):" in done.stdout and "+def loss_jvp(" in done.stdout
    assert "def loss_grad" in (here / "made.py").read_text()
    assert run("grad", "cli_model.py:loss", "-o", "made.py", "--diff").stdout == ""


@pytest.mark.parametrize(
    "how", [["--check", "a.py", "-o", "b.py"], ["--diff"], ["--diff", "-o", "-"]]
)
def test_options_that_exclude_each_other(here: Path, how: list[str]) -> None:
    assert run("grad", "cli_model.py:loss", *how).exit_code == 2


def test_stale_makes_what_the_headers_say_again(here: Path) -> None:
    (here / "derived").mkdir()
    assert run("grad", "cli_model.py:loss", "-o", "derived/first.py").exit_code == 0
    assert run("jvp", "cli_model.py:loss", "--shape", "x=3", "-o", "second.py").exit_code == 0
    done = run("stale")
    assert done.exit_code == 0 and "tangentlike: 2, stale: 0" in done.stderr
    (here / "cli_model.py").write_text(MODEL.replace("sin", "cos"))
    del sys.modules["cli_model"]
    done = run("stale", ".")
    assert done.exit_code == 1
    assert done.stdout.endswith("stale: second.py\nstale: derived/first.py\n")
    assert run("stale", "second.py").exit_code == 1
    assert run("stale", "cli_model.py").exit_code == 0  # (it is not a file of ours)


def test_the_pre_commit_hook_is_a_command_that_there_is() -> None:
    root = Path(__file__).parent.parent
    hook = (root / ".pre-commit-hooks.yaml").read_text()
    (entry,) = [line for line in hook.splitlines() if line.strip().startswith("entry:")]
    _, program, command = entry.split()
    assert program == "tangentlike" and command in main.commands
    assert "pass_filenames: false" in hook  # (a change of the model makes the other file stale)


def test_texts_with_reused_memory(here: Path) -> None:
    (here / "cli_model.py").write_text(MODEL.replace("np.sin(x)", "(np.exp(x) - 1.0) ** 3"))
    order = ["grad", "cli_model.py:loss", "--shape", "x=3", "--reuse"]
    assert run(*order, "-o", "made.py").exit_code == 0
    text = (here / "made.py").read_text()
    assert "--reuse -o made.py" in text
    assert "    exp_x *= 3.0 " in text and "x: float64[" in text
    assert run(*order, "--check", "made.py").exit_code == 0
    assert "jvp has no --reuse" in run("jvp", *order[1:]).output
