"""Reverse mode: a primal function in, functions that also compute adjoints out.

    sweep (what the adjoint statements are) -> recording (what they need saved) -> weaving

`Reverse` is the transform of one function, step by step; `reverse` builds one function with the
primal and the reverse sweep in it. `transform.reverse.pairs` builds two, with a tape between them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.memory import element
from ...analysis.recompute import Recomputed, Rematerialisation
from ...analysis.regions import Parts, Regions, is_part, whole_of
from ...analysis.saving import Needed, Reads, Recording, Saves, content, place_of, statement_needs
from ...analysis.structure import ROOT, Structure, structure
from ...errors import UnsupportedError
from ...ir.kind import UNKNOWN, is_named
from ...runtime import on_adjoint
from ..context import Context
from ..specialize.callees import CallSite
from .adjoints import BORROWED, OWNED, Adjoints
from .prepare import written_scalars
from .recorded import Costs, Recorder, condition, shaped_alike
from .sweep import Reversed, ReversedBlock, Sweep


@dataclass(frozen=True)
class Primal:
    """A prepared primal and the facts about it that the reverse transform reads.

    `wrt` are parameters, or local names whose incoming edges are then cut; `written` the
    parameters it may write; `shared` those of them whose writes a caller sees.
    """

    function: ir.Function
    aliases: Aliases
    active: frozenset[str]
    calls: dict[int, CallSite]
    counters: dict[int, str]
    wrt: tuple[str, ...]
    written: tuple[str, ...]
    shared: tuple[str, ...] = ()


class Reverse:
    """One function's reverse transform, step by step."""

    recorder_class = Recorder

    def __init__(self, primal: Primal, context: Context) -> None:
        self.primal = primal
        self.context = context
        self.facts: Structure = structure(primal.function, primal.shared)
        self.sources = context.sources()
        self._written_by: dict[int, tuple[str, ...]] = {}
        self.unseen: frozenset[str] = frozenset()
        self.unread: frozenset[str] = frozenset()  # parameters that no caller reads back
        self.saves = Saves()
        self.apart = False  # whether the sweep is a function of its own
        self.adjoints = self._made_adjoints()
        params = primal.function.param_names
        self.severed = frozenset(n for n in primal.wrt if n not in params)
        self._refuse_cut_calls()
        self.sweep = self._made_sweep()

    def _made_adjoints(self) -> Adjoints:
        primal, context = self.primal, self.context
        adjoints = Adjoints(context, primal.aliases)
        adjoints.scalars = written_scalars(primal.function, primal.aliases, context)
        return adjoints

    def _made_sweep(self) -> Sweep:
        primal = self.primal
        self.context.shaped = shaped_alike(self.facts, self.context)
        known = (primal.active, primal.calls, primal.counters, self.severed)
        return Sweep(self.adjoints, self.facts, *known, self.context)

    def _refuse_cut_calls(self) -> None:
        """A callee that writes arguments must be reversed, also where its result is cut off."""
        for stmt in ir.statements(self.primal.function.body):
            site = self.primal.calls.get(id(stmt))
            if site is not None and site.written and self.severed & set(site.results):
                raise UnsupportedError(
                    f"`{site.results[0]}` comes from a call that writes its arguments in place",
                    stmt.origin.place,
                    "Bind a copy of the result to a name, and differentiate with respect to that.",
                )

    @property
    def result(self) -> ir.Return | None:
        last = self.primal.function.body[-1] if self.primal.function.body else None
        return last if isinstance(last, ir.Return) else None

    # ------------------------------------------------------------------------------- seeds

    def seed_scalar(self, value: ir.Expr) -> list[ir.Stmt]:
        """`y_bar = 1.0` for a scalar result, checked at run time where it is not known."""
        function = self.primal.function
        if value == ir.Const(None):
            raise UnsupportedError(
                f"no gradient of {function.name}: it returns None",
                function.place,
                "Return the number to differentiate.",
            )
        adjoints, out = self._begin()
        kind = self.context.kind_of(value)
        seed: ir.Expr = ir.Const(1.0)
        real = kind.dtype == "float" or (kind.dtype == "?" and self.context.real)
        if not (kind.form == "number" and real):
            seed = ir.Call(self.context.helper("scalar_seed"), (value,))
        if not isinstance(value, ir.Var) or value.name not in self.primal.active:
            if isinstance(seed, ir.Call) and not (kind.discrete and kind.form == "number"):
                out.append(self.context.check("require_scalar", (value,), adjoints.origin))
            return out
        if not self.primal.aliases.has_variable(value.name):
            adjoints.contribute(value.name, seed)
        else:
            adjoints.assign(adjoints.bar(value.name).name, seed)
            adjoints.state[value.name] = OWNED if isinstance(seed, ir.Const) else BORROWED
        return out

    def seed(self, value: ir.Expr | None, seed: ir.Expr) -> list[ir.Stmt]:
        """Contributions of a given adjoint of the result, whatever its structure."""
        adjoints, out = self._begin()
        match value:
            case ir.Var(name) if name in self.primal.active:
                adjoints.contribute(name, seed)
            case ir.Display():
                for position, item in enumerate(value.items):
                    key = value.keys[position] if value.form == "dict" else ir.Const(position)
                    out.extend(self.seed(item, ir.Index(seed, key)))
                adjoints.out = out
        return out

    def _begin(self) -> tuple[Adjoints, list[ir.Stmt]]:
        out: list[ir.Stmt] = []
        self.adjoints.out = out
        if self.result is not None:
            self.adjoints.place(self.result.origin.place)
        self.adjoints.begin()
        return self.adjoints, out

    # ------------------------------------------------------------------------------ the sweep

    def run(
        self, seeds: list[ir.Stmt], results: Iterable[str], written: Iterable[str] = ()
    ) -> tuple[ir.Block, ir.Block]:
        """(primal statements with their saves, seeds and reverse statements).

        `results` are the names whose adjoints are returned, `written` parameters whose adjoints
        are the caller's buffers.
        """
        body = self.primal.function.body
        if self.result is not None:
            body = body[:-1]
        tree = self.sweep.block(body, ROOT)
        self.adjoints.out = []
        self.adjoints.place(self.primal.function.place)
        self._finish(results, written)
        tree.tail = self.adjoints.out
        saves, recomputed = self._record(tree)
        recorder = self.recorder_class(
            self.facts, self.primal.aliases, saves, recomputed, self.context, self._writes
        )
        primal = without_hooks(recorder.primal(tree), self.primal.active)
        return primal, tuple(seeds) + recorder.reverse(tree)

    def _finish(self, results: Iterable[str], written: Iterable[str]) -> None:
        """What the sweep ends with: the adjoints of `results`, and those in a caller's buffers."""
        for name in results:
            self.adjoints.materialise(name)
            if not self.adjoints.present(name):
                self.adjoints.zero(name)

    def _reads(self, tree: ReversedBlock, parts: Parts | None) -> Reads:
        """What the adjoint statements read of the primal."""
        reads = Reads()
        blocks = [tree]

        def needs(stmts: Iterable[ir.Stmt], parts: Parts | None = None) -> Needed:
            known = self.facts.home.__contains__
            return statement_needs(stmts, self.primal.aliases, known, parts, self._has_one_shape)

        for reversed_block in blocks:
            reads.tails[reversed_block.key] = needs(reversed_block.tail)
            for step in reversed_block.steps:
                number = self.facts.number(step.stmt)
                reads.entry[number] = needs(step.entry, parts)
                if id(step.stmt) in self.primal.calls and (step.entry or step.exit):
                    reads.entry[number] |= self._taped(step.stmt)
                header = needs(self._header(step))
                reads.headers[number] = header if step.blocks else frozenset()
                if step.blocks and any(map(_prints, step.blocks)):
                    reads.entry[number] |= header
                reads.exit[number] = needs(step.exit, parts)
                blocks += step.blocks
        reads.places = self._places()
        return reads

    def _record(self, tree: ReversedBlock) -> tuple[Saves, Recomputed]:
        aliases = self.primal.aliases
        regions = Regions(self.facts, self.context.kind_of)
        parts = Parts(regions, aliases, self._writes)
        reads = self._reads(tree, parts)
        costs = Costs(aliases, self.context, self.sweep.presence.local).predicates()
        recomputed = Rematerialisation(
            self.facts, aliases, reads, costs, parts, self.apart, self._has_one_shape
        ).run()
        virtual = frozenset(recomputed.names)
        self._known = reads, virtual, parts
        self.saves = self.saves_where(self.unread)
        self.unseen = self._unseen(reads)
        return self.saves, recomputed

    def saves_where(self, unread: Collection[str]) -> Saves:
        """What is saved where no caller reads back these parameters."""
        shared = [name for name in self.primal.shared if name not in unread]
        reads, virtual, parts = self._known
        known = (self.primal.aliases, reads, virtual, self._written, parts, self._written_by_call)
        return Recording(self.facts, shared, *known, self.is_array).run()

    def _written_by_call(self, stmt: ir.Stmt) -> tuple[str, ...]:
        site = self.primal.calls.get(id(stmt))
        return () if site is None else site.written

    def read_back(self) -> dict[str, frozenset[str]]:
        """By the name of each backward function that is called, the parameters that its callers
        read after it, as they were before the call of the forward function."""
        found: dict[str, frozenset[str]] = {}
        for stmt in ir.statements(self.primal.function.body):
            site = self.primal.calls.get(id(stmt))
            if site is None or site.is_late:
                continue
            number, pair = self.facts.number(stmt), site.pair
            both = zip(pair.written, site.written, strict=True)
            back = {formal for formal, name in both if (number, name) in self.saves.read_back}
            found[pair.bwd.text] = found.get(pair.bwd.text, frozenset()) | back
        return found

    def _unseen(self, reads: Reads) -> frozenset[str]:
        """The parameters, of those that are written, whose entries no adjoint reads."""
        found = (reads.entry, reads.exit, reads.headers, reads.tails)
        tokens = {t for kept in found for names in kept.values() for t in names}
        seen = {whole_of(t) if is_part(t) else t for t in tokens}
        arrays = filter(self.is_array, self.primal.shared)
        return frozenset(n for n in arrays if not seen & content(n, self.primal.aliases))

    def is_array(self, name: str) -> bool:
        """Whether a parameter is surely an array."""
        return self.context.kind_of(ir.Var(name)).form == "array"

    def _has_one_shape(self, name: str) -> bool:
        """Whether every value of a name is an array of the same shape."""
        kind = self.context.kinds.get(name, UNKNOWN)
        known = isinstance(kind.shape, tuple) and kind.shape and all(map(is_named, kind.shape))
        return bool(known) and kind.form == "array" and kind.dtype in ("float", "complex")

    def _places(self) -> dict[int, frozenset[str]]:
        """The names that say where each write in place puts what it writes."""
        aliases, found = self.primal.aliases, {}
        for stmt in ir.statements(self.primal.function.body):
            written = self._written(stmt)
            if written:
                exprs = (*place_of(stmt), *map(aliases.through, written))
                found[self.facts.number(stmt)] = frozenset().union(*map(ir.names_in, exprs))
        return found

    def _written(self, stmt: ir.Stmt) -> tuple[str, ...]:
        """What a statement writes and its reversal restores (a pair's `bwd` restores what it has
        adjoints for)."""
        if id(stmt) in self.primal.calls:
            return self.primal.calls[id(stmt)].changed
        number = self.facts.number(stmt)
        if number not in self._written_by:
            nodes = self.sources.written(stmt)
            names = tuple(dict.fromkeys(node.removesuffix("[*]") for node in nodes))
            self._written_by[number] = names
        return self._written_by[number]

    def _writes(self, stmt: ir.Stmt) -> tuple[str, ...]:
        """What a statement writes in place, whoever restores it."""
        site = self.primal.calls.get(id(stmt))
        return self._written(stmt) if site is None else site.written

    def _taped(self, stmt: ir.Stmt) -> frozenset[str]:
        """Contents that a callee's tape may refer to: its arguments and its result."""
        names = (*ir.binds(stmt), *sorted(ir.reads(stmt)))
        site = self.primal.calls[id(stmt)]
        unseen = {
            name
            for formal, name in zip(site.pair.written, site.written, strict=True)
            if formal in site.pair.unseen
        }
        names = tuple(n for n in names if n not in unseen)
        return frozenset().union(*(content(n, self.primal.aliases) for n in names))

    def _header(self, step: Reversed) -> list[ir.Stmt]:
        """What running a compound statement backwards evaluates first."""
        origin = step.stmt.origin
        if isinstance(step.stmt, ir.If):
            test = condition(step.stmt)
            return [] if test is None else [ir.Do(test, origin)]
        if step.header is None:
            return []
        items = (leaf.item for leaf in step.header.bindings)
        return [ir.Do(expr, origin) for expr in (step.header.iterable, *items)]

    # --------------------------------------------------------------------------- results

    def gradient(self) -> tuple[ir.Expr, ...]:
        """The adjoints of `wrt`."""
        return tuple(map(self.result_adjoint, self.primal.wrt))

    def result_adjoint(self, name: str) -> ir.Expr:
        """The adjoint of a parameter, when the sweep has ended."""
        return self.adjoints.adjoint(name)

    def protect(self) -> ir.Block:
        """Copies of the parameters the function writes: the caller's arrays are left alone."""
        out: list[ir.Stmt] = []
        for name in self.primal.written:
            origin = ir.Origin(self.primal.function.place, "primal")
            if self.context.kinds[name].form == "array" and not self.context.alike:
                copy: ir.Expr = ir.Call(ir.Attribute(ir.Var(name), "copy"))
            else:
                copy = ir.Call(self.context.helper("copy"), (ir.Var(name),))
            out.append(ir.Assign(name, copy, origin))
        return tuple(out)


def _prints(block: ReversedBlock) -> bool:
    return bool(block.tail) or any(
        s.entry or s.exit or any(map(_prints, s.blocks)) for s in block.steps
    )


def reverse(
    transform: Reverse, name: str, mode: str, bare: bool, has_aux: bool = False
) -> ir.Function:
    """The function that runs the primal and then the reverse sweep.

    `mode` is "grad" (returns the gradient), "value_and_grad" (value, gradient), or "adjoint"
    (takes the result's adjoint as last parameter; returns value, gradient). `bare` is a gradient
    by one parameter, that is not in a tuple.
    """
    primal, context, result = transform.primal, transform.context, transform.result
    value = result.value if result is not None and result.value is not None else ir.Const(None)
    params, aux = primal.function.params, None
    loss = value
    if has_aux:
        loss, aux = loss_and_aux(value, primal.function)
    if mode == "adjoint":
        seed = context.names.fresh(seed_name(value))
        seeds = transform.seed(value, ir.Var(seed))
        params = _with_parameter(params, seed)
    else:
        seeds = transform.seed_scalar(loss)
    beside = aux if mode == "grad" else value  # what is returned with the gradient
    kept, beside = kept_value(beside, primal, context)
    before, after = transform.run(seeds, primal.wrt)
    if not kept:
        kept, beside = named_before(beside, after, primal, context)
    gradient = bundle(transform.gradient(), bare)
    if mode == "grad":
        returned = gradient if beside is None else ir.Display("tuple", (gradient, beside))
    else:
        assert beside is not None
        returned = ir.Display("tuple", (beside, gradient))
    origin = ir.Origin(primal.function.place, "adjoint")
    body = (*transform.protect(), *before, *kept, *after, ir.Return(returned, origin))
    doc = primal.function.doc_of(_TITLES[mode])
    return dataclasses.replace(primal.function, name=name, params=params, body=body, doc=doc)


_TITLES = {
    **{"grad": "Gradient", "value_and_grad": "Value and gradient"},
    "adjoint": "Value and vector-Jacobian product",
}


def bundle(bars: tuple[ir.Expr, ...], bare: bool) -> ir.Expr:
    if bare and len(bars) == 1:
        return bars[0]
    return ir.Display("tuple", bars)


def seed_name(value: ir.Expr) -> str:
    """The seed is the adjoint of the result; a name of its own, since it is borrowed."""
    if isinstance(value, ir.Var):
        return f"{value.name}_seed"
    return "y_bar"


def _with_parameter(params: tuple[ir.Param, ...], name: str) -> tuple[ir.Param, ...]:
    plain = all(p.kind in ("any", "positional") and p.default is None for p in params)
    kind = "any" if plain else "keyword"
    extra = ir.Param(name, kind)
    if params and params[-1].kind == "**":
        return (*params[:-1], extra, params[-1])
    return (*params, extra)


# --------------------------------------------------------------------------------------------------
# Adjoint hooks, once the sweep has called them.
#
# before::                                  after::
#     # primal                                  # primal
#     h = tl.on_adjoint(np.sin(x), clip)        h = np.sin(x)
#     # adjoint                                 # adjoint
#     h_bar = hooked(h_bar, clip)               h_bar = hooked(h_bar, clip)
#
# A hook belongs to the derivative that is made of the function it stands in. Left in the primal, it
# would be called once more where that derivative is differentiated in reverse mode.


def without_hooks(block: ir.Block, active: Collection[str]) -> ir.Block:
    """The statements of a primal whose adjoints have been hooked."""

    def plain(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(x, *_))):
                if obj is on_adjoint and name in active:
                    return ir.Assign(name, x, stmt.origin)
        return None

    return ir.rewrite(block, plain)


# --------------------------------------------------------------------------------------------------
# What is returned beside the gradient, kept from a reverse sweep that restores what it holds.


def loss_and_aux(value: ir.Expr, function: ir.Function) -> tuple[ir.Expr, ir.Expr]:
    """The two parts of the result of a function that `has_aux`."""
    if isinstance(value, ir.Display) and value.form == "tuple" and len(value.items) == 2:
        return value.items
    raise UnsupportedError(
        "has_aux=True needs a function that returns `(loss, aux)`",
        function.body[-1].origin.place if function.body else function.place,
        "Write the pair out in the return statement: `return loss, aux`.",
    )


def is_restored(value: ir.Expr, primal: Primal, context: Context) -> bool:
    """Whether a reverse sweep may give earlier entries to what is in the result: to arrays that
    the function writes, and to those that a callee writes and returns."""
    aliases = primal.aliases
    made = [name for site in primal.calls.values() if site.pair.restores for name in site.results]
    behind = {aliases.class_of(node) for name in made for node in (name, element(name))}
    for name in ir.names_in(value):
        if aliases.may_be_restored(name):
            return True
        kind = context.kind_of(ir.Var(name))
        inside = {aliases.class_of(name), aliases.class_of(element(name))}
        if inside & behind and kind.form not in ("number", "other"):
            return True
    return False


def kept_value(
    value: ir.Expr | None, primal: Primal, context: Context
) -> tuple[ir.Block, ir.Expr | None]:
    """The value as the primal returned it, though the reverse sweep restores arrays in place.

    before::                      after::
        y[0] = 2.0                    y[0] = 2.0
        <the sweep: y[0] = old>       value = copy(y)
        return y, x_bar               <the sweep: y[0] = old>
                                      return value, x_bar
    """
    if value is None or not is_restored(value, primal, context):
        return (), value
    origin = ir.Origin(primal.function.place, "primal")
    name = context.names.fresh("value")
    copy = ir.Call(context.helper("copy"), (value,))
    return (ir.Assign(name, copy, origin),), ir.Var(name)


def named_before(
    value: ir.Expr | None, after: ir.Block, primal: Primal, context: Context
) -> tuple[ir.Block, ir.Expr | None]:
    """The value by a name of its own where the reverse sweep gives its name an earlier value."""
    rebound = {name for stmt in ir.statements(after) for name in ir.binds(stmt)}
    if value is None or not rebound & ir.names_in(value):
        return (), value
    name = context.names.fresh("value")
    return (ir.Assign(name, value, ir.Origin(primal.function.place, "primal")),), ir.Var(name)
