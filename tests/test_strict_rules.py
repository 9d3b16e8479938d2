"""Every rule of the library on arrays that are not NumPy's, against NumPy's own result."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tests.rule_cases import TABLES, Case, title
from tests.sampled import one_in
from tests.strict_array import from_strict, to_strict, xp
from tests.test_strict_array import holds_only_strict, leaves

register_array_module(xp)


def path_of(op: Any) -> str | None:
    """How an operation is called within NumPy."""
    for space in ("", "linalg.", "fft."):
        owner = vars(np)[space[:-1]] if space else np
        for name in dir(owner):
            if not name.startswith("_") and getattr(owner, name, None) is op:
                return space + name
    return None


def program(module: ModuleType, alias: str, entry: Case) -> Callable[..., Any] | None:
    """A function that makes one call, of the array module it is given."""
    op, args, options = entry
    path = path_of(op)
    found: Any = module
    for part in path.split(".") if path else ():
        found = getattr(found, part, None)
    if path is None or found is None:
        return None
    names = ", ".join(f"a{i}" for i in range(len(args)))
    keywords = "".join(f", {k}=given_{k}" for k in options if not k.startswith("check_"))
    text = f"def call({names}):\n    return {alias}.{path}({names}{keywords})\n"
    filename = f"<{alias} {title(entry)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    given = {f"given_{k}": v if module is np else to_strict(v) for k, v in options.items()}
    namespace = {alias: module, **given}
    exec(compile(text, filename, "exec"), namespace)
    made: Callable[..., Any] = namespace["call"]
    return made


def _cases() -> list[Any]:
    """Calls that both modules make."""
    found = []
    for table, cases in TABLES.items():
        for entry in cases:
            strict = program(xp, "xp", entry)
            if strict is None:
                continue
            try:
                strict(*to_strict(entry[1]))
            except (TypeError, AttributeError):
                continue
            found.append(pytest.param(entry, id=f"{table}-{title(entry)}"))
    return found


def ones_like(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(ones_like, value))
    return np.ones_like(value) if isinstance(value, np.ndarray) else 1.0


def assert_same(got: Any, want: Any) -> None:
    assert holds_only_strict(got)
    for mine, theirs in zip(leaves(from_strict(got)), leaves(want), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def same_in_both_modes(
    plain: Callable[..., Any],
    moved: Callable[..., Any],
    args: tuple[Any, ...],
    to: Callable[[Any], Any],
    same: Callable[[Any, Any], None],
) -> bool:
    """Compare both modes on arrays of another kind, which `to` makes, with those on NumPy's;
    whether there is a forward mode on NumPy's."""
    value, pullback = tl.vjp(plain, *args)
    seed = ones_like(value)
    same(tl.vjp(moved, *to(args))[1](to(seed)), pullback(seed))
    dots = tuple(map(direction, args))
    try:
        _, tangent = tl.jvp(plain, args, dots)
    except tl.TangentlikeError:
        return False
    same(tl.jvp(moved, to(args), to(dots))[1], tangent)
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("entry", one_in(6, _cases()))
def test_both_modes(entry: Case) -> None:
    args = entry[1]
    plain, strict = program(np, "np", entry), program(xp, "xp", entry)
    assert plain is not None and strict is not None
    try:
        tl.vjp(plain, *args)
    except tl.UnsupportedError:
        pytest.skip("refused on NumPy's arrays, too")
    same_in_both_modes(plain, strict, args, to_strict, assert_same)


def direction(value: Any) -> Any:
    """A half in every entry; None for what carries no derivative."""
    if isinstance(value, (tuple, list)):
        parts = [direction(part) for part in value]
        return None if any(part is None for part in parts) else type(value)(parts)
    if isinstance(value, np.ndarray):
        return np.full_like(value, 0.5) if value.dtype.kind in "fc" else None
    return 0.5 if isinstance(value, float) else None
