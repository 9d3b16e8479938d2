"""What a standalone file defines in place of helpers of the runtime: the same in few lines.

The runtime's own helpers serve lists, dicts, objects, sparse matrices and arrays of other
libraries, and they are fast for small arrays. These serve numbers and NumPy arrays, the last of
them also lists, dicts and objects that hold such. Their text is copied; the package itself calls
none of them. What arguments have to be is written out as a test.
"""

from __future__ import annotations

import itertools
import re
import string
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ... import ir, runtime
from ...ir.kind import UNKNOWN
from ...rules import default_book
from ...runtime.records import Entries
from ...runtime.stated_types import REAL, holds_complex, stated_types, type_parts

_OF_ARRAYS = frozenset(dir(np.ndarray)) | {"append", "pop"}  # (what is saved is kept in lists)
_CHECK = ir.Ref("require_types", runtime.require_types)
_CONTAINERS = ("list", "tuple", "dict", "sequence", "mapping", "callable")


def scalar_seed(y: Any) -> Any:
    """The adjoint 1.0 of the result, which has to be a real number."""
    if np.ndim(y) or np.iscomplexobj(y):
        raise ValueError("the result is no real number, so it has no gradient")
    return 1.0


def zeros_like(x: Any) -> Any:
    """Zeros in the shape of `x`."""
    dtype = np.asarray(x).dtype
    return np.zeros(np.shape(x), dtype if dtype.kind in "fc" else float)[()]


def broadcast_like(g: Any, y: Any) -> Any:
    """`g` in the shape of `y`."""
    return unbroadcast(g + np.zeros(np.shape(y)), y)


def part_like(part: Any, value: Any) -> Any:
    """The adjoint of `value` where `part` of an adjoint is what it was put into."""
    return broadcast_like(part, value)


def reached(mask: Any, x: Any) -> Any:
    """Which entries of `x`, broadcast to the shape of `mask`, it selects at least once."""
    return unbroadcast(np.not_equal(mask, 0) + np.zeros(np.shape(x)), x) != 0


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum `g` over the axes along which `like` was broadcast; real where `like` is real."""
    like = np.asarray(like)
    lead = np.ndim(g) - like.ndim
    axes = tuple(k for k in range(np.ndim(g)) if k < lead or like.shape[k - lead] == 1)
    total = np.sum(g, axis=axes).reshape(like.shape)[()]
    total = total if like.dtype.kind == "c" else np.real(total)
    return total.astype(like.dtype) if like.dtype.kind in "fc" else total


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over what was broadcast from the shape."""
    lead = np.ndim(g) - len(shape)
    axes = tuple(k for k in range(np.ndim(g)) if k < lead or shape[k - lead] == 1)
    return np.sum(g, axis=axes).reshape(shape)[()]


def cast_like(g: Any, like: Any) -> Any:
    """`g` with the dtype of `like`."""
    g = g if np.iscomplexobj(like) else np.real(g)
    dtype = np.asarray(like).dtype
    return np.asarray(g, dtype if dtype.kind in "fc" else None)[()]


def real_part(g: Any) -> Any:
    """The real part of a complex adjoint, that of a real value."""
    return g.real


def added(a: Any, b: Any) -> Any:
    """The sum of two adjoints of one value."""
    return a + b


def copy(x: Any) -> Any:
    """A number or an array that may be written instead of `x`."""
    return x.copy() if isinstance(x, np.ndarray) else x


def add_at(x_bar: Any, key: Any, g: Any) -> Any:
    """`x_bar[key] += g`, in which repeated indices count."""
    g = g if np.iscomplexobj(x_bar) else np.real(g)
    if isinstance(key, (int, slice)):
        x_bar[key] += g
    else:
        np.add.at(x_bar, key, g)
    return x_bar


def swap_last(x: Any) -> Any:
    """The transposed matrix, for each matrix of a stack; a vector is left as it is."""
    return x if np.ndim(x) < 2 else np.swapaxes(x, -1, -2)


def matmul_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `a @ b`; `g` may have the shape of what that was broadcast to."""
    g, _, b = _as_matrices(g, a, b)
    return unbroadcast(g @ np.swapaxes(b, -1, -2), a)


def matmul_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `a @ b`; `g` may have the shape of what that was broadcast to."""
    g, a, _ = _as_matrices(g, a, b)
    found = np.swapaxes(a, -1, -2) @ g
    return unbroadcast(found[..., 0] if np.ndim(b) == 1 else found, b)


def _as_matrices(g: Any, a: Any, b: Any) -> Any:
    """`g`, and the conjugates of `a` and `b`: of a vector, a matrix of one column or row."""
    if np.ndim(b) == 1:
        g, b = np.expand_dims(g, -1), b[:, None]
    if np.ndim(a) == 1:
        g, a = np.expand_dims(g, -2), a[None]
    return unbroadcast(g, a[..., :0] @ b[..., :0, :]), np.conj(a), np.conj(b)


def dot_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `np.dot(a, b)`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * np.conj(b), a)
    g, axes = unbroadcast(g, _empty_dot(a, b)), range(np.ndim(b) - 1)
    b = np.moveaxis(b, -2, -1) if axes else b
    return unbroadcast(np.tensordot(g, np.conj(b), ([k - len(axes) for k in axes], axes)), a)


def dot_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `np.dot(a, b)`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * np.conj(a), b)
    g, axes = unbroadcast(g, _empty_dot(a, b)), range(np.ndim(a) - 1)
    product = np.tensordot(np.conj(a), g, (axes, axes))
    return unbroadcast(np.moveaxis(product, 0, -2) if np.ndim(b) > 1 else product, b)


def _empty_dot(a: Any, b: Any) -> Any:
    """Zeros in the shape of `np.dot(a, b)`."""
    return np.dot(a[..., :0], b[:0] if np.ndim(b) == 1 else b[..., :0, :])


def power_slope(x: Any, p: Any) -> Any:
    """`p * x**(p - 1)`, the derivative of a power by its base; 0 where `p` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == 0, 0.0, p * np.power(x, p - 1.0))[()]


def eye(n: int, like: Any) -> Any:
    """The identity matrix."""
    return np.eye(n)


def arange(count: int, like: Any) -> Any:
    """The numbers below `count`."""
    return np.arange(count)


def inverse_of_lower(x: Any) -> Any:
    """The inverse of a lower triangular matrix."""
    return np.linalg.inv(x)


def cholesky_bar(factor: Any, factor_bar: Any, lower: Any = True, inverse: Any = None) -> Any:
    """The adjoint of a symmetric (Hermitian) matrix from its lower Cholesky factor, and from the
    inverse of that if it is there."""
    inverse = np.linalg.inv(factor) if inverse is None else inverse
    n, dtype = factor.shape[-1], factor.dtype
    half = np.tri(n, dtype=dtype) - np.eye(n, dtype=dtype) / 2
    inner = half * (np.conj(swap_last(factor)) @ factor_bar)
    both = np.conj(swap_last(inverse)) @ inner @ inverse
    both = both + np.conj(swap_last(both))
    return both * (half if lower in (True, "L", "l") else half.T)


def zeros_inside(x: Any) -> Any:
    """Zeros in the structure of `x`: a tuple has a list, an object a namespace."""
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else float)
    if isinstance(x, dict):
        return {key: zeros_inside(item) for key, item in x.items()}
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return [zeros_inside(item) for item in x]
    numbers = (int, float, complex, np.generic, np.ndarray)
    of_class = (n for c in type(x).__mro__ for n, v in vars(c).items() if isinstance(v, numbers))
    own = (*(n for n in of_class if n[:2] != "__"), *getattr(x, "__dict__", ()))
    names = getattr(x, "_fields", None) or dict.fromkeys(own)
    if not names or isinstance(x, (type, types.FunctionType, types.ModuleType)):
        return np.zeros_like(x)[()] if isinstance(x, (float, complex, np.inexact)) else 0.0
    return types.SimpleNamespace(**{name: zeros_inside(getattr(x, name)) for name in names})


def added_inside(a: Any, b: Any) -> Any:
    """The sum of two adjoints of one value, entry by entry in what holds others."""
    if isinstance(a, types.SimpleNamespace) and isinstance(b, types.SimpleNamespace):
        return types.SimpleNamespace(**added_inside(vars(a), vars(b)))
    if isinstance(a, dict) and isinstance(b, dict):
        both = {key: added_inside(a[key], b[key]) for key in a.keys() & b.keys()}
        return {key: both.get(key, item) for key, item in {**a, **b}.items()}
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        return [added_inside(p, q) for p, q in zip(a, b, strict=True)]
    return a + b


def cast_inside(g: Any, like: Any) -> Any:
    """`g` with the dtype of `like`, entry by entry in what holds others."""
    if isinstance(g, dict):
        return {key: cast_inside(part, like[key]) for key, part in g.items()}
    if isinstance(g, types.SimpleNamespace):
        parts = {name: cast_inside(part, getattr(like, name)) for name, part in vars(g).items()}
        return types.SimpleNamespace(**parts)
    if isinstance(like, (list, tuple)):
        return Entries(cast_inside(part, item) for part, item in zip(g, like, strict=True))
    return cast_like(g, like)


def nest_like(g: Any, nested: Any) -> Any:
    """The adjoint of `np.array(nested)`: entries of `g` in the nesting of `nested`."""
    if isinstance(nested, (list, tuple)):
        return Entries(nest_like(g[i], item) for i, item in enumerate(nested))
    return cast_like(g, nested)


def require_class(x: Any, cls: type, *own: str) -> None:
    """Check that `x` is of the class whose methods this derivative was made from."""
    others = set(getattr(x, "__dict__", ())).difference(own)
    hidden = (isinstance(getattr(cls, n, None), types.FunctionType) for n in others)
    if type(x) is not cls or any(hidden):
        raise TypeError(f"this derivative was made for a {cls.__name__} with the methods of that")


def added_at(x_bar: Any, key: Any, g: Any) -> Any:
    """`x_bar[key] += g`, in which repeated indices count."""
    if isinstance(x_bar, (list, dict)):
        x_bar[key] = added_inside(x_bar[key], g)
    elif isinstance(key, (int, slice)):
        x_bar[key] += g if np.iscomplexobj(x_bar) else np.real(g)
    else:
        np.add.at(x_bar, key, g if np.iscomplexobj(x_bar) else np.real(g))
    return x_bar


SHORT: dict[str, Callable[..., Any]] = {
    form.__name__: form
    for form in (
        *(
            scalar_seed,
            zeros_like,
            broadcast_like,
            unbroadcast,
            sum_to,
            cast_like,
            added,
        ),
        *(
            part_like,
            reached,
            copy,
            add_at,
            swap_last,
            dot_bar_a,
            dot_bar_b,
            matmul_bar_a,
            matmul_bar_b,
            power_slope,
            eye,
            arange,
        ),
        *(inverse_of_lower, cholesky_bar),
    )
}
SHORT.update(accumulate=added, conj=np.conj)
# Where there are lists, dicts and objects among the arguments.
SHORT_INSIDE: dict[str, Callable[..., Any]] = {
    **{name: form for name, form in SHORT.items() if form not in (part_like, reached, copy)},
    **{"zeros_like": zeros_inside, "added": added_inside, "accumulate": added_inside},
    **{"add_at": added_at, "nest_like": nest_like, "require_class": require_class},
    "cast_like": cast_inside,
}
_CHECKS = ("require_field",)  # of any value


def _of_runtime(obj: Any) -> bool:
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.startswith(runtime.__name__)


def serves_containers(helpers: Iterable[Any]) -> bool:
    """Whether there is something shorter for each of these that is a helper of the runtime, which
    refuses the values that it does not serve."""
    names = (getattr(obj, "__name__", "") for obj in helpers if _of_runtime(obj))
    return all(name in SHORT_INSIDE or name in _CHECKS for name in names)


def short_form(obj: Any, of_arrays: bool = True) -> Any:
    """What stands for a helper of the runtime, if there is something shorter."""
    if not _of_runtime(obj):
        return obj
    forms = SHORT if of_arrays else SHORT_INSIDE
    return forms.get(getattr(obj, "__name__", ""), obj)


def is_typed(module: ir.Module) -> bool:
    """Whether types are stated of arguments, all of which could be written out as tests."""
    stmts = [stmt for function in module.functions for stmt in function.body]
    tests = (stmt for stmt in stmts if is_test(stmt) and not _is_of_real(stmt))
    return any(tests) and not any(
        part == _CHECK for stmt in stmts for part in ir.walk_statement(stmt)
    )


def is_test(stmt: ir.Stmt) -> bool:
    """Whether a statement is a test of the types of arguments, written out or by the helper."""
    match stmt:
        case ir.If(test=ir.Opaque(), body=(ir.OpaqueStmt(text=text),)):
            return text.startswith(_REFUSAL)
    return False


def _is_of_real(test: ir.Stmt) -> bool:
    return isinstance(test, ir.If) and getattr(test.body[0], "text", "") == _text_of(_OF_REAL)


def takes_containers(module: ir.Module) -> bool:
    """Whether types are stated of an argument that holds others, though the text may show it only
    as `np.asarray(x)`."""
    for stmt in itertools.chain.from_iterable(function.body for function in module.functions):
        match stmt:
            case ir.Do(ir.Call(ir.Ref(obj=runtime.require_types), (ir.Const(types), *_))):
                heads = [re.split(r"[\[(]", text) for _, text in stated_types(types)]
                if any(len(parts) > 1 and parts[0] not in _CLASSES for parts in heads):
                    return True
    return False


def is_of_arrays(module: ir.Module) -> bool:
    """Whether all that the functions of a module compute with may be numbers and arrays: it shows
    no lists, dicts or objects, but those that only keep what is saved."""
    given = {function.name: _given(function) for function in module.functions}
    if not is_typed(module) and any(map(_unpacks_argument, module.functions)):
        return False
    return not any(_shows_containers(function, given) for function in module.functions)


def _unpacks_argument(function: ir.Function) -> bool:
    """Whether a function takes an argument apart, which may be a tuple of arrays of any shapes."""
    return any(
        isinstance(stmt, ir.Assign)
        and isinstance(stmt.target, tuple)
        and isinstance(stmt.value, ir.Var)
        and stmt.value.name in function.param_names
        for stmt in ir.statements(function.body)
    )


def _given(function: ir.Function) -> ir.Expr | None:
    """What a function gives back."""
    last = function.body[-1] if function.body else None
    return last.value if isinstance(last, ir.Return) else None


def _names_container(target: ir.Target, value: ir.Expr | None) -> bool:
    """Whether a name gets a tuple that a function gives back, unless it is only saved."""
    if isinstance(value, ir.Display) and isinstance(target, tuple):
        *parts, _ = zip(target, value.items, strict=False)
        return any(_names_container(part, item) for part, item in parts)
    return isinstance(value, ir.Display) and target != "_"


def _shows_containers(function: ir.Function, given: dict[str, ir.Expr | None]) -> bool:
    if any(word in p.annotation.lower() for p in function.params for word in _CONTAINERS):
        return True
    lists = set[str]()
    for statement in ir.statements(function.body):
        if isinstance(statement, ir.For) and _goes_through(statement, lists):
            continue
        if isinstance(statement, ir.For):
            numbers = isinstance(statement.iter, ir.Call) and isinstance(statement.iter.fn, ir.Ref)
            if not numbers or isinstance(statement.target, tuple):
                return True
        value = getattr(statement, "value", None)
        if isinstance(value, ir.Call) and isinstance(statement, ir.Assign):
            called = given.get(getattr(value.fn, "text", ""))
            if called is not None and _names_container(statement.target, called):
                return True
            if isinstance(statement.target, str) and _gives_container(value):
                return True
        for target, part in _bound(statement):
            if isinstance(part, ir.Display):
                if part.items:
                    return True
                lists.update(ir.target_names(target))
        if any(_is_of_container(expr, lists) for expr in ir.expressions(statement)):
            return True
    return False


def _goes_through(loop: ir.For, lists: set[str]) -> bool:
    """Whether a loop takes what is saved in one of these lists."""
    match loop.iter:
        case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name),)):
            return obj is reversed and name in lists
    return False


def _bound(stmt: ir.Stmt) -> Iterable[tuple[ir.Target, ir.Expr]]:
    """What a statement binds, each by itself (`a, b = x, y` makes no tuple)."""
    match stmt:
        case ir.Assign(target=tuple() as targets, value=ir.Display(items=items)):
            return zip(targets, items, strict=False)
        case ir.Assign(target=target, value=value):
            return ((target, value),)
    return ()


def _gives_container(call: ir.Call) -> bool:
    """Whether an operation gives a tuple or list, as its rule says."""
    kind = default_book().result_kind(call, lambda operand: UNKNOWN)
    return kind.form in ("tuple", "list")


def _is_of_container(expr: ir.Expr, lists: set[str]) -> bool:
    """Whether an expression, or a part of it, is of a container; one of `lists` is, unless an
    item is put into it or taken from its end."""
    if isinstance(expr, ir.Attribute) and isinstance(expr.base, ir.Var):
        return expr.name not in _OF_ARRAYS
    if isinstance(expr, ir.Display) and expr.form not in ("tuple", "list"):
        return True
    if isinstance(expr, ir.Call) and expr.fn == _CHECK:
        return True  # (`checked` left it)
    if isinstance(expr, ir.Index) and isinstance(getattr(expr.key, "value", None), str):
        return True
    if isinstance(expr, ir.Var):
        return expr.name in lists
    return any(_is_of_container(part, lists) for part in ir.children(expr))


# --------------------------------------------------------------------------------------------------
# The types that a derivative was made for, as one test of the arguments: `u: float[n, m]` says no
# more than that `u` is an array, `u.dtype.kind == 'f'`, `u.ndim == 2` and `1 not in u.shape`.

_KINDS = {"complex": "== 'c'", "float": "== 'f'", "int": "in 'iu'", "bool": "== 'b'"}
_CLASSES = {
    **dict.fromkeys(("complex", "number"), "complex, float, int, np.number"),
    **{"float": "float, int, np.floating, np.integer", "int": "int, np.integer"},
    "bool": "bool, np.bool_",
}


_REFUSAL = "raise TypeError"


def checked(module: ir.Module, holding: bool = False) -> ir.Module:
    """The module with the types of numbers and arrays checked by tests instead of the helper;
    `holding` where arguments of no stated types may be lists, tuples and dicts."""
    functions = (
        replace(fn, body=tuple(_checked(stmt, holding) for stmt in fn.body))
        for fn in module.functions
    )
    return replace(module, functions=tuple(functions))


def _checked(stmt: ir.Stmt, holding: bool) -> ir.Stmt:
    match stmt:
        case ir.Do(ir.Call(ir.Ref(obj=runtime.require_types), (ir.Const(stated), *values))):
            names = [value.name for value in values if isinstance(value, ir.Var)]
            if {text for _, text in stated_types(stated)} == {REAL}:
                return _refusing(_any_complex(names, values, holding), _OF_REAL, stmt.origin)
            test = fitting(stated)
            if test is None or len(names) < len(values):
                return stmt
            refs = (ir.Ref("np", np),)
            failed = ir.Opaque(f"not ({test})", tuple(names), tuple(values), refs)
            return _refusing(failed, f"this derivative was made for {stated}", stmt.origin)
    return stmt


_OF_REAL = "this derivative was made for real numbers"


def _any_complex(names: list[str], values: Iterable[ir.Expr], holding: bool) -> ir.Opaque:
    """The test of whether some arguments are complex numbers, or hold some."""
    ref = ir.Ref("holds_complex", holds_complex) if holding else ir.Ref("np", np)
    asked = f"holds_complex({', '.join(names)})"
    text = asked if holding else " or ".join(f"np.iscomplexobj({name})" for name in names)
    return ir.Opaque(text, tuple(names), tuple(values), (ref,))


def _text_of(message: str) -> str:
    return f"{_REFUSAL}({message!r})"


def _refusing(failed: ir.Opaque, message: str, origin: ir.Origin) -> ir.If:
    error = ir.OpaqueStmt(_text_of(message), (), (), (), (), origin)
    return ir.If(failed, (error,), (), origin)


def fitting(stated: str) -> str | None:
    """A test for whether arguments, and what they hold, have the types that are stated of their
    names; None where the helper of the runtime has to say so.

    >>> print(fitting("k: float, w: float[n, m], x: float[:, m]").replace(" and ", "\\n"))
    isinstance(k, (float, int, np.floating, np.integer))
    all(isinstance(a, np.ndarray)
    a.dtype.kind == 'f' for a in (w, x))
    w.ndim == x.ndim == 2
    w.shape[1] == x.shape[1]
    1 not in (*w.shape, x.shape[0])
    >>> print(fitting("p: dict(w: float[:], b: float)").replace(" and ", "\\n"))
    isinstance(p, dict)
    {'w', 'b'} == p.keys()
    isinstance(p['b'], (float, int, np.floating, np.integer))
    isinstance(p['w'], np.ndarray)
    p['w'].dtype.kind == 'f'
    p['w'].ndim == 1
    1 not in p['w'].shape
    """
    types = stated_types(stated)
    found = _Tests("".join(c for c in string.ascii_letters if c not in dict(types)))
    try:
        for name, text in types:
            found.take(name, text)
        return " and ".join(found.all())
    except _Unwritten:
        return None


class _Unwritten(Exception):
    """A type of which there is no short test."""


class _Tests:
    """Tests of what stands at some places: `numbers` and `arrays`, by their class of entries, the
    `axes` of the arrays; `structures` are tests of containers and objects, `items` what is known
    of all that such a place holds."""

    def __init__(self, letters: str) -> None:
        self.letters = letters  # for what each item of a container is called
        self.structures: list[str] = []
        self.numbers: dict[str, list[str]] = {}
        self.arrays: dict[str, list[str]] = {}
        self.axes: dict[str, list[str]] = {}
        self.items: list[tuple[str, _Tests]] = []

    def take(self, place: str, text: str) -> None:
        """Note what is stated of a place."""
        end = min(text.find(c) % (len(text) + 1) for c in "[(")
        name, bracket, inside = text[:end], text[end : end + 1], type_parts(text[end + 1 : -1])
        if len(type_parts(text, " | ")) > 1:
            raise _Unwritten
        if text == "object":
            return
        if text in _EMPTY:
            self.structures.append(f"{place} == {_EMPTY[text]}")
            return
        if name in _CLASSES:
            (self.arrays if bracket else self.numbers).setdefault(name, []).append(place)
            if bracket:
                self.axes[place] = inside
        elif bracket == "(":
            self._take_fields(place, name, [part.partition(": ")[::2] for part in inside])
        elif name in ("tuple", "list") and len(inside) > (name == "list"):
            self.structures += [f"isinstance({place}, {name})", f"len({place}) == {len(inside)}"]
            for position, part in enumerate(inside):
                self.take(f"{place}[{position}]", part)
        elif name in ("list", "dict") and len(inside) == 1:
            self.structures.append(f"isinstance({place}, {name})")
            self._take_items(f"{place}.values()" if name == "dict" else place, inside[0])
        else:
            raise _Unwritten

    def _take_fields(self, place: str, name: str, fields: list[tuple[str, str]]) -> None:
        if name not in ("object", "tuple"):
            keys = f"{{{', '.join(repr(field) for field, _ in fields)}}} == {place}.keys()"
            kind = f"type({place}).__name__ == {name!r}"
            plain = name == "dict"
            self.structures += [f"isinstance({place}, dict)", keys] if plain else [kind]
        for field, text in fields:
            self.take(f"{place}[{field!r}]" if name == "dict" else f"{place}.{field}", text)

    def _take_items(self, items: str, text: str) -> None:
        if len(self.letters) == 1:
            raise _Unwritten
        inside = _Tests(self.letters[1:])
        inside.take(self.letters[0], text)
        self.items.append((items, inside))

    def all(self, known: Mapping[str, str] | None = None) -> Iterator[str]:
        """The tests, of what holds others first; `known` are lengths of axes that have a name."""
        yield from self.structures
        for entries, names in self.numbers.items():
            yield self._each(names, _NUMBER.format(_CLASSES[entries]))
        for entries, names in self.arrays.items():
            yield self._each(names, _ARRAY.format(_KINDS.get(entries, "in 'cfiub'")))
        yield from _of_shapes(self.axes)
        known, own = known or {}, self.lengths
        yield from (f"{own[axis]} == {known[axis]}" for axis in own if axis in known)
        for items, inside in self.items:
            yield from self._of_items(items, inside, {**own, **known})

    def _each(self, names: list[str], test: str) -> str:
        if len(names) == 1:
            return test.format(*names)
        each = self.letters[0]
        return f"all({test.format(each)} for {each} in ({', '.join(names)}))"

    @property
    def lengths(self) -> dict[str, str]:
        """What says how long the axes are that have a name."""
        found: dict[str, str] = {}
        for name, own in self.axes.items():
            for place, axis in enumerate(own):
                if axis.isidentifier():
                    found.setdefault(axis, f"{name}.shape[{place}]")
        return found

    def _of_items(self, items: str, inside: _Tests, known: Mapping[str, str]) -> Iterator[str]:
        """Tests of all that a list or dict holds: axes with a name are equally long in each."""
        letter, new = self.letters[0], inside.lengths
        if any(inner.lengths for _, inner in inside.items):
            raise _Unwritten
        yield f"all({' and '.join(inside.all(known))} for {letter} in {items})"
        for axis in new.keys() - known.keys():
            yield f"len({{{new[axis]} for {letter} in {items}}}) < 2"


_EMPTY = {"tuple[()]": "()", "dict()": "{}"}
_NUMBER, _ARRAY = (
    "isinstance({{0}}, ({0}))",
    "isinstance({{0}}, np.ndarray) and {{0}}.dtype.kind {0}",
)


def _of_shapes(axes: dict[str, list[str]]) -> Iterator[str]:
    """Tests of arrays with such axes: how many there are, which are equally long, of which length,
    and that the others are not of length 1."""
    axes = {name: own for name, own in axes.items() if own != ["..."]}
    ranks: dict[int, list[str]] = {}
    lengths: dict[str, list[str]] = {}
    whole: dict[tuple[str, ...], str] = {}  # the first array with these axes
    long: list[str] = []
    for name, own in axes.items():
        first = whole.setdefault(tuple(own), name)
        if first != name and all(map(str.isidentifier, own)):
            yield f"{name}.shape == {first}.shape"
            continue
        ranks.setdefault(len(own), []).append(f"{name}.ndim")
        places = [f"{name}.shape[{k}]" for k in range(len(own))]
        known = set(lengths)
        for axis, place in zip(own, places, strict=True):
            lengths.setdefault(axis if axis not in (":", "?") else place, []).append(place)
        new = [axis == ":" or (axis.isidentifier() and axis not in known) for axis in own]
        long += [f"*{name}.shape"] if own and all(new) else itertools.compress(places, new)
    for rank, names in ranks.items():
        yield " == ".join([*names, str(rank)])
    for axis, places in lengths.items():
        equal = [*places, axis] if axis.isdecimal() else places
        if len(equal) > 1:
            yield " == ".join(equal)
    if len(long) == 1:
        yield f"1 not in {long[0][1:]}" if long[0].startswith("*") else f"{long[0]} != 1"
    elif long:
        yield f"1 not in ({', '.join(long)})"
