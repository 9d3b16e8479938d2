"""Which operations are read as programs: a call of `np.poly` is a call of `programs.poly`.

Some operations have a rule for the usual call and a program for the rest: `np.interp(x, xp, fp)`
is differentiated by its rule, `np.interp(x, xp, fp, left=0.0)` is read as `options.interp`.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import importlib
import inspect
import itertools
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir, runtime
from ..errors import UnsupportedError
from ..frontend.owners import is_numerical, module_of
from ..runtime.calculus import is_interpolant
from ..runtime.records import attribute_of
from . import options, programs
from .book import default_book, resolve
from .decisions import is_literal, literal
from .fft_programs import as_numpys
from .iterators import iterators_desugared
from .plain_calls import (
    choices_desugared,
    dispatch_desugared,
    entries_desugared,
    fields_desugared,
    parameters_given,
    positions_desugared,
    series_desugared,
    takes,
)
from .twins import twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..frontend.lower import Lowered

# Of each module of programs: what their names begin with, and the modules or objects of which they
# are the operations that are called like the rest of it.
_PROGRAMS = (
    ("programs", "", "numpy numpy.fft numpy.linalg tangentlike.runtime"),
    ("programs", "optimize_", "scipy.optimize"),
    ("programs", "integrate_", "scipy.integrate"),
    ("programs", "sample_", "statistics"),
    ("programs", "dict_", "builtins.dict"),
    ("programs", "signature_", "inspect.Signature"),
    ("programs", "bound_", "inspect.BoundArguments"),
    ("options", "", "numpy.emath"),
    ("iterator_programs", "", "heapq bisect tangentlike.runtime"),
    ("fft_programs", "", "scipy.fft"),
    *(
        ("polynomials", "", f"numpy.polynomial.{name}")
        for name in ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
    ),
    ("scipy_programs", "", "scipy.stats"),
    *(
        ("scipy_programs", f"{name.replace('.', '_')}_", f"scipy.{name}")
        for name in ("linalg", "signal", "ndimage", "spatial.distance", "integrate", "special")
    ),
    ("scipy_programs", "multivariate_normal_", "scipy.stats.multivariate_normal"),
    ("scipy_programs", "dirichlet_", "scipy.stats.dirichlet"),
)
PROGRAMMED = (inspect.Signature,)  # classes of Python with methods that are read as programs
_METHODS_OF_UFUNCS = {
    "reduce": programs.ufunc_reduce,
    "accumulate": programs.ufunc_accumulate,
    "reduceat": programs.ufunc_reduceat,
    "outer": programs.ufunc_outer,
    "at": programs.ufunc_at,
}
_OF_ONE_OPERAND = {"at": programs.ufunc_at_alone}
_of_vectorize = {1: programs.vectorized, 2: programs.vectorized_of_two}  # by number of arguments
_found: dict[Any, Callable[..., Any]] = {}
_seen: list[int] = [0]


def definition(obj: Any) -> Callable[..., Any] | None:
    """The program an operation is read as, or None.

    >>> definition(np.poly).__name__, definition(np.sum)
    ('poly', None)
    """
    if _seen[0] != len(sys.modules):  # libraries that were imported since
        _found.update(_operations())
        _seen[0] = len(sys.modules)
    try:
        known = _found.get(obj)
    except TypeError:  # unhashable
        return None
    return _found.get(twin(obj)) if known is None else known


def _operations() -> Iterator[tuple[Any, Callable[..., Any]]]:
    """The operations that are read as programs, of the libraries that are loaded."""
    for module, prefix, homes in _PROGRAMS:
        for home in (sys.modules.get(name) or resolve(name) for name in homes.split()):
            if home is None:
                continue
            own = importlib.import_module(f"{__package__}.{module}")
            inside = vars(home) if isinstance(home, types.ModuleType) else None
            for name, program in inspect.getmembers(own, inspect.isfunction):
                if program.__module__ == own.__name__ and name.startswith(prefix):
                    rest = name.removeprefix(prefix)
                    obj = getattr(home, rest, None) if inside is None else inside.get(rest)
                    if callable(obj) and not rest.startswith("_"):
                        yield obj, program


def _rest_of(obj: Any, call: ir.Call) -> Callable[..., Any] | None:
    """The program of a call that the operation's rule does not state, or None."""
    name = str(attribute_of(obj, "__name__", None))
    if name not in _OPTIONAL:
        return None
    path = f"{attribute_of(obj, '__module__', None)}.{name}"
    known = options.CALLS.get(path)
    if known is None or resolve(path) is not obj:
        return None
    program, usual = known
    keywords = dict(zip(inspect.signature(program).parameters, call.args, strict=False))
    keywords.update(call.kwargs)
    if all(_is_usual(keywords.get(word), values) for word, values in usual.items()):
        return None
    return None if _takes_no_such(program, call) else program


_OPTIONAL = frozenset(path.rpartition(".")[2] for path in options.CALLS)


def _is_usual(given: ir.Expr | None, values: tuple[Any, ...]) -> bool:
    """Whether an argument is absent or a literal that the rule knows (`...`: any literal)."""
    if given is None:
        return True
    return is_literal(given) and (Ellipsis in values or literal(given) in values)


def _is_program(ufunc: np.ufunc, method: str) -> bool:
    """Whether a method of a ufunc has no rule of its own, but the ufunc has one."""
    if method == "at" and ufunc in (np.add, np.subtract):
        return False  # (these accumulate: a form of write that both modes know)
    book = default_book()
    return book.find(getattr(ufunc, method)) is None and book.find(ufunc) is not None


def stands_for(program: Any, obj: Any) -> bool:
    """Whether calls of an operation may be read as calls of a program."""
    if definition(obj) is program:
        return True
    name = attribute_of(obj, "__name__", None)
    return any(
        known is program and path.rpartition(".")[2] == name and resolve(path) is obj
        for path, (known, _) in options.CALLS.items()
    )


def as_defined(lowered: Lowered) -> Lowered:
    """A lowered function with programs for the operations that are written as such.

    before::                            after::
        c = np.poly(r)                      c = np.poly(r)    # the object: programs.poly
        f = np.vectorize(g)                 f = g
        y = f(x)                            y = vectorized(g, x)
    """
    desugarings: tuple[Callable[[Lowered], Lowered], ...]
    desugarings = (positions_desugared, choices_desugared, entries_desugared, parameters_given)
    desugarings = (
        *desugarings,
        fields_desugared,
        series_desugared,
        iterators_desugared,
        dispatch_desugared,
    )
    for desugared in desugarings:
        lowered = desugared(lowered)
    vectorized = dict(_vectorized(lowered.function))
    block = lowered.function.body
    changed = _block(block, vectorized)
    if changed == block:
        return lowered
    return dataclasses.replace(
        lowered, function=dataclasses.replace(lowered.function, body=changed)
    )


def is_image_filter(obj: Any) -> bool:
    """Whether a function is one of `scipy.ndimage`."""
    return module_of(obj).startswith("scipy.ndimage")


def output_named(call: ir.Call) -> ir.Call:
    """A call of a filter with `out=` for `output=`, the array that it writes; what says the type
    of its result is refused."""
    assert isinstance(call.fn, ir.Ref)
    if any(map(ir.is_starred, call.args)):
        return call
    try:
        bound = inspect.signature(call.fn.obj).bind(*call.args, **dict(call.kwargs)).arguments
    except (TypeError, ValueError):
        return call  # (it raises, and says why)
    given = bound.get("output", ir.Const(None))
    if isinstance(given, ir.Var) and definition(call.fn.obj) is not None:
        return call  # (a program that stands for a filter writes its `output` itself)
    if isinstance(given, ir.Var) and "output" in dict(call.kwargs):
        words = tuple(("out" if word == "output" else word, v) for word, v in call.kwargs)
        return dataclasses.replace(call, kwargs=words)
    if not isinstance(given, ir.Const):
        raise output_refused(call)
    return call


def output_refused(call: ir.Call) -> UnsupportedError:
    return UnsupportedError(
        f"`output=` of {getattr(call.fn, 'text', '')} writes what may be no array, or says its "
        "type",
        call.at,
        "Leave it out, and use what the call returns.",
    )


def _arrays_first(expr: ir.Expr) -> ir.Expr:
    """`np.roll(a=x, shift=1, axis=0)` as `np.roll(x, 1, axis=0)`: what an operation requires is
    given by position, where its rule looks for it."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs) if kwargs and is_numerical(obj):
            words, moved = dict(kwargs), list(args)
            if any(map(ir.is_starred, args)):
                return expr
            for name in required_parameters(obj)[len(args) :]:
                if name not in words:
                    break
                moved.append(words.pop(name))
            if len(moved) > len(args):
                return dataclasses.replace(expr, args=tuple(moved), kwargs=tuple(words.items()))
    return expr


def required_parameters(obj: Any) -> tuple[str, ...]:
    """The parameters of a function, by position, that have no default.

    >>> required_parameters(np.roll), required_parameters(np.add)
    (('a', 'shift'), ())
    """
    try:
        return _required(obj)
    except TypeError:  # unhashable
        return ()


@functools.lru_cache(maxsize=1024)
def _required(obj: Any) -> tuple[str, ...]:
    try:
        params = inspect.signature(obj).parameters.values()
    except ValueError:
        return ()
    named = itertools.takewhile(lambda p: p.kind == p.POSITIONAL_OR_KEYWORD, params)
    return tuple(p.name for p in named if p.default is p.empty)


def _block(stmts: ir.Block, vectorized: dict[str, ir.Expr]) -> ir.Block:
    def expr(e: ir.Expr) -> ir.Expr:
        if type(e) is ir.Var or type(e) is ir.Const:
            return e
        e = _arrays_first(e)
        match e:
            case ir.Call(fn=ir.Ref(obj=obj)) if is_image_filter(obj):
                return ir.rebuild(output_named(e), expr)
            case ir.Call(fn=ir.Ref()) if (other := as_numpys(e)) is not None:
                return ir.rebuild(other, expr)
            case ir.Call(fn=ir.Ref(obj=obj) as fn, args=args, kwargs=()) if is_interpolant(obj):
                plain = ir.Ref("evaluated", runtime.evaluated)
                return ir.rebuild(ir.Call(plain, (fn, *args), at=e.at), expr)
            case ir.Call(fn=ir.Ref(obj=obj) as fn) if _takes_no_such(definition(obj), e):
                return ir.rebuild(e, lambda part: part if part is fn else expr(part))
            case ir.Ref(text, obj):
                program = definition(obj)
                if program is None or default_book().find(obj) is not None:
                    return e
                return ir.Ref(text, program)
            case ir.Call(fn=ir.Ref(text, obj), args=(ir.Var(name) as items,), kwargs=()) if (
                _makes_namedtuple(obj)
            ):
                starred = ir.Opaque(f"*{name}", (name,), (items,), (), e.at)
                made = ir.Ref(text.rpartition(".")[0], obj.__self__)
                return dataclasses.replace(e, fn=made, args=(starred,))
            case ir.Call(fn=ir.Ref(text, obj)) if (rest := _rest_of(obj, e)) is not None:
                plain = ir.rebuild(e, expr)
                assert isinstance(plain, ir.Call)
                return dataclasses.replace(plain, fn=ir.Ref(text, rest))
            case ir.Call(fn=ir.Attribute(ir.Ref(obj=np.ufunc() as op) as ufunc, name)) if (
                name in _METHODS_OF_UFUNCS and _is_program(op, name)
            ):
                program = _METHODS_OF_UFUNCS[name]
                if op.nin == 1:
                    program = _OF_ONE_OPERAND.get(name, program)
                method = ir.Ref(program.__name__, program)
                return dataclasses.replace(e, fn=method, args=(ufunc, *e.args))
            case ir.Call(fn=ir.Ref(obj=np.vectorize() as obj, text=text), args=args, kwargs=()) if (
                _is_plain(obj)
            ):
                return _applied(ir.Ref(f"{text}.pyfunc", obj.pyfunc), args, e)
            case ir.Call(fn=ir.Var(name), args=args, kwargs=()) if name in vectorized:
                return _applied(vectorized[name], args, e)
        return ir.rebuild(e, expr)

    return ir.rewrite(stmts, expression=expr)


def _takes_no_such(program: Callable[..., Any] | None, call: ir.Call) -> bool:
    """Whether a call gives an operation what the program that it is read as does not know: it stays
    a call of the library's, for constants."""
    if program is None or any(map(ir.is_starred, call.args)):
        return False
    return not takes(program, call)


def _makes_namedtuple(obj: Any) -> bool:
    """Whether it is the `_make` of a namedtuple class: `Point._make(t)` is `Point(*t)`."""
    is_method = isinstance(obj, types.MethodType) and obj.__name__ == "_make"
    return is_method and obj.__module__ == collections.__name__


def _is_plain(obj: np.vectorize) -> bool:
    """Whether a vectorized function goes entry by entry, with no types or signature given."""
    given = vars(obj)
    return not any(given.get(option) for option in ("otypes", "excluded", "signature"))


def _applied(pyfunc: ir.Expr, args: tuple[ir.Expr, ...], call: ir.Call) -> ir.Expr:
    program = _of_vectorize.get(len(args))
    if program is None:
        return call
    return ir.Call(ir.Ref(f"{program.__name__}", program), (pyfunc, *args), at=call.at)


def _vectorized(function: ir.Function) -> list[tuple[str, ir.Expr]]:
    """The names that stand for `np.vectorize(f)` of a known function, defined once."""
    found = []
    counts: dict[str, int] = {}
    for stmt in ir.statements(function.body):
        for name in ir.binds(stmt):
            counts[name] = counts.get(name, 0) + 1
        match stmt:
            case ir.Assign(
                target=str(name),
                value=ir.Call(ir.Ref(obj=obj), args=(ir.Ref() as pyfunc,), kwargs=()),
            ) if obj is np.vectorize:
                found.append((name, pyfunc))
    return [(name, pyfunc) for name, pyfunc in found if counts[name] == 1]
