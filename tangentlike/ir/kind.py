"""What is statically known of a value: its form, dtype class and shape.

A `Kind` is a claim that holds in every run, never a guess taken from one. `UNKNOWN` claims
nothing. Shapes are symbolic: a tuple of dimensions (1, or a name standing for a size, or None
where unknown) when the rank is known; otherwise a token, so that two values with the same
token have the same shape though it is not known; or None. A name that ends with `!` stands for
a size that is not 1: such an axis is never broadcast.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Any, Union

from .. import ir, runtime
from .facts import fact
from .index import forms, references
from .nodes import quickened, replaced
from .visitor import of_node

MOST_CLASSES = 12  # of which a value may be one
MOST_EXACT = 4  # entries of an axis that a compiled loop is made for
Dim = Union[int, str, None]
Shape = Union[tuple[Dim, ...], str, None]
MANY = "!"  # some size that is not 1
INTEGER = ".int"  # ends the name of an integer that may be a size, but may be negative as well


CLASS, VALUE = "class", "value"  # how much of an argument a test asks for
Deciding = frozenset[tuple[str, str]]  # the arguments that tests ask about, and for which of both


@dataclass(frozen=True)
class Exact:
    """What a call shows of an argument besides its kind: its class and, of a string or a truth
    value, the value. `argument` names the argument of the main function that it is."""

    cls: type
    value: str | bool | None = None
    argument: str = ""

    def asked_for(self, asked: Deciding) -> Exact | None:
        """What of it is asked for."""
        if (self.argument, VALUE) in asked and self.value is not None:
            return self
        if {(self.argument, CLASS), (self.argument, VALUE)} & asked:
            return replace(self, value=None)
        return None


@quickened
@dataclass(frozen=True)
class Kind:
    """`form` is one of

    - "number": Python or NumPy scalar (shape `()`; never written in place),
    - "array": an ndarray-like of any rank, 0-d included,
    - "value": a number or an array, not known which,
    - "list", "tuple", "dict": Python containers (`items` for a tuple of known length, or a list of
      which each item stays in its place, or for the
      dict that has the keys `names`, which for a namedtuple are its fields; `item` for what all
      elements of a list or dict have in common; `cls` for a namedtuple whose class has methods of
      the user's),
    - "set": a set of anything,
    - "object": an instance of the class `cls` (None: not known which, or of one of the classes
      of the kinds `among`, a function the last of them); `fields` are attributes with what is
      known of them,
    - "other": carries no derivative (strings, None, modules, functions, shapes, ...),
    - "unknown": anything (with an `item`: what gives such items in turn, a view of a dict).

    `dtype` is "float", "complex", "int", "bool" or "?". `spells` is the size that an integer
    is in every run, or the shape that a tuple of integers is: of `x.shape[0]` it is "x.0".
    What a `lasting` list or dict holds stays what is said, whatever the program puts into it.
    `module` is the module that a value (of the form "other") is. `exact` is known of parameters
    only, for the tests that it decides. `length` is how many
    items a list or tuple has that one statement makes, and one reads. A value that begins as a
    number which the program states, and is an array of one shape afterwards, has `grown` to that; a
    list to which a loop appends has `grown` to (its length,), where it is read as a whole.
    An integer that a `range` counts up from no less than 0 is `below` this size.
    """

    form: str = "unknown"
    dtype: str = "?"
    shape: Shape = None
    items: tuple[Kind, ...] | None = None
    item: Kind | None = None
    spells: Shape | Dim = None
    cls: type | None = None
    fields: tuple[tuple[str, Kind], ...] = ()
    module: ModuleType | None = None
    among: tuple[Kind, ...] = ()
    exact: Exact | None = None
    names: tuple[str, ...] = ()
    lasting: bool = False
    length: int | None = None
    grown: Shape = None
    below: Dim = None

    @property
    def rank(self) -> int | None:
        """Number of dimensions where known (a number has 0)."""
        if self.form == "number":
            return 0
        return len(self.shape) if isinstance(self.shape, tuple) else None

    @property
    def integer(self) -> bool:
        """Whether it is an integer, not an array of such."""
        return self.form == "number" and self.dtype == "int"

    @property
    def is_mask(self) -> bool:
        """Whether it is an array of truth values, or one of these."""
        return self.dtype == "bool" and self.form in ("array", "value")

    @property
    def discrete(self) -> bool:
        """Whether it surely carries no derivative (integers, booleans, non-numeric things, tuples
        of such)."""
        if self.form == "tuple" and self.items:
            return all(item.discrete for item in self.items)
        return self.form == "other" or self.dtype in ("int", "bool")

    def same_shape(self, other: Kind) -> bool:
        """Whether both surely have equal shapes."""
        if self.form == other.form == "number":
            return True
        if self.shape is None or self.shape != other.shape:
            return False
        return isinstance(self.shape, str) or all(map(is_named, self.shape))

    def spans(self, other: Kind) -> bool:
        """Whether a value that was broadcast to the shape of `other` has that shape itself: no
        axis of it is missing, and none is of length 1 where that of `other` is longer.

        >>> Kind("array", shape=("a!",)).spans(Kind("array", shape=("b!",)))
        True
        """
        if self.same_shape(other):
            return True
        mine, others = self.shape, other.shape
        if not isinstance(mine, tuple) or not isinstance(others, tuple):
            return False
        if len(mine) != len(others):
            return False
        pairs = zip(mine, others, strict=True)
        return all(is_many(m) or (is_named(m) and m == n) for m, n in pairs)

    def join(self, other: Kind) -> Kind:
        """The strongest claim that is true of both.

        >>> Kind("array", shape=("n!", 1)).join(Kind("array", shape=("m!", 1))).shape
        ('!', 1)
        """
        if self == other:
            return self
        if self.grown is None and other.grown is not None:
            return other.join(self)
        if NOTHING in (self, other) and (self.module is not None or other.module is not None):
            return self if self.module is not None else other
        forms = {self.form, other.form}
        if len(forms) == 1:
            form = self.form
        elif forms <= {"number", "array", "value"}:
            form = "value"
        elif forms == {"object", "other"} and FUNCTION in (self, other):
            return self._one_of(other)
        else:
            return self._may_be(other)
        if form == "object":
            return self._joined_object(other)
        cls = self.cls if self.cls is other.cls else None
        if form == "unknown" and cls is None:
            cls = self._may_be(other).cls
        return Kind(
            form,
            self.dtype if self.dtype == other.dtype else "?",
            _joined_shape(self.shape, other.shape),
            self._joined_items(other),
            self._joined_item(other),
            self.spells if self.spells == other.spells else None,
            cls,
            names=self.names if self.names == other.names else (),
            lasting=self.lasting and other.lasting,
            grown=self.grown if self.grown in (other.grown, other.shape) else None,
            below=self.below if self.below == other.below else None,
        )

    def _may_be(self, other: Kind) -> Kind:
        """What is still known of two that are unlike: that one may be a deque, or an iterator.

        >>> NONE.join(UNKNOWN) == UNKNOWN, MADE_ITERATOR.join(FLOAT).is_iterator
        (True, True)
        """
        classes = {kind.cls for kind in (*self.held, *other.held) if kind.form == "unknown"}
        return next((kind for kind in (DEQUE, MADE_ITERATOR) if kind.cls in classes), UNKNOWN)

    def _joined_items(self, other: Kind) -> tuple[Kind, ...] | None:
        """What is true of the items of two tuples of one class and length, or of two dicts with
        the same keys, item by item."""
        mine, others = self.items, other.items
        if self.form == "dict" and self.names != other.names:
            return None
        if mine == others or mine is None or others is None:
            return mine if mine == others else None
        if self.cls is not other.cls or len(mine) != len(others):
            return None
        return tuple(a.join(b) for a, b in zip(mine, others, strict=True))

    def _joined_item(self, other: Kind) -> Kind | None:
        """What is true of the items of two containers."""
        if self.form == "dict" and self.names != other.names:
            mine, others = self.whole_item, other.whole_item
        else:
            mine, others = self.item, other.item
        if mine == others or mine is None or others is None:
            return mine if mine == others else None
        joined = mine.join(others)
        return joined if joined.holds_objects else None

    @property
    def whole_item(self) -> Kind | None:
        """What is true of all items of a container; None where nothing is known."""
        if self.item is not None or not self.items:
            return self.item
        return functools.reduce(Kind.join, self.items)

    def _joined_object(self, other: Kind) -> Kind:
        """What is true of two objects: the fields of which the same is known, or the classes of
        which they are."""
        if self.cls is not other.cls or self.among or other.among:
            return self._one_of(other)
        known = dict(other.fields)
        joined = ((n, k.join(known[n])) for n, k in self.fields if n in known)
        fields = tuple((n, k) for n, k in joined if k != UNKNOWN)
        return Kind("object", cls=self.cls, fields=fields)

    def _one_of(self, other: Kind) -> Kind:
        """An object of one of several classes, in a fixed order."""
        classes: dict[type, Kind] = {}
        for kind in (*(self.among or (self,)), *(other.among or (other,))):
            if kind.cls is None:
                return UNKNOWN
            known = classes.get(kind.cls, kind)
            classes[kind.cls] = known if known == kind else known._joined_object(kind)
        if len(classes) > MOST_CLASSES:
            return UNKNOWN
        names = sorted(
            classes, key=lambda c: (c is FunctionType, c.__module__, c.__qualname__, id(c))
        )
        return Kind("object", among=tuple(classes[cls] for cls in names))

    @property
    def tells_ranks(self) -> bool:
        """Whether it is a number, an array, or a container of such."""
        inside = (*(self.items or ()), *(() if self.item is None else (self.item,)))
        return self.form in ("number", "array") or any(kind.tells_ranks for kind in inside)

    @property
    def holds_objects(self) -> bool:
        """Whether it is an object of a known class, a known module, what may be a deque, or a
        container of such."""
        inside = (*(self.items or ()), *(() if self.item is None else (self.item,)))
        known = self.has_methods or self.module is not None or self == DEQUE
        return known or bool(self.among) or any(kind.holds_objects for kind in inside)

    @property
    def held(self) -> Iterator[Kind]:
        """It, and what it holds, at any depth."""
        yield self
        inside = (*(self.items or ()), *self.among, *(kind for _, kind in self.fields))
        for kind in (*inside, *(() if self.item is None else (self.item,))):
            yield from kind.held

    @property
    def classes(self) -> frozenset[type]:
        """The classes of the objects that it is, or holds."""
        return frozenset(kind.cls for kind in self.held if kind.cls and kind.has_methods)

    @property
    def is_iterator(self) -> bool:
        """Whether what goes through it, or asks for its sum, leaves nothing to what comes later."""
        return self.cls is Iterator

    @property
    def is_view(self) -> bool:
        """Whether only that is known which items it gives in turn, as a view of a dict does."""
        return self.form == "unknown" and self.item is not None

    @property
    def is_open(self) -> bool:
        """Whether a value may be an object of any class."""
        return self.form in ("unknown", "object") and self.cls is None

    @property
    def has_methods(self) -> bool:
        """Whether it is an object, or a namedtuple, of one known class."""
        return self.cls is not None and self.form in ("object", "tuple")

    def with_shape(self, shape: Shape) -> Kind:
        return replaced(self, shape=shape)

    @functools.cached_property
    def checked(self) -> Kind:
        """The same without what no run checks of an object: of what numbers and arrays it holds."""
        return self.map_inside(_class_alone if self.form == "object" else _checked)

    @functools.cached_property
    def unheld(self) -> Kind:
        """What stays true of a value when anything may be put into it, and into what it holds.
        (Of which class an object is, each method of it asks.)"""
        kind = self.map_inside(_class_alone if self.form == "object" else _unheld)
        if kind.form not in ("list", "dict") and not kind.is_view:
            return kind
        item = kind.whole_item
        kind = replaced(kind, items=None, names=(), lasting=False)
        return kind.with_item(item if item is not None and item.holds_objects else UNKNOWN)

    def with_item(self, item: Kind) -> Kind:
        """A list or dict with another claim about all that it holds."""
        return replaced(self, item=None if item == UNKNOWN else item, items=None, names=())

    def map_inside(self, change: Callable[[Kind], Kind]) -> Kind:
        """The same with other claims about what it holds."""
        if not (self.items or self.item or self.fields or self.among):
            return self
        item = UNKNOWN if self.item is None else change(self.item)
        fields = ((name, change(kind)) for name, kind in self.fields)
        return replaced(
            self,
            items=None if self.items is None else tuple(map(change, self.items)),
            item=None if item == UNKNOWN else item,
            fields=tuple((name, kind) for name, kind in fields if kind != UNKNOWN),
            among=tuple(kind.map_inside(change) for kind in self.among),
        )


@of_node
def depth(kind: Kind) -> int:
    """How many containers and objects are inside each other.

    >>> depth(FLOAT), depth(Kind("tuple", items=(FLOAT, Kind("list", item=FLOAT))))
    (0, 2)
    """
    inside = [*(kind.items or ()), *(k for _, k in kind.fields)]
    inside += [] if kind.item is None else [kind.item]
    own = 1 + max(map(depth, inside)) if inside else 0
    return max(own, *map(depth, kind.among)) if kind.among else own


def no_deeper(kind: Kind, most: int = 10) -> Kind:
    """A kind that says nothing of what is more than so many containers or objects deep inside it:
    a function that calls itself with what holds what it was given is told apart so often only."""
    if depth(kind) <= most:
        return kind
    return kind.map_inside(lambda held: no_deeper(held, most - 1)) if most else UNKNOWN


def _checked(kind: Kind) -> Kind:
    return kind.checked


def _unheld(kind: Kind) -> Kind:
    return kind.unheld


@of_node
def _class_alone(kind: Kind) -> Kind:
    """What is known of an attribute of an object besides the numbers and arrays in it."""
    if kind.form in ("number", "array", "value"):
        return UNKNOWN
    kind = kind.map_inside(_class_alone)
    return replaced(kind, items=None, names=(), lasting=False) if kind.form == "dict" else kind


def _joined_shape(mine: Shape, other: Shape) -> Shape:
    """What is true of two shapes, axis by axis where both have as many."""
    if mine == other:
        return mine
    if not isinstance(mine, tuple) or not isinstance(other, tuple) or len(mine) != len(other):
        return None
    return tuple(map(_joined_dim, mine, other))


def _joined_dim(mine: Dim, other: Dim) -> Dim:
    if mine == other:
        return mine
    return MANY if is_many(mine) and is_many(other) else None


def is_named(dim: Dim) -> bool:
    """Whether two sizes that are written like this one are equal."""
    return dim is not None and dim != MANY


def is_many(dim: Dim) -> bool:
    """Whether a size is surely not 1.

    >>> is_many("x.0!"), is_many(3), is_many("x.0"), is_many("x.0!-2")
    (True, True, False, False)
    """
    return dim.endswith(MANY) if isinstance(dim, str) else dim is not None and dim != 1


UNKNOWN = Kind()
OTHER = Kind("other")
DEQUE = Kind(cls=collections.deque)  # what may be a deque, or hold one
# What an attribute is where it was seen to be None: nothing is claimed of it, since it may be
# assigned, but methods that are asked of it are in branches that are not taken.
NONE = Kind("unknown", cls=type(None))
# None itself. What is joined with a module is that, since nothing can be asked of None.
NOTHING = Kind("other", cls=type(None))
FUNCTION = Kind("other", cls=FunctionType)  # a function of Python or NumPy
ITERATOR = Kind("other", cls=Iterator)  # one that is given, and carries no derivatives
MADE_ITERATOR = Kind(cls=Iterator)  # one that the program makes, of anything
SET = Kind("set")
FLOAT = Kind("number", "float", ())
INT = Kind("number", "int", ())
BOOL = Kind("number", "bool", ())


def described(kind: Kind) -> str:
    """A kind as a reader knows it, arrays by their axes: those of known length, and those that
    several have in common, are marked.

    >>> described(Kind("array", "float", (MANY, 1))), described(Kind("list", item=FLOAT))
    ('float[:, 1]', 'list[float]')
    >>> described(Kind("array", "int", ("x.0!", "n!", 3)))
    'int[:, n, 3]'
    >>> described(Kind("dict", items=(FLOAT, UNKNOWN), names=("rate", "kind")))
    'dict(rate: float, kind: object)'
    """
    dtype = "number" if kind.dtype == "?" else kind.dtype
    if kind == NOTHING:
        return "None"
    if kind.exact is not None and kind.exact.value is not None:
        return repr(kind.exact.value)
    if kind.exact is not None and kind.form in ("unknown", "number"):
        return kind.exact.cls.__name__
    if kind.form == "number":
        return dtype
    if kind.form == "array":
        shape = kind.shape if isinstance(kind.shape, tuple) else None
        axes = "..." if shape is None else ", ".join(map(_described_size, shape))
        return f"{dtype}[{axes}]"
    if kind.form == "object" or kind.has_methods:
        classes = kind.among or (kind,)
        return " | ".join(map(_described_object, classes))
    if kind.items is not None and kind.form == "dict":  # (which has no others)
        entries = zip(kind.names, map(described, kind.items), strict=True)
        return f"dict({', '.join(map(': '.join, entries))})"
    if kind.names:
        return _described_fields(kind.form, zip(kind.names, kind.items or (), strict=True))
    if kind.form == "tuple" and kind.items == ():
        return "tuple[()]"
    if kind.form in ("list", "dict", "tuple"):
        inside = kind.items if kind.items is not None else (kind.item,) if kind.item else ()
        return f"{kind.form}[{', '.join(map(described, inside))}]" if inside else kind.form
    return "object" if kind.module is None else getattr(kind.module, "__name__", "module")


def described_types(kinds: Mapping[str, Kind]) -> tuple[tuple[str, str], ...]:
    """The kinds of parameters as a reader knows them, those of which nothing is known left out;
    axes that are equally long have a letter in common.

    >>> sizes = Kind("array", "float", ("w.0!", "w.1!")), Kind("array", "float", ("w.1!",))
    >>> described_types({"w": sizes[0], "x": sizes[1]})
    (('w', 'float[:, n]'), ('x', 'float[n]'))
    """
    counts = collections.Counter(size for kind in kinds.values() for size in _sizes(kind))
    letters = (f"{letter}{MANY}" for letter in LETTERS if letter not in kinds)
    taken: dict[Dim, Dim] = {size: size for size in counts if _described_size(size) != ":"}
    for size, count in counts.items():
        if size not in taken and count > 1 and is_named(size):
            taken[size] = next((letter for letter in letters if letter not in taken), size)
    return tuple((n, described(_resized(k, taken))) for n, k in kinds.items() if k != UNKNOWN)


LETTERS = "nmkpqrstdghjuvw"  # the names of sizes


def _sizes(kind: Kind) -> Iterator[Dim]:
    """The sizes of the axes of a kind and of what it holds; one of all items counts twice."""
    yield from kind.shape if isinstance(kind.shape, tuple) else ()
    inside = (*(kind.items or ()), *(field for _, field in kind.fields), *kind.among)
    for part in (*inside, *([kind.item] * 2 if kind.item is not None else [])):
        yield from _sizes(part)


def shaped_by(kind: Kind) -> Iterator[str]:
    """The names after which a kind calls shapes and sizes.

    >>> list(shaped_by(Kind("array", "float", ("w.0!", 1, "x.1"))))
    ['w', 'x']
    """
    for shape in (kind.shape, kind.grown, kind.spells):
        for part in shape if isinstance(shape, tuple) else (shape,):
            if isinstance(part, str) and part != MANY:
                yield part.partition(".")[0]
    held = () if kind.item is None else (kind.item,)
    for inside in (*(kind.items or ()), *held, *(k for _, k in kind.fields), *kind.among):
        yield from shaped_by(inside)


def _resized(kind: Kind, sizes: Mapping[Dim, Dim]) -> Kind:
    """A kind with other names of sizes."""
    kind = kind.map_inside(lambda part: _resized(part, sizes))
    if not isinstance(kind.shape, tuple):
        return kind
    return kind.with_shape(tuple(sizes.get(size, size) for size in kind.shape))


def _described_size(size: Dim) -> str:
    if size is None:
        return "?"
    text = str(size).removesuffix(MANY)
    return text if isinstance(size, int) or text.isalpha() else ":"


def _described_object(kind: Kind) -> str:
    return _described_fields(kind.cls.__name__ if kind.cls else "object", kind.fields)


def _described_fields(name: str, fields: Iterable[tuple[str, Kind]]) -> str:
    """The name of a class with those fields of which something is known."""
    texts = ((field, described(kind)) for field, kind in fields)
    known = ", ".join(f"{field}: {text}" for field, text in texts if text != "object")
    return f"{name}({known})" if known else name


# --------------------------------------------------------------------------------------------------
# What a derivative checks of its arguments when it runs: what kinds of values they are.

_NAMESPACE = "__array_namespace__"  # the method of the array API standard

_ASKING = (
    *(runtime.require_array, runtime.require_mutable),
    *(runtime.require_values, runtime.require_sequence, runtime.sorting_order, runtime.Shadow),
)


def asks_for_ranks(function: ir.Function) -> bool:
    """Whether a function checks when it runs that something is an array, or a number: what
    `x += v` does to the caller's `x` depends on it."""
    called = [obj for obj in _called(function) if isinstance(obj, (types.FunctionType, type))]
    return any(obj in _ASKING for obj in called)


def asks_modules(function: ir.Function) -> bool:
    """Whether a function asks arrays for the module whose they are."""
    calls = any(isinstance(ref.obj, types.FunctionType) for ref in fact(references, function))
    if not calls and _NAMESPACE not in fact(forms, function):
        return False
    return any(asks_for_namespace(part) for part in ir.walk_block(function.body))


def asks_for_namespace(expr: ir.Expr | None) -> bool:
    """Whether a call asks arrays for their module: by the standard's method, or by a function of
    Python that does."""
    match expr:
        case ir.Call(fn=ir.Attribute(name=name)):
            return name == _NAMESPACE
        case ir.Call(fn=ir.Ref(obj=types.FunctionType() as function)):
            if function.__name__ in ("array_namespace", "get_namespace"):
                return True
            return _NAMESPACE in function.__code__.co_names and _gives_namespace(function)
    return False


@functools.lru_cache(maxsize=256)
def _gives_namespace(function: types.FunctionType) -> bool:
    """Whether a function returns what it gets from `__array_namespace__`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    asked = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_question(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    return not names.isdisjoint(asked) or any(map(_is_question, returned))


def _is_question(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _NAMESPACE


def _called(function: ir.Function) -> Iterator[Any]:
    """What a function calls, where the text says which object that is."""
    return (
        getattr(part.fn, "obj", None)
        for part in ir.walk_block(function.body)
        if isinstance(part, ir.Call)
    )
