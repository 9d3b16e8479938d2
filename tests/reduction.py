"""Make a failing program smaller: drop statements and unwrap blocks while it still fails."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator


def reduce_program(source: str, fails: Callable[[str], bool], rounds: int = 400) -> str:
    """The smallest program found, by greedy deletion, for which `fails` stays true.

    >>> print(reduce_program("def f(x):\\n    y = 1\\n    if x:\\n        z = x\\n    return x\\n",
    ...                      lambda text: "z" in text))
    def f(x):
        z = x
    """
    tree = ast.parse(source)
    text = ast.unparse(tree)
    tried: set[str] = set()
    shrunk = True
    while shrunk and len(tried) < rounds:
        shrunk = False
        for candidate in smaller(tree):
            smaller_text = ast.unparse(candidate)
            if smaller_text in tried:
                continue
            tried.add(smaller_text)
            if fails(smaller_text):
                tree, text, shrunk = ast.parse(smaller_text), smaller_text, True
                break
    return text


def smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Each program that is one step smaller, large steps first."""
    for number, node in enumerate(ast.walk(tree)):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                for k in reversed(range(len(block))):
                    for replacement in replacements(block[k]):
                        twin = copy.deepcopy(tree)
                        place = list(ast.walk(twin))[number]
                        new = getattr(place, name)
                        new[k : k + 1] = copy.deepcopy(replacement)
                        if new or name == "orelse":
                            yield twin


def replacements(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    """What a statement may become: nothing, its body, the other branch, a simpler value."""
    yield []
    if isinstance(stmt, (ast.If, ast.For, ast.While)):
        yield stmt.body
        if stmt.orelse:
            yield stmt.orelse
    value = getattr(stmt, "value", None)
    if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.Return)) and isinstance(value, ast.BinOp):
        for part in (value.left, value.right):
            twin = copy.deepcopy(stmt)
            twin.value = copy.deepcopy(part)
            yield [twin]
