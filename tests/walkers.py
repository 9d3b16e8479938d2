"""Counts the functions outside of `ir/` that recurse over the blocks of statements by themselves.

    python -m tests.walkers          # prints where they are

What works on programs is written with `ir.rewrite`, `ir.statements` and `ir.dataflow`, which know
which statements hold blocks. A recursion counts where a function that reaches into blocks (`.body`,
`.orelse`, `ir.blocks`, `map_statement`) leads back to itself through functions of its file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tangentlike"
ROOMS = ("frontend", "rules", "analysis", "ad", "codegen", "pipeline", "debugging", "dispatch")
REACHING = {"blocks", "in_blocks", "map_statement", "map_stmt", "map_block", "tried_and_rest"}
# What walks through templates, annotations or syntax trees: other trees than those of `ir`.
OTHER_TREES = {
    *("rules/bind.py", "rules/decisions.py", "rules/specialise.py", "rules/template.py"),
    *("analysis/declared.py", "debugging/instrument.py"),
    *("frontend/attempts.py", "frontend/statements.py"),
}
FUNCTIONS = {"function", "fn", "primal", "main", "lowered", "inner", "plain", "definition", "self"}


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions of a file by their names (methods of one name are taken together)."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
    return found


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside of it."""
    work: list[ast.AST] = list(function.body)
    while work:
        node = work.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            work.extend(ast.iter_child_nodes(node))


def reaches_into_blocks(function: ast.FunctionDef) -> bool:
    for node in own_nodes(function):
        match node:
            case ast.Attribute(value=value, attr="body" | "orelse"):
                name = getattr(value, "attr", getattr(value, "id", ""))
                if name not in FUNCTIONS:
                    return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in REACHING:
                return True
            case ast.MatchClass(kwd_attrs=names) if {"body", "orelse"} & set(names):
                return True
    return False


def mentioned(function: ast.FunctionDef) -> set[str]:
    """The names of functions that a function calls or hands on."""
    found = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
            found.add(node.attr)
    return found


def walkers_of(path: Path) -> list[str]:
    """The functions of a file that reach into blocks and lead back to themselves."""
    tree = ast.parse(path.read_text())
    text = path.read_text()
    if "gast" in text.replace("to_gast", "") and "from .. import ir" not in text:
        return []  # (it walks through Python's syntax trees)
    functions = functions_of(tree)
    calls = {name: mentioned(node) & functions.keys() for name, node in functions.items()}

    def reachable(name: str) -> set[str]:
        seen: set[str] = set()
        work = list(calls[name])
        while work:
            at = work.pop()
            if at not in seen:
                seen.add(at)
                work.extend(calls[at])
        return seen

    return [
        name
        for name, node in functions.items()
        if reaches_into_blocks(node) and name in reachable(name)
    ]


def walkers() -> dict[str, list[str]]:
    """File -> its walkers."""
    found = {
        str(path.relative_to(PACKAGE)): walkers_of(path)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
    }
    return {file: names for file, names in found.items() if names and file not in OTHER_TREES}


if __name__ == "__main__":
    every = walkers()
    for file, names in every.items():
        print(f"{file}: {', '.join(names)}")
    print(sum(map(len, every.values())), "in", len(every), "files")
