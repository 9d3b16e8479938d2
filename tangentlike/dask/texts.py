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
from ..api.jacobians import pair_of
from ..dispatch.derivation import functions_of
from ..frontend.primal import Primal, primal_of
from ..ir.names import unused

if TYPE_CHECKING:
    from .chunked import ChunkedLoss

INDENT = "    "
LOCALS = (
    *("parts", "part", "pair", "both", "total", "stats", "stats_bar", "value", "direct"),
    *("bars", "aux", "seeds", "seed", "levels", "pulled", "rows", "data", "delayed"),
)


def plan_text(request: ChunkedLoss) -> str:
    """The function that is compiled: from the arguments to value and gradient."""
    if request.through_head:
        lines = _two_passes(request) if request.passes == 2 else _one_pass_of_rows(request)
    else:
        lines = _one_pass(request)
    parameters = ", ".join(own_name(name) for name in request.parameters)
    definition = f"def {identifier(request.loss)}_over_chunks({parameters}):"
    return "\n".join([definition, *(INDENT + line for line in [*_sent(request), *lines])]) + "\n"


# -------------------------------------------------------------------------------- the plans


def _one_pass(request: ChunkedLoss) -> list[str]:
    """Each chunk gives its value and its gradient, which are summed."""
    name = f"{identifier(request.loss)}_value_and_grad"
    is_mean, total = request.reduction == "mean", f"tree_sum(parts, fan_in={request.fan_in})"
    lines = _parts(request, f"delayed({name})({_arguments(request)})")
    if request.has_aux:
        lines += [_aux(request), "parts = [delayed(without_aux)(part) for part in parts]"]
    if is_mean:
        lines += [
            f"data = blocks({own_name(request.over[0])})",
            "parts = [delayed(weighted)(*pair) for pair in zip(parts, data, strict=True)]",
        ]
        total = f"delayed(mean)({total})"
    if request.has_aux:
        total = f"delayed(with_aux)({total}, aux)"
    return [*lines, f"return {total}"]


def _one_pass_of_rows(request: ChunkedLoss) -> list[str]:
    """Each chunk gives its statistics, and a gradient for each number of them."""
    lines = _parts(request, f"delayed({identifier(request.loss)}_rows)({_arguments(request)})")
    total = (
        "tree_sum([delayed(without_aux)(part) for part in parts], " + f"fan_in={request.fan_in})"
    )
    if request.has_aux:
        lines += [_aux(request), f"(stats, rows), aux = computed(({total}, aux))"]
    else:
        lines += [f"stats, rows = computed({total})"]
    return [*lines, *_head(request), "bars = along(stats_bar, rows)", *_result(request)]


def _two_passes(request: ChunkedLoss) -> list[str]:
    """The statistics first; then each chunk's pullback of what the head says of them."""
    name, fan_in = identifier(request.loss), request.fan_in
    lines = ["# first pass: the statistics"]
    lines += _parts(request, f"delayed({name}_value)({_arguments(request)})")
    parts = "parts"
    if request.has_aux:
        lines += [_aux(request), "parts = [delayed(first)(part) for part in parts]"]
    if not request.combines:
        parts = f"tree_sum(parts, fan_in={fan_in})"
    target = "parts" if request.combines else "stats"
    if request.has_aux:
        lines += [f"{target}, aux = computed(({parts}, aux))"]
    else:
        lines += [f"{target} = computed({parts})"]
    if request.combines:
        combine = identifier(request.reduction)
        lines += [f"stats, levels = tree_combine({combine}_value, parts)"]
    lines += _head(request)
    lines += ["# second pass: the pullback of each chunk"]
    return [*lines, *_pulled(request), *_result(request)]


def _pulled(request: ChunkedLoss) -> list[str]:
    name, fan_in = identifier(request.loss), request.fan_in
    lines = []
    if request.combines:
        combine = identifier(request.reduction)
        call = f"delayed({name}_pullback)(seed, {_arguments(request)})"
        over = ", ".join(f"{n}={own_name(n)}" for n in request.over)
        lines = [
            f"seeds = tree_pullback({combine}_pullback, levels, stats_bar)",
            "pulled = [",
            f"    {call}",
            f"    for seed, ({_members(request)},) in zip(seeds, chunks({over}), strict=True)",
            "]",
            "pulled = [delayed(checked)(*both) for both in zip(parts, pulled, strict=True)]",
            f"bars = computed(tree_sum(pulled, fan_in={fan_in}))",
        ]
        return lines
    lines = ["stats_bar = constant(stats_bar)"]
    lines += _parts(
        request, f"delayed({name}_pullback)(stats_bar, {_arguments(request)})", "pulled"
    )
    return [*lines, f"bars = checked(stats, computed(tree_sum(pulled, fan_in={fan_in})))"]


def _head(request: ChunkedLoss) -> list[str]:
    if request.head is None:
        return ["value, stats_bar, direct = stats, 1.0, {}"]
    name = f"{identifier(request.head)}_value_and_grad"
    takes = ", ".join(["stats", *(f"{n}={own_name(n)}" for n in request.head_takes)])
    adjoints = ", ".join(["stats_bar", *(own_name(f"{n}_bar") for n in request.head_wrt)])
    direct = ", ".join(f"{n!r}: {own_name(f'{n}_bar')}" for n in request.head_wrt)
    comma = "" if request.head_wrt else ","
    return [
        f"value, ({adjoints}{comma}) = {name}({takes})",
        "stats_bar = like(stats, stats_bar)",
        f"direct = {{{direct}}}",
    ]


def _result(request: ChunkedLoss) -> list[str]:
    value = "(value, aux)" if request.has_aux else "value"
    return [f"return {value}, chained({request.wrt!r}, direct, bars)"]


def _parts(request: ChunkedLoss, call: str, target: str = "parts") -> list[str]:
    over = ", ".join(f"{n}={own_name(n)}" for n in request.over)
    members = _members(request) if len(request.over) > 1 else f"({_members(request)},)"
    return [
        f"{target} = [",
        f"    {call}",
        f"    for {members} in chunks({over})",
        "]",
    ]


def _aux(request: ChunkedLoss) -> str:
    parts = "[delayed(aux_of)(part) for part in parts]"
    if request.passes == 2:
        parts = "[delayed(second)(part) for part in parts]"
    joined = {
        "list": parts,
        "sum": f"tree_sum({parts}, fan_in={request.fan_in})",
        "concatenate": f"delayed(concatenated)({parts})",
    }
    return f"aux = {joined[request.aux]}"


# -------------------------------------------------------------------------------- the names


def _sent(request: ChunkedLoss) -> list[str]:
    taken = request.parameters
    return [f"{sent(n, taken)} = constant({own_name(n)})" for n in request.constants]


def _arguments(request: ChunkedLoss) -> str:
    return call_of(request.primal, request.over, request.parameters)


def call_of(primal: Primal, over: Sequence[str], taken: Sequence[str]) -> str:
    """The arguments of a call for one chunk."""
    given = []
    for parameter in primal.signature.parameters.values():
        name = parameter.name
        value = member(name, taken) if name in over else sent(name, taken)
        given.append(f"{name}={value}" if parameter.kind is parameter.KEYWORD_ONLY else value)
    return ", ".join(given)


def _members(request: ChunkedLoss) -> str:
    return ", ".join(member(name, request.parameters) for name in request.over)


def member(name: str, taken: Sequence[str]) -> str:
    """What a block of an argument is called."""
    return unused(f"{name}_k", taken)


def sent(name: str, taken: Sequence[str]) -> str:
    """What an argument that all chunks see is called in the plan."""
    return unused(f"{name}_sent", taken)


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


# -------------------------------------------------------------------------------- the source


def plan_source(request: ChunkedLoss) -> str:
    """The text as it is shown: the derivative of a chunk, then the plan."""
    shown, plan = [], plan_text(request)
    options = {"has_aux": request.has_aux, "example": request.example}
    if not request.through_head:
        wrt: Any = request.wrt[0] if request.single else request.wrt
        shown.append(str(value_and_grad(request.loss, wrt=wrt, **options).source))
    else:
        shown.append(_pair_source(request))
    if request.combines:
        shown.append(_combine_source(request.reduction))
    if request.head is not None:
        names = (primal_of(request.head).free_names[0], *request.head_wrt)
        shown.append(str(value_and_grad(request.head, wrt=names).source))
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


def _pair_source(request: ChunkedLoss) -> str:
    derivation = pair_of(request.loss, request.wrt, request.example)
    fwd, bwd = (f.__name__ for f in functions_of(derivation.derived))
    names, taken = ", ".join(request.parameters), request.parameters
    seed = unused("stats_bar", taken)
    value = "value[0]" if request.has_aux else "value"
    adjoint = f"seed_like(value, ({seed}, None))" if request.has_aux else seed
    unit = "(unit, None)" if request.has_aux else "unit"
    seeds = "from tangentlike.pytree.gradients import seed_like\n"
    if request.passes == 1:
        body = (
            f"def {identifier(request.loss)}_rows({names}):\n"
            f"    value, tape = {fwd}({names})\n"
            f"    rows = [{bwd}(tape, seed_like(value, {unit})) for unit in units({value})]\n"
            f"    return {'value' if request.has_aux else '(value, None)'}, rows\n"
        )
        imports = "from tangentlike.dask.pullbacks import units\n" + seeds
    else:
        body = (
            f"def {identifier(request.loss)}_value({names}):\n"
            f"    value, _ = {fwd}({names})\n"
            f"    return value\n\n\n"
            f"def {identifier(request.loss)}_pullback({seed}, {names}):\n"
            f"    value, tape = {fwd}({names})\n"
            f"    return {value}, {bwd}(tape, {adjoint})\n"
        )
        imports = seeds if request.has_aux else ""
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
