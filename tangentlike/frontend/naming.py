"""Names of temporaries, made from what they hold: `xw` for `x @ w`, `exp_z` for `np.exp(z)`."""

from __future__ import annotations

import contextlib
import keyword
from collections.abc import Callable, Iterator

from .. import ir
from ..ir import Attribute, Call, Const, Display, Expr, Function, Index, Lazy, Opaque, Ref, Var
from ..ir.facts import fact
from ..ir.index import forms, references
from ..ir.names import Names
from .comprehensions import Comprehension
from .nested import Define
from .operands import is_truth

_NOUNS = {
    "+": "total",
    "-": "difference",
    "*": "product",
    "@": "product",
    "/": "ratio",
    "//": "quotient",
    "%": "remainder",
    "**": "power",
    "&": "mask",
    "|": "mask",
    "^": "mask",
    "~": "mask",
}
_LONGEST = 24


def names_of(function: Function, inside: bool = True) -> Names:
    """An allocator that knows every name a function uses, bound or referred to.

    `inside` says whether variables of comprehensions count.
    """
    names = Names([*function.param_names, *function.free, function.name])
    names.take(map(_root, fact(references, function)))
    has_text = Opaque in fact(forms, function)
    for stmt in ir.statements(function.body):
        names.take(ir.binds(stmt))
        names.take(ir.reads(stmt))
        for expr in ir.expressions(stmt) if has_text else ():
            names.take(_names_in(expr, inside))
        if isinstance(stmt, Define) and inside:
            names.take(n for s in ir.statements(stmt.function.body) for n in ir.binds(s))
            names.take((stmt.function.name, *stmt.function.param_names))
            names.take(
                n
                for s in ir.statements(stmt.function.body)
                for e in ir.expressions(s)
                for n in _names_in(e, True)
            )
        if isinstance(stmt, ir.OpaqueStmt):
            names.take((*stmt.names, *(_root(ref) for ref in stmt.refs)))
    return names


class Variables:
    """Names for temporaries, and for the variables of comprehensions and inlined functions."""

    def __init__(self, function: Function, names: Names) -> None:
        self.names = names
        self._function, self._inside = names_of(function, inside=False), names_of(function)
        self._open: list[str] = []  # variables of the comprehensions around what is read now
        self._shared: set[str] = set()  # variables of comprehensions
        self._single: set[str] = set()  # what `local` gave

    def temporary(self, expr: Expr) -> str:
        """A name for what an expression holds."""
        return self.names.fresh(noun(expr))

    @contextlib.contextmanager
    def comprehension(self) -> Iterator[Callable[[str], str]]:
        """What names the variables of one comprehension: the same unless the function has them, or
        a comprehension around. Comprehensions that stand side by side may share a name; whatever
        else is named within the `with` has another."""
        around = len(self._open)
        yield self._variable
        del self._open[around:]

    def _variable(self, name: str) -> str:
        if name in self._open or not (name in self._shared or self._is_unclaimed(name)):
            name = self.names.fresh(name)
        self.names.take((name,))
        self._shared.add(name)
        self._open.append(name)
        return name

    def local(self, name: str) -> str:
        """A name for a local variable of an inlined function, different for each call."""
        if name in self._shared or not self._is_unclaimed(name):
            name = self.names.fresh(name)
        self.names.take((name,))
        self._single.add(name)
        return name

    def _is_unclaimed(self, name: str) -> bool:
        """Whether a name is neither the function's own nor given away since: it is a new one, or
        only inner scopes have it."""
        if name in self._single or name in self._function:
            return False
        return name in self._inside or name not in self.names


def _names_in(expr: Expr, inside: bool) -> list[str]:
    found = []
    for part in ir.walk(expr):
        match part:
            case Var(name):
                found.append(name)
            case Ref():
                found.append(_root(part))
            case Opaque(names=names, refs=refs):
                found.extend((*names, *(_root(ref) for ref in refs)))
        if inside and isinstance(part, Comprehension):
            inner = [part.element, *(() if part.key is None else (part.key,))]
            for clause in part.clauses:
                found.extend(ir.target_names(clause.target))
                inner.extend((clause.iter, *clause.tests))
            found.extend(n for e in inner for n in _names_in(e, True))
    return found


def _root(ref: Ref) -> str:
    return ref.text.split(".")[0]


def noun(expr: Expr) -> str:
    """A short name for what an expression computes; it may be taken, and is then numbered.

    >>> noun(Attribute(Var("x"), "T")), noun(Index(Var("x"), Const(0)))
    ('x_T', 'x_0')
    """
    name = _noun(expr)
    if not name.isidentifier() or keyword.iskeyword(name) or len(name) > _LONGEST:
        name = _fallback(expr)
    return name


def _noun(expr: Expr) -> str:
    match expr:
        case Var(name):
            return f"{name}_old"
        case Call(fn=fn) if is_truth(fn):
            return "mask"
        case Call(fn=Ref(text=text), args=args) if not text.isidentifier() and "." not in text:
            return _operator_noun(text, args)
        case Call(fn=Ref(text=text), args=args):
            return _applied(text.rpartition(".")[2], args)
        case Call(fn=Attribute(base=Ref(text=text), name="__call__"), args=args):
            return _applied(text.rpartition(".")[2], args)
        case Call(fn=Attribute(base=base, name=method)):
            return _applied(method, (base,))
        case Call(fn=Var(name), args=args):
            return _applied(name, args)
        case Index(base=Var(name), key=Var(key)):
            return f"{name}_{key}"
        case Index(base=Var(name), key=Const(int(key))) if 0 <= key < 100:
            return f"{name}_{key}"
        case Index(base=Var(name), key=Const(str(key))):
            return f"{name}_{key}"
        case Index(base=Var(name)):
            return f"{name}_part"
        case Attribute(base=Var(name), name=attribute):
            return f"{name}_{attribute}"
        case Attribute(name=attribute):
            return attribute
    return _fallback(expr)


def _operator_noun(text: str, args: tuple[Expr, ...]) -> str:
    match text, args:
        case "-", (Var(name),):
            return f"minus_{name}"
        case "-", (_,):
            return "minus"
        case "@", (Var(a), Var(b)) if len(a) <= 2 and len(b) <= 2:
            return a + b
    return _NOUNS.get(text, "value")


def _applied(function: str, args: tuple[Expr, ...]) -> str:
    match args:
        case (Var(name), *_):
            return f"{function}_{name}"
    return function


def _fallback(expr: Expr) -> str:
    match expr:
        case Call(fn=Ref(text=text)) if text.rpartition(".")[2].isidentifier():
            return text.rpartition(".")[2][:_LONGEST]
        case Call(fn=Attribute(name=name)) | Attribute(name=name):
            return name[:_LONGEST]
        case Index():
            return "part"
        case Display():
            return "parts"
        case Lazy(form="if"):
            return "choice"
        case Opaque(text=text):
            return _opaque_noun(text)
    return "value"


def _opaque_noun(text: str) -> str:
    if text.startswith("lambda"):
        return "function"
    if text.startswith(("f'", 'f"')):
        return "text"
    return "items"
