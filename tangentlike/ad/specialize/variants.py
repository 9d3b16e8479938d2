"""Callees made for one way of calling them: starred parameters, functions and options passed.

`total(*parts)` called with two arguments is the function

    def total(parts_0, parts_1):  parts = (parts_0, parts_1);  ...

and `twice(f, x)` called with `np.sin` is `twice` with `np.sin` where it says `f`. In the same way
`softmax(x, axis=-1)`, or `softmax(x)` where that is the default, is `softmax` with `-1` where it
says `axis`: the rules of reductions then know which axis is meant. Such a variant is called just
as the original is, so nothing else has to know of it. Where a call of a variant carries no
derivative it becomes a call of the original again (`restored`).
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ... import ir
from ...analysis.memory import Effects
from ...analysis.operations import is_entered, is_python_function
from ...errors import UnsupportedError, called_at
from ...frontend.lifting import PARAMETER_KINDS, copy_of, signature_of
from ...frontend.lower import Lowered, names_of
from ...frontend.signatures import plain_signature
from ...ir.identity import ByIdentity
from ...ir.names import Names
from .function_objects import FunctionClasses
from .function_values import is_function, is_partial, known_result
from .known_functions import with_known_functions

_KINDS = PARAMETER_KINDS
_EMPTY = ir.Display("tuple", ())
_DEEPEST = 8  # variants made for functions that themselves capture functions
# Options of operations that say what their result looks like.
_OPTIONS = frozenset(("axis", "axes", "keepdims", "axis1", "axis2"))


class Variants:
    """The variants of one transform, each made once. `lowered` gives a function's own form."""

    def __init__(self, lowered: Callable[[Any], Lowered]) -> None:
        self._lowered_of = lowered
        self._made: dict[Any, types.FunctionType] = {}
        self.lowered = ByIdentity[Lowered]()  # of variants
        self.original = ByIdentity[Any]()  # variant -> the function it was made from
        self.given = ByIdentity[dict[str, ir.Expr]]()  # variant -> functions it has been given
        self.read = ByIdentity[dict[str, ir.Expr]]()  # variant -> those it reads in place of names
        self.depth = 0
        self.is_operation: Callable[[Any], bool] = lambda obj: False  # it has a rule of its own
        self.effects: Callable[[Any], Effects] = lambda obj: Effects()
        # A function in which what the functions that it was given write shows in statements.
        self.apart: Callable[[Lowered], Lowered] = lambda lowered: lowered
        self.classes: FunctionClasses | None = None  # where functions that are kept are objects
        self._passed_on = ByIdentity[frozenset[str]]()  # parameters that become options

    def resolved(self, lowered: Lowered) -> Lowered:
        """A function in which calls of function values say which function that is."""
        known = with_known_functions(lowered, self)
        return known if self.classes is None else self.classes.with_objects(known)

    def function_result(self, obj: Any) -> Lowered | None:
        """A function that returns a function value, in the normal form; None for any other."""
        if not is_python_function(obj) or self.is_operation(obj):
            return None
        try:
            lowered = self.lowered.get(obj) or self._lowered_of(obj)
        except UnsupportedError:
            return None
        return None if known_result(lowered.function) is None else lowered

    def of_call(
        self, call: ir.Call, value_of: Callable[[ir.Expr], ir.Expr | None] | None = None
    ) -> ir.Call:
        """The same call, of the variant that fits it; itself where the function does as it is.

        `value_of` says which function an argument is, where that can be seen.
        """
        assert isinstance(call.fn, ir.Ref)
        fn = call.fn.obj
        if any(map(ir.is_starred, call.args)) or self.is_operation(fn):
            return call
        if not is_entered(fn):
            return call  # a library's function has a rule, or is refused; so is `tl.grad` itself
        bound = _bind(fn, call)
        if bound is None:
            return call
        signature, arguments = bound
        starred = {
            name: value
            for name, value in arguments.items()
            if signature.parameters[name].kind in (_KINDS["*"], _KINDS["**"])
        }
        missing = _starred_names(signature) - starred.keys()
        read = self.read.get(fn, {})  # (a variant calls itself with what it was made for)
        functions = _functions_among(arguments, value_of)
        functions = {n: v for n, v in functions.items() if read.get(n) != v}
        options = self._options(fn, signature, arguments)
        if not starred and not missing and not functions and not options:
            return call
        if functions:  # (they may be called with no more than these: `f(x, *args)`)
            empty = _empty_tuples(signature, arguments, value_of)
            functions = {**functions, **empty}
        functions.update(options)
        shapes = tuple((n, *_placeholders(value)) for n, value in functions.items())
        key = (
            fn,
            tuple((n, tuple(v) if isinstance(v, dict) else len(v)) for n, v in starred.items()),
            tuple((name, shape) for name, shape, _ in shapes),
        )
        if key not in self._made:
            if not self._has_source(fn):
                return call  # (refused where derivatives go into it)
            with called_at(call.at):
                self._make(key, call.fn, starred, functions)
        variant = self._made[key]
        called = _without_arguments(call, signature, self.given[variant])
        captured = [v for name, _, vs in shapes if name in self.given[variant] for v in vs]
        names = [p for v in self.given[variant].values() for p in _leaves(v)]
        extra = tuple(zip(names, map(ir.Var, captured), strict=True))
        fn_ref = ir.Ref(call.fn.text, variant)
        return ir.Call(fn_ref, called.args, (*called.kwargs, *extra), call.at)

    def _options(
        self, fn: Any, signature: inspect.Signature, arguments: dict[str, Any]
    ) -> dict[str, ir.Expr]:
        """The literals that a call gives, or leaves to defaults, for options of operations."""
        found: dict[str, ir.Expr] = {}
        for name in sorted(self._option_names(fn)):
            value = arguments.get(name)
            if name not in arguments:
                default = signature.parameters[name].default
                value = ir.Const(default) if isinstance(default, int | None) else None
            if isinstance(value, ir.Const) and isinstance(value.value, int | None):
                found[name] = value
        return found

    def _option_names(self, fn: Any) -> frozenset[str]:
        """The parameters of a function that it hands on, as they are, as options of operations."""
        if fn not in self._passed_on:
            self._passed_on[fn] = frozenset()  # (it may call itself)
            try:
                function = self._lowered_of(fn).function
            except UnsupportedError:
                return frozenset()
            self._passed_on[fn] = self._found_option_names(function)
        return self._passed_on[fn]

    def _found_option_names(self, function: ir.Function) -> frozenset[str]:
        found: set[str] = set()
        other: set[str] = set()  # names that are rebound, or that tests ask about
        for stmt in ir.statements(function.body):
            other.update(ir.binds(stmt))
            if isinstance(stmt, ir.If | ir.While):
                other |= ir.names_in(stmt.test)
            for expr in ir.expressions(stmt):
                for part in ir.walk(expr):
                    if isinstance(part, ir.Call):
                        found |= self._options_in(part)
                    elif isinstance(part, ir.Lazy):
                        other |= ir.names_in(part)
        return frozenset(found - other).intersection(
            p.name for p in function.params if p.kind not in ("*", "**")
        )

    def _options_in(self, call: ir.Call) -> set[str]:
        """The names that a call gives for options, its own or those of what it calls."""
        words = {w for w, v in call.kwargs if isinstance(v, ir.Var)}
        if not isinstance(call.fn, ir.Ref) or not is_python_function(call.fn.obj):
            wanted = words & _OPTIONS
            return {v.name for w, v in call.kwargs if w in wanted and isinstance(v, ir.Var)}
        if self.is_operation(call.fn.obj) or any(map(ir.is_starred, call.args)):
            return set()
        names = self._option_names(call.fn.obj)
        bound = _bind(call.fn.obj, call) if names else None
        given = {} if bound is None else bound[1]
        return {v.name for n in names if isinstance(v := given.get(n), ir.Var)}

    def _has_source(self, fn: Any) -> bool:
        try:
            self._lowered_of(fn)
        except UnsupportedError as error:
            if error.place is None:
                return False
            raise
        return True

    def _make(
        self, key: Any, fn: ir.Ref, starred: dict[str, Any], functions: dict[str, ir.Expr]
    ) -> None:
        lowered = self._lowered_of(fn.obj)
        function = _with_plain_parameters(lowered.function, starred)
        plain = {n: f for n, f in functions.items() if isinstance(f, ir.Ref)}
        options = {n: f for n, f in functions.items() if isinstance(f, ir.Const)}
        function = _with_functions(function, {**plain, **options})
        made: dict[str, ir.Expr] = {n: f for n, f in functions.items() if n not in plain}
        function, given = _with_partials(function, made)
        obj = fn.obj
        variant = copy_of(obj, signature_of(function))
        self._made[key] = variant
        self.given[variant] = given
        self.read[variant] = {**self.read.get(obj, {}), **plain}
        self.original[variant] = obj
        temporaries = lowered.temporaries | given.keys()  # (bound where their values are)
        self.lowered[variant] = dataclasses.replace(
            lowered, function=function, temporaries=temporaries
        )
        if not all(isinstance(f, ir.Const) for f in functions.values()):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise UnsupportedError(
                    f"`{fn.text}` makes functions of functions, without end",
                    function.place,
                    "Bound the depth, or write a loop.",
                )
            self.lowered[variant] = self.apart(self.resolved(self.lowered[variant]))
            self.depth -= 1
        else:
            self.lowered[variant] = self.resolved(self.lowered[variant])

    def is_plain(self, obj: Any) -> bool:
        """Whether a function is not a variant, and has no rule of its own."""
        return obj not in self.original and not self.is_operation(obj)

    def plain(self, obj: Any) -> Any:
        """The function that a variant, or a variant of one, was made from; any other itself."""
        while obj in self.original:
            obj = self.original[obj]
        return obj

    def twin_of(self, variant: Any, original: Any) -> Any:
        """The same variant of another function with the same text (one without its checkpoint)."""
        key = (variant, original)
        if key not in self._made:
            twin = self._made[key] = copy_of(variant)
            self.lowered[twin] = self.lowered[variant]
            self.given[twin] = self.given[variant]
            self.read[twin] = self.read[variant]
            made_from = self.original[variant]
            again = made_from in self.original
            self.original[twin] = self.twin_of(made_from, original) if again else original
        return self._made[key]

    def restored(self, function: ir.Function) -> ir.Function:
        """A function in which what calls a variant calls the original."""
        if not self.original:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            while isinstance(e, ir.Call) and isinstance(e.fn, ir.Ref) and e.fn.obj in self.given:
                e = self._original_call(e)
            if isinstance(e, ir.Ref) and e.obj in self.original:
                return ir.Ref(e.text, self.plain(e.obj))
            return ir.rebuild(e, expr)

        return ir.with_body(function, ir.rewrite(function.body, expression=expr))

    def _original_call(self, call: ir.Call) -> ir.Call:
        """The call of the original that a call of a variant stands for."""
        assert isinstance(call.fn, ir.Ref)
        given = self.given[call.fn.obj]
        original = self.original[call.fn.obj]
        fn = ir.Ref(call.fn.text, original)
        if not given:
            return dataclasses.replace(call, fn=fn)
        words = dict(call.kwargs)
        parameters = plain_signature(original).parameters
        bound = inspect.signature(call.fn.obj).bind(*call.args, **words).arguments
        leaves = [leaf for value in given.values() for leaf in _leaves(value)]
        values = {n: bound[n] if n in parameters else words.pop(n) for n in leaves}
        functions = {
            n: ir.substitute(value, values)
            for n, value in given.items()
            if not _is_default(value, parameters[n].default)
        }
        positional = [
            n for n, p in parameters.items() if p.kind in (_KINDS["positional"], _KINDS["any"])
        ]
        args: list[ir.Expr] = list(call.args)
        for place, name in enumerate(positional):
            if name in functions and place <= len(args):
                args.insert(place, functions.pop(name))
        return ir.Call(fn, tuple(args), (*words.items(), *functions.items()), call.at)


def _functions_among(
    arguments: dict[str, Any], value_of: Callable[[ir.Expr], ir.Expr | None] | None
) -> dict[str, ir.Expr]:
    """The arguments that are functions, as references or as partials of them."""
    found: dict[str, ir.Expr] = {}
    for name, value in arguments.items():
        known: ir.Expr | None = value if isinstance(value, ir.Ref) else None
        if value_of is not None and not isinstance(value, tuple | dict):
            known = value_of(value)
        if known is not None and (is_function(known) or is_partial(known)):
            found[name] = known
    return found


def _empty_tuples(
    signature: inspect.Signature,
    arguments: dict[str, Any],
    value_of: Callable[[ir.Expr], ir.Expr | None] | None,
) -> dict[str, ir.Expr]:
    """The parameters that are surely an empty tuple, by their defaults or as the caller's are."""
    found = {
        name
        for name, p in signature.parameters.items()
        if p.default == () and isinstance(p.default, tuple) and name not in arguments
    }
    if value_of is not None:
        atoms = {n: v for n, v in arguments.items() if isinstance(v, ir.Var)}
        found |= {n for n, v in atoms.items() if value_of(v) == _EMPTY}
    return dict.fromkeys(sorted(found), _EMPTY)


def _is_default(value: ir.Expr, default: Any) -> bool:
    """Whether a call need not give this value."""
    if value == _EMPTY:
        return isinstance(default, tuple) and default == ()
    return isinstance(default, int | None) and value == ir.Const(default)


def _leaves(value: ir.Expr) -> list[str]:
    """The names that a function value captures, in order."""
    return list(dict.fromkeys(p.name for p in ir.walk(value) if isinstance(p, ir.Var)))


def _placeholders(value: ir.Expr) -> tuple[ir.Expr, list[str]]:
    """A function value with numbers for the names that it captures, and these names."""
    names = _leaves(value)
    return ir.substitute(value, {n: ir.Var(str(i)) for i, n in enumerate(names)}), names


def _without_arguments(
    call: ir.Call, signature: inspect.Signature, names: Collection[str]
) -> ir.Call:
    """A call that does not give certain parameters."""
    if not names:
        return call
    positional = [
        n
        for n, p in signature.parameters.items()
        if p.kind in (_KINDS["positional"], _KINDS["any"])
    ]
    places = {positional.index(n) for n in names if n in positional}
    args = tuple(a for place, a in enumerate(call.args) if place not in places)
    kwargs = tuple((word, v) for word, v in call.kwargs if word not in names)
    return ir.Call(call.fn, args, kwargs, call.at)


def _with_partials(
    function: ir.Function, functions: dict[str, ir.Expr]
) -> tuple[ir.Function, dict[str, ir.Expr]]:
    """`def solve(f, x)` as `def solve(x, *, k): f = partial(g, k=k)`; and, for each parameter
    that is left out, what it is in terms of the new ones. An option already stands where it is
    read."""
    names = names_of(function)
    given: dict[str, ir.Expr] = {}
    head: list[ir.Stmt] = []
    added: list[ir.Param] = []
    read = {n for stmt in ir.statements(function.body) for n in ir.reads(stmt)}
    for name, value in functions.items():
        new = {leaf: names.fresh(leaf) for leaf in _leaves(value)}
        given[name] = ir.substitute(value, {leaf: ir.Var(n) for leaf, n in new.items()})
        added += [ir.Param(n, "keyword") for n in new.values()]
        if name in read or not isinstance(value, ir.Const):
            head.append(ir.Assign(name, given[name], ir.Origin(function.place)))
    left = [p for p in function.params if p.name not in given]
    end = [p for p in left if p.kind == "**"]
    params = (*(p for p in left if p.kind != "**"), *added, *end)
    return dataclasses.replace(function, params=params, body=(*head, *function.body)), given


def _bind(fn: Any, call: ir.Call) -> tuple[inspect.Signature, dict[str, Any]] | None:
    try:
        signature = plain_signature(fn)
        return signature, dict(signature.bind(*call.args, **dict(call.kwargs)).arguments)
    except (TypeError, ValueError):
        return None  # refused where the call is differentiated


def _starred_names(signature: inspect.Signature) -> set[str]:
    kinds = (_KINDS["*"], _KINDS["**"])
    return {name for name, p in signature.parameters.items() if p.kind in kinds}


def _with_plain_parameters(function: ir.Function, starred: dict[str, Any]) -> ir.Function:
    """`def f(*xs)` as `def f(xs_0, xs_1): xs = (xs_0, xs_1)`."""
    names = Names(function.param_names)
    for stmt in ir.statements(function.body):
        names.take((*ir.binds(stmt), *ir.reads(stmt)))
    origin = ir.Origin(function.place)
    params: list[ir.Param] = []
    head: list[ir.Stmt] = []
    body = function.body
    for param in function.params:
        if param.kind == "*":
            count = len(starred.get(param.name, ()))
            items = [names.fresh(f"{param.name}_{n}") for n in range(count)]
            params += [ir.Param(item) for item in items]
            value: ir.Expr = ir.Display("tuple", tuple(map(ir.Var, items)))
        elif param.kind == "**":
            items = list(starred.get(param.name, ()))
            taken = {item: ir.Var(new) for item in items if (new := names.fresh(item)) != item}
            if taken:  # by variables of the function, which get other names
                body = ir.renamed(body, taken)
            params += [ir.Param(item, "keyword") for item in items]
            keys = tuple(map(ir.Const, items))
            value = ir.Display("dict", tuple(map(ir.Var, items)), keys)
        else:
            params.append(param)
            continue
        head.append(ir.Assign(param.name, value, origin))
    # (What stands before a `*` cannot be left out any more: it is given by position.)
    if any(p.kind == "*" for p in function.params):
        params = _without_early_defaults(params)
    return dataclasses.replace(function, params=tuple(params), body=(*head, *body))


def _without_early_defaults(params: Sequence[ir.Param]) -> list[ir.Param]:
    last = max((i for i, p in enumerate(params) if p.kind != "keyword"), default=-1)
    plain = last >= 0 and params[last].default is None
    return [
        dataclasses.replace(p, default=None) if plain and i < last and p.kind != "keyword" else p
        for i, p in enumerate(params)
    ]


def _with_functions(function: ir.Function, functions: Mapping[str, ir.Expr]) -> ir.Function:
    """A function with the functions and options it is given where it says the parameter's name."""
    bound = {name for stmt in ir.statements(function.body) for name in ir.binds(stmt)}
    values = {n: f for n, f in functions.items() if n not in bound}
    if not values:
        return function

    body = ir.rewrite(function.body, expression=lambda e: ir.substitute(e, values))
    return ir.with_body(function, body)
