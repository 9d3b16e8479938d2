"""What is known of the shapes of derived expressions, to compare two of them, and of their axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeGuard

import numpy as np

from ... import ir
from ...ir.kind import INT, MANY, UNKNOWN, Dim, Kind, Shape, is_many, is_named
from ...rules.index_kinds import index_kind
from .facts import DERIVED_NAME, Facts, is_entrywise, numpy_name, runtime_name, words

NUMBER = ()  # the shape of a number; an array may have it as well
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like", "copy")
_TRIANGLES = ("triu", "tril")  # (of an array with two axes or more)
_BINARY = ("+", "-", "*", "/", "**", "%", "//")


def is_number(expr: ir.Expr, facts: Facts) -> bool:
    """Whether the value is surely a number, not an array."""
    match expr:
        case ir.Const(value):
            return isinstance(value, (int, float, complex))
        case ir.Var(name):
            return facts.kind(name).form == "number"
        case ir.Call(fn=ir.Ref(obj=obj)) if obj is len:
            return True
        case ir.Attribute(name="size", base=ir.Var(name)):
            return facts.kind_behind(name).form == "array"
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in _BINARY:
            return all(is_number(arg, facts) for arg in args)
        case _:
            return False


class Shapes:
    """Shapes of names and expressions: equal answers (not None) mean equal shapes."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[str, Hashable] = {}
        stmts = list(ir.statements(function.body))
        count = ir.bindings(stmts, function.param_names)
        updates = Counter(
            s.target.name for s in stmts if isinstance(s, ir.Update) if isinstance(s.target, ir.Var)
        )
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    if name not in facts.kinds and count[name] - updates[name] == 1:
                        shape = self.of(value)
                        if shape is not None and (not updates[name] or _is_new_array(value)):
                            self._names[name] = shape

    def told_since(self, other: Shapes) -> Iterable[str]:
        """The names of whose shapes more, or something else, is known here than there."""
        if self is other:
            return ()
        return [n for n, shape in self._names.items() if other._names.get(n) != shape]

    def sized(self, function: ir.Function, facts: Facts) -> dict[str, str]:
        """For temporaries of a function, a name of the same shape that is bound earlier, and is not
        kept for its shape: an argument (one that is bound again, where all that it is has that
        shape), or what they were computed from."""
        stmts = list(ir.statements(function.body))
        count = ir.bindings(stmts, function.param_names)
        listless = {n for n in count if facts.kind(n).form in ("array", "value") and count[n] == 1}
        given: dict[Hashable, str] = {}
        for param in function.param_names:
            shape = self.of(ir.Var(param))
            if facts.kind(param).form == "array" and (count[param] == 1 or _is_axes(shape)):
                given.setdefault(shape, param)
        found: dict[str, str] = {}
        own = set(map(id, function.body))
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call() | ir.Index() as value) if (
                    name in facts.temporaries and count[name] == 1
                ):
                    shape, part = self.of(ir.Var(name)), of_same_shape(value, facts)
                    if shape and shape in given:
                        found[name] = given[shape]
                        if isinstance(part, ir.Var) and part.name in function.param_names:
                            found[name] = part.name if self.of(part) == shape else given[shape]
                    elif id(stmt) in own and isinstance(part, ir.Var) and part.name in listless:
                        found[name] = found.get(part.name, part.name)
        return found

    def of(self, expr: ir.Expr) -> Hashable:
        """The shape of an expression's value; None where nothing is known."""
        match expr:
            case ir.Const(value):
                return NUMBER if isinstance(value, (int, float, complex)) else None
            case ir.Var(name):
                return self._of_name(name)
            case ir.Attribute(name="size") | ir.Call(fn=ir.Ref(text="len")):
                return NUMBER if is_number(expr, self._facts) else None
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=kwargs):
                return self._of_call(fn, args, kwargs)
            case ir.Call(fn=ir.Attribute(base, "copy")):
                return self.of(base)
            case ir.Index(base, key):
                shape = self.of(base)
                if isinstance(shape, str) or _is_axes(shape):
                    part = _part_of(shape, key, self._facts)
                    if isinstance(part, str) or (part is not None and all(map(is_named, part))):
                        return part
                return None if shape is None else ("part", shape, key)
            case _:
                return None

    def _of_name(self, name: str) -> Hashable:
        if name in self._names:
            return self._names[name]
        kind = self._facts.kind(name)
        if kind.form == "number":
            return NUMBER
        if kind.form not in ("array", "value") or kind.shape is None:
            return None
        if isinstance(kind.shape, tuple) and not all(map(is_named, kind.shape)):
            return None
        return kind.shape

    def _of_call(
        self, fn: ir.Ref, args: tuple[ir.Expr, ...], kwargs: tuple[tuple[str, ir.Expr], ...]
    ) -> Hashable:
        if fn.text in _BINARY:
            return self._joined(args)
        name = runtime_name(fn.obj)
        if name in ("unbroadcast", "broadcast_like") and len(args) == 2:
            return self.of(args[1])
        if (name or numpy_name(fn.obj)) in _LIKE and args:
            return self.of(args[0])
        if numpy_name(fn.obj) in _TRIANGLES and args:
            shape = self.of(args[0])
            return shape if _is_axes(shape) and len(shape) > 1 else None
        if fn.obj is np.where and len(args) == 3:
            return self._joined(args)
        if fn.obj is np.expand_dims and len(args) == 2:
            return _expanded(self.of(args[0]), args[1])
        if numpy_name(fn.obj) == "sum" and len(args) == 1:
            return _summed(self.of(args[0]), dict(kwargs))
        if is_entrywise(fn.obj):
            return self._joined(args)
        return None

    def _joined(self, args: tuple[ir.Expr, ...]) -> Hashable:
        """The shape of an elementwise result where no broadcasting but that of numbers happens."""
        found: Hashable = NUMBER
        for arg in args:
            shape = self.of(arg)
            if shape is None:
                return None
            if shape in (NUMBER, found):
                continue
            if found == NUMBER:
                found = shape
            elif _is_axes(shape) and _is_axes(found):
                found = _spread([shape, found])
                if found is None or None in found:
                    return None
            else:
                return None
        return found


def _is_new_array(expr: ir.Expr) -> bool:
    """Whether a value is an array, which in-place operations leave as large as it is."""
    return (
        isinstance(expr, ir.Call)
        and isinstance(expr.fn, ir.Ref)
        and (numpy_name(expr.fn.obj) in _LIKE)
    )


def _is_axes(shape: Hashable) -> TypeGuard[Axes]:
    """Whether a shape has the length of each axis."""
    return isinstance(shape, tuple) and shape[:1] != ("part",)


def _part_of(shape: Shape, key: ir.Expr, facts: Facts) -> Shape:
    """The shape of `x[key]`, x an array of a shape."""

    def kind_of(part: ir.Expr) -> Kind:
        match part:
            case ir.Var(name):
                return facts.kind(name)
            case ir.Const(value):
                return INT if type(value) is int else UNKNOWN
        return UNKNOWN

    return index_kind(Kind("array", shape=shape), key, kind_of).shape


def _expanded(shape: Hashable, axis: ir.Expr) -> Axes | None:
    """The shape of `np.expand_dims(x, axis)`."""
    if not _is_axes(shape) or not isinstance(axis, ir.Const) or type(axis.value) is not int:
        return None
    place = axis.value if axis.value >= 0 else len(shape) + 1 + axis.value
    return (*shape[:place], 1, *shape[place:])


def of_same_shape(expr: ir.Expr, facts: Facts) -> ir.Expr:
    """A part of an elementwise expression that has its shape: `r` for `r * r` and `2.0 * r ** 2`,
    and for `r * s` where no axis of `r` is missing or can be of length 1.

    (`3 * r` is left alone: a list is repeated by it.)
    """
    if not (isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref)) or expr.kwargs:
        return expr
    fn, args = expr.fn, expr.args
    ufunc = is_entrywise(fn.obj) and len(args) == fn.obj.nin
    if not ufunc and fn.text not in _BINARY:
        return expr
    literals = [a.value for a in args if isinstance(a, ir.Const)]
    wider = {of_same_shape(a, facts) for a in args if not isinstance(a, ir.Const)}
    if not wider or not all(isinstance(v, (int, float, complex)) for v in literals):
        return expr
    if fn.text in ("*", "+") and any(isinstance(v, int) for v in literals):
        return expr
    return wider.pop() if len(wider) == 1 else _widest([*wider], facts) or expr


def _widest(parts: Sequence[ir.Expr], facts: Facts) -> ir.Expr | None:
    """The one of several names of arrays and numbers that is as large as all of them together."""
    kinds = {p.name: facts.kind(p.name) for p in parts if isinstance(p, ir.Var)}
    ranks = [kind.rank for kind in kinds.values()]
    if len(kinds) < len(parts) or None in ranks:
        return None
    for name, kind in sorted(kinds.items()):
        shape = kind.shape if kind.form == "array" and isinstance(kind.shape, tuple) else ()
        if shape and len(shape) == max(r or 0 for r in ranks) and all(map(is_many, shape)):
            return ir.Var(name)
    return None


# --------------------------------------------------------------------------------------------------
# How long the axes of the values of a derived program are: of names that a transform made, too.
#
# An adjoint may be narrower than its value, where what reads it spreads it: what is known of it
# follows from what it is given, not from its name.

Axes = tuple[Dim, ...]
_OPERATORS = ("+", "-", "*", "/", "**", "%", "//")
_OPEN: Axes = ("open",)  # those of a name of which no definition is known yet


class AxesOf:
    """Lengths of the axes of names and expressions, as kinds have them; None where even their
    number is not known."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[str, Axes | None] = dict.fromkeys(function.param_names)
        definitions: list[tuple[str, ir.Expr | None]] = []
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(target=str(name)):
                    definitions.append((name, stmt.value))
                case ir.Update(target=ir.Var(name)):
                    definitions.append((name, ir.Call(ir.IADD, (ir.Var(name), stmt.value))))
                case _:
                    definitions += [(name, None) for name in ir.binds(stmt)]
        definitions = [(name, value) for name, value in definitions if self._given(name) is None]
        self._names.update((name, _OPEN) for name, _ in definitions)
        self._settle(definitions)

    def _settle(self, definitions: Iterable[tuple[str, ir.Expr | None]]) -> None:
        changed = True
        while changed:
            changed = False
            for name, value in definitions:
                before = self._names[name]
                joined = _joined(before, None if value is None else self._of(value))
                if joined != before:
                    self._names[name], changed = joined, True

    def of(self, expr: ir.Expr) -> Axes | None:
        """The lengths of the axes of an expression's value."""
        found = self._of(expr)
        return None if found is _OPEN else found

    def _given(self, name: str) -> Axes | None:
        kind = self._facts.kind(name)
        if kind.form == "number":
            return ()
        return kind.shape if isinstance(kind.shape, tuple) else None

    def _of(self, expr: ir.Expr) -> Axes | None:
        match expr:
            case ir.Const(value):
                return () if isinstance(value, (int, float, complex)) else None
            case ir.Var(name):
                given = self._given(name)
                return self._names.get(name) if given is None else given
            case ir.Attribute(name="size" | "ndim"):
                return ()
            case ir.Index(ir.Attribute(name="shape"), ir.Const()):
                return ()
            case ir.Attribute(base, "T"):
                found = self._of(base)
                return found if found is None or found is _OPEN else found[::-1]
            case ir.Call(fn=ir.Attribute(base, "copy"), args=()):
                return self._of(base)
            case ir.Index(base, key):
                axes = self._of(base)
                part = None if axes is None else _part_of(axes, key, self._facts)
                return axes if axes is _OPEN else part if isinstance(part, tuple) else None
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=kwargs):
                return self._of_call(fn, args, dict(kwargs))
        return None

    def _of_call(
        self, fn: ir.Ref, args: tuple[ir.Expr, ...], options: dict[str, ir.Expr]
    ) -> Axes | None:
        name = runtime_name(fn.obj) or numpy_name(fn.obj)
        every = [self._of(arg) for arg in args]
        if fn == ir.IADD:  # (what is added in place leaves an array with axes as large as it is)
            return every[0] or _spread(every)
        if fn.text in _OPERATORS or (is_entrywise(fn.obj) and not options):
            return _spread(every)
        if name == "where" and len(every) == 3:
            return _spread(every)
        if name in ("unbroadcast", "broadcast_like") and len(every) == 2:
            return every[1]
        if name in _LIKE and every:
            return every[0]
        if name in _TRIANGLES and every:
            return every[0] if every[0] is _OPEN or len(every[0] or ()) > 1 else None
        if name == "sum" and len(every) == 1 and every[0] is not _OPEN:
            return _summed(every[0], options)
        if len(every) != 2 or None in every or options:
            return None
        left, right = every
        if fn.obj is np.linalg.solve:
            return right
        if left is _OPEN or right is _OPEN:
            return _OPEN
        assert left is not None and right is not None
        if fn.text == "@" and 1 <= len(left) <= 2 and 1 <= len(right) <= 2:
            return left[:-1] + right[1:]
        return left + right if name == "outer" and len(left) == len(right) == 1 else None


def _summed(shape: Hashable, options: dict[str, ir.Expr]) -> Axes | None:
    """The shape of `np.sum(x, axis=0)` and of `np.sum(x, axis=1, keepdims=True)`."""
    keep = options.get("keepdims", ir.Const(False))
    match options.get("axis"):
        case ir.Const(int() as axis) if _is_axes(shape) and 0 <= axis < len(shape):
            if isinstance(keep, ir.Const):
                return (*shape[:axis], *([1] if keep.value else []), *shape[axis + 1 :])
    return None if options else NUMBER


def _joined(one: Axes | None, other: Axes | None) -> Axes | None:
    """What is true of both.

    >>> _joined(("n!", 3, "k"), ("m!", 1, "k"))
    ('!', None, 'k')
    """
    if one is _OPEN or other is _OPEN:
        return other if one is _OPEN else one
    if one is None or other is None or len(one) != len(other):
        return None
    pairs = zip(one, other, strict=True)
    return tuple(a if a == b else MANY if is_many(a) and is_many(b) else None for a, b in pairs)


def _spread(every: list[Axes | None]) -> Axes | None:
    """Those of what values with these axes are broadcast to.

    >>> _spread([("n!", 1), (), ("m",)])
    ('n!', 'm')
    """
    known = [axes for axes in every if axes is not None]
    if len(known) < len(every) or not known:
        return None
    if any(axes is _OPEN for axes in known):
        return _OPEN
    rank = max(map(len, known))
    full = [(1,) * (rank - len(axes)) + axes for axes in known]
    return tuple(map(_longest, zip(*full, strict=True)))


def _longest(lengths: tuple[Dim, ...]) -> Dim:
    many = [length for length in lengths if is_many(length)]
    others = {length for length in lengths if length != 1}
    if many:
        return many[0]
    return 1 if not others else others.pop() if len(others) == 1 else None


# --------------------------------------------------------------------------------------------------
# Which values of a derived program are surely real: there `np.real(e)` is `e`.
#
# A rule that is real of complex arguments takes the real part of what comes back, since that may
# have met complex values on its way. Most often it has not, and every binding on the way says so.


_ARITHMETIC = ("+", "-", "*", "/", "@")
# Real whatever they are given.
_REAL_PARTS = words("absolute real imag angle norm vector_norm matrix_norm var std size ndim")
# As real as all that they are given.
_KEEPING_NUMPY = words(
    "sum mean expand_dims squeeze reshape ravel transpose swapaxes broadcast_to dot outer zeros "
    "ones full zeros_like ones_like full_like moveaxis flip roll copy"
)
_KEEPING_RUNTIME = words(
    "broadcast_like unbroadcast unreduce zeros_like ones_like copy ratio_or_zero part_like "
    "swap_last"
)
_KEEPING_METHODS = words("copy sum reshape ravel transpose")


def drop_real_parts(function: ir.Function, facts: Facts) -> ir.Function:
    """Write `e` for `np.real(e)` where e is surely real.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("y_bar = 2.0; z_bar = np.real(y_bar) * unit; return z_bar"))
    >>> print(show(drop_real_parts(f, Facts(real=False)).body))
    y_bar = 2.0
    z_bar = y_bar * unit
    return z_bar
    """
    if facts.real or not any(map(_takes_real_part, _derived_expressions(function))):
        return function
    real = RealNames(function, facts)

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if _takes_real_part(e):
            assert isinstance(e, ir.Call)
            return e.args[0] if real.covers(e.args[0]) else e
        return e

    def statement(stmt: ir.Stmt) -> ir.Stmt:
        ours = stmt.origin.is_derived and not ir.is_compound(stmt)
        return ir.map_statement(stmt, expr=expr) if ours else stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _derived_expressions(function: ir.Function) -> Iterator[ir.Expr]:
    for stmt in ir.statements(function.body):
        if stmt.origin.is_derived:
            for whole in ir.expressions(stmt):
                yield from ir.walk(whole)


def _takes_real_part(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_,), kwargs=()):
            return obj is np.real
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, _)):
            return runtime_name(obj) == "fitting"  # (real where the adjoint is that takes it in)
    return False


class RealNames:
    """The names of a program that are surely bound to real values, however often."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.facts = facts
        bound: dict[str, list[ir.Expr | None]] = {}
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    bound.setdefault(name, []).append(value)
                case ir.Update(target=ir.Var(name), value=value):
                    bound.setdefault(name, []).append(value)
                case _:
                    for name in ir.binds(stmt):
                        bound.setdefault(name, []).append(None)
        for name in function.param_names:
            bound.setdefault(name, []).append(None)
        self.known = {n for n, kind in facts.kinds.items() if self._is_real_kind(n, kind.dtype)}
        self.names = self.known | set(bound)
        while True:  # (the largest set of names that bear each other out)
            wrong = {n for n in self.names - self.known if not all(map(self._is, bound[n]))}
            if not wrong:
                break
            self.names -= wrong

    def _is_real_kind(self, name: str, dtype: str) -> bool:
        # What is known of an adjoint is known of its primal: it may come with an imaginary part.
        return dtype in ("float", "int", "bool") and not DERIVED_NAME.match(name)

    def _is(self, value: ir.Expr | None) -> bool:
        return value is not None and self.covers(value)

    def covers(self, expr: ir.Expr) -> bool:
        """Whether the value of an expression is surely real."""
        match expr:
            case ir.Const(value):
                return isinstance(value, (int, float)) or value is None
            case ir.Var(name):
                return name in self.names
            case ir.Ref(text=text, obj=obj):
                return isinstance(obj, float) and text.partition(".")[0] in ("np", "math")
            case ir.Index(base=base):
                return self.covers(base)
            case ir.Attribute(base=base, name="T"):
                return self.covers(base)
            case ir.Attribute(name="size" | "ndim" | "shape"):
                return True
            case ir.Call(fn=ir.Attribute(base, name)) if name in _KEEPING_METHODS:
                return self.covers(base)
            case ir.Call(fn=ir.Ref(text="**"), args=(base, ir.Const(int()))):
                return self.covers(base)
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=options):
                if any(name in ("dtype", "out") for name, _ in options):
                    return False
                if numpy_name(fn.obj) == "where":
                    return len(args) == 3 and all(map(self.covers, args[1:]))
                return _is_real_part(fn) or (_keeps_real(fn) and all(map(self.covers, args)))
        return False


def _is_real_part(fn: ir.Ref) -> bool:
    if runtime_name(fn.obj) == "scalar_seed" or fn.obj is len:
        return True
    return numpy_name(fn.obj) in _REAL_PARTS


def _keeps_real(fn: ir.Ref) -> bool:
    """Whether an operation on real values alone gives real ones."""
    if fn.text in _ARITHMETIC:
        return True
    if isinstance(fn.obj, np.ufunc):
        return fn.obj.nout == 1
    return runtime_name(fn.obj) in _KEEPING_RUNTIME or numpy_name(fn.obj) in _KEEPING_NUMPY
