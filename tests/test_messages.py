"""Every message that the package can raise stands in docs/errors*.md with a program."""

from __future__ import annotations

from tests import messages

# Texts that are made elsewhere: by the error that is raised again, or by the table or function named.
MADE_ELSEWHERE = {
    "analysis/own_arithmetic.py": "what the check that it writes raises, with a place",
    "codegen/print/bindings.py": "the same error, with a place",
    "dispatch/claims.py": "what the array module raised",
    "dispatch/blame.py": "what emitted code raised, with a place",
    "frontend/cuts.py": "the same error, raised when its branch is reached",
    "frontend/expressions.py": "frontend/statements.py",
    "frontend/lifting.py": "caught where it is raised",
    "frontend/statements.py": "its table of statements, and `Outer`",
    "pipeline/stages.py": "the same error, of another class",
    "ad/specialize/callees.py": "a method of that name which raises nothing",
    "runtime/tape.py": "a text added up",
}


def test_every_message_has_an_example() -> None:
    lacking = {message.key for message in messages.missing(messages.printed())}
    new = sorted(lacking - messages.accepted())
    assert not new, "show each in docs/errors_*.md (python -m tests.messages)"


def test_what_lacks_an_example_is_still_said() -> None:
    said = {message.key for message in messages.messages()}
    assert sorted(messages.accepted() - said) == []


def test_texts_that_cannot_be_read_are_known() -> None:
    assert {file for file, _, _ in messages.unread()} <= set(MADE_ELSEWHERE)


def test_the_reader_finds_texts_behind_helpers() -> None:
    """A message that is given to a function that raises it, one of a table, and one with values."""
    texts = {message.text for message in messages.messages()}
    assert f"`{messages.ANYTHING}` of what carries derivatives is assigned" in texts
    assert (
        f"the result has shape {messages.ANYTHING} and is not a scalar, so it has no gradient; use vjp or jacobian"
        in texts
    )
    assert len(texts) > 300
