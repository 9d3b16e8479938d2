"""IR to gast: each node of the IR has one form in Python.

`x @ w + b` is a `Call` of a `Call` in the IR and a `BinOp` of a `BinOp` here; precedence is the
printer's business. References are written by a `Speller`, since a name may have to change when
the text around it uses the same one for something else.
"""

from __future__ import annotations

import dataclasses
import keyword
import math
import textwrap
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import gast

from ... import ir
from ...errors import InternalError, UnsupportedError
from ...frontend import operands
from ...ir.names import Names

Speller = Callable[[ir.Ref], str]

# The nodes of operators, by how these are written.
BINARY, UNARY, COMPARISON = (
    {ref.text: node() for node, ref in table.items()}
    for table in (operands.BINARY, operands.UNARY, operands.COMPARE)
)
COMPARISON["not in"] = gast.NotIn()

FLOAT, COMPLEX = ir.Ref("float", float), ir.Ref("complex", complex)

LOAD = gast.Load()
STORE = gast.Store()


def plain(ref: ir.Ref) -> str:
    """Spell a reference as the program did."""
    return ref.text


@lru_cache(maxsize=4096)
def name(text: str) -> Any:
    """A name that is read. Such nodes are never changed, so one serves all its uses."""
    return gast.Name(text, LOAD, None, None)


def bound_name(text: str) -> Any:
    return gast.Name(text, STORE, None, None)


def dotted(text: str) -> Any:
    """A name, possibly with attributes: `np.linalg.norm`."""
    root, *attributes = text.split(".")
    node = name(root)
    for attribute in attributes:
        node = gast.Attribute(node, attribute, LOAD)
    return node


# --------------------------------------------------------------------------- expressions


def expression(expr: ir.Expr, spell: Speller = plain) -> Any:
    """The gast tree of one expression.

    >>> import operator
    >>> x = ir.Var("x")
    >>> type(expression(ir.Call(ir.Ref("*", operator.mul), (x, x)))).__name__
    'BinOp'
    """
    match expr:
        case ir.Var():
            return name(expr.name)
        case ir.Call():
            return _at(_call(expr, spell), expr)
        case ir.Const():
            return literal(expr.value, spell)
        case ir.Ref():
            return _reference(expr, spell)
        case ir.Index():
            base, key = expression(expr.base, spell), expression(expr.key, spell)
            return _at(gast.Subscript(base, key, LOAD), expr)
        case ir.Slice():
            parts = (expr.lower, expr.upper, expr.step)
            return gast.Slice(*(None if p is None else expression(p, spell) for p in parts))
        case ir.Attribute(base, field):
            held = expression(base, spell)
            if ir.plain_name(field) == field:
                return gast.Attribute(held, field, LOAD)
            given = [held, gast.Constant(ir.plain_name(field), None)]
            return gast.Call(dotted("getattr"), given, [])
        case ir.Display():
            return _display(expr, spell)
        case ir.Lazy():
            return _lazy(expr, spell)
        case ir.Opaque():
            return opaque_expression(expr, spell, lambda e: expression(e, spell))
    raise InternalError("emit", f"no form for an expression of class {type(expr).__name__}")


def _at(node: Any, expr: ir.Call | ir.Index) -> Any:
    """The tree of an operation, which remembers where the user wrote it (see `emit.places`)."""
    if expr.at is not None:
        node.at = expr.at
    return node


def is_unprintable(value: Any) -> bool:
    """Whether a number has no literal (infinities, NaN): it is then written as a call."""
    if isinstance(value, complex):
        return is_unprintable(value.real) or is_unprintable(value.imag)
    return isinstance(value, float) and not math.isfinite(value)


def literal(value: Any, spell: Speller = plain) -> Any:
    """The tree of a constant, as the parser would make it: `-1` is a negated `1`."""
    if isinstance(value, (bool, str, bytes)) or value is None or value is Ellipsis:
        return gast.Constant(value, None)
    if type(value) in (int, float):
        return _number(value, spell)
    if type(value) is complex:
        return _complex(value, spell)
    raise InternalError("emit", f"{value!r} of type {type(value).__name__} is not a literal")


def _number(value: float, spell: Speller) -> Any:
    if is_unprintable(value):
        node = gast.Call(dotted(spell(FLOAT)), [gast.Constant(str(abs(value)), None)], [])
    else:
        node = gast.Constant(abs(value), None)
    return gast.UnaryOp(UNARY["-"], node) if math.copysign(1.0, value) < 0 else node


def _complex(value: complex, spell: Speller) -> Any:
    real, imag = value.real, value.imag
    if not is_unprintable(value):
        imaginary = gast.Constant(complex(0.0, abs(imag)), None)
        negative_zero = real == 0 and math.copysign(1.0, real) < 0
        if negative_zero and imag < 0:
            return gast.UnaryOp(UNARY["-"], imaginary)
        if not negative_zero and math.copysign(1.0, imag) > 0:
            if real == 0:
                return imaginary
            return gast.BinOp(_number(real, spell), BINARY["+"], imaginary)
        if not negative_zero and imag < 0:
            return gast.BinOp(_number(real, spell), BINARY["-"], imaginary)
    # No sum of literals has these signs of zeros, or these infinities.
    parts = [_number(real, spell), _number(imag, spell)]
    return gast.Call(dotted(spell(COMPLEX)), parts, [])


def literal_references(value: Any) -> list[ir.Ref]:
    """The built-ins that the form of a constant calls."""
    seen: list[ir.Ref] = []

    def spell(ref: ir.Ref) -> str:
        seen.append(ref)
        return ref.text

    if isinstance(value, (float, complex)):
        literal(value, spell)
    return seen


def _reference(ref: ir.Ref, spell: Speller) -> Any:
    if keyword.iskeyword(ref.text) or not ref.text[0].isidentifier():
        raise InternalError("emit", f"operator {ref.text} stands where a value is expected")
    return dotted(spell(ref))


def _call(call: ir.Call, spell: Speller) -> Any:
    args, keywords = _arguments(call, spell)
    if isinstance(call.fn, ir.Ref):
        text = call.fn.text
        if len(args) == 2 and text in BINARY:
            return gast.BinOp(args[0], BINARY[text], args[1])
        if len(args) == 2 and text in COMPARISON:
            return gast.Compare(args[0], [COMPARISON[text]], [args[1]])
        if len(args) == 1 and text in UNARY:
            return _unary(text, args[0])
    return gast.Call(expression(call.fn, spell), args, keywords)


def _arguments(call: ir.Call, spell: Speller) -> tuple[list[Any], list[Any]]:
    """Positional and keyword arguments; `*a` and `**k` arrive as opaque arguments."""
    args: list[Any] = []
    keywords: list[Any] = []
    unpacked: list[Any] = []
    for arg in call.args:
        if isinstance(arg, ir.Opaque) and arg.text.startswith("**"):
            inner = dataclasses.replace(arg, text=arg.text[2:])
            unpacked.append(gast.keyword(None, expression(inner, spell)))
        elif isinstance(arg, ir.Opaque) and arg.text.startswith("*"):
            inner = dataclasses.replace(arg, text=arg.text[1:])
            args.append(gast.Starred(expression(inner, spell), LOAD))
        else:
            args.append(expression(arg, spell))
    for key, value in call.kwargs:
        keywords.append(gast.keyword(key, expression(value, spell)))
    return args, keywords + unpacked


def _unary(text: str, operand: Any) -> Any:
    """`not (a in b)` and `not (a is b)` have a form of their own."""
    if text == "not" and isinstance(operand, gast.Compare) and len(operand.ops) == 1:
        opposite = {gast.In: "not in", gast.Is: "is not"}.get(type(operand.ops[0]))
        if opposite is not None:
            return gast.Compare(operand.left, [COMPARISON[opposite]], operand.comparators)
    return gast.UnaryOp(UNARY[text], operand)


def _display(display: ir.Display, spell: Speller) -> Any:
    items = [expression(item, spell) for item in display.items]
    if display.form == "dict":
        keys = [expression(key, spell) for key in display.keys]
        return gast.Dict(keys, items)
    if display.form == "list":
        return gast.List(items, LOAD)
    return gast.Tuple(items, LOAD)


def _lazy(lazy: ir.Lazy, spell: Speller) -> Any:
    items = [expression(item, spell) for item in lazy.items]
    if lazy.form == "if":
        return gast.IfExp(*items)
    return gast.BoolOp(gast.And() if lazy.form == "and" else gast.Or(), items)


# ---------------------------------------------------------------------------- statements


def target(bound: ir.Target) -> Any:
    """The tree of what an assignment or a loop binds."""
    if isinstance(bound, str):
        return bound_name(bound)
    return gast.Tuple([target(part) for part in bound], STORE)


def place_of(written: ir.Expr, spell: Speller) -> Any:
    """The tree of a place that is written: a name, `a[i]` or `a.b`."""
    if isinstance(written, ir.Var):
        return bound_name(written.name)
    if isinstance(written, ir.Attribute):
        return gast.Attribute(expression(written.base, spell), ir.plain_name(written.name), STORE)
    node = expression(written, spell)
    node.ctx = STORE
    return node


def statement(stmt: ir.Stmt, spell: Speller = plain) -> Any:
    """The gast tree of one statement."""
    match stmt:
        case ir.Assign():
            return gast.Assign([target(stmt.target)], expression(stmt.value, spell), None)
        case ir.Store():
            written = place_of(stmt.target, spell)
            return gast.Assign([written], expression(stmt.value, spell), None)
        case ir.Update():
            op = BINARY[stmt.op.text.removesuffix("=")]
            value = expression(stmt.value, spell)
            return gast.AugAssign(place_of(stmt.target, spell), op, value)
        case ir.Do():
            return gast.Expr(expression(stmt.value, spell))
        case ir.Try():
            return _attempt(stmt, spell)
        case ir.With():
            name = bound_name(stmt.target) if stmt.target else None
            item = gast.withitem(expression(stmt.context, spell), name)
            return gast.With([item], block(stmt.body, spell), None)
        case ir.If():
            body, orelse = block(stmt.body, spell), block(stmt.orelse, spell, empty=True)
            return gast.If(expression(stmt.test, spell), body, orelse)
        case ir.For():
            body, source = block(stmt.body, spell), expression(stmt.iter, spell)
            return gast.For(target(stmt.target), source, body, [], None)
        case ir.While():
            return gast.While(expression(stmt.test, spell), block(stmt.body, spell), [])
        case ir.Break():
            return gast.Break()
        case ir.Return():
            return gast.Return(None if stmt.value is None else expression(stmt.value, spell))
        case ir.OpaqueStmt():
            return opaque_statement(stmt, spell, lambda e: expression(e, spell))
    raise InternalError("emit", f"no form for a statement of class {type(stmt).__name__}")


def _attempt(stmt: ir.Try, spell: Speller) -> Any:
    """A `try` that notes how it ended."""
    caught = bound_name(stmt.caught) if stmt.caught else None
    tried, (_, *rest) = ir.tried_and_rest(stmt)
    fine, error = _noted(stmt) or ((), ())
    body, orelse = block(tried, spell, empty=True), block(tuple(rest), spell, empty=True)
    if orelse:
        orelse = [*fine, *orelse]
    else:
        body += fine
    handling = [*error, *block(stmt.orelse, spell, empty=True)]
    test = expression(stmt.test, spell)
    handler = gast.ExceptHandler(test, caught, handling or [gast.Pass()])
    return gast.Try(body or [gast.Pass()], [handler], orelse, [])


def _noted(stmt: ir.Try) -> tuple[list[Any], ...]:
    """What notes that a `try` went well, and what notes that it did not."""
    if not stmt.failed:
        return ()
    ends = (gast.Constant(False, None), gast.Constant(True, None))
    return tuple([gast.Assign([bound_name(stmt.failed)], value, None)] for value in ends)


def block(stmts: ir.Block, spell: Speller = plain, empty: bool = False) -> list[Any]:
    """The trees of a block; `pass` for an empty one unless `empty` may stay empty."""
    nodes = [statement(stmt, spell) for stmt in stmts]
    return nodes if nodes or empty else [gast.Pass()]


# ----------------------------------------------------------------------------- functions


def function(fn: ir.Function, spell: Speller = plain) -> Any:
    """The tree of a whole function, its docstring first."""
    body = block(fn.body, spell, empty=bool(fn.doc))
    if fn.doc:
        body.insert(0, gast.Expr(gast.Constant(fn.doc, None)))
    decorators = [expression(decorator, spell) for decorator in fn.decorators]
    return gast.FunctionDef(fn.name, parameters(fn.params, spell), body, decorators, None, None, [])


def parameters(params: tuple[ir.Param, ...], spell: Speller = plain) -> Any:
    """The tree of a parameter list."""
    by_kind: dict[str, list[Any]] = {k: [] for k in ("positional", "any", "*", "keyword", "**")}
    defaults: list[Any] = []
    keyword_defaults: list[Any] = []
    for param in params:
        by_kind[param.kind].append(_parameter(param))
        default = None if param.default is None else expression(param.default, spell)
        if param.kind == "keyword":
            keyword_defaults.append(default)
        elif default is not None:
            defaults.append(default)
    star, double_star = by_kind["*"], by_kind["**"]
    return gast.arguments(
        by_kind["any"],
        by_kind["positional"],
        star[0] if star else None,
        by_kind["keyword"],
        keyword_defaults,
        double_star[0] if double_star else None,
        defaults,
    )


def _parameter(param: ir.Param) -> Any:
    annotation = parse(param.annotation) if param.annotation else None
    return gast.Name(param.name, gast.Param(), annotation, None)


# --------------------------------------------------------------------------------------------------
# Opaque code back to trees: its text parsed, its names replaced by what they stand for now.
#
# Substitution respects scopes: the variable of a comprehension or a lambda is its own, and
# is renamed when a value that comes in would otherwise be captured by it.


Builder = Callable[[ir.Expr], Any]

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_FUNCTIONS = (gast.Lambda, gast.FunctionDef, gast.AsyncFunctionDef)


def parse(text: str) -> Any:
    """The tree of one expression given as text (a bare slice or starred tuple is none)."""
    return gast.parse(f"({text}\n)", mode="eval").body


def opaque_expression(code: ir.Opaque, spell: Speller, build: Builder) -> Any:
    """The tree of an opaque expression with its present values in place.

    >>> code = ir.Opaque("[i for i in n]", ("n",), (ir.Var("i"),))
    >>> gast.unparse(opaque_expression(code, plain, expression))
    '[i2 for i2 in i]'
    """
    tree = parse(code.text)
    values = _changed(code.names, code.values)
    roots = _respelled(code.refs, spell)
    if not values and not roots:
        return tree
    return _Substitution(values, {}, roots, build, tree).visit(tree)


def opaque_statement(code: ir.OpaqueStmt, spell: Speller, build: Builder) -> Any:
    """The tree of an opaque statement, with present values and present names of what it binds."""
    body = gast.parse(textwrap.dedent(code.text)).body
    if len(body) != 1:
        raise InternalError("emit", f"an opaque statement holds {len(body)} statements")
    values = _changed(code.names, code.values)
    roots = _respelled(code.refs, spell)
    if roots and isinstance(body[0], (gast.Global, gast.Nonlocal)):
        raise UnsupportedError(
            f"`{next(iter(roots))}` means different things in the functions of one file",
            code.origin.place,
            "Rename one of the two variables.",
        )
    writes = _renamed_writes(body, code.writes)
    if not (values or roots or writes):
        return body[0]
    return _Substitution(values, writes, roots, build, body[0]).visit(body[0])


def _changed(names: tuple[str, ...], values: tuple[ir.Expr, ...]) -> dict[str, ir.Expr]:
    return {n: v for n, v in zip(names, values, strict=True) if v != ir.Var(n)}


def _respelled(refs: Iterable[ir.Ref], spell: Speller) -> dict[str, str]:
    roots: dict[str, str] = {}
    for ref in refs:
        old, new = ref.text.split(".")[0], spell(ref).split(".")[0]
        if old != new:
            roots[old] = new
    return roots


def _renamed_writes(body: list[Any], writes: tuple[str, ...]) -> dict[str, str]:
    """Old to new names of what the statement binds: `writes` runs parallel to `bound_names`."""
    bound = bound_names(body) if writes else ()  # (what is bound outside keeps its name)
    if set(bound) == set(writes):
        return {}
    if len(bound) != len(writes):
        raise InternalError("emit", f"opaque code binds {bound}, not {writes}")
    return {old: new for old, new in zip(bound, writes, strict=True) if old != new}


def bound_names(nodes: Iterable[Any]) -> tuple[str, ...]:
    """Names that statements bind in their own scope, in order of first occurrence."""
    found: dict[str, None] = {}

    def look(node: Any) -> None:
        if isinstance(node, gast.Name) and isinstance(node.ctx, (gast.Store, gast.Del)):
            found.setdefault(node.id)
        elif isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)):
            found.setdefault(node.name)
            return
        elif isinstance(node, gast.alias):
            found.setdefault((node.asname or node.name).split(".")[0])
        elif isinstance(node, (gast.Lambda, *_COMPREHENSIONS)):
            for inner in gast.walk(node):  # only a walrus reaches out of these
                if isinstance(inner, gast.NamedExpr):
                    look(inner.target)
            return
        for child in gast.iter_child_nodes(node):
            look(child)

    for node in nodes:
        look(node)
    return tuple(found)


class _Substitution(gast.NodeTransformer):  # type: ignore[misc]
    """Replaces names in a tree; `self.inner` maps names bound by enclosing inner scopes."""

    def __init__(
        self,
        values: dict[str, ir.Expr],
        writes: dict[str, str],
        roots: dict[str, str],
        build: Builder,
        *trees: Any,
    ) -> None:
        self.values, self.writes, self.roots, self.build = values, writes, roots, build
        self.inner: dict[str, str] = {}
        incoming = {n for v in values.values() for n in ir.names_in(v)}
        self.incoming = incoming | set(writes.values()) | set(roots.values())
        used = {n.id for tree in trees for n in gast.walk(tree) if isinstance(n, gast.Name)}
        self.names = Names(sorted(used | self.incoming))

    def visit_Name(self, node: Any) -> Any:
        if node.id in self.inner:
            return self._rename(node, self.inner[node.id])
        if node.id in self.writes:
            return self._rename(node, self.writes[node.id])
        if node.id in self.values:
            value = self.values[node.id]
            if isinstance(node.ctx, gast.Load):
                return self.build(value)
            if isinstance(value, ir.Var):
                return self._rename(node, value.name)
            raise InternalError("emit", f"opaque code binds {node.id}, which stands for a value")
        return self._rename(node, self.roots.get(node.id, node.id))

    def _rename(self, node: Any, name: str) -> Any:
        return gast.Name(name, node.ctx, node.annotation, node.type_comment)

    def visit_alias(self, node: Any) -> Any:
        bound = (node.asname or node.name).split(".")[0]
        if bound in self.writes:
            node.asname = self.writes[bound]
        return node

    # ------------------------------------------------------------------- inner scopes

    def _enter(self, bound: Iterable[str]) -> dict[str, str]:
        """Bind names of an inner scope, renamed where a value coming in has the same name."""
        outer = self.inner
        fresh = {n: self.names.fresh(n) if n in self.incoming else n for n in bound}
        self.inner = {**outer, **fresh}
        return outer

    def _comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        source = self.visit(first.iter)  # evaluated in the enclosing scope
        bound = bound_names(g.target for g in node.generators)
        outer = self._enter(bound)
        first.iter = gast.Constant(None, None)
        self.generic_visit(node)
        first.iter = source
        self.inner = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Lambda(self, node: Any) -> Any:
        self._defaults(node.args)
        outer = self._enter(_parameters(node.args))
        self._rename_parameters(node.args)
        node.body = self.visit(node.body)
        self.inner = outer
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        self._defaults(node.args)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.name = self.writes.get(node.name, node.name)
        outer = self._enter((*_parameters(node.args), *bound_names(node.body)))
        self._rename_parameters(node.args)
        node.body = [self.visit(stmt) for stmt in node.body]
        self.inner = outer
        return node

    def visit_ClassDef(self, node: Any) -> Any:
        raise InternalError("emit", f"names cannot be replaced inside class {node.name}")

    def _defaults(self, args: Any) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else self.visit(d) for d in args.kw_defaults]

    def _rename_parameters(self, args: Any) -> None:
        for arg in _all_arguments(args):
            arg.id = self.inner[arg.id]


def _all_arguments(args: Any) -> list[Any]:
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg for arg in every if arg is not None]


def _parameters(args: Any) -> list[str]:
    return [arg.id for arg in _all_arguments(args)]
