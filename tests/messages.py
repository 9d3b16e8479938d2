"""What the package can say when it refuses: every message in its code, and whether docs/ has it.

`python -m tests.messages` lists the messages that no page `docs/errors*.md` shows. Those that have
no example yet stand in `messages_without_example.txt`, by file and text; `--accept` writes it anew.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tangentlike"
PAGES = sorted((ROOT / "docs").glob("errors*.md"))

# What is raised to somebody who called us. `AttributeError` and `KeyError` are how Python's own
# protocols are answered (`hasattr`, look-ups), `InternalError` is a bug of ours, and `SharingError`
# says why adjoints by name do not do: those by identity are used, or say what they cannot do.
# `LentError` says that objects outside are no arguments: what was refused before is said instead.
RAISED = ("TypeError", "ValueError", "NotImplementedError", "RuntimeError", "ImportError",
          "TangentlikeError", "UnsupportedError", "WrtError", "UnknownClassError",
          "NonFiniteError", "BadUsage", "Mismatch", "Malformed", "UsageError")  # fmt: skip
WITHOUT_EXAMPLE = Path(__file__).with_name("messages_without_example.txt")
HEADER = "# Messages without an example in docs/errors*.md: python -m tests.messages --accept"
ANYTHING = "\0"  # where a message has what the program brings


@dataclass(frozen=True)
class Message:
    """A text that can be raised, where it stands; what varies in it is `ANYTHING`."""

    file: str
    line: int
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """How it is printed: at the end of a line, after a place. What emitted code raises is one
        sentence, of which the second part may stand on a line of its own."""
        text, end = self.text, "$"
        if self.file.startswith("runtime/"):
            text, end = re.split("[:;] ", text)[0], "(?:$|[:;] )"
        parts = [re.escape(part) for part in text.split(ANYTHING)]
        return re.compile(r"(?:^|: )" + ".*?".join(parts) + end, re.MULTILINE)

    @property
    def key(self) -> str:
        return f"{self.file}: {self.text.replace(ANYTHING, '{}')}"

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}: {self.text.replace(ANYTHING, '{}')}"


@dataclass(frozen=True)
class Raiser:
    """A function that raises a message that it is given: its name, and which argument that is."""

    name: str
    position: int
    parameter: str


@cache
def trees() -> dict[str, ast.Module]:
    # (The short forms of helpers raise what the helpers raise.)
    paths = sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "codegen/print/short_forms.py"})
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text()) for path in paths}


def called(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for word in call.keywords:
        if word.arg == name:
            return word.value
    given = call.args[: position + 1]
    return given[position] if len(given) > position >= 0 else None


class Reader(ast.NodeVisitor):
    """Collects the messages of one file, and the functions that raise what they are given."""

    def __init__(self, file: str, tree: ast.Module, raisers: Iterable[Raiser]) -> None:
        self.file, self.tree = file, tree
        self.places = {name: [(0, "message")] for name in RAISED}
        for raiser in raisers:
            self.places.setdefault(raiser.name, []).append((raiser.position, raiser.parameter))
        self.functions: list[ast.FunctionDef] = []
        self.resolving: list[str] = []  # (`what = f"{what}, ..."` is bound to itself)
        self.messages: set[Message] = set()
        self.found: set[Raiser] = set()
        self.unread: set[tuple[str, int, str]] = set()
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        for position, parameter in self.places.get(called(node), ()):
            given = argument(node, position, parameter)
            if given is None or isinstance(given, ast.Starred):
                continue
            texts = list(self.texts(given))
            known = {
                Message(self.file, given.lineno, text) for text in texts if text.strip(ANYTHING)
            }
            self.messages |= known
            if not known and not self.is_raiser(given):
                self.unread.add((self.file, given.lineno, ast.unparse(given)))

    def is_raiser(self, node: ast.AST) -> bool:
        """Whether the text is a parameter of the function around; notes that function."""
        if not self.functions or not isinstance(node, ast.Name):
            return False
        function = self.functions[-1]
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        if node.id not in names or function.name == "__init__":
            return False
        position = names.index(node.id) - (names[0] in ("self", "cls"))
        self.found.add(Raiser(function.name, position, node.id))
        return True

    def texts(self, node: ast.expr | None) -> Iterator[str]:
        """The texts that an expression may be; nothing for what is not known."""
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield self.joined(parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                for a in self.texts(left):
                    yield from (a + b for b in self.texts(right))
            case ast.IfExp(body=body, orelse=orelse):
                yield from self.texts(body)
                yield from self.texts(orelse)
            case ast.Call(func=ast.Attribute(value=base, attr="format")):
                for text in self.texts(base):
                    yield re.sub(r"\{\w*\}", ANYTHING, text)
            case ast.Tuple(elts=[first, *_]):
                yield from self.texts(first)
            case ast.Subscript(value=ast.Name(id=name)):
                table = self.values(name)
                yield from (t for v in table if isinstance(v, ast.Dict)
                            for item in v.values for t in self.texts(item))  # fmt: skip
            case ast.Name(id=name) if name not in self.resolving:
                self.resolving.append(name)
                for value in self.values(name):
                    yield from self.texts(value)
                self.resolving.remove(name)

    def joined(self, parts: list[ast.expr]) -> str:
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else ANYTHING for part in parts
        )

    def values(self, name: str) -> Iterator[ast.expr]:
        """What a name is bound to in the function around, or in the module."""
        for scope in (*self.functions[-1:], self.tree):
            found = [
                value
                for node in (ast.walk(scope) if scope is not self.tree else scope.body)
                for value in bound(node, name)
            ]
            if found:
                yield from found
                return


def bound(node: ast.AST, name: str) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            yield value
        case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
            yield value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            yield from (v for t, v in zip(names, values) if getattr(t, "id", "") == name)


@cache
def readers() -> tuple[Reader, ...]:
    raisers: set[Raiser] = set()
    while True:
        made = tuple(Reader(file, tree, raisers) for file, tree in trees().items())
        found = raisers.union(*(reader.found for reader in made))
        if found == raisers:
            return made
        raisers = found


def messages() -> list[Message]:
    found = set().union(*(reader.messages for reader in readers()))
    return sorted(found, key=lambda m: (m.file, m.line, m.text))


def unread() -> list[tuple[str, int, str]]:
    """Messages whose text this reader does not find: file, line, expression."""
    return sorted(set().union(*(reader.unread for reader in readers())))


def printed() -> str:
    return "\n".join(page.read_text() for page in PAGES)


def missing(text: str) -> list[Message]:
    return [message for message in messages() if not message.pattern.search(text)]


def accepted() -> set[str]:
    """The messages that may lack an example, as `Message.key` gives them."""
    lines = WITHOUT_EXAMPLE.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def main(words: list[str]) -> None:
    lacking = missing(printed())
    if "--accept" in words:
        keys = sorted({message.key for message in lacking})
        WITHOUT_EXAMPLE.write_text("\n".join([HEADER, *keys, ""]))
    print(*(message.shown for message in lacking), sep="\n")
    print(f"{len(messages())} messages, {len(lacking)} without an example; texts not read:")
    print(*unread(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
