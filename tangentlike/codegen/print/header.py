"""The top of an emitted file: the imports its names need, and a word on those none can reach."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ... import ir
from ...runtime import require_types
from .bindings import Binding
from .folding import STEP, WIDTH


def header_lines(names: Mapping[str, Binding], annotated: bool) -> list[str]:
    """Import lines, then comments for what cannot be imported.

    >>> import numpy
    >>> names = {"np": Binding("module", "numpy", "np", numpy)}
    >>> header_lines({**names, "sum2": Binding("builtin", "builtins", "sum", sum)}, False)
    ['import numpy as np', 'from builtins import sum as sum2']
    """
    modules = [
        _import(b.module, name)
        for name, b in names.items()
        if b.kind == "module" and _can_be_said(b.module)
    ]
    sources: dict[tuple[bool, str], list[str]] = {}
    for name, binding in names.items():
        if binding.kind in ("imported", "global") or (
            binding.kind == "builtin" and name != binding.original
        ):
            source = binding.kind == "global", binding.module  # the user's own come last
            sources.setdefault(source, []).append(_alias(binding.original, name))
    lines = sorted(set(modules))
    for (_, module), aliases in sorted(sources.items()):
        if _can_be_said(module):
            lines += _from(module, sorted(aliases))
    lines += _looked_up(names)
    if annotated:  # annotations are for the reader; nobody evaluates them
        lines = ["from __future__ import annotations", *([""] if lines else []), *lines]
    return [*lines, *_comments(names)]


def types_line(types: Iterable[tuple[str, str]]) -> list[str]:
    """The types of arguments that a module was specialised for, as comments.

    >>> types_line([("x", "float[:]"), ("n", "int")])
    ['# for x: float[:], n: int']
    """
    lines: list[str] = []
    for name, text in types:
        part = f"{name}: {text}"
        if lines and len(lines[-1]) + len(part) + 3 <= WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(f"#     {part}" if lines else f"# for {part}")
    return lines


def _can_be_said(module: str) -> bool:
    """Whether an `import` statement can name a module: a file may be called `my-model.py`."""
    return all(map(str.isidentifier, module.split(".")))


def _looked_up(names: Mapping[str, Binding]) -> Iterable[str]:
    """What comes from modules that no `import` statement can name.

    >>> list(_looked_up({"k": Binding("global", "my-model", "K", 1)}))
    ["k = __import__('my-model', fromlist=['K']).K"]
    """
    for name, binding in sorted(names.items()):
        found = f"{name} = __import__({binding.module!r}"
        if binding.kind == "module" and not _can_be_said(binding.module):
            yield f"{found}, fromlist=[''])"
        elif binding.kind in ("imported", "global") and not _can_be_said(binding.module):
            yield f"{found}, fromlist=[{binding.original!r}]).{binding.original}"


def _import(module: str, name: str) -> str:
    if module == name:
        return f"import {module}"
    if module.split(".")[0] == name:
        return f"import {module}"
    return f"import {module} as {name}"


def _alias(original: str, name: str) -> str:
    return original if original == name else f"{original} as {name}"


def _from(module: str, aliases: list[str]) -> list[str]:
    flat = f"from {module} import {', '.join(aliases)}"
    if len(flat) <= WIDTH:
        return [flat]
    lines, current = [f"from {module} import ("], STEP
    for alias in aliases:
        if len(current) + len(alias) + 1 > WIDTH:
            lines.append(current.rstrip())
            current = STEP
        current += f"{alias}, "
    return [*lines, current.rstrip(), ")"]


def _comments(names: Mapping[str, Binding]) -> Iterable[str]:
    for name, binding in names.items():
        if binding.kind == "closure":
            yield f"# {name}: a closure variable of {binding.module}"
        elif binding.kind == "given":
            yield f"# {name}: an object that cannot be imported"


# --------------------------------------------------------------------------------------------------
# What the text of a derivative begins with where it is for some types of arguments only.
#
# In this process each call is served by the text for its arguments. A file cannot do that, so that
# `require_types("x: float[n], w: float[n]", x, w)` stands there in place of the comment that says
# what the text is for.

_CHECK = ir.Ref(require_types.__name__, require_types)


def guarded(module: ir.Module, count: int) -> ir.Module:
    """The module with the types that it was made for checked by its last functions, of which so
    many are called with such arguments or with what the first of them saved."""
    types = [(name, text) for name, text in module.types if text != "object"]
    callees, main = module.functions[:-count], module.functions[-count:]
    return ir.Module((*callees, _guarded(main[0], types), *main[1:]))


def _guarded(fn: ir.Function, types: list[tuple[str, str]]) -> ir.Function:
    stated = [(name, text) for name, text in types if name in fn.param_names]
    if not stated:
        return fn
    text = ", ".join(f"{name}: {text}" for name, text in stated)
    operands: tuple[ir.Expr, ...] = (ir.Const(text), *(ir.Var(name) for name, _ in stated))
    check = ir.Do(ir.Call(_CHECK, operands, at=fn.place), ir.Origin(fn.place, "check"))
    return dataclasses.replace(fn, body=(check, *fn.body))
