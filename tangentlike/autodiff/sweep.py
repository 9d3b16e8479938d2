"""The reverse sweep: primal statements visited backwards, each giving its adjoint statements.

The sweep decides *what* is computed. Which primal values must be saved for it, and where they
are restored, follows from what it reads (`analysis.saving`), so the answer is a tree of
`Reversed` steps that still know their primal statement.

Invariants (the mechanism is described in docs/reverse.md):

- a name in the state has an adjoint variable; a name without one has adjoint zero;
- the adjoint of a name dies where the name is bound; adjoints of a block's locals die with it;
- both branches of an `if`, and the end and the start of a loop body, leave the same names present.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import neg

from .. import ir
from ..analysis.aliases import surely_basic
from ..analysis.saving import is_scatter
from ..analysis.structure import BlockKey, Structure, block_key
from .adjoints import BORROWED, NARROW, Adjoints, weakest
from .callees import CallSite
from .context import ISUB, MUL, Context
from .contributions import Chain, Contribution, chain_of
from .loops import Leaf, backwards, leaves, length, rounds
from .masks import selections, under_mask


@dataclass
class Header:
    """How a loop is run backwards: `for target in iterable`, with bindings made at its head."""

    target: ir.Target
    iterable: ir.Expr
    bindings: tuple[Leaf, ...] = ()


@dataclass
class Reversed:
    """One primal statement reversed. `entry` runs while the primal is as after the statement,
    `exit` while it is as before; blocks are those of a compound statement."""

    stmt: ir.Stmt
    entry: list[ir.Stmt] = field(default_factory=list)
    exit: list[ir.Stmt] = field(default_factory=list)
    blocks: tuple[ReversedBlock, ...] = ()
    header: Header | None = None


@dataclass
class ReversedBlock:
    """A block reversed: its steps, then `tail` (zeros that the next round expects)."""

    key: BlockKey
    steps: list[Reversed] = field(default_factory=list)
    tail: list[ir.Stmt] = field(default_factory=list)


class Sweep:
    """One function's sweep. `severed` are local names whose incoming edges are cut."""

    def __init__(
        self,
        adjoints: Adjoints,
        facts: Structure,
        active: frozenset[str],
        calls: dict[int, CallSite],
        counters: dict[int, str],
        severed: frozenset[str],
        context: Context,
    ) -> None:
        self.adjoints = adjoints
        self.facts = facts
        self.active = active
        self.calls = calls
        self.counters = counters
        self.severed = severed
        self.context = context
        self._chains: dict[int, Chain] = {}
        self._indices: dict[int, str] = {}
        self._at_head: frozenset[str] = frozenset()  # adjoints at the head of the last block

    # ----------------------------------------------------------- which adjoints exist where

    def chain(self, stmt: ir.Assign) -> Chain:
        """The chain rule of an assignment, worked out once."""
        if id(stmt) not in self._chains:
            bar = self._result_bar(stmt.target)
            self._chains[id(stmt)] = chain_of(stmt, self.active, bar, self.context)
        return self._chains[id(stmt)]

    def _result_bar(self, target: ir.Target) -> ir.Expr:
        if isinstance(target, str):
            return self.adjoints.adjoint(target)
        return ir.Display("tuple", tuple(map(self._result_bar, target)))

    def roots(self, names: frozenset[str] | tuple[str, ...]) -> frozenset[str]:
        return frozenset(map(self.adjoints.aliases.root, names))

    def present_before(self, stmt: ir.Stmt, present: frozenset[str]) -> frozenset[str]:
        """Names with an adjoint variable after reversing `stmt`, from those before."""
        match stmt:
            case ir.Assign() if id(stmt) in self.calls:
                return self._present_call(stmt, present)
            case ir.Assign():
                targets = self._killed(stmt)
                bound = frozenset(ir.target_names(stmt.target))
                if not self.roots(tuple(bound)) & present:
                    return present
                present = present - targets
                return present | self.roots(self._operands(stmt))
            case ir.Store() | ir.Update():
                base = self._written_base(stmt)
                if base in present and isinstance(stmt.value, ir.Var):
                    present |= self.roots(frozenset({stmt.value.name}) & self.active)
                return present
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(ir.Var(v),))):
                return self._present_read(base, v, present)
            case ir.Do(value=ir.Call(args=(ir.Var(base), _, ir.Var(v)))) if is_scatter(stmt):
                return self._present_read(base, v, present)
            case ir.If():
                keys = (block_key(stmt, 0), block_key(stmt, 1))
                ends = [
                    self._present_block(b, present, k)
                    for b, k in zip(ir.blocks(stmt), keys, strict=True)
                ]
                return ends[0] | ends[1]
            case ir.For() | ir.While():
                return self._present_loop(stmt, present)[0]
            case _:
                return present

    def _present_read(self, base: str, value: str, present: frozenset[str]) -> frozenset[str]:
        if self.adjoints.aliases.root(base) in present and value in self.active:
            return present | self.roots((value,))
        return present

    def _present_block(
        self, block: ir.Block, present: frozenset[str], key: BlockKey
    ) -> frozenset[str]:
        for stmt in reversed(block):
            present = self.present_before(stmt, present)
        return frozenset(n for n in present if not self.facts.is_local(n, key))

    def _present_loop(
        self, stmt: ir.For | ir.While, present: frozenset[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """(present at the head of each reversed round, present at its end)."""
        sources = self.roots(tuple(self._active_sources(stmt)))
        head = present
        while True:
            end = self._present_block(stmt.body, head, block_key(stmt, 0)) | sources
            if end <= head:
                return head, end
            head = head | end

    def _active_sources(self, stmt: ir.For | ir.While) -> list[str]:
        if isinstance(stmt, ir.While):
            return []
        found = []
        for leaf in leaves(stmt.target, stmt.iter, ir.Const(0)):
            active = set(ir.target_names(leaf.target)) & self.active
            if active and isinstance(leaf.source, ir.Var):
                found.append(leaf.source.name)
        return found

    def _present_call(self, stmt: ir.Assign, present: frozenset[str]) -> frozenset[str]:
        site = self.calls[id(stmt)]
        written = self.roots(site.written)
        if not (self.roots((site.result,)) & present or written):
            return present
        present = present - self.roots((site.result,))
        return present | written | self.roots(site.operands)

    def _operands(self, stmt: ir.Assign) -> frozenset[str]:
        if isinstance(stmt.value, ir.Index) and isinstance(stmt.value.base, ir.Var):
            return frozenset((stmt.value.base.name,)) & self.active
        if isinstance(stmt.target, tuple) and isinstance(stmt.value, ir.Var):
            return frozenset((stmt.value.name,)) & self.active
        if _pop(stmt):
            return frozenset((_pop(stmt),)) & self.active
        return frozenset(c.name for c in self.chain(stmt).contributions)

    def _killed(self, stmt: ir.Assign) -> frozenset[str]:
        names = frozenset(ir.target_names(stmt.target)) - self.severed
        return frozenset(n for n in names if n not in self.adjoints.aliases.paths)

    def _written_base(self, stmt: ir.Store | ir.Update) -> str:
        target: ir.Expr = stmt.target
        while not isinstance(target, ir.Var):
            target = ir.children(target)[0]
        return self.adjoints.aliases.root(target.name)

    # ---------------------------------------------------------------------- the sweep itself

    def block(self, block: ir.Block, key: BlockKey) -> ReversedBlock:
        """Reverse a block from the current state."""
        done = ReversedBlock(key)
        for stmt in reversed(block):
            done.steps.append(self.step(stmt))
        self._at_head = frozenset(self.adjoints.state)
        self.adjoints.masks.clear()
        for name in sorted(self._at_head):
            if self.facts.is_local(name, key):
                del self.adjoints.state[name]
        return done

    def step(self, stmt: ir.Stmt) -> Reversed:
        adjoints = self.adjoints
        adjoints.place(stmt.origin.place)
        outer, adjoints.out = adjoints.out, []
        step = Reversed(stmt)
        if ir.blocks(stmt):
            adjoints.masks.clear()
        match stmt:
            case ir.Assign() if id(stmt) in self.calls:
                self._call(stmt)
            case ir.Assign():
                self._assign(stmt)
            case ir.Store():
                self._store(stmt)
            case ir.Update():
                self._update(stmt)
            case ir.Do():
                self._do(stmt)
            case ir.If():
                step = self._if(stmt)
            case ir.For() | ir.While():
                step = self._loop(stmt)
        if not step.blocks:
            bound = frozenset(ir.binds(stmt))
            reads_new = any(ir.reads(s) & bound for s in adjoints.out)
            reads_new = reads_new and not (bound & ir.reads(stmt))
            (step.entry if reads_new else step.exit).extend(adjoints.out)
        adjoints.out = outer
        return step

    def _assign(self, stmt: ir.Assign) -> None:
        adjoints = self.adjoints
        names = ir.target_names(stmt.target)
        if not any(adjoints.present(n) for n in names) or self.severed & set(names):
            return
        if all(n in adjoints.aliases.paths for n in names):
            return  # its adjoint is a view of the base's: everything is there already
        if isinstance(stmt.value, ir.Index) and isinstance(stmt.value.base, ir.Var):
            self._read_item(stmt)
        elif isinstance(stmt.target, tuple) and isinstance(stmt.value, ir.Var):
            self._unpack(stmt.target, stmt.value.name)
        elif _pop(stmt):
            self._popped(_pop(stmt), names[0])
        else:
            self._chain_rule(stmt, names)
            return
        for name in names:
            adjoints.state.pop(name, None)

    def _chain_rule(self, stmt: ir.Assign, names: tuple[str, ...]) -> None:
        adjoints = self.adjoints
        chain = self.chain(stmt)
        if isinstance(stmt.target, tuple):
            for name in names:
                if name not in adjoints.state:
                    adjoints.zero(name)
        for name in names:
            if not all(c.whole for c in chain.contributions):
                adjoints.materialise(name)
        for name, value in chain.temporaries:
            adjoints.assign(name, value)
        contributions, masks = self._masked(stmt, chain, names)
        own = [c for c in contributions if c.name in names]
        sharing = [c for c in contributions if not adjoints.fresh(c.value)]
        status = adjoints.state.get(names[0], "") if len(names) == 1 else ""
        for c in contributions:
            if c.name not in names:
                first = not adjoints.present(c.name)
                alone = len(sharing) == 1 and c is sharing[0]
                adjoints.contribute(c.name, c.value, self._handed_on(c, status, alone))
                if first and c.name in masks:
                    adjoints.masks[c.name] = masks[c.name]
        for name in names:
            adjoints.state.pop(name, None)
        for c in own:  # an adjoint that updates itself comes last, and is assigned
            adjoints.contribute(c.name, c.value)

    def _masked(
        self, stmt: ir.Assign, chain: Chain, names: tuple[str, ...]
    ) -> tuple[tuple[Contribution, ...], dict[str, ir.Expr]]:
        """Contributions under the result's mask, and the masks that the operands inherit."""
        mask = self.adjoints.masks.pop(names[0], None) if len(names) == 1 else None
        if mask is None:
            return chain.contributions, selections(stmt, self.context)
        result = ir.Var(names[0])
        found = tuple(under_mask(c, mask, result, self.context) for c in chain.contributions)
        return found, {c.name: mask for c in found if c.elementwise}

    def _handed_on(self, c: Contribution, status: str, alone: bool) -> str:
        """The status of `c.value` as an adjoint, given that of the result's adjoint."""
        if status == NARROW:
            return "" if c.full else NARROW
        return status if alone else BORROWED

    def _read_item(self, stmt: ir.Assign) -> None:
        assert isinstance(stmt.value, ir.Index) and isinstance(stmt.value.base, ir.Var)
        adjoints = self.adjoints
        base = stmt.value.base.name
        if base in self.active and isinstance(stmt.target, str):
            adjoints.accumulate_at(base, stmt.value.key, adjoints.bar(stmt.target))
        elif base in self.active:
            for position, part in enumerate(ir.target_names(stmt.target)):
                if adjoints.present(part):
                    key = ir.Index(ir.Index(ir.Var(base), stmt.value.key), ir.Const(position))
                    adjoints.own(adjoints.aliases.root(base))
                    target = ir.Index(ir.Index(adjoints.adjoint(base), stmt.value.key), key.key)
                    adjoints.update(target, adjoints.bar(part))

    def _unpack(self, target: ir.Target, base: str) -> None:
        if base not in self.active:
            return
        for position, part in enumerate(target):
            if isinstance(part, str) and self.adjoints.present(part):
                key = ir.Const(position)
                self.adjoints.accumulate_at(base, key, self.adjoints.bar(part))

    def _store(self, stmt: ir.Store) -> None:
        adjoints, base = self.adjoints, self._written_base(stmt)
        if base not in adjoints.state or not isinstance(stmt.target, ir.Index):
            return
        assert isinstance(stmt.target.base, ir.Var)
        adjoints.own(base)
        entry = ir.Index(adjoints.adjoint(stmt.target.base.name), stmt.target.key)
        element = self.context.kind_of(stmt.target)
        basic = surely_basic(stmt.target.key, self.context.kind_of)
        if isinstance(stmt.value, ir.Var) and stmt.value.name in self.active:
            adjoints.contribute(stmt.value.name, self._taken(stmt, entry, element.form, basic))
        adjoints.store(entry, ir.Const(0.0))

    def _taken(self, stmt: ir.Store, entry: ir.Index, form: str, basic: bool) -> ir.Expr:
        """The adjoint of the stored value: what the entries hold, copied before they are zeroed."""
        value: ir.Expr = entry
        if not basic:  # of repeated indices only the last one written counts
            last = ir.Call(self.context.helper("survivors"), (entry.base, entry.key))
            value = ir.Call(MUL, (entry, last))
        elif form == "array":
            value = ir.Call(ir.Attribute(entry, "copy"))
        elif form != "number":
            value = ir.Call(self.context.helper("copy"), (entry,))
        stored = self.context.kind_of(stmt.value)
        if form == "number" or stored.same_shape(self.context.kind_of(stmt.target)):
            return value
        return ir.Call(self.context.helper("unbroadcast"), (value, stmt.value))

    def _update(self, stmt: ir.Update) -> None:
        """`A[k] += v` (and `-=`): the entries' adjoint stays, the value gets its share."""
        adjoints, base = self.adjoints, self._written_base(stmt)
        if base not in adjoints.state:
            return
        if not isinstance(stmt.value, ir.Var) or stmt.value.name not in self.active:
            return
        adjoints.own(base)
        entry: ir.Expr = adjoints.adjoint(_name_of(stmt.target))
        if isinstance(stmt.target, ir.Index):
            entry = ir.Index(entry, stmt.target.key)
        written = self.context.kind_of(stmt.target)
        stored = self.context.kind_of(stmt.value)
        if stmt.op.obj is ISUB.obj:
            entry = ir.Call(ir.Ref("-", neg), (entry,))
        if not (written.form == "number" or stored.same_shape(written)):
            entry = ir.Call(self.context.helper("unbroadcast"), (entry, stmt.value))
        name = stmt.value.name
        if name not in adjoints.state and not adjoints.fresh(entry) and written.form != "number":
            entry = ir.Call(self.context.helper("copy"), (entry,))
        adjoints.contribute(name, entry)

    def _do(self, stmt: ir.Do) -> None:
        if is_scatter(stmt):
            self._scatter(stmt.value)
            return
        match stmt.value:
            case ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(value,)):
                if not self.adjoints.present(base):
                    return
                popped = ir.Call(ir.Attribute(self.adjoints.adjoint(base), "pop"))
                if isinstance(value, ir.Var) and value.name in self.active:
                    self.adjoints.contribute(value.name, popped)
                else:
                    self.adjoints.out.append(ir.Do(popped, self.adjoints.origin))

    def _scatter(self, call: ir.Expr) -> None:
        """`np.add.at(a, k, v)` reversed: `v_bar += a_bar[k]`."""
        assert isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref)
        array, key, value = call.args
        assert isinstance(array, ir.Var)
        if not self.adjoints.present(array.name):
            return
        if not isinstance(value, ir.Var) or value.name not in self.active:
            return
        entry: ir.Expr = ir.Index(self.adjoints.adjoint(array.name), key)
        if call.fn.obj.__self__.__name__ == "subtract":
            entry = ir.Call(ir.Ref("-", neg), (entry,))
        entry = ir.Call(self.context.helper("unbroadcast"), (entry, value))
        self.adjoints.contribute(value.name, entry)

    def _popped(self, base: str, name: str) -> None:
        self.adjoints.own(self.adjoints.aliases.root(base))
        push = ir.Attribute(self.adjoints.adjoint(base), "append")
        call = ir.Call(push, (self.adjoints.bar(name),))
        self.adjoints.out.append(ir.Do(call, self.adjoints.origin))

    def _call(self, stmt: ir.Assign) -> None:
        """`y, tape = g_fwd(a)` reversed: `a_bar = g_bwd(tape, y_bar)`."""
        adjoints, site = self.adjoints, self.calls[id(stmt)]
        touched = self.roots((site.result,))
        if not (touched & frozenset(adjoints.state) or site.written):
            return  # (what a callee wrote, its bwd must restore in any case)
        arguments: list[ir.Expr] = [ir.Var(site.tape)]
        if site.pair.result_active:
            if site.result not in adjoints.state:
                adjoints.zero(site.result)
            adjoints.materialise(site.result)
            arguments.append(adjoints.bar(site.result))
        for name in site.written:
            adjoints.own(adjoints.aliases.root(name))
            arguments.append(adjoints.adjoint(name))
        call = ir.Call(site.pair.bwd, tuple(arguments))
        adjoints.state.pop(site.result, None)
        if not site.operands:
            adjoints.out.append(ir.Do(call, adjoints.origin))
            return
        direct = [
            n for n in site.operands if not adjoints.present(n) and site.operands.count(n) == 1
        ]
        parts = [
            adjoints.bar(n).name if n in direct else self.context.names.fresh(f"{n}_part")
            for n in site.operands
        ]
        target: ir.Target = tuple(parts) if len(parts) > 1 else parts[0]
        adjoints.out.append(ir.Assign(target, call, adjoints.origin))
        for name, part in zip(site.operands, parts, strict=True):
            if name in direct:
                adjoints.state[name] = BORROWED
            else:
                adjoints.contribute(name, ir.Var(part))

    # ------------------------------------------------------------------ branches and loops

    def _if(self, stmt: ir.If) -> Reversed:
        adjoints = self.adjoints
        present = frozenset(adjoints.state)
        keys = (block_key(stmt, 0), block_key(stmt, 1))
        ends = [
            self._present_block(b, present, k) for b, k in zip(ir.blocks(stmt), keys, strict=True)
        ]
        step = Reversed(stmt)
        union = ends[0] | ends[1]
        for name in sorted(union - present):
            if not all(name in end for end in ends):
                adjoints.own(name)
        self._widen(stmt, union)
        step.entry, adjoints.out = adjoints.out, []
        before, after, done = dict(adjoints.state), [], []
        for block, key in zip(ir.blocks(stmt), keys, strict=True):
            adjoints.state = dict(before)
            reversed_block = self.block(block, key)
            adjoints.out = []
            adjoints.place(stmt.origin.place)
            for name in sorted(union - frozenset(adjoints.state)):
                adjoints.zero(name)
            reversed_block.tail, adjoints.out = adjoints.out, []
            after.append(adjoints.state)
            done.append(reversed_block)
        adjoints.state = weakest(after[0], after[1])
        step.blocks = tuple(done)
        return step

    def _loop(self, stmt: ir.For | ir.While) -> Reversed:
        adjoints = self.adjoints
        step = Reversed(stmt)
        present = frozenset(adjoints.state)
        head, end = self._present_loop(stmt, present)
        rebound = {n for s in ir.statements(stmt.body) for n in ir.binds(s)}
        for name in sorted(head - present):
            adjoints.own(name)
        for name in sorted(end):  # accumulators are ours before the first round
            if name in self._contributed(stmt) and name not in rebound:
                adjoints.own(name)
        self._widen(stmt, head | end)
        step.entry, adjoints.out = adjoints.out, []
        state = dict(adjoints.state)
        while True:
            adjoints.state = dict(state)
            body = self._round(stmt, step, head)
            weaker = weakest(state, adjoints.state)
            if weaker == state:
                break
            state = weaker
        adjoints.state = state
        step.blocks = (body,)
        return step

    def _round(
        self, stmt: ir.For | ir.While, step: Reversed, head: frozenset[str]
    ) -> ReversedBlock:
        """One reversed round, from the state at its head."""
        adjoints = self.adjoints
        body = self.block(stmt.body, block_key(stmt, 0))
        at_head = self._at_head
        adjoints.out = []
        adjoints.place(stmt.origin.place)
        step.header = self._header(stmt)
        for leaf in step.header.bindings:
            self._return_to_source(leaf, at_head)
        for name in sorted(head - frozenset(adjoints.state)):
            adjoints.zero(name)
        body.tail, adjoints.out = adjoints.out, []
        return body

    def _return_to_source(self, leaf: Leaf, present: frozenset[str]) -> None:
        """The adjoint of a loop variable goes back to the sequence it came from."""
        adjoints = self.adjoints
        if not isinstance(leaf.source, ir.Var) or leaf.key is None:
            return
        parts: tuple[tuple[ir.Expr, str], ...]
        if isinstance(leaf.target, str):
            parts = ((leaf.key, leaf.target),)
        else:
            parts = tuple((ir.Const(i), n) for i, n in enumerate(leaf.target) if isinstance(n, str))
        for key, name in parts:
            if name not in present:
                continue
            adjoints.own(adjoints.aliases.root(leaf.source.name))
            target: ir.Expr = ir.Index(adjoints.adjoint(leaf.source.name), leaf.key)
            if isinstance(leaf.target, tuple):
                target = ir.Index(target, key)
            adjoints.update(target, adjoints.bar(name))

    def _widen(self, stmt: ir.Stmt, names: frozenset[str]) -> None:
        """Narrow adjoints that a branch or loop touches become full before it."""
        touched = self._contributed(stmt) | {n for s in ir.statements((stmt,)) for n in ir.binds(s)}
        for name in sorted(names & touched):
            self.adjoints.materialise(name)

    def _contributed(self, stmt: ir.Stmt) -> frozenset[str]:
        """Names that statements inside may contribute to."""
        found: set[str] = set()
        for inner in ir.statements((stmt,)):
            found |= ir.reads(inner)
        return self.roots(frozenset(found & self.active))

    def _header(self, stmt: ir.For | ir.While) -> Header:
        if isinstance(stmt, ir.While):
            count = self.counters[id(stmt)]
            return Header(self._index(stmt, "_"), rounds(ir.Var(count)))
        counter = self.counters.get(id(stmt))
        direct = backwards(stmt.iter, counter)
        if direct is not None and not self._active_sources(stmt):
            return Header(stmt.target, direct)
        if isinstance(stmt.target, tuple) and isinstance(stmt.target[0], str):
            plain = next(iter(leaves(stmt.target, stmt.iter, ir.Const(0))))
            reuse = plain.target if plain.item == ir.Const(0) else None
        else:
            reuse = None
        index = reuse if isinstance(reuse, str) else self._index(stmt, "i")
        size = length(stmt.iter) if counter is None else ir.Var(counter)
        bindings = tuple(
            leaf for leaf in leaves(stmt.target, stmt.iter, ir.Var(index)) if leaf.target != index
        )
        return Header(index, rounds(size), bindings)

    def _index(self, stmt: ir.Stmt, wanted: str) -> str:
        if id(stmt) not in self._indices:
            self._indices[id(stmt)] = self.context.names.fresh(wanted)
        return self._indices[id(stmt)]


def _pop(stmt: ir.Assign) -> str:
    """The list a statement `v = xs.pop()` takes from, or ''."""
    match stmt.value:
        case ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=()):
            return base
    return ""


def _name_of(target: ir.Expr) -> str:
    while not isinstance(target, ir.Var):
        target = ir.children(target)[0]
    return target.name
