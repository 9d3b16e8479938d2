"""Library calls that write an argument, as the stores they are.

`np.copyto(a, b)`, `a.fill(v)`, `a.sort()`, `np.add(x, y, out=a)` and their like become
`a[...] = <value>`, so that both modes meet in-place writes in one form only. `np.add.at` stays:
it accumulates, which is a form of its own.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ... import ir
from ...analysis.memory import element
from ...analysis.operations import (
    draws,
    names_its_own,
    position_of_output,
    with_output_named,
    with_size,
)
from ...analysis.refusals import root_ref
from ...analysis.sharing import Sharing
from ...analysis.structure import structure
from ...errors import CLASS_IS_READ, UnknownClassError, UnsupportedError
from ...frontend.owners import is_numpy
from ...ir.dataflow import Displays
from ...ir.kind import INT, NOTHING, UNKNOWN
from ...rules.definitions import is_image_filter, output_refused
from ...runtime.records import attribute_of
from ..context import Context
from ..loops import indexed, sources_of
from .iterators import iterators_as_lists, keys_as_lists
from .lengths import Changes, asks_its_length

_UNTOLD = ("unknown", "value")


def writes_as_stores(function: ir.Function, context: Context) -> ir.Function:
    """Rewrite every statement that writes through a library call.

    `np.copyto(a, b)` -> `a[...] = b`; `np.exp(x, out=y)` -> `exp = np.exp(x); y[...] = exp`.
    """
    listed = keys_as_lists(iterators_as_lists(function, context), context)
    plain = flat_desugared(listed, context)
    return _Stores(context, plain).rewritten(plain)


class _Stores(ir.Rewriter):
    def __init__(self, context: Context, function: ir.Function) -> None:
        self.context = context
        self.function = function
        self.changes = Changes(function, context)
        self.overlaps = Overlaps(function, context)

    @functools.cached_property
    def displays(self) -> Displays:
        """What stands in the tuples that have a name."""
        return Displays(self.function)

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        self.at = stmt
        if isinstance(stmt, ir.Do | ir.Assign) and _known_method(stmt.value) is not stmt.value:
            stmt = dataclasses.replace(stmt, value=_known_method(stmt.value))
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var() as base, "extend"), args=(items,))):
                if {self.context.kind_of(e).form for e in (base, items)} == {"list"}:
                    return [ir.Update(base, ir.IADD, items, stmt.origin)]
                return [stmt]
            case ir.Do(value=ir.Call() as call):
                return self._call(stmt, call, None) or [stmt]
            case ir.Assign(value=ir.Call() as call):
                given_back = self._given_back(call)
                if given_back is not None:
                    effect = ir.Do(call, stmt.origin)
                    same = [dataclasses.replace(stmt, value=given_back)]
                    bound = isinstance(given_back, ir.Var) and given_back.name == stmt.target
                    return [*self._check(call, given_back, stmt), effect, *([] if bound else same)]
                return self._call(stmt, call, stmt.target) or [stmt]
            case (
                ir.Store(target=ir.Attribute(base, "real" | "imag" as part))
                | ir.Update(target=ir.Attribute(base, "real" | "imag" as part))
            ) if self.context.kind_of(base).form in ("array", "value"):
                view = self.context.fresh(part, self.context.kind_of(stmt.target))
                named = ir.Assign(view, stmt.target, stmt.origin)
                if isinstance(stmt, ir.Update):
                    return [named, dataclasses.replace(stmt, target=ir.Var(view))]
                return [named, self._store(stmt, ir.Var(view), stmt.value)]
            case ir.For() if resized := self.changes.resized(stmt):
                return asks_its_length(stmt, resized, self.block(stmt.body), self.context)
            case ir.For() if self._writes_items(stmt):
                index = self.context.fresh("index", INT)
                return [indexed(stmt, index, self.block(stmt.body))]
            case ir.If() | ir.For() | ir.While():
                return None
            case _:
                return [stmt]

    def _writes_items(self, stmt: ir.For) -> bool:
        """Whether a loop writes through its variable, or the sequence that it runs over."""
        sources = self.context.sources()
        concerned = {*ir.target_names(stmt.target), *sources_of(stmt.iter)}
        if self._may_be_keys(stmt):
            return False
        for inner in ir.statements(stmt.body):
            match inner:
                case ir.Assign(target=str(name), value=ir.Var(other)) if other in concerned:
                    concerned.add(name)
        return any(concerned & set(sources.written(s)) for s in ir.statements(stmt.body))

    def _may_be_keys(self, stmt: ir.For) -> bool:
        """Whether the loop may run over the keys of a dict: a key is not an item by its number."""
        forms = {self.context.kind_of(ir.Var(name)).form for name in sources_of(stmt.iter)}
        if "dict" in forms:
            return True
        keys = frozenset(ir.target_names(stmt.target))
        return "unknown" in forms and any(
            isinstance(part, ir.Index)
            and ir.names_in(part.base) & frozenset(sources_of(stmt.iter))
            and isinstance(part.key, ir.Var)
            and part.key.name in keys
            for inner in ir.statements(stmt.body)
            for part in _places(inner)
        )

    def _check(self, call: ir.Call, given: ir.Expr, stmt: ir.Stmt) -> list[ir.Stmt]:
        """`require_array(x)` where the function may bind a number to a new object: then y is not
        x."""
        effects = self.context.sources().effects(call)
        known = self.context.kind_of(given).form not in ("unknown", "value")
        if effects is None or not effects.rebound or known:
            return []
        return [self.context.check("require_array", (given,), stmt.origin, call.at)]

    def _given_back(self, call: ir.Call) -> ir.Expr | None:
        """The argument that a user's function writes and returns as it is: `y = g(x)` is
        `g(x); y = x`."""
        if not self.context.callees.reverses:
            return None  # (a tangent function gives the tangent of what it gives)
        effects = self.context.sources().effects(call)
        if effects is None or effects.identity not in effects.written:
            return None
        return self.context.sources().bind(call).get(effects.identity)

    def _call(self, stmt: ir.Stmt, call: ir.Call, target: ir.Target | None) -> list[ir.Stmt] | None:
        match call.fn:
            case ir.Attribute(base, method) if target is None and self._is_array(base, method):
                return self._method(stmt, call, base, method)
            case ir.Ref(obj=obj) if names_its_own(obj):
                return None
            case ir.Ref(obj=obj):
                call = self._with_out(with_output_named(call))
                out = dict(call.kwargs).get("out")
                if is_image_filter(obj) and out is not None:
                    self._check_output(call, out)
                if self._may_be_none(out) and not _masks_entries(call):
                    return [self._where_given(stmt, call, target)]
                if out is not None:
                    stores = self._out(stmt, call, target) or []
                    return [*self._written_if_array(stmt, call), *stores]
                if target is None and _is_numpy(obj):
                    return self._function(stmt, call, obj)
            case ir.Attribute(_, "shuffle"):
                raise UnsupportedError(
                    "`shuffle` writes its argument in an order that is not known until run time",
                    call.at,
                    "Draw a permutation and index with it: `x = x[rng.permutation(len(x))]`.",
                )
            case ir.Attribute(base, method):
                named = self._with_out(call)
                if named is not call and not draws(call.fn, self.context.kinds):
                    self._refuse_unknown(call, base, method)  # (`xp.dot(a, b)` of a module)
                call, out = named, dict(named.kwargs).get("out")
                if out is None:
                    return None
                if draws(call.fn, self.context.kinds) and out != ir.Const(None):
                    return self._out(stmt, with_size(call, out), target)
                if self._may_be_array(base) and hasattr(np.ndarray, method):
                    if self._may_be_none(out):
                        return [self._where_given(stmt, call, target)]
                    return self._out(stmt, call, target)
                self._refuse_unknown(call, base, method)
        return None

    def _with_out(self, call: ir.Call) -> ir.Call:
        """The call with `out=` by name, and None for a name that is known to be None."""
        call = _with_out_named(call, position_of_output(call.fn, self.context.kinds))
        options = dict(call.kwargs)
        if "out" not in options or self.context.kind_of(options["out"]) != NOTHING:
            return call
        options["out"] = ir.Const(None)
        return dataclasses.replace(call, kwargs=tuple(options.items()))

    def _check_output(self, call: ir.Call, out: ir.Expr) -> None:
        """Refuse the `output=` of a filter that is not an array."""
        kind = self.context.kind_of(out)
        if kind != NOTHING and kind.form not in ("array", "value", "unknown"):
            raise output_refused(call)

    def _may_be_none(self, out: ir.Expr | None) -> bool:
        """Whether only the run says that something is written into, and not None."""
        return isinstance(out, ir.Var) and self.context.kind_of(out).form in _UNTOLD

    def _where_given(self, stmt: ir.Stmt, call: ir.Call, target: ir.Target | None) -> ir.Stmt:
        """before::                            after::
        y = np.exp(x, out=out)                 if out is None:
                                                   y = np.exp(x)
                                               else:
                                                   exp = np.exp(x)
                                                   out[...] = exp
                                                   y = out
        """
        assert isinstance(stmt, ir.Assign | ir.Do)
        options = dict(call.kwargs)
        out = options.pop("out")
        plain = dataclasses.replace(call, kwargs=tuple(options.items()))
        stores = [*self._written_if_array(stmt, call), *(self._out(stmt, call, target) or ())]
        none = ir.Call(ir.IS, (out, ir.Const(None)), at=call.at)
        made = dataclasses.replace(stmt, value=plain)
        return ir.If(none, (made,), tuple(stores), stmt.origin)

    def _written_if_array(self, stmt: ir.Stmt, call: ir.Call) -> list[ir.Stmt]:
        """The check that `np.nan_to_num(x, copy=False)` is given an array: of a number or a list it
        makes a new one. The `output=` of a filter may also be a type; the `out=` beside a `where=`
        that says which entries are written is no None, as the others would be left open."""
        x = dict(call.kwargs)["out"]
        obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
        fills = obj is np.nan_to_num or is_image_filter(obj)
        fills = fills or (_masks_entries(call) and isinstance(x, ir.Var))
        if not fills or x == ir.Const(None) or self.context.kind_of(x).form == "array":
            return []
        return [self.context.check("require_array", (x,), stmt.origin, call.at)]

    def _refuse_unknown(self, call: ir.Call, base: ir.Expr, method: str) -> None:
        """`obj.step(x, out=y)`, `obj.dot(x, y)`, where the class of `obj` is not known."""
        if self.context.kind_of(base).form == "unknown":
            raise UnknownClassError(
                f"`{method}` may write its arguments, and the class of its object is not known",
                call.at,
                CLASS_IS_READ,
            )

    def _may_be_array(self, base: ir.Expr) -> bool:
        return self.context.kind_of(base).form in ("array", "value", "unknown")

    def _is_array(self, base: ir.Expr, method: str) -> bool:
        if method in ("fill", "partition"):
            return True
        form = self.context.kind_of(base).form
        return method in ("sort", "put") and form not in ("list", "other")

    def _method(
        self, stmt: ir.Stmt, call: ir.Call, base: ir.Expr, method: str
    ) -> list[ir.Stmt] | None:
        if method == "put":
            whole = dataclasses.replace(call, args=(base, *call.args))
            return scatter_stores(stmt, whole, np.ndarray.put, self.context)
        if method == "fill":
            return [self._store(stmt, base, call.args[0])]
        value = ir.Call(self.context.numpy(method), (base, *call.args), call.kwargs, call.at)
        return self._named_store(stmt, base, value)

    def _function(self, stmt: ir.Stmt, call: ir.Call, obj: Any) -> list[ir.Stmt] | None:
        options = dict(call.kwargs)
        if obj is np.copyto and len(call.args) == 2:
            target, value = call.args
            mask = options.get("where")
            if mask is None:
                return [self._store(stmt, target, value)]
            return self._masked(stmt, target, mask, value)
        repeats = len(call.args) == 3 and self.context.kind_of(call.args[2]).form != "number"
        if obj is np.putmask and len(call.args) == 3 and not repeats:
            return self._masked(stmt, *call.args)
        if _is_for_effect(obj):
            return None
        stores = scatter_stores(stmt, call, obj, self.context)
        if stores is not None and obj is np.fill_diagonal:
            stores[:0] = self.overlaps.checks(stmt, ir.arguments(call)[0], ir.arguments(call)[1:2])
        if stores is not None:
            return stores
        raise UnsupportedError(
            f"`{getattr(call.fn, 'text', 'this call')}` as a statement",
            call.at,
            "What it writes, if it writes anything, is not known. Write `a[k] = v`, `a[...] = v` "
            "or `np.add.at(a, k, v)`.",
        )

    def _masked(
        self, stmt: ir.Stmt, target: ir.Expr, mask: ir.Expr, value: ir.Expr
    ) -> list[ir.Stmt]:
        merged = ir.Call(self.context.numpy("where"), (mask, value, target), at=stmt.origin.place)
        return self._named_store(stmt, target, merged)

    def _out(self, stmt: ir.Stmt, call: ir.Call, target: ir.Target | None) -> list[ir.Stmt] | None:
        options = dict(call.kwargs)
        out = options.pop("out", None)
        if out is None:
            return None
        if out == ir.Const(None):
            plain = dataclasses.replace(call, kwargs=tuple(options.items()))
            assert isinstance(stmt, ir.Assign | ir.Do)
            return [dataclasses.replace(stmt, value=plain)]
        written = self._written(out, call)
        if len(written) > 1 or _results(call) > 1:
            plain = dataclasses.replace(call, kwargs=tuple(options.items()))
            return self._several(stmt, written, plain, target)
        (out,) = written
        obj = getattr(call.fn, "obj", None)
        if obj is np.concatenate or obj is np.stack:
            checks = self.overlaps.checks(stmt, out, call.args[:1])
            rest = dataclasses.replace(call, kwargs=tuple(options.items()))
            stores = [*checks, *self._named_store(stmt, out, rest)]
        elif "where" in options and _selects_entries(call.fn):
            mask = options.pop("where")
            plain = dataclasses.replace(call, kwargs=tuple(options.items()))
            calm, plain = calm_elsewhere(plain, mask, stmt.origin, self.context)
            name = self._fresh(plain)
            first = ir.Assign(name, plain, stmt.origin)
            stores = [*calm, first, *self._masked(stmt, out, mask, ir.Var(name))]
        else:
            plain = dataclasses.replace(call, kwargs=tuple(options.items()))
            stores = self._named_store(stmt, out, plain)
        if target is not None:
            stores.append(ir.Assign(target, out, stmt.origin))
        return stores

    def _written(self, out: ir.Expr, call: ir.Call) -> tuple[ir.Expr, ...]:
        """The arrays that `out=` gives: `(z,)` is `z`."""
        items: tuple[ir.Expr, ...] = (out,)
        if isinstance(out, ir.Display):
            items = out.items
        elif isinstance(out, ir.Var) and self.context.kind_of(out).form == "tuple":
            items = self.displays.at(self.at).get(out.name, items)
        several = _results(call) > 1  # (`out=(q, None)`)
        plain = all(isinstance(i, ir.Var) or (several and i == ir.Const(None)) for i in items)
        if not items or not plain or any(self.context.kind_of(i).form == "tuple" for i in items):
            refusal = UnsupportedError(
                "`out=` is given something other than arrays written out in the call",
                call.at,
                "Store the result: `out[...] = f(x)`.",
            )
            refusal.outer = tuple(ref.obj for ref in map(root_ref, items) if ref is not None)
            raise refusal
        return items

    def _several(
        self, stmt: ir.Stmt, outs: tuple[ir.Expr, ...], call: ir.Call, target: ir.Target | None
    ) -> list[ir.Stmt]:
        """`np.divmod(x, y, out=(q, r))` -> `divmod = np.divmod(x, y); q[...] = divmod[0]; ...`"""
        if any(name == "where" for name, _ in call.kwargs):
            raise UnsupportedError(
                "`where=` beside several arrays in `out=`",
                call.at,
                "Store the results one by one: `out[mask] = f(x[mask])`.",
            )
        outs = (*outs, *[ir.Const(None)] * (_results(call) - len(outs)))
        names = tuple(self._fresh(call) for _ in outs)
        self.context.kinds.update(dict.fromkeys(names, UNKNOWN))
        stores: list[ir.Stmt] = [ir.Assign(names, call, stmt.origin)]
        for n, out in enumerate(outs):
            if isinstance(out, ir.Const):
                outs = (*outs[:n], ir.Var(names[n]), *outs[n + 1 :])
            else:
                stores.append(self._store(stmt, out, ir.Var(names[n])))
        if isinstance(target, tuple) and all(isinstance(part, str) for part in target):
            pairs = zip(target, outs, strict=True)
            stores += [ir.Assign(part, out, stmt.origin) for part, out in pairs]
        elif target is not None:
            stores.append(ir.Assign(target, ir.Display("tuple", outs), stmt.origin))
        return stores

    def _named_store(self, stmt: ir.Stmt, target: ir.Expr, value: ir.Call) -> list[ir.Stmt]:
        name = self._fresh(value)
        return [ir.Assign(name, value, stmt.origin), self._store(stmt, target, ir.Var(name))]

    def _store(self, stmt: ir.Stmt, target: ir.Expr, value: ir.Expr) -> ir.Stmt:
        where = ir.Index(target, ir.Const(Ellipsis), stmt.origin.place)
        return ir.Store(where, value, stmt.origin)

    def _fresh(self, value: ir.Call) -> str:
        word = value.fn.text.rpartition(".")[2] if isinstance(value.fn, ir.Ref) else "value"
        name = self.context.fresh(
            word if word.isidentifier() else "value", self.context.kind_of(value)
        )
        return name


def _selects_entries(fn: ir.Expr) -> bool:
    """Whether `where=` beside `out=` says which entries are written, as it does for ufuncs; for
    a reduction it says which entries are read."""
    match fn:
        case ir.Ref(obj=obj):
            return isinstance(obj, np.ufunc) or obj is np.clip
        case ir.Attribute(name=method):
            return method == "clip"
    return False


def _results(call: ir.Call) -> int:
    """How many results the function of a call has: of a ufunc it says so."""
    return int(getattr(getattr(call.fn, "obj", None), "nout", 1))


def _masks_entries(call: ir.Call) -> bool:
    return _selects_entries(call.fn) and any(name == "where" for name, _ in call.kwargs)


def _places(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """All expressions of a statement, the place that it writes among them."""
    target = getattr(stmt, "target", None)
    for expr in (*ir.expressions(stmt), *([target] if isinstance(target, ir.Index) else [])):
        yield from ir.walk(expr)


def _known_method(expr: ir.Expr) -> ir.Expr:
    """`np.add.at(...)`: a method of a known ufunc is itself a known object."""
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Ref(text=text, obj=np.ufunc() as ufunc), name)):
            fn = ir.Ref(f"{text}.{name}", getattr(ufunc, name))
            return dataclasses.replace(expr, fn=fn)
    return expr


_HARMLESS = (
    *("seed", "seterr", "seterrcall", "set_printoptions", "setbufsize"),
    *("save", "savez", "savez_compressed", "savetxt"),  # (what is read again: `cut_paths`)
)


def _with_out_named(call: ir.Call, position: int | None) -> ir.Call:
    """`np.cumsum(x, 0, None, y)` -> `np.cumsum(x, 0, None, out=y)`."""
    if position is None or len(call.args) <= position:
        return call
    given = call.args[position:]
    out = (("out", given[0] if len(given) == 1 else ir.Display("tuple", given)),)
    return dataclasses.replace(call, args=call.args[:position], kwargs=call.kwargs + out)


def _is_numpy(obj: Any) -> bool:
    return is_numpy(obj) or isinstance(attribute_of(obj, "__self__", None), np.ufunc)


def _is_for_effect(obj: Any) -> bool:
    """Whether calling a NumPy function as a statement is understood: it scatters or sets modes."""
    name = attribute_of(obj, "__name__", "")
    scatter = name == "at" and isinstance(attribute_of(obj, "__self__", None), np.ufunc)
    return scatter or name in _HARMLESS or name.startswith("assert_")


# --------------------------------------------------------------------------------------------------
# Operands of a ufunc given `where=`, such that nothing happens in the entries that it leaves out.
#
#     np.divide(a, b, out=z, where=m)        b_there = np.where(m, b, 1)
#                                            divide = np.divide(a, b_there)
#                                            z[...] = np.where(m, divide, z)
#
# NumPy computes the chosen entries only: no division by zero, no warning. Written as a selection
# all entries are computed, so that the others get operands that any operation can take, and their
# derivatives are finite there as well, to any order.


# What takes every number, and gives no infinity.
_EASY = (np.add, np.subtract, np.multiply, np.negative, np.maximum, np.minimum, np.fmax, np.fmin)
_EASY_TOO = (np.absolute, np.sign, np.sin, np.cos, np.tanh, np.arctan, np.square, np.clip)
# Operands, by position, that decide alone.
_DECIDING: dict[object, int] = {np.divide: 1, np.floor_divide: 1, np.remainder: 1, np.fmod: 1}
_DECIDING |= {np.power: 0, np.float_power: 0}
# An operand at which an operation is smooth, where 1 is not.
_INSIDE: dict[object, int] = {np.arcsin: 0, np.arccos: 0, np.arctanh: 0, np.arccosh: 2}


def calm_elsewhere(
    call: ir.Call, mask: ir.Expr, origin: ir.Origin, context: Context
) -> tuple[list[ir.Stmt], ir.Call]:
    """The statements that make such operands, and the call with them."""
    ufunc = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    if not isinstance(ufunc, np.ufunc) or ufunc in (*_EASY, *_EASY_TOO):
        return [], call
    made: list[ir.Stmt] = []

    def there(position: int, arg: ir.Expr) -> ir.Expr:
        if isinstance(arg, ir.Const) or _DECIDING.get(ufunc, position) != position:
            return arg
        value = ir.Call(context.numpy("where"), (mask, arg, ir.Const(_INSIDE.get(ufunc, 1))))
        word = f"{arg.name}_there" if isinstance(arg, ir.Var) else "there"
        name = context.fresh(word, context.kind_of(value))
        made.append(ir.Assign(name, value, origin))
        return ir.Var(name)

    args = tuple(there(position, arg) for position, arg in enumerate(call.args))
    return made, dataclasses.replace(call, args=args)


# --------------------------------------------------------------------------------------------------
# `np.put`, `np.place`, `np.putmask`, `np.put_along_axis` and `np.fill_diagonal`, as the stores they
# are.

# The parameters of each, and what it does.
_SCATTERS: dict[Any, tuple[str, str]] = {
    np.put: (
        "a ind v mode='raise'",
        """
        size = np.size(ind)
        fitted = np.resize(v, size)
        places = put_places(ind, a.shape, mode)
        a[places] = fitted""",
    ),
    np.place: (
        "arr mask vals",
        """
        size = np.count_nonzero(mask)
        fitted = np.resize(vals, size)
        arr[mask] = fitted""",
    ),
    np.putmask: (
        "a mask values",
        """
        size = a.shape
        fitted = np.resize(values, size)
        merged = np.where(mask, fitted, a)
        a[...] = merged""",
    ),
    np.put_along_axis: (
        "arr indices values axis=-1",
        "places = along_axis(indices, arr.shape, axis); arr[places] = values",
    ),
    np.fill_diagonal: (
        "a val wrap=False",
        """
        size = min(a.shape)
        diagonal = np.diag_indices(min(a.shape), a.ndim)
        fitted = np.resize(val, size)
        a[diagonal] = fitted""",
    ),
}
_SCATTERS[np.ndarray.put] = _SCATTERS[np.put]
_PUT_IN_VECTOR = """
    size = np.shape(ind)
    fitted = np.resize(v, size)
    a[ind] = fitted"""
_WRAPPED_DIAGONAL = """
    diagonal = diagonal_places(a.shape, wrap)
    size = np.size(diagonal[0])
    fitted = np.resize(val, size)
    a[diagonal] = fitted"""


def scatter_stores(
    stmt: ir.Stmt, call: ir.Call, obj: Any, context: Context
) -> list[ir.Stmt] | None:
    """The statements that write what the call of one of these functions writes, or None."""
    if obj not in _SCATTERS:
        return None
    params, text = _SCATTERS[obj]
    parts = [param.partition("=") for param in params.split()]
    names = [name for name, *_ in parts]
    given: dict[str, ir.Expr] = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
    for name, _, default in parts:
        if default:
            given.setdefault(name, ir.Const(ast.literal_eval(default)))
    if len(call.args) > len(names) or given.keys() != set(names):
        return None
    if given.get("axis") == ir.Const(None):
        plain = ir.Call(call.fn, (given["arr"], given["indices"], given["values"]))
        return scatter_stores(stmt, plain, np.put, context)
    if given.get("mode") == ir.Const("raise"):
        vector = context.kind_of(given["a"]).rank == 1
        text = _PUT_IN_VECTOR if vector else text.replace(", mode", "")
    if given.get("wrap", ir.Const(False)) != ir.Const(False):
        text = _WRAPPED_DIAGONAL
    return _fitted(stmt, text, context, **given)


def _fitted(stmt: ir.Stmt, text: str, context: Context, **given: ir.Expr) -> list[ir.Stmt]:
    """What a text says, in which a value is repeated or cut to a size, as these functions do; a
    number fits as it is."""
    value = next((given[name] for name in given if f"resize({name}," in text), None)
    if value is not None and context.kind_of(value).form == "number":
        lines = (line for line in text.split("\n") if "size" not in line)
        return context.instead(stmt, "\n".join(lines), fitted=value, **given)
    return context.instead(stmt, text, **given)


# --------------------------------------------------------------------------------------------------
# `a.flat`, an iterator over the entries of an array, as reads and stores of the array.


class Overlaps:
    """What a statement writes entry by entry, or part by part, while it reads: NumPy makes no copy
    first, as it does for `a[k] = v`, and reads of `m.flat = m[::-1].ravel()` what it has written.
    """

    def __init__(self, function: ir.Function, context: Context) -> None:
        self.function = function
        self.context = context

    @functools.cached_property
    def classes(self) -> Mapping[str, str]:
        return Sharing(structure(self.function), self.context.sources()).classes

    def checks(self, stmt: ir.Stmt, a: ir.Expr, values: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        """The checks that no values may be views of what is written."""
        if not isinstance(a, ir.Var):
            return []
        own, read = self.classes.get(a.name, a.name), (n for v in values for n in ir.names_in(v))
        sharing = (n for n in sorted(read) if own in map(self._class_of, (n, element(n))))
        pairs = [(a, ir.Var(name)) for name in sharing]
        return [self.context.check("require_apart", pair, stmt.origin) for pair in pairs]

    def _class_of(self, node: str) -> str:
        return self.classes.get(node, node)


def flat_desugared(function: ir.Function, context: Context) -> ir.Function:
    """A function without `flat`: its entries in rows, whatever their order in memory.

    before::                    after::
        a_flat = a.flat             places = flat_places(k, a.shape)
        a_flat[k] = 2.0             a[places] = 2.0
        a.flat = v                  a[...] = np.resize(v, a.shape)
        a_flat = a.flat             a_flat = a.ravel()
        t = a_flat[k]               t = a_flat[k]
        t = a_flat[1:]              part = a_flat[1:]
                                    t = copy(part)

    An iterator that is kept sees what is written after it was made. Where something is written,
    it is therefore `flat_view(a)`, which refuses an array whose entries are no view in this order.
    """
    statements = list(ir.statements(function.body))
    if not any(_has_flat(stmt) for stmt in statements):
        return function
    reads = Counter(name for stmt in statements for name in ir.reads(stmt))
    writes = any(isinstance(stmt, ir.Store | ir.Update | ir.Do) for stmt in statements)
    normalizer = _Normalizer(context, reads, writes, Overlaps(function, context))
    return normalizer.rewritten(function)


def _has_flat(stmt: ir.Stmt) -> bool:
    match stmt:
        case (
            ir.Assign(value=ir.Attribute(name="flat")) | ir.Store(target=ir.Attribute(name="flat"))
        ):
            return True
    return False


_MAY_BE_SLICE = ("unknown", "value", "other")


class _Normalizer(ir.Rewriter):
    def __init__(
        self, context: Context, reads: Counter[str], writes: bool, overlaps: Overlaps
    ) -> None:
        self.context = context
        self.overlaps = overlaps
        self.reads = reads
        self.writes = writes
        self.vectors: set[str] = set()  # the names of iterators

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        written: dict[str, ir.Expr] = {}  # iterators that one store of this block uses
        for place, stmt in enumerate(block):
            match stmt:
                case ir.Assign(target=str(name), value=ir.Attribute(base, "flat")) if (
                    self._may_be_array(base) or self._is_number(base)
                ):
                    if self._is_for_a_store(name, base, block[place + 1 :]):
                        written[name] = base
                    else:
                        self.vectors.add(name)
                        out.append(self._vector(stmt, name, base, block[place + 1 :]))
                case ir.Assign(str(), ir.Index(ir.Var(name), key)) if name in self.vectors:
                    out += self._copied(stmt) if self._may_be_slice(key) else [stmt]
                case ir.Store(target=ir.Attribute(base, "flat")) if self._may_be_array(base):
                    text = "size = a.shape\nfitted = np.resize(v, size)\na[...] = fitted"
                    out += self.overlaps.checks(stmt, base, (stmt.value,))
                    out += _fitted(stmt, text, self.context, a=base, v=stmt.value)
                case ir.Store() | ir.Update() if (
                    item := _item_of(stmt)
                ) is not None and item in written:
                    out += self._written(stmt, written[item])
                case _:
                    out.append(self.inside(stmt))
        return tuple(out)

    def _may_be_array(self, base: ir.Expr) -> bool:
        return self.context.kind_of(base).form in ("array", "value", "unknown")

    def _is_number(self, base: ir.Expr) -> bool:
        return self.context.kind_of(base).form == "number"

    def _is_for_a_store(self, name: str, base: ir.Expr, later: ir.Block) -> bool:
        """Whether an iterator is made for `base.flat[k] = v` or `base.flat[k] += v` alone."""
        for stmt in later:
            if _item_of(stmt) == name:
                return self.reads[name] == 1
            if ir.names_in(base) & set(ir.binds(stmt)):
                return False
        return False

    def _written(self, stmt: ir.Store | ir.Update, base: ir.Expr) -> list[ir.Stmt]:
        assert isinstance(stmt.target, ir.Index)
        key, at = stmt.target.key, stmt.origin.place
        if isinstance(key, ir.Slice):
            parts = (key.lower, key.upper, key.step)
            key = ir.Call(ir.SLICE, tuple(p or ir.Const(None) for p in parts))
        text = "places = flat_places(key, a.shape)"
        if isinstance(stmt, ir.Update):
            first, *_ = made = self.context.instead(stmt, text, key=key, a=base)
            assert isinstance(first, ir.Assign) and isinstance(first.target, str)
            return [
                *made,
                dataclasses.replace(stmt, target=ir.Index(base, ir.Var(first.target), at)),
            ]
        text += "\nsize = np.size(places[0])\nfitted = np.resize(v, size)\na[places] = fitted"
        checks = self.overlaps.checks(stmt, base, (stmt.value,))
        return [*checks, *_fitted(stmt, text, self.context, key=key, a=base, v=stmt.value)]

    def _may_be_slice(self, key: ir.Expr) -> bool:
        return isinstance(key, ir.Slice) or self.context.kind_of(key).form in _MAY_BE_SLICE

    def _copied(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`t = a_flat[1:]`: a slice of an iterator is a copy, one of a vector is a view."""
        part = self.context.fresh("part", self.context.kind_of(stmt.value))
        copy = ir.Call(self.context.helper("copy"), (ir.Var(part),), at=stmt.origin.place)
        return [dataclasses.replace(stmt, target=part), dataclasses.replace(stmt, value=copy)]

    def _vector(self, stmt: ir.Assign, name: str, base: ir.Expr, later: ir.Block) -> ir.Stmt:
        """The entries as a vector: read at once, or a view of what is written meanwhile."""
        at = stmt.origin.place
        at_once = (
            self.reads[name] == 1
            and bool(later)
            and isinstance(later[0], ir.Assign)
            and name in ir.reads(later[0])
        )
        if at_once or not self.writes or self._is_number(base):
            vector = ir.Call(ir.Attribute(base, "ravel"), (), at=at)
        else:
            vector = ir.Call(self.context.helper("flat_view"), (base,), at=at)
        return dataclasses.replace(stmt, value=vector)


def _item_of(stmt: ir.Stmt) -> str | None:
    """The name an entry of which a statement writes."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name))) | ir.Update(target=ir.Index(ir.Var(name))):
            return name
    return None
