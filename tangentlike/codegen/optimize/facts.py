"""What the passes know of a program: facts in by argument, attached to nothing."""

from __future__ import annotations

import builtins
import dataclasses
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import ir, runtime
from ...frontend.owners import OURS, is_operation, module_of, package_of
from ...ir.facts import Facts as Manager
from ...ir.facts import fact
from ...ir.kind import UNKNOWN, Kind
from ...rules.book import RuleBook
from ...rules.twins import module_function
from ...runtime.records import attribute_of

DERIVED_NAME = re.compile(r"^(?P<primal>.+)_(?:bar|dot)\d*$")
NUMERIC = ("number", "array", "value")


def words(text: str) -> frozenset[str]:
    """A set of names, written as one text."""
    return frozenset(text.split())


_PURE_BUILTINS = words(
    "abs bool bytes callable complex dict divmod enumerate float format frozenset getattr "
    "hasattr hash id int isinstance issubclass len list max min pow range repr reversed round "
    "set slice sorted str sum tuple type zip"
)
_FRESH_BUILTINS = words(
    "abs bool bytes callable complex divmod float format hasattr hash id int isinstance "
    "issubclass len pow range repr round str"
)
_IMPURE_NUMPY = words(
    "copyto put place putmask fill_diagonal put_along_axis save savetxt savez savez_compressed "
    "seterr seterrcall setbufsize set_printoptions printoptions errstate apply_along_axis "
    "apply_over_axes vectorize frompyfunc piecewise fromfunction info show_config"
)
_NUMPY_VIEWS = words(
    "reshape ravel transpose permute_dims matrix_transpose squeeze asarray asanyarray array "
    "ascontiguousarray asfortranarray asarray_chkfinite asmatrix require atleast_1d atleast_2d "
    "atleast_3d broadcast_to broadcast_arrays diag diagonal flip fliplr flipud rot90 moveaxis "
    "rollaxis swapaxes expand_dims real imag real_if_close split array_split hsplit vsplit "
    "dsplit unstack nan_to_num trim_zeros meshgrid ix_ einsum frombuffer as_strided astype "
    "ndarray nditer sliding_window_view ndenumerate ndindex matrix_power"
)
_IN_PLACE_OPERATORS = words(
    "iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv ixor "
    "setitem delitem"
)


def _is_operator(obj: Any) -> bool:
    return module_of(obj) == "_operator"


def _is_ufunc_at(obj: Any) -> bool:
    """`np.add.at` and its like, which write their first argument."""
    return str(attribute_of(obj, "__name__", "")) == "at"


def numpy_name(obj: Any) -> str:
    """The last part of a NumPy (or CuPy) function's name; "" for anything else."""
    found = _NAMES.get(id(obj))
    return found[1] if found is not None and found[0] is obj else _names_of(obj)[1]


def is_entrywise(obj: Any) -> bool:
    """Whether it is a function of NumPy or SciPy that gives one result for each entry.

    >>> is_entrywise(np.exp), is_entrywise(np.matmul), is_entrywise(np.sum)
    (True, False, False)
    """
    return isinstance(obj, np.ufunc) and obj.signature is None and obj.nout == 1


def runtime_name(obj: Any) -> str:
    """The name of a function of `tangentlike.runtime`; "" for anything else."""
    found = _NAMES.get(id(obj))
    return found[2] if found is not None and found[0] is obj else _names_of(obj)[2]


# Every pass asks for these names all the time; operations of libraries live as long as we do.
_NAMES: dict[int, tuple[Any, str, str]] = {}


def _names_of(obj: Any) -> tuple[Any, str, str]:
    found = (obj, _numpy_name(obj), _runtime_name(obj))
    if is_operation(obj):
        _NAMES[id(obj)] = found
    return found


def _numpy_name(obj: Any) -> str:
    if isinstance(obj, np.ufunc):
        return str(obj.__name__)
    owner = attribute_of(obj, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.reduce, np.multiply.outer, np.add.at
        return str(attribute_of(obj, "__name__", ""))
    module = module_of(obj)
    root = module.partition(".")[0]
    if root in ("numpy", "cupy") and ".random" not in module:
        return str(attribute_of(obj, "__name__", ""))
    if isinstance(obj, types.BuiltinFunctionType):
        name = str(obj.__name__)
        return name if getattr(np, name, None) is obj else ""
    return ""


def _runtime_name(obj: Any) -> str:
    module = module_of(obj)
    own = __name__.partition(".")[0] + ".runtime"
    if module == own or module.startswith(own + "."):
        return str(attribute_of(obj, "__name__", ""))
    return ""


def known_pure(obj: Any) -> bool:
    """Whether applying `obj` surely does nothing but compute a value from its arguments."""
    if _is_operator(obj):
        return str(attribute_of(obj, "__name__", "")) not in _IN_PLACE_OPERATORS
    name = numpy_name(obj)
    if name:
        return name not in _IMPURE_NUMPY and not _is_ufunc_at(obj)
    if isinstance(obj, np.ufunc):
        return True
    helper = runtime_name(obj)
    if helper:
        return helper not in EFFECTS
    if module_of(obj) in (math.__name__, "cmath"):
        return True
    name = attribute_of(obj, "__name__", "")
    return name in _PURE_BUILTINS and getattr(builtins, name, None) is obj


def known_fresh(obj: Any) -> bool:
    """Whether the result of `obj` surely shares no memory with its arguments."""
    if _is_operator(obj):
        operation = str(attribute_of(obj, "__name__", ""))
        return operation not in (*_IN_PLACE_OPERATORS, "getitem", "pos")
    name = numpy_name(obj)
    if name:
        return name not in _NUMPY_VIEWS
    if runtime_name(obj) in FRESH_RUNTIME:
        return True
    if module_of(obj) in (math.__name__, "cmath"):
        return True
    name = attribute_of(obj, "__name__", "")
    return name in _FRESH_BUILTINS and getattr(builtins, name, None) is obj


# Of `tangentlike.runtime`: what writes its first argument, what may raise and does nothing else.
WRITING_RUNTIME = words("add_at restore_entry update_in_place put_contents put_inside put_item")
_CHECKING_RUNTIME = runtime.CHECKS | {"lost_statements", "absent_attribute"}
# What depends on which array an argument is, not on its entries alone.
ASKING_RUNTIME = ("mirrored_view",)
# What leaves a context.
_LEAVING_RUNTIME = frozenset(("leave_raising",))
# What keeps states and gives them back.
_KEEPING_RUNTIME = frozenset(("put_back", "stack_on_disk", "note_kept"))
# All of the runtime that is called for more than a value.
EFFECTS = WRITING_RUNTIME | _CHECKING_RUNTIME | _KEEPING_RUNTIME | _LEAVING_RUNTIME
# Whose result is an object of its own, and whose shares memory with the first argument only.
FRESH_RUNTIME = words(
    "zeros_like ones_like copy scalar_seed ratio_or_zero matmul_bar_a matmul_bar_b "
    "product_of_others extremum_share transposed_inverse logistic log_ratio cholesky_bar "
    "inverse_of_lower"
)
# What makes containers, which hold their arguments, or items of them.
_HOLDING_RUNTIME = words(
    "record_like joined dict_dot dict_bar merged_bar entries_bar put_items columns_bar"
    " record_item_bar replaced_bar"
)
CONTAINERS = ("list", "tuple", "dict", "object")
# What sums its first argument over axes that were broadcast.
SUMMING_RUNTIME = ("matmul_bar_a", "matmul_bar_b")
# Of the type of their first argument.
TYPED_BY_FIRST = ("product_of_others", "extremum_share")
FIRST_ONLY_RUNTIME = words("unbroadcast broadcast_like unreduce swap_last undiag")


@dataclass(frozen=True)
class Profile:
    """An operation: its name in NumPy or in our runtime (else ""), whether it only computes a
    value, and whether that value surely shares no memory with its arguments."""

    numpy: str
    runtime: str
    pure: bool
    fresh: bool


@dataclass(frozen=True)
class Facts:
    """Facts about one derived function.

    `kinds`: of names, where known. `is_pure`: whether applying an operation only computes
    (asked for a `Ref`; what the tables above know need not be known to it). `shares_memory`:
    whether the result of an operation may share memory with an argument (None: not known).
    `derivatives`: of adjoints and tangents, what they are of (None: as the names of a program that
    was written by hand say), `narrow` those that may be smaller; `behind`: the kinds of these
    values, where known, by the names that their adjoints and tangents have now.
    `temporaries`: names that flattening made. `original`: name of a web -> the user's name.
    `floating`: names that surely hold no integers or booleans. `real`: whether no complex
    values occur. `alias`: how the program spells its array module, `foreign`: whether it is another
    than NumPy. `by_identity`: adjoints are found by the objects that names stand for: what is read
    twice is one object. `tried`: whether a `try` may be around calls of the function, which tells
    by what it raises. `handed_back`: what the function gives is the user's, and nothing is added to
    it. `cache` holds what follows from a statement, `manager` what follows from a program.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    is_pure: Callable[[ir.Ref], bool] = lambda ref: False
    shares_memory: Callable[[ir.Ref], bool | None] = lambda ref: None
    derivatives: Mapping[str, str] | None = None
    narrow: frozenset[str] = frozenset()
    behind: Mapping[str, Kind] = field(default_factory=dict)
    temporaries: frozenset[str] = frozenset()
    original: Mapping[str, str] = field(default_factory=dict)
    floating: frozenset[str] = frozenset()
    real: bool = True
    alias: str = "np"
    foreign: bool = False
    by_identity: bool = False
    tried: bool = False
    handed_back: bool = False
    cache: dict[Any, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    manager: Manager = field(default_factory=Manager, repr=False, compare=False)

    def forget(self) -> None:
        """All that was worked out goes (it refers to these facts)."""
        self.manager.forget()
        self.cache.clear()

    def kind(self, name: str) -> Kind:
        return self.kinds.get(name, UNKNOWN)

    def kind_behind(self, name: str) -> Kind:
        """What is known of a name or, of the adjoint or tangent of a value, of that value."""
        kind = self.kind(name)
        return self.behind.get(name, UNKNOWN) if kind.form == "unknown" else kind

    def about(self, ref: ir.Ref) -> Profile:
        """What is known of an operation (looked up once for each)."""
        known = self.cache.get((Profile, id(ref.obj)))
        if known is None or known[0] is not ref.obj:
            known = (ref.obj, _profile(ref, self))
            self.cache[Profile, id(ref.obj)] = known
        found: Profile = known[1]
        return found

    def pure(self, ref: ir.Ref) -> bool:
        """Whether applying an operation only computes a value."""
        return self.about(ref).pure

    def fresh(self, ref: ir.Ref) -> bool:
        """Whether an operation's result surely shares no memory with its arguments."""
        return self.about(ref).fresh

    def numpy_function(self, name: str) -> ir.Ref:
        """A function of the program's array module."""
        return module_function(self.alias, name)


def _profile(ref: ir.Ref, facts: Facts) -> Profile:
    obj = ref.obj
    pure = known_pure(obj) or (not _writes_first(obj) and facts.is_pure(ref))
    shares = None if _is_operator(obj) else facts.shares_memory(ref)
    fresh = known_fresh(obj) if shares is None else not shares
    fresh = fresh and runtime_name(obj) not in _HOLDING_RUNTIME
    return Profile(numpy_name(obj), runtime_name(obj), pure, fresh)


def _writes_first(obj: Any) -> bool:
    return (
        _is_ufunc_at(obj)
        or runtime_name(obj) in WRITING_RUNTIME
        or numpy_name(obj) in (_IMPURE_NUMPY)
    )


_OWNERS = (np.ufunc, type, types.ModuleType)


def is_computation(book: RuleBook, ref: ir.Ref) -> bool:
    """Whether an operation only computes, as its rule says (the tables above know of NumPy)."""
    if package_of(ref.obj) not in (OURS, "scipy") or ref.text in EFFECTS:
        return False
    return book.find(ref.obj) is not None or book.is_nondifferentiable(ref.obj)


def shares_memory(book: RuleBook, ref: ir.Ref) -> bool | None:
    """Whether what an operation gives may share memory with an argument; None: no rule tells."""
    rule = book.find(ref.obj)
    return None if rule is None else rule.view != "no"


def operation(fn: ir.Expr) -> ir.Expr:
    """What a call applies: `np.add.at`, written as an attribute of `np.add`, is an operation."""
    match fn:
        case ir.Attribute(ir.Ref(text=text, obj=obj), name) if isinstance(obj, _OWNERS):
            found = getattr(obj, name, None)
            return fn if found is None else ir.Ref(f"{text}.{name}", found)
    return fn


def derived_names(function: ir.Function) -> frozenset[str]:
    """Names that only a transform binds: adjoints, tangents, their temporaries."""
    ours: set[str] = set()
    theirs: set[str] = set(function.param_names)
    for stmt in ir.statements(function.body):
        (ours if stmt.origin.is_derived else theirs).update(ir.binds(stmt))
    return frozenset(ours - theirs)


def _derivatives(function: ir.Function, facts: Facts) -> dict[str, str]:
    """Adjoints and tangents that only a transform binds, and what they are of."""
    names = fact(derived_names, function)
    if facts.derivatives is not None:
        return {n: primal for n, primal in facts.derivatives.items() if n in names}
    found = ((n, DERIVED_NAME.match(n)) for n in names)
    return {n: match["primal"] for n, match in found if match is not None}


def about_derivatives(function: ir.Function, facts: Facts) -> Facts:
    """The same facts, with what follows for adjoints and tangents from what they are of."""
    derivatives = _derivatives(function, facts)
    behind = {name: facts.kind_behind(primal) for name, primal in derivatives.items()}
    return replace(
        facts,
        kinds={**facts.kinds, **_derived_kinds(behind, facts)},
        floating=facts.floating | _floating_names(derivatives, facts),
        derivatives={},
        behind={**facts.behind, **behind},
    )


def _floating_names(derivatives: Mapping[str, str], facts: Facts) -> frozenset[str]:
    """Names that carry derivatives, hence hold no integers: adjoints, tangents, their primals."""
    known = {n for n, kind in facts.kinds.items() if kind.dtype in ("float", "complex")}
    others = {n for n, kind in facts.kinds.items() if kind.discrete or kind.form in CONTAINERS}
    others |= {n for n, primal in derivatives.items() if primal in others}
    return frozenset({*derivatives, *derivatives.values(), *known} - others)


def _derived_kinds(behind: Mapping[str, Kind], facts: Facts) -> dict[str, Kind]:
    """The adjoint (tangent) of what is surely a number is a number: nothing shares its memory. (Of
    other modules than NumPy it may be an array without axes, which `+=` writes in place.)"""
    return {
        name: Kind("number", kind.dtype, ())
        for name, kind in behind.items()
        if kind.form == "number" and not kind.discrete and name not in facts.kinds
        if not facts.foreign
    }


# --------------------------------------------------------------------------------------------------
# For trying a pass by hand.


def derived(function: ir.Function, role: str = "adjoint") -> ir.Function:
    """The program as if a transform had written it: for trying a pass by hand."""

    def one(stmt: ir.Stmt) -> ir.Stmt:
        return dataclasses.replace(stmt, origin=dataclasses.replace(stmt.origin, role=role))

    return ir.with_body(function, ir.rewrite(function.body, after=one))
