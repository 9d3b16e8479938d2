"""The intermediate representation: a small Python, as frozen dataclasses.

It is closed (nothing else occurs between `lower` and `emit`) and prints one to one as Python.
Ten expressions and a dozen statements. Facts about a program (activity, kinds, ...) are never
stored here: analyses return them.

The user's own program arrives *flattened*: the value of an `Assign` is one operation on atoms
(`Var`, `Const`, `Ref`), so each intermediate value has a name. Expressions that can carry no
derivative stay whole and nested: tests of `if` and `while`, keys of an `Index`, comparisons,
`Opaque` code. Adjoint and tangent statements may nest; `simplify` nests the rest again.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union

from ..errors import Place

# --------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Var:
    """A local name (a parameter or something the function binds)."""

    name: str


@dataclass(frozen=True)
class Const:
    """A literal: number, string, bytes, bool, None or Ellipsis."""

    value: Any

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are different programs; so are 0.0 and -0.0.
        return (
            isinstance(other, Const)
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))


@dataclass(frozen=True)
class Ref:
    """A name that was resolved to a live object: `np.tanh`, a helper, a global, a built-in.

    `text` is how the program spells it. Operators are `Ref`s too: `+` is
    `Ref("+", operator.add)`, and is printed infix. Two `Ref`s are equal if they mean
    the same object.
    """

    text: str
    obj: Any = field(compare=False, hash=False)
    key: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", id(self.obj))


@dataclass(frozen=True)
class Call:
    """An operation applied: `fn` is a `Ref` (known), an `Attribute` (a method), or any expression.

    `kwargs` are (name, value) pairs. A starred argument is a `Star`.
    """

    fn: Expr
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()
    at: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Index:
    """`base[key]`; the key stays whole."""

    base: Expr
    key: Expr
    at: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Slice:
    """`lower:upper:step` inside a key; absent parts are None."""

    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True)
class Attribute:
    """`base.name` of a value (attributes of modules are `Ref`s)."""

    base: Expr
    name: str
    at: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Display:
    """`(a, b)`, `[a, b]` or `{k: v}`; `form` is "tuple", "list" or "dict".

    For a dict, `keys` runs parallel to `items`; otherwise it is empty.
    """

    form: str
    items: tuple[Expr, ...]
    keys: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Lazy:
    """Operands evaluated on demand: `form` is "and", "or", or "if" (test, then, otherwise)."""

    form: str
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Opaque:
    """Code that carries no derivative, travelling whole as text.

    `names` are the local names free in `text`; `values` says what each stands for now
    (at first `Var` of the same name), so that renaming reaches it as it does any expression.
    `inert` code may read what carries derivatives: no derivative, and no memory, gets into its
    value (`[x > 0 for x in xs]`).
    """

    text: str
    names: tuple[str, ...] = ()
    values: tuple[Expr, ...] = ()
    refs: tuple[Ref, ...] = ()
    at: Place | None = field(default=None, compare=False, repr=False)
    inert: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Text(Opaque):
    """An f-string: text, whatever the values that it shows."""


@dataclass(frozen=True)
class Set(Opaque):
    """A set, written out or made by a comprehension."""


Expr = Union[Var, Const, Ref, Call, Index, Slice, Attribute, Display, Lazy, Opaque]
Atom = (Var, Const, Ref)

# ---------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Origin:
    """Where a statement comes from: the user's line, its part in the result, the rule used.

    `role` is "primal", "adjoint", "tangent", "save" or "restore".
    """

    place: Place
    role: str = "primal"
    rule: str = ""


Target = Union[str, tuple["Target", ...]]


@dataclass(frozen=True)
class Assign:
    """`target = value`. A tuple target is unpacking; its value is then no `Display`."""

    target: Target
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Store:
    """`base[key] = value` or `base.name = value`."""

    target: Index | Attribute
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Update:
    """`target op= value`, `op` an operator `Ref` (`operator.iadd`, ...) spelled `+=`.

    On an array it writes in place and binds no name; on a number, string or tuple it rebinds.
    """

    target: Var | Index | Attribute
    op: Ref
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Do:
    """An expression evaluated for its effect: `print(x)`, `step(a, b)`, `xs.append(v)`."""

    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class If:
    test: Expr
    body: Block
    orelse: Block
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Try(If):
    """`try`: the statements of `body` up to `Tried()`, the rest of `body` after them, or `orelse`
    where they raised an exception of the classes `test`.

    It binds `failed` (unless this is empty): whether an exception was caught or, with `caught`, a
    name for Python's `as`, the exception itself or None. So this is an `If` of which one knows only
    afterwards which block counts. A body that raised counts for nothing: where it had changed
    something before, the reverse sweep refuses.
    """

    failed: str = ""
    caught: str = ""


@dataclass(frozen=True)
class Tried:
    """The end of the statements of a `Try` whose exceptions are caught."""

    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Enter:
    """`with context as target:`, the statements up to its `Leave` in the same block its body.

    `again` says that the context holds around the derivative of the body too (`np.errstate`).
    """

    context: Expr
    target: str
    again: bool
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Leave:
    """The end of the body of the innermost `Enter`; `context` is given if it is entered again."""

    context: Expr | None
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class With:
    """An `Enter` and a `Leave` with what stands between them: made for printing only."""

    context: Expr
    target: str
    body: Block
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class For:
    """`for target in iter`. `iter` is an atom, or `range`, `zip`, `enumerate`, `reversed` of atoms
    (these four may nest in each other), or opaque."""

    target: Target
    iter: Expr
    body: Block
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class While:
    test: Expr
    body: Block
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop; only as the last statement of a branch in tail position."""

    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Return:
    """Only as the last statement of the function's body: `value` is an expression of atoms."""

    value: Expr | None
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class OpaqueStmt:
    """A statement that carries no derivative, whole: `assert`, `raise`, `import`, ...

    `names`/`values` as in `Opaque`; `writes` are the local names it binds.
    """

    text: str
    names: tuple[str, ...]
    values: tuple[Expr, ...]
    refs: tuple[Ref, ...]
    writes: tuple[str, ...]
    origin: Origin = field(compare=False, repr=False)


Stmt = Union[
    Assign,
    Store,
    Update,
    Do,
    If,
    For,
    While,
    Break,
    Return,
    OpaqueStmt,
    Try,
    Tried,
    Enter,
    Leave,
    With,
]
Block = tuple[Stmt, ...]


@dataclass(frozen=True)
class Param:
    """A parameter: `kind` is one of "positional", "any", "*", "keyword", "**"
    ("any" is the usual one, "positional" stands before a `/`)."""

    name: str
    kind: str = "any"
    default: Expr | None = None
    annotation: str = ""


@dataclass(frozen=True)
class Function:
    """One function: what `lower` makes, transforms map, and `emit` prints."""

    name: str
    params: tuple[Param, ...]
    body: Block
    place: Place
    doc: str = ""
    free: tuple[str, ...] = ()  # names bound by closure cells of the original function
    empties: tuple[
        str, ...
    ] = ()  # parameters that are its own to take apart: tapes, their tangents

    @property
    def param_names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.params)


@dataclass(frozen=True)
class Module:
    """Functions printed together: callees' pairs first, the one asked for last."""

    functions: tuple[Function, ...]

    @property
    def main(self) -> Function:
        return self.functions[-1]


# ------------------------------------------------------------------------------- walking

_N = TypeVar("_N")
_T = TypeVar("_T")
_UNKNOWN: Any = object()


# Every pass asks these questions of every node: they are answered by looking up the node's type,
# and what follows from a node alone is worked out once. Nodes never change, so the answer is kept
# beside the node's fields, where comparison, hashing and `repr` do not look.


class _ByType(dict[type, Any]):
    """A function for each type of node; a subclass has that of its base, other things None."""

    def __missing__(self, cls: type) -> Any:
        self[cls] = next((self[base] for base in cls.__mro__ if base in self), None)
        return self[cls]


def of_node(fn: Callable[[_N], _T]) -> Callable[[_N], _T]:
    """Ask a function of one node, and of nothing else, once for each node."""
    key = f"_{fn.__module__}.{fn.__qualname__}"

    @functools.wraps(fn)
    def asked(node: _N) -> _T:
        known = getattr(node, key, _UNKNOWN)
        if known is _UNKNOWN:
            known = fn(node)
            object.__setattr__(node, key, known)
        found: _T = known
        return found

    return asked


def _call_parts(call: Call) -> tuple[Expr, ...]:
    if call.kwargs:
        return (call.fn, *call.args, *(v for _, v in call.kwargs))
    return (call.fn, *call.args)


_CHILDREN = _ByType(
    {
        Call: _call_parts,
        Index: lambda e: (e.base, e.key),
        Slice: lambda e: tuple(p for p in (e.lower, e.upper, e.step) if p is not None),
        Attribute: lambda e: (e.base,),
        Display: lambda e: (*e.keys, *e.items),
        Lazy: lambda e: e.items,
        Opaque: lambda e: e.values,
    }
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in evaluation order."""
    parts = _CHILDREN[type(expr)]
    return () if parts is None else parts(expr)


def rebuild(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """The same node with `fn` applied to each direct subexpression."""
    match expr:
        case Call():
            # In the order of `children`: some callers hand out replacements one by one.
            called, args = fn(expr.fn), tuple(map(fn, expr.args))
            kwargs = tuple((k, fn(v)) for k, v in expr.kwargs) if expr.kwargs else ()
            return Call(called, args, kwargs, expr.at)
        case Index():
            return Index(fn(expr.base), fn(expr.key), expr.at)
        case Slice():
            parts = (expr.lower, expr.upper, expr.step)
            return Slice(*(None if p is None else fn(p) for p in parts))
        case Attribute():
            return Attribute(fn(expr.base), expr.name, expr.at)
        case Display():
            keys = tuple(map(fn, expr.keys))
            return Display(expr.form, tuple(map(fn, expr.items)), keys)
        case Lazy():
            return Lazy(expr.form, tuple(map(fn, expr.items)))
        case Opaque():
            return dataclasses.replace(expr, values=tuple(map(fn, expr.values)))
        case _:
            return expr


def is_starred(expr: Expr) -> bool:
    """A `*xs` or `**options` among the arguments of a call."""
    return isinstance(expr, Opaque) and expr.text.startswith("*")


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outermost first."""
    stack = [expr]
    while stack:
        part = stack.pop()
        yield part
        inner = _CHILDREN[type(part)]
        if inner is not None:
            stack.extend(reversed(inner(part)))


def located(expr: Expr, at: Place | None) -> Expr:
    """The same expression; its operations that have no place of their own are said to be at `at`.

    What a rule states of an operation belongs to the place of that operation in the user's line.
    """
    if at is None or not isinstance(expr, Call | Index | Attribute | Display | Lazy):
        return expr
    found = rebuild(expr, lambda e: located(e, at))
    if isinstance(found, Call | Index | Attribute) and found.at is None:
        object.__setattr__(found, "at", at)  # (it was just made, nothing else holds it)
    return found


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace local names by expressions."""
    if isinstance(expr, Var):
        return values.get(expr.name, expr)
    return rebuild(expr, lambda e: substitute(e, values))


def names_in(expr: Expr | None) -> frozenset[str]:
    """The local names an expression reads."""
    if expr is None:
        return frozenset()
    known: frozenset[str] | None = getattr(expr, "_names", None)
    if known is None:
        known = frozenset([part.name for part in walk(expr) if type(part) is Var])
        object.__setattr__(expr, "_names", known)
    return known


_EXPRESSIONS = _ByType(
    {
        Assign: lambda s: (s.value,),
        Do: lambda s: (s.value,),
        Store: lambda s: (s.value, *children(s.target)),
        Update: lambda s: (s.target, s.value),
        If: lambda s: (s.test,),
        While: lambda s: (s.test,),
        For: lambda s: (s.iter,),
        Return: lambda s: () if s.value is None else (s.value,),
        OpaqueStmt: lambda s: s.values,
        Enter: lambda s: (s.context,),
        Leave: lambda s: () if s.context is None else (s.context,),
        With: lambda s: (s.context,),
    }
)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement itself evaluates (not those of nested blocks).

    The base and key of a written `Index` count: they are read to find the place.
    """
    found = _EXPRESSIONS[type(stmt)]
    return () if found is None else found(stmt)


def reads(stmt: Stmt) -> frozenset[str]:
    """Local names the statement itself reads (nested blocks excluded)."""
    known: frozenset[str] | None = getattr(stmt, "_reads", None)
    if known is None:
        known = frozenset().union(*map(names_in, expressions(stmt)))
        object.__setattr__(stmt, "_reads", known)
    return known


def target_names(target: Target) -> tuple[str, ...]:
    """The names a target binds, left to right."""
    if isinstance(target, str):
        return (target,)
    return tuple(name for part in target for name in target_names(part))


_BINDS = _ByType(
    {
        Assign: lambda s: (s.target,) if type(s.target) is str else target_names(s.target),
        For: lambda s: target_names(s.target),
        Update: lambda s: (s.target.name,) if isinstance(s.target, Var) else (),
        OpaqueStmt: lambda s: s.writes,
        Try: lambda s: tuple(filter(None, (s.failed, s.caught))),
        Enter: lambda s: (s.target,) if s.target else (),
        With: lambda s: (s.target,) if s.target else (),
    }
)


def binds(stmt: Stmt) -> tuple[str, ...]:
    """Local names the statement itself binds (nested blocks excluded).

    An `Update` of a bare name may rebind it (a number), so it counts.
    """
    found = _BINDS[type(stmt)]
    return () if found is None else found(stmt)


_BLOCKS = _ByType(
    {
        If: lambda s: (s.body, s.orelse),
        For: lambda s: (s.body,),
        While: lambda s: (s.body,),
        With: lambda s: (s.body,),
    }
)


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks nested directly in a statement."""
    found = _BLOCKS[type(stmt)]
    return () if found is None else found(stmt)


def statements(block: Block) -> Iterator[Stmt]:
    """All statements of a block in preorder, nested ones included."""
    for stmt in block:
        yield stmt
        nested = _BLOCKS[type(stmt)]
        if nested is not None:
            for inner in nested(stmt):
                yield from statements(inner)


def tried_and_rest(stmt: Try) -> tuple[Block, Block]:
    """The body of a `try` in two: what it protects, and what follows (with the mark between)."""
    at = next(n for n, inner in enumerate(stmt.body) if isinstance(inner, Tried))
    return stmt.body[:at], stmt.body[at:]


def map_target(target: Target, fn: Callable[[str], str]) -> Target:
    """Rename every name in a target."""
    if isinstance(target, str):
        return fn(target)
    return tuple(map_target(part, fn) for part in target)


def renamed(block: Block, values: Mapping[str, Expr]) -> Block:
    """A block with names replaced: those it reads by what `values` says, those it binds where
    that is a name too."""

    def target(name: str) -> str:
        new = values.get(name)
        return new.name if isinstance(new, Var) else name

    def within(block: Block) -> Block:
        return tuple(
            map_statement(
                stmt,
                expr=lambda e: substitute(e, values),
                block=within,
                target=lambda t: map_target(t, target),
            )
            for stmt in block
        )

    return within(block)


def bindings(stmts: Iterable[Stmt], params: Iterable[str] = ()) -> Counter[str]:
    """How many of the statements bind each name; being a parameter counts as one."""
    counts = Counter(params)
    counts.update(name for stmt in stmts for name in binds(stmt))
    return counts


def map_statement(
    stmt: Stmt,
    expr: Callable[[Expr], Expr] = lambda e: e,
    block: Callable[[Block], Block] = lambda b: b,
    target: Callable[[Target], Target] = lambda t: t,
) -> Stmt:
    """Rebuild a statement from its mapped expressions, nested blocks and bound names."""
    origin = stmt.origin
    match stmt:
        case Assign():
            return Assign(target(stmt.target), expr(stmt.value), origin)
        case Store():
            return Store(_mapped_place(stmt.target, expr), expr(stmt.value), origin)
        case Update(target=Var(name)):
            return Update(Var(str(target(name))), stmt.op, expr(stmt.value), origin)
        case Update(target=Index() | Attribute() as place):
            return Update(_mapped_place(place, expr), stmt.op, expr(stmt.value), origin)
        case Do():
            return Do(expr(stmt.value), origin)
        case Try():
            test, body, orelse = expr(stmt.test), block(stmt.body), block(stmt.orelse)
            failed, caught = (n and str(target(n)) for n in (stmt.failed, stmt.caught))
            return Try(test, body, orelse, origin, failed, caught)
        case If():
            return If(expr(stmt.test), block(stmt.body), block(stmt.orelse), origin)
        case For():
            return For(target(stmt.target), expr(stmt.iter), block(stmt.body), origin)
        case While():
            return While(expr(stmt.test), block(stmt.body), origin)
        case Return():
            return Return(None if stmt.value is None else expr(stmt.value), origin)
        case Enter():
            name = stmt.target and str(target(stmt.target))
            return Enter(expr(stmt.context), name, stmt.again, origin)
        case Leave():
            return Leave(None if stmt.context is None else expr(stmt.context), origin)
        case With():
            name = stmt.target and str(target(stmt.target))
            return With(expr(stmt.context), name, block(stmt.body), origin)
        case OpaqueStmt():
            values = tuple(map(expr, stmt.values))
            writes = tuple(str(target(name)) for name in stmt.writes)
            return OpaqueStmt(stmt.text, stmt.names, values, stmt.refs, writes, origin)
        case _:
            return stmt


def _mapped_place(place: Index | Attribute, expr: Callable[[Expr], Expr]) -> Index | Attribute:
    if isinstance(place, Index):
        return Index(expr(place.base), expr(place.key), place.at)
    return Attribute(expr(place.base), place.name, place.at)
