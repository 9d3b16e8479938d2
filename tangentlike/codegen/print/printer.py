"""gast trees to text: astor's generator, corrected where its output is bad or its nodes are old.

Only this module knows astor. What is changed: its line breaking is off, strings and floats are
their `repr`, f-strings and newer statements go through `ast.unparse`, powers of simple operands
hug (`x**2`), and the generator reads gast nodes directly, which saves a conversion.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gast

from ... import ir
from ...errors import Place
from . import folding

with warnings.catch_warnings():
    # astor asks `ast` for node classes of the past, which Python 3.12 and later warn about.
    warnings.simplefilter("ignore", DeprecationWarning)
    from astor.code_gen import SourceGenerator, set_precedence
    from astor.op_util import Precedence, get_op_symbol, precedence_data, symbol_data


def _teach(table: dict[Any, Any]) -> None:
    """Give gast's classes the entries of Python's: astor looks nodes up by class."""
    for theirs in [key for key in table if isinstance(key, type)]:
        ours = vars(gast).get(theirs.__name__)
        if ours is not None:
            table[ours] = table[theirs]


_teach(precedence_data)
_teach(symbol_data)

_SIMPLE = (gast.Name, gast.Constant)
_POW_BASE = Precedence.Pow + 1


class Printer(SourceGenerator):  # type: ignore[misc]
    """Prints one tree after another; see `text`."""

    def __init__(self) -> None:
        self._visitors: dict[type, Any] = {}
        super().__init__(" " * 4)

    def text(self, node: Any) -> str:
        """The text of one node on as few lines as Python's grammar allows.

        >>> import gast
        >>> Printer().text(gast.parse("y = (x-1.) ** 2, f'{a!r:>{w}}'").body[0])
        "y = (x - 1.0) ** 2, f'{a!r:>{w}}'"
        """
        if isinstance(node, gast.expr):
            set_precedence(Precedence.Expr, node)
        return self.again(node).lstrip("\n")

    def item(self, node: Any) -> str:
        """The text of an expression that stands between commas or in a condition."""
        set_precedence(Precedence.Comma, node)
        return self.again(node)

    def again(self, node: Any) -> str:
        """The text of an expression as it stands in the tree that was printed before."""
        start = len(self.result)
        self.visit(node)
        text = "".join(self.result[start:])
        del self.result[start:]
        return text

    def visit(self, node: Any) -> None:
        """Dispatch by class, remembered: most of the time goes here."""
        visitor = self._visitors.get(type(node))
        if visitor is None:
            visitor = getattr(self, f"visit_{type(node).__name__}")
            self._visitors[type(node)] = visitor
        if self.new_lines and isinstance(node, gast.expr):
            self.write("")
        visitor(node)

    # ---------------------------------------------------------------------- literals

    def visit_Name(self, node: Any) -> None:
        self.result.append(node.id)

    def visit_Constant(self, node: Any) -> None:
        value = node.value
        text = "..." if value is Ellipsis else repr(value)
        if type(value) is float:
            text = _float_text(value)
        elif isinstance(value, complex):
            text = _imaginary(value)
        self.result.append(text)

    def visit_JoinedStr(self, node: Any) -> None:
        self.write(unparse(node))

    visit_TemplateStr = visit_JoinedStr

    def visit_Set(self, node: Any) -> None:
        with self.delimit("{}"):
            self.comma_list(node.elts)

    def visit_Tuple(self, node: Any) -> None:
        set_precedence(Precedence.Comma, *node.elts)
        bare = self.get__pp(node) <= Precedence.Tuple and len(node.elts) > 1
        if self.get__pp(node) == Precedence.Subscript and node.elts:
            bare = True
        self.write("" if bare else "(")
        self.comma_list(node.elts, trailing=len(node.elts) == 1)
        self.write("" if bare else ")")

    def visit_ListComp(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.elt)
        super().visit_ListComp(node)

    def visit_SetComp(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.elt)
        super().visit_SetComp(node)

    def visit_DictComp(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.key, node.value)
        super().visit_DictComp(node)

    # --------------------------------------------------------------------- operators

    def visit_BinOp(self, node: Any) -> None:
        op, left, right, out = node.op, node.left, node.right, self.result.append
        p = precedence_data[type(op)]
        power = isinstance(op, gast.Pow)
        left._pp, right._pp = (_POW_BASE, Precedence.PowRHS) if power else (p, p + 1)
        bare = p >= self.get__pp(node)
        if not bare:
            out("(")
        self.visit(left)
        hug = power and _simple(left) and _simple(right)
        out("**" if hug else f" {symbol_data[type(op)]} ")
        self.visit(right)
        if not bare:
            out(")")

    def visit_Attribute(self, node: Any) -> None:
        value, out = node.value, self.result.append
        value._pp = Precedence.highest
        number = isinstance(value, gast.Constant) and type(value.value) is int
        if number:
            out("(")
        self.visit(value)
        out(f").{node.attr}" if number else f".{node.attr}")

    def visit_Subscript(self, node: Any) -> None:
        node.value._pp = Precedence.highest
        node.slice._pp = Precedence.Subscript
        self.visit(node.value)
        self.result.append("[")
        self.visit(node.slice)
        self.result.append("]")

    def visit_Call(self, node: Any) -> None:
        out, separator = self.result.append, "("
        node.func._pp = Precedence.highest
        self.visit(node.func)
        single = len(node.args) + len(node.keywords) == 1
        precedence = Precedence.call_one_arg if single else Precedence.Comma
        for arg in node.args:
            arg._pp = precedence
            out(separator)
            self.visit(arg)
            separator = ", "
        for keyword in node.keywords:
            out(separator)
            self.visit_keyword(keyword)
            separator = ", "
        out(")" if separator == ", " else "()")

    def visit_keyword(self, node: Any) -> None:
        node.value._pp = Precedence.Comma
        self.result.append(f"{node.arg}=" if node.arg else "**")
        self.visit(node.value)

    def visit_Lambda(self, node: Any) -> None:
        with self.delimit(node) as delimiters:
            set_precedence(delimiters.p, node.body)
            self.write("lambda")
            before = len(self.result)
            self.visit_arguments(node.args)
            if len(self.result) > before:
                self.result.insert(before, " ")
            self.write(": ", node.body)

    def visit_Slice(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.lower, node.upper, node.step)
        self.conditional_write(node.lower)
        self.write(":")
        self.conditional_write(node.upper)
        self.conditional_write(":", node.step)

    def visit_Starred(self, node: Any) -> None:
        set_precedence(Precedence.BitOr, node.value)
        self.write("*", node.value)

    # -------------------------------------------------------------------- statements

    def visit_arguments(self, node: Any) -> None:
        self.write(", ".join(self.parameters(node)))

    def parameters(self, node: Any) -> list[str]:
        """The text of each parameter of a signature, `/` and `*` included."""
        regular = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(regular) - len(node.defaults)) + node.defaults
        parts = list(map(self._parameter, regular, defaults))
        if node.posonlyargs:
            parts.insert(len(node.posonlyargs), "/")
        if node.vararg is not None:
            parts.append("*" + self._parameter(node.vararg, None))
        elif node.kwonlyargs:
            parts.append("*")
        parts += map(self._parameter, node.kwonlyargs, node.kw_defaults)
        if node.kwarg is not None:
            parts.append("**" + self._parameter(node.kwarg, None))
        return parts

    def _parameter(self, arg: Any, default: Any) -> str:
        text = str(arg.id)
        if arg.annotation is not None:
            text += ": " + self.item(arg.annotation)
        if default is not None:
            text += (" = " if arg.annotation is not None else "=") + self.item(default)
        return text

    def visit_If(self, node: Any) -> None:
        keyword = "if "
        while True:
            set_precedence(node, node.test)
            self.statement(node, keyword, node.test, ":")
            self.body(node.body)
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], gast.If):
                break
            node, keyword = node.orelse[0], "elif "
        self.else_body(node.orelse)

    def visit_For(self, node: Any, is_async: bool = False) -> None:
        set_precedence(node, node.target)
        set_precedence(Precedence.Comma, node.iter)
        self.statement(node, "for ", node.target, " in ", node.iter, ":")
        self.body_or_else(node)

    def visit_AnnAssign(self, node: Any) -> None:
        self._unparsed(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_AnnAssign
    visit_Match = visit_Try = visit_TryStar = visit_TypeAlias = visit_AnnAssign

    def _unparsed(self, node: Any) -> None:
        for line in unparse(node).splitlines():
            self.statement(node, line)


def _simple(node: Any) -> bool:
    if isinstance(node, gast.UnaryOp):
        return isinstance(node.op, gast.USub) and isinstance(node.operand, _SIMPLE)
    while isinstance(node, gast.Attribute):
        node = node.value
    return isinstance(node, _SIMPLE)


def _float_text(value: float) -> str:
    """A number as people write it.

    >>> _float_text(1e-6), _float_text(1e10), _float_text(2500.0), _float_text(float("inf"))
    ('1e-6', '1e10', '2500.0', '1e999')
    """
    text = repr(value)
    if text == "inf":
        return "1e999"  # the parser's own way to make one
    mantissa, e, exponent = text.partition("e")
    if e:
        return f"{mantissa}e{int(exponent)}"
    whole = text.removesuffix(".0")
    zeros = len(whole) - len(whole.rstrip("0"))
    return f"{whole[0]}e{zeros}" if zeros >= 6 and zeros == len(whole) - 1 else text


def _imaginary(value: complex) -> str:
    return "1e999j" if value.imag == float("inf") else repr(complex(0.0, value.imag))


def unparse(node: Any) -> str:
    """The text of a node by way of Python's own unparser."""
    converted = gast.gast_to_ast(node)
    return ast.unparse(ast.fix_missing_locations(converted))


def operator_text(op: Any) -> str:
    """How an operator is written: `+`, `not`, `<=`."""
    return str(get_op_symbol(op))


# --------------------------------------------------------------------------------------------------
# Functions as lines: what stands where, and which comment beside it.
#
# An adjoint statement quotes the primal line it belongs to; statements in a row that belong to
# the same line are quoted once. A function with a primal and an adjoint part says where each
# begins. Every line knows the `Origin` of the statement it is part of. A statement that the
# transform adds for a reason of its own may say it: an origin's `rule` that begins with `# ` is
# printed beside it, whatever its role.


COMMENT_COLUMN = 45
PRIMAL_ROLES = frozenset({"primal", "save"})
ADJOINT_ROLES = frozenset({"adjoint", "restore"})


@dataclass(frozen=True)
class Line:
    """One physical line of the result."""

    text: str
    origin: ir.Origin | None = None


def function_lines(fn: ir.Function, tree: Any, printer: Printer, comments: bool) -> list[Line]:
    """The lines of a function; `tree` is what `to_gast.function` made of it."""
    parameters = printer.parameters(tree.args)
    header = ir.Origin(fn.place)
    lines = [
        Line(text)
        for decorator in tree.decorator_list
        for text in folding.statement(gast.Expr(decorator), printer, "", "@")
    ]
    lines += [Line(text, header) for text in folding.signature(fn.name, parameters)]
    nodes = tree.body
    if fn.doc:
        lines += [Line(text) for text in _docstring(fn.doc)]
        nodes = nodes[1:]
    said = {comment.line: comment for comment in fn.comments} if comments else {}
    layout = _Layout(printer, _quoted_roles(fn) if comments else frozenset(), said, fn.place.file)
    sections = comments and _has_two_parts(fn)
    return [*lines, *layout.body(fn.body, nodes, sections)]


def block_lines(stmts: ir.Block, nodes: list[Any], printer: Printer) -> list[Line]:
    """The lines of loose statements, without comments."""
    return list(_Layout(printer, frozenset(), {}).block(stmts, nodes, ""))


def _docstring(doc: str) -> list[str]:
    """A docstring between triple quotes where that says the same, else as a literal."""
    text = inspect.cleandoc(doc)
    plain = all(c == "\n" or (c.isprintable() and c != "\\") for c in text)
    if not plain or '"""' in text or text.endswith('"') or not text:
        return [folding.STEP + repr(doc)]
    lines = text.split("\n")
    if len(lines) == 1:
        return [f'{folding.STEP}"""{text}"""']
    body = [folding.STEP + line if line else "" for line in lines[1:]]
    return [f'{folding.STEP}"""{lines[0]}', *body, f'{folding.STEP}"""']


def _roles(fn: ir.Function) -> frozenset[str]:
    stmts = ir.statements(fn.body)
    return frozenset(stmt.origin.role for stmt in stmts if not isinstance(stmt, ir.Return))


def _quoted_roles(fn: ir.Function) -> frozenset[str]:
    """Which roles carry a comment: a tangent below its primal line needs none, and of what is
    taken back the line that reads it has one."""
    if _roles(fn) & PRIMAL_ROLES and not _roles(fn) & ADJOINT_ROLES:
        return frozenset({"adjoint"})
    return frozenset(ir.DERIVED_ROLES)


def _has_two_parts(fn: ir.Function) -> bool:
    roles = [stmt.origin.role for stmt in fn.body if not isinstance(stmt, ir.Return)]
    return any(r in PRIMAL_ROLES for r in roles) and any(r in ADJOINT_ROLES for r in roles)


class _Layout:
    """Lines of blocks; `quoted` says which roles are commented with their place, `said` what the
    user says of lines of a file, which is repeated at the first statement of each."""

    def __init__(
        self,
        printer: Printer,
        quoted: frozenset[str],
        said: dict[int, ir.Comment],
        file: str = "",
    ) -> None:
        self.printer, self.quoted, self.said, self.file = printer, quoted, said, file

    def body(self, stmts: ir.Block, nodes: list[Any], sections: bool) -> Iterator[Line]:
        """A function's body, its parts announced if it has two."""
        pad = folding.STEP
        if not sections:
            yield from self.block(stmts, nodes, pad)
            return
        start = next(i for i, s in enumerate(stmts) if s.origin.role in ADJOINT_ROLES)
        if start:
            yield Line(f"{pad}# primal")
            yield from self.block(stmts[:start], nodes[:start], pad)
        yield Line(f"{pad}# adjoint")
        yield from self.block(stmts[start:], nodes[start:], pad)

    def block(
        self, stmts: ir.Block, nodes: list[Any], pad: str, quoted: Place | None = None
    ) -> Iterator[Line]:
        """The lines of a block; `quoted` is what the lines before it belong to."""
        if not stmts:
            yield from (Line(pad + self.printer.text(node)) for node in nodes)  # `pass`
            return
        ends = {self._of_user(stmt): stmt for stmt in stmts} if self.said else {}
        for stmt, node in zip(stmts, nodes, strict=True):
            place = stmt.origin.place
            if isinstance(stmt, (ir.If, ir.For, ir.While, ir.With)):
                yield from self._compound(stmt, node, pad, "", quoted)
                quoted = quoted if self._quotes_only(stmt, quoted) else None
            else:
                texts = folding.statement(node, self.printer, pad)
                if self._wants_comment(stmt) and place != quoted:
                    texts = _commented(texts, place.text, pad)
                for text in self._as_said(stmt, texts, pad, ends):
                    yield Line(text, stmt.origin)
                if place.text and stmt.origin.role != "restore":
                    quoted = place

    def _of_user(self, stmt: ir.Stmt) -> int:
        """The line of a statement of the user's of which something is said, else 0."""
        place, role = stmt.origin.place, stmt.origin.role
        own = role == "primal" and place.file == self.file and not isinstance(stmt, ir.Return)
        return place.line if own and place.line in self.said else 0

    def _as_said(
        self, stmt: ir.Stmt, texts: list[str], pad: str, ends: Mapping[int, ir.Stmt]
    ) -> list[str]:
        """The lines of a statement with what the user says above its line, if it is the first
        of that, and beside it, if it `ends` it."""
        line = self._of_user(stmt)
        if not line:
            return texts
        said = self.said[line]
        above, said = said.above, said._replace(above=())
        if said.beside and ends.get(line, stmt) is stmt:
            beside = "  ".join(said.beside)
            if len(texts) == 1 and len(texts[0]) + 2 + len(beside) <= folding.WIDTH:
                texts = [f"{texts[0]}  {beside}"]
            else:
                above += said.beside
            said = said._replace(beside=())
        self.said[line] = said
        room = folding.WIDTH - len(pad)
        return [*(pad + text for line in above for text in _within(line, room)), *texts]

    def _wants_comment(self, stmt: ir.Stmt) -> bool:
        """Headers that the result repeats are not quoted beside what belongs to them, and what is
        given back only where it is computed there."""
        if stmt.origin.role not in self.quoted or isinstance(stmt, ir.Break):
            return False
        if isinstance(stmt, ir.Return) and not stmt.origin.names:
            return False
        return not stmt.origin.place.text.startswith(("for ", "while ", "def ", "async ", "try:"))

    def _quotes_only(self, stmt: ir.Stmt, quoted: Place | None) -> bool:
        """Whether all that stands in a statement belongs to the line that is quoted above it."""
        inside = (s for part in ir.blocks(stmt) for s in ir.statements(part))
        return all(s.origin.place == quoted for s in inside)

    def _compound(
        self, stmt: Any, node: Any, pad: str, keyword: str, quoted: Place | None
    ) -> Iterator[Line]:
        texts = folding.statement(node, self.printer, pad, keyword)
        for text in self._as_said(stmt, texts, pad, {}):
            yield Line(text, stmt.origin)
        if isinstance(stmt, ir.Try):
            yield from self._attempt(stmt, node, pad)
            return
        yield from self.block(stmt.body, node.body, pad + folding.STEP, quoted)
        if not isinstance(stmt, ir.If) or not stmt.orelse:
            return
        if len(stmt.orelse) == 1 and type(stmt.orelse[0]) is ir.If:
            yield from self._compound(stmt.orelse[0], node.orelse[0], pad, "elif ", quoted)
        else:
            yield Line(f"{pad}else:", stmt.origin)
            yield from self.block(stmt.orelse, node.orelse, pad + folding.STEP, quoted)

    def _attempt(self, stmt: ir.Try, node: Any, pad: str) -> Iterator[Line]:
        """The blocks of a `try`, and in them the lines that note how it ended."""
        handler, inner = node.handlers[0], pad + folding.STEP
        tried, (_, *rest) = ir.tried_and_rest(stmt)
        yield from self._noting(tried, node.body, stmt, inner, at_end=True)
        for text in folding.statement(handler, self.printer, pad):
            yield Line(text, stmt.origin)
        yield from self._noting(stmt.orelse, handler.body, stmt, inner)
        if rest:
            yield Line(f"{pad}else:", stmt.origin)
            yield from self._noting(tuple(rest), node.orelse, stmt, inner)

    def _noting(
        self, stmts: ir.Block, nodes: list[Any], stmt: ir.Try, pad: str, at_end: bool = False
    ) -> Iterator[Line]:
        """A block of a `try`: it has a statement more where it notes how the `try` ended."""
        more = len(nodes) - len(stmts) if stmts or stmt.failed else 0
        notes, own = nodes[:more], nodes[more:]
        if at_end:
            notes, own = nodes[len(stmts) :], nodes[: len(stmts)]
            yield from self.block(stmts, own or nodes, pad) if stmts or not more else ()
        for note in notes if more else ():
            yield Line(pad + self.printer.text(note), stmt.origin)
        if not at_end and (own or not more):
            yield from self.block(stmts, own, pad)


def _within(comment: str, room: int) -> list[str]:
    """A comment of one line, on as many as it needs."""
    if len(comment) <= room:
        return [comment]
    return textwrap.wrap(comment.lstrip("# "), room, initial_indent="# ", subsequent_indent="# ")


def _commented(texts: list[str], comment: str, pad: str) -> list[str]:
    """The lines of a statement with a comment beside it, or above where there is no room."""
    quote = " ".join(comment.split())
    if not quote or "".join(quote.split()) == "".join("".join(texts).split()):
        return texts  # nothing to say, or nothing that the code does not say itself
    if len(texts) == 1:
        code = texts[0]
        column = max(COMMENT_COLUMN, len(code) + 2)
        if column + len(quote) + 2 <= folding.WIDTH:
            return [f"{code:<{column}}# {quote}"]
    room = folding.WIDTH - len(pad) - 2
    if len(quote) > room:
        quote = quote[: max(room, 12) - 3].rstrip() + "..."
    return [f"{pad}# {quote}", *texts]
