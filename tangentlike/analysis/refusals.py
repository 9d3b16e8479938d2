"""What activity analysis finds and no transform could follow is refused, with the reason."""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import CLASS_IS_READ, Place, UnknownClassError, UnsupportedError
from ..frontend.comprehensions import Comprehension
from ..frontend.owners import is_installed, is_numpy, module_of
from ..frontend.structures import sets_attribute
from ..ir.facts import fact
from ..ir.index import references
from ..ir.kind import Kind
from ..pytree.leaves import is_matrix
from ..rules.definitions import definition
from ..runtime.records import attribute_of
from .constructors import own_way_of_making, record_class
from .flow import writes_outside
from .operations import (
    CONTAINER_METHODS,
    STORING_METHODS,
    differentiable_arguments,
    in_source,
    is_array_method,
    is_container_method,
    is_one_of,
    is_python_function,
    is_stop_gradient,
    makes_of_key,
    operands,
    rule_object,
    written_position,
)

_CONTAINERS = (dict, list, set, collections.deque)
_PLAIN = (dict, list, set, collections.OrderedDict, runtime.ExplicitDefaults)


def refuse_unknown(
    function: ir.Function,
    active: Collection[str],
    book: Any,
    kinds: Mapping[str, Kind] | None = None,
    wrt: Collection[str] = (),
) -> None:
    """Refuse active values that go where no derivative is known.

    That is an operation with neither a rule nor Python source, code that travels as text (a
    comprehension, a lambda, ...) on the way to an active name, or an object that belongs to no
    parameter: a global list or array.
    """
    check = _Check(function, active, book, kinds or {}, wrt, matrix_names(function))
    for stmt in ir.statements(function.body):
        check.statement(stmt)


def refuse_varied_functions(function: ir.Function, varied: Callable[[], Collection[str]]) -> None:
    """Refuse a derivative made at run time of a function that varies itself, as the method of an
    object that carries derivatives does: what it is made of gives nothing of that on."""
    made: dict[ir.Target, ir.Expr] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=ir.Call(fn=ir.Ref(obj=obj), args=args) as call):
                made[target] = call
                if obj not in _DERIVING or not isinstance(args[0], ir.Var):
                    continue
                name = args[0].name
                if name not in varied():
                    continue
                match made.get(name):
                    case ir.Call(args=(ir.Var(owner), ir.Const(str(method)))):
                        raise unknown_class(ir.Attribute(ir.Var(owner), method), stmt.origin.place)
                raise unknown_class(ir.Var(name), stmt.origin.place)


def writes_attributes_as_items(
    function: ir.Function,
    varied: Callable[[], Collection[str]],
    written: Callable[[ir.Stmt], Collection[str]],
) -> bool:
    """Whether what varies is written into `vars(model)`, which changes attributes: an adjoint of
    `model` that has a name would not see it. `written` says which names a statement writes
    through."""
    taken: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=builtins.vars))):
                taken.add(name)
            case ir.Assign(target=str(name), value=ir.Var(other)) if other in taken:
                taken.add(name)
    stmts = ir.statements(function.body) if taken else ()
    into = [stmt for stmt in stmts if not taken.isdisjoint(written(stmt))]
    return any(not ir.reads(stmt).isdisjoint(varied()) for stmt in into)


def refuse_writes_into_classes(
    function: ir.Function,
    varied: Callable[[], Collection[str]],
    written: Callable[[ir.Stmt], Collection[str]],
    kinds: Mapping[str, Kind],
) -> None:
    """Refuse writes into what the class of `model` holds, of which each of its objects has an
    adjoint. `written` says which names a statement writes through."""
    of_classes = _named(function, _asks_class)
    tables = _named(function, lambda value: _is_in_class(value, kinds))
    objects = any(kind.cls is not None for kind in kinds.values())
    for stmt in ir.statements(function.body) if of_classes or objects else ():
        path, given = _written_path(stmt)
        of_class = of_classes.intersection(written(stmt)) or ir.names_in(path) & tables
        if not (of_class or _is_in_class(path, kinds)):
            continue
        if not (given - _computed_of(function, tables)).isdisjoint(varied()):
            raise UnsupportedError(
                "what a class holds is changed, and its objects read it, too",
                stmt.origin.place,
                "Store it in the object: `self.w = w`.",
            )


def _computed_of(function: ir.Function, names: frozenset[str]) -> frozenset[str]:
    """Names of what these hold, and of what is computed from nothing else: of a counter."""
    found = set(names)
    bound = ir.bindings(list(ir.statements(function.body)), function.param_names)
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign) and ir.reads(stmt) and found.issuperset(ir.reads(stmt)):
            found.update(name for name in ir.target_names(stmt.target) if bound[name] == 1)
    return frozenset(found)


def _written_path(stmt: ir.Stmt) -> tuple[ir.Expr, frozenset[str]]:
    """What a statement writes into, as `model.table`, an item of it or by a method; and the names
    in what it writes there."""
    match stmt:
        case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
            return getattr(target, "base", target), frozenset(ir.names_in(value))
        case ir.Do(value=ir.Call(fn=fn) as call):
            given = frozenset(n for e in ir.arguments(call) for n in ir.names_in(e))
            return getattr(fn, "base", fn), given
    return ir.Const(None), frozenset(ir.reads(stmt))


def _is_in_class(path: ir.Expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether it is what a class holds: no object of it has an attribute of that name."""
    while isinstance(path, ir.Index):
        path = path.base
    match path:
        case ir.Attribute(ir.Var(name), field) if name in kinds and kinds[name].cls is not None:
            cls, fields = kinds[name].cls, dict(kinds[name].fields)
            if not isinstance(cls, type) or field in fields or sets_attribute(cls, field):
                return False
            value = inspect.getattr_static(cls, field, None)
            return isinstance(value, (list, dict, np.ndarray))
    return False


def _asks_class(value: ir.Expr) -> bool:
    """Whether it is the class of an object, `type(model)`."""
    match value:
        case ir.Call(fn=ir.Ref(obj=builtins.type), args=(_,)):
            return True
    return False


def _named(function: ir.Function, asked: Callable[[ir.Expr], bool]) -> frozenset[str]:
    """The names of such values, and of what these hold."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            match stmt.value:
                case ir.Var(base) | ir.Attribute(ir.Var(base), _) | ir.Index(ir.Var(base), _) if (
                    base in found
                ):
                    found.add(stmt.target)
                case value if asked(value):
                    found.add(stmt.target)
    return frozenset(found)


_FOLLOWED = (
    "Tracked are a class of yours with `__enter__` and `__exit__`, and a function under "
    "`contextlib.contextmanager` with one `yield`, outside branches and loops."
)


def entered_refused(stmt: ir.Enter) -> UnsupportedError:
    """What is said of what a context manager gives, where that is changed or differentiated."""
    return UnsupportedError(
        f"what a context manager returns as `{stmt.target}` carries derivatives",
        stmt.origin.place,
        f"What else refers to that array or object is not tracked. {_FOLLOWED}",
        "managers",
    )


_DERIVING = (runtime.pair_of, runtime.tangent_of)


@dataclass(frozen=True)
class _Check:
    function: ir.Function
    active: Collection[str]
    book: Any
    kinds: Mapping[str, Kind]
    wrt: Collection[str]
    matrices: Collection[str] = ()

    def statement(self, stmt: ir.Stmt) -> None:
        self._outside(stmt)
        self._container(stmt)
        self._function_derived(stmt)
        self._fields_of_array(stmt)
        self._written_entry(stmt)
        if isinstance(stmt, ir.Enter):
            self._entered(stmt)
        for expr in _operations(stmt, self.active):
            culprits = self._culprits(expr)
            if culprits:
                self._operation(expr, culprits[0], stmt.origin.place)

    def _culprits(self, expr: ir.Expr) -> list[str]:
        return [n for n in operands(expr, self.kinds, self.book) if n in self.active]

    def _entered(self, stmt: ir.Enter) -> None:
        """What a context manager does with its arguments is not followed."""
        if stmt.again:
            return
        for name in operands(stmt.context, self.kinds, self.book):
            form = self.kinds[name].form if name in self.kinds else "unknown"
            if name in self.active or form in ("array", "list", "dict", "value"):
                raise UnsupportedError(
                    f"a context manager is given `{name}`",
                    stmt.origin.place,
                    "What this one does with a value that is differentiated, or to an array, is "
                    f"not tracked. {_FOLLOWED}",
                    "managers",
                )
        if stmt.target in self.active:
            raise entered_refused(stmt)

    def _container(self, stmt: ir.Stmt) -> None:
        """A list or dict of another class (`defaultdict`, `deque`) has ways of its own."""
        name, text = special_container(stmt)
        if name in self.active:
            raise UnsupportedError(
                f"what is put into a `{text}` carries derivatives",
                stmt.origin.place,
                f"Here `{name}` is used in another way than a list or dict: it is returned, passed "
                "on, bound to a second name, or changed by a method of its own. Use a list, or a "
                "dict: `d.setdefault(k, [])` gives a key its first value.",
            )

    def _fields_of_array(self, stmt: ir.Stmt) -> None:
        """A structured array, or one of another type: what is written into a field, or a view, is
        seen through the rows of the array."""
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                match part:
                    case ir.Index(ir.Var(name), ir.Const(str())) if (
                        self._form(part.base) == "array"
                    ):
                        found = name in self.active
                    case ir.Call(fn=ir.Attribute(ir.Var(name), "view")) if (
                        (part.args or part.kwargs)
                        and name in self.active
                        and rule_object(part, self.kinds) is np.ndarray.view
                    ):  # (what is written into it is not seen as a change of the array)
                        raise UnsupportedError(
                            "an array that carries derivatives is viewed as one of another type",
                            part.at or stmt.origin.place,
                            "Convert it, `x.astype(dtype)`, or take `x.real` and `x.imag`.",
                        )
                    case ir.Call(kwargs=kwargs):
                        fields = (self._form(v) for word, v in kwargs if word == "dtype")
                        found = any(form in ("list", "tuple", "dict") for form in fields)
                        found = found and bool(set(ir.binds(stmt)) & set(self.active))
                    case _:
                        continue
                if found:
                    raise UnsupportedError(
                        "an array with fields (a structured array) carries derivatives",
                        getattr(part, "at", None) or stmt.origin.place,
                        "Use a dict with one array for each field.",
                    )

    def _written_entry(self, stmt: ir.Stmt) -> None:
        """What only a container or an object can be asked for, of what an array gave: an array of
        objects, through which nothing is followed."""
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(base, method))):
                found = method in STORING_METHODS and not hasattr(np.ndarray, method)
            case ir.Store(target=ir.Attribute(base, name)):
                found = not hasattr(np.ndarray, name)
            case ir.Store(target=ir.Index(base)):
                found = self._form(base) == "number"
            case _:
                return
        if found and self._form(base) in ("number", "array", "value"):
            raise UnsupportedError(
                "an entry of an array is used as a container or as an object",
                stmt.origin.place,
                "Arrays of objects are not followed: use a list of what they hold.",
            )

    def _form(self, expr: ir.Expr) -> str:
        if isinstance(expr, ir.Display):
            return expr.form
        known = self.kinds.get(expr.name) if isinstance(expr, ir.Var) else None
        return "" if known is None else known.form

    def _function_derived(self, stmt: ir.Stmt) -> None:
        """A function that only the run knows, and that holds what carries derivatives."""
        match stmt:
            case ir.Assign(value=ir.Call(ir.Ref(obj=obj), (ir.Var(name), *_))):
                if obj in _DERIVING and name in self.active:
                    raise unknown_class(ir.Var(name), stmt.origin.place)

    def _outside(self, stmt: ir.Stmt) -> None:
        """Binding a name of the module: who reads it there is not followed."""
        if not (isinstance(stmt, ir.OpaqueStmt) and writes_outside(stmt)):
            return
        for found in (name for value in stmt.values for name in self._culprits(value)):
            culprit = in_source(found, self.function)
            raise UnsupportedError(
                f"`{culprit}` carries derivatives into `{stmt.text.partition(' = ')[0]}`, which is "
                f"defined outside {self.function.name}",
                stmt.origin.place,
                f"{self._reason(found)} Return it instead (see has_aux), or store "
                f"tl.stop_gradient({culprit}).",
            )

    def _operation(self, expr: ir.Expr, culprit: str, place: Place) -> None:
        place = getattr(expr, "at", None) or place
        match expr:
            case ir.Opaque() | ir.Lazy():
                what = f"`{expr.text}`" if isinstance(expr, ir.Opaque) else "this expression"
                raise UnsupportedError(
                    f"{what} is not differentiated, and `{culprit}` in it carries derivatives",
                    place,
                    f"{self._reason(culprit)} Write it with a loop or plain statements, or apply "
                    "tl.stop_gradient.",
                )
            case ir.Call():
                self._call(expr, culprit, place)
            case ir.Index(ir.Ref(text=text, obj=obj)) if makes_of_key(obj):
                raise UnsupportedError(
                    f"`{text}[...]` is not differentiated with respect to the values in its "
                    "brackets",
                    place,
                    f"{self._reason(culprit)} Write np.linspace, np.arange or np.concatenate.",
                )

    def _call(self, call: ir.Call, culprit: str, place: Place) -> None:
        for arg in call.args:
            if isinstance(arg, Comprehension) and self._culprits(arg):
                raise UnsupportedError(
                    f"the items of `{arg.text}` carry derivatives, and what consumes them is not "
                    "known",
                    place,
                    "Make a list of them: write it in square brackets.",
                )
        self._method(call, culprit, place)
        obj = rule_object(call, self.kinds)
        refuse_matrix_product(call, obj, self.matrices, culprit, place)
        if is_container_method(call, self.kinds):
            return
        if obj in (range, zip, enumerate, reversed):
            return self._header(call, place)
        if record_class(call) is not None:
            return self._fields_given(call, culprit, place)
        if is_stop_gradient(obj) or is_python_function(obj):
            return
        if obj is None and not isinstance(call.fn, ir.Ref):
            return  # known when it runs (an outer name for None: a library that is not there)
        self._converted(call, obj, place)
        if written_position(obj) is not None or self.book.find(obj) is not None:
            return
        if self.book.is_nondifferentiable(obj):
            return
        raise self._no_rule(call, obj, culprit, place)

    def _converted(self, call: ir.Call, obj: Any, place: Place) -> None:
        """`float(model)`, `np.asarray(model)`: the class says which number or array that is."""
        if obj not in (float, complex) and not is_numpy(obj) and module_of(obj) != "math":
            return
        for arg in call.args:
            name = arg.name if isinstance(arg, ir.Var) else ""
            kind = self.kinds.get(name)
            if kind is None or kind.form != "object" or name not in self.active:
                continue
            if kind.cls is not None and not is_installed(module_of(kind.cls)):
                raise UnsupportedError(
                    f"a {kind.cls.__name__} is given to `{getattr(call.fn, 'text', obj)}`, which "
                    "asks its class for a number or an array",
                    place,
                    "Pass the attribute that holds it, or what a method of the object returns.",
                )

    def _fields_given(self, call: ir.Call, culprit: str, place: Place) -> None:
        """`State(*values)`: which fields get what is not written."""
        starred = [arg for arg in call.args if isinstance(arg, ir.Opaque) and ir.is_starred(arg)]
        if starred:
            name = _qualified(call, record_class(call))
            raise UnsupportedError(
                f"how many arguments this call gives `{name}` is not known until run time",
                place,
                f"{self._reason(culprit)} Unpack them first: `a, b = values`, then `{name}(a, b)`.",
            )

    def _no_rule(self, call: ir.Call, obj: Any, culprit: str, place: Place) -> UnsupportedError:
        """The refusal of an operation that nothing is known of."""
        name = _qualified(call, obj)
        if obj is functools.partial:
            return UnsupportedError(
                f"a function that uses `{culprit}` is stored, and which function is called later "
                "is not known until run time",
                place,
                f"{self._reason(culprit)} Call the function by its name, pass it to a function, "
                f"or give it `{culprit}` as an argument where it is called.",
                "objects",
            )
        if obj is None:
            return UnsupportedError(
                f"`{name}` is called, which is None here",
                place,
                "Most often it stands for a library that is not installed.",
            )
        own = own_way_of_making(obj)
        if own and not is_installed(module_of(obj)):
            return UnsupportedError(
                f"`{name}` has {own} of its own, and what that does with `{culprit}` is not "
                "tracked",
                place,
                f"{self._reason(culprit)} Set the attributes in `__init__` only, or "
                "make the object outside and pass it as an argument.",
            )
        options = " with these arguments" if definition(obj) is not None else ""
        return UnsupportedError(
            f"no derivative rule for {name}{options}",
            place,
            f"{self._reason(culprit)} {advice(name)}Add a rule with @tl.rule({name}), mark it with "
            f"nondifferentiable({name}), or apply tl.stop_gradient to its argument.",
        )

    def _method(self, call: ir.Call, culprit: str, place: Place) -> None:
        """`model.sum(x)` is not the `sum` of an array along `x`: the class of `model` tells."""
        fn = call.fn
        if not isinstance(fn, ir.Attribute) or is_array_method(fn, self.kinds):
            return
        rule = self.book.find(rule_object(call, self.kinds))
        used = None if rule is None else differentiable_arguments(call, rule)
        if used is not None and culprit not in {n for e in used for n in ir.names_in(e)}:
            raise unknown_class(fn, place)

    def _header(self, call: ir.Call, place: Place) -> None:
        """What a loop runs over, with starred arguments: their items are not named. Neither are
        those of a generator expression, `enumerate(zip(xs, (f(x) for x in xs if x)))`."""
        for part in ir.walk(call):
            if isinstance(part, Comprehension) and self._culprits(part):
                self._operation(part, self._culprits(part)[0], place)
        starred = [arg for arg in call.args if isinstance(arg, ir.Opaque) and ir.is_starred(arg)]
        if any(self._culprits(arg) for arg in starred):
            raise UnsupportedError(
                f"the items of `{starred[0].text}` carry derivatives, and how many there are is "
                "not known until run time",
                place,
                "Write `zip(*rows)` with the rows in one list and nothing else (no `strict=`), or "
                "index the rows.",
            )

    def _reason(self, name: str) -> str:
        """Why a name is active: an input itself, or where it gets its dependence."""
        params, shown = self.function.param_names, in_source(name, self.function)
        if name in params:
            return f"`{name}` is active: the function is differentiated with respect to it."
        roots = {p for p in params if not self.wrt or p in self.wrt}
        for stmt in ir.statements(self.function.body):
            if name in ir.binds(stmt):
                read = ir.reads(stmt)
                known = sorted(read & roots) or sorted(read & set(self.active)) or sorted(roots)
                line = stmt.origin.place.line
                return f"`{shown}` is active because it depends on `{known[0]}` (line {line})."
        return f"`{shown}` is active."


def _operations(stmt: ir.Stmt, active: Collection[str]) -> tuple[ir.Expr, ...]:
    """The operations of a statement whose results carry derivatives on."""
    match stmt:
        case ir.Assign(target=target, value=expr) | ir.For(target=target, iter=expr):
            return (expr,) if any(n in active for n in ir.target_names(target)) else ()
        case ir.Do(value=ir.Call() as call):
            return (call,)
        case ir.Store() | ir.Update():
            return (stmt.value,)
        case ir.Return(value=expr) if expr is not None:
            return (expr,)
        case _:
            return ()


def special_container(stmt: ir.Stmt) -> tuple[str, str]:
    """The name that a statement gives to a list, dict or set of a class with ways of its own, and
    the class as the program spells it; empty texts for any other statement."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(text=text, obj=type() as made))):
            if issubclass(made, _CONTAINERS) and made not in _PLAIN:
                return name, text
    return "", ""


def unknown_class(fn: ir.Var | ir.Attribute, place: Place, needs: str = "") -> UnknownClassError:
    """The refusal of a call of an object, or of a method, that nothing tells the class of."""
    base = fn.base if isinstance(fn, ir.Attribute) else fn
    what = f"the method `{fn.name}` is called" if isinstance(fn, ir.Attribute) else "it is called"
    name = f"`{base.name}`" if isinstance(base, ir.Var) else "this object"
    hint = f"{CLASS_IS_READ} Otherwise add a rule with @tl.rule, or apply tl.stop_gradient."
    if isinstance(fn, ir.Attribute) and fn.name in ("items", "values") and name != "this object":
        listed = f"list({base.name}.{fn.name}())" if isinstance(base, ir.Var) else ""
        hint = f"If it is a dict, whose view follows its changes, write {listed}. {hint}"
    if isinstance(fn, ir.Var):
        needs = "objects"  # (a function that captures values?)
    elif fn.name in CONTAINER_METHODS and not hasattr(list, fn.name) and not hasattr(dict, fn.name):
        needs = "memory"  # (of a deque)
    return UnknownClassError(f"the class of {name} is not known, and {what}", place, hint, needs)


def root_ref(expr: ir.Expr) -> ir.Ref | None:
    """The object outside of the function at the root of `STATE.history[0]`, if there is one."""
    while isinstance(expr, (ir.Index, ir.Attribute)):
        expr = expr.base
    return expr if isinstance(expr, ir.Ref) else None


def _qualified(call: ir.Call, obj: Any) -> str:
    if isinstance(call.fn, ir.Ref):
        return call.fn.text
    qualified = attribute_of(obj, "__qualname__", None) or "this call"
    return f"np.{qualified}" if qualified.startswith("ndarray.") else str(qualified)


# --------------------------------------------------------------------------------------------------
# What to write instead of an operation that is not differentiated; part of its refusal.

_OF_TYPES = "it reads memory as another type; use x.astype(...)"
_HISTOGRAM = (
    "bins move with the data; np.bincount(np.digitize(x, edges), weights) has a derivative by "
    "the weights"
)
_SOLVER = "write the steps of the solver as a loop"
_NAMED = "name the attributes, as in `(model.w, model.b)`, or keep the parameters in a dict"
_ADVICE = {
    "setattr": _NAMED,
    "histogram": _HISTOGRAM,
    "histogram2d": _HISTOGRAM,
    "histogramdd": _HISTOGRAM,
    "fromfunction": "write the function of np.indices(shape)",
    "frompyfunc": "it gives arrays of objects; use np.vectorize or plain array arithmetic",
    "ndarray.resize": "use y = np.resize(y, shape), or np.zeros and a store",
    "ndarray.setfield": _OF_TYPES,
    "ndarray.getfield": _OF_TYPES,
    "ndarray.byteswap": _OF_TYPES,
    "odeint": _SOLVER,
    "solve_ivp": _SOLVER,
    "quad": "sum the integrand over the nodes of a rule, as np.polynomial.legendre.leggauss gives",
    "minimize": "differentiate the condition that holds at the minimum, in a rule with @tl.rule",
    "lu": "use np.linalg.solve, np.linalg.slogdet or np.linalg.qr",
    "schur": "use np.linalg.eigh of a symmetric matrix, or np.linalg.eig",
    "nditer": "loop over x.flat, or over np.ndindex(x.shape)",
    "poly1d": "keep the coefficients in an array and use np.polyval, np.polymul, np.polyder",
}


def advice(name: str) -> str:
    """A sentence for a refusal, or "".

    >>> advice("np.fromfunction"), advice("np.no_such_thing")
    ('Instead: write the function of np.indices(shape). ', '')
    """
    if name.startswith("torch."):
        return "Instead: call the function of `xp = array_api_compat.array_namespace(x)`. "
    short = name.removeprefix("np.")
    found = _ADVICE.get(short) or _ADVICE.get(short.rpartition(".")[2])
    return f"Instead: {found}. " if found else ""


# --------------------------------------------------------------------------------------------------
# Matrices, whose `*` is a product of matrices: `x * m` is refused where it would be taken for
# the product of entries.
#
# NumPy's `np.matrix` and the `*_matrix` classes of `scipy.sparse` are meant. `m @ x` and `m.dot(x)`
# say the same for every class and are differentiated (of sparse matrices: `m @ x` is an array).

_PRODUCTS = (operator.mul, operator.imul, operator.pow, operator.ipow)
_DOTS = (operator.matmul, np.matmul, np.dot)
# What is computed from a matrix and gives none.
_OF_ENTRIES = frozenset(
    ("shape", "size", "ndim", "dtype", "nnz", "data", "indices", "indptr", "row", "col")
    + ("dot", "toarray", "A", "A1", "diagonal", "nonzero", "count_nonzero", "sum", "mean")
)


def matrix_names(function: ir.Function) -> frozenset[str]:
    """The local names that may hold a matrix, as far as one can see.

    before::                       the names:
        m = csr_matrix(table)      m, t
        t = m.T
        y = t @ x
    """
    found: set[str] = set()
    if not any(is_matrix(ref.obj) or _makes(ref.obj) for ref in fact(references, function)):
        return frozenset()
    while True:
        more = {
            stmt.target
            for stmt in ir.statements(function.body)
            if isinstance(stmt, ir.Assign)
            and isinstance(stmt.target, str)
            and _is_matrix(stmt.value, found)
        }
        if more <= found:
            return frozenset(found)
        found |= more


def _is_matrix(expr: ir.Expr, names: Collection[str]) -> bool:
    match expr:
        case ir.Var(name):
            return name in names
        case ir.Ref(obj=obj):
            return is_matrix(obj) or _makes(obj)
        case ir.Attribute(base, name):
            return name not in _OF_ENTRIES and _is_matrix(base, names)
        case ir.Index(base, _):
            return _is_matrix(base, names)
        case ir.Call(ir.Ref(obj=obj), args) if is_one_of(obj, _DOTS):
            return all(_is_matrix(arg, names) or _is_numpys(arg) for arg in args)
        case ir.Call(ir.Ref(obj=obj), (_, right, *_)) if _solves(obj):
            return _is_matrix(right, names)
        case ir.Call(ir.Ref(obj=obj), args):
            arrays = is_one_of(obj, (np.asarray, np.array))
            return not arrays and (_makes(obj) or any(_is_matrix(a, names) for a in args))
        case ir.Call(ir.Attribute() as fn):
            return _is_matrix(fn, names)
    return False


def _makes(obj: Any) -> bool:
    """Whether calls of a library's function may give a matrix."""
    if is_one_of(obj, (np.matrix, np.asmatrix, np.bmat)):
        return True
    if not callable(obj) or not module_of(obj).startswith("scipy.sparse"):
        return False
    return not attribute_of(obj, "__name__", "").endswith("_array")


def _solves(obj: Any) -> bool:
    """Whether it solves with a sparse matrix: the solution is what the right-hand side is."""
    home = module_of(obj).startswith("scipy.sparse.linalg")
    return home and attribute_of(obj, "__name__", "") == "spsolve"


def _is_numpys(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Ref) and isinstance(expr.obj, np.matrix)


def refuse_matrix_product(
    call: ir.Call, obj: Any, names: Collection[str], culprit: str, place: Place
) -> None:
    """Refuse a product of an active value with a matrix, and matrices handed to functions."""
    ours = str(attribute_of(obj, "__module__", "")).startswith("tangentlike.runtime")
    anywhere = is_one_of(obj, _PRODUCTS) or (is_python_function(obj) and not ours)
    if not anywhere and not any(map(_is_numpys, call.args)):
        return
    if any(_is_matrix(arg, names) for arg in call.args):
        raise UnsupportedError(
            f"a matrix is combined with `{culprit}`, which carries derivatives",
            place,
            "`*` of matrices is not the elementwise product. Use arrays, np.asarray(m) or "
            "scipy.sparse.csr_array(m), and write m @ x for the product of matrices.",
        )
