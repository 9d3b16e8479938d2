"""Which definition of a file a live function was made from, where line and name do not say.

A code object says its first line, which may hold several lambdas; on Python 3.10 there are no
columns. So the file is compiled again with each definition moved to lines of its own: the one whose
instructions, constants and names are those of the function is the one. Where two agree in all of
them they are the same program.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, Union

from ..runtime.recent import Recent

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

# Of a code object: what it does, whatever the lines it stands on.
_MEANING = (
    "co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip


def function_codes(tree: ast.AST, content: str, name: str) -> dict[FunctionNode, types.CodeType]:
    """The code of each `def` and `lambda` of a file, of which a parsed tree is given.

    >>> text = "f, g = lambda x: x + 1, lambda x: x + 1.0"
    >>> tree = ast.parse(text)
    >>> codes = function_codes(tree, text, "<text>")
    >>> [codes[node].co_consts[-1] for node in tree.body[0].value.elts]
    [1, 1.0]
    """
    moved = ast.parse(content)
    height = content.count("\n") + 2
    for count, node in enumerate(_functions(moved), 1):
        rows = count - node.lineno // height  # (it has moved with the function around it)
        ast.increment_lineno(node, rows * height)
    made = {
        (code.co_firstlineno // height, code.co_name): code
        for code in _codes_in(compile(moved, name, "exec", dont_inherit=True))
        if code.co_flags & inspect.CO_OPTIMIZED  # (the body of a class is no function)
    }
    keys = {node: (n, code_name(node)) for n, node in enumerate(_functions(tree), 1)}
    return {node: made[key] for node, key in keys.items() if key in made}


def code_name(node: FunctionNode) -> str:
    """The name that the code of a definition has."""
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def same_program(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects do the same.

    >>> f, g, h = lambda x: x + 1, lambda x: x + 1, lambda x: x + 1.0
    >>> same_program(f.__code__, g.__code__), same_program(f.__code__, h.__code__)
    (True, False)
    """
    return all(getattr(code, key) == getattr(other, key) for key in _MEANING) and (
        len(code.co_consts) == len(other.co_consts)
        and all(map(_same_constant, code.co_consts, other.co_consts))
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return same_program(one, other)
    return type(one) is type(other) and repr(one) == repr(other)  # (1, 1.0 and True are equal)


def may_have_made(
    node: FunctionNode, owner: str, code: types.CodeType, outer: Mapping[str, Any]
) -> bool:
    """Whether a code object may come from a definition (in the class `owner`, if that is no ""): if
    the file was edited it does not. `outer` are the globals that it is read with.

    What is imported may be more than the text says: a test runner writes assertions anew, a type
    checker adds calls. It names all that the text names, and more.

    >>> f, g, h = lambda x: x - 2.0, lambda x: x - 3.0, lambda x: 2.0 - x
    >>> node = ast.parse("lambda x: x - 2.0", mode="eval").body
    >>> [may_have_made(node, "", made.__code__, {}) for made in (f, g, h)]
    [True, False, False]
    """
    # (Methods of what a file imports are called by other instructions, from Python 3.11 on.)
    used = (name for each in _codes_in(code) for name in each.co_names)
    found = {name for name in used if isinstance(outer.get(name), types.ModuleType)}
    modules = sorted(filter(str.isidentifier, found))  # (a test runner has `@pytest_ar`)
    alone = _compiled(node, owner, code, modules)
    if alone is None or same_program(alone, code) or _steps(alone) == _steps(code):
        return True
    names, of_text = _named(code), _named(alone)
    asserts = any(isinstance(part, ast.Assert) for part in ast.walk(node))
    return of_text <= names and (of_text < names or asserts)


def _compiled(
    node: FunctionNode, owner: str, code: types.CodeType, modules: list[str]
) -> types.CodeType | None:
    """The code of a definition compiled by itself as `code` was (with `from __future__ import
    annotations`, those of inner functions are texts), where the names around it are bound too,
    and the modules imported."""
    alone = copy.copy(node)
    if not isinstance(alone, ast.Lambda):
        alone.decorator_list = []
    bound = "".join(f"{name} = " for name in code.co_freevars if name != "__class__")
    imports = f"import {', '.join(modules)}\n" if modules else ""
    around = ast.parse(f"{imports}def around(): {bound}0")
    inside: list[ast.stmt] = around.body[-1].body  # type: ignore[attr-defined]
    if owner:
        within = ast.parse(f"class {owner}: pass").body[0]
        inside.append(within)
        inside = within.body  # type: ignore[attr-defined]
    if isinstance(alone, ast.Lambda):
        inside.append(ast.copy_location(ast.Expr(alone), alone))
    else:
        inside.append(alone)
    try:
        whole = compile(around, "", "exec", code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    found = (c for c in _codes_in(whole) if c.co_name == code_name(node))
    return next((c for c in found if c.co_firstlineno == node.lineno), None)


def _steps(code: types.CodeType) -> list[str]:
    """What a code object reads, writes and computes, in order; not how it is called or jumps, and
    not from where names are read: that depends on what is compiled with it."""
    found: list[str] = []
    cells = frozenset((*code.co_cellvars, *code.co_freevars))  # (as they are, given to functions)
    for step in dis.get_instructions(code):
        if isinstance(step.argval, types.CodeType):
            found += _steps(step.argval)
        elif step.opname.startswith(("BINARY_", "COMPARE_", "UNARY_", "INPLACE_")):
            found.append(f"{step.opname} {step.argrepr}")
        elif step.opname in _OF_CLOSURES or (step.opname == "LOAD_FAST" and step.argval in cells):
            continue
        elif "<locals>" in step.argrepr:
            continue  # (a qualified name, which Python 3.10 has among the constants)
        elif step.opcode in (*dis.haslocal, *dis.hasname, *dis.hasfree, *dis.hasconst):
            several = isinstance(step.argval, tuple) and step.opcode not in dis.hasconst
            found += map(_text_of, step.argval if several else (step.argval,))
    return found


def _text_of(constant: object) -> str:
    """(Equal sets may go through their items in any order.)"""
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_OF_CLOSURES = ("MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE")


def _named(code: types.CodeType) -> frozenset[str]:
    """The names and constants in a code object and in those within it."""
    found: set[str] = set()
    for each in _codes_in(code):
        found.update(each.co_names, each.co_varnames, each.co_freevars, each.co_cellvars)
        plain = (c for c in each.co_consts if not isinstance(c, types.CodeType))
        found.update(text for text in map(_text_of, plain) if "<locals>" not in text)
    return frozenset(found)


def _functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """The definitions of a file, outer ones before those inside them."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


# --------------------------------------------------------------------------------------------------
# The text of functions that were typed, where Python keeps none.
#
# Before Python 3.13 the prompt of Python forgets what was typed, and a notebook's `%%time` forgets
# its cell. The lines are still in the history that can be called up with the arrow keys; the one
# text in it that compiles to the very code of the function is its source.

_MOST_LINES = 2000  # of a history, from its end
_LONGEST = 200
_FOUND: Recent[types.CodeType, str] = Recent(256)


def typed_text(code: types.CodeType) -> str | None:
    """The text that a function was typed as, if a history has it."""
    known = _FOUND.get(code)
    if known is None:
        known = _FOUND.put(code, next((t for t in _texts(code) if _defines(t, code)), ""))
    return known or None


def _texts(code: types.CodeType) -> Iterator[str]:
    """What may be it, the latest first."""
    if code.co_filename.startswith("<"):
        yield from _cells()
    if code.co_filename == "<stdin>":
        yield from _statements(code)


def _cells() -> Iterator[str]:
    """The cells of a running IPython, with a magic command at the top taken away as it does."""
    interactive = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    history = getattr(getattr(interactive, "history_manager", None), "input_hist_raw", ())
    for cell in reversed(list(history)):
        yield cell.partition("\n")[2] if cell.startswith("%%") else cell


def _statements(code: types.CodeType) -> Iterator[str]:
    """Statements from the history of Python's prompt, of any length."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    count = readline.get_current_history_length()
    numbers = range(max(1, count - _MOST_LINES), count + 1)
    lines = [readline.get_history_item(number) or "" for number in numbers]
    for start in range(len(lines) - 1, -1, -1):
        line = lines[start]
        if code.co_name in line or "lambda" in line or line.startswith("@"):
            for end in range(start + 1, min(len(lines), start + _LONGEST) + 1):
                yield "\n".join(lines[start:end]) + "\n"


def _defines(text: str, code: types.CodeType) -> bool:
    """Whether a text compiles to the code of a function, at its line."""
    try:
        tree = ast.parse(text)
        codes = function_codes(tree, text, code.co_filename)
    except (SyntaxError, ValueError):
        return False
    return any(
        same_program(made, code) and _first_line(node) == code.co_firstlineno
        for node, made in codes.items()
    )


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min(int(part.lineno) for part in (node, *decorators))
