"""What a name that is not local means: the live object behind it, now and while a derivative was
made.
"""

from __future__ import annotations

import builtins
import difflib
import dis
import functools
import inspect
import keyword
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import is_
from typing import Any, TypeVar, cast

import numpy as np

from .. import ir
from .owners import is_library, is_pythons
from .survey import Imported


@dataclass(frozen=True)
class Scope:
    """The names a function sees from outside: what it imports itself, closure cells, then globals,
    then built-ins.

    >>> Scope.of(Scope.of).lookup("Mapping")
    <class 'collections.abc.Mapping'>
    """

    fn: types.FunctionType | None
    module: types.ModuleType | None
    cells: Mapping[str, types.CellType]
    globals: Mapping[str, Any]
    builtins: Mapping[str, Any] = field(default_factory=lambda: vars(builtins))
    imports: Mapping[str, Imported] = field(
        default_factory=dict
    )  # what the function imports itself
    renamed: Mapping[str, str] = field(default_factory=dict)  # of emitted text: name -> global
    read: dict[str, list[Any]] = field(default_factory=dict)  # what names meant when they were read

    @classmethod
    def of(cls, fn: types.FunctionType) -> Scope:
        """The scope of a live function."""
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        own = fn.__globals__.get("__builtins__", builtins)
        own = own if isinstance(own, dict) else vars(own)
        module = sys.modules.get(fn.__module__ or "")
        renamed = getattr(fn, "__renamed__", {})
        return cls(fn, module, cells, fn.__globals__, own, renamed=renamed)

    @classmethod
    def of_names(cls, names: Mapping[str, Any]) -> Scope:
        """The scope of a piece of text read with these names."""
        return cls(None, None, {}, names)

    def lookup(self, name: str) -> Any:
        """The object a name means now; raises `KeyError` if it means nothing."""
        looked = _LOOKED.get()
        if looked is None:
            return self._looked_up(name)
        looked[id(self), name] = self.lookup, (name,), ABSENT
        found = self._looked_up(name)
        looked[id(self), name] = self.lookup, (name,), found
        return found

    def _looked_up(self, name: str) -> Any:
        if name in self.imports:
            return self.imports[name].obj
        name = self.renamed.get(name, name)
        if name in self.cells:
            try:
                found = self.cells[name].cell_contents
            except ValueError:  # the enclosing function has not bound it yet
                raise KeyError(name) from None
            note_cell(self.cells[name], found)
            return found
        found = self.globals[name] if name in self.globals else self.builtins[name]
        note_name(self.globals, name, found)
        return found

    def meant(self, name: str) -> Any:
        """What a name means, of which nothing depends yet; None if it means nothing."""
        if name in self.imports:
            return self.imports[name].obj
        name = self.renamed.get(name, name)
        if name in self.cells:
            return contents_of(self.cells[name])
        return self.globals.get(name, self.builtins.get(name))

    def ref(self, name: str) -> ir.Ref:
        """The object that a name means now, with whether it may mean another one when it runs."""
        found = self.lookup(name)
        self._note_read(name, found)
        anew = bound_again(self.globals)
        return ir.Ref(name, found, again=name in anew, anew=anew)

    def has_meant(self, name: str, obj: Any) -> bool:
        """Whether the function was read with a name standing for an object. Data may be another
        one by now: what is emitted reads the name."""
        return any(obj is found for found in self.read.get(name, ()))

    def read_with(self, other: Scope) -> None:
        """The function was read with another one written out in it."""
        for name, objects in other.read.items():
            for obj in objects:
                self._note_read(name, obj)

    def _note_read(self, name: str, obj: Any) -> None:
        if not self.has_meant(name, obj):
            self.read.setdefault(name, []).append(obj)

    def kind_of_name(self, name: str) -> str:
        """Where a name is found: "closure", "global" or "builtin"; raises `KeyError`."""
        if name in self.cells:
            return "closure"
        if name in self.globals:
            return "global"
        if name in self.builtins:
            return "builtin"
        raise KeyError(name)

    @property
    def array_module(self) -> ir.Ref:
        """The function's array module and how it spells it: `np`, `cp`, `xp`, ...

        A module the function itself uses comes before one that its file merely imports.
        """
        used = self.fn.__code__.co_names if self.fn is not None else ()
        for name in (*self.imports, *used, *self.cells, *self.globals):
            if is_array_module(self.meant(name)):
                return ir.Ref(name, self.lookup(name))
        return ir.Ref("np", np)

    @property
    def numpy_alias(self) -> str:
        """How the function spells its array module."""
        return self.array_module.text


# ------------------------------------------------------------------ what was looked up, again

ABSENT = object()  # what a name means that means nothing
Looked = dict[tuple[int, str], tuple[Callable[..., Any], tuple[Any, ...], Any]]
_LOOKED: ContextVar[Looked | None] = ContextVar("looked", default=None)


@contextmanager
def noting_lookups() -> Iterator[Looked]:
    """Collect what is looked up inside, each with how to look it up again."""
    found: Looked = {}
    token = _LOOKED.set(found)
    try:
        yield found
    finally:
        _LOOKED.reset(token)


def still_means(looked: Looked) -> bool:
    """Whether everything that was looked up is still the same object. It is looked up again for
    that, so that whoever notes what names mean (`meanings`) notes it now."""
    for look, given, found in looked.values():
        try:
            now = look(*given)
        except (KeyError, AttributeError):
            now = ABSENT
        if now is not found:
            return False
    return True


def is_namespace(obj: Any) -> bool:
    """Whether what hangs on an object is its for good: the functions of a module, the methods
    of a class or of one of SciPy's distributions."""
    if isinstance(obj, types.ModuleType) or inspect.isclass(obj) or _stands_for_module(obj):
        return True
    of_scipy = type(obj).__module__.startswith("scipy.stats")
    return of_scipy and not hasattr(obj, "dist")  # (that holds parameters, which may be others)


def _stands_for_module(obj: Any) -> bool:
    """Whether an object of another class was put in the place of a module, which it is asked for
    what is imported from."""
    asked = hasattr(type(obj), "__getattr__")
    return asked and any(obj is module for module in tuple(sys.modules.values()))


def live_attribute(obj: Any, name: str) -> Any:
    """What an attribute of a module or a class means now; raises `AttributeError`."""
    looked = _LOOKED.get()
    if looked is not None:
        looked[id(obj), name] = live_attribute, (obj, name), ABSENT
    found = getattr(obj, name)
    if looked is not None:
        looked[id(obj), name] = live_attribute, (obj, name), found
    if isinstance(obj, types.ModuleType):
        note_name(vars(obj), name, found)
    elif _stands_for_module(obj):
        note_data((id(obj), name), lambda: getattr(obj, name, ABSENT) is found)
    elif (form := form_of(found)) is not None:
        note_data((id(obj), name), lambda: form_of(getattr(obj, name, None)) == form)
    return found


def similar_name(name: str, names: Iterable[str], before: str = "") -> str:
    """Advice about a name that was mistyped; "" where none is like it.

    >>> similar_name("tahn", ["tan", "tanh"], "np.")
    'Did you mean `np.tanh`?'
    """
    names = sorted(names)
    swapped = [n for n in names if sorted(n) == sorted(name)]
    found = swapped or difflib.get_close_matches(name, names, 1, 0.7)
    return f"Did you mean `{before}{found[0]}`?" if found else ""


def is_array_module(obj: Any) -> bool:
    """NumPy, CuPy, or a module that stands in for them."""
    if not isinstance(obj, types.ModuleType):
        return False
    return all(hasattr(obj, name) for name in ("ndarray", "tanh", "matmul", "zeros_like"))


# --------------------------------------------------------------------------------------------------
# What outer names meant while a derivative was made, so that it is noticed when they change.
#
# Functions, classes and modules are read when a derivative is made: a helper that is defined
# again (in a notebook, or by the next round of a loop) leaves behind a derivative of what it was,
# and so does a method that is patched, or a default that is replaced.
# Data is left alone, since emitted code reads it when it runs, unless it is given as an argument;
# but numbers and arrays stay of the dtype, and the rank, that they were.


class Meanings:
    """Names of modules and closure cells, and the objects behind them; what the functions that
    were read are made of, and what the classes of objects have as methods."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any, Any]] = {}
        self._cells: dict[int, tuple[types.CellType, Any, Any]] = {}
        self._functions: dict[int, tuple[types.FunctionType, Parts]] = {}
        self._classes: dict[type, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._derivatives: dict[int, Callable[[], bool]] = {}
        self._data: dict[Any, Callable[[], bool]] = {}
        self.trusts_data = True  # whether numbers and arrays outside are known by what they are
        self.asks_modules = False  # whether a function was read that asks arrays for their module
        self.seen: dict[tuple[Any, ...], tuple[Any, Any]] = {}  # (`once_a_reading`)

    @functools.cached_property
    def hold(self) -> Callable[[], bool]:
        """Whether every name still means what it meant; asked for when all was noted.

        Each call of a derivative asks, and mostly every name stands for the very same object. That
        is written out: a function whose globals are a module's finds its names in a fraction of
        the time that looking them up takes.
        """
        known: dict[str, Any] = {"names_hold": self._names_hold, "rest_holds": self._rest_holds}
        tests, modules = ["True"], dict[int, tuple[dict[str, Any], dict[str, Any]]]()
        for n, (module, name, obj, _) in enumerate(self._names.values()):
            if type(module) is dict and name.isidentifier() and not keyword.iskeyword(name):
                modules.setdefault(id(module), (module, {}))[1][name] = obj
            else:
                known |= {f"get{n}": module.get, f"obj{n}": obj}
                tests.append(f"get{n}({name!r}, obj{n}) is obj{n}")
        for n, (module, found) in enumerate(modules.values()):
            known[f"module{n}"] = _same_names(module, found)
            tests.append(f"module{n}()")
        for n, (fn, parts) in enumerate(self._functions.values()):
            known |= {f"fn{n}": fn, f"code{n}": parts[0], f"defaults{n}": parts[1]}
            tests += [f"fn{n}.__code__ is code{n}", f"fn{n}.__defaults__ is defaults{n}"]
            tests.append(f"fn{n}.__kwdefaults__ is None")
            if parts[2] is not None:
                known |= {f"parts{n}": parts, "is_made_of": is_made_of}
                tests[-3:] = [f"is_made_of(fn{n}, parts{n})"]
        if self._cells or self._classes or self._derivatives or self._data:
            tests.append("rest_holds()")
        return _function("", _HOLD.format(" and ".join(tests)), known)

    def moved(
        self, cells: Mapping[int, types.CellType], old: types.FunctionType, new: types.FunctionType
    ) -> Meanings | None:
        """The same with cells (by the id of those in whose place they are), and with `new`, a
        function of the same code, for `old`; None where what a cell held was relied on."""
        made = Meanings()
        made._names, made._classes = self._names, self._classes
        for key, (cell, obj, form) in self._cells.items():
            other = cells.get(key, cell)
            held = contents_of(other) if other is not cell else obj
            if other is not cell and (form is None or form_of(held) != form):
                return None
            made._cells[id(other)] = other, held, form
        made._derivatives = self._derivatives
        made._functions = {k: v for k, v in self._functions.items() if k != id(old)}
        made._functions[id(new)] = new, parts_of(new)
        return made

    @property
    def of_derivatives(self) -> bool:
        """Whether a derivative was read."""
        return bool(self._derivatives)

    def _names_hold(self) -> bool:
        for names, name, obj, form in self._names.values():
            now = names.get(name, obj)
            if not means_the_same(now, obj) or form_of(now) != form:
                return False
        return all(is_made_of(fn, parts) for fn, parts in self._functions.values())

    def _rest_holds(self) -> bool:
        for cell, obj, form in self._cells.values():
            now = contents_of(cell, obj)
            if not means_the_same(now, obj) or form_of(now) != form:
                return False
        for cls, (now, members) in self._classes.items():
            if len(now) != len(members) or not all(map(is_, now.values(), members.values())):
                if _code_of(now) != _code_of(members):
                    return False
                self._classes[cls] = now, dict(now)  # (data alone was bound anew)
        for holds in self._derivatives.values():
            if not holds():
                return False
        return not self._data or all(holds() for holds in self._data.values())


_HOLD = """
    try:
        if {}:
            return True
    except NameError:
        pass
    return names_hold() and rest_holds()
"""


def _function(params: str, body: str, known: dict[str, Any]) -> types.FunctionType:
    exec(compile(f"def hold({params}): {body}", "<what names mean>", "exec"), known)
    made: types.FunctionType = known["hold"]
    return made


def _same_names(module: dict[str, Any], found: dict[str, Any]) -> types.FunctionType:
    """Whether the names of a module stand for these very objects (NameError: one for nothing), and
    arrays among them have the shapes that they have now."""
    known, tests = list[Any](), list[str]()
    longest = "_" * max(map(len, found))
    for name, obj in found.items():
        tests.append(f"{name} is {longest}_{len(known)}")
        known.append(obj)
        if type(obj) is np.ndarray:
            tests.append(f"{name}.shape == {longest}_{len(known)}")
            known.append(obj.shape)
    params = ", ".join(f"{longest}_{place}" for place in range(len(known)))
    code = _function(params, f"return {' and '.join(tests)}", {}).__code__
    return types.FunctionType(code, module, argdefs=tuple(known))


_NOTING: ContextVar[tuple[Meanings, ...]] = ContextVar("noting", default=())


@contextmanager
def noting(trusting: bool = True) -> Iterator[Meanings]:
    """Collect what the names mean that are looked up from here on, in derivations inside too;
    `trusting`: numbers and arrays outside are known by what they are."""
    made, outer = Meanings(), _NOTING.get()
    made.trusts_data = trusting and all(meanings.trusts_data for meanings in outer)
    token = _NOTING.set((*outer, made))
    try:
        yield made
    finally:
        _NOTING.reset(token)
        made.seen.clear()


_F = TypeVar("_F", bound=Callable[..., Any])


def once_a_reading(look: _F) -> _F:
    """A function of a live object (and of what else can be hashed), which is asked once for each
    while a derivative is made: nothing runs meanwhile that changes what lies outside."""

    @functools.wraps(look)
    def seen(obj: Any, *more: Any) -> Any:
        readings = _NOTING.get()
        if not readings:
            return look(obj, *more)
        key = (look, id(obj), *more)
        known = readings[-1].seen
        if key not in known:
            known[key] = obj, look(obj, *more)
        return known[key][1]

    return cast(_F, seen)


@once_a_reading
def bound_again(names: Mapping[str, Any]) -> frozenset[str]:
    """The names of a module, and of functions around others in it, that its functions bind anew
    (`global CACHE; CACHE = {}`), and the attributes of anything, each behind a dot.

    >>> exec("def reset(c):\\n    global Q\\n    Q, c.n = {}, 1", names := {"Q": None})
    >>> sorted(bound_again(names))
    ['.n', 'Q']
    """
    pending = [code for obj in tuple(names.values()) for code in _codes(obj, names)]
    found: set[str] = set()
    for code in pending:
        pending.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
        if not _STORING.isdisjoint(code.co_code[::2]):
            found.update(f".{code.co_names[place]}" for place in _stored_names(code.co_code))
        if _BINDING.isdisjoint(code.co_code[::2]):
            continue
        for instruction in dis.get_instructions(code):
            if instruction.opcode in _BINDING and instruction.argval not in code.co_cellvars:
                found.add(instruction.argval)
    return frozenset(found)


def _stored_names(code: bytes) -> Iterator[int]:
    """Which names a code stores attributes by (`dis` takes a hundred times as long to say so)."""
    more = 0
    for opcode, argument in zip(code[::2], code[1::2], strict=True):
        if opcode in _STORING:
            yield more | argument
        more = (more | argument) << 8 if opcode == dis.EXTENDED_ARG else 0


_STORING = frozenset((dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]))
_BINDING = frozenset(
    dis.opmap[name] for name in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")
)


def _codes(obj: Any, names: Mapping[str, Any]) -> Iterator[types.CodeType]:
    """The code of the functions of a module that an object is, wraps, or has as methods."""
    seen = set[int]()
    while obj is not None and id(obj) not in seen:
        seen.add(id(obj))
        if isinstance(obj, types.FunctionType) and obj.__globals__ is names:
            yield obj.__code__
        if isinstance(obj, type) and obj.__module__ == names.get("__name__"):
            for held in vars(obj).values():
                yield from () if isinstance(held, type) else _codes(held, names)
        if isinstance(obj, property):
            yield from (c for part in (obj.fget, obj.fset) for c in _codes(part, names))
        if isinstance(obj, (staticmethod, classmethod, types.MethodType)):
            obj = obj.__func__
        else:  # (what is only there when it is asked for, as of a derivative, is not asked for)
            obj = inspect.getattr_static(obj, "__wrapped__", None)


def trusted(ref: ir.Ref) -> bool:
    """Whether a derivative may rely on what a name outside means being the number, or the array of
    a rank and dtype, that it is now: it is made again where that is no longer so."""
    if ref.again or ref.anew is None or form_of(ref.obj) is None:
        return False
    owner, _, name = ref.text.rpartition(".")
    if owner and f".{name}" in ref.anew:
        return False
    readings = _NOTING.get()
    return not readings or readings[-1].trusts_data


def note_name(names: Mapping[str, Any], name: str, obj: Any) -> None:
    """A global, or an attribute of a module, was found to mean `obj`."""
    meant, form = _means(obj), form_of(obj)
    if meant is not None or form is not None:
        for meanings in _NOTING.get():
            meanings._names.setdefault((id(names), name), (names, name, obj, form))
        note_class(meant)


def note_cell(cell: types.CellType, obj: Any) -> None:
    """A closure variable was found to mean `obj`."""
    meant, form = _means(obj), form_of(obj)
    if meant is not None or form is not None:
        for meanings in _NOTING.get():
            meanings._cells.setdefault(id(cell), (cell, obj, form))
        note_class(meant)


def note_function(fn: types.FunctionType) -> None:
    """A function was read: its code, and its defaults."""
    for meanings in _NOTING.get():
        meanings._functions.setdefault(id(fn), (fn, parts_of(fn)))


def note_class(cls: Any) -> None:
    """The class of an object, or one that is called, was found, if this is one of the user's."""
    if not isinstance(cls, type):
        return
    for meanings in _NOTING.get():
        for base in cls.__mro__:
            if base not in meanings._classes and not (is_library(base) or is_pythons(base)):
                meanings._classes[base] = vars(base), dict(vars(base))


def note_data(key: Any, hold: Callable[[], bool]) -> None:
    """Outer data was read; `hold` says whether it still is as it was."""
    for meanings in _NOTING.get():
        meanings._data.setdefault(key, hold)


def note_module_asked() -> None:
    """A function was read that asks arrays for their module, which was not known."""
    for meanings in _NOTING.get():
        meanings.asks_modules = True


def note_derivative(derivation: Any) -> None:
    """The emitted function of a derivation was read."""
    for meanings in _NOTING.get():
        meanings._derivatives.setdefault(id(derivation), derivation.holds)


Parts = tuple[types.CodeType, tuple[Any, ...] | None, dict[str, Any] | None]


def parts_of(fn: types.FunctionType) -> Parts:
    """What a function is made of, each of which may be replaced."""
    words = fn.__kwdefaults__
    return fn.__code__, fn.__defaults__, None if words is None else dict(words)


def is_made_of(fn: types.FunctionType, parts: Parts) -> bool:
    """Whether a function still is made of these."""
    code, defaults, words = parts
    if fn.__code__ is not code or fn.__defaults__ is not defaults:
        return False
    now = fn.__kwdefaults__
    if now is None or words is None:
        return now is words
    return now.keys() == words.keys() and all(now[key] is words[key] for key in now)


def _code_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """What a class has that is read: methods, properties, classes, functions."""
    return {
        name: obj
        for name, obj in members.items()
        if hasattr(type(obj), "__get__") or _means(obj) is not None
    }


def contents_of(cell: types.CellType, default: Any = None) -> Any:
    """What a closure variable holds, `default` if nothing is bound to it yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return default


def _means(obj: Any) -> Any:
    """What a derivative depends on: the function, class or module itself, of a user's object its
    class (where the methods are); of data that is there, nothing."""
    if isinstance(obj, (types.ModuleType, functools.partial)):
        return obj
    if callable(obj) and hasattr(obj, "__name__"):
        return obj
    cls = type(obj)
    return None if cls.__module__ in _DATA and obj is not None else cls


_DATA = ("builtins", "numpy")


def means_the_same(now: Any, then: Any) -> bool:
    """Whether a derivative that was made with one object holds for another in its place, as for
    all data."""
    return now is then or _means(now) is _means(then)


def form_of(obj: Any) -> Any:
    """What a derivative relies on of a number or an array outside: its dtype, and which of its axes
    have length 1; of a short tuple, that of its items; None for anything else.

    >>> form_of(1.5), form_of((2, np.ones((1, 3))))
    (<class 'float'>, [<class 'int'>, (dtype('float64'), (True, False))])
    """
    cls = type(obj)
    if cls is np.ndarray:  # (of numbers)
        form = obj.dtype, tuple([n == 1 for n in obj.shape])
        return form if obj.dtype.kind in "biufc" else None
    if cls is tuple:
        forms = [form_of(item) for item in obj] if 0 < len(obj) <= _FEW else [None]
        return None if None in forms else forms
    return cls if cls in _NUMBERS or issubclass(cls, (np.number, np.bool_)) else None


_NUMBERS = (bool, int, float, complex)
_FEW = 8  # items of a tuple
