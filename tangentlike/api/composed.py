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
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..dispatch.derivation import Derivation
from ..frontend.signatures import plain_signature
from ..frontend.structures import Structures
from ..ir.names import unused

_count = itertools.count(1)
_LITERALS = (int, str, bool, type(None))


@dataclass(frozen=True)
class Emitted:
    """The emitted function that another is written around: its name, its parameters, those that
    take the seeds, and the first of what it is differentiated by."""

    name: str
    parameters: tuple[inspect.Parameter, ...]
    seeds: tuple[str, ...]
    wrt: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    def definition(self, name: str, *more: str) -> str:
        """`def name(x, v, *, q):`, with `more` parameters after those given by position; these
        can have no defaults then."""
        positional = [p for p in self.parameters if p.kind is not p.KEYWORD_ONLY]
        words = [p for p in self.parameters if p.kind is p.KEYWORD_ONLY]
        stated = [p.name if more else _with_default(p) for p in positional]
        stated += [*more, *(["*"] if words else []), *map(_with_default, words)]
        return f"def {name}({', '.join(stated)}):\n"

    def call(self, seeds: Sequence[str]) -> str:
        """`f_jvp(x, q=q, x_dot=v)`; or `f_jvp(x, v)` where all is given by position."""
        plain = all(p.kind is not p.KEYWORD_ONLY and p.default is p.empty for p in self.parameters)
        if plain:
            return f"{self.name}({', '.join((*self.names, *seeds))})"
        given = [
            f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in self.parameters
        ]
        given += [f"{dot}={seed}" for dot, seed in zip(self.seeds, seeds, strict=True)]
        return f"{self.name}({', '.join(given)})"


Writer = Callable[[Emitted], str]


@dataclass(eq=False)
class Again:
    """A function written around the emitted function of a derivation.

    It answers what is asked of the derivation inside another one (`Primal.inner`): its variants
    for complex values and the like are written around the variants of the derivation.
    """

    derive: Callable[[], Any]
    write: Writer
    is_gradient = False  # (its parameters are others than those of the function)

    def __getstate__(self) -> dict[str, Any]:
        return {"derive": self.derive, "write": self.write}  # (the rest is made of these)

    @property
    def is_plain(self) -> bool:
        """Whether there is one argument for each parameter, and defaults can be written out."""
        parameters = plain_signature(self._derivation.primal.function).parameters.values()
        starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return all(p.kind not in starred and _is_written_out(p.default) for p in parameters)

    @cached_property
    def _derivation(self) -> Derivation:
        found: Derivation = self.derive()
        return found

    @cached_property
    def emitted(self) -> types.FunctionType:
        """The written function."""
        inner, function = self._derivation, self._derivation.emitted
        own = plain_signature(function).parameters
        parameters = tuple(own[name] for name in inner.names)
        text = self.write(Emitted(function.__name__, parameters, inner.seeds, inner.request.wrt[0]))
        function.__inner__ = True  # (no module has it: a text that calls it prints it)
        namespace = {function.__name__: function, "np": np, "__builtins__": builtins}
        namespace["__name__"] = __name__
        return _compiled(text, namespace)

    @property
    def derived(self) -> Any:
        """What the derivation made."""
        return self._derivation.derived

    @property
    def request(self) -> Any:
        return self._derivation.request

    @property
    def asked(self) -> Any:
        return self._derivation.asked

    def holds(self) -> bool:
        """Whether the derivation is still one of what its names mean."""
        return self._derivation.holds()

    def _around(self, found: Derivation) -> Again:
        """The function around another derivation."""
        return self if found is self._derivation else replace(self, derive=lambda: found)

    def renewed(self) -> Again:
        """The function around the derivation of now."""
        return self._around(self._derivation.renewed())

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(plain_signature(self.emitted).parameters)

    @cached_property
    def for_complex(self) -> Again:
        return self._around(self._derivation.for_complex)

    @cached_property
    def for_foreign(self) -> Again:
        return self._around(self._derivation.for_foreign)

    @property
    def for_identity(self) -> Again:
        return self._around(self._derivation.for_identity)

    @cached_property
    def by_identity(self) -> Again:
        return self._around(self._derivation.by_identity)

    def looking_up(self, method: str) -> Again:
        return self._around(self._derivation.looking_up(method))

    def for_required(self, required: Structures) -> Again:
        own = tuple((n, k) for n, k in required if n in self._derivation.names)
        return self._around(self._derivation.for_required(own))

    def _believing(self, given: Mapping[str, Any]) -> Again:
        own = {n: v for n, v in given.items() if n in self._derivation.names}
        return self._around(self._derivation._believing(own))


def _compiled(text: str, namespace: dict[str, Any]) -> types.FunctionType:
    name = text.partition("(")[0].removeprefix("def ")
    file = f"<{name} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, types.FunctionType)
    return function


_V_STANDS_LAST = "v stands last here, the vector of a Hessian product, shaped as the argument is"


def hvp_text(emitted: Emitted) -> str:
    """`hvp` of one argument, or of several with a tuple for v; which stands last here, so that
    another argument in its place is refused where its shape shows it."""
    v, seeds = unused("v", emitted.names), emitted.seeds
    parts = [v] if len(seeds) == 1 else [f"{v}[{k}]" for k in range(len(seeds))]
    definition = emitted.definition(f"{emitted.name}_along", v)
    check = ""
    if len(seeds) == 1 and len(emitted.names) > 1:
        x = emitted.wrt
        check = (
            f'    if getattr({v}, "shape", ()) != getattr({x}, "shape", ()):\n'
            f"        raise TypeError({_V_STANDS_LAST!r})\n"
        )
    return f"{definition}{check}    return {emitted.call(parts)}\n"


def jacobian_text(emitted: Emitted) -> str:
    """The Jacobian of an array or number by an array or number: all columns, stacked."""
    (seed,) = emitted.seeds
    names, wrt = emitted.names, emitted.wrt
    size, shape = f"np.size({wrt})", f"np.shape({wrt})"
    units, columns = unused("units", names), unused("columns", names)
    call = f"{emitted.call((seed,))}[1]"
    return (
        f"{emitted.definition(f'{emitted.name}_columns')}"
        f"    {_plain_values(wrt)}\n"
        f"    {units} = np.eye({size}).reshape(({size},) + {shape})\n"
        f"    {columns} = [{call} for {seed} in {units}]\n"
        f"    {_plain_values(f'{columns}[0]')}\n"
        f"    return np.stack({columns}, axis=-1).reshape(np.shape({columns}[0]) + {shape})\n"
    )


def _plain_values(value: str) -> str:
    """A statement that refuses containers, whose Jacobians nest."""
    message = "a Jacobian of a container, or with respect to one, cannot be differentiated again"
    test = f"if isinstance({value}, (list, tuple, dict)):"
    return f"{test}\n        raise TypeError({message!r})"


def _is_written_out(default: Any) -> bool:
    """Whether a parameter has no default, or one whose `repr` is a literal."""
    if type(default) is float:
        return math.isfinite(default)
    return default is inspect.Parameter.empty or type(default) in _LITERALS


def _with_default(parameter: inspect.Parameter) -> str:
    empty = parameter.default is parameter.empty
    return parameter.name if empty else f"{parameter.name}={parameter.default!r}"
