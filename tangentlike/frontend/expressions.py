"""Reading an expression: gast in, nested IR out. Nothing is flattened here.

`lookup` says what a bare name means: a `Var` for a local one, a `Ref` for anything that was
resolved to a live object. Attribute chains on modules and classes collapse to one `Ref`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gast

from ..errors import Place, UnsupportedError
from ..ir import (
    IN,
    NOT,
    TYPE,
    Attribute,
    Call,
    Const,
    Display,
    Expr,
    Index,
    Lazy,
    Opaque,
    Param,
    Ref,
    Set,
    Slice,
    Target,
    Text,
    Var,
    is_starred,
)
from .abbreviations import (
    attribute_read,
    dict_of_keywords,
    getter,
    is_of_sizes,
    join_of,
    joined,
    merged,
    plain_range,
    refuse_looking,
    refuse_running_text,
    refuse_super,
    spread,
    star,
    words_of,
)
from .comprehensions import Clause, Comprehension, is_inert, mapped
from .cuts import Spot, cuts_made
from .nested import Chain, Closure, Refused, Walrus
from .operands import BINARY, COMPARE, UNARY, is_repeatable
from .resolve import is_namespace, live_attribute, similar_name
from .survey import parameter_names

Lookup = Callable[[str], Expr]
At = Callable[[Any], "Place | None"]


def nowhere(node: Any) -> Place | None:
    """The place of code that has none."""
    return None


def expression(node: gast.AST, lookup: Lookup, at: At = nowhere) -> Expr:
    """A gast expression as nested IR.

    `lookup(name)` gives what a bare name stands for (`Var`, `Ref` or any expression) and raises
    `KeyError` if it is not defined; `at(node)` gives the place for messages.

    >>> from tangentlike.ir import Var
    >>> expression(gast.parse("(a, b.T)", mode="eval").body, Var)
    Display(form='tuple', items=(Var(name='a'), Attribute(base=Var(name='b'), name='T')), keys=())
    """
    return Reader(lookup, at).read(node)


@dataclass(frozen=True)
class Reader:
    """Turns expressions of one scope into IR."""

    lookup: Lookup
    at: At = nowhere
    assigns: bool = False  # whether `:=` may stand in code, which then becomes statements

    def read(self, node: gast.AST) -> Expr:
        """The IR of any expression node."""
        method = _READERS.get(type(node))
        if method is None:
            raise self.refusal(node)
        return method(self, node)

    def refusal(self, node: gast.AST) -> UnsupportedError:
        what, hint = _REFUSED.get(
            type(node), (f"`{type(node).__name__}` expressions are not supported", "")
        )
        return UnsupportedError(what, self.at(node), hint)

    def name(self, node: gast.Name) -> Expr:
        try:
            found = self.lookup(node.id)
        except KeyError:
            raise UnsupportedError(
                f"name `{node.id}` is not defined",
                self.at(node),
                "It must exist when the derivative is made: names are resolved to the objects "
                "they refer to.",
            ) from None
        if isinstance(found, Ref):
            refuse_running_text(found, self.at(node))
        return found

    def constant(self, node: gast.Constant) -> Expr:
        return Const(node.value)

    def attribute(self, node: gast.Attribute) -> Expr:
        base = self.read(node.value)
        if isinstance(base, Ref) and is_namespace(base.obj):
            try:
                found = live_attribute(base.obj, node.attr)
                # (What is None now and is written into later is another object then.)
                return Ref(f"{base.text}.{node.attr}", found, found is None, base.anew)
            except AttributeError:
                raise UnsupportedError(
                    f"`{base.text}` has no attribute `{node.attr}`",
                    self.at(node),
                    similar_name(node.attr, dir(base.obj), f"{base.text}.")
                    or "It must exist when the derivative is made.",
                ) from None
        if node.attr in _ASKED_OF_ALL:
            return Call(_ASKED_OF_ALL[node.attr], (base,), at=self.at(node))
        return Attribute(base, node.attr, self.at(node))

    def subscript(self, node: gast.Subscript) -> Expr:
        if any(isinstance(n, gast.Starred) for n in getattr(node.slice, "elts", ())):
            raise UnsupportedError(
                "a starred item in an index is not supported",
                self.at(node),
                "Build the index tuple first and index with it.",
            )
        return join_of(Index(self.read(node.value), self.read(node.slice), self.at(node)))

    def slice(self, node: gast.Slice) -> Expr:
        parts = (node.lower, node.upper, node.step)
        return Slice(*(None if p is None else self.read(p) for p in parts))

    def call(self, node: gast.Call) -> Expr:
        fn = node.func
        if isinstance(fn, gast.Attribute) and fn.attr == "format" and _is_text(fn.value):
            return self.text(node)
        node = spread(node)
        fn = plain_range(self.read(node.func))
        self._refuse_introspection(fn, node)
        args = [self._argument(a) for a in self._given(fn, node)]
        kwargs = []
        for word in node.keywords:
            if word.arg is None:
                args.append(self._entries(word.value))
            else:
                kwargs.append((word.arg, self.read(word.value)))
        if isinstance(fn, Ref) and fn.obj is dict and len(kwargs) == len(node.keywords):
            entries = dict_of_keywords(args, kwargs)
            if entries is not None:
                return entries
        read = None if kwargs else attribute_read(fn, args, self.at(node))
        if read is not None:
            return read
        if isinstance(fn, Ref) and not kwargs and not any(map(is_starred, args)):
            items = mapped(fn, tuple(args), lambda: self.opaque(node))
            if items is not None:
                return items
        made = getter(fn, args, kwargs, self.at(node))
        if isinstance(fn, Ref) and getattr(type(fn.obj), "__hash__", None) is None:
            fn = Attribute(fn, "__call__", self.at(node))  # (what no table of operations has)
        return Call(fn, tuple(args), tuple(kwargs), self.at(node)) if made is None else made

    def _given(self, fn: Expr, node: gast.Call) -> list[gast.AST]:
        """The arguments of a call: those that it goes through need no `iter`, and the first item
        of what is gone through is that of a generator, which has a loop of its own."""
        if not isinstance(fn, Ref) or not any(fn.obj is known for known in _GOING_THROUGH):
            return list(node.args)
        args = [self.gone_through(arg) for arg in node.args]
        if fn.obj is next and args[0] is not node.args[0]:
            load, store = (
                gast.Name("item", ctx, None, None) for ctx in (gast.Load(), gast.Store())
            )
            clause = gast.comprehension(store, args[0], [], 0)
            args[0] = gast.copy_location(gast.GeneratorExp(load, [clause]), node.args[0])
            args[1:] = node.args[1:]
            for part in (load, store):
                gast.copy_location(part, node)
        return args

    def gone_through(self, node: gast.AST) -> gast.AST:
        """`x` for `iter(x)`, which a loop or a built-in function goes through alike."""
        match node:
            case gast.Call(func=gast.Name() as func, args=[of], keywords=[]):
                meant = self.read(func)
                return of if isinstance(meant, Ref) and meant.obj is iter else node
        return node

    def _within_class(self) -> bool:
        """Whether the code belongs to a method, which keeps its class in a cell."""
        try:
            return isinstance(self.lookup("__class__"), Ref)
        except KeyError:
            return False

    def _refuse_introspection(self, fn: Expr, node: gast.Call) -> None:
        """Calls that look at the frame they stand in mean something else in other code."""
        if isinstance(fn, Ref):
            given = bool(node.args or node.keywords)
            refuse_super(fn, given or self._within_class(), self.at(node))
            refuse_looking(fn, given, self.at(node))

    def _argument(self, node: gast.AST) -> Expr:
        if isinstance(node, gast.Starred) and not isinstance(node.value, gast.Name):
            return star(self.read(node.value), self.at(node))
        if isinstance(node, gast.Starred):
            return self.opaque(node.value, prefix="*")
        return self.read(node)

    def binary(self, node: gast.BinOp) -> Expr:
        if isinstance(node.op, gast.Mod) and _is_text(node.left):
            return self.text(node)
        args = (self.read(node.left), self.read(node.right))
        return Call(BINARY[type(node.op)], args, (), self.at(node))

    def text(self, node: gast.AST) -> Text:
        """Text that shows values."""
        code = self.opaque(node)
        return Text(code.text, code.names, code.values, code.refs, code.at)

    def unary(self, node: gast.UnaryOp) -> Expr:
        operand = self.read(node.operand)
        if isinstance(node.op, gast.USub) and _is_number(operand):
            return Const(-operand.value)  # type: ignore[union-attr]
        return Call(UNARY[type(node.op)], (operand,), (), self.at(node))

    def compare(self, node: gast.Compare) -> Expr:
        operands = [self.read(n) for n in (node.left, *node.comparators)]
        if not all(map(is_repeatable, operands[1:-1])):
            return self.chain(node, operands)  # a middle operand is evaluated once
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        tests = tuple(self._comparison(op, a, b, node) for op, a, b in pairs)
        return tests[0] if len(tests) == 1 else Lazy("and", tests)

    def chain(self, node: gast.Compare, operands: Sequence[Expr]) -> Expr:
        code = self.opaque(node)
        operators = (NOT if isinstance(op, gast.NotIn) else COMPARE[type(op)] for op in node.ops)
        parts = (code.text, code.names, code.values, code.refs, code.at, tuple(operators))
        return Chain(*parts, tuple(operands), inert=True)

    def _comparison(self, op: gast.AST, a: Expr, b: Expr, node: gast.AST) -> Expr:
        at = self.at(node)
        if isinstance(op, gast.NotIn):
            return Call(NOT, (Call(IN, (a, b), (), at),), (), at)
        return Call(COMPARE[type(op)], (a, b), (), at)

    def boolean(self, node: gast.BoolOp) -> Expr:
        form = "and" if isinstance(node.op, gast.And) else "or"
        first, *others = node.values
        return Lazy(form, (self.read(first), *map(self.reached, others)))

    def conditional(self, node: gast.IfExp) -> Expr:
        if isinstance(node.test, gast.Constant):  # (the other branch is never taken)
            return self.read(node.body if node.test.value else node.orelse)
        branches = (self.reached(node.body), self.reached(node.orelse))
        return Lazy("if", (self.read(node.test), *branches))

    def reached(self, node: gast.AST) -> Expr:
        """An expression that is evaluated only where it is reached, and may be cut out."""
        cuts, place = cuts_made(), self.at(node)
        if cuts is None or place is None:
            return self.read(node)
        spot = Spot.of_expression(place)
        cuts.spots.add(spot)
        if spot not in cuts.made:
            return self.read(node)
        return Refused("None", refusal=cuts.made[spot], at=place)

    def display(self, node: gast.List | gast.Tuple) -> Expr:
        form = "list" if isinstance(node, gast.List) else "tuple"
        if any(isinstance(n, gast.Starred) for n in node.elts):
            stars = [isinstance(n, gast.Starred) for n in node.elts]
            items = [
                self.read(n.value if star else n) for n, star in zip(node.elts, stars, strict=True)
            ]
            if is_of_sizes(items):
                return replace(self.opaque(node), inert=True)
            return joined(form, list(zip(stars, items, strict=True)), self.at(node))
        return Display(form, tuple(map(self.read, node.elts)))

    def dictionary(self, node: gast.Dict) -> Expr:
        if any(key is None for key in node.keys):
            keys = [None if key is None else self.read(key) for key in node.keys]
            values = map(self.read, node.values)
            return merged(list(zip(keys, values, strict=True)), self.at(node))
        return Display("dict", tuple(map(self.read, node.values)), tuple(map(self.read, node.keys)))

    def comprehension(self, node: Any) -> Expr:
        """A comprehension as opaque code that knows its parts."""
        walruses = (part for part in gast.walk(node) if isinstance(part, gast.NamedExpr))
        assigns = tuple(dict.fromkeys(part.target.id for part in walruses))
        code = self.opaque(node, assigns=bool(assigns))
        if any(part.is_async for part in node.generators):
            return code
        inner = self
        clauses = []
        for part in node.generators:
            iterable = inner.read(inner.gone_through(part.iter))
            bound = frozenset(n.id for n in gast.walk(part.target) if isinstance(n, gast.Name))
            inner = inner.inside(bound)
            target = _target(part.target)
            if target is None:
                return code
            clauses.append(Clause(target, iterable, tuple(map(inner.read, part.ifs))))
        form = _FORMS[type(node)]
        key = inner.read(node.key) if form == "dict" else None
        element = inner.read(node.value if form == "dict" else node.elt)
        parts = (code.text, code.names, code.values, code.refs, code.at)
        made = Comprehension(*parts, form, element, key, tuple(clauses), assigns)
        return replace(made, inert=True) if is_inert(made) else made

    def inside(self, bound: frozenset[str]) -> Reader:
        """A reader for a scope in which these names are bound too."""
        return replace(self, lookup=lambda n: Var(n) if n in bound else self.lookup(n))

    def function(self, node: gast.Lambda) -> Expr:
        """A lambda as opaque code that knows its parts."""
        code = self.opaque(node)
        inner = self.inside(frozenset(parameter_names(node.args)))
        parts = (code.text, code.names, code.values, code.refs, code.at)
        return Closure(*parts, self.parameters(node.args), inner.reached(node.body))

    def parameters(self, args: gast.arguments) -> tuple[Param, ...]:
        """A parameter list; its defaults are read in this scope."""
        usual = [(a, "positional") for a in args.posonlyargs] + [(a, "any") for a in args.args]
        missing = len(usual) - len(args.defaults)
        every = [
            (node, kind, args.defaults[number - missing] if number >= missing else None)
            for number, (node, kind) in enumerate(usual)
        ]
        if args.vararg is not None:
            every.append((args.vararg, "*", None))
        keywords = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        every += [(node, "keyword", default) for node, default in keywords]
        if args.kwarg is not None:
            every.append((args.kwarg, "**", None))
        return tuple(self._parameter(*item) for item in every)

    def _parameter(self, node: Any, kind: str, default: gast.AST | None) -> Param:
        annotation = "" if node.annotation is None else gast.unparse(node.annotation).strip()
        return Param(node.id, kind, None if default is None else self.read(default), annotation)

    def walrus(self, node: gast.NamedExpr) -> Expr:
        """`(name := value)`; inside code that stays opaque it is refused."""
        code = self.opaque(node.value)
        target = self.name(node.target)
        inner = self.read(node.value)
        names = (node.target.id, *(n for n in code.names if n != node.target.id))
        values = (target, *(v for n, v in zip(code.names, code.values, strict=True) if v != target))
        text = f"({node.target.id} := {code.text})"
        return Walrus(text, names, values, code.refs, self.at(node), inner)

    def _entries(self, node: gast.AST) -> Expr:
        """What stands behind `**` among arguments."""
        if isinstance(node, gast.Name):
            return self.opaque(node, prefix="**")
        return words_of(self.read(node), self.at(node))

    def opaque(self, node: gast.AST, prefix: str = "", assigns: bool = False) -> Opaque:
        """The code of a node as it stands, with what its free names mean; with `assigns` it may
        bind names by `:=`."""
        names, values, refs = self.meanings(node, assigns)
        made = Opaque if prefix else _CODE.get(type(node), Opaque)
        return made(prefix + gast.unparse(node).strip(), names, values, refs, self.at(node))

    def meanings(
        self, node: gast.AST, assigns: bool = False
    ) -> tuple[tuple[str, ...], tuple[Expr, ...], tuple[Ref, ...]]:
        """The local names free in some code, what they stand for, and what else it refers to."""
        names, values, refs = [], [], []
        reader = replace(self, assigns=True) if assigns else self
        for use in dict.fromkeys(n.id for n in reader._free(node, frozenset())):
            meaning = self.name(gast.Name(use, gast.Load(), None, None))
            if isinstance(meaning, Ref):
                refs.append(meaning)
            else:
                names.append(use)
                values.append(meaning)
        return tuple(names), tuple(values), tuple(refs)

    def _free(self, node: gast.AST, bound: frozenset[str]) -> Iterator[gast.Name]:
        """Uses of names that the code does not bind itself."""
        if type(node) in _REFUSED and not (self.assigns and isinstance(node, gast.NamedExpr)):
            raise self.refusal(node)
        if isinstance(node, gast.Name):
            if node.id not in bound:
                yield node
        elif isinstance(node, gast.Lambda):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield from self._free(default, bound)
            yield from self._free(node.body, bound | set(parameter_names(node.args)))
        elif isinstance(node, _COMPREHENSIONS):
            yield from self._free_in_comprehension(node, bound)
        else:
            for child in gast.iter_child_nodes(node):
                yield from self._free(child, bound)

    def _free_in_comprehension(self, node: Any, bound: frozenset[str]) -> Iterator[gast.Name]:
        for part in node.generators:
            yield from self._free(part.iter, bound)
            bound = bound | {n.id for n in gast.walk(part.target) if isinstance(n, gast.Name)}
            for test in part.ifs:
                yield from self._free(test, bound)
        results = (node.key, node.value) if isinstance(node, gast.DictComp) else (node.elt,)
        for result in results:
            yield from self._free(result, bound)


def _target(node: Any) -> Target | None:
    """The target of a comprehension; None if it is not a plain name or tuple of names."""
    if isinstance(node, gast.Name):
        return str(node.id)
    parts = [_target(part) for part in getattr(node, "elts", ())]
    if not parts or any(part is None for part in parts):
        return None
    return tuple(part for part in parts if part is not None)


def is_closure(expr: Expr) -> bool:
    """Whether an opaque expression reads its free names later, when it is called."""
    return isinstance(expr, Opaque) and "lambda" in expr.text


def _is_text(node: gast.AST) -> bool:
    """Whether a node is text that is written out, which values are formatted by."""
    return isinstance(node, gast.Constant) and isinstance(node.value, str | bytes)


def _is_number(expr: Expr) -> bool:
    if not isinstance(expr, Const) or isinstance(expr.value, bool):
        return False
    return isinstance(expr.value, int | float | complex)


# Attributes that every object has, and what gives them.
_ASKED_OF_ALL = {"__class__": TYPE, "__dict__": Ref("vars", vars)}
_GOING_THROUGH = (
    *(next, zip, enumerate, map, filter, list, tuple, set, sum, min, max, sorted, any, all),
)
_CODE = {gast.JoinedStr: Text, gast.Set: Set, gast.SetComp: Set}
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)

_FORMS = {gast.ListComp: "list", gast.DictComp: "dict", gast.GeneratorExp: "generator"}

_READERS: dict[type[Any], Callable[[Reader, Any], Expr]] = {
    gast.Name: Reader.name,
    gast.Constant: Reader.constant,
    gast.Attribute: Reader.attribute,
    gast.Subscript: Reader.subscript,
    gast.Slice: Reader.slice,
    gast.Call: Reader.call,
    gast.BinOp: Reader.binary,
    gast.UnaryOp: Reader.unary,
    gast.Compare: Reader.compare,
    gast.BoolOp: Reader.boolean,
    gast.IfExp: Reader.conditional,
    gast.List: Reader.display,
    gast.Tuple: Reader.display,
    gast.Dict: Reader.dictionary,
    gast.Lambda: Reader.function,
    gast.NamedExpr: Reader.walrus,
    **dict.fromkeys((gast.Set, gast.SetComp, gast.JoinedStr), Reader.opaque),
    **dict.fromkeys((gast.ListComp, gast.DictComp, gast.GeneratorExp), Reader.comprehension),
}

_REFUSED: dict[type[Any], tuple[str, str]] = {
    gast.NamedExpr: (
        "an assignment expression (`:=`) is not supported here",
        "Assign the name in a statement of its own before this one.",
    ),
    gast.Yield: ("a generator cannot be differentiated", "Return a list instead of yielding."),
    gast.YieldFrom: ("a generator cannot be differentiated", "Return a list instead of yielding."),
    gast.Await: ("`await` cannot be differentiated", "Differentiate a function that is not async."),
}
