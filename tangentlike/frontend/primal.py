"""What the caller handed us, as one plain Python function and the arguments already bound to it.

Bound methods, `functools.partial`, cached functions, callable objects, our own derivatives and
NumPy functions all end as a `Primal`: a function with source, and what stands in front of it.
"""

from __future__ import annotations

import builtins
import collections
import dis
import functools
import inspect
import itertools
import keyword
import linecache
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import TangentlikeError, UnknownClassError, UnsupportedError
from ..runtime.recent import Recent
from ..runtime.stated_types import required_by
from .checkpoints import inside_checkpoint
from .owners import is_numerical, is_ours, mark_of, package_of
from .resolve import note_derivative
from .signatures import plain_signature, showing

Wrt = int | str | Sequence[int | str]


@dataclass(frozen=True)
class Primal:
    """`function` is what is differentiated; `args` and `kwargs` are bound in front of every call.

    `name` is how messages call it, `origin` the object the caller gave (for pickling). `inner`
    is the derivation that emitted `function`, if one did; where it `waits`, one that will, when
    the arguments of a call tell how. `strict` refuses at once what a call may not reach, too.
    """

    function: types.FunctionType
    name: str
    origin: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inner: Any = None
    waits: bool = False
    strict: bool = False

    def strictly(self, strict: bool) -> Primal:
        """The primal of a derivative that refuses everything at once, or does not."""
        return replace(self, strict=strict) if strict else self

    def around(self, inner: Any) -> Primal:
        """The primal that `inner` emits. Where only a call tells the classes of objects, so that
        nothing can be emitted yet, what `inner` differentiates stands for it."""
        try:
            return replace(self, function=inner.emitted, inner=inner, waits=False)
        except UnknownClassError:
            return replace(self, function=inner.primal.function, inner=inner, waits=True)

    def of(self, inner: Any) -> Primal:
        """The same for a derivation that will only be asked what it makes of a call's arguments:
        a gradient has the parameters of what it differentiates, which stands for it until its
        own text is needed. (The text made for a call is most often another one.)"""
        if not inner.is_gradient:
            return self.around(inner)
        return replace(self, function=inner.primal.function, inner=inner, waits=True)

    def shaped(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """What `function` returned, as the function that the caller gave returns it: a derivative
        hands its gradients back in the caller's containers."""
        operator = mark_of(self.origin, "tangentlike")
        shape = None if operator is None else operator.shaped
        return result if shape is None else shape(args, kwargs, result)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The signature a caller sees: that of the function less what is bound already."""
        full = plain_signature(self.function)
        if not self.args and not self.kwargs:
            return full
        return inspect.signature(functools.partial(showing(full), *self.args, **self.kwargs))

    @functools.cached_property
    def free_names(self) -> tuple[str, ...]:
        """The names of the parameters a caller still gives."""
        return tuple(self.signature.parameters)

    @functools.cached_property
    def positional(self) -> tuple[str, ...]:
        """Those that take one positional argument each."""
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = self.signature.parameters.values()
        return tuple(p.name for p in parameters if p.kind in by_position)

    @functools.cached_property
    def starred(self) -> str | None:
        """The one that takes the rest of them, if there is one."""
        kinds = {p.kind: p.name for p in self.signature.parameters.values()}
        return kinds.get(inspect.Parameter.VAR_POSITIONAL)


_KNOWN: Recent[int, Primal] = Recent(256)  # plain functions seen lately: tl.vjp is called in loops


def primal_of(fn: Any, arity: int | None = None, literals: dict[str, Any] | None = None) -> Primal:
    """The function behind a callable.

    `arity` and `literals` say how a function without Python source (NumPy's) will be called:
    with so many arguments, and with these keyword arguments written as literals.
    """
    known = _KNOWN.get(id(fn))
    if known is not None and known.origin is fn:
        return known
    inside = inside_checkpoint(fn)
    if inside is not None:  # nothing is kept outside of the whole function
        return primal_of(inside, arity, literals)
    operator = mark_of(fn, "tangentlike")
    if operator is not None:
        bound = operator.primal
        note_derivative(operator.inner)
        plain = Primal(bound.function, fn.__name__, fn, bound.args, bound.kwargs)
        return plain.around(operator.inner)
    if isinstance(fn, types.FunctionType) and not is_operation(fn):
        inner, _ = required_by(fn)
        return _KNOWN.put(id(fn), Primal(as_documented(inner) or inner, fn.__name__, fn))
    if isinstance(fn, types.MethodType):
        inner = primal_of(fn.__func__, arity)
        return Primal(inner.function, fn.__name__, fn, (*inner.args, fn.__self__), inner.kwargs)
    if isinstance(fn, functools.partial):
        inner = primal_of(fn.func, arity)
        kwargs = {**inner.kwargs, **fn.keywords}
        return replace(inner, origin=fn, args=(*inner.args, *fn.args), kwargs=kwargs)
    if isinstance(fn, (staticmethod, classmethod)):
        raise TangentlikeError(
            f"a {type(fn).__name__} object is not yet a function",
            hint=f"Put the decorator below @{type(fn).__name__}, next to the function.",
        )
    if isinstance(fn, functools._lru_cache_wrapper) or is_compiled_python(fn):
        return primal_of(python_function(fn), arity)
    return _primal_of_other(fn, arity, literals)


def _primal_of_other(fn: Any, arity: int | None, literals: dict[str, Any] | None) -> Primal:
    """Library functions get a one-line function around them; objects give their `__call__`."""
    if not callable(fn):
        raise TangentlikeError(
            f"expected a function, got {type(fn).__name__}",
            hint="Pass the function itself: tl.grad(f), not tl.grad(f(x)).",
        )
    if isinstance(fn, type) and fn is not float:
        raise UnsupportedError(
            f"{fn.__qualname__} is a class",
            hint="Differentiate a function that builds the object and returns a number.",
        )
    if library_path(fn) is not None:
        params = parameter_names(fn, arity)
        written = [f"{key}={value!r}" for key, value in (literals or {}).items()]
        return Primal(one_line_function(fn, params, [*params, *written]), fn.__name__, fn)
    method = inspect.getattr_static(type(fn), "__call__", None)
    if isinstance(method, types.FunctionType):
        return Primal(method, type(fn).__qualname__, fn, (fn,))
    raise UnsupportedError(
        f"{getattr(fn, '__qualname__', fn)!s} has no Python source",
        hint="Wrap it in a Python function, and give its derivative with @tl.rule.",
    )


def emitted_of(
    fn: Any,
    for_complex: bool = False,
    for_identity: bool = False,
    looked_up: frozenset[str] = frozenset(),
) -> types.FunctionType | None:
    """The emitted function inside one of our derivatives, None for anything else.

    `for_complex` for the one that allows for complex values, `for_identity` for the one that
    reverse mode by identity may follow, `looked_up` for methods that are looked up.
    """
    operator = mark_of(fn, "tangentlike")
    if operator is None:
        return None
    bound = getattr(operator, "primal", None)
    if bound is not None and (bound.args or bound.kwargs):
        raise UnsupportedError(
            f"`{fn.__name__}` is a derivative of a method or a partial, made outside of the "
            "function that calls it",
            hint="Make it where it is called, `tl.grad(system.energy)(x)`, or make that of a "
            "function that is given all its arguments.",
        )
    inner = operator.inner
    for method in looked_up:
        inner = inner.looking_up(method)
    inner = inner.for_complex if for_complex else inner
    inner = inner.for_identity if for_identity else inner
    note_derivative(inner)
    emitted: types.FunctionType = inner.emitted
    return emitted


def is_compiled_python(fn: Any) -> bool:
    """Whether a compiler such as Numba made `fn` from a Python function it still holds."""
    return isinstance(getattr(fn, "py_func", None), types.FunctionType)


def python_function(fn: Any) -> Any:
    """The Python function inside a cached or compiled one."""
    return getattr(fn, "py_func", None) or fn.__wrapped__


# ----------------------------------------------------------------------- the choice of wrt


def wrt_names(primal: Primal, wrt: Wrt, allow_locals: bool = False) -> tuple[tuple[str, ...], bool]:
    """The parameters (or local variables) that `wrt` asks for, and whether it asked for one."""
    single = not isinstance(wrt, (tuple, list, range, np.ndarray))
    asked: list[Any] = [wrt] if single else list(wrt)  # type: ignore[arg-type]
    names = tuple(_wrt_name(primal, item, allow_locals) for item in asked)
    if not names:
        raise TangentlikeError(
            f"wrt is empty: there is nothing to differentiate {primal.name} with respect to",
            hint=f"Its parameters are {_listed(primal.free_names)}.",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TangentlikeError(
            f"wrt={wrt!r} names {_listed(twice)} more than once", hint="Name each parameter once."
        )
    return names, single


def _wrt_name(primal: Primal, item: Any, allow_locals: bool) -> str:
    names = primal.free_names
    hint = f"The parameters of {primal.name} are {_listed(names)}." if names else ""
    if isinstance(item, str) and _is_local(primal.function, item):
        if allow_locals:
            return item
        hint = "tl.grad, tl.value_and_grad and tl.autodiff in reverse mode take local variables."
    if not names:
        raise TangentlikeError(f"{primal.name} has no parameters to differentiate with respect to")
    if isinstance(item, str):
        if item not in names:
            raise TangentlikeError(f"{primal.name} has no parameter {item!r}", hint=hint)
        return item
    if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
        raise TangentlikeError(f"wrt takes positions and parameter names, not {item!r}", hint=hint)
    if not -len(names) <= item < len(names):
        raise TangentlikeError(
            f"wrt={item} is out of range: {primal.name} has {len(names)} parameters", hint=hint
        )
    return names[int(item)]


def _is_local(function: types.FunctionType, name: str) -> bool:
    """Whether a name is a variable of the function, and no parameter."""
    code = function.__code__
    bound = (*code.co_varnames, *code.co_cellvars)
    return name in bound and name not in plain_signature(function).parameters


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# ------------------------------------------------------------------------ names not there yet


def missing_names(function: types.FunctionType) -> tuple[str, ...]:
    """Global names that the function or its helpers need and that do not exist yet.

    A decorator runs before the definitions below it: then the derivative is made at the
    first call, when all names are there.
    """
    seen: set[int] = set()
    return tuple(dict.fromkeys(_missing(function, seen)))


def _missing(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    for name in global_names(function.__code__):
        if name in function.__globals__:
            yield from _missing_in_helper(function.__globals__[name], function, seen)
        elif not hasattr(builtins, name):
            yield name
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            helper = cell.cell_contents
        except ValueError:  # the enclosing function has not bound it yet
            yield name
            continue
        yield from _missing_in_helper(helper, function, seen)


def _missing_in_helper(helper: Any, user: types.FunctionType, seen: set[int]) -> Iterator[str]:
    # Only the module being executed right now can be incomplete.
    if isinstance(helper, types.FunctionType) and helper.__globals__ is user.__globals__:
        yield from _missing(helper, seen)


def makes_entries(cls: type) -> bool:
    """Whether a dict of a class gets an entry where it is read, as a `defaultdict` does."""
    missing = issubclass(cls, dict) and hasattr(cls, "__missing__")
    return missing and cls is not collections.Counter


def may_lose_items(cls: type) -> bool:
    """Whether `append` may take something out of a list of a class: of a `deque(maxlen=3)`."""
    return issubclass(cls, collections.deque)


def may_make(made_by: Any, asked: Callable[[type], bool]) -> bool:
    """Whether a function or class of the user's, or one of the same package that it names, makes
    containers of a class that is `asked` for.

    >>> class Ledger:
    ...     def __init__(self): self.accounts = collections.defaultdict(float)
    >>> may_make(Ledger, makes_entries), may_make(missing_names, makes_entries)
    (True, False)
    """
    work, seen, package = [made_by], set(), package_of(made_by)
    while work:
        obj = work.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if isinstance(obj, type) and asked(obj):
            return True
        if isinstance(obj, (type, types.FunctionType)) and package_of(obj) == package:
            parts = vars(obj).values() if isinstance(obj, type) else (obj,)
            codes = [fn for fn in parts if isinstance(fn, types.FunctionType)]
            work += obj.__bases__ if isinstance(obj, type) else ()
            work += (value for fn in codes for value in _named_values(fn, fn.__code__))
    return False


def _named_values(fn: types.FunctionType, code: types.CodeType) -> Iterator[Any]:
    """What the names in some code of a function stand for, those of attributes of modules too."""
    named = [fn.__globals__[name] for name in code.co_names if name in fn.__globals__]
    if code is fn.__code__ and fn.__closure__:
        named += inspect.getclosurevars(fn).nonlocals.values()
    yield from named
    if any(value is collections for value in named):
        yield from (vars(collections)[n] for n in ("defaultdict", "deque") if n in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named_values(fn, constant)


def global_names(code: types.CodeType) -> Iterator[str]:
    """The global names a function's code reads, in order of appearance."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield re.sub(r"^NULL \+ | \+ NULL$", "", str(instruction.argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


_STORES = ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF", "DELETE_SUBSCR")
_CHANGING = frozenset(("append", "add", "update", "pop", "extend", "insert", "setdefault", "next"))


def stores(fn: Any, depth: int = 3) -> bool:
    """Whether a function, or one that it names, may store anything, by its code.

    >>> import ast
    >>> stores(np.sin), stores(inspect.isclass), stores(ast.increment_lineno)
    (False, False, True)
    """
    if not isinstance(fn, types.FunctionType) or is_numerical(fn) or is_ours(fn):
        return False
    code = fn.__code__
    if depth == 0 or code.co_freevars or not _CHANGING.isdisjoint(code.co_names):
        return True
    steps = dis.get_instructions(code)
    if any(step.opname in _STORES or step.argrepr.endswith("=") for step in steps):
        return True
    return any(stores(fn.__globals__.get(name), depth - 1) for name in code.co_names)


# --------------------------------------------------------------------------------------------------
# Functions of NumPy and other libraries: they have no source, so that a one-line Python function
# around each is what is differentiated.

_LIBRARIES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "math", "operator",
    "builtins",
)  # fmt: skip


def is_operation(fn: Any) -> bool:
    """Whether `fn` is a function of NumPy and the like, to be differentiated by its rule."""
    return is_numerical(fn) and library_path(fn) is not None


def library_path(fn: Any) -> tuple[str, str] | None:
    """Where a library function is found: ("numpy.linalg", "norm"); None if it is none."""
    name = getattr(fn, "__name__", "")
    for path in _LIBRARIES:
        module = sys.modules.get(path)
        if module is not None and name and getattr(module, name, None) is fn:
            return path, name
    return None


_COUNT = itertools.count(1)
_ONE_LINERS: Recent[tuple[Any, ...], types.FunctionType] = Recent(1024)


def one_line_function(
    op: Any,
    params: Sequence[str],
    operands: Sequence[str],
    constants: dict[str, Any] | None = None,
    text_of_op: str = "",
) -> types.FunctionType:
    """A Python function that does nothing but call `op`: `def sum(a): return np.sum(a)`.

    `operands` are the arguments as text; `constants` are names in them that mean objects, and
    `text_of_op` is one that means `op`.
    """
    constants = constants or {}
    call, namespace = _call_text(op, operands)
    if text_of_op:
        call, namespace = f"{text_of_op}({', '.join(operands)})", {}
    name = getattr(op, "__name__", "operation").strip("<>")
    taken = (*params, *namespace, *constants, *keyword.kwlist)
    if name in taken or hasattr(builtins, name):
        name = f"call_{name}"
    key = (id(op), tuple(params), call)
    known = None if constants else _ONE_LINERS.get(key)
    if known is not None:
        return known
    text = f"def {name}({', '.join(params)}):\n    return {call}\n"
    file = f"<{name} as a function {next(_COUNT)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module = op.__module__ if text_of_op else "numpy"
    namespace = {**namespace, **constants, "__name__": module, "__builtins__": builtins}
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, types.FunctionType)
    if not constants:
        _ONE_LINERS.put(key, function)
    return function


_SHOWN = {"__wrapped__", "__signature__"}  # (what `inspect.signature` goes by)


def as_documented(fn: types.FunctionType) -> types.FunctionType | None:
    """A function with the parameters that a decorated one shows, where itself it takes any:
    `def f(x, k=2.0): return decorated(x, k=k)` for `def wrapper(*args, **kwargs)` made with
    `functools.wraps`, or given a `__signature__`. None where the parameters are its own, or there
    are starred ones as well.
    """
    taking_any = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if not fn.__code__.co_flags & taking_any or not _SHOWN & fn.__dict__.keys():
        return None
    params: list[str] = []
    given: list[str] = []
    constants: dict[str, Any] = {"decorated": fn}
    takes_words = fn.__code__.co_flags & inspect.CO_VARKEYWORDS
    before = None
    for p in inspect.signature(fn).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            return None
        if before == p.POSITIONAL_ONLY != p.kind:
            params.append("/")
        if p.kind == p.KEYWORD_ONLY != before:
            params.append("*")
        default = ""
        if p.default is not p.empty:
            written = isinstance(p.default, (bool, int, float, str, type(None)))
            default = f"={p.default!r}" if written else f"=default_{p.name}"
            constants[f"default_{p.name}"] = p.default
        params.append(p.name + default)
        # (What has a default is often left out, and a decorator may put others in its place.)
        named = p.kind == p.POSITIONAL_OR_KEYWORD and default and takes_words
        given.append(f"{p.name}={p.name}" if named or p.kind == p.KEYWORD_ONLY else p.name)
        before = p.kind
    if before == inspect.Parameter.POSITIONAL_ONLY:
        params.append("/")
    return one_line_function(fn, params, given, constants, "decorated")


def _call_text(op: Any, operands: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """How a program calls `op`, and the names it needs for that."""
    owner = getattr(op, "__objclass__", None)
    if owner is not None:
        rest = f"({', '.join(operands[1:])})" if callable(op) else ""
        return f"{operands[0]}.{op.__name__}{rest}", {}
    found = library_path(op)
    if found is None:
        return f"operation({', '.join(operands)})", {"operation": op}
    path, name = found
    root, *inner = path.split(".")
    if root == "builtins":
        return f"{name}({', '.join(operands)})", {}
    alias = "np" if root == "numpy" else root
    return f"{'.'.join([alias, *inner, name])}({', '.join(operands)})", {alias: sys.modules[root]}


def parameter_names(fn: Any, arity: int | None) -> tuple[str, ...]:
    """Names for the parameters of the one-line function, from the documentation if it has any."""
    if isinstance(fn, np.ufunc):
        count = fn.nin if arity is None else arity
        return ("x",) if count == 1 else tuple(f"x{i + 1}" for i in range(count))
    names = _documented_parameters(fn)
    required = [name for name, optional in names if not optional]
    count = (len(required) or 1) if arity is None else arity
    known = [name for name, _ in names][:count]
    if len(known) < count or len(set(known)) < count:
        return ("x",) if count == 1 else tuple(f"x{i + 1}" for i in range(count))
    return tuple(known)


def _documented_parameters(fn: Any) -> list[tuple[str, bool]]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        (p.name, p.default is not p.empty)
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name.isidentifier()
    ]


def literals_of(fn: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a NumPy function, which its one-line wrapper writes out."""
    for name, value in kwargs.items():
        items = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(v, (bool, int, float, str, type(None))) for v in items):
            raise UnsupportedError(
                f"the keyword argument {name} of {fn.__name__} is not a literal",
                hint="Write a function that makes the call, and differentiate that.",
            )
    return dict(kwargs)
