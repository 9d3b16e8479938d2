"""The test of a derivative rule, in one line: `check_rule(np.arctan2, y, x)`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import InternalError, TangentlikeError
from ..frontend.owners import mark_of
from ..frontend.primal import library_path, one_line_function
from ..pytree import leaves
from .grads import Mismatch, compare, directional, double, inner, random_like, unit_direction


def check_rule(
    op: Callable[..., Any],
    *args: Any,
    check_rtol: float = 1e-5,
    check_atol: float = 1e-7,
    check_seed: int = 0,
    check_order: int = 2,
    check_active: tuple[int, ...] | None = None,
    **kwargs: Any,
) -> None:
    """Check the rule of `op` at `args` in every way it may be called; raise if it is wrong.

    For every non-empty set of active arguments: forward mode against central differences, reverse
    against forward by the dot product, and the derivatives' derivatives; once more with
    non-contiguous arrays; in float32 the dtypes of tangents and gradients; and that no argument
    is changed.

    Parameters
    ----------
    op : callable
        The operation.
    *args : Any
        What it is called with.
    check_rtol, check_atol : float
        How far derivative and differences may differ.
    check_seed : int
        Of the random directions.
    check_order : int
        The highest order that is looked at.
    check_active : tuple of int, optional
        The positions of the arguments by which it is differentiated; all that hold floats, by
        default.
    **kwargs : Any
        Keyword arguments of the call of `op`.

    Raises
    ------
    TangentlikeError
        if a derivative is wrong (it is also an `AssertionError`), with the emitted source.

    Examples
    --------
    >>> import numpy as np
    >>> check_rule(np.tanh, np.array([0.5, -1.0]))
    """
    positions = _active(args, check_active)
    rng = np.random.default_rng(check_seed)
    rtol, atol = check_rtol, check_atol
    for chosen in _subsets(positions):
        fn, values = _function(op, args, chosen, kwargs)
        try:
            _check_values(fn, op, args, values, kwargs)
            _check_modes(fn, values, rng, rtol, atol)
            _check_modes(fn, [_spread(v) for v in values], rng, rtol, atol)
            _check_single_precision(fn, values, rng)
            if check_order > 1 and chosen == positions:
                _check_orders(fn, values, rtol, atol, check_seed, check_order)
        except Mismatch as error:
            raise Mismatch(f"{error.message}\n\n{_context(fn, op, chosen)}") from None
        except InternalError as error:
            message = f"the rule gives {error.message}"
            raise Mismatch(f"{message}\n\n{_context(fn, op, chosen)}") from None
        except Exception as error:
            _annotate(error, _context(fn, op, chosen))
            raise


def _active(args: tuple[Any, ...], wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    found = tuple(i for i, arg in enumerate(args) if leaves.has_leaf(arg))
    if wanted is not None:
        found = tuple(wanted)
    if not found:
        raise TangentlikeError(
            "check_rule: no argument holds floats", hint="Pass floats or float arrays."
        )
    return found


def _subsets(positions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(positions) + 1):
        yield from itertools.combinations(positions, size)


def _function(
    op: Callable[..., Any], args: tuple[Any, ...], chosen: tuple[int, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """A one-line function of the active arguments, the others as constants beside it."""
    call = []
    constants: dict[str, Any] = {}
    for i, arg in enumerate(args):
        if i in chosen:
            call.append(f"x{i}")
        elif _literal(arg):
            call.append(repr(arg))
        else:
            constants[f"c{i}"] = arg
            call.append(f"c{i}")
    for name, value in kwargs.items():
        if _literal(value):
            call.append(f"{name}={value!r}")
        else:
            constants[name] = value
            call.append(f"{name}={name}")
    params = [f"x{i}" for i in chosen]
    return one_line_function(op, params, call, constants), [double(args[i]) for i in chosen]


def _literal(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_literal, value))
    return value is None or isinstance(value, (bool, int, str))


# --------------------------------------------------------------------------- what is checked


def _check_values(
    fn: Callable[..., Any],
    op: Callable[..., Any],
    args: tuple[Any, ...],
    values: list[Any],
    kwargs: dict[str, Any],
) -> None:
    """Value as `op` gives it, arguments as they were."""
    from ..api.calls import vjp

    fresh = [double(arg) for arg in args]
    expected = op(*fresh, **kwargs) if callable(op) else op.__get__(*fresh)
    given = [double(value) for value in values]
    found, pullback = vjp(fn, *given)
    if not _same(expected, found):
        raise Mismatch(f"the value changed: expected {expected!r}, got {found!r}")
    pullback(random_like(found, np.random.default_rng(0)))
    for i, (before, after) in enumerate(zip(values, given, strict=True)):
        if not _same(before, after):
            raise Mismatch(f"active argument {i} was changed: {before!r} became {after!r}")


def _same(first: Any, second: Any) -> bool:
    """Whether two values agree, NaN with NaN, to the last few bits."""
    a, b = list(leaves.leaves(first)), list(leaves.leaves(second))
    return len(a) == len(b) and all(
        np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-12, atol=1e-14, equal_nan=True)
        for (_, x), (_, y) in zip(a, b, strict=True)
    )


def _check_modes(
    fn: Callable[..., Any], values: list[Any], rng: np.random.Generator, rtol: float, atol: float
) -> None:
    """Forward against differences entry by entry, reverse against forward to the last digits."""
    from ..api.calls import jvp, vjp

    direction = unit_direction(values, rng)
    slope = directional(lambda vs: fn(*vs), values, direction, 1e-5)
    value, tangent = jvp(fn, [double(v) for v in values], direction)
    _compare_entries("the tangent", slope, tangent, rtol, atol)
    seed = random_like(value, rng)
    bars = vjp(fn, *[double(v) for v in values])[1](seed)
    forward = inner(seed, tangent)
    reverse = sum(inner(d, bar) for d, bar in zip(direction, bars, strict=True))
    scale = inner(seed, seed) ** 0.5 * inner(tangent, tangent) ** 0.5
    if not abs(forward - reverse) <= 1e-9 * max(scale, abs(forward)) + 1e-12:
        raise Mismatch(
            "reverse disagrees with forward in the dot product "
            f"<y_bar, y_dot> = {forward:.12g} != <x_bar, x_dot> = {reverse:.12g}"
        )


def _compare_entries(what: str, expected: Any, got: Any, rtol: float, atol: float) -> None:
    pairs = zip(leaves.leaves(expected), leaves.leaves(got), strict=True)
    for (path, a), (_, b) in pairs:
        if not np.allclose(b, a, rtol=rtol, atol=atol, equal_nan=True):
            error = np.abs(np.asarray(b) - np.asarray(a))
            worst = np.unravel_index(int(np.argmax(error)), np.shape(a))
            where = f" at {[int(k) for k in worst]}" if worst else ""
            raise Mismatch(
                f"{what}{path} is wrong{where}: expected {np.asarray(a)[worst]:.10g} "
                f"by central differences, got {np.asarray(b)[worst]:.10g}"
            )


def _check_form(what: str, value: Any, found: Any) -> None:
    given = dict(leaves.leaves(found))
    for path, a in leaves.leaves(value):
        b = given.get(path)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype != b.dtype:
            raise Mismatch(f"{what}{path} has dtype {b.dtype}, expected {a.dtype}")


def _check_single_precision(
    fn: Callable[..., Any], values: list[Any], rng: np.random.Generator
) -> None:
    """The emitted derivative itself, before anything is converted, stays in float32 where the
    primal does."""
    from ..api.calls import autodiff

    def emitted(mode: str) -> Callable[..., Any]:
        made = autodiff(fn, wrt=tuple(range(len(values))), mode=mode)
        found: Callable[..., Any] = mark_of(made, "tangentlike").emitted
        return found

    single = [_single(value) for value in values]
    try:
        expected = fn(*[_single(value) for value in values])
    except TypeError:
        return  # an operation that has no float32 loop
    dtypes = {getattr(leaf, "dtype", None) for _, leaf in leaves.leaves(expected)}
    if dtypes & {np.dtype(float), np.dtype(complex)}:
        return  # (of another operand, too)
    value, tangent = emitted("forward")(*single, *[random_like(v, rng) for v in single])
    _check_form("the float32 value", expected, value)
    _check_form("the float32 tangent", value, tangent)
    _, bars = emitted("reverse")(*single, random_like(value, rng))
    for i, (v, bar) in enumerate(zip(single, bars, strict=True)):
        _check_form(f"the float32 gradient of active argument {i}", v, bar)


def _single(value: Any) -> Any:
    if leaves.is_array(value) and leaves.dtype_class(value) in "fc":
        return value.astype(np.float32 if leaves.dtype_class(value) == "f" else np.complex64)
    inside = leaves.children(value)
    if inside is None or leaves.is_leaf(value):
        return value
    return leaves.rebuild(value, [_single(item) for _, item in inside])


def _spread(value: Any) -> Any:
    """The same numbers, every array as a view that is not contiguous."""
    if isinstance(value, np.ndarray) and value.ndim:
        room = np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
        view = room[..., ::2]
        view[...] = value
        return view
    inside = leaves.children(value)
    if inside is None or leaves.is_leaf(value):
        return value
    return leaves.rebuild(value, [_spread(item) for _, item in inside])


def _check_orders(
    fn: Callable[..., Any], values: list[Any], rtol: float, atol: float, seed: int, order: int
) -> None:
    """Derivatives of derivatives, each mode over each."""
    for check in compare(fn, values, None, ("fwd", "rev"), order, 1e-5, 10 * rtol, 10 * atol, seed):
        if not check.ok:
            raise Mismatch(
                f"{check.mode} is wrong for {check.argument}: expected {check.expected:.10g} "
                f"by central differences, got {check.got:.10g}"
            )


def _context(fn: Callable[..., Any], op: Callable[..., Any], chosen: tuple[int, ...]) -> str:
    """Which operation and arguments, and the emitted source."""
    from ..api.calls import autodiff

    found = library_path(op)
    name = ".".join(found) if found else getattr(op, "__name__", str(op))
    text = f"check_rule({name}) with active arguments {chosen}"
    for mode in ("forward", "reverse"):
        try:
            source = autodiff(fn, tuple(f"x{i}" for i in chosen), mode).source
        except Exception as failure:  # the first error is the one to tell
            source = f"({mode}: {type(failure).__name__}: {failure})"
        text += f"\n\n{source.rstrip()}"
    return text


def _annotate(error: Exception, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:  # Python 3.10
        error.__notes__ = [*getattr(error, "__notes__", ()), text]  # type: ignore[attr-defined]
