"""Which names may share memory, by union-find over the whole program.

Coarser than `analysis.aliases`, and made for the derived program: it has to be right for any
program of the IR, whichever mode or pass wrote it, and cheap enough to ask anew after each pass.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from ... import ir
from ...frontend.owners import is_operation, package_of
from ...ir.nodes import LAYOUT_ATTRIBUTES
from .effects import (
    MUTATORS,
    NOTHING,
    OUTSIDE,
    PURE_METHODS,
    VIEW_METHODS,
    effect_of,
    is_trusted,
    plain,
    stack_content,
)
from .facts import (
    CONTAINERS,
    FIRST_ONLY_RUNTIME,
    NUMERIC,
    TYPED_BY_FIRST,
    Facts,
    numpy_name,
    operation,
    runtime_name,
    words,
)

_OUTSIDE_ONLY = frozenset((OUTSIDE,))
_PLAIN = (int, float, complex, str, bytes)


def sources(expr: ir.Expr, facts: Facts, trusted: bool = False) -> frozenset[str]:
    """Names whose memory the value of an expression may share (`OUTSIDE` among them).

    >>> A, x = ir.Var("A"), ir.Var("x")
    >>> sorted(sources(ir.Index(A, ir.Var("i")), Facts()))
    ['A']
    """
    match expr:
        case ir.Var(name):
            return NOTHING if facts.kind(name).form in ("number", "other") else frozenset((name,))
        case ir.Const():
            return NOTHING
        case ir.Ref(obj=obj):
            plain = is_operation(obj) or isinstance(obj, (type, *_PLAIN))
            return NOTHING if plain else _OUTSIDE_ONLY
        case ir.Index(base, key):
            copied = is_mask(key, facts) and is_numeric(base, facts, trusted)
            return NOTHING if copied else sources(base, facts, trusted)
        case ir.Attribute(base, name):
            return NOTHING if name in LAYOUT_ATTRIBUTES else sources(base, facts, trusted)
        case ir.Call():
            return _of_call(expr, facts, trusted)
        case ir.Lazy(form, items):
            values = items[1:] if form == "if" else items
            return _of_all(values, facts, trusted)
        case ir.Opaque():
            return _of_all(expr.values, facts, trusted) | (_OUTSIDE_ONLY if expr.refs else NOTHING)
        case _:
            return _of_all(ir.children(expr), facts, trusted)


def is_mask(key: ir.Expr, facts: Facts) -> bool:
    """Whether a key surely is an array of truth values, or has one in it, so that what it selects
    is copied."""
    match key:
        case ir.Display("tuple", items):
            return any(is_mask(item, facts) for item in items)
        case ir.Var(name):
            kind = facts.kind(name)
            return kind.form == "array" and kind.dtype == "bool"
        case ir.Call(ir.Ref(obj=operator.invert | np.logical_not), (inner,), ()):
            return is_mask(inner, facts)
    return False


def _of_all(exprs: Iterable[ir.Expr], facts: Facts, trusted: bool) -> frozenset[str]:
    return NOTHING.union(*(sources(e, facts, trusted) for e in exprs))


def _of_call(call: ir.Call, facts: Facts, trusted: bool) -> frozenset[str]:
    fn, arguments = operation(call.fn), ir.arguments(call)
    if isinstance(fn, ir.Attribute):
        return _of_method(fn, arguments, facts, trusted)
    if not isinstance(fn, ir.Ref):
        return _of_all((fn, *arguments), facts, trusted) | _OUTSIDE_ONLY
    if fn.text in ("+", "*", "|"):
        if is_numeric(call, facts, trusted):
            return NOTHING
        return _of_all(arguments, facts, trusted)  # of lists and dicts: the same items
    if call.kwargs and any(name == "out" for name, _ in call.kwargs):
        return _of_all(arguments, facts, trusted)
    about = facts.about(fn)
    if about.fresh:
        return NOTHING
    if about.runtime in FIRST_ONLY_RUNTIME and arguments:
        return sources(arguments[0], facts, trusted)
    shared = _of_all(arguments, facts, trusted)
    return shared if about.pure else shared | _OUTSIDE_ONLY


def _of_method(
    fn: ir.Attribute, arguments: tuple[ir.Expr, ...], facts: Facts, trusted: bool
) -> frozenset[str]:
    if fn.name in VIEW_METHODS:
        return sources(fn.base, facts, trusted) | _of_all(arguments, facts, trusted)
    if fn.name == "copy" and not (trusted or is_numeric(fn.base, facts, trusted)):
        return sources(fn.base, facts, trusted)  # of a list: the same elements
    if fn.name in PURE_METHODS:
        return NOTHING
    return _of_all((fn.base, *arguments), facts, trusted) | (NOTHING if trusted else _OUTSIDE_ONLY)


def is_numeric(expr: ir.Expr, facts: Facts, trusted: bool = False) -> bool:
    """Whether an expression's value is surely a number or an array (no list, no string).

    >>> import operator
    >>> xs, minus = ir.Var("xs"), ir.Ref("-", operator.sub)
    >>> is_numeric(xs, Facts()), is_numeric(ir.Call(minus, (xs, xs)), Facts())
    (False, True)
    """
    match expr:
        case ir.Const(value):
            return isinstance(value, (int, float, complex))
        case ir.Var(name):
            return facts.kind(name).form in NUMERIC or _is_adjoint(name, trusted)
        case ir.Call(fn=ir.Ref(text="+"), args=args):
            numeric = any(is_numeric(a, facts, trusted) for a in args)
            return numeric and not any(_is_container(a, facts) for a in args)
        case ir.Call(fn=ir.Ref(text="*"), args=args):
            return all(is_numeric(a, facts, trusted) for a in args) or any(
                _is_inexact(a, facts, trusted) for a in args
            )
        case ir.Call(fn=ir.Ref(text=text)) if not text.replace(".", "").isidentifier():
            return text not in ("%", "|", "&")
        case ir.Call(fn=ir.Ref() as fn):
            return facts.fresh(fn) or runtime_name(fn.obj) == "unbroadcast"
        case ir.Call(fn=ir.Attribute(base, "copy")) | ir.Index(base, _):
            return is_numeric(base, facts, trusted)
        case _:
            return False


def _is_adjoint(name: str, trusted: bool) -> bool:
    """Whether a name is an adjoint in a statement of ours, where containers are added up by name,
    not by `+`."""
    return trusted and name.rstrip("0123456789").endswith(("_bar", "_seed"))


def _is_inexact(expr: ir.Expr, facts: Facts, trusted: bool) -> bool:
    """Whether a factor surely is an array or no integer: a list cannot be repeated by it."""
    match expr:
        case ir.Const(value):
            return isinstance(value, (float, complex))
        case ir.Var(name):
            kind = facts.kind(name)
            number = kind.form in NUMERIC and kind.dtype in ("float", "complex")
            return number or kind.form == "array" or _is_adjoint(name, trusted)
        case ir.Call(fn=ir.Ref(text="/")):
            return True
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in ("+", "-", "*", "@", "**"):
            return any(_is_inexact(arg, facts, trusted) for arg in args)
        case ir.Call(fn=ir.Ref(obj=obj)):
            return _makes_floats(obj)
    return False


def _is_container(expr: ir.Expr, facts: Facts) -> bool:
    named = isinstance(expr, ir.Var) and facts.kind(expr.name).form in CONTAINERS
    return named or isinstance(expr, ir.Display)


def is_float(expr: ir.Expr, facts: Facts) -> bool:
    """Whether an expression surely has floating-point (or complex) values."""
    match expr:
        case ir.Const(value):
            return isinstance(value, (float, complex))
        case ir.Var(name):
            return name in facts.floating and facts.kind(name).form not in CONTAINERS
        case ir.Index(base, _) | ir.Attribute(base, "T"):
            return is_float(base, facts)
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in ("+", "-", "*", "@"):
            return any(is_float(a, facts) for a in args)
        case ir.Call(fn=ir.Ref(obj=np.where), args=(_, *chosen)) if chosen:
            return any(is_float(a, facts) for a in chosen)  # (whichever is chosen: of one dtype)
        case ir.Call(fn=ir.Ref(text="/")):
            return True
        case ir.Call(fn=ir.Ref(text="**"), args=(base, _)):
            return is_float(base, facts)
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *_)):
            keeps = runtime_name(obj) in (*FIRST_ONLY_RUNTIME, *TYPED_BY_FIRST)
            if _makes_floats(obj):
                return True
            if numpy_name(obj) == "sum" and expr.args == (first,):
                keeps = "dtype" not in dict(expr.kwargs)
            if numpy_name(obj) in ("outer", "dot", "vdot", "einsum"):
                return any(is_float(a, facts) for a in expr.args)
            if isinstance(obj, np.ufunc) and gives_type(obj):
                return all(is_float(a, facts) for a in expr.args)
            return keeps and is_float(first, facts)
        case ir.Call(fn=ir.Attribute(base, "copy")):
            return is_float(base, facts)
        case ir.Call(ir.Attribute(ir.Var(name), "sum" | "max" | "min"), args, kwargs):
            plain = len(args) < 2 and "dtype" not in dict(kwargs)
            return plain and facts.kind(name).form == "array" and name in facts.floating
        case _:
            return False


_INVERSES = (np.linalg.inv, np.linalg.solve, np.linalg.pinv)
_OF_SCIPY = words("pdf cdf sf logpdf logcdf logsf ppf isf logsumexp softmax log_softmax")
_FLOATS = words("ratio_or_zero transposed_inverse power_slope log_or_zero exp_of_difference")


def gives_type(ufunc: np.ufunc) -> bool:
    """Whether a function gives floats of floats, as `np.sign` does and `np.isnan` does not."""
    return f"{'d' * ufunc.nin}->d" in ufunc.types


def _makes_floats(obj: object) -> bool:
    """Whether a function gives floats for whatever it takes, as `np.exp` does."""
    if runtime_name(obj) in _FLOATS or any(obj is inverse for inverse in _INVERSES):
        return True
    if getattr(obj, "__name__", "") in _OF_SCIPY and package_of(obj) == "scipy":
        return True
    if not isinstance(obj, np.ufunc) or obj.nout != 1:
        return False
    return all(loop.rpartition("->")[2] in "efdgFDGO" for loop in obj.types)


class Sharing:
    """Classes of names that may share memory; `OUTSIDE`'s class is what others see."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self._parent: dict[str, str] = {}
        self._facts = facts
        self._members: dict[str, list[str]] | None = None
        protected = _protected(function, facts)
        self._join([OUTSIDE, *(p for p in function.param_names if p not in protected)])
        for stmt in function.body:
            for group in _groups(stmt, facts):
                self._join(group)
        self._function = function
        self._written: set[str] | None = None

    def of(self, name: str) -> str:
        """The representative of a name's class."""
        parent = self._parent
        if name not in parent:
            return name
        root = name
        while parent[root] != root:
            root = parent[root]
        while parent[name] != root:
            parent[name], name = root, parent[name]
        return root

    def _join(self, names: Iterable[str]) -> None:
        roots = []
        for name in names:
            self._parent.setdefault(name, name)
            roots.append(self.of(name))
        for root in roots[1:]:
            self._parent[root] = self.of(roots[0])

    def members(self, name: str) -> list[str]:
        """All names that may share memory with `name` (itself included)."""
        if self._members is None:
            self._members = {}
            for member in self._parent:
                self._members.setdefault(self.of(member), []).append(member)
        return self._members.get(self.of(name), [name])

    def is_outside(self, name: str) -> bool:
        """Whether somebody else may see the object behind a name."""
        return self.of(name) == self.of(OUTSIDE)

    def is_written(self, name: str) -> bool:
        """Whether anything writes, anywhere, into memory that the name may refer to."""
        if self._written is None:  # (few passes ask)
            effects = (effect_of(stmt, self._facts) for stmt in self._function.body)
            self._written = {self.of(name) for effect in effects for name in effect.writes}
        return self.of(name) in self._written

    def meet(self, content: Iterable[str], writes: Iterable[str]) -> bool:
        """Whether a write through one of `writes` may change what is read through `content`."""
        written = {self.of(name) for name in writes}
        if not written:
            return False
        if any(stack_content(name) in written for name in content):
            return True
        return any(
            self.of(name) in written
            for name in content
            if self._facts.kind(name).form not in ("number", "other")
        )


def _protected(function: ir.Function, facts: Facts) -> frozenset[str]:
    """Parameters that are copied before anything else is done with them."""
    params = set(function.param_names)
    found: set[str] = set()
    for stmt in function.body:
        match stmt:
            case ir.Assign(target=str(name), value=value) if name in params:
                if ir.names_in(value) == {name} and not sources(value, facts, is_trusted(stmt)):
                    found.add(name)
                    continue
        break
    return frozenset(found)


def _groups(stmt: ir.Stmt, facts: Facts) -> tuple[tuple[str, ...], ...]:
    """Sets of names that a statement, and those in it, make share memory."""
    key = -id(stmt)  # the same cache as effects, other half
    known = facts.cache.get(key)
    if known is None or known[0] is not stmt:
        groups = [*_joined(stmt, facts)]
        for block in ir.blocks(stmt):
            for inner in block:
                groups += _groups(inner, facts)
        known = facts.cache[key] = (stmt, tuple(groups))
    found: tuple[tuple[str, ...], ...] = known[1]
    return found


def _joined(stmt: ir.Stmt, facts: Facts) -> Iterable[tuple[str, ...]]:
    trusted = is_trusted(stmt)
    match stmt:
        case ir.Assign(target=target, value=value):
            yield from _bound(ir.target_names(target), value, facts, trusted)
            if plain(value) is not None:
                return
        case ir.For(target=target, iter=iterable):
            yield from _bound(ir.target_names(target), iterable, facts, trusted)
        case ir.Update(target=ir.Index() as target, value=value) if stmt.origin.role == "adjoint":
            if not is_numeric(value, facts, trusted):  # (adjoints are added to entries: no lists)
                yield from _put(target.base, value, facts, trusted)
        case (
            ir.Store(target=target, value=value)
            | ir.Update(target=ir.Index() | ir.Attribute() as target, value=value)
        ):
            yield from _put(target.base, value, facts, trusted)
        case ir.Update(target=ir.Var() as var, value=value):
            if not (is_numeric(var, facts, trusted) or is_numeric(value, facts, trusted)):
                yield from _put(var, value, facts, trusted)
        case ir.OpaqueStmt(writes=writes, values=values) if writes:
            yield (OUTSIDE, *writes, *_of_all(values, facts, trusted))
    for expr in ir.expressions(stmt):
        yield from _inside(expr, facts, trusted)


def _bound(
    targets: tuple[str, ...], value: ir.Expr, facts: Facts, trusted: bool
) -> Iterable[tuple[str, ...]]:
    targets = tuple(t for t in targets if facts.kind(t).form not in ("number", "other"))
    shared = sources(value, facts, trusted) if targets else NOTHING
    if shared:
        yield (*targets, *sorted(shared))


def _put(base: ir.Expr, value: ir.Expr, facts: Facts, trusted: bool) -> Iterable[tuple[str, ...]]:
    """A value stored in something that is not an array stays reachable through it."""
    shared = sources(value, facts, trusted)
    into = sources(base, facts, trusted)
    if isinstance(base, ir.Var) and facts.kind(base.name).form == "array":
        return
    if shared and into:
        yield (*sorted(into), *sorted(shared))


def _inside(expr: ir.Expr, facts: Facts, trusted: bool) -> Iterable[tuple[str, ...]]:
    """What calls inside an expression join: `xs.append(v)`, and whatever an unknown call gets."""
    if plain(expr) is not None:
        return
    for part in ir.walk(expr):
        if not isinstance(part, ir.Call):
            if isinstance(part, ir.Opaque) and part.refs:
                shared = sources(part, facts, trusted)
                if len(shared) > 1:
                    yield tuple(sorted(shared))
            continue
        fn, arguments = operation(part.fn), ir.arguments(part)
        if isinstance(fn, ir.Attribute):
            if fn.name in MUTATORS:
                for argument in arguments:
                    yield from _put(fn.base, argument, facts, trusted)
            elif not trusted and fn.name not in PURE_METHODS:
                yield (OUTSIDE, *sorted(_of_all((fn.base, *arguments), facts, trusted)))
        elif not isinstance(fn, ir.Ref):
            yield (OUTSIDE, *sorted(_of_all((fn, *arguments), facts, trusted)))
        elif not facts.pure(fn) and not _writes_first_only(fn):
            yield (OUTSIDE, *sorted(_of_all(arguments, facts, trusted)))


def _writes_first_only(fn: ir.Ref) -> bool:
    return runtime_name(fn.obj) == "add_at" or numpy_name(fn.obj) in ("at", "copyto")
