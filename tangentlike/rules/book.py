"""The rulebook: which operation has which derivative.

A `RuleBook` is a value: it maps live objects (`np.tanh`, `operator.mul`, `math.sin`,
`np.ndarray.sum`, a user's own function) to rules, and `book | mine` composes two of them.
`rule` and `nondifferentiable` are the decorators that write into one::

    @rule(np.tanh)
    def tanh(y, x):
        dy_dx = 1.0 - y * y

Our own rules are imported on the first use of `default_book()`, never at import.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import EnumMeta
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import ir
from ..errors import Place, TangentlikeError
from ..ir.kind import UNKNOWN, Kind
from ..runtime.records import attribute_of
from .twins import twin

if TYPE_CHECKING:
    from .bind import Instance


KindOf = Callable[[ir.Expr], Kind]
ResultKind = Callable[[ir.Call, KindOf], Kind]
ViewOf = Callable[[ir.Call], str]
F = TypeVar("F", bound=Callable[..., Any])

# The files that hold our rules, in the order in which they are read.
RULE_MODULES = (
    "elementwise",
    "python",
    "constant",
    "runtime_rules",
    "distributions",
    "reductions",
    "shape",
    "products",
    "linalg",
    "indexing",
    "creation",
    "scipy_linalg",
    "signal",
)


def method_owners() -> tuple[type, ...]:
    """Classes whose methods and attributes a program may use on values we follow."""
    return (np.ndarray, np.random.Generator, list, dict, str, float)


# Operations that make floats of integers, whatever their kinds are made from. (A claim that
# something is an integer says that it carries no derivative.)
_FLOATING = (
    "numpy.linalg.", "scipy.", "numpy.mean", "numpy.average", "numpy.median", "numpy.std",
    "numpy.var", "numpy.nanmean", "numpy.nanmedian", "numpy.nanstd", "numpy.nanvar",
    "numpy.quantile", "numpy.percentile", "numpy.nanquantile", "numpy.nanpercentile",
    "numpy.interp", "numpy.sinc", "numpy.i0", "numpy.unwrap", "numpy.cov", "numpy.corrcoef",
    "numpy.angle", "numpy.trapezoid", "numpy.trapz", "numpy.gradient",
)  # fmt: skip


_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Rule:
    """The derivative of one operation, stated as a template or made by a builder.

    `fn` is the rule function as its author wrote it; it is read, never called, unless
    `builder` is set: then `fn(call, kind_of)` returns the text of a template for that call. Where
    `text` is the template, which stands `at` a place, `fn` only says where its names are looked up.
    `view` says whether the result shares memory with the first argument ("no", "view", "maybe"),
    or is a function that says so of a call.
    """

    name: str
    fn: FunctionType
    view: str | ViewOf = "no"
    kind: ResultKind | None = None
    builder: bool = False
    text: str = ""
    at: Place | None = None

    @property
    def place(self) -> Place:
        """Where the rule is written."""
        if self.at is not None:
            return self.at
        code = self.fn.__code__
        return Place(code.co_filename, code.co_firstlineno, f"def {self.fn.__name__}(...)")

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the package's own."""
        return (self.fn.__module__ or "").partition(".")[0] == __name__.partition(".")[0]

    def view_of(self, call: ir.Expr) -> str:
        """Whether the result of one call shares memory with an argument: "no", "view", "maybe"."""
        if isinstance(self.view, str):
            return self.view
        return self.view(call) if isinstance(call, ir.Call) else "maybe"

    def result_kind(self, expr: ir.Call | ir.Attribute, kind_of: KindOf) -> Kind:
        """What is statically known of the result of a call, or of reading an attribute."""
        call = as_function_call(expr)
        if not call.args:  # (its operands are given by keyword)
            return UNKNOWN
        from .kinds_of import elementwise, floating
        from .template import template_of

        found = UNKNOWN
        if self.kind is not None:
            found = self.kind(self._in_positions(call), kind_of)
        elif not self.builder and template_of(self).is_elementwise:
            found = elementwise(call, kind_of)
        return floating(found) if self.name.startswith(_FLOATING) else found

    def _in_positions(self, call: ir.Call) -> ir.Call:
        """`normal(scale=s)` as `normal(0.0, s)`: what may be an operand stands where it is looked
        for."""
        from .template import template_of

        keywords = dict(call.kwargs)
        given = [value for value in keywords.values() if not isinstance(value, ir.Const)]
        if not given or self.builder or any(map(ir.is_starred, call.args)):
            return call
        args = list(call.args)
        params = [p for p in template_of(self).signature.parameters.values() if p.kind in _PLACED]
        last = max((k for k, p in enumerate(params) if p.name in keywords), default=-1)
        for param in params[len(args) : last + 1]:
            args.append(keywords.pop(param.name, ir.Const(param.default)))
        return replace(call, args=tuple(args), kwargs=tuple(keywords.items()))

    def bind(
        self,
        expr: ir.Call | ir.Attribute,
        kinds: Mapping[str, Kind] | KindOf,
        alias: str = "np",
        real: bool = True,
    ) -> Instance:
        """The rule's lines for one call; see `bind.bind`."""
        from .bind import bind

        return bind(self, expr, kinds, alias, real)


class RuleBook:
    """A mapping from operations to rules, and the set of operations that carry no derivative."""

    def __init__(self, name: str = "rules") -> None:
        self.name = name
        self._rules: dict[Any, Rule] = {}
        self._constant: dict[Any, ResultKind | None] = {}
        self._waiting: dict[str, Rule | ResultKind | None] = {}  # dotted names not loaded yet
        self._seen: tuple[int, str] = (0, "")  # the modules when `_waiting` was last looked through

    # ------------------------------------------------------------------------- asking

    def find(self, obj: Any) -> Rule | None:
        """The rule of a live object, or None."""
        return self._lookup(self._rules, obj)

    def is_nondifferentiable(self, obj: Any) -> bool:
        """Whether the result of calling `obj` carries no derivative: so it is where that looks up
        a member of an `Enum`."""
        return (
            isinstance(obj, EnumMeta) or self._lookup(self._constant, obj, _ABSENT) is not _ABSENT
        )

    def knows(self, obj: Any) -> bool:
        """Whether the book says anything of an operation."""
        return self.find(obj) is not None or self.is_nondifferentiable(obj)

    def find_attribute(self, name: str) -> Rule | None:
        """The rule of reading an array's attribute: `x.T`, `x.real`."""
        return self.find(getattr(np.ndarray, name, None))

    def result_kind(self, call: ir.Call, kind_of: KindOf) -> Kind:
        """What is known of the result of any call, covered by a rule or marked constant."""
        obj = operation(call.fn)
        found = self.find(obj)
        if found is not None:
            return found.result_kind(call, kind_of)
        kind = self._lookup(self._constant, obj)
        return UNKNOWN if kind is None else kind(as_function_call(call), kind_of)

    def entry_kind(self, kind: Kind) -> Kind:
        """The kind of an entry of an array, given what it is in NumPy."""
        return kind

    def rules(self) -> Iterator[tuple[Any, Rule]]:
        """All (operation, rule) pairs, in the order in which they were registered."""
        self._resolve_waiting()
        return iter(self._rules.items())

    def constants(self) -> Iterator[Any]:
        """All operations marked as carrying no derivative, in order."""
        self._resolve_waiting()
        return iter(self._constant)

    def _lookup(self, table: dict[Any, Any], obj: Any, default: Any = None) -> Any:
        try:
            found = table.get(obj, default)
        except TypeError:  # unhashable: an array, a list, ...
            return default
        if found is not default:
            return found
        if self._waiting:
            self._resolve_waiting()
            found = table.get(obj, default)
        if found is default:
            other = twin(obj)
            found = default if other is None else table.get(other, default)
        return found

    # ------------------------------------------------------------------------ writing

    def register(self, objs: tuple[Any, ...], entry: Rule, override: bool = False) -> None:
        """Give operations (objects, or dotted names of what may not exist) a rule."""
        self._write(self._rules, objs, entry, override)

    def register_constant(
        self, objs: tuple[Any, ...], kind: ResultKind | None, override: bool = False
    ) -> None:
        """Mark operations as carrying no derivative."""
        self._write(self._constant, objs, kind, override)

    def _write(
        self, table: dict[Any, Any], objs: tuple[Any, ...], entry: Any, override: bool
    ) -> None:
        live = []
        for obj in objs:
            if not isinstance(obj, str):
                live.append(obj)
            elif (found := resolve(obj)) is not None:
                live.append(found)
            elif obj.partition(".")[0] not in ("numpy", "math", "operator", "builtins"):
                self._waiting[obj] = entry
        for obj in dict.fromkeys(live):
            both = table is self._constant and obj in self._constant  # says nothing new
            if not (override or both) and (obj in self._rules or obj in self._constant):
                place = entry.place if isinstance(entry, Rule) else None
                raise TangentlikeError(
                    f"{path_of(obj)} already has a rule",
                    place,
                    "Pass override=True to replace it.",
                )
        for obj in live:
            self._rules.pop(obj, None)
            self._constant.pop(obj, None)
            table[obj] = entry

    def _resolve_waiting(self) -> None:
        """Take in the rules of libraries that were imported since."""
        loaded = (len(sys.modules), next(reversed(sys.modules)))
        if loaded == self._seen:
            return
        self._seen = loaded
        for dotted in list(self._waiting):
            if dotted.partition(".")[0] not in sys.modules:
                continue
            obj = resolve(dotted)
            if obj is not None:
                entry = self._waiting.pop(dotted)
                table = self._rules if isinstance(entry, Rule) else self._constant
                table.setdefault(obj, entry)

    def __or__(self, other: RuleBook) -> RuleBook:
        """Both books; where they disagree the right one decides."""
        book = RuleBook(f"{self.name} | {other.name}")
        for source in (self, other):
            for obj, entry in source._rules.items():
                book.register((obj,), entry, override=True)
            for obj, kind in source._constant.items():
                book.register_constant((obj,), kind, override=True)
            book._waiting.update(source._waiting)
            book._seen = (0, "")
        return book


_ABSENT: Any = object()
_default = RuleBook("tangentlike")
_loading = threading.RLock()
_progress = "not loaded"


def default_book() -> RuleBook:
    """The book every derivative uses, with our own rules read in on first use."""
    global _progress
    if _progress != "loaded":
        with _loading:
            if _progress == "not loaded":
                _progress = "loading"  # rule modules ask for the book while they are read
                try:
                    for module in RULE_MODULES:
                        importlib.import_module(f"{__package__}.{module}")
                except BaseException:
                    _progress = "not loaded"
                    raise
                _progress = "loaded"
    return _default


def rule(
    *objs: Any,
    view: str | ViewOf = "no",
    kind: ResultKind | None = None,
    override: bool = False,
    builder: bool = False,
    book: RuleBook | None = None,
) -> Callable[[F], F]:
    """Declare the decorated template as the derivative rule of the operations `objs`.

    The template is read, never called. Its first parameter is the result, the others those of the
    operation; `dy_dx = ...` is a partial derivative, `y_dot = ...` the tangent, `x_bar = ...` a
    contribution to the adjoint. See the page on rules.

    Parameters
    ----------
    *objs : Any
        The operations: functions, methods of classes. One that may not exist in the running version
        of its library is named by a string, `"numpy.matvec"`, and skipped where it is absent.
    view : {"no", "view", "maybe"} or callable
        Whether the result shares memory with the first argument, or a function that gives one of
        these for a call (`np.diff(a, n)` gives `a` itself where `n` is 0).
    kind : callable, optional
        From the call and the kinds of its arguments to that of the result (rank, dtype).
    override : bool
        Replaces a rule that is there.
    builder : bool
        The function is not a template: it builds the statements itself.
    book : RuleBook, optional
        Where the rule goes; the one that all derivatives use, by default.

    Returns
    -------
    callable
        The decorator, which gives the template back.

    Raises
    ------
    TangentlikeError
        if an operation has a rule already and `override` is not given.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def square(x):
    ...     return x * x
    >>> @tl.rule(square)
    ... def square_rule(y, x):
    ...     dy_dx = 2.0 * x
    >>> tl.grad(square)(3.0)
    6.0
    """

    def register(fn: F) -> F:
        names = [path_of(obj) for obj in objs]
        entry = Rule(names[0] if names else fn.__name__, fn, view, kind, builder)  # type: ignore[arg-type]
        (default_book() if book is None else book).register(objs, entry, override)
        RULE_FUNCTIONS[id(fn)] = fn
        return fn

    return register


def nondifferentiable(
    *objs: Any,
    kind: ResultKind | None = None,
    override: bool = False,
    book: RuleBook | None = None,
) -> None:
    """Declare that the results of the operations `objs` carry no derivative.

    Parameters
    ----------
    *objs : Any
        The operations: functions, methods of classes.
    kind : callable, optional
        From the call and the kinds of its arguments to that of the result (rank, dtype).
    override : bool
        Replaces a rule that is there.
    book : RuleBook, optional
        Where this is noted; in the one that all derivatives use, by default.

    Raises
    ------
    TangentlikeError
        if an operation has a rule already and `override` is not given.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def bucket(x):
    ...     return x // 10.0
    >>> tl.nondifferentiable(bucket)
    >>> tl.grad(lambda x: x * bucket(x))(25.0)
    2.0
    """
    (default_book() if book is None else book).register_constant(objs, kind, override)


# Rule functions are often named like the operation they describe (`abs`, `sum`); a template
# that says `abs(x)` means the built-in, not its neighbour in the file.
RULE_FUNCTIONS: dict[int, Any] = {}  # by id; kept, so that no other object gets the id


def operation(fn: ir.Expr) -> Any:
    """The live object a call means: a resolved name, or the method of an array."""
    if isinstance(fn, ir.Ref):
        return fn.obj
    if isinstance(fn, ir.Attribute):
        if isinstance(fn.base, ir.Ref) and isinstance(fn.base.obj, np.ufunc):
            return getattr(fn.base.obj, fn.name, None)
        for owner in method_owners():
            found = getattr(owner, fn.name, None)
            if found is not None:
                return found
    return None


# Methods of ufuncs that have the rules of reductions and sums, which go over all axes by default.
_OVER_FIRST_AXIS = (
    *(np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce),
    *(np.add.accumulate, np.multiply.accumulate),
)


def _over_first_axis(call: ir.Call) -> ir.Call:
    """`np.add.reduce(x)` with its axis, and without a type that is None."""
    given = {"a" if word == "array" else word: value for word, value in call.kwargs}
    args = call.args[:2] if call.args[2:] == (ir.Const(None),) else call.args
    if given.get("dtype") == ir.Const(None):
        del given["dtype"]
    if len(args) < 2:
        given.setdefault("axis", ir.Const(0))
    return replace(call, args=args, kwargs=tuple(given.items()))


def as_function_call(expr: ir.Call | ir.Attribute) -> ir.Call:
    """`x.sum(0)` as `sum(x, 0)` and `x.T` as `T(x)`: the receiver is the first argument."""
    if isinstance(expr, ir.Attribute):
        return ir.Call(ir.Ref(expr.name, operation(expr)), (expr.base,), at=expr.at)
    match expr.fn:
        case ir.Attribute(ir.Ref(text, np.ufunc()), name):
            expr = replace(expr, fn=ir.Ref(f"{text}.{name}", operation(expr.fn)))
    obj = getattr(expr.fn, "obj", None)
    if type(obj) is BuiltinFunctionType and obj in _OVER_FIRST_AXIS:
        return _over_first_axis(expr)
    words = expr.kwargs
    if words and operation(expr.fn) in (np.clip, np.ndarray.clip):  # (the method's own names)
        words = tuple(({"min": "a_min", "max": "a_max"}.get(word, word), v) for word, v in words)
    if isinstance(expr.fn, ir.Attribute):
        fn = ir.Ref(expr.fn.name, operation(expr.fn))
        return ir.Call(fn, (expr.fn.base, *expr.args), words, expr.at)
    return expr if words is expr.kwargs else replace(expr, kwargs=words)


def resolve(dotted: str) -> Any:
    """The object a dotted name means among the modules that are loaded, or None."""
    parts = dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        found: Any = module
        for part in parts[cut:]:
            # A module's deprecated names would warn when they are merely looked at.
            inside = vars(found) if isinstance(found, ModuleType) else None
            found = getattr(found, part, None) if inside is None else inside.get(part)
            if found is None:
                break
        if found is not None:
            return found
    return None


def path_of(obj: Any) -> str:
    """How a message names an operation."""
    if isinstance(obj, str):
        return obj
    name = attribute_of(obj, "__qualname__", None) or attribute_of(obj, "__name__", repr(obj))
    module = attribute_of(obj, "__module__", None)
    if isinstance(obj, np.ufunc):
        module = "numpy"
    owner = attribute_of(obj, "__objclass__", None)
    if owner is not None:
        return f"{owner.__name__}.{name.rpartition('.')[2]}"
    if module in (None, builtins.__name__):
        return str(name)
    return f"{'operator' if module == '_operator' else module}.{name}"


# --------------------------------------------------------------------------------------------------
# Modules that a rule may name without importing them.


class Deferred:
    """A module imported when a template that names it is first read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def module(self) -> ModuleType:
        """The module itself."""
        return importlib.import_module(self.name)
