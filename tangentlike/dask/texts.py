"""The text of a plan: what is run for each chunk, and how the parts come together.

The last function of the text is compiled and run; what stands above it shows what its tasks run.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..api.calls import value_and_grad
from ..api.points import pair_of
from ..dispatch.derivation import functions_of
from ..frontend.primal import Primal, primal_of

if TYPE_CHECKING:
    from .chunked import ChunkedLoss

__all__ = [
    "call_of",
    "header",
    "identifier",
    "member",
    "plan_source",
    "plan_text",
    "sent",
]

INDENT = "    "
LOCALS = (
    *("parts", "part", "pair", "both", "total", "stats", "stats_bar", "value", "direct"),
    *("bars", "aux", "seeds", "seed", "levels", "pulled", "rows", "data", "delayed"),
)


def plan_text(asked: ChunkedLoss) -> str:
    """The function that is compiled: from the arguments to value and gradient."""
    if asked.through_head:
        lines = _two_passes(asked) if asked.passes == 2 else _one_pass_of_rows(asked)
    else:
        lines = _one_pass(asked)
    parameters = ", ".join(own_name(name) for name in asked.parameters)
    definition = f"def {identifier(asked.loss)}_over_chunks({parameters}):"
    return "\n".join([definition, *(INDENT + line for line in [*_sent(asked), *lines])]) + "\n"


# -------------------------------------------------------------------------------- the plans


def _one_pass(asked: ChunkedLoss) -> list[str]:
    """Each chunk gives its value and its gradient, which are summed."""
    name = f"{identifier(asked.loss)}_value_and_grad"
    is_mean, total = asked.reduction == "mean", f"tree_sum(parts, fan_in={asked.fan_in})"
    lines = _parts(asked, f"delayed({name})({_arguments(asked)})")
    if asked.has_aux:
        lines += [_aux(asked), "parts = [delayed(without_aux)(part) for part in parts]"]
    if is_mean:
        lines += [
            f"data = blocks({own_name(asked.over[0])})",
            "parts = [delayed(weighted)(*pair) for pair in zip(parts, data, strict=True)]",
        ]
        total = f"delayed(mean)({total})"
    if asked.has_aux:
        total = f"delayed(with_aux)({total}, aux)"
    return [*lines, f"return {total}"]


def _one_pass_of_rows(asked: ChunkedLoss) -> list[str]:
    """Each chunk gives its statistics, and a gradient for each number of them."""
    lines = _parts(asked, f"delayed({identifier(asked.loss)}_rows)({_arguments(asked)})")
    total = "tree_sum([delayed(without_aux)(part) for part in parts], " + f"fan_in={asked.fan_in})"
    if asked.has_aux:
        lines += [_aux(asked), f"(stats, rows), aux = computed(({total}, aux))"]
    else:
        lines += [f"stats, rows = computed({total})"]
    return [*lines, *_head(asked), "bars = along(stats_bar, rows)", *_result(asked)]


def _two_passes(asked: ChunkedLoss) -> list[str]:
    """The statistics first; then each chunk's pullback of what the head says of them."""
    name, fan_in = identifier(asked.loss), asked.fan_in
    lines = ["# first pass: the statistics"]
    lines += _parts(asked, f"delayed({name}_value)({_arguments(asked)})")
    parts = "parts"
    if asked.has_aux:
        lines += [_aux(asked), "parts = [delayed(first)(part) for part in parts]"]
    if not asked.combines:
        parts = f"tree_sum(parts, fan_in={fan_in})"
    target = "parts" if asked.combines else "stats"
    if asked.has_aux:
        lines += [f"{target}, aux = computed(({parts}, aux))"]
    else:
        lines += [f"{target} = computed({parts})"]
    if asked.combines:
        combine = identifier(asked.reduction)
        lines += [f"stats, levels = tree_combine({combine}_value, parts)"]
    lines += _head(asked)
    lines += ["# second pass: the pullback of each chunk"]
    return [*lines, *_pulled(asked), *_result(asked)]


def _pulled(asked: ChunkedLoss) -> list[str]:
    name, fan_in = identifier(asked.loss), asked.fan_in
    lines = []
    if asked.combines:
        combine = identifier(asked.reduction)
        call = f"delayed({name}_pullback)(seed, {_arguments(asked)})"
        over = ", ".join(f"{n}={own_name(n)}" for n in asked.over)
        lines = [
            f"seeds = tree_pullback({combine}_pullback, levels, stats_bar)",
            "pulled = [",
            f"    {call}",
            f"    for seed, ({_members(asked)},) in zip(seeds, chunks({over}), strict=True)",
            "]",
            "pulled = [delayed(checked)(*both) for both in zip(parts, pulled, strict=True)]",
            f"bars = computed(tree_sum(pulled, fan_in={fan_in}))",
        ]
        return lines
    lines = ["stats_bar = constant(stats_bar)"]
    lines += _parts(asked, f"delayed({name}_pullback)(stats_bar, {_arguments(asked)})", "pulled")
    return [*lines, f"bars = checked(stats, computed(tree_sum(pulled, fan_in={fan_in})))"]


def _head(asked: ChunkedLoss) -> list[str]:
    if asked.head is None:
        return ["value, stats_bar, direct = stats, 1.0, {}"]
    name = f"{identifier(asked.head)}_value_and_grad"
    takes = ", ".join(["stats", *(f"{n}={own_name(n)}" for n in asked.head_takes)])
    adjoints = ", ".join(["stats_bar", *(own_name(f"{n}_bar") for n in asked.head_wrt)])
    direct = ", ".join(f"{n!r}: {own_name(f'{n}_bar')}" for n in asked.head_wrt)
    comma = "" if asked.head_wrt else ","
    return [
        f"value, ({adjoints}{comma}) = {name}({takes})",
        "stats_bar = like(stats, stats_bar)",
        f"direct = {{{direct}}}",
    ]


def _result(asked: ChunkedLoss) -> list[str]:
    value = "(value, aux)" if asked.has_aux else "value"
    return [f"return {value}, chained({asked.wrt!r}, direct, bars)"]


def _parts(asked: ChunkedLoss, call: str, target: str = "parts") -> list[str]:
    over = ", ".join(f"{n}={own_name(n)}" for n in asked.over)
    members = _members(asked) if len(asked.over) > 1 else f"({_members(asked)},)"
    return [
        f"{target} = [",
        f"    {call}",
        f"    for {members} in chunks({over})",
        "]",
    ]


def _aux(asked: ChunkedLoss) -> str:
    parts = "[delayed(aux_of)(part) for part in parts]"
    if asked.passes == 2:
        parts = "[delayed(second)(part) for part in parts]"
    joined = {
        "list": parts,
        "sum": f"tree_sum({parts}, fan_in={asked.fan_in})",
        "concatenate": f"delayed(concatenated)({parts})",
    }
    return f"aux = {joined[asked.aux]}"


# -------------------------------------------------------------------------------- the names


def _sent(asked: ChunkedLoss) -> list[str]:
    taken = asked.parameters
    return [f"{sent(n, taken)} = constant({own_name(n)})" for n in asked.constants]


def _arguments(asked: ChunkedLoss) -> str:
    return call_of(asked.primal, asked.over, asked.parameters)


def call_of(primal: Primal, over: Sequence[str], taken: Sequence[str]) -> str:
    """The arguments of a call for one chunk."""
    given = []
    for parameter in primal.signature.parameters.values():
        name = parameter.name
        value = member(name, taken) if name in over else sent(name, taken)
        given.append(f"{name}={value}" if parameter.kind is parameter.KEYWORD_ONLY else value)
    return ", ".join(given)


def _members(asked: ChunkedLoss) -> str:
    return ", ".join(member(name, asked.parameters) for name in asked.over)


def member(name: str, taken: Sequence[str]) -> str:
    """What a block of an argument is called."""
    return _unused(f"{name}_k", taken)


def sent(name: str, taken: Sequence[str]) -> str:
    """What an argument that all chunks see is called in the plan."""
    return _unused(f"{name}_sent", taken)


def identifier(fn: Any) -> str:
    """The name of a function as part of names in the plan; a lambda has none of its own."""
    name = primal_of(fn).name.rpartition(".")[2]
    return name if name.isidentifier() else "function"


def own_name(name: str) -> str:
    """A name of the user's as the plan writes it: none of those that the plan uses itself."""
    from . import plans

    while name in LOCALS or name in plans.__all__:
        name += "_"
    return name


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


# -------------------------------------------------------------------------------- the source


def plan_source(asked: ChunkedLoss) -> str:
    """The text as it is shown: the derivative of a chunk, then the plan."""
    shown, plan = [], plan_text(asked)
    options = {"has_aux": asked.has_aux, "example": asked.example}
    if not asked.through_head:
        wrt: Any = asked.wrt[0] if asked.single else asked.wrt
        shown.append(str(value_and_grad(asked.loss, wrt=wrt, **options).source))
    else:
        shown.append(_pair_source(asked))
    if asked.combines:
        shown.append(_combine_source(asked.reduction))
    if asked.head is not None:
        names = (primal_of(asked.head).free_names[0], *asked.head_wrt)
        shown.append(str(value_and_grad(asked.head, wrt=names).source))
    return header([*shown, plan], plan)


def header(texts: Sequence[str], plan: str) -> str:
    """One text of several: the imports of all at its top."""
    imports, bodies = ["from dask import delayed"], []
    known: dict[str, str] = {}
    for text in texts:
        head, body = _apart(text)
        imports += head
        bodies.append(_with_own_names(body.strip("\n"), known))
    needed = [name for name in _plan_names() if re.search(rf"\b{name}[(),]", plan)]
    imports += [f"from tangentlike.dask.plans import {', '.join(needed)}"]
    lines = [_folded(line) for line in sorted(dict.fromkeys(imports), key=_rank)]
    return "\n".join(lines) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _rank(line: str) -> int:
    """Where an import stands: what a module begins with, other packages, ours."""
    return 0 if "__future__" in line else 2 if "tangentlike" in line.split(" import ")[0] else 1


def _folded(line: str) -> str:
    """An import statement in lines of at most 88 characters."""
    before, found, names = line.partition(" import ")
    if len(line) <= 88 or not found or line.startswith("#") or "(" in line:
        return line
    wrapped = textwrap.fill(names + ",", 84, break_long_words=False)
    return f"{before} import (\n{textwrap.indent(wrapped, INDENT)}\n)"


def _with_own_names(body: str, known: dict[str, str]) -> str:
    """A text whose functions have other names than those of the texts before it that differ: two
    derivatives may each have their own of a function that both call."""
    for node in ast.parse(body).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        text, name = ast.unparse(node), node.name
        own = name
        while known.get(own, text) != text:
            own += "_"
        known[own] = text
        if own != name:
            body = re.sub(rf"\b{name}\b", own, body)
    return body


def _plan_names() -> list[str]:
    from . import plans

    return sorted(plans.__all__)


def _apart(text: str) -> tuple[list[str], str]:
    """The import statements at the top of a text, and the rest."""
    found, end, lines = [], 0, text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        end = node.end_lineno or 0
        found.append("\n".join(lines[node.lineno - 1 : end]))
    return found, "\n".join(lines[end:])


def _pair_source(asked: ChunkedLoss) -> str:
    derivation = pair_of(asked.loss, asked.wrt, asked.example)
    fwd, bwd = (f.__name__ for f in functions_of(derivation.derived))
    names, taken = ", ".join(asked.parameters), asked.parameters
    seed = _unused("stats_bar", taken)
    value = "value[0]" if asked.has_aux else "value"
    adjoint = f"seed_like(value, ({seed}, None))" if asked.has_aux else seed
    unit = "(unit, None)" if asked.has_aux else "unit"
    seeds = "from tangentlike.pytree.seeds import seed_like\n"
    if asked.passes == 1:
        body = (
            f"def {identifier(asked.loss)}_rows({names}):\n"
            f"    value, tape = {fwd}({names})\n"
            f"    rows = [{bwd}(tape, seed_like(value, {unit})) for unit in units({value})]\n"
            f"    return {'value' if asked.has_aux else '(value, None)'}, rows\n"
        )
        imports = "from tangentlike.dask.pullbacks import units\n" + seeds
    else:
        body = (
            f"def {identifier(asked.loss)}_value({names}):\n"
            f"    value, _ = {fwd}({names})\n"
            f"    return value\n\n\n"
            f"def {identifier(asked.loss)}_pullback({seed}, {names}):\n"
            f"    value, tape = {fwd}({names})\n"
            f"    return {value}, {bwd}(tape, {adjoint})\n"
        )
        imports = seeds if asked.has_aux else ""
    return imports + derivation.derived.source.rstrip("\n") + "\n\n\n" + body


def _combine_source(combine: Any) -> str:
    primal = primal_of(combine)
    derivation = pair_of(combine, primal.free_names[:2])
    fwd, bwd = (f.__name__ for f in functions_of(derivation.derived))
    names = ", ".join(primal.free_names[:2])
    return derivation.derived.source.rstrip("\n") + (
        f"\n\n\ndef {identifier(combine)}_value({names}):\n"
        f"    value, _ = {fwd}({names})\n"
        f"    return value\n\n\n"
        f"def {identifier(combine)}_pullback(bar, {names}):\n"
        f"    value, tape = {fwd}({names})\n"
        f"    return value, {bwd}(tape, bar)\n"
    )
