"""The value of a function at a point and a linear map there: `tl.vjp`, `tl.linearize`.

before::                                    after::
    y, back = tl.vjp(f, x)                      y = f(x)
    x_bar, = back(seed)                         x_bar, = f_pullback(x, seed)
    y, push = tl.linearize(f, x)                y = f(x)
    y_dot = push(v)                             y_dot = f_tangent(x, v)

Both maps run from the arguments again.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ... import ir
from ...analysis.memory import Effects
from ...runtime import copy, require_apart
from .operators import derivative_of, positional, seeds_of, taken_apart, with_given

_count = itertools.count(1)


# By what an operator makes: how that is named, and the mode that makes it.
MAPS = {"pullback": ("pullback", "reverse"), "linear": ("tangent", "forward")}


def linear_map_parts(
    made_as: str,
    call: ir.Call,
    value: ir.Expr,
    args: tuple[ir.Expr, ...],
    effects: Callable[[Any], Effects],
) -> tuple[ir.Call, ir.Expr] | None:
    """The value and the map of `tl.vjp(f, x)` or `tl.linearize(f, x)`: a call of `f`, and a
    function of the seed, or of the tangents, that runs the sweep from the arguments. `effects`
    tells what `f` writes."""
    word, mode = MAPS[made_as]
    ref, given, words = taken_apart(value)
    names = positional(ref.obj)[: len(given) + len(args)]
    wrt = names[len(given) :]
    if len(wrt) < len(args) or not args:
        return None
    assert isinstance(call.fn, ir.Ref)
    options = {"wrt": tuple(wrt), "mode": mode}
    made = derivative_of(call.fn.obj.__made_with__, ref, options, may_wait=True)
    if made is None:
        return None
    linear = _second(word, ref, made, names, tuple(words))
    point = (*given, *args)
    valued = _of_copies(ref, names, tuple(words), effects(ref.obj))
    return ir.Call(valued, point, tuple(words.items()), call.at), with_given(linear, point, words)


def _of_copies(ref: ir.Ref, names: Sequence[str], words: Sequence[str], effects: Effects) -> ir.Ref:
    """A function itself; one that writes its arguments, or gives them back, with copies of them:
    `def step_value(x, k): x = copy(x); return step(x, k)`."""
    written = [n for n in names if n in effects.written]
    shared = bool(effects.returned - set(written))
    if not written and not shared:
        return ref
    pairs = dict.fromkeys(tuple(sorted((w, n))) for w in written for n in names if n != w)
    own = str(ref.obj.__name__)
    own = own if own.isidentifier() else ref.text.rpartition(".")[2]
    inner = _unused(own, {*names, *words, "copy", "require_apart"})
    result = f"{inner}({', '.join([*names, *(f'{w}={w}' for w in words)])})"
    lines = [f"require_apart({a}, {b})" for a, b in pairs]
    lines += [f"{w} = copy({w})" for w in written]
    lines.append(f"return copy({result})" if shared else f"return {result}")
    name = f"{own}_value"
    params = ", ".join([*names, *(["*"] if words else []), *words])
    text = f"def {name}({params}):\n    " + "\n    ".join(lines) + "\n"
    uses = {"require_apart": require_apart, "copy": copy, inner: ref.obj}
    return _written_function(name, text, uses, ref.obj.__module__)


def _unused(wanted: str, taken: Collection[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _second(
    name: str, ref: ir.Ref, made: ir.Ref, names: Sequence[str], words: Sequence[str]
) -> ir.Ref:
    """A function of the arguments of `made` that returns the second item of its result:
    `def loss_pullback(w, y_bar, *, q): return loss_vjp(w, q=q, y_bar=y_bar)[1]`."""
    seeds = seeds_of(made.obj, ref.obj)
    name = f"{ref.text.rpartition('.')[2]}_{name}"
    params = ", ".join([*names, *seeds, *(["*"] if words else []), *words])
    given = ", ".join([*names, *(f"{w}={w}" for w in (*words, *seeds))])
    text = f"def {name}({params}):\n    return {made.text}({given})[1]\n"
    return _written_function(name, text, {made.text: made.obj}, made.obj.__module__)


def _written_function(name: str, text: str, uses: Mapping[str, Any], module: str) -> ir.Ref:
    """A function of a text of ours, to be differentiated like any other."""
    file = f"<{name} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {**uses, "__name__": module}
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    function.__inner__ = True
    return ir.Ref(name, function)
