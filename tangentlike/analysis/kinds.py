"""Kinds of all local names: a fixpoint over the definitions of each."""

from __future__ import annotations

import collections
import functools
import operator
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import ir
from ..frontend.owners import is_numerical, module_of
from ..frontend.structures import is_function
from ..ir.facts import fact
from ..ir.index import forms, references
from ..ir.kind import BOOL, FUNCTION, INT, INTEGER, NONE, OTHER, UNKNOWN, Dim, Kind, is_named
from ..rules.index_kinds import longer, places
from ..rules.kinds_of import dim
from ..rules.linear import holds_complex
from ..runtime.records import attribute_of
from .declared import kind_from_annotation, kinds_from_example
from .evidence import SLICED, Filled, contents, evidence, filled, made_of, told_apart
from .kind_of import item_kind, kind_of
from .local_kinds import handed_on, settled, updated_array

__all__ = ["computes_complex", "infer_kinds", "kind_of", "kinds_from_example"]

_NUMERIC = ("number", "array", "value")
_IN_PLACE: tuple[object, ...] = (
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.imatmul,
)
_IN_PLACE += (operator.ipow, operator.ifloordiv, operator.imod)
_PATIENCE = 12  # changes of one name after which nothing is claimed of it


def infer_kinds(
    function: ir.Function, given: Mapping[str, Kind], book: Any, evident: bool = True
) -> dict[str, Kind]:
    """Local name -> what is true of its value in every run.

    Names are webs (`frontend.split_names`), so one kind serves all definitions of a name.
    `given` says what is known of parameters beyond their annotations; `evident`: what the uses of
    a name prove counts too, which is true of runs that get to these.

    >>> from ..frontend.lower import program
    >>> infer_kinds(program("n = x.shape[0]; s = 0.0"), {}, None)["s"].form
    'number'
    """
    kinds = _Inference(function, given, book, evident).run()
    kinds.update(dict.fromkeys(fact(called_items, function), FUNCTION))
    return kinds


def computes_complex(function: ir.Function, kinds: Mapping[str, Kind]) -> bool:
    """Whether complex values may occur: a literal, a type or a transform that makes them.

    Rules take values of unknown dtype to be real unless this holds.

    >>> from ..frontend.lower import program
    >>> computes_complex(program("z = x * 1j"), {}), computes_complex(program("z = x * 1.0"), {})
    (True, False)
    """
    if any(_may_hold_complex(kind) for kind in kinds.values()):
        return True
    if any(map(_is_of_complex, fact(references, function))):
        return True
    parts = [part for p in function.params if p.default is not None for part in ir.walk(p.default)]
    if not fact(forms, function).isdisjoint((complex, str, *_COMPLEX_PARTS)):
        parts += ir.walk_block(function.body)
    found = [part for part in parts if _makes_complex(part)]
    texts = [part for part in found if isinstance(part, ir.Const) and isinstance(part.value, str)]
    if len(texts) < len(found):
        return True
    keys = (key for part in parts for key in _keys(part))
    return bool(texts) and bool(collections.Counter(texts) - collections.Counter(keys))


def _keys(expr: ir.Expr) -> list[ir.Const]:
    """The texts that are keys in an expression: "D" is one of a dict there, and no dtype."""
    found: tuple[ir.Expr, ...] = ()
    match expr:
        case ir.Index(_, key):
            found = (key,)
        case ir.Display(keys=keys):
            found = keys
    return [key for key in found if isinstance(key, ir.Const) and isinstance(key.value, str)]


def _may_hold_complex(kind: Kind) -> bool:
    inside = (*(kind.items or ()), *((kind.item,) if kind.item is not None else ()))
    return kind.dtype == "complex" or any(map(_may_hold_complex, inside))


def _makes_complex(expr: ir.Expr) -> bool:
    match expr:
        case ir.Const(value):
            return isinstance(value, complex) or value in _COMPLEX_TYPES
        case ir.Attribute(name=name):
            return name in _COMPLEX_PARTS
        case ir.Ref():
            return _is_of_complex(expr)
    return False


_COMPLEX_PARTS = ("imag", "real", "conj", "conjugate")


# As `dtype="c16"` spells them; "F" and "c" are most often something else.
_COMPLEX_TYPES = {"complex", "complex64", "complex128", "complex256", "cdouble", "csingle"}
_COMPLEX_TYPES |= {"clongdouble", "c8", "c16", "c32", "D", "G"}


def _is_of_complex(ref: ir.Ref) -> bool:
    """Whether what a name of the module stands for is complex, or makes what is."""
    obj, text = ref.obj, ref.text
    if obj is complex or (isinstance(obj, type) and issubclass(obj, np.complexfloating)):
        return True
    if holds_complex(obj) or any(word in text for word in ("complex", "fft.")):
        return True
    module, name = module_of(obj), str(attribute_of(obj, "__name__", ""))
    if any(map(_MAKING.search, (text, name if is_numerical(obj) else ""))):
        return True
    return is_numerical(obj) and ("fft" in module or "fft" in name)


# Functions of libraries that make complex arrays of real ones. (`eigh` and `eigvalsh` do not.)
_MAKING = re.compile(r"\b(eig(?!h|valsh)|sqrtm|logm)")


_INDEXED = ("array", SLICED.form)  # (a number is neither, whatever reads other definitions)
_CONVERTING = (
    *(np.array, np.asarray, np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack),
    np.block,
)


def _is_of_integers(kind: Kind) -> bool:
    """Whether there are only integers in a list. (What is put into an array of these is rounded:
    who writes them down did not mean that, and is told when it runs.)"""
    return kind.discrete if kind.items is None else all(map(_is_of_integers, kind.items))


class _Inference:
    """Definitions are evaluated again whenever a name they read has changed its kind."""

    def __init__(
        self, function: ir.Function, given: Mapping[str, Kind], book: Any, evident: bool
    ) -> None:
        self.function = function
        self.book = book
        self.evidence = fact(evidence, function) if evident else {}
        self.contents = contents(function, book)
        self.assigned = {
            ir.plain_name(stmt.target.name)
            for stmt in ir.statements(function.body)
            if isinstance(stmt, ir.Store) and isinstance(stmt.target, ir.Attribute)
        }
        self.kinds: dict[str, Kind] = {}
        self.of_definition: dict[str, dict[int, Kind]] = {}  # name -> definition -> kind
        self.bindings: dict[str, int] = dict.fromkeys(function.param_names, 1)
        self.changes: dict[str, int] = {}
        self.statements: list[ir.Stmt] = []
        self.in_loop: set[str] = set()
        self.reads: collections.Counter[str] = collections.Counter()  # by how many statements
        self.readers: dict[str, list[int]] = {}
        # Statements that bind a container of which it is not known yet what is put into it. They
        # wait: a loop that adds what it takes from one to itself would keep the nothing it began
        # with. What is not known at the end depends on itself.
        self.delayed: set[int] = set()
        self.waits = True
        self._index()
        self._parameters(given)

    def _index(self) -> None:
        for number, (stmt, around) in enumerate(ir.with_parents(self.function.body)):
            self.statements.append(stmt)
            self.reads.update(ir.reads(stmt))
            bound = ir.binds(stmt)
            looping = any(map(_is_loop, around))
            for name in bound:
                self.bindings[name] = self.bindings.get(name, 0) + 1
                if looping or isinstance(stmt, ir.For):
                    self.in_loop.add(name)
            read = ir.reads(stmt) if bound else frozenset()
            for name in bound:
                for item in self.contents.inserted.get(name, ()):
                    read |= ir.names_in(item)
                if name in self._filled:
                    read |= ir.names_in(self._filled[name].loop.iter)
            for name in sorted(read):
                self.readers.setdefault(name, []).append(number)

    def _parameters(self, given: Mapping[str, Kind]) -> None:
        apart = fact(told_apart, self.function)
        for param in self.function.params:
            kind = ir.replaced(given.get(param.name, UNKNOWN), exact=None)
            if kind.form in ("list", "tuple", "dict") and param.name in apart:
                kind = UNKNOWN
            if kind == UNKNOWN:
                kind = kind_from_annotation(param.stated)
            packed = {"*": "tuple", "**": "dict"}.get(param.kind)
            if packed is not None and kind.form != packed:
                kind = Kind(packed)
            if kind == UNKNOWN and param.name in self._tapes():
                kind = Kind("tuple")
            has_items = kind.form in ("list", "dict") or kind.is_view
            if has_items and self._takes_more(param.name, kind):
                kind = ir.replaced(kind, item=None)
            self.of_definition[param.name] = {-1: self._named(param.name, kind)}
            self.kinds[param.name] = self._joined(param.name)

    def _tapes(self) -> frozenset[str]:
        """The tape of a backward function that has one, a tuple (its tangent may be a list)."""
        first = self.function.param_names[:1]
        unpacked = {
            stmt.value
            for stmt in self.function.body
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple)
        }
        return frozenset(n for n in first if n in self.function.empties and ir.Var(n) in unpacked)

    def run(self) -> dict[str, Kind]:
        self._until_stable(range(len(self.statements)))
        self.waits = False
        self._until_stable(self.delayed)
        for name in self.bindings:
            self.kinds.setdefault(name, self._refined(name, UNKNOWN))
        return self.kinds

    def _until_stable(self, numbers: Iterable[int]) -> None:
        pending = sorted(numbers)
        waiting = set(pending)
        while pending:
            for number in pending:
                waiting.discard(number)
                for name in self._evaluate(number):
                    waiting.update(self.readers.get(name, ()))
            pending = sorted(waiting)

    def _evaluate(self, number: int) -> list[str]:
        """Evaluate one statement's definitions; return the names whose kinds changed."""
        stmt = self.statements[number]
        if not ir.binds(stmt) or not self.kinds.keys() >= ir.reads(stmt):
            return []  # reads what no run can have bound yet
        changed = []
        for name, kind in self._definitions(stmt):
            if kind.length is not None and (self.reads[name] != 1 or self.bindings[name] != 1):
                kind = ir.replaced(kind, length=None)  # (what else reads it may change it)
            if (kind.form in ("list", "dict") and not kind.lasting) or kind.is_view:
                held = self._container(stmt, name, kind)
                if held is None:
                    self.delayed.add(number)
                    continue
                kind = self._with_length(stmt, name, held)
            elif kind.form == "object":
                kind = self._object(kind)
            self.of_definition.setdefault(name, {})[number] = self._named(name, kind)
            if self._update(name):
                changed.append(name)
        return changed

    def _update(self, name: str) -> bool:
        kind = self._joined(name)
        if self.kinds.get(name) == kind:
            return False
        self.changes[name] = self.changes.get(name, 0) + 1
        self.kinds[name] = kind
        return True

    def _joined(self, name: str) -> Kind:
        kinds = list(self.of_definition[name].values())
        if self.changes.get(name, 0) > _PATIENCE:
            # (What a container holds may depend on itself; that it is one does not.)
            forms = {kind.form for kind in kinds}
            return Kind(forms.pop()) if forms in ({"list"}, {"dict"}) else UNKNOWN
        joined = self._grown(name) or functools.reduce(Kind.join, kinds)
        return self._refined(name, joined) if self._bears(name, kinds) else joined

    def _grown(self, name: str) -> Kind | None:
        """What `y` is that begins as `y = 0.0` and to which arrays of one shape are added."""
        stated, others = [], []
        if len(self.of_definition[name]) == 1:
            return None
        for number, kind in self.of_definition[name].items():
            match self.statements[number] if number >= 0 else None:
                case ir.Assign(value=ir.Const()) if kind.form == "number":
                    stated.append(kind)
                case _:
                    others.append(kind)
        if not stated or not others:
            return None
        array = functools.reduce(Kind.join, others)
        shape = array.shape if array.form == "array" else array.grown
        if not isinstance(shape, tuple) or not shape:
            return None
        grown = Kind("array", shape=shape)
        dtype = functools.reduce(Kind.join, [array, *stated]).dtype
        return Kind("value", dtype, grown=shape) if grown.spans(grown) else None

    def _bears(self, name: str, kinds: list[Kind]) -> bool:
        """Whether what the uses of a name prove may hold of all its definitions: a use tells only
        of those that reach it."""
        seen = self.evidence.get(name)
        if seen is None or len(kinds) == 1:
            return True
        forms = {kind.form for kind in kinds} - {"unknown", seen.form}
        numeric = seen.form in (*_NUMERIC, SLICED.form) and forms <= set(_NUMERIC)
        return not forms or (numeric and (seen.form not in _INDEXED or "number" not in forms))

    def _refined(self, name: str, kind: Kind) -> Kind:
        """What the definitions say, strengthened by what the uses prove."""
        seen = self.evidence.get(name)
        if seen is None or kind.form not in ("unknown", "value", "array"):
            return kind
        if seen is SLICED:
            return ir.replaced(kind, form="array") if kind.form == "value" else kind
        checked = kind.form == "value" and seen.form == "number"
        if kind.form == "unknown" or seen.form == "array" or checked:
            kind = ir.replaced(kind, form=seen.form, grown=None)
        if not isinstance(kind.shape, tuple) and isinstance(seen.shape, tuple):
            kind = self._named(name, ir.replaced(kind, shape=seen.shape))
        return kind

    def _named(self, name: str, kind: Kind) -> Kind:
        """Name the shape of a value after its name, where the name has one value in a run.

        >>> from ..frontend.lower import program
        >>> infer_kinds(program("return x"), {}, None)["x"].shape
        'x'
        """
        if self.bindings.get(name, 0) > 1 or name in self.in_loop:
            return kind
        if kind.integer and kind.spells is None:
            return ir.replaced(kind, spells=f"{name}{INTEGER}")
        if kind.form not in ("array", "value", "unknown"):
            return kind
        if kind.shape is None:
            return kind.with_shape(name)
        if isinstance(kind.shape, tuple) and not all(map(is_named, kind.shape)):
            dims = enumerate(kind.shape)
            return kind.with_shape(
                tuple(d if is_named(d) else f"{name}.{i}{d or ''}" for i, d in dims)
            )
        return kind

    # ---------------------------------------------------------------- one statement

    def _definitions(self, stmt: ir.Stmt) -> list[tuple[str, Kind]]:
        match stmt:
            case ir.Assign(target=target, value=value):
                made, whole = self._kind_of(value), updated_array(stmt, self.kinds)
                if whole is not None and made.form in ("array", "value"):
                    made = ir.replaced(made, form="array", shape=self.kinds[whole.name].shape)
                return spread(target, made, self.book)
            case ir.Update(target=ir.Var(name), op=op, value=value):
                old = self.kinds[name]
                if old.form in ("array", "list", "dict", "set") or old.has_methods:
                    return [(name, old)]  # in place (methods check the class of an object)
                call = ir.Call(op, (stmt.target, value))
                return [(name, kind_of(call, self.kinds, self.book).join(old))]
            case ir.For(target=target, iter=iterable):
                return spread(target, self._iterated(iterable), self.book)
            case ir.Try(caught=caught):
                return [(name, OTHER if caught else BOOL) for name in ir.binds(stmt)]
            case ir.OpaqueStmt(text=text) if text.startswith("import "):
                return [(name, OTHER) for name in ir.binds(stmt)]
            case _:
                return [(name, UNKNOWN) for name in ir.binds(stmt)]

    def _kind_of(self, value: ir.Expr) -> Kind:
        masks = [n for n in ir.names_in(value) if self.kinds[n].is_mask]
        masks = [n for n in masks if self.bindings.get(n, 0) < 2 and n not in self.in_loop]
        if not masks or self._written.issuperset(masks):
            return kind_of(value, self.kinds, self.book)
        names = {n: settled(n) for n in masks if n not in self._written}
        known = {name.name: self.kinds[n] for n, name in names.items()}
        return kind_of(ir.substitute(value, names), ChainMap(known, self.kinds), self.book)

    @functools.cached_property
    def _written(self) -> set[str]:
        """The names of what may be written."""
        return handed_on(self.statements)

    def _with_length(self, stmt: ir.Stmt, name: str, kind: Kind) -> Kind:
        """The kind of a `range`, or of a list which one loop fills, with the length it grows to."""
        value = stmt.value if isinstance(stmt, ir.Assign) else None
        iterable, begun = (value, 0) if value is not None and _is_range(value) else (None, 0)
        if name in self._filled and kind.form == "list":
            iterable, begun = self._filled[name].loop.iter, self._filled[name].begun
        if iterable is None or not self.kinds.keys() >= ir.names_in(iterable):
            return kind
        size = longer(self._rounds(iterable), begun)
        return kind if size is None else ir.replaced(kind, grown=(size,))

    @functools.cached_property
    def _filled(self) -> dict[str, Filled]:
        return filled(self.function)

    def _rounds(self, iterable: ir.Expr) -> Dim:
        """How often a loop over this runs, where that has a name."""
        if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
            obj, args = iterable.fn.obj, iterable.args
            if any(map(ir.is_starred, args)) or not args:
                return None
            if obj is range:
                return places(args, lambda e: kind_of(e, self.kinds, self.book))
            if obj is zip:
                sizes = set(map(self._rounds, args))
                return sizes.pop() if len(sizes) == 1 and not iterable.kwargs else None
            if obj in (enumerate, reversed):
                return self._rounds(args[0])
        kind = kind_of(iterable, self.kinds, self.book)
        return kind.shape[0] if kind.form == "array" and kind.rank else None  # type: ignore[index]

    def _container(self, stmt: ir.Stmt, name: str, kind: Kind) -> Kind | None:
        """A list's or dict's kind by what its elements have in common in all of its life: what a
        container was made of says nothing about what is put into it later. None: that is to
        wait for."""
        value = stmt.value if isinstance(stmt, ir.Assign) and stmt.target == name else None
        if value is not None and _is_range(value):
            return kind  # (nothing can be put into it)
        if isinstance(value, ir.Display) and value.form == "list" and self._is_converted(name):
            found = self._converted(value)
            readers = (self.statements[n].value for n in self.readers[name])  # type: ignore[union-attr]
            inner = all(isinstance(reader, ir.Display) for reader in readers)
            return kind if _is_of_integers(found) and not inner else found
        source = None if value is None else made_of(value)
        if source is not None:
            kind = ir.replaced(kind, item=self._iterated(source))
        inserted = self.contents.inserted.get(name)
        if inserted is None:
            changed = name in self.contents.exposed and not isinstance(value, ir.Display)
            item = kind.whole_item
            if changed and item is not None:
                item = item.checked if item.holds_objects else None
            return _with_items(kind, item)
        # (What a display holds is among what is inserted.)
        first = () if isinstance(value, ir.Display) else (kind.whole_item or UNKNOWN,)
        known = [
            *first,
            *(
                self._put(item)
                for item in inserted
                if all(n in self.kinds for n in ir.names_in(item))
            ),
        ]
        if not known:
            return None if inserted and self.waits else kind
        joined = functools.reduce(Kind.join, known)
        return _with_items(kind, None if joined == UNKNOWN else joined)

    def _converted(self, value: ir.Expr) -> Kind:
        """The kind of what is a part of an array: of a list, with each of its items."""
        kind = kind_of(value, self.kinds, self.book)
        if not isinstance(value, ir.Display) or value.form != "list" or kind.length is None:
            return kind
        return ir.replaced(kind, items=tuple(map(self._converted, value.items)))

    def _is_converted(self, name: str) -> bool:
        """Whether what is made under a name is read to be a part of an array, and for nothing
        else: so it holds then what it was made of."""
        numbers = self.readers.get(name, [])
        if self.bindings[name] != 1 or self.reads[name] != len(numbers) or not numbers:
            return False
        return all(self._converts(self.statements[number], name) for number in numbers)

    def _converts(self, stmt: ir.Stmt, name: str) -> bool:
        match stmt:
            case ir.Assign(str(target), ir.Display("list" | "tuple", items)) if (
                ir.Var(name) in items
            ):
                return target not in self.reads or self._is_converted(target)
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=args)) if ir.Var(name) in args:
                return any(obj is known for known in _CONVERTING)
        return False

    def _object(self, kind: Kind) -> Kind:
        """An object's kind without the attributes that were left None where it was made, and that
        the program assigns."""
        left = tuple((n, k) for n, k in kind.fields if k != NONE or n not in self.assigned)
        return kind if left == kind.fields else ir.replaced(kind, fields=left)

    def _put(self, item: ir.Expr) -> Kind:
        """The kind of what is put into a container: of `xs[0] *= v` the array that was there, or
        the object (methods check its class)."""
        match item:
            case ir.Call(ir.Ref(obj=obj), (ir.Index() as old, _)) if obj in _IN_PLACE:
                before = kind_of(old, self.kinds, self.book)
                if before.form == "array" or before.has_methods:
                    return before
        return kind_of(item, self.kinds, self.book)

    def _takes_more(self, name: str, kind: Kind) -> bool:
        """Whether the program may put other things into a container that was given to it. (Where
        a callee does, arrays are replaced by arrays; what was a number, or None, may be one.)"""
        if kind.lasting:
            return False
        exposed = name in self.contents.exposed
        number = kind.item is not None and kind.item.form in ("number", "other")
        return name in self.contents.inserted or (exposed and number)

    def _iterated(self, iterable: ir.Expr) -> Kind:
        """The kind of the loop variable over `iterable`."""
        if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
            obj, args = iterable.fn.obj, iterable.args
            if obj is range:
                return self._counted(args)
            if obj is enumerate and args:
                return Kind("tuple", items=(INT, self._iterated(args[0])))
            if any(map(ir.is_starred, args)):
                return UNKNOWN
            if obj is zip:
                return Kind("tuple", items=tuple(map(self._iterated, args)))
            if obj is reversed and args:
                return self._iterated(args[0])
        kind = kind_of(iterable, self.kinds, self.book)
        return UNKNOWN if kind.form == "dict" else item_kind(kind, self.book)

    def _counted(self, bounds: tuple[ir.Expr, ...]) -> Kind:
        """The kind of the integers of a `range`."""
        start, end = bounds[:2] if len(bounds) > 1 else (ir.Const(0), *bounds)
        steps = [literal.value for literal in (start, *bounds[2:]) if isinstance(literal, ir.Const)]
        ascending = len(steps) == 1 + len(bounds[2:]) and all(
            type(step) is int and step >= 0 for step in steps
        )
        if not ascending or any(map(ir.is_starred, bounds)):
            return INT
        return ir.replaced(INT, below=dim(end, lambda e: kind_of(e, self.kinds, self.book)))


def _is_loop(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.For | ir.While)


def _with_items(kind: Kind, item: Kind | None) -> Kind:
    """A container's kind with another claim about its items."""
    if kind.item == item and kind.items is None:
        return kind
    return ir.replaced(kind, dtype="?", item=item, items=None, names=())


def _is_range(value: ir.Expr) -> bool:
    return isinstance(value, ir.Call) and getattr(value.fn, "obj", None) is range


def spread(target: ir.Target, kind: Kind, book: Any = None) -> list[tuple[str, Kind]]:
    """The kinds of the names of an unpacking target.

    >>> pair = Kind("tuple", items=(INT, UNKNOWN))
    >>> [(name, kind.form) for name, kind in spread(("a", "b"), pair)]
    [('a', 'number'), ('b', 'unknown')]
    """
    if isinstance(target, str):
        return [(target, kind)]
    found: list[tuple[str, Kind]] = []
    for position, part in enumerate(target):
        if kind.form == "dict":  # (its keys)
            found += spread(part, UNKNOWN, book)
        elif kind.items is not None and len(kind.items) == len(target):
            found += spread(part, kind.items[position], book)
        else:
            found += spread(part, item_kind(kind, book), book)
    return found


# --------------------------------------------------------------------------------------------------
# Functions that are looked up in a table of the module, and called: `TABLE[key](x)`.
#
# Such a name stands for a function, which carries no derivative and shares no memory with anything:
# where it is called with what carries derivatives the run asks whether it is a plain function.


def called_items(function: ir.Function) -> frozenset[str]:
    """The names that are items of outer dicts and lists of functions wherever they are bound, and
    of which nothing is asked but to be called."""
    found: set[str] = set()
    others = set(function.param_names)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Index(ir.Ref(obj=table), key)):
                fits = not isinstance(key, ir.Slice) and _holds_functions(table)
                (found if fits else others).add(name)
            case _:
                others.update(ir.binds(stmt))
    if not found - others:
        return frozenset()
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            others.update(_asked(expr))
    return frozenset(found - others)


def _holds_functions(table: Any) -> bool:
    if not isinstance(table, (dict, list, tuple)) or not table:
        return False
    return all(map(is_function, table.values() if isinstance(table, dict) else table))


def _asked(expr: ir.Expr) -> Iterator[str]:
    """The names in an expression that are used otherwise than by a call."""
    if isinstance(expr, ir.Var):
        yield expr.name
        return
    called = isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Var)
    for part in ir.children(expr)[1:] if called else ir.children(expr):
        yield from _asked(part)
