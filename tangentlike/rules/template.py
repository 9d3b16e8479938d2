"""Reading a rule: the source of a template function as lines of the IR.

A template is parsed when it is first used, never at import, and its function is never run::

    def tanh(y, x):
        dy_dx = 1.0 - y * y

gives one line, the partial of `y` by `x`. In its expression parameters are local names;
what a transform fills in are placeholders that begin with `$`: `$y` (the result, whatever
the template calls it), `$y_bar`, `$x_dot` for each parameter `x`, and temporaries.
`conj(e)` in a template is `e` where everything is real and `np.conj(e)` elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import Place, TangentlikeError
from .book import RULE_FUNCTIONS, Deferred, Rule
from .decisions import QUESTIONS, Malformed, expression


@dataclass(frozen=True)
class Line:
    """One line of a template.

    `role` is "partial", "tangent", "adjoint" or "temporary"; `name` the parameter or the
    temporary it gives (for "tangent" the result).
    """

    role: str
    name: str
    expr: ir.Expr


@dataclass(frozen=True)
class Branch:
    """An `if` of a template, decided when a call is bound."""

    test: ast.expr
    body: Body
    orelse: Body


Body = tuple[Line | Branch, ...]


@dataclass(frozen=True, eq=False)
class Template:
    """A rule as read: the primal's signature and the lines of its derivative."""

    result: str
    signature: inspect.Signature
    body: Body
    place: Place

    def lines(self) -> Iterator[Line]:
        """All lines of all branches."""
        return _lines(self.body)

    @cached_property
    def is_elementwise(self) -> bool:
        """Whether the rule states partials."""
        return any(line.role == "partial" for line in self.lines())


# Parameters that say where, how many or in which way, and never how much, in the rules of our own
# files for arrays (the order `n` of a Bessel function and the `shape` of a gamma distribution are
# numbers).
_WHOLE_NUMBERS = """
    axis axes axis1 axis2 source destination shape keepdims n indices condition mask shift repeats
    reps dtype order casting copy subok requirements ndmin where mode method kind kth norm s k
    offset num endpoint N M increasing indices_or_sections edge_order deg m rowvar bias pad_width
    window_shape new_shape newshape minlength include_initial returned obj hermitian UPLO lower
    upper full_matrices compute_uv indexing sparse subscripts optimize return_index return_inverse
    return_counts equal_nan trim density name field
"""
WHOLE_NUMBERS = frozenset(_WHOLE_NUMBERS.split())

_REAL_PARAMETERS = "distributions"

_parsed: dict[int, tuple[Rule, Template]] = {}
_parsing = threading.Lock()


def template_of(rule: Rule) -> Template:
    """The template of a rule, parsed on first use."""
    found = _parsed.get(id(rule))
    if found is None:
        with _parsing:
            made = read_template(rule.text, rule) if rule.text else _template_of_function(rule)
            found = _parsed.setdefault(id(rule), (rule, made))
    return found[1]


def _template_of_function(rule: Rule) -> Template:
    place = rule.place
    try:
        lines, first = inspect.getsourcelines(rule.fn)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError) as error:
        raise TangentlikeError(
            f"cannot read the source of the rule of {rule.name}: {error}",
            place,
            "Define the rule with `def` in a file.",
        ) from error
    node = tree.body[0]
    ast.increment_lineno(node, first - 1)
    if not isinstance(node, ast.FunctionDef):
        raise TangentlikeError(f"the rule of {rule.name} is not a `def`", place)
    text = textwrap.dedent("".join(lines)).splitlines()
    return _Reader(rule.fn, node, place.file, text, first).read(inspect.signature(rule.fn))


def read_template(text: str, rule: Rule) -> Template:
    """A template that is text; it sees the global names of the rule's function."""
    place = rule.place
    try:
        node = ast.parse(textwrap.dedent(text)).body[0]
        namespace: dict[str, Any] = {}
        # Only the signature is wanted: the body's free names are never looked up.
        exec(compile(ast.Module([node], []), place.file, "exec"), {}, namespace)
        fn = namespace[node.name]  # type: ignore[attr-defined]
    except (SyntaxError, IndexError, AttributeError, NameError) as error:
        raise TangentlikeError(f"malformed text from a builder: {error}", place, text) from error
    assert isinstance(node, ast.FunctionDef)
    lines = textwrap.dedent(text).splitlines()
    return _Reader(rule.fn, node, place.file, lines, 1).read(inspect.signature(fn))


class _Reader:
    """Reads one template function; knows what its names mean."""

    def __init__(
        self, fn: FunctionType, node: ast.FunctionDef, file: str, text: list[str], first: int
    ) -> None:
        self.fn, self.node, self.file, self.text, self.first = fn, node, file, text, first
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if not names:
            raise self.error("the first parameter of a rule is the result", node)
        self.result = names[0]
        extra = [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
        self.params = names[1:] + [a.arg for a in (*node.args.kwonlyargs, *extra)]
        self.meanings: dict[str, str] = {name: name for name in self.params}
        self.meanings[self.result] = "$y"
        self.meanings[f"{self.result}_bar"] = "$y_bar"
        self.meanings.update({f"{name}_dot": f"${name}_dot" for name in self.params})
        self.lines: dict[str, tuple[str, str]] = {f"{self.result}_dot": ("tangent", "y")}
        for name in self.params:
            self.lines[f"{name}_bar"] = ("adjoint", name)
            self.lines[f"d{self.result}_d{name}"] = ("partial", name)

    def read(self, signature: inspect.Signature) -> Template:
        params = list(signature.parameters.values())[1:]
        for param in params:
            if param.kind is inspect.Parameter.VAR_KEYWORD:
                raise self.error("a rule names its keyword arguments: no `**`", self.node)
        try:
            body = self._block(self.node.body, frozenset())
            body += self._whole_numbers(params, body)
        except Malformed as error:
            raise self.error(error.message, error.node) from error
        place = self._place(self.node)
        return Template(self.result, signature.replace(parameters=params), body, place)

    def _whole_numbers(self, params: list[inspect.Parameter], body: Body) -> Body:
        """Zero adjoints of parameters that can only be integers, shapes or conditions.

        A derivative that is differentiated again finds them in tapes, among arrays.
        """
        package, _, file = self.fn.__module__.rpartition(".")
        if package != __name__.rpartition(".")[0] or file == _REAL_PARAMETERS:
            return ()
        stated = {line.name for line in _lines(body) if line.role == "adjoint"}
        names = [param.name for param in params if param.name in WHOLE_NUMBERS]
        zero = ir.Const(0)
        return tuple(Line("adjoint", n, zero) for n in names if stated and n not in stated)

    def error(self, message: str, node: ast.AST) -> TangentlikeError:
        return TangentlikeError(f"malformed rule `{self.node.name}`: {message}", self._place(node))

    def _place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", self.first)
        raw = self.text[min(line - self.first, len(self.text) - 1)]
        column = getattr(node, "col_offset", 0) - (len(raw) - len(raw.lstrip()))
        width = getattr(node, "end_col_offset", 1) - getattr(node, "col_offset", 0)
        return Place(self.file, line, raw.strip(), max(0, column), max(1, width))

    def _block(self, body: list[ast.stmt], given: frozenset[str]) -> Body:
        """Read statements; `given` are the lines already stated on the way here."""
        found: list[Line | Branch] = []
        for stmt in body:
            match stmt:
                case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._check(name, given, stmt)
                    found.append(self._line(name, value))
                    given |= {name}
                case ast.If():
                    self._check_test(stmt.test)
                    orelse = self._block(stmt.orelse, given)
                    branch = Branch(stmt.test, self._block(stmt.body, given), orelse)
                    found.append(branch)
                    given |= {self._spelled(line) for line in _lines((branch,))}
                case _:
                    raise Malformed(
                        "only assignments to one name, `if` and `pass` stand in a rule", stmt
                    )
        return tuple(found)

    def _check(self, name: str, given: frozenset[str], node: ast.AST) -> None:
        role, _ = self.lines.get(name, ("temporary", name))
        if name in given:
            raise Malformed(f"`{name}` is assigned twice", node)
        if role == "temporary":
            prefix = f"d{self.result}_d"
            if name.endswith(("_bar", "_dot")) or name.startswith(prefix) or name == "y":
                raise Malformed(f"`{name}` belongs to no parameter of the rule", node)
            if name in self.params or name == self.result:
                raise Malformed(f"`{name}` is a parameter and cannot be assigned", node)
        others = {self.lines[n][0] for n in given if n in self.lines} | {role}
        if "partial" in others and others & {"tangent", "adjoint"}:
            raise Malformed("a rule defines partials, or a tangent and adjoints, not both", node)

    def _check_test(self, test: ast.expr) -> None:
        for node in ast.walk(test):
            if isinstance(node, ast.Name) and node.id not in (*self.params, *QUESTIONS):
                raise Malformed(f"a test of a rule cannot ask about `{node.id}`", node)

    def _line(self, name: str, value: ast.expr) -> Line:
        expr = expression(value, self._lookup)
        role, of = self.lines.get(name, ("temporary", name))
        if role == "temporary":
            self.meanings[name] = f"${name}"
        return Line(role, of, expr)

    def _spelled(self, line: Line) -> str:
        return {
            "partial": f"d{self.result}_d{line.name}",
            "adjoint": f"{line.name}_bar",
            "tangent": f"{self.result}_dot",
            "temporary": line.name,
        }[line.role]

    def _lookup(self, dotted: str, node: ast.AST) -> ir.Expr | None:
        root, *rest = dotted.split(".")
        if root in self.meanings:
            return None if rest else ir.Var(self.meanings[root])
        found = self._global(root)
        if found is _MISSING:
            raise Malformed(
                f"`{root}` is not a parameter, placeholder, temporary, runtime function or global "
                "name",
                node,
            )
        for part in rest:
            if not hasattr(found, part):
                raise Malformed(f"`{dotted}` does not exist", node)
            found = getattr(found, part)
        if self._global(root) is np:
            dotted = ".".join(["np", *rest])
        return ir.Ref(dotted, found)

    def _global(self, name: str) -> Any:
        found = self.fn.__globals__.get(name, _MISSING)
        free = self.fn.__code__.co_freevars
        if name in free and self.fn.__closure__:
            found = self.fn.__closure__[free.index(name)].cell_contents
        if isinstance(found, Deferred):
            return found.module()
        if isinstance(found, ModuleType):
            return found
        helper = getattr(runtime, name, _MISSING)
        if helper is not _MISSING and not name.startswith("_") and callable(helper):
            return helper
        if found is not _MISSING and id(found) not in RULE_FUNCTIONS:
            return found
        return getattr(builtins, name, _MISSING)


_MISSING: Any = object()


def _lines(body: Body) -> Iterator[Line]:
    for item in body:
        if isinstance(item, Line):
            yield item
        else:
            yield from _lines(item.body)
            yield from _lines(item.orelse)
