"""Jacobians and Hessian products as functions of their own, to be differentiated again.

`tl.jacobian(f)` calls an emitted function once for each column. Inside a function that is
differentiated itself it stands for a Python function with the loop in it, and `tl.hvp(f)` for

    def f_hvp(x, v):
        return f_grad_jvp(x, v)

which is differentiated like any other.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .derivation import Derivation
from .primal import plain_signature
from .structures import Structures

__all__ = ["Again", "hvp_text", "jacobian_text"]

# (name of the emitted function, its parameters but the seeds, its seeds, first of wrt) -> text
Writer = Callable[[str, tuple[str, ...], tuple[str, ...], str], str]
_count = itertools.count(1)


@dataclass(eq=False)
class Again:
    """A function written around the emitted function of a derivation.

    It answers what is asked of the derivation inside another one (`Primal.inner`): its variants
    for complex values and the like are written around the variants of the derivation.
    """

    derive: Callable[[], Any]
    write: Writer

    @property
    def is_plain(self) -> bool:
        """Whether the arguments are given by position, one for each parameter."""
        parameters = plain_signature(self._derivation.primal.function).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return all(p.kind in kinds and p.default is p.empty for p in parameters)

    @cached_property
    def _derivation(self) -> Derivation:
        found: Derivation = self.derive()
        return found

    @cached_property
    def emitted(self) -> types.FunctionType:
        """The written function."""
        inner, function = self._derivation, self._derivation.emitted
        text = self.write(function.__name__, inner.names, inner.seeds, inner.request.wrt[0])
        namespace = {function.__name__: function, "np": np, "__builtins__": builtins}
        namespace["__name__"] = __name__
        return _compiled(text, namespace)

    def holds(self) -> bool:
        """Whether the derivation is still one of what its names mean."""
        return self._derivation.holds()

    def renewed(self) -> Again:
        """The function around the derivation of now."""
        found = self._derivation.renewed()
        return replace(self, derive=lambda: found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(plain_signature(self.emitted).parameters)

    @cached_property
    def for_complex(self) -> Again:
        found = self._derivation.for_complex
        return replace(self, derive=lambda: found)

    @cached_property
    def for_foreign(self) -> Again:
        found = self._derivation.for_foreign
        return replace(self, derive=lambda: found)

    @cached_property
    def for_reversal(self) -> Again:
        found = self._derivation.for_reversal
        return replace(self, derive=lambda: found)

    def for_told(self, told: Structures) -> Again:
        own = tuple((n, k) for n, k in told if n in self._derivation.names)
        found = self._derivation.for_told(own)
        return self if found is self._derivation else replace(self, derive=lambda: found)

    def _believing(self, given: Mapping[str, Any]) -> Again:
        own = {n: v for n, v in given.items() if n in self._derivation.names}
        found = self._derivation._believing(own)
        return self if found is self._derivation else replace(self, derive=lambda: found)


def _compiled(text: str, namespace: dict[str, Any]) -> types.FunctionType:
    name = text.partition("(")[0].removeprefix("def ")
    file = f"<{name} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, types.FunctionType)
    return function


def hvp_text(emitted: str, names: tuple[str, ...], seeds: tuple[str, ...], wrt: str) -> str:
    """`hvp` of one argument, or of several with a tuple for v."""
    v = _unused("v", names)
    parts = [v] if len(seeds) == 1 else [f"{v}[{k}]" for k in range(len(seeds))]
    return (
        f"def {emitted}_along({', '.join((*names, v))}):\n"
        f"    return {emitted}({', '.join((*names, *parts))})\n"
    )


def jacobian_text(emitted: str, names: tuple[str, ...], seeds: tuple[str, ...], wrt: str) -> str:
    """The Jacobian of an array or number by an array or number: all columns, stacked."""
    (seed,) = seeds
    size, shape = f"np.size({wrt})", f"np.shape({wrt})"
    units, columns = _unused("units", names), _unused("columns", names)
    call = f"{emitted}({', '.join((*names, seed))})[1]"
    return (
        f"def {emitted}_columns({', '.join(names)}):\n"
        f"    {_plain_values(wrt)}\n"
        f"    {units} = np.eye({size}).reshape(({size},) + {shape})\n"
        f"    {columns} = [{call} for {seed} in {units}]\n"
        f"    {_plain_values(f'{columns}[0]')}\n"
        f"    return np.stack({columns}, axis=-1).reshape(np.shape({columns}[0]) + {shape})\n"
    )


def _plain_values(value: str) -> str:
    """A statement that refuses containers, whose Jacobians nest."""
    message = "the Jacobian of, or by, a container cannot be differentiated again"
    test = f"if isinstance({value}, (list, tuple, dict)):"
    return f"{test}\n        raise TypeError({message!r})"


def _unused(wanted: str, names: tuple[str, ...]) -> str:
    while wanted in names:
        wanted += "_"
    return wanted
