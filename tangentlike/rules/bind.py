"""Applying a rule to one call: its lines, with the actual arguments in them.

    bind(tanh's rule, np.tanh(z), kinds)  ->  partials {"x": 1.0 - $y * $y}

`Instance` is what the transforms work with; see its methods for what each mode takes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import Place, TangentlikeError, UnsupportedError
from ..ir.kind import FLOAT, OTHER, UNKNOWN, Kind
from . import linear
from .book import KindOf, Rule, RuleBook, as_function_call, default_book, operation
from .decisions import Facts, Malformed, asks_values, decide
from .index_kinds import index_kind
from .specialise import WithPlaceholders, specialise
from .template import Body, Line, Template, read_template, template_of
from .twins import scipy_mirror, spelled_module

Kinds = Mapping[str, Kind] | KindOf


# Helpers that give an adjoint which is real where the value is that it belongs to.
_REAL_WHERE_THAT_IS = frozenset(
    (
        *(np.real, runtime.unbroadcast, runtime.cast_like),
        *(runtime.matmul_bar_a, runtime.matmul_bar_b, runtime.dot_bar_a, runtime.dot_bar_b),
        *(runtime.inner_bar_a, runtime.inner_bar_b, runtime.einsum_bar, runtime.unbroadcast_each),
        *(runtime.tensordot_bar_a, runtime.tensordot_bar_b, runtime.convolve_bar),
        *(runtime.kron_bar_a, runtime.kron_bar_b, runtime.correlate_bar_a, runtime.correlate_bar_v),
        *(runtime.fft_bar, runtime.ifft_bar, runtime.fftn_bar, runtime.ifftn_bar),
        *(runtime.rfft_bar, runtime.polyval_bar),
    )
)


@ir.quickened
@dataclass(frozen=True)
class Instance:
    """A rule's lines for one call.

    In the expressions the actual arguments stand already; what is left to the transform are
    placeholders: `$y` the result, `$y_bar` its adjoint, `$x_dot` the tangent of parameter
    `x`, `$name` a temporary. Parameters without a line are not differentiable.
    """

    rule: Rule
    call: ir.Call
    arguments: dict[str, ir.Expr]
    partials: Mapping[str, ir.Expr]
    tangents: Mapping[str, ir.Expr]  # (of the result, "y", if the rule states one)
    inlined: Mapping[str, ir.Expr]  # temporaries that the tangent reads, put into it
    adjoints: Mapping[str, ir.Expr]
    temporaries: tuple[tuple[str, ir.Expr], ...]
    kind_of: KindOf = field(repr=False)
    conj: ir.Ref = field(repr=False)
    real: bool = True

    @cached_property
    def tangent(self) -> ir.Expr | None:
        """The tangent of the result, where the rule states it as a line of its own."""
        stated = self.tangents.get("y")
        return None if stated is None else ir.substitute(stated, self.inlined)

    @cached_property
    def result_kind(self) -> Kind:
        """What is known of the result of the call."""
        return self.rule.result_kind(self.call, self.kind_of)

    def covers(self, param: str) -> bool:
        """Whether the rule says anything about the derivative by `param`."""
        return param in self.partials or param in self.adjoints

    def tangent_with(
        self, dots: Mapping[str, ir.Expr | None], asks: bool = False
    ) -> ir.Expr | None:
        """The result's tangent where `dots` are those of the active arguments.

        Inactive arguments (absent or None) are folded away: `a_dot @ b + a @ b_dot` is
        `a_dot @ b` for a constant `b`. None means zero. If it `asks`, options of which only the run
        knows what they are are asked then whether they carry derivatives (see `is_option`).
        """
        given = {p: dot for p, dot in dots.items() if dot is not None}
        options = [p for p in given if asks and self.is_option(p, given)]
        stated = {p: dot for p, dot in given.items() if p not in options}
        for param in stated:
            self._require_tangent(param)
        total = self._total(stated)
        for param in options if total is not None else ():
            total = self._given_constant(total, param)
        return total

    def _total(self, given: Mapping[str, ir.Expr]) -> ir.Expr | None:
        if self.tangent is not None:
            return linear.put_tangents(self.tangent, given, self.arguments)
        forms = {self.kind_of(argument).form for argument in self.arguments.values()}
        if "unknown" in forms and linear.joins_lists(self.call):
            return linear.tangent_of_lists(self.call, self.partials, given)
        total: ir.Expr | None = None
        for param, partial in self.partials.items():
            if param in given:
                total = linear.add(total, linear.scale(given[param], partial, leading=False))
        return total

    def is_option(self, param: str, beside: Collection[str]) -> bool:
        """Whether the rule states no derivative by `param`, but some by others that vary `beside`
        it, and only the run knows whether the argument can have one. (What a list is multiplied
        by is none: an array there makes another operation of it.)"""
        if self.covers(param) or self.kind_of(self.arguments[param]).form != "unknown":
            return False
        others = [self.arguments[other] for other in beside if self.covers(other)]
        return bool(others) and all(
            self.kind_of(other).form not in ("list", "tuple") for other in others
        )

    def _given_constant(self, value: ir.Expr, param: str) -> ir.Expr:
        """`value`, asked for together with whether the argument is one that carries none."""
        helper = ir.Ref("given_constant", runtime.given_constant)
        return ir.Call(helper, (value, self.arguments[param]), at=self.call.at)

    def adjoint(self, param: str, beside: Collection[str] = ()) -> ir.Expr | None:
        """What the call adds to the adjoint of the argument `param`; None means zero. What varies
        `beside` it tells whether it is an option (`is_option`), which is asked when the text runs.

        Of elementwise rules it has the shape of the argument: summed over what was
        broadcast, in a helper where shapes are not known.
        """
        if self.is_option(param, beside):
            zeros = ir.Call(ir.Ref("zeros_like", runtime.zeros_like), (self.arguments[param],))
            return self._given_constant(zeros, param)
        self._require(param)
        if param in self.adjoints:
            expr = self.adjoints[param]
            return None if linear.is_zero(expr) else self._of_its_class(param, expr)
        partial = self.conj_if_complex(self.partials[param])
        product = linear.scale(ir.Var("$y_bar"), partial)
        if product is None:
            return None
        argument = self.arguments[param]
        shaped = self._has_shape_of_result(param) or self.kind_of(argument).spans(self.result_kind)
        if shaped and not self._may_gain_imaginary(param):
            return product
        kind = self.kind_of(argument)
        if shaped and kind.form == "array" and kind.rank and kind.dtype == "float":
            return ir.Call(self._real, (product,))
        return linear.unbroadcast(product, argument)

    def _has_shape_of_result(self, param: str) -> bool:
        """Whether nothing but numbers and the argument itself stands beside `param`."""
        mine = self.arguments[param]
        return all(
            other == mine or (isinstance(other, ir.Const) or self.kind_of(other).form == "number")
            for name, other in self.arguments.items()
            if name != param
        )

    def _may_gain_imaginary(self, param: str) -> bool:
        """Whether a real argument meets a complex one: its adjoint is then the real part."""
        if self.kind_of(self.arguments[param]).dtype == "complex":
            return False
        if self.result_kind.dtype == "complex":
            return True
        others = [a for name, a in self.arguments.items() if name != param]
        return any(self._may_be_complex(a) for a in others if a != self.arguments[param])

    def _of_its_class(self, param: str, expr: ir.Expr) -> ir.Expr:
        """What a rule states for the adjoint of an argument: real where that is, complex where
        that is, so that there is room for what is added to it."""
        obj, argument = getattr(getattr(expr, "fn", None), "obj", None), self.arguments[param]
        if obj in _REAL_WHERE_THAT_IS:
            return expr
        kind, result = self.kind_of(argument), self.result_kind.dtype
        spread = obj is runtime.broadcast_like
        cast = ir.Call(ir.Ref("cast_like", runtime.cast_like), (expr, argument))
        if kind.dtype == "complex":
            bare = ir.substitute(expr, {"$y_bar": ir.Var("$y")})
            lacks = result == "float" and (spread or not self._may_be_complex(bare))
            return cast if lacks else expr
        beside = [
            other
            for name, other in self.arguments.items()
            if name != param and other != argument and self._carries(name)
        ]
        gains = result == "complex" or (result == "?" and not self.real)
        if not (gains or any(map(self._may_be_complex, beside))):
            return expr
        if spread:  # (Where the shape does not need it, a mode leaves it out.)
            assert isinstance(expr, ir.Call)
            part = ir.Call(self._real, expr.args[:1]) if kind.dtype == "float" else expr.args[0]
            return dataclasses.replace(expr, args=(part, argument))
        return ir.Call(self._real, (expr,)) if kind.dtype == "float" else cast

    @property
    def _real(self) -> ir.Ref:
        return ir.Ref(self.conj.text.replace("conj", "real"), np.real)

    def _carries(self, param: str) -> bool:
        """Whether the rule states a derivative by `param` that is not zero."""
        if param in self.partials:
            return True
        return param in self.adjoints and not linear.is_zero(self.adjoints[param])

    def conj_if_complex(self, expr: ir.Expr) -> ir.Expr:
        """`np.conj(expr)` where its value may be complex; for real kinds the expression itself.
        (What is complex where all arguments are real has a complex derivative.)"""
        of_real = self.result_kind.dtype == "complex" and all(
            self.kind_of(argument).dtype != "complex" for argument in self.arguments.values()
        )
        complex_ = of_real or self._may_be_complex(expr)
        return linear.conjugate(expr, self.conj) if complex_ else expr

    def temporaries_for(self, *exprs: ir.Expr | None) -> tuple[tuple[str, ir.Expr], ...]:
        """The shared temporaries that expressions read, in order, with what these read."""
        wanted = frozenset[str]().union(*map(ir.names_in, exprs))
        needed: list[tuple[str, ir.Expr]] = []
        for name, expr in reversed(self.temporaries):
            if f"${name}" in wanted:
                needed.append((f"${name}", expr))
                wanted |= ir.names_in(expr)
        return tuple(reversed(needed))

    def _may_be_complex(self, expr: ir.Expr) -> bool:
        def dtype_of(name: str) -> str:
            if name in shared:
                return "complex" if self._may_be_complex(shared[name]) else "float"
            return (self.result_kind if name == "$y" else self.kind_of(ir.Var(name))).dtype

        shared = {f"${name}": value for name, value in self.temporaries}
        return linear.may_be_complex(expr, dtype_of, self.real)

    def _require_tangent(self, param: str) -> None:
        """Refuse a tangent that the rule does not state by this argument."""
        stated = param in self.partials
        if self.tangent is not None:
            stated = f"${param}_dot" in ir.names_in(self.tangent) or linear.is_zero(self.tangent)
        if not stated and not (param in self.adjoints and linear.is_zero(self.adjoints[param])):
            self._require(param)
            raise UnsupportedError(
                f"the rule of {self.rule.name} defines no tangent with respect to its argument "
                f"`{param}`",
                self.call.at,
                f"Forward mode needs a line `y_dot = ...` that reads `{param}_dot` (y is the first "
                "parameter of the rule).",
            )

    def _require(self, param: str) -> None:
        if not self.covers(param):
            if not self.rule.is_ours and f"${param}_dot" in ir.names_in(self.tangent):
                raise UnsupportedError(
                    f"the rule of {self.rule.name} defines no adjoint of its argument `{param}`",
                    self.call.at,
                    f"Reverse mode needs a line `{param}_bar = ...`.",
                )
            hint = "Apply tl.stop_gradient to it if it is meant as a constant."
            args = getattr(self.call, "args", ())  # (none where an attribute is read)
            if any(self.kind_of(arg).form in ("list", "tuple") for arg in args):
                hint = "If a list is meant as an array, write np.asarray(...) around it."
            keywords = [f"`{name}=`" for name, _ in getattr(self.call, "kwargs", ())]
            with_these = f" in a call with {', '.join(keywords)}" if keywords else ""
            raise UnsupportedError(
                f"{self.rule.name} has no derivative with respect to its argument "
                f"`{param}`{with_these}",
                self.call.at,
                f"Write the call without these options if it can be done. {hint}"
                if keywords
                else hint,
            )


def bind(
    rule: Rule,
    expr: ir.Call | ir.Attribute,
    kinds: Kinds,
    alias: str = "np",
    real: bool = True,
) -> Instance:
    """Match a call (or the reading of an attribute) with a rule and decide the rule's branches.

    `kinds` says what is known of local names (a mapping, or a function of expressions).
    `alias` is how the program spells its array module, for a call that does not do so itself.
    `real` says that values of unknown dtype are real; without it they are treated as
    possibly complex.
    """
    kind_of = as_kind_of(kinds)
    call = as_function_call(expr)
    template = _template(rule, call, kind_of)
    actuals, unsupplied = match_call(rule, template, call)
    values, arguments = spread(template, actuals)
    values = with_real_arguments(rule, call, values, kind_of, real)
    try:
        lines = _decide(template.body, Facts(values, kind_of, real), rule, call)
    except Malformed as error:
        raise TangentlikeError(f"malformed rule of {rule.name}: {error}", template.place) from error
    alias = spelled_module(call.fn) or alias
    scipy = scipy_mirror(operation(call.fn))
    put = linear.Substitution(values, unsupplied, alias, scipy, call.at)
    conj = put(ir.Ref("np.conj", np.conj))
    assert isinstance(conj, ir.Ref)
    inner_kind = WithPlaceholders(kind_of, lambda: rule.result_kind(call, kind_of))

    def state(expr: ir.Expr) -> ir.Expr:
        return specialise(put(expr), inner_kind, real, alias)

    by_role = _by_role(lines)
    temporaries = {name: state(expr) for name, expr in by_role["temporary"].items()}
    settle = _Settling(rule, call, values, temporaries, kind_of, conj, real)
    kept, inlined = _inlined({name: settle(expr) for name, expr in temporaries.items()})
    partials, adjoints, tangents = (
        Stated(by_role[role], lambda e: settle(state(e)))
        for role in ("partial", "adjoint", "tangent")
    )
    gathered, temporaries = _gather(adjoints, kept, arguments)
    return Instance(
        rule=rule,
        call=call,
        arguments=arguments,
        partials=partials,
        tangents=tangents,
        inlined=inlined,
        adjoints=gathered,
        temporaries=tuple(temporaries.items()),
        kind_of=kind_of,
        conj=conj,
        real=real,
    )


class Stated(Mapping[str, ir.Expr]):
    """Lines of a rule by name. Each gets the arguments of the call when it is asked for: of most
    rules one mode reads half of the lines, and only those of active arguments."""

    def __init__(self, lines: Mapping[str, ir.Expr], state: Callable[[ir.Expr], ir.Expr]) -> None:
        self._lines = lines
        self._state = state
        self._made: dict[str, ir.Expr] = {}

    def __getitem__(self, name: str) -> ir.Expr:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._state(self._lines[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _by_role(lines: list[Line]) -> dict[str, dict[str, ir.Expr]]:
    found: dict[str, dict[str, ir.Expr]] = {
        "temporary": {}, "partial": {}, "adjoint": {}, "tangent": {}
    }  # fmt: skip
    for line in lines:
        found[line.role][line.name] = line.expr
    return found


@ir.quickened
@dataclass(frozen=True)
class _Settling:
    """Decides every `conj(e)` and `np.real(e)` of derivatives that a template says: `e` itself
    where everything is real, `y_bar` itself where no argument can be complex."""

    rule: Rule
    call: ir.Call
    values: Mapping[str, ir.Expr]
    temporaries: Mapping[str, ir.Expr]
    kind_of: KindOf
    conj: ir.Ref
    real: bool

    def _dtype_of(self, name: str) -> str:
        if name.startswith("$") and name[1:] in self.temporaries:
            return "complex" if self._may_be_complex(self.temporaries[name[1:]]) else "float"
        if linear.is_dot(name) and name[1:-4] in self.values:
            return self.kind_of(self.values[name[1:-4]]).dtype
        if name.startswith("$"):
            return self.rule.result_kind(self.call, self.kind_of).dtype
        return self.kind_of(ir.Var(name)).dtype

    def _may_be_complex(self, expr: ir.Expr) -> bool:
        return linear.may_be_complex(expr, self._dtype_of, self.real)

    def __call__(self, expr: ir.Expr) -> ir.Expr:
        if not _asks(expr):
            return expr
        expr = ir.rebuild(expr, self)
        match expr:
            case ir.Call(fn=ir.Ref(obj=runtime.conj), args=(inner,)):
                complex_ = self._may_be_complex(inner)
                return linear.conjugate(inner, self.conj) if complex_ else inner
            case ir.Call(fn=ir.Ref(obj=np.real), args=(inner,)) if _is_derived(inner):
                call = self.call
                given = (inner, *call.args, *(value for _, value in call.kwargs))
                read = given[1:] if ir.names_in(inner) == {"$y_bar"} else given
                return expr if any(map(self._may_be_complex, read)) else inner
        return expr


def _asks(expr: ir.Expr) -> bool:
    """Whether there is anything to decide in an expression."""
    for part in ir.parts_of(expr):
        if type(part) is ir.Ref and (part.obj is runtime.conj or part.obj is np.real):
            return True
    return False


def _is_derived(expr: ir.Expr) -> bool:
    """Whether it is an adjoint, or computed from tangents."""
    names = ir.names_in(expr)
    return names == {"$y_bar"} or (isinstance(expr, ir.Call) and any(map(linear.is_dot, names)))


def _inlined(
    temporaries: dict[str, ir.Expr],
) -> tuple[dict[str, ir.Expr], dict[str, ir.Expr]]:
    """Temporaries, and apart from them those that read tangents, which are put where they are
    read: which tangents exist is not known yet."""
    kept: dict[str, ir.Expr] = {}
    inlined: dict[str, ir.Expr] = {}
    for name, expr in temporaries.items():
        put = ir.substitute(expr, inlined)
        if any(linear.is_dot(read) for read in ir.names_in(put)):
            inlined[f"${name}"] = put
        else:
            kept[name] = put
    return kept, inlined


def as_kind_of(kinds: Kinds) -> KindOf:
    """Kinds of expressions from kinds of names."""
    if callable(kinds):
        return kinds
    from .bind import kind_of_expression

    names = kinds
    return lambda expr: kind_of_expression(expr, names, default_book())


def _template(rule: Rule, call: ir.Call, kind_of: KindOf) -> Template:
    if not rule.builder:
        return template_of(rule)
    return read_template(rule.fn(call, kind_of), rule)


def _gather(
    adjoints: Mapping[str, ir.Expr],
    temporaries: dict[str, ir.Expr],
    arguments: dict[str, ir.Expr],
) -> tuple[Mapping[str, ir.Expr], dict[str, ir.Expr]]:
    """Adjoints of `*operands`, stated as one sequence, as one expression each."""
    if adjoints.keys() <= arguments.keys():
        return adjoints, temporaries
    found: dict[str, ir.Expr] = {}
    named = dict(temporaries)
    for name, expr in adjoints.items():
        if name in arguments:
            found[name] = expr
            continue
        named[f"{name}_bar"] = expr
        place = 0
        while f"{name}{place}" in arguments:
            found[f"{name}{place}"] = ir.Index(ir.Var(f"${name}_bar"), ir.Const(place))
            place += 1
    return found, named


def _decide(body: Body, facts: Facts, rule: Rule, call: ir.Call) -> list[Line]:
    lines: list[Line] = []
    for item in body:
        if isinstance(item, Line):
            lines.append(item)
            continue
        known = decide(item.test, facts)
        if known is None and not rule.is_ours and asks_values(item.test, facts):
            raise UnsupportedError(
                f"the rule of {rule.name} tests `{ast.unparse(item.test)}`, which is not known "
                "until run time",
                call.at,
                "Write the argument as a literal in the call, or write the rule for every value "
                "(np.where).",
            )
        lines += _decide(item.body if known else item.orelse, facts, rule, call)
    return lines


# --------------------------------------------------------------------------------------------------
# Kinds of whole expressions, for callers that know only the kinds of names.


def kind_of_expression(expr: ir.Expr, names: Mapping[str, Kind], book: RuleBook) -> Kind:
    """What is known of an expression when `names` are the kinds of local names."""

    def kind_of(e: ir.Expr) -> Kind:
        return kind_of_expression(e, names, book)

    match expr:
        case ir.Var(name):
            return names.get(name, UNKNOWN)
        case ir.Const(value):
            return kind_of_literal(value)
        case ir.Ref(text=text, obj=obj):
            # Module constants such as np.pi never change; a user's global may.
            fixed = text.partition(".")[0] in ("np", "math") and isinstance(obj, float)
            return FLOAT if fixed else OTHER if callable(obj) else UNKNOWN
        case ir.Call():
            return book.result_kind(expr, kind_of)
        case ir.Index(base=base, key=key):
            return index_kind(kind_of(base), key, kind_of)
        case ir.Attribute(name=name):
            rule = book.find_attribute(name)
            call = ir.Call(ir.Ref(name, None), (expr.base,))
            return UNKNOWN if rule is None else rule.result_kind(call, kind_of)
        case ir.Display(form="tuple", items=items):
            return Kind("tuple", items=tuple(map(kind_of, items)))
        case ir.Display(form=form):
            return Kind(form)
        case ir.Lazy(form="if", items=(_, then, otherwise)):
            return kind_of(then).join(kind_of(otherwise))
    return UNKNOWN


def kind_of_literal(value: Any) -> Kind:
    """The kind of a literal."""
    for form, dtype in ((bool, "bool"), (int, "int"), (float, "float"), (complex, "complex")):
        if isinstance(value, form):
            return Kind("number", dtype, ())
    return OTHER


# --------------------------------------------------------------------------------------------------
# Operations whose rules hold for real numbers only, though SciPy takes complex ones.


# SciPy drops the imaginary part of what a distribution is given; the scaled Bessel functions are
# multiplied by exp(-|Re x|), which is not analytic; `polygamma` takes real numbers only.
_REAL_ONLY = (
    *("scipy.stats.", "scipy.special.ive", "scipy.special.i0e", "scipy.special.i1e"),
    *("scipy.special.jve", "scipy.special.yve"),
    *("scipy.special.digamma", "scipy.special.psi", "numpy.polyfit"),
)


def is_real_only(rule: Rule) -> bool:
    """Whether a rule holds for real numbers only."""
    return rule.name.startswith(_REAL_ONLY)


def with_real_arguments(
    rule: Rule, call: ir.Call, values: dict[str, ir.Expr], kind_of: KindOf, real: bool
) -> dict[str, ir.Expr]:
    """The arguments of such an operation, for its lines: refused where one is complex, and asked
    for in the text where that is not known.

    before::                            after::
        dy_dx = i1e(x) - sign(x) * y        dy_dx = i1e(require_real(x)) - ...
    """
    if not is_real_only(rule):
        return values

    def dtype_of(name: str) -> str:
        return kind_of(ir.Var(name)).dtype

    asked = dict(values)
    for name, argument in values.items():
        if linear.may_be_complex(argument, dtype_of, True):
            raise UnsupportedError(
                f"{rule.name} of complex numbers",
                call.at,
                "Its derivative is known for real numbers: pass np.real(z).",
            )
        if linear.may_be_complex(argument, dtype_of, real) and not name.startswith("$"):
            helper = ir.Ref("require_real", runtime.require_real)
            asked[name] = ir.Call(helper, (argument,), at=call.at)
    return asked


# --------------------------------------------------------------------------------------------------
# Which argument of a call each parameter of a rule is.


def match_call(
    rule: Rule, template: Template, call: ir.Call
) -> tuple[dict[str, ir.Expr], frozenset[str]]:
    """Parameters to actual arguments, and the parameters left at their defaults."""
    for arg in call.args:
        if isinstance(arg, ir.Opaque) and arg.text.startswith("*"):
            raise UnsupportedError(
                f"how many arguments this call gives `{rule.name}` is not known until run time",
                call.at,
                "Write the arguments one by one.",
            )
    params = template.signature.parameters
    if isinstance(getattr(call.fn, "obj", None), np.ufunc):
        keywords = tuple((name, value) for name, value in call.kwargs if name not in _MEMORY)
        call = dataclasses.replace(call, kwargs=keywords)
    for name, _ in call.kwargs:
        known = params.get(name)
        if known is None or known.kind is inspect.Parameter.VAR_POSITIONAL:
            raise _unnamed(rule, f"`{name}`", f"(..., {name}=...)", call.at)
    try:
        bound = template.signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        raise _unnamed(rule, f"this call ({error})", "(...)", call.at) from error
    unsupplied = frozenset(params) - frozenset(bound.arguments)
    arguments: dict[str, ir.Expr] = {}
    for name, param in params.items():
        if param.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments[name] = ir.Display("tuple", tuple(bound.arguments.get(name, ())))
        elif name in bound.arguments:
            arguments[name] = bound.arguments[name]
        else:
            arguments[name] = _default(param.default)
    return arguments, unsupplied


# Options of every ufunc that say how the result lies in memory and which types are taken: no rule
# names them, and none depends on them.
_MEMORY = ("order", "casting", "subok")


def _unnamed(rule: Rule, what: str, form: str, at: Place | None) -> UnsupportedError:
    noun = "the argument " if what.startswith("`") else ""
    return UnsupportedError(
        f"{rule.name}{form} has no rule for {noun}{what}",
        at,
        "Leave it out of the call, or give the operation a rule of your own with @tl.rule.",
    )


def _default(value: Any) -> ir.Expr:
    if isinstance(value, tuple):
        return ir.Display("tuple", tuple(map(_default, value)))
    if isinstance(value, type):
        return ir.Ref(value.__name__, value)
    return ir.Const(value)


def spread(
    template: Template, arguments: dict[str, ir.Expr]
) -> tuple[dict[str, ir.Expr], dict[str, ir.Expr]]:
    """Give each operand of `*operands` a parameter of its own: `operands0`, `operands1`, ..."""
    values: dict[str, ir.Expr] = dict(arguments)
    spread: dict[str, ir.Expr] = {}
    for name, param in template.signature.parameters.items():
        actual = arguments[name]
        if param.kind is not inspect.Parameter.VAR_POSITIONAL:
            spread[name] = actual
            continue
        assert isinstance(actual, ir.Display)
        for place, item in enumerate(actual.items):
            spread[f"{name}{place}"] = item
        dots = tuple(ir.Var(f"${name}{place}_dot") for place in range(len(actual.items)))
        values[f"${name}_dot"] = ir.Display("tuple", dots)
    return values, spread
