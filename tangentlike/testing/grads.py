"""Forward and reverse mode against central differences."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..frontend.primal import Primal, Wrt, library_path, primal_of, wrt_names
from ..frontend.signatures import plain_signature
from ..pytree import leaves

MODES = ("fwd", "rev")
LOCATED = 200  # entries looked at one by one to find the worst


@dataclass(frozen=True)
class Check:
    """One comparison: which mode and argument, what differences say, what the derivative says."""

    mode: str
    argument: str
    expected: float
    got: float
    rtol: float
    atol: float

    @property
    def error(self) -> float:
        """The difference, absolute."""
        if math.isnan(self.got) or math.isnan(self.expected):
            return 0.0 if math.isnan(self.got) and math.isnan(self.expected) else math.inf
        return 0.0 if self.got == self.expected else abs(self.got - self.expected)

    @property
    def ok(self) -> bool:
        """Whether the two agree within the tolerances."""
        scale = max(abs(self.expected), abs(self.got))
        return self.error <= self.atol + self.rtol * scale


def check_grads(
    fn: Callable[..., Any],
    args: Any,
    wrt: Wrt | None = None,
    modes: Sequence[str] = MODES,
    order: int = 1,
    eps: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> None:
    """Compare the derivatives of `fn` at `args` with central differences; raise if they differ.

    Everything is computed in float64, along random directions of length one, for each argument
    alone and for all together.

    Parameters
    ----------
    fn : callable
        A function of NumPy arrays, numbers and containers of them.
    args : tuple or list
        All its arguments, of any shapes; the only one may stand by itself, if it is neither.
    wrt : int, str or tuple of these, optional
        Which arguments are looked at; every one that holds floats, by default.
    modes : sequence of {"fwd", "rev"}
        Forward mode, reverse mode, or both.
    order : int
        2 checks the derivative functions too, along all their arguments together (one by one only
        where that fails, to name the one), and so on.
    eps : float
        The step of the differences.
    rtol, atol : float
        How far the two may differ.
    seed : int
        Of the random directions.

    Raises
    ------
    TangentlikeError
        if they differ (it is also an `AssertionError`), naming the worst entry; or if `fn` cannot
        be differentiated.

    Examples
    --------
    >>> check_grads(lambda x, y: x * y**2, (2.0, 3.0), order=2)
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    for check in compare(fn, args, wrt, modes, order, eps, rtol, atol, seed):
        if not check.ok:
            raise _mismatch(fn, args, check, eps, wrt)


def compare(
    fn: Callable[..., Any],
    args: Sequence[Any],
    wrt: Wrt | None = None,
    modes: Sequence[str] = MODES,
    order: int = 1,
    eps: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> Iterator[Check]:
    """The comparisons of `check_grads`, one at a time, whether they agree or not."""
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise TangentlikeError(f"modes are 'fwd' and 'rev', not {unknown[0]!r}")
    rng = np.random.default_rng(seed)
    yield from _compare(_Point(fn, tuple(args), wrt, eps), modes, order, rng, (rtol, atol, seed))


def _compare(
    point: _Point,
    modes: Sequence[str],
    order: int,
    rng: np.random.Generator,
    settings: tuple[float, float, int],
    derived: bool = False,
) -> Iterator[Check]:
    """The comparisons at a point. Of a derivative (`derived`) the arguments are looked at alone
    only where all together disagree: each would be one more derivative of a long function."""
    rtol, atol, _ = settings
    *alone, together = point.choices()
    for choice in () if derived else alone:
        yield from _first_order(point, *choice, modes, rng, rtol, atol)
    joint = list(_first_order(point, *together, modes, rng, rtol, atol))
    if derived and not all(check.ok for check in joint):
        for choice in alone:
            yield from _first_order(point, *choice, modes, rng, rtol, atol)
    yield from joint
    if order > 1:
        for mode in modes:
            yield from _higher_order(point, mode, modes, order, rng, settings)


class _Point:
    """A function at a point: which arguments count, and how to call it at neighbours."""

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], wrt: Wrt | None, eps: float
    ) -> None:
        self.fn = fn
        self.eps = eps
        self.args = [double(arg) for arg in args]
        self.primal: Primal = primal_of(fn, len(args))
        self.names = _argument_names(self.primal, len(args))
        if wrt is None:
            self.active = [i for i, arg in enumerate(self.args) if leaves.has_leaf(arg)]
        else:
            wanted, _ = wrt_names(self.primal, wrt)
            self.active = [i for i, name in enumerate(self.names) if name in wanted]
        if not self.active:
            raise TangentlikeError(
                f"check_grads: no argument of {self.primal.name} holds floats",
                hint="Pass floats or float arrays, not integers.",
            )

    def choices(self) -> list[tuple[str, list[int]]]:
        """Each active argument alone, then all of them together."""
        single = [(self.names[i], [i]) for i in self.active]
        together = (", ".join(self.names[i] for i in self.active), self.active)
        return single if len(self.active) == 1 else [*single, together]

    def call(self, active: list[int], values: list[Any]) -> Any:
        """The value with some arguments replaced; the function may write into all of them."""
        args = [double(arg) for arg in self.args]
        for i, value in zip(active, values, strict=True):
            args[i] = value
        return self.fn(*args)

    def fresh_args(self) -> list[Any]:
        """Arguments that share nothing with ours."""
        return [double(arg) for arg in self.args]


def _argument_names(primal: Primal, count: int) -> list[str]:
    names = list(primal.free_names)[:count]
    return names + [f"argument {i}" for i in range(len(names), count)]


def _first_order(
    point: _Point,
    label: str,
    active: list[int],
    modes: Sequence[str],
    rng: np.random.Generator,
    rtol: float,
    atol: float,
) -> Iterator[Check]:
    values = [point.args[i] for i in active]
    direction = unit_direction(values, rng)
    slope = directional(lambda vs: point.call(active, vs), values, direction, point.eps)
    weights = random_like(slope, rng)
    if "fwd" in modes:
        tangent = _tangent(point, active, direction)
        for path, expected, got in _pairs(slope, tangent):
            yield Check("fwd", label + (f" -> value{path}" if path else ""), expected, got, rtol,
                        atol)  # fmt: skip
    if "rev" in modes:
        bars = _adjoints(point, weights)
        got = sum(inner(bars[i], d) for i, d in zip(active, direction, strict=True))
        yield Check("rev", label, inner(weights, slope), got, rtol, atol)


def _tangent(point: _Point, active: list[int], direction: list[Any]) -> Any:
    from ..api.calls import jvp

    tangents: list[Any] = [None] * len(point.args)
    for i, part in zip(active, direction, strict=True):
        tangents[i] = part
    return jvp(point.fn, point.fresh_args(), tangents)[1]


def _adjoints(point: _Point, weights: Any) -> tuple[Any, ...]:
    from ..api.calls import vjp

    _, pullback = vjp(point.fn, *point.fresh_args())
    return pullback(weights)


def _pairs(expected: Any, got: Any) -> Iterator[tuple[str, float, float]]:
    """Entry by entry, real and imaginary parts apart."""
    found = dict(leaves.leaves(got))
    for path, leaf in leaves.leaves(expected):
        other, shape = found[path], tuple(getattr(leaf, "shape", ()))
        for index in np.ndindex(*shape):
            text = path + (f"[{', '.join(map(str, index))}]" if index else "")
            a, b = (leaf[index], other[index]) if index else (leaf, other)
            yield text, float(np.real(a)), float(np.real(b))
            if np.iscomplexobj(a):
                yield text + ".imag", float(np.imag(a)), float(np.imag(b))


def _higher_order(
    point: _Point,
    mode: str,
    modes: Sequence[str],
    order: int,
    rng: np.random.Generator,
    settings: tuple[float, float, int],
) -> Iterator[Check]:
    """The derivative function of the mode is checked as any function is."""
    from ..api.calls import autodiff

    rtol, atol, seed = settings
    wrt = tuple(point.names[i] for i in point.active)
    base = point.fn if library_path(point.fn) is None else point.primal.function
    if mode == "rev":
        seeds = [random_like(point.fn(*point.fresh_args()), rng)]
        derivative = autodiff(base, wrt, "reverse")
    else:
        seeds = [random_like(point.args[i], rng) for i in point.active]
        derivative = autodiff(base, wrt, "forward")
    bound, arguments = _with_seeds(derivative, point.args, seeds)
    tolerances = (10 * rtol, 10 * atol)
    outer = _Point(bound, tuple(arguments), None, point.eps)
    rng = np.random.default_rng(seed + 1)
    for check in _compare(outer, modes, order - 1, rng, (*tolerances, seed + 1), derived=True):
        yield replace(check, mode=f"{check.mode} over {mode}")


def _with_seeds(
    derivative: Callable[..., Any], args: list[Any], seeds: list[Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """The derivative function and its arguments; seeds that go by keyword only are bound."""
    operator = derivative.__tangentlike__  # type: ignore[attr-defined]
    emitted = operator.derive().specialized_for(tuple(args), {}).emitted
    every = plain_signature(emitted).parameters.values()
    parameters = [p for p in every if p.kind is not p.VAR_KEYWORD]
    last = parameters[-len(seeds) :]
    if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in last) and len(parameters) == len(
        [*args, *seeds]
    ):
        return derivative, [*args, *seeds]
    named = {p.name: seed for p, seed in zip(last, seeds, strict=True)}
    return functools.partial(derivative, **named), args


# --------------------------------------------------------------------------- the worst entry


def _mismatch(
    fn: Callable[..., Any],
    args: Sequence[Any],
    check: Check,
    eps: float,
    wrt: Wrt | None,
) -> Mismatch:
    """The error for a failed check: its worst entry where that can be found."""
    name = primal_of(fn, len(args)).name
    what = "forward" if check.mode.startswith("fwd") else "reverse"
    message = (
        f"{what} mode of {name} disagrees with central differences ({check.mode}) for "
        f"{check.argument}: expected {check.expected:.10g}, got {check.got:.10g} along a random "
        "direction"
    )
    if check.mode not in MODES:
        return Mismatch(message)
    try:
        worst = _worst_entry(_Point(fn, tuple(args), wrt, eps), check.mode)
    except Exception:  # the search is a courtesy: the mismatch is what must be said
        worst = ""
    return Mismatch(message, hint=worst)


def _worst_entry(point: _Point, mode: str) -> str:
    """The entry of an argument whose derivative is furthest from its central difference."""
    rng = np.random.default_rng(0)
    value = point.fn(*point.fresh_args())
    weights = random_like(value, rng)
    bars = _adjoints(point, weights) if mode == "rev" else None
    worst, text = -1.0, ""
    for i, path, unit, entry in _units(point):
        slope = directional(lambda vs: point.call([i], vs), [point.args[i]], [unit], point.eps)  # noqa: B023
        expected = inner(weights, slope)
        got = inner(weights, _tangent(point, [i], [unit])) if bars is None else inner(bars[i], unit)
        error = math.inf if math.isnan(got) else abs(got - expected)
        if error > worst:
            worst = error
            text = f"Worst entry: {point.names[i]}{path}: expected {expected:.10g}, got {got:.10g}."
        if entry >= LOCATED:
            break
    return text


def _units(point: _Point) -> Iterator[tuple[int, str, Any, int]]:
    """Unit directions, one for each entry of each active argument."""
    count = 0
    for i in point.active:
        for number, (path, _, _) in enumerate(entries(point.args[i])):
            count += 1
            yield i, path, _nth_unit(point.args[i], number), count


def _nth_unit(value: Any, number: int) -> Any:
    """Zeros like a value with a one at its n-th entry."""
    left = [number]

    def unit(part: Any) -> Any:
        if leaves.is_leaf(part):
            size = math.prod(getattr(part, "shape", ()))
            here, left[0] = left[0], left[0] - size
            if not leaves.is_array(part):
                return type(part)(1.0 if here == 0 else 0.0)
            seed = leaves.zeros(part)
            if 0 <= here < size:
                seed[np.unravel_index(here, part.shape)] = 1.0
            return seed
        inside = leaves.children(part)
        if inside is None:
            return None
        return leaves.rebuild(part, [unit(item) for _, item in inside])

    return unit(value)


# --------------------------------------------------------------------------------------------------
# Central differences along seeded random directions, over any structure of arguments.


class Mismatch(TangentlikeError, AssertionError):
    """A derivative that disagrees with central differences."""


def double(value: Any) -> Any:
    """The same value, every real leaf in float64 and every complex one in complex128, all fresh."""
    if leaves.is_array(value):
        wide = {"f": np.float64, "c": np.complex128}.get(leaves.dtype_class(value))
        # A copy keeps the layout: whether reshape gives a view is part of what is tested.
        return _strided_copy(value, wide)
    if isinstance(value, np.inexact) and not isinstance(value, (float, complex)):
        return np.complex128(value) if value.dtype.kind == "c" else np.float64(value)
    inside = leaves.children(value)
    if inside is None:
        return copy.deepcopy(value)
    return leaves.rebuild(value, [double(item) for _, item in inside])


def _strided_copy(array: Any, dtype: Any) -> Any:
    """A copy with the strides of the array, gaps included, as another dtype (None: the same)."""
    if not isinstance(array, np.ndarray) or array.size == 0:
        return array.copy() if dtype is None else array.astype(dtype)
    wide = array.dtype if dtype is None else np.dtype(dtype)
    if any(stride <= 0 or stride % array.itemsize for stride in array.strides):
        return array.astype(wide)
    strides = tuple(stride // array.itemsize * wide.itemsize for stride in array.strides)
    span = sum((n - 1) * stride for n, stride in zip(array.shape, strides, strict=True))
    twin = np.ndarray(array.shape, wide, np.zeros(span + wide.itemsize, np.uint8), 0, strides)
    twin[...] = array
    return twin


def random_like(value: Any, rng: np.random.Generator) -> Any:
    """Normal random numbers at every floating leaf; other leaves become None."""
    if leaves.is_leaf(value):
        shape = tuple(getattr(value, "shape", ()))
        draw = np.asarray(rng.standard_normal(shape))
        if isinstance(value, complex) or leaves.dtype_class(value) == "c":
            draw = draw + 1j * rng.standard_normal(shape)
        if not leaves.is_array(value):
            return type(value)(draw.item())
        twin = leaves.zeros(value)
        twin += _in_module(value, draw.astype(value.dtype))  # (a sum of arrays of rank 0 is none)
        return twin
    inside = leaves.children(value)
    if inside is None:
        return None
    return leaves.rebuild(value, [random_like(item, rng) for _, item in inside])


def _in_module(value: Any, draw: np.ndarray) -> Any:
    """The draw as an array of the value's own module, by filling one of its arrays."""
    if isinstance(value, np.ndarray):
        return draw
    filled = leaves.zeros(value)
    for index in np.ndindex(*draw.shape):
        filled[index] = draw[index].item()
    return filled


def inner(first: Any, second: Any) -> float:
    """The real inner product over all leaves: the sum of Re(conj(a) b)."""
    if first is None or second is None:
        return 0.0
    if leaves.is_leaf(first) or leaves.is_leaf(second):
        return float(np.real(np.vdot(np.asarray(first), np.asarray(second))))
    a, b = leaves.children(first), leaves.children(second)
    return sum((inner(x, y) for (_, x), (_, y) in zip(a or (), b or (), strict=True)), 0.0)


def unit_direction(values: list[Any], rng: np.random.Generator) -> list[Any]:
    """A random direction of length one over all the values together."""
    drawn = [random_like(value, rng) for value in values]
    length = sum(inner(part, part) for part in drawn) ** 0.5
    return [scaled(part, 1.0 / length) if length else part for part in drawn]


def scaled(value: Any, factor: float) -> Any:
    """Every leaf times a number."""
    return combined(value, value, lambda a, _: a * factor)


def moved(value: Any, direction: Any, step: float) -> Any:
    """`value + step * direction`, leaves without a direction as they are (fresh all the same)."""
    return combined(double(value), direction, lambda a, d: _kept_layout(a, a + step * d))


def _kept_layout(value: Any, new: Any) -> Any:
    if not leaves.is_array(value):
        return type(value)(new)
    value[...] = new
    return value


def combined(value: Any, other: Any, fn: Callable[[Any, Any], Any]) -> Any:
    """Two values of one structure, leaf by leaf."""
    if leaves.is_leaf(value):
        return value if other is None else fn(value, other)
    inside = leaves.children(value)
    if inside is None or other is None:
        return value
    parts = zip(inside, leaves.children(other) or (), strict=True)
    return leaves.rebuild(value, [combined(a, b, fn) for (_, a), (_, b) in parts])


def directional(
    call: Callable[[list[Any]], Any], values: list[Any], direction: list[Any], eps: float
) -> Any:
    """The central difference of `call` along a direction, in the structure of its value."""
    above = call([moved(v, d, eps) for v, d in zip(values, direction, strict=True)])
    below = call([moved(v, d, -eps) for v, d in zip(values, direction, strict=True)])
    return combined(above, below, lambda a, b: (a - b) / (2 * eps))


def entries(value: Any) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Every entry of every leaf: text that reaches it, the leaf, its index there."""
    for path, leaf in leaves.leaves(value):
        for index in np.ndindex(*getattr(leaf, "shape", ())):
            text = f"[{', '.join(map(str, index))}]" if index else ""
            yield path + text, leaf, index
