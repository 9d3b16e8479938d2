"""Arguments given on the command line: `--shape w=3,4`, `--value n=3`, `--args FUNCTION`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dispatch.claims import UNSTATED
from ..frontend.primal import Primal, primal_of
from .target import BadUsage, errors_of_the_program, load_function


@dataclass(frozen=True)
class At:
    """How the arguments are given. `maker` names a function that returns all of them."""

    maker: str = ""
    shapes: Sequence[str] = ()
    values: Sequence[str] = ()
    seed: int = 0

    def full_maker(self, target: str) -> str:
        """FILE.py:FUNC of the function that returns the arguments; it may stand without a file."""
        if not self.maker or ":" in self.maker:
            return self.maker
        return f"{target.rpartition(':')[0]}:{self.maker}"

    def words(self, placed: Callable[[str], str]) -> list[str]:
        """These options as they are written on a command line; `placed` moves a target."""
        maker = placed(self.maker) if ":" in self.maker else self.maker
        words = ["--args", maker] if maker else []
        for text in self.shapes:
            words += ["--shape", text]
        for name, value in map(_pair, self.values):
            words += ["--value", f"{name}={_literal(value)!r}"]  # (on one line, whatever it is)
        return words


def arguments(fn: Any, target: str, at: At) -> list[Any]:
    """The arguments to check at: what a function returns, or random arrays and given values."""
    if at.maker:
        return _made(target, at)
    primal = primal_of(fn)
    given = _given(primal, at)
    parameters = primal.signature.parameters
    names = primal.positional
    _refuse_keywords(primal, given)
    found = []
    for name in names:
        if name in given:
            found.append(given[name])
        elif parameters[name].default is not parameters[name].empty:
            if any(later in given for later in names[names.index(name) :]):
                found.append(parameters[name].default)
        else:
            raise BadUsage(
                f"no value for the parameter {name!r} of {primal.name}",
                hint=f"Give --shape {name}=3,4 or --value {name}=0.5, "
                "or --args FUNCTION, which returns all arguments.",
            )
    return found


def _refuse_keywords(primal: Primal, given: dict[str, Any]) -> None:
    """Arguments to check at are given by position."""
    for parameter in primal.signature.parameters.values():
        required = parameter.default is parameter.empty
        by_keyword = parameter.kind is parameter.KEYWORD_ONLY
        if by_keyword and (required or parameter.name in given):
            raise BadUsage(
                f"{primal.name} takes {parameter.name!r} by keyword only",
                hint="Write a function without it that calls this one, and check that.",
            )


def example(fn: Any, target: str, at: At) -> tuple[Any, ...] | None:
    """The same as an example that a derivative is made for; what is not given is left open."""
    if at.maker:
        return tuple(_made(target, at))
    if not at.shapes and not at.values:
        return None
    primal = primal_of(fn)
    given = _given(primal, at)
    return tuple(given.get(name, UNSTATED) for name in primal.positional)


def _made(target: str, at: At) -> list[Any]:
    maker = load_function(at.full_maker(target))
    with errors_of_the_program(f"{at.maker} does not give arguments"):
        made = maker()
    return list(made) if isinstance(made, (tuple, list)) else [made]


def _given(primal: Primal, at: At) -> dict[str, Any]:
    """The arguments by name, checked to be parameters."""
    given: dict[str, Any] = {}
    rng = np.random.default_rng(at.seed)
    for name, text in map(_pair, at.shapes):
        shape = _shape(text)
        given[name] = rng.standard_normal(shape) if shape else float(rng.standard_normal())
    for name, text in map(_pair, at.values):
        given[name] = _literal(text)
    unknown = [name for name in given if name not in primal.free_names]
    if unknown:
        raise BadUsage(
            f"{primal.name} has no parameter {unknown[0]!r}",
            hint=f"Its parameters are {', '.join(primal.free_names)}.",
        )
    return given


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise BadUsage(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.strip("()").split(",") if part.strip())
    except ValueError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise BadUsage(
            f"{text!r} is not a shape", hint="Write --shape w=3,4 for a matrix, w= for a float."
        )
    return shape


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise BadUsage(
            f"{text!r} is not a Python literal",
            hint="Write --value n=3 or --value name=\"'text'\".",
        ) from None
