"""A derivative as a file of its own: what it calls of the runtime and of the user's is copied in.

The file needs NumPy, and whichever other libraries the user's code itself imports; Numba, where it
is for that. Data of the user's is written out as it is now, if it is small enough to read;
otherwise this refuses.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ... import ir
from ...errors import UnsupportedError
from ...frontend.owners import is_installed
from ...frontend.resolve import Scope
from ...ir.names import Names
from ...rules.twins import array_modules, library_home
from ...runtime import broadcasting, pair_of, tangent_of
from .bindings import RUNTIME, Binding, as_imported, bind, local_names
from .copying import Piece, assignment, data_literal, definition, home, renamed
from .module import header_lines, scopes_of, write
from .short_forms import (
    checked,
    is_of_arrays,
    is_test,
    is_typed,
    real_part,
    serves_containers,
    short_form,
    takes_containers,
)

_ALWAYS_THERE = frozenset({"numpy"})


def standalone(module: ir.Module, scope: Scope, scopes: Mapping[str, Scope] | None = None) -> str:
    """The text of a file that gives the same functions and needs only NumPy, and Numba where these
    are decorated with what compiles them."""
    every = scopes_of(module, scope, scopes)
    module = as_imported(module, every)
    foreign = {id(mirror) for mirror in array_modules()}
    of_numpy = not any(id(b.obj) in foreign for b in bind(module, every).all().values())
    holding = takes_containers(module)
    of_arrays = True if of_numpy and not holding and is_of_arrays(checked(module)) else None
    starred = any(param.kind in ("*", "**") for param in module.main.params)
    module = checked(module, starred or not of_arrays) if of_numpy else module
    if module.main.decorators:
        module = _checked_outside(module)
        every = scopes_of(module, scope, every)
    bindings = bind(module, every)
    helpers = [binding.obj for binding in bindings.all().values()]
    if of_arrays is None and of_numpy and (is_typed(module) or serves_containers(helpers)):
        of_arrays = False
    collection = _Collection(module, bindings.all(), of_arrays)
    for name, obj in collection.wanted.items():
        collection.add(name, obj)
    head = collection.head(module.main.name)
    return write(module, bindings, every, head).source


_COMPILER = """\
def {name}(fn):
    \"\"\"A function as Numba compiles it at its first call.\"\"\"
    return numba.njit(error_model="numpy", boundscheck=True)(fn)"""
_WAY_BACK = """\
@numba.extending.overload(reversed)
def {name}(rounds):
    \"\"\"The way back through a range, which Numba lacks.\"\"\"
    if isinstance(rounds, numba.types.RangeType):
        def backwards(rounds):
            last = rounds.start + (len(rounds) - 1) * rounds.step
            return range(last, rounds.start - rounds.step, -rounds.step)
        return backwards"""


def _checked_outside(module: ir.Module) -> ir.Module:
    """The module of a compiled main function with the check of its arguments in a function of
    Python's around it, which has its name."""
    main = module.main
    inner = f"{main.name}_compiled"
    checks = tuple(filter(is_test, main.body))
    body = tuple(stmt for stmt in main.body if not is_test(stmt))
    call = ir.Call(ir.Ref(inner, None), tuple(map(ir.Var, main.param_names)))
    origin = ir.Origin(main.place, "return")
    around = replace(main, body=(*checks, ir.Return(call, origin)), decorators=())
    compiled = replace(main, name=inner, body=body)
    return replace(module, functions=(*module.functions[:-1], compiled, around))


class _Collection:
    """Everything a file has to define before its functions: grows by what each piece needs.
    `of_arrays`: it serves numbers and NumPy arrays only, or (False) also containers and objects of
    such; None: whatever there is."""

    def __init__(
        self, module: ir.Module, bindings: Mapping[str, Binding], of_arrays: bool | None
    ) -> None:
        self.of_arrays = of_arrays
        self.shortened = False  # whether something serves numbers and arrays only
        self.annotated = any(p.annotation for fn in module.functions for p in fn.params)
        above = [ref for fn in module.functions for ref in fn.decorators]
        self.compiler = above[0].obj if above and isinstance(above[0], ir.Ref) else None
        local = set().union(*(local_names(fn) for fn in module.functions))
        bound = {*bindings, *(f.name for f in module.functions)}
        # Names of Python's that mean something else here: copies ask for these by another name.
        self.hidden = {
            name
            for name in bound & vars(builtins).keys()
            if name not in bindings or bindings[name].obj is not getattr(builtins, name)
        }
        self.file_names = Names(sorted({*local, *bound, *vars(builtins)}))
        every = (part for fn in module.functions for s in fn.body for part in ir.walk_statement(s))
        self.goes_back = any(isinstance(part, ir.Ref) and part.obj is reversed for part in every)
        self.names = {
            _identity(b.original, self._form(b.obj)): name for name, b in bindings.items()
        }
        self.wanted = {  # by the derivative itself
            name: b.obj
            for name, b in bindings.items()
            if b.kind not in ("builtin", "emitted") or name != b.original
        }
        self.imports: dict[str, Binding] = {}
        self.constants: list[str] = []
        self.definitions: list[str] = []
        self.done: set[tuple[str, int]] = set()
        self.kept: list[Any] = []  # so that ids stay unique

    def head(self, name: str) -> list[str]:
        """The lines above the functions."""
        libraries = {b.module.split(".")[0] for b in self.imports.values()}
        others = sorted(n for n in libraries - _ALWAYS_THERE if n not in sys.stdlib_module_names)
        needs = f"NumPy and {', '.join(others)}" if others else "only NumPy"
        of_what = "numbers and arrays" if self.of_arrays else "numbers, arrays and what holds such"
        serves = f"; for {of_what}" if self.shortened else ""
        lines = [f"# {name} as a file of its own: needs {needs}{serves}.", ""]
        lines += header_lines(self.imports, self.annotated)
        if self.constants:
            lines += ["", *self.constants]
        for text in self.definitions:
            lines += ["", "", *text.split("\n")]
        return lines

    # -------------------------------------------------------------- one name of the file

    def add(self, name: str, obj: Any) -> None:
        """Make a name of the file mean an object."""
        obj = self._form(obj)
        if self.compiler is not None and self._is_compilers(name, obj):
            return
        if (name, id(obj)) in self.done:
            return
        if obj is pair_of or obj is tangent_of:
            raise UnsupportedError(
                "a function is called that is not known until run time, and a standalone file "
                "cannot derive it then",
                hint="Call functions by name, or leave out --standalone.",
            )
        self.done.add((name, id(obj)))
        self.kept.append(obj)
        origin = library_home(obj, name) or home(obj)
        if isinstance(obj, types.ModuleType):
            self._module(name, obj)
        elif origin is not None:
            self.imports[name] = Binding("imported", *origin, obj)
        elif isinstance(obj, (types.FunctionType, type, functools._lru_cache_wrapper)):
            self._copy(name, definition(obj, name), obj.__name__)
        else:
            self._data(name, obj)

    def _is_compilers(self, name: str, obj: Any) -> bool:
        """Whether an object is the decorator of what is compiled, which is defined here; helpers of
        ours that would be compiled are refused."""
        if (name, id(obj)) in self.done:
            return True
        if obj is self.compiler:
            self.done.add((name, id(obj)))
            self.imports["numba"] = Binding("module", "numba", "numba", obj)
            self.definitions.insert(0, _COMPILER.format(name=name))
            if self.goes_back:
                self.definitions.insert(0, _WAY_BACK.format(name=self.file_names.fresh("way_back")))
        elif (getattr(obj, "__module__", None) or "").startswith(RUNTIME):
            raise UnsupportedError(
                f"a standalone file for Numba cannot hold `{name}` of {RUNTIME}",
                hint="Arguments (--shape, --value) tell types, for which a derivative calls fewer "
                "helpers; or leave out --standalone.",
            )
        return obj is self.compiler

    def _form(self, obj: Any) -> Any:
        """What stands for an object in the file."""
        if self.compiler is not None:
            return self.compiler.in_files(obj)
        if obj is broadcasting.real_part:
            return real_part  # (nobody asks what was dropped)
        form = obj if self.of_arrays is None else short_form(obj, self.of_arrays)
        self.shortened |= form is not obj
        return form

    def _module(self, name: str, module: types.ModuleType) -> None:
        if not is_installed(module.__name__) and module.__name__ != "cupy":
            raise UnsupportedError(
                f"a standalone file cannot import `{module.__name__}`, a module of yours",
                hint=f"Import the functions you use by name: from {module.__name__} import ...",
            )
        self.imports[name] = Binding("module", module.__name__, name, module)

    def _data(self, name: str, value: Any) -> None:
        numpy = self._numpy() if _holds_array(value) else "np"
        text = data_literal(value, numpy)
        if text is None:
            raise UnsupportedError(
                f"`{name}` is a {type(value).__name__} that cannot be written out in a file",
                hint="Make it a parameter of the function, or leave out --standalone.",
            )
        self.constants.append(f"{name} = {text}")

    def _numpy(self) -> str:
        return self.name_for("np", sys.modules["numpy"])

    def _copy(self, name: str, piece: Piece, own: str) -> None:
        """Add a definition, below everything that it needs."""
        self.annotated |= piece.annotated
        changed = {own: name} if own != name else {}
        hidden = {n: obj for n, obj in piece.pythons.items() if n in self.hidden}
        for needed, obj in (*piece.needs.items(), *hidden.items()):
            given = name if needed == own else self.name_for(needed, obj)
            if given != needed:
                changed[needed] = given
        for needed, obj in piece.types.items():
            origin = home(obj)
            if origin is not None and needed not in self.imports:
                self.imports[needed] = Binding("imported", *origin, obj)
        text = renamed(piece.text, changed)
        if self.compiler is not None and text.startswith("def "):
            text = f"@{self.name_for(self.compiler.__name__, self.compiler)}\n{text}"
        self.definitions.append(text)

    def name_for(self, wanted: str, obj: Any) -> str:
        """The name an object has in the file; it gets one if it has none."""
        obj = self._form(obj)
        identity = _identity(wanted, obj)
        if identity not in self.names:
            self.kept.append(obj)
            self.names[identity] = self.file_names.fresh(wanted)
            self._add_needed(wanted, self.names[identity], obj)
        elif self.names[identity] in self.wanted:
            self.add(self.names[identity], obj)  # (above what needs it: a class above its child)
        return self.names[identity]

    def _add_needed(self, wanted: str, name: str, obj: Any) -> None:
        constant = None if _defines_itself(obj) else _runtime_constant(wanted, obj)
        if constant is None:
            self.add(name, obj)
        else:
            self._copy(name, constant, wanted)


def _identity(name: str, obj: Any) -> tuple[str, int]:
    """One definition a thing; constants are distinguished by their names as well."""
    return ("" if _defines_itself(obj) else name), id(obj)


def _defines_itself(obj: Any) -> bool:
    return isinstance(obj, (types.ModuleType, types.FunctionType, type)) or home(obj) is not None


def _runtime_constant(name: str, obj: Any) -> Piece | None:
    """A constant of the runtime is copied as it is written there, with its comment."""
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith(RUNTIME) and getattr(module, name, None) is obj:
            found = assignment(module, name)
            if found is not None:
                return found
    return None


def _holds_array(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_array, value))
    if isinstance(value, dict):
        return any(map(_holds_array, value.values()))
    return hasattr(value, "dtype")
