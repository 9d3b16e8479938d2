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

import functools
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, NamedTuple, TypeVar, Union, get_args

from ..errors import Place

_C = TypeVar("_C")

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
    the same object. One that is bound `again` may mean another object later. `anew` are the names
    and attributes (`.rate`) that functions of its module bind, if it is noted what it means: where
    it is another than a number or an array of this dtype and rank, the derivative is made again.
    """

    text: str
    obj: Any = field(compare=False, hash=False)
    again: bool = field(default=False, compare=False, repr=False)
    anew: frozenset[str] | None = field(default=None, compare=False, repr=False)
    key: int = field(init=False, repr=False, metadata={"is": "id(obj)"})


@dataclass(frozen=True)
class Call:
    """An operation applied: `fn` is a `Ref` (known), an `Attribute` (a method), or any expression.

    `kwargs` are (name, value) pairs.
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


# Attributes of arrays that have derivatives, and those that have none. A field of an object that
# has such a name (the temperature `T` of a gas) ends with a mark in the IR, so that no rule or pass
# takes it for that; a text says `getattr(gas, "T")`, which is read as the field again.
LIKE_ARRAYS = frozenset(("T", "real", "imag"))
# (What follows from the shape and the type; how an array lies in memory; everything.)
SHAPE_ATTRIBUTES = frozenset(("shape", "ndim", "size", "dtype", "itemsize", "nbytes"))
LAYOUT_ATTRIBUTES = SHAPE_ATTRIBUTES | {"strides"}
QUERIES = LAYOUT_ATTRIBUTES | {"flags", "device"}
OF_ARRAYS = LIKE_ARRAYS | QUERIES
_MARK = "·"


def field_name(name: str) -> str:
    """The name that a field of an object has in the IR."""
    return f"{name}{_MARK}" if name in OF_ARRAYS else name


def plain_name(name: str) -> str:
    """The name that it has in Python."""
    return name.removesuffix(_MARK)


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
    """An f-string, `"..." % values` or `"..".format(..)`: text, whatever the values it shows."""


@dataclass(frozen=True)
class Set(Opaque):
    """A set, written out or made by a comprehension."""


Expr = Union[Var, Const, Ref, Call, Index, Slice, Attribute, Display, Lazy, Opaque]
Atom = (Var, Const, Ref)

# ---------------------------------------------------------------------------- statements


Target = Union[str, tuple["Target", ...]]


@dataclass(frozen=True)
class Origin:
    """Where a statement comes from: the user's line, its part in the result, the rule used.

    `role` is "primal", "adjoint", "tangent", "save" or "restore"; in a text that stands by itself
    also "check", of its arguments. `names` are those of the adjoints that a `return` computes,
    nested as what it returns ("" for what it does not).
    """

    place: Place
    role: str = "primal"
    rule: str = ""
    names: Target = ()

    @property
    def is_derived(self) -> bool:
        """Whether it is of what carries a derivative."""
        return self.role in DERIVED_ROLES


DERIVED_ROLES = ("adjoint", "tangent")


@dataclass(frozen=True)
class Assign:
    """`target = value`. A tuple target is unpacking; its value is then no `Display`.

    `updates`: the user wrote `a += b`, of which `value` is `a + b`: an array keeps its shape.
    """

    target: Target
    value: Expr
    origin: Origin = field(compare=False, repr=False)
    updates: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True)
class Store:
    """`base[key] = value` or `base.name = value`."""

    target: Index | Attribute
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Update:
    """`target op= value`, `op` an operator `Ref` (`operator.iadd`, ...) written `+=`.

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

    It binds `failed` (unless this is empty): whether an exception was caught; and where one was,
    `caught` (unless this is empty), which is the exception. So this is an `If` of which one knows
    only afterwards which block counts. A body that raised counts for nothing: where it had changed
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
class Continue:
    """Goes on with the next iteration of the innermost loop. Not among `Stmt`: what is lowered
    has none any more (`frontend.jumps` makes branches of them)."""

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

    @property
    def stated(self) -> str:
        """The annotation of what it is bound to: that of a starred one is of each argument that it
        takes (`*xs: float` is bound to a `tuple[float, ...]`)."""
        if not self.annotation or self.kind not in ("*", "**"):
            return self.annotation
        form, of_each = ("tuple", "{}, ...") if self.kind == "*" else ("dict", "str, {}")
        return f"{form}[{of_each.format(self.annotation)}]"


class Comment(NamedTuple):
    """What the user says of a line, above it and beside it, with the `#` of each comment."""

    line: int
    above: tuple[str, ...]
    beside: tuple[str, ...]


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
    shadows: tuple[str, ...] = ()  # parameters that are a `runtime.Shadow`
    decorators: tuple[Expr, ...] = ()  # of what is emitted for another target
    comments: tuple[Comment, ...] = ()  # the user's, which stay with their lines

    @functools.cached_property
    def param_names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.params)

    def doc_of(self, what: str) -> str:
        """The docstring of a derivative of it: what that is, and what its own says.

        >>> Function("f", (), (), Place("f.py", 1), "Loss of a model.").doc_of("Gradient")
        'Gradient of f: Loss of a model.'
        """
        if not self.doc or self.place.is_emitted:
            return ""
        one_line = f"{what} of {self.name}: {self.doc}"
        if "\n" not in self.doc and len(one_line) < 75:
            return one_line
        return f"{what} of {self.name}.\n\n{self.doc}"


@dataclass(frozen=True)
class Module:
    """Functions printed together: callees' pairs first, the one asked for last. `types` names the
    types of arguments that they were specialised for."""

    functions: tuple[Function, ...]
    types: tuple[tuple[str, str], ...] = ()

    @property
    def main(self) -> Function:
        return self.functions[-1]


# ------------------------------------------------------------------- quick to make and compare


def quickened(cls: type[_C]) -> type[_C]:
    """Nodes are made by the ten thousand, as are some facts about them, and a frozen dataclass
    takes three times as long to make as one that is not. That nothing changes them is what the
    type checker sees to, so the guard that runs with every assignment of a field goes, and
    fields are plainly assigned."""
    every = fields(cls)  # type: ignore[arg-type]
    given = [f for f in every if f.init and not f.kw_only]
    words = [f for f in every if f.init and f.kw_only]
    head = ["self", *map(_parameter, given), *(["*"] if words else []), *map(_parameter, words)]
    lines = [f"def __init__({', '.join(head)}):"]
    lines += [f"    self.{f.name} = {f.metadata.get('is', f.name)}" for f in every]
    same = " and ".join(f"self.{f.name} == other.{f.name}" for f in every if f.compare) or "True"
    lines += [
        "def __eq__(self, other):",
        "    if self is other: return True",
        f"    return {same} if other.__class__ is self.__class__ else NotImplemented",
    ]
    defaults = {f"_{f.name}": f.default for f in every if f.default is not MISSING}
    made: dict[str, Any] = {}
    exec("\n".join(lines), defaults, made)
    made["__init__"].__annotations__ = cls.__init__.__annotations__
    if all(f.init for f in every):
        lines = ["def __copy__(self):", "    made = new(self.__class__)"]
        lines += [f"    made.{f.name} = self.{f.name}" for f in every]
        exec("\n".join([*lines, "    return made"]), {"new": object.__new__}, made)
    if cls.__name__ == "Const":  # (which compares values by their text)
        del made["__eq__"]
    for name, method in made.items():
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
    for name in ("__setattr__", "__delattr__"):
        delattr(cls, name)
    return cls


def replaced(node: _C, **changes: Any) -> _C:
    """What `dataclasses.replace` gives for an object of a quickened class, several times as fast.

    >>> replaced(Index(Var("x"), Const(0)), key=Const(1))
    Index(base=Var(name='x'), key=Const(value=1))
    """
    made: Any = node
    made = made.__copy__()
    for name, value in changes.items():
        setattr(made, name, value)
    copied: _C = made
    return copied


def _parameter(own: Field[Any]) -> str:
    return own.name if own.default is MISSING else f"{own.name}=_{own.name}"


for _node in (*get_args(Expr), *get_args(Stmt), Text, Set, Origin, Continue, Param, Function):
    quickened(_node)
