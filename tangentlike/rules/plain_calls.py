"""Calls that are read as plainer ones: of results with named fields, with arguments by name that
passes look for by position, of `singledispatch`, `np.ndenumerate`, frozen distributions, series.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import string
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
)

from .. import ir, runtime
from ..frontend.naming import names_of
from ..frontend.owners import module_of
from ..ir.dataflow import Displays
from ..ir.names import Names
from ..runtime.records import attribute_of
from .book import default_book, resolve

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

_FIELDS = {
    "numpy.linalg.eig": ("eigenvalues", "eigenvectors"),
    "numpy.linalg.eigh": ("eigenvalues", "eigenvectors"),
    "numpy.linalg.qr": ("Q", "R"),
    "numpy.linalg.slogdet": ("sign", "logabsdet"),
    "numpy.linalg.svd": ("U", "S", "Vh"),
    "numpy.unique_all": ("values", "indices", "inverse_indices", "counts"),
    "numpy.unique_counts": ("values", "counts"),
    "numpy.unique_inverse": ("values", "inverse_indices"),
}
_OTHER_RESULTS = frozenset(("mode", "compute_uv"))  # options that change what is returned


def fields_desugared(lowered: Lowered) -> Lowered:
    """A lowered function that reads such results by place: tangents of theirs are tuples. One of
    which only items are read is taken apart, so that each item has an adjoint of its own.

    before::                                after::
        found = np.linalg.slogdet(a)            sign, logabsdet = np.linalg.slogdet(a)
        y = found.logabsdet                     y = logabsdet
    """
    every = list(ir.statements(lowered.function.body))
    made = {name: fields for name, fields in map(_made, every) if fields}
    bound = ir.bindings(every, lowered.function.param_names)
    made = {name: fields for name, fields in made.items() if bound[name] == 1}
    if not made:
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Attribute(base=ir.Var(name), name=field, at=at) if field in made.get(name, ()):
                return ir.Index(ir.Var(name), ir.Const(made[name].index(field)), at)
        return ir.rebuild(e, expr)

    body = ir.rewrite(lowered.function.body, expression=expr)
    function = dataclasses.replace(lowered.function, body=body)
    items: dict[str, tuple[str, ...]] = {}
    free = names_of(function)
    for name, fields in made.items():
        if _only_items_read(name, len(fields), body):
            items[name] = tuple(map(free.fresh, fields))
    introduced = lowered.temporaries.union(*items.values())
    function = dataclasses.replace(function, body=_taken_apart(body, items))
    return dataclasses.replace(lowered, function=function, temporaries=introduced)


def _only_items_read(name: str, length: int, body: ir.Block) -> bool:
    """Whether all that is done with a tuple is to read items of it."""
    for stmt in ir.statements(body):
        parts = [*ir.walk_statement(stmt)]
        whole = sum(part == ir.Var(name) for part in parts)
        if whole != sum(_item(part, name, length) is not None for part in parts):
            return False
        if not whole and name in ir.reads(stmt):
            return False
    return True


def _item(expr: ir.Expr, name: str, length: int) -> int | None:
    match expr:
        case ir.Index(base=ir.Var(base), key=ir.Const(int(place))) if base == name:
            return place % length if -length <= place < length else None
    return None


def _taken_apart(body: ir.Block, items: dict[str, tuple[str, ...]]) -> ir.Block:
    """Each of these tuples is assigned to names of its items, which are read instead."""

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Index(base=ir.Var(name)) if name in items:
                place = _item(e, name, len(items[name]))
                return e if place is None else ir.Var(items[name][place])
        return ir.rebuild(e, expr)

    def stmt(s: ir.Stmt) -> ir.Stmt:
        match s:
            case ir.Assign(target=str(name)) if name in items:
                return dataclasses.replace(s, target=items[name])
        return s

    return ir.rewrite(body, expression=expr, after=stmt)


def _made(stmt: ir.Stmt) -> tuple[str, tuple[str, ...]]:
    """The name that is bound to a named tuple of NumPy's, and the fields of this; or no fields."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(ir.Ref(obj=obj), (_,) | (_, _), kwargs)) if (
            not _OTHER_RESULTS & {word for word, _ in kwargs}
        ):
            for path, fields in _FIELDS.items():
                if path.endswith(f".{attribute_of(obj, '__name__', '')}") and resolve(path) is obj:
                    return name, fields
    return "", ()


# --------------------------------------------------------------------------------------------------
# Calls that write or make an array, with their arguments where the passes look for them.


# Parameters of what writes its first argument: the passes know them by position.
_PARAMETERS: dict[Any, tuple[str, ...]] = {
    np.copyto: ("dst", "src"),
    np.put: ("a", "ind", "v"),
    np.place: ("arr", "mask", "vals"),
    np.putmask: ("a", "mask", "values"),
    np.fill_diagonal: ("a", "val"),
    np.put_along_axis: ("arr", "indices", "values"),
}
_OF_NEW_ARRAYS = {"shape", "dtype", "order"}


def positions_desugared(lowered: Lowered) -> Lowered:
    """A lowered function whose writing calls say by position what they write.

    before::                                    after::
        np.copyto(dst=a, src=b)                     np.copyto(a, b)
        y = np.ndarray(shape=s, dtype=float)        y = np.empty(shape=s, dtype=float)
    """
    alias = lowered.scope.numpy_alias

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs) if obj is np.ndarray:
                if len(args) <= 2 and {word for word, _ in kwargs} <= _OF_NEW_ARRAYS:
                    return dataclasses.replace(e, fn=ir.Ref(f"{alias}.empty", np.empty))
            case ir.Call(fn=ir.Ref(obj=obj), kwargs=(_, *_)) if callable(obj):
                words = next((w for known, w in _PARAMETERS.items() if known is obj), ())
                return _in_positions(e, words)
        return e

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body == lowered.function.body:
        return lowered
    return dataclasses.replace(lowered, function=dataclasses.replace(lowered.function, body=body))


def _in_positions(call: ir.Call, words: tuple[str, ...]) -> ir.Call:
    """The call with its first arguments by position, as far as none is left out between."""
    given, args = dict(call.kwargs), list(call.args)
    for word in words[len(args) :]:
        if word not in given:
            break
        args.append(given.pop(word))
    return dataclasses.replace(call, args=tuple(args), kwargs=tuple(given.items()))


# --------------------------------------------------------------------------------------------------
# Calls of `functools.singledispatch` functions: the run says which function it is.
#
# before::                                after::
#     y = area(shape, scale)                  dispatched = area.dispatch(type(shape))
#                                             y = dispatched(shape, scale)
#
# What is called then is a function that only the run knows, derived when it comes there.


def dispatch_desugared(lowered: Lowered) -> Lowered:
    """A lowered function without calls of functions that dispatch on the type of an argument."""
    every = list(ir.statements(lowered.function.body))
    if not any(_dispatching(stmt) for stmt in every):
        return lowered
    bound = {name for stmt in every for name in (*ir.binds(stmt), *ir.reads(stmt))}
    names, made = Names({*bound, *lowered.function.param_names}), set[str]()

    def parts(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        call = _dispatching(stmt)
        if call is None:
            yield stmt
            return
        assert isinstance(stmt, ir.Assign) and isinstance(call.fn, ir.Ref)
        kind = ir.Call(ir.TYPE, call.args[:1], at=call.at)
        asked = ir.Attribute(call.fn, "dispatch", call.at)
        of_type, name = names.fresh("of_type"), names.fresh("dispatched")
        made.update((of_type, name))
        yield ir.Assign(of_type, kind, stmt.origin)
        yield ir.Assign(name, ir.Call(asked, (ir.Var(of_type),), at=call.at), stmt.origin)
        yield dataclasses.replace(stmt, value=dataclasses.replace(call, fn=ir.Var(name)))

    body = ir.rewrite(lowered.function.body, after=parts)
    return lowered.with_body(body, made)


def _dispatching(stmt: ir.Stmt) -> ir.Call | None:
    """The call of such a function that a statement makes."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(first, *_)) as call):
            if _is_dispatcher(obj) and not ir.is_starred(first):
                return call if default_book().find(obj) is None else None
    return None


def _is_dispatcher(obj: Any) -> bool:
    """Whether an object is what `functools.singledispatch` makes of a function."""
    if not isinstance(obj, types.FunctionType) or obj.__globals__ is not vars(functools):
        return False
    return all(hasattr(obj, name) for name in ("dispatch", "registry", "register"))


# --------------------------------------------------------------------------------------------------
# Loops over `np.ndenumerate(a)`, as loops over the places and the entries of `a`.


def entries_desugared(lowered: Lowered) -> Lowered:
    """A lowered function without `np.ndenumerate` in headers of loops.

    before::                                after::
        ndenumerate = np.ndenumerate(a)         ndindex = np.ndindex(a.shape)
        for k, v in ndenumerate:                places = list(ndindex)
            s = s + v                           entries = a.flat
                                                for k, v in zip(places, entries):
                                                    s = s + v
    """
    every = list(ir.statements(lowered.function.body))
    if not any(map(_enumerates, every)):
        return lowered
    bound = ir.bindings(every)
    read = Counter(name for stmt in every for name in ir.reads(stmt))
    headers = Counter(
        stmt.iter.name
        for stmt in every
        if isinstance(stmt, ir.For) and isinstance(stmt.iter, ir.Var)
    )
    names = Names({*bound, *read, *lowered.function.param_names})
    alias, walks, made = lowered.scope.numpy_alias, dict[str, ir.Expr](), set[str]()

    def fresh(word: str) -> str:
        made.add(name := names.fresh(word))
        return name

    def statement(stmt: ir.Stmt) -> ir.Instead:
        name = _enumerates(stmt)
        if name is not None and (bound[name], read[name]) == (1, headers[name]):
            assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
            array, at = stmt.value.args[0], stmt.origin.place
            index, places, entries = fresh("ndindex"), fresh("places"), fresh("entries")
            walks[name] = ir.Call(ir.ZIP, (ir.Var(places), ir.Var(entries)), at=at)
            shape = ir.Attribute(array, "shape", at)
            walk = ir.Call(ir.Ref(f"{alias}.ndindex", np.ndindex), (shape,), at=at)
            steps = {
                index: walk,
                places: ir.Call(ir.LIST, (ir.Var(index),), at=at),
                entries: ir.Attribute(array, "flat", at),
            }
            return tuple(ir.Assign(n, value, stmt.origin) for n, value in steps.items())
        if isinstance(stmt, ir.For) and isinstance(stmt.iter, ir.Var) and stmt.iter.name in walks:
            return dataclasses.replace(stmt, iter=walks[stmt.iter.name])
        return None

    body = ir.rewrite(lowered.function.body, after=statement)
    return lowered.with_body(body, made)


def _enumerates(stmt: ir.Stmt) -> str | None:
    """The name that is bound to `np.ndenumerate(a)` of a named array, or None."""
    match stmt:
        case ir.Assign(
            target=str(name), value=ir.Call(ir.Ref(obj=np.ndenumerate), (ir.Var(),), ())
        ):
            return name
    return None


# --------------------------------------------------------------------------------------------------
# Distributions of SciPy that hold their parameters, as calls that are given them.

# Interpolants likewise: `f = CubicSpline(x, y, bc_type="natural")` and `f(q)` are
# `interpolant(CubicSpline, ("bc_type", "natural"), q, x, y, 0)`.


_INTERPOLANTS = ("Akima1DInterpolator", "BSpline", "BarycentricInterpolator", "CubicSpline")
_INTERPOLANTS += ("InterpolatedUnivariateSpline", "KroghInterpolator", "PchipInterpolator")
_INTERPOLANTS += ("UnivariateSpline", "interp1d", "make_interp_spline")
_METHODS = ["logpdf", "pdf", "logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]


def parameters_given(lowered: Lowered) -> Lowered:
    """A lowered function in which densities are methods of distributions with their parameters.

    before::                            after::
        d = stats.norm(m, scale=s)
        y = d.logpdf(x)                     y = stats.norm.logpdf(x, m, scale=s)

    A distribution that is used in any other way stays, and is refused where it carries
    derivatives.
    """
    every = list(ir.statements(lowered.function.body))
    frozen = {s.target: s.value for s in every if _is_frozen(s)}  # type: ignore[attr-defined]
    if not frozen:
        return lowered
    bound = ir.bindings(every, lowered.function.param_names)
    parts = [part for stmt in every for part in ir.walk_statement(stmt)]
    asked = Counter(map(_asked, parts))
    read = Counter(part.name for part in parts if isinstance(part, ir.Var))
    called = {p.fn.name for p in parts if isinstance(p, ir.Call) and isinstance(p.fn, ir.Var)}
    known = {
        name: made
        for name, made in frozen.items()
        if asked[name] == read[name] and all(bound[n] == 1 for n in (name, *ir.names_in(made)))
        if _is_distribution(made.fn.obj) != (name in called)
    }

    def expr(e: ir.Expr) -> ir.Expr:
        if _asked(e) not in known:
            return ir.rebuild(e, expr)
        assert isinstance(e, ir.Call) and isinstance(e.fn, (ir.Attribute, ir.Var))
        made = known[_asked(e)]
        if isinstance(e.fn, ir.Var):
            return _interpolated(made, e)
        method = e.fn.name
        fn = ir.Ref(f"{made.fn.text}.{method}", getattr(made.fn.obj, method))
        return ir.Call(fn, (*e.args, *made.args), made.kwargs, e.at)

    def without(stmt: ir.Stmt) -> ir.Instead:
        return () if _is_frozen(stmt) and stmt.target in known else None  # type: ignore[union-attr]

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, without, expr))
    return dataclasses.replace(lowered, function=function)


def _asked(expr: ir.Expr) -> str:
    """The name of the distribution that is asked for a density or the like, or of the interpolant
    that is called, or ''."""
    match expr:
        case ir.Call(ir.Var(name), (_,) | (_, _), ()) | ir.Call(ir.Var(name), (_,), (("nu", _),)):
            return name
        case ir.Call(ir.Attribute(ir.Var(name), method), (_,), ()) if method in _METHODS:
            return name
    return ""


def _is_frozen(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(ir.Ref(obj=obj), args)):
            known = _is_distribution(obj) or _makes_interpolant(stmt.value)
            return known and not any(map(ir.is_starred, args))
    return False


def _makes_interpolant(call: ir.Call) -> bool:
    """Whether a call makes what interpolates between one array of values."""
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    name = attribute_of(obj, "__name__", "")
    known = module_of(obj).startswith("scipy.interpolate") and name in _INTERPOLANTS
    return known and takes(obj, call)


def takes(fn: Any, call: ir.Call) -> bool:
    """Whether a function has parameters for what a call gives."""
    try:
        inspect.signature(fn).bind(*call.args, **dict(call.kwargs))
    except TypeError:
        return False
    return True


def _interpolated(made: ir.Call, call: ir.Call) -> ir.Call:
    assert isinstance(made.fn, ir.Ref)
    bound = inspect.signature(made.fn.obj).bind(*made.args, **dict(made.kwargs)).arguments
    x, y, *_ = bound.values()
    named = tuple(part for name in list(bound)[2:] for part in (ir.Const(name), bound[name]))
    order = (*call.args[1:], *(value for _, value in call.kwargs)) or (ir.Const(0),)
    fn, options = ir.Ref("interpolant", runtime.interpolant), ir.Display("tuple", named)
    return ir.Call(fn, (made.fn, options, call.args[0], x, y, *order), at=call.at)


def _is_distribution(obj: Any) -> bool:
    module = str(getattr(type(obj), "__module__", ""))
    return module.startswith("scipy.stats") and (hasattr(obj, "logpdf") or hasattr(obj, "logpmf"))


# --------------------------------------------------------------------------------------------------
# Polynomials and series that are objects, as the arrays of their coefficients.


# Class -> its evaluation, derivative and integral, as functions of coefficients.
_FUNCTIONS: dict[Any, dict[str, Callable[..., Any]]] = {
    np.poly1d: {"": np.polyval, "deriv": np.polyder, "integ": np.polyint},
    Polynomial: {
        "": polynomial.polyval,
        "deriv": polynomial.polyder,
        "integ": polynomial.polyint,
    },
    Chebyshev: {"": chebyshev.chebval},
    Legendre: {"": legendre.legval},
    Hermite: {"": hermite.hermval},
    HermiteE: {"": hermite_e.hermeval},
    Laguerre: {"": laguerre.lagval},
}


def series_desugared(lowered: Lowered) -> Lowered:
    """A lowered function in which polynomials are arrays of coefficients.

    before::                            after::
        p = np.poly1d(c)                    p = np.asarray(c)
        q = p.deriv()                       q = np.polyder(p)
        y = q(x)                            y = np.polyval(q, x)

    A function that uses one in any other way stays as it is, and is refused where the polynomial
    carries derivatives.
    """
    every = list(ir.statements(lowered.function.body))
    classes: dict[str, Any] = {}
    for stmt in every:
        made = _class_made(stmt, classes)
        if made is not None and isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            classes[stmt.target] = made
    if not classes or not _only_evaluated(lowered.function, every, classes):
        return lowered
    alias = lowered.scope.numpy_alias

    def expr(e: ir.Expr) -> ir.Expr:
        used = _use(e, classes)
        if used is None:
            return ir.rebuild(e, expr)
        assert isinstance(e, ir.Call)
        name, method = used
        function = _FUNCTIONS[classes[name]][method]
        module = "" if classes[name] is np.poly1d else function.__module__.partition(".")[2] + "."
        fn = ir.Ref(f"{alias}.{module}{function.__name__}", function)
        first_x = method == "" and classes[name] is not np.poly1d
        args = (*e.args, ir.Var(name)) if first_x else (ir.Var(name), *e.args)
        return ir.Call(fn, args, (), e.at)

    def statement(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and _is_made(stmt.value):
            assert isinstance(stmt.value, ir.Call)
            fn = ir.Ref(f"{alias}.asarray", np.asarray)
            return dataclasses.replace(stmt, value=dataclasses.replace(stmt.value, fn=fn))
        return None

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, statement, expr))
    return dataclasses.replace(lowered, function=function)


def _only_evaluated(function: ir.Function, every: list[ir.Stmt], classes: dict[str, Any]) -> bool:
    """Whether the polynomials have one definition each and nothing but their functions is used."""
    bound = Counter(function.param_names)
    used: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for stmt in every:
        bound.update(ir.binds(stmt))
        for part in ir.walk_statement(stmt):
            found = _use(part, classes)
            used.update([found[0]] if found is not None else [])
            read.update([part.name] if isinstance(part, ir.Var) else [])
    return all(bound[name] == 1 and used[name] == read[name] for name in classes)


def _is_made(value: ir.Expr) -> bool:
    match value:
        case ir.Call(ir.Ref(obj=obj), (_,), ()):
            return isinstance(obj, type) and obj in _FUNCTIONS
    return False


def _class_made(stmt: ir.Stmt, classes: dict[str, Any]) -> Any:
    """The class of the polynomial that a statement makes or takes from another, or None."""
    if not isinstance(stmt, ir.Assign):
        return None
    if _is_made(stmt.value):
        return stmt.value.fn.obj  # type: ignore[union-attr]
    used = _use(stmt.value, classes)
    return classes[used[0]] if used is not None and used[1] else None


def _use(expr: ir.Expr, classes: dict[str, Any]) -> tuple[str, str] | None:
    """The polynomial that is evaluated, derived or integrated, and by which method."""
    match expr:
        case ir.Call(ir.Var(name), (_,), ()) if name in classes:
            return name, ""
        case ir.Call(ir.Attribute(ir.Var(name), method), args, ()) if name in classes:
            known = _FUNCTIONS[classes[name]]
            return (name, method) if method in known and method and len(args) < 2 else None
    return None


# --------------------------------------------------------------------------------------------------
# Calls as the simpler ones they are: `np.piecewise` and `np.select` of lists that can
# be seen, ufuncs given the type to compute in, and `np.einsum` of lists of axes.


if TYPE_CHECKING:
    from ..frontend.lower import Lowered


def choices_desugared(lowered: Lowered) -> Lowered:
    """A lowered function without calls of `np.piecewise`, of `np.select`, and without `dtype=`
    of ufuncs.

    before::                                    after::
        y = np.piecewise(x, [m, n], [f, 0.5])       values = np.asarray(x)
                                                    y = np.zeros_like(values)
                                                    x_m = values[m];  f_x = f(x_m);  y[m] = f_x
                                                    y[n] = 0.5
        y = np.select([m, n], [a, b], c)            other = np.where(n, b, c)
                                                    y = np.where(m, a, other)
        y = np.exp(x, dtype=np.float64)             x_cast = np.asarray(x, dtype=np.float64)
                                                    y = np.exp(x_cast)
        y = np.einsum(a, [0, 1], b, [1])            y = np.einsum("ab,b", a, b)
        p, q = np.atleast_1d(a, b)                  p = np.atleast_1d(a)
                                                    q = np.atleast_1d(b)

    A third function is for where no condition holds. Calls whose conditions or functions stand
    in lists that cannot be seen stay as they are.
    """
    if not any(map(_chooses, ir.statements(lowered.function.body))):
        return lowered
    normalizer = _Normalizer(lowered)
    body = ir.rewrite(lowered.function.body, after=normalizer.statement)
    return lowered.with_body(body, normalizer.made)


def _chooses(stmt: ir.Stmt) -> Any:
    """What a statement calls that is written otherwise: `np.piecewise`, `np.select`, or `np.ufunc`
    for what is given the type to compute in; else None."""
    match stmt:
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call) if (
            _given_dtype(call) is not None
        ):
            return np.ufunc
        case ir.Assign(value=ir.Call(ir.Ref(obj=obj), args=(ir.Var(), *_))) if obj is np.einsum:
            return obj
        case ir.Assign(value=ir.Call(ir.Ref(obj=obj), args=(_, _, *_) as args)) if any(
            obj is known for known in _AT_LEAST
        ) and not any(map(ir.is_starred, args)):
            return np.atleast_1d
        case ir.Assign(target=str(), value=ir.Call(ir.Ref(obj=obj), args=args, kwargs=kwargs)):
            if obj is np.piecewise and len(args) == 3 and not kwargs:
                return obj
            if obj is np.select and [word for word, _ in kwargs] in ([], ["default"]):
                return obj
    return None


_AT_LEAST = (np.atleast_1d, np.atleast_2d, np.atleast_3d)
_GIVES_TUPLES = isinstance(np.atleast_1d(0.0, 0.0), tuple)  # (lists, in older versions of NumPy)


def _computes_in_one_type(ufunc: np.ufunc) -> bool:
    """Whether arguments and results have the same float type (not so: `abs` of complex numbers)."""
    types = [kind.partition("->") for kind in ufunc.types]
    floats = [{*given, *made} for given, _, made in types if {*given} <= {*"efdgFDG"}]
    return bool(floats) and all(len(kinds) == 1 for kinds in floats)


# What casts its first argument to a given type before anything else, besides ufuncs.
_IN_ONE_TYPE = (
    *(np.prod, np.var, np.std, np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd),
    *(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod),
    *(getattr(np, name, None) for name in ("cumulative_sum", "cumulative_prod")),
)
_METHODS_IN_ONE_TYPE = ("prod", "var", "std", "cumsum", "cumprod")


def _given_dtype(call: ir.Call) -> ir.Expr | None:
    """The type in which a ufunc, its method or a reduction is to compute, or None."""
    match call.fn:
        case ir.Ref(obj=np.ufunc() as ufunc) if _computes_in_one_type(ufunc):
            place = len(call.args)  # (never among the positional arguments)
        case ir.Ref(obj=obj) if any(obj is known for known in _IN_ONE_TYPE if known):
            place = 2
        case ir.Attribute(ir.Ref(obj=np.ufunc() as ufunc), "reduce" | "accumulate" | "reduceat"):
            place = 3 if call.fn.name == "reduceat" else 2
        case ir.Attribute(ir.Var(), method) if method in _METHODS_IN_ONE_TYPE:
            place = 1
        case _:
            return None
    positional = call.args[place] if place < len(call.args) else ir.Const(None)
    of_module = place == 1 < len(call.args) and not isinstance(call.args[0], ir.Const)
    number = isinstance(positional, ir.Const) and not isinstance(positional.value, str)
    if number or (of_module and not _names_type(positional)):  # (`nx.cumsum(x, axis)`: no type)
        positional = ir.Const(None)
    dtype = dict(call.kwargs).get("dtype", positional)
    if dtype == ir.Const(None) or (_may_turn_complex(call, dtype) and "out" in dict(call.kwargs)):
        return None
    return dtype


def _names_type(expr: ir.Expr) -> bool:
    """Whether an expression looks like a type: `np.float32`, `x.dtype`, `"f4"`."""
    match expr:
        case ir.Ref() | ir.Const(str()) | ir.Attribute(name="dtype"):
            return True
    return False


def _may_turn_complex(call: ir.Call, dtype: ir.Expr) -> bool:
    """Whether a result that is real by itself may be stated to be of a complex type."""
    return _is_spread(call.fn) and not _is_real(dtype)


def _is_spread(fn: ir.Expr) -> bool:
    """Whether it is a variance or a deviation."""
    spreads = (np.var, np.std, np.nanvar, np.nanstd)
    if isinstance(fn, ir.Attribute):
        return fn.name in ("var", "std")
    return isinstance(fn, ir.Ref) and any(fn.obj is known for known in spreads)


def _is_real(dtype: ir.Expr) -> bool:
    """Whether a type is known as a real one."""
    given = getattr(dtype, "obj", getattr(dtype, "value", None))
    try:
        return np.dtype(given).kind == "f"
    except TypeError:
        return False


def _is_number(value: ir.Expr | None) -> bool:
    """Whether an operation surely gives no function."""
    match value:
        case ir.Const():
            return True
        case ir.Call(fn=ir.Ref(text=text, obj=obj)):
            return not text[0].isidentifier() or isinstance(obj, np.ufunc)
    return False


def _is_function(value: ir.Expr | None) -> bool:
    match value:
        case ir.Ref(obj=obj) | ir.Call(fn=ir.Ref(text="functools.partial", obj=obj)):
            return callable(obj)
    return False


class _Normalizer:
    def __init__(self, lowered: Lowered) -> None:
        every = list(ir.statements(lowered.function.body))
        used = [name for stmt in every for name in (*ir.binds(stmt), *ir.reads(stmt))]
        self.names = Names({*used, *lowered.function.param_names})
        self.made: frozenset[str] = frozenset()
        self.alias = lowered.scope.numpy_alias
        self.made_of: dict[str, list[ir.Expr | None]] = {}  # what names stand for
        for stmt in every:
            for name in ir.binds(stmt):
                plain = isinstance(stmt, ir.Assign) and stmt.target == name
                self.made_of.setdefault(name, []).append(stmt.value if plain else None)
        self.displays = Displays(lowered.function, lambda stmt: _chooses(stmt) is not None)
        self.lists: Mapping[str, tuple[ir.Expr, ...]] = {}

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        desugarings = {
            np.piecewise: self.writes,
            np.select: self.wheres,
            np.ufunc: self.casts,
            np.einsum: self.subscripts,
            np.atleast_1d: self.each,
        }
        desugared = desugarings.get(_chooses(stmt))
        if desugared is None:
            return None
        self.lists = self.displays.at(stmt)
        return desugared(stmt)

    def each(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        call, target = stmt.value, stmt.target
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        arrays = tuple(
            self.named("array", dataclasses.replace(call, args=(arg,)), out) for arg in call.args
        )
        if isinstance(target, tuple) and len(target) == len(arrays):
            pairs = zip(target, arrays, strict=True)
            return [*out, *(ir.Assign(part, array, stmt.origin) for part, array in pairs)]
        together = ir.Display("tuple" if _GIVES_TUPLES else "list", arrays)
        return [*out, ir.Assign(target, together, stmt.origin)]

    def casts(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign | ir.Do) and isinstance(stmt.value, ir.Call)
        call, dtype = stmt.value, _given_dtype(stmt.value)
        self.origin = stmt.origin
        out: list[ir.Stmt] = []

        def cast(arg: ir.Expr) -> ir.Expr:
            asarray = ir.Ref(f"{self.alias}.asarray", np.asarray)
            typed = ir.Call(asarray, (arg,), (("dtype", dtype or ir.Const(None)),), call.at)
            return arg if isinstance(arg, ir.Const) else self.named("cast", typed, out)

        fn, count = call.fn, 1
        if isinstance(fn, ir.Attribute) and isinstance(fn.base, ir.Var):
            fn, count = dataclasses.replace(fn, base=cast(fn.base)), 0
        elif isinstance(fn, ir.Ref) and isinstance(fn.obj, np.ufunc):
            count = fn.obj.nin
        rest = (ir.Const(None) if arg is dtype else arg for arg in call.args[count:])
        plain = dataclasses.replace(
            call,
            fn=fn,
            args=(*map(cast, call.args[:count]), *rest),
            kwargs=tuple((k, v) for k, v in call.kwargs if k not in ("dtype", "casting")),
        )
        if dtype is not None and isinstance(stmt, ir.Assign) and _may_turn_complex(call, dtype):
            result = self.named("result", plain, out)
            plain = ir.Call(ir.Attribute(result, "astype"), (dtype,), at=call.at)
        return [*out, dataclasses.replace(stmt, value=plain)]

    def subscripts(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        args = stmt.value.args
        terms = [self.letters(arg) for arg in (*args[1::2], *args[len(args) - len(args) % 2 :])]
        if None in terms:
            return [stmt]
        count = len(args) // 2
        text = ",".join(map(str, terms[:count])) + "".join(f"->{term}" for term in terms[count:])
        operands = args[: 2 * count : 2]
        call = dataclasses.replace(stmt.value, args=(ir.Const(text), *operands))
        return [dataclasses.replace(stmt, value=call)]

    def letters(self, axes: ir.Expr) -> str | None:
        """`[0, 1]` as "ab"; an ellipsis as dots; None for what cannot be seen."""
        items = self.lists.get(axes.name) if isinstance(axes, ir.Var) else None
        if items is None or not all(isinstance(item, ir.Const) for item in items):
            return None
        values = [item.value for item in items if isinstance(item, ir.Const)]
        if not all(v is Ellipsis or (isinstance(v, int) and v < 26) for v in values):
            return None
        return "".join("..." if v is Ellipsis else string.ascii_lowercase[v] for v in values)

    def wheres(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        lists, at = stmt.value.args[:2], stmt.value.at
        last = (*stmt.value.args[2:], *(value for _, value in stmt.value.kwargs), ir.Const(0))[0]
        if not all(isinstance(a, ir.Var) and a.name in self.lists for a in lists):
            return [stmt]
        masks, values = (self.lists[a.name] for a in lists if isinstance(a, ir.Var))
        if len(masks) != len(values) or not masks:
            return [stmt]
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        where = ir.Ref(f"{self.alias}.where", np.where)
        for mask, value in [*zip(masks, values, strict=True)][:0:-1]:
            last = self.named("other", ir.Call(where, (mask, value, last), at=at), out)
        chosen = ir.Call(where, (masks[0], values[0], last), at=at)
        return [*out, ir.Assign(stmt.target, chosen, stmt.origin)]

    def writes(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        x, *given = stmt.value.args
        if not all(isinstance(a, ir.Var) and a.name in self.lists for a in given):
            return [stmt]
        masks, functions = (self.lists[a.name] for a in given if isinstance(a, ir.Var))
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        # (It may be a number.)
        x = self.named("values", ir.Call(ir.Ref(f"{self.alias}.asarray", np.asarray), (x,)), out)
        zeros = ir.Call(ir.Ref(f"{self.alias}.zeros_like", np.zeros_like), (x,))
        result = self.named("pieces", zeros, out)
        if len(functions) == len(masks) + 1:
            reach = ir.Call(ir.Ref(f"{self.alias}.any", np.any), (given[0], ir.Const(0)))
            anywhere = self.named("anywhere", reach, out)
            nowhere = ir.Call(ir.Ref(f"{self.alias}.logical_not", np.logical_not), (anywhere,))
            masks = (*masks, self.named("nowhere", nowhere, out))
        if len(functions) != len(masks):
            return [stmt]
        for mask, function in zip(masks, functions, strict=True):
            value = function
            if not self.surely(_is_number, function):
                called: list[ir.Stmt] = []
                part = self.named("part", ir.Index(x, mask), called)
                value = self.named("piece", ir.Call(function, (part,), at=stmt.value.at), called)
                if self.surely(_is_function, function):
                    out += called
                else:
                    test = ir.Call(ir.Ref("callable", callable), (function,))
                    given = (ir.Assign(value.name, function, stmt.origin),)
                    out.append(ir.If(test, tuple(called), given, stmt.origin))
            out.append(ir.Store(ir.Index(result, mask), value, stmt.origin))
        return [*out, ir.Assign(stmt.target, result, stmt.origin)]

    def surely(self, asked: Callable[[ir.Expr | None], bool], function: ir.Expr) -> bool:
        """Whether all that may stand for a piece is `asked` for: a number (a literal, what
        arithmetic or a function of NumPy gives), or a function."""
        made = self.made_of.get(function.name, []) if isinstance(function, ir.Var) else [function]
        return bool(made) and all(map(asked, made))

    def named(self, word: str, value: ir.Expr, out: list[ir.Stmt]) -> ir.Var:
        name = self.names.fresh(word)
        self.made |= {name}
        out.append(ir.Assign(name, value, self.origin))
        return ir.Var(name)
