"""What forward mode knows while it walks a function: tangents of names and of atoms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ... import ir
from ...analysis.flow import Flow
from ...analysis.memory import element
from ...analysis.operations import operands
from ...errors import InternalError, Place, UnsupportedError
from ...ir.kind import Kind
from ..context import Context
from ..fragile import Discarded, Held
from ..normalize.shadow_calls import SHADOW

_NUMERIC = ("number", "array", "value")


@dataclass
class Tangents:
    """The tangent of every active name, and the tangents of expressions made of names.

    `parameters` are the names whose memory belongs to a caller, `exposed` those of arguments and
    results that a caller may write in place; `real` says that no complex value occurs; `caught`
    has, for each `try`, the names live where its exception is caught.
    """

    context: Context
    active: frozenset[str]
    flow: Flow
    discarded: Discarded
    held: Held
    dots: dict[str, str]
    parameters: frozenset[str] = frozenset()
    exposed: frozenset[str] = frozenset()
    real: bool = True
    caught: dict[int, frozenset[str]] = field(default_factory=dict)
    origin: ir.Origin = field(default_factory=lambda: ir.Origin(Place("", 0)))

    # ------------------------------------------------------------------------ names

    def dot(self, name: str) -> str:
        """The name of the tangent of `name`."""
        if name not in self.dots:
            self.dots[name] = self.context.names.fresh(f"{name}_dot")
            self.adopt_kinds((name,))
        return self.dots[name]

    def adopt_kinds(self, names: Iterable[str]) -> None:
        """A tangent has the form and shape of its primal."""
        for name in names:
            kind = self.kind_of(ir.Var(name))
            self.context.derivatives[self.dots[name]] = name
            if kind.cls is SHADOW.cls:
                self.context.kinds[self.dots[name]] = SHADOW
            if kind.form in _NUMERIC:
                dtype = kind.dtype if kind.dtype in ("float", "complex") else "?"
                self.context.kinds[self.dots[name]] = Kind(kind.form, dtype, kind.shape)

    def fresh(self, wanted: str, kind: Kind) -> str:
        """A new local name, with what is known of its value."""
        name = self.context.fresh(wanted, kind)
        return name

    def kind_of(self, expr: ir.Expr) -> Kind:
        return self.context.kind_of(expr)

    def is_written(self, name: str) -> bool:
        """Whether the memory behind a name may be written in place, under any name, here or by
        a caller."""
        if self.flow.is_written(name):
            return True
        return bool(self.exposed) and self.flow.group(name) in map(self.flow.group, self.exposed)

    def shares(self, expr: ir.Expr, name: str) -> bool:
        """Whether the value of `expr` may share memory with that of `name`."""
        group = self.flow.group(name)
        return any(self.flow.group(n) == group for n in ir.names_in(expr))

    # ----------------------------------------------------------------------- tangents

    def tangent(self, expr: ir.Expr) -> ir.Expr | None:
        """The tangent of an atom, or of a display, an item or an attribute of atoms.

        None means zero.
        """
        match expr:
            case ir.Var(name):
                return ir.Var(self.dot(name)) if name in self.active else None
            case ir.Const() | ir.Ref() | ir.Opaque() | ir.Lazy():
                return None
            case ir.Index(base, key):
                dot = self.tangent(base)
                return None if dot is None else ir.Index(dot, key, expr.at)
            case ir.Attribute(base, name):
                dot = None if name in ir.QUERIES else self.tangent(base)
                return None if dot is None else ir.Attribute(dot, name, expr.at)
            case ir.Display(form, items, keys):
                if all(self.tangent(item) is None for item in items):
                    return None
                return ir.Display(form, tuple(map(self.tangent_or_zeros, items)), keys)
            case ir.Call() if not self.operands(expr):
                return None
            case _:
                raise InternalError("forward", f"the tangent of {expr} was asked for")

    def operands(self, expr: ir.Expr) -> list[str]:
        """The active names an expression may take its derivative from."""
        found = operands(expr, self.context.kinds, self.context.book)
        return [n for n in found if n in self.active]

    def tangent_or_zeros(self, expr: ir.Expr) -> ir.Expr:
        """The tangent, or zeros in the structure of the value."""
        found = self.tangent(expr)
        return self.zeros(expr) if found is None else found

    def zeros(self, expr: ir.Expr) -> ir.Expr:
        """Zeros in the structure of a value: what carries no derivative has 0.0."""
        match expr:
            case ir.Const(None):
                return expr
            case ir.Const():
                return ir.Const(0.0)
            case ir.Display(form, items, keys):
                return ir.Display(form, tuple(map(self.zeros, items)), keys)
            case ir.Ref(obj=type()):  # (which may stand where an object might)
                return self.call("zeros_like", expr)
        kind = self.kind_of(expr)
        if kind.cls is SHADOW.cls:
            return self.call("Shadow")
        if kind.form in ("number", "other"):
            return ir.Const(0.0)
        if kind.form == "array" and kind.dtype in ("float", "complex"):
            return ir.Call(self.context.numpy("zeros_like"), (expr,))
        held = kind.form not in ("array", "value") and self._is_written_inside(expr)
        of_numbers = kind.items and all(item.form == "number" for item in kind.items)
        if kind.form == "list" and kind.items and of_numbers and not held:
            return ir.Display("list", (ir.Const(0.0),) * len(kind.items))
        return self.call("shared_zeros" if held else "zeros_like", expr)

    def _is_written_inside(self, expr: ir.Expr) -> bool:
        names = ir.names_in(expr)
        return any(self.is_written(node) for n in names for node in (n, element(n)))

    def zeros_of(self, target: ir.Target) -> list[ir.Stmt]:
        """Zero tangents of what a statement without derivatives bound. Names bound at once may
        share memory, and then their tangents must, if one is written."""
        names = [n for n in ir.target_names(target) if n in self.active]
        together = [n for n in names if self._is_written_inside(ir.Var(n))]
        together = [n for n in together if self.kind_of(ir.Var(n)).form not in ("number", "other")]
        if len(together) < 2:
            together = []
        alone = [n for n in names if n not in together]
        out: list[ir.Stmt] = [self.assign(self.dot(n), self.zeros(ir.Var(n))) for n in alone]
        if not together:
            return out
        bound = ir.Display("tuple", tuple(map(ir.Var, together)))
        dots = tuple(map(self.dot, together))
        return [*out, self.assign(dots, self.call("shared_zeros", bound))]

    # ---------------------------------------------------------------------- statements

    def assign(self, target: ir.Target, value: ir.Expr, rule: str = "") -> ir.Assign:
        return ir.Assign(target, value, self.tangent_origin(rule))

    def tangent_origin(self, rule: str = "") -> ir.Origin:
        return ir.Origin(self.origin.place, "tangent", rule)

    def call(self, helper: str, *args: ir.Expr) -> ir.Call:
        """A call of a function of the runtime."""
        return ir.Call(self.context.helper(helper), args)

    def copy_of(self, expr: ir.Expr, name: str) -> ir.Call:
        """A copy that may be written instead of the value, which is of the kind of `name`."""
        if self.kind_of(ir.Var(name)).form == "array" and not self.context.alike:
            return ir.Call(ir.Attribute(expr, "copy"))
        return self.call("copy", expr)

    def target(self, target: ir.Target) -> ir.Target:
        """The names of an unpacking target's tangents; `_` where there is none."""
        if isinstance(target, str):
            return self.dot(target) if target in self.active else self.context.names.fresh("_")
        if not any(name in self.active for name in ir.target_names(target)):
            return self.context.names.fresh("_")
        return tuple(map(self.target, target))

    def refuse(self, message: str, hint: str, at: Place | None = None) -> UnsupportedError:
        """A refusal that points at the statement now transformed."""
        return UnsupportedError(message, at or self.origin.place, hint)
