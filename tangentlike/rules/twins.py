"""Modules that mirror NumPy or SciPy: `cupy.tanh` has the rule of `np.tanh`, and
`cupyx.scipy.special.erf` that of `scipy.special.erf`.

CuPy and the NumPy of `array_api_compat` are known by name and never imported by us;
`register_array_module` adds others.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir
from ..errors import UnsupportedError
from ..frontend.owners import NUMERICAL, is_standard, module_of
from ..runtime.records import attribute_of

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

_MIRRORS = "tangentlike.runtime.namespaces"
_BY_NAME = {
    "cupy": "numpy",
    "array_api_compat.numpy": "numpy",
    f"{_MIRRORS}.array_api_strict": "numpy",
    f"{_MIRRORS}.torch": "numpy",
    "cupyx.scipy": "scipy",
}
_NAMESPACES = {
    "numpy": ("", "linalg", "fft", "random", "ndarray"),
    "scipy": ("special", "linalg", "signal", "fft", "ndimage", "stats"),
}
_registered: list[tuple[Any, str]] = []
_twins: dict[int, tuple[Any, int, dict[int, tuple[Any, Any]]]] = {}


def register_array_module(module: Any, of: str = "numpy") -> None:
    """Let the functions of `module` have the rules of those of the same names in NumPy, or in
    SciPy with `of="scipy"` (`module.special.erf` has that of `scipy.special.erf`)."""
    if of not in _NAMESPACES:
        raise ValueError(f"`of` is one of {sorted(_NAMESPACES)}, not {of!r}")
    if not any(module is known for known, _ in _registered):
        _registered.append((module, of))


def array_modules() -> list[Any]:
    """The mirrors of NumPy and SciPy that are loaded."""
    return [module for module, _ in _mirrors()]


def _mirrors() -> list[tuple[Any, str]]:
    if _BY_NAME.keys().isdisjoint(sys.modules.keys()):
        return _registered
    known = [(sys.modules[name], of) for name, of in _BY_NAME.items() if name in sys.modules]
    return known + _registered


def _found(obj: Any) -> tuple[Any, str, Any]:
    """The mirror that an object is of, what it mirrors, and the object there; or nothing."""
    for module, of in _mirrors():
        found = _table(module, of).get(id(obj))
        if found is not None and found[0] is obj:
            return module, of, found[1]
    return None, "", None


def twin(obj: Any) -> Any:
    """NumPy's or SciPy's object for the object of a mirror, or None."""
    return _found(obj)[2]


def scipy_mirror(obj: Any) -> Any:
    """The mirror of SciPy that a function is of, or None."""
    module, of, _ = _found(obj)
    return module if of == "scipy" else None


def mirrored(module: Any, text: str, place: Any = None) -> ir.Ref:
    """`scipy.special.digamma` as the function of a mirror of SciPy, by its own name."""
    path = text.partition(".")[2]
    with contextlib.suppress(ImportError):  # (one that is not a package has what it has)
        importlib.import_module(f"{module.__name__}.{path.rpartition('.')[0]}")
    found = _member(module, path)
    if found is None:
        raise UnsupportedError(
            f"`{module.__name__}` has no `{path}`; the derivative needs it",
            place,
            "Write the step with other operations, or give it a rule with @tl.rule.",
        )
    return ir.Ref(path.rpartition(".")[2], found)


def library_home(obj: Any, name: str) -> tuple[str, str] | None:
    """The public module of NumPy, SciPy, a mirror of them or Python's own library from which a
    function can be imported, and the name that it has there: `name` itself, if it has that.

    >>> library_home(np.linalg.inv, "inverse"), library_home(np.exp, "exp")
    (('numpy.linalg', 'inv'), ('numpy', 'exp'))
    """
    if isinstance(obj, ModuleType) or not callable(obj):
        return None
    home = module_of(obj)
    public = ".".join(itertools.takewhile(lambda part: part[:1] != "_", home.split(".")))
    package = public.partition(".")[0]
    places = [public] if package in NUMERICAL or is_standard(package) else []
    if isinstance(obj, np.ufunc) or places:
        places += ["numpy", "scipy.special"]
    known = [(place, sys.modules[place]) for place in places if place in sys.modules]
    for module, of in _mirrors():
        spaces = [(space, _member(module, space)) for space in _NAMESPACES[of]]
        known += [(f"{module.__name__}.{s}".rstrip("."), m) for s, m in spaces if m is not None]
    for place, module in known:
        for known_as in (name, str(attribute_of(obj, "__name__", name))):
            if getattr(module, "__dict__", {}).get(known_as) is obj:
                return place, known_as
    return None


def as_numpy(lowered: Lowered) -> Lowered:
    """A lowered function with NumPy's objects for those of mirrors, written as they were.

    `xp.tanh(x)` means NumPy's `tanh` to every analysis and transform; which module's it is when
    it runs, its text says, and the printed program follows that. Functions of a mirror of
    SciPy stay: one may be imported by its own name, which says nothing of where it is from.
    """
    if not array_modules():
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Ref):
            _, of, original = _found(e.obj)
            return ir.Ref(e.text, original) if of == "numpy" else e
        return ir.rebuild(e, expr)

    return lowered.with_body(ir.rewrite(lowered.function.body, expression=expr))


def module_function(alias: str, path: str) -> ir.Ref:
    """NumPy's function as a program spells it that calls its array module `alias`.

    Whether the module has it shows when the program is printed, which refuses a name that
    leads nowhere: only then is known that it is needed.
    """
    return ir.Ref(f"{alias}.{path}", _member(np, path))


def spelled_module(fn: ir.Expr) -> str:
    """How a call spells the array module: `xp` in `xp.tanh`; "" where it does not."""
    match fn:
        case ir.Ref(text=text, obj=obj) if "." in text:
            root, _, path = text.partition(".")
            return root if _member(np, path) is obj else ""
    return ""


def _member(module: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        module = getattr(module, part, None)
    return module


def _table(module: Any, of: str) -> dict[int, tuple[Any, Any]]:
    """The functions of a mirror with those that they mirror, by id."""
    state = len(sys.modules) if of == "scipy" else 0  # (its parts are loaded one by one)
    known = _twins.get(id(module))
    if known is None or known[1] != state:
        table: dict[int, tuple[Any, Any]] = {}
        for space in _NAMESPACES[of]:
            theirs = _member(module, space)
            ours = sys.modules.get(f"{of}.{space}") if of == "scipy" else _member(np, space)
            if ours is not None and theirs is not None:
                _fill(table, ours, theirs, space)
        known = _twins[id(module)] = (module, state, table)
    return known[2]


def _fill(table: dict[int, tuple[Any, Any]], ours: Any, theirs: Any, space: str) -> None:
    for name, original in vars(ours).items():
        mirrored = getattr(theirs, name, None)
        # What both share (dtypes, constants, `newaxis`) needs no twin.
        if mirrored is None or mirrored is original or isinstance(original, ModuleType):
            continue
        if callable(original) or space == "ndarray":
            table[id(mirrored)] = (mirrored, original)
