"""What a statement does: names it reads and binds, objects it writes, effects that must stay.

`OUTSIDE` stands for everything that somebody else may see: arguments, globals, what an
unknown call was given or gave back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ... import ir
from ...analysis.operations import MUTATING_METHODS
from ...analysis.outer_objects import is_code
from ...ir.nodes import LAYOUT_ATTRIBUTES
from ...runtime import Shadow
from ...runtime.records import attribute_of
from .facts import (
    WRITING_RUNTIME,
    Facts,
    known_pure,
    numpy_name,
    operation,
    runtime_name,
    words,
)

OUTSIDE = ""
NOTHING: frozenset[str] = frozenset()

MUTATORS = MUTATING_METHODS | words("rotate move_to_end setflags")
PURE_METHODS = words(
    "all any argmax argmin argsort astype conj conjugate copy cumprod cumsum diagonal dot "
    "flatten item max mean min nonzero prod ptp ravel repeat reshape round searchsorted squeeze "
    "std sum swapaxes take tobytes tolist trace transpose var view get keys values items index "
    "count split join strip startswith endswith format upper lower choose clip compress"
)
VIEW_METHODS = words(
    "astype diagonal ravel reshape squeeze swapaxes transpose view get keys values items pop "
    "popleft popitem setdefault __getitem__ conj conjugate"
)
_SHAPE_FUNCTIONS = frozenset(["zeros_like", "ones_like", "empty_like", "shape", "ndim", "size"])
_RESIZED = ("list", "dict", "set", "object", "unknown")  # whose length a write may change
_CALL_IN_TEXT = re.compile(r"([\w.]*[\w\])}'\"])\s*\(")
_KEYWORDS = words("if in for and or not is else lambda")
_EVERYTHING = "*"
_COMPOUND = (ir.If, ir.For, ir.While, ir.With)
_NAMESPACE_READERS = frozenset(("locals", "eval", "exec", "vars", "dir"))


@ir.quickened
@dataclass(frozen=True)
class Effect:
    """`reads`: names; `content`: names whose object's content is read; `binds`: names;
    `writes`: names whose object (and what shares its memory) may be written in place;
    `fixed`: an effect that must happen, once and in its place; `pinned`: names captured by
    code that runs later (a lambda), which must stay what they are."""

    reads: frozenset[str] = NOTHING
    content: frozenset[str] = NOTHING
    binds: frozenset[str] = NOTHING
    writes: frozenset[str] = NOTHING
    fixed: bool = False
    pinned: frozenset[str] = NOTHING

    def __or__(self, other: Effect) -> Effect:
        return join([self, other])

    @property
    def silent(self) -> bool:
        """Whether the code only computes values."""
        return not self.fixed and not self.writes


NO_EFFECT = Effect()


def join(effects: list[Effect]) -> Effect:
    """One after the other."""
    if len(effects) == 1:
        return effects[0]
    return Effect(
        NOTHING.union(*(e.reads for e in effects)),
        NOTHING.union(*(e.content for e in effects)),
        NOTHING.union(*(e.binds for e in effects)),
        NOTHING.union(*(e.writes for e in effects)),
        any(e.fixed for e in effects),
        NOTHING.union(*(e.pinned for e in effects)),
    )


def stack_content(name: str) -> str:
    """Stands for what a stack of saved values holds: pushing writes no array that was pushed."""
    return name + "[]"


def stack_name(content: str) -> str:
    """The stack that `stack_content` was made for; any other name is itself."""
    return content.removesuffix("[]")


def root_names(expr: ir.Expr) -> frozenset[str]:
    """The names through which a write to a place like `A[k].T[j]` goes."""
    match expr:
        case ir.Var(name):
            return frozenset((name,))
        case ir.Index(base, _) | ir.Attribute(base, _):
            return root_names(base)
        case ir.Ref():
            return frozenset((OUTSIDE,))
        case _:
            return ir.names_in(expr) | {OUTSIDE}


def is_trusted(stmt: ir.Stmt) -> bool:
    """Whether a statement was written by a transform (its method calls are rules' text)."""
    return stmt.origin.role != "primal"


def effect_of(stmt: ir.Stmt, facts: Facts) -> Effect:
    """What a statement does, nested blocks included."""
    known = facts.cache.get(id(stmt))
    if known is None or known[0] is not stmt:
        known = facts.cache[id(stmt)] = (stmt, _statement(stmt, facts))
    effect: Effect = known[1]
    return effect


def _statement(stmt: ir.Stmt, facts: Facts) -> Effect:
    if not ir.blocks(stmt):
        return _scanned(stmt, facts)
    own = own_effect(stmt, facts)
    nested = [effect_of(s, facts) for block in ir.blocks(stmt) for s in block]
    return join([own, *nested])


def reads_inside(stmt: ir.Stmt, facts: Facts) -> frozenset[str]:
    """What the nested blocks of a statement read."""
    if not isinstance(stmt, _COMPOUND):
        return NOTHING
    known = facts.cache.get((reads_inside, id(stmt)))
    if known is None or known[0] is not stmt:
        inside = (effect_of(s, facts).reads for block in ir.blocks(stmt) for s in block)
        known = facts.cache[reads_inside, id(stmt)] = (stmt, NOTHING.union(*inside))
    found: frozenset[str] = known[1]
    return found


def own_effect(stmt: ir.Stmt, facts: Facts) -> Effect:
    """What a statement itself does: for a compound statement, its header."""
    if not isinstance(stmt, _COMPOUND):
        return effect_of(stmt, facts)
    known = facts.cache.get((own_effect, id(stmt)))
    if known is None or known[0] is not stmt:
        known = facts.cache[own_effect, id(stmt)] = (stmt, _scanned(stmt, facts))
    effect: Effect = known[1]
    return effect


def _scanned(stmt: ir.Stmt, facts: Facts) -> Effect:
    if type(stmt) is ir.Assign:  # (most do nothing but give a name to what is computed)
        found = plain(stmt.value)
        if found is not None and not found.shape and not _run_out(found, facts):
            return Effect(found.content, found.content, frozenset(ir.binds(stmt)))
    scan = _Scan(facts, is_trusted(stmt), _is_saving(stmt))
    for expr in ir.expressions(stmt):
        scan.expr(expr)
    match stmt:
        case ir.Store(target=target):
            scan.writes |= root_names(target.base)
        case ir.Update(target=ir.Var(name)):
            if facts.kind(name).form != "number":
                scan.writes.add(name)
        case ir.Update(target=ir.Index(base=base) | ir.Attribute(base=base)):
            scan.writes |= root_names(base)
        case ir.OpaqueStmt():
            scan.opaque_statement(stmt)
        case ir.Break() | ir.Return() | ir.Tried():
            scan.fixed = True
        case ir.Enter() | ir.Leave():
            scan.boundary(stmt)
    return scan.effect(frozenset(ir.binds(stmt)))


def _is_saving(stmt: ir.Stmt) -> bool:
    """Whether a stack of saved values is pushed or popped. (`xs.pop()` or `xs.append(v)` alone
    undoes what the user's line did to a list, and changes that list.)"""
    role = stmt.origin.role
    return role == "save" or (role == "restore" and not isinstance(stmt, ir.Do))


def expr_effect(expr: ir.Expr, facts: Facts, trusted: bool = False) -> Effect:
    """What evaluating an expression does."""
    scan = _Scan(facts, trusted)
    scan.expr(expr)
    return scan.effect(NOTHING)


def is_pure(expr: ir.Expr, facts: Facts, trusted: bool = False) -> bool:
    """Whether evaluating an expression only computes its value."""
    return expr_effect(expr, facts, trusted).silent


def _run_out(found: Plain, facts: Facts) -> bool:
    """Whether there are iterators in what only computes: who goes through one leaves nothing."""
    return any(facts.kind(name).is_iterator for name in found.content)


@ir.quickened
@dataclass(frozen=True)
class Plain:
    """Code that only computes: names of which it reads the content, and those of which it reads
    the shape alone."""

    content: frozenset[str] = NOTHING
    shape: frozenset[str] = NOTHING

    @property
    def names(self) -> frozenset[str]:
        return self.content | self.shape if self.shape else self.content


_EMPTY = Plain()
_COMPUTING_METHODS = PURE_METHODS - MUTATORS


@ir.of_node
def plain(expr: ir.Expr) -> Plain | None:
    """What an expression reads that surely only computes, whatever is known of its names; None
    for any other."""
    match expr:
        case ir.Var():
            return Plain(ir.names_in(expr))
        case ir.Const():
            return _EMPTY
        case ir.Ref(obj=obj):
            return _EMPTY if is_code(obj) else None
        case ir.Attribute(ir.Ref()):
            return None  # (functions have attributes, too)
        case ir.Attribute(base, name):
            return _shape_of(base) if name in LAYOUT_ATTRIBUTES else plain(base)
        case ir.Call():
            return _plain_call(expr)
        case ir.Opaque():
            return None
        case _:
            return _plain_all(expr, map(plain, ir.children(expr)))


def _plain_all(expr: ir.Expr, parts: Iterable[Plain | None]) -> Plain | None:
    """The same of an expression with these parts."""
    known = []
    for part in parts:
        if part is None:
            return None
        if part is not _EMPTY:
            known.append(part)
    if not any(part.shape for part in known):
        return Plain(ir.names_in(expr)) if known else _EMPTY
    content, shape = (part.content for part in known), (part.shape for part in known)
    return Plain(NOTHING.union(*content), NOTHING.union(*shape))


def _shape_of(expr: ir.Expr) -> Plain | None:
    """The same of an expression of whose value only the shape is read."""
    found = plain(expr)
    match expr:
        case ir.Call() | ir.Const() | ir.Ref():
            return found
        case ir.Var():
            return None if found is None else Plain(NOTHING, found.names)
        case _:
            return None if found is None else _plain_all(expr, map(_shape_of, ir.children(expr)))


def _plain_call(call: ir.Call) -> Plain | None:
    on_atoms = not call.kwargs and all(type(e) is ir.Var or type(e) is ir.Const for e in call.args)
    if on_atoms and type(call.fn) is ir.Ref and _only_computes(call.fn) == ():
        names = ir.names_in(call)  # (as most operations are)
        return Plain(names) if names else _EMPTY
    if call.kwargs and any(name == "out" for name, _ in call.kwargs):
        return None
    values = [value for _, value in call.kwargs]
    match call.fn:
        case ir.Ref() as fn if (positions := _only_computes(fn)) is not None:
            parts = [_shape_of(a) if n in positions else plain(a) for n, a in enumerate(call.args)]
            first = len(parts)  # (keyword arguments count on)
            parts += [
                _shape_of(v) if first + n in positions else plain(v) for n, v in enumerate(values)
            ]
            return _plain_all(call, parts)
        case ir.Attribute(base, method) if method in _COMPUTING_METHODS:
            if not isinstance(base, ir.Ref):
                return _plain_all(call, map(plain, (base, *call.args, *values)))
    return None


@ir.of_node
def _only_computes(fn: ir.Ref) -> tuple[int, ...] | None:
    """The positions of the arguments of which a function that only computes reads the shape
    alone; None for any other function."""
    if not known_pure(fn.obj) or _reads_names(fn) or _goes_through(fn.obj):
        return None
    return _shape_positions(runtime_name(fn.obj), numpy_name(fn.obj), fn.obj)


# What goes through all that it is given, of whatever class that is.
_GOING_THROUGH = (list, tuple, set, frozenset, dict, sum, max, min, sorted, any, all)


def _goes_through(obj: object) -> bool:
    return any(obj is known for known in _GOING_THROUGH)


def _shape_positions(runtime: str, numpy: str, obj: object) -> tuple[int, ...]:
    if runtime in ("unbroadcast", "broadcast_like"):
        return (1,)
    return (0,) if (runtime or numpy) in _SHAPE_FUNCTIONS or obj is len else ()


class _Scan:
    """Collects the effect of expressions."""

    def __init__(self, facts: Facts, trusted: bool, saving: bool = False) -> None:
        self.facts = facts
        self.trusted = trusted
        self.saving = saving
        self.reads: set[str] = set()
        self.content: set[str] = set()
        self.writes: set[str] = set()
        self.pinned: set[str] = set()
        self.fixed = False

    def effect(self, binds: frozenset[str]) -> Effect:
        if not (self.reads or self.writes or self.fixed or binds or self.pinned):
            return NO_EFFECT
        return Effect(
            frozenset(self.reads),
            frozenset(self.content),
            binds,
            frozenset(self.writes),
            self.fixed,
            frozenset(self.pinned),
        )

    def expr(self, expr: ir.Expr, content: bool = True) -> None:
        found = plain(expr) if content else _shape_of(expr)
        if found is not None and not _run_out(found, self.facts):
            self.reads |= found.names
            self.content |= found.content
            self.content.update(n for n in found.shape if self.facts.kind(n).form in _RESIZED)
            return
        match expr:
            case ir.Var(name):
                self.reads.add(name)
                if content or self.facts.kind(name).form in _RESIZED:
                    self.content.add(name)
            case ir.Ref(obj=obj):
                if content and not is_code(obj):
                    self.content.add(OUTSIDE)
            case ir.Attribute(ir.Ref(), name):
                if content and name not in LAYOUT_ATTRIBUTES:
                    self.content.add(OUTSIDE)
            case ir.Const():
                pass
            case ir.Call():
                self.call(expr)
            case ir.Attribute(base, name):
                self.expr(base, content and name not in LAYOUT_ATTRIBUTES)
            case ir.Opaque():
                self.opaque(expr)
            case _:
                for part in ir.children(expr):
                    self.expr(part, content)

    def call(self, call: ir.Call) -> None:
        fn = operation(call.fn)
        arguments = [*call.args, *(v for _, v in call.kwargs)]
        shape_only = self._shape_only(fn)
        for position, argument in enumerate(arguments):
            self.expr(argument, not (shape_only and position in shape_only))
        for name, value in call.kwargs:
            if name == "out":
                self.writes |= root_names(value)
        match fn:
            case ir.Ref():
                self._known(fn, call)
            case ir.Attribute(base, method):
                self.expr(base)
                self._method(base, method, arguments)
            case _:
                self.expr(fn)
                self._unknown(arguments)

    def _shape_only(self, fn: ir.Expr) -> tuple[int, ...]:
        """Positions of arguments of which only the shape is read."""
        if not isinstance(fn, ir.Ref):
            return ()
        about = self.facts.about(fn)
        return _shape_positions(about.runtime, about.numpy, fn.obj)

    def _known(self, fn: ir.Ref, call: ir.Call) -> None:
        if not self.trusted and _reads_names(fn):
            self.pinned.add(_EVERYTHING)
        about = self.facts.about(fn)
        if about.pure:
            given = {a.name for a in call.args if isinstance(a, ir.Var)}
            self.writes.update(name for name in given if self._may_run_out(name, fn.obj))
            return
        name = about.numpy
        writes_first = name == "at" or name in (
            "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"
        )  # fmt: skip
        if (writes_first or about.runtime in WRITING_RUNTIME) and call.args:
            self.writes |= root_names(call.args[0])
        else:
            self._unknown([*call.args, *(v for _, v in call.kwargs)])

    def _may_run_out(self, name: str, obj: object) -> bool:
        """Whether a call leaves nothing of what a name stands for: of an iterator, or of what may
        be one, as what a function that only the run knows gives."""
        kind = self.facts.kind(name)
        known = kind.form != "unknown" or kind.item is not None or name in self.facts.floating
        return kind.is_iterator or (not known and _goes_through(obj))

    def _method(self, base: ir.Expr, method: str, arguments: list[ir.Expr]) -> None:
        if isinstance(base, ir.Var) and self.facts.kind(base.name).cls is Shadow:
            self._unknown([base])  # (adjoints are taken and added to in this order)
        elif self.saving and method in ("append", "pop") and isinstance(base, ir.Var):
            self.writes.add(stack_content(base.name))
        elif method in MUTATORS:
            self.writes |= root_names(base)
        elif not self.trusted and method not in PURE_METHODS:
            self._unknown([base, *arguments])

    def _unknown(self, arguments: list[ir.Expr]) -> None:
        """Code we know nothing of may do anything to what it can reach."""
        self.fixed = True
        self.writes.add(OUTSIDE)
        self.content.add(OUTSIDE)
        for argument in arguments:
            self.writes |= ir.names_in(argument)

    def boundary(self, stmt: ir.Enter | ir.Leave) -> None:
        """Where a context begins or ends; code of a user's manager may do anything."""
        self.fixed = True
        again = stmt.again if isinstance(stmt, ir.Enter) else stmt.context is not None
        if not again:
            self._unknown([])

    def opaque(self, expr: ir.Opaque) -> None:
        for value in expr.values:
            self.expr(value)
        if any(not is_code(ref.obj) for ref in expr.refs):
            self.content.add(OUTSIDE)
        if "lambda" in expr.text or (" for " in expr.text and not _is_display(expr.text)):
            self.pinned |= ir.names_in(expr)
        if not _text_is_pure(expr.text, expr.refs, self.facts):
            self._unknown(list(expr.values))

    def opaque_statement(self, stmt: ir.OpaqueStmt) -> None:
        self.fixed = True
        head = stmt.text.split(None, 1)[0] if stmt.text.strip() else ""
        if head not in ("assert", "raise", "import", "from", "pass") or not _text_is_pure(
            stmt.text, stmt.refs, self.facts
        ):
            self._unknown(list(stmt.values))
        if "lambda" in stmt.text:
            self.pinned |= NOTHING.union(*map(ir.names_in, stmt.values))


def _is_display(text: str) -> bool:
    """A list, set or dict comprehension, evaluated at once (a generator is not)."""
    return text.strip()[:1] in ("[", "{") and "(" not in text


def _text_is_pure(text: str, refs: tuple[ir.Ref, ...], facts: Facts) -> bool:
    """Whether every call in a piece of opaque code is of an operation known to be pure."""
    known = {ref.text for ref in refs if facts.pure(ref)}
    exceptions = {
        ref.text for ref in refs if isinstance(ref.obj, type) and issubclass(ref.obj, BaseException)
    }
    called = (m.group(1) for m in _CALL_IN_TEXT.finditer(text))
    return all(c in known or c in exceptions or c in _KEYWORDS for c in called)


@ir.of_node
def _may_pin(stmt: ir.Stmt) -> bool:
    """Whether there is text in a statement, or a call that may read any name."""
    if isinstance(stmt, ir.OpaqueStmt):
        return True
    for expr in ir.expressions(stmt):
        for part in ir.parts_of(expr):
            if isinstance(part, ir.Opaque):
                return True
            if type(part) is ir.Ref and _reads_names(part):
                return True
    return False


@ir.of_node
def _reads_names(fn: ir.Ref) -> bool:
    return attribute_of(fn.obj, "__name__", "") in _NAMESPACE_READERS


def pinned_names(function: ir.Function, facts: Facts) -> frozenset[str]:
    """Names that later or invisible code reads: never renamed, moved or dropped."""
    if not any(map(_may_pin, ir.statements(function.body))):
        return NOTHING
    effects = [effect_of(stmt, facts) for stmt in function.body]
    pinned = NOTHING.union(*(e.pinned for e in effects if e.pinned))
    if _EVERYTHING not in pinned:
        return pinned
    return pinned.union(*(e.reads | e.binds for e in effects), function.param_names)
