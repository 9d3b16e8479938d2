"""A gradient check to look at: the error of differences against their step, for each argument.

Central differences are wrong by the square of the step where that is large, and by rounding over
the step where it is small: against a right derivative their error has the form of a V. Against a
wrong one it stays up, whatever the step.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..api.calls import vjp
from ..errors import TangentlikeError
from ..frontend.primal import primal_of, wrt_names
from ..pytree import leaves
from ..testing.grads import double, entries, inner, moved, random_like, unit_direction
from .tables import format_number, new_axes

STEPS = tuple(10.0 ** (-n / 2.0) for n in range(1, 25))
_AGREES = 1e-5


@dataclass(frozen=True)
class Entry:
    """One entry of an argument: what differences say of it, what the derivative says."""

    name: str
    expected: float
    got: float

    @property
    def error(self) -> float:
        """The difference, relative to the larger of both."""
        scale = max(abs(self.expected), abs(self.got))
        return abs(self.expected - self.got) / scale if scale else 0.0

    def __str__(self) -> str:
        return (
            f"{self.name}: differences {self.expected:.8g}, derivative {self.got:.8g}, "
            f"relative error {self.error:.1e}"
        )


@dataclass(frozen=True)
class Curve:
    """The relative error by step for one argument, along one direction; `worst` are the entries
    that differ most, at the best step."""

    argument: str
    steps: tuple[float, ...]
    errors: tuple[float, ...]
    worst: tuple[Entry, ...] = field(repr=False)

    @property
    def lowest(self) -> float:
        """The smallest error that any step gives."""
        return float(np.nanmin(self.errors)) if np.isfinite(self.errors).any() else float("nan")

    @property
    def best_step(self) -> float:
        """The step of that."""
        errors = np.where(np.isfinite(self.errors), self.errors, np.inf)
        return self.steps[int(np.argmin(errors))]

    @property
    def ok(self) -> bool:
        """Whether it comes down."""
        return self.lowest <= _AGREES

    def __str__(self) -> str:
        verdict = "agrees" if self.ok else "DIFFERS at every step"
        low, step = format_number(self.lowest), format_number(self.best_step)
        return f"{self.argument}: {verdict}: error {low} at step {step}"


@dataclass(frozen=True)
class Curves:
    """The curves of a function at a point, one for each argument; a notebook shows the picture."""

    title: str
    curves: tuple[Curve, ...]

    @property
    def ok(self) -> bool:
        """Whether every curve comes down."""
        return all(curve.ok for curve in self.curves)

    def __str__(self) -> str:
        lines = []
        for curve in self.curves:
            lines.append(str(curve))
            lines += [f"    {entry}" for entry in curve.worst]
        return "\n".join(lines)

    def plot(self, axes: Any = None) -> Any:
        """Draw the error against the step; gives matplotlib's axes."""
        if axes is None:
            axes = new_axes((7.0, 4.4), "print the curves, or look at `curves`, without it.")
        for curve in self.curves:
            errors = np.maximum(curve.errors, 1e-17)
            label = f"{curve.argument}{'' if curve.ok else ' (differs)'}"
            axes.plot(curve.steps, errors, "o-" if curve.ok else "x--", ms=4, label=label)
        axes.axhline(_AGREES, color="grey", lw=0.8, ls=":")
        axes.set(xscale="log", yscale="log", xlabel="step of central differences")
        axes.set(ylabel="relative error of the derivative", title=self.title)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return axes

    def save(self, path: Any) -> None:
        """Write the picture to a file, whose ending says the format."""
        figure = self.plot().figure
        figure.savefig(path, dpi=150)
        _close(figure)

    def _repr_html_(self) -> str:
        from ..codegen.print.text import escaped

        try:
            figure = self.plot().figure
        except TangentlikeError:
            return f"<pre>{escaped(self)}</pre>"
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=110)
        _close(figure)
        data = base64.b64encode(stream.getvalue()).decode()
        picture = f'<img alt="error against step" src="data:image/png;base64,{data}">'
        return f"{picture}<pre>{escaped(self)}</pre>"


def _close(figure: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(figure)


def step_curves(
    f: Callable[..., Any], *args: Any, wrt: Any = None, seed: int = 0, most: int = 200
) -> Curves:
    """The error of the derivative against central differences, by their step.

    Parameters
    ----------
    f, *args : a function and where to look; its value may have any structure.
    wrt : the arguments to look at (default: all that hold floats).
    seed : of the random directions.
    most : of an argument whose curve stays up, so many entries are compared one by one, and
        the worst named.

    Returns
    -------
    Curves
        `print(curves)` says for each argument how small the error gets, `curves.plot()` draws
        them, `curves.ok` says whether all come down.

    Raises
    ------
    TangentlikeError
        if `f` cannot be differentiated, or no argument holds floats.

    Examples
    --------
    >>> import numpy as np
    >>> import tangentlike as tl
    >>> tl.debugging.step_curves(lambda x: np.sum(np.sin(x)), np.ones(3)).ok
    True
    """
    primal = primal_of(f)
    rng = np.random.default_rng(seed)
    given = [double(value) for value in args]
    chosen = _chosen(primal, wrt, given)
    value, pullback = vjp(f, *given)
    single = leaves.is_number(value) and not isinstance(value, complex | np.complexfloating)
    weights = type(value)(1.0) if single else random_like(value, rng)
    bars = pullback(weights)

    def scalar(values: list[Any]) -> float:
        return inner(weights, f(*values))

    curves = []
    for position in chosen:
        name = primal.positional[position] if position < len(primal.positional) else str(position)
        curves.append(_curve(scalar, given, position, bars[position], name, rng, most))
    return Curves(f"{primal.name}: derivative against differences", tuple(curves))


def _chosen(primal: Any, wrt: Any, args: list[Any]) -> list[int]:
    floating = [n for n, value in enumerate(args) if leaves.has_leaf(value)]
    if wrt is not None:
        names, _ = wrt_names(primal, wrt)
        floating = [list(primal.positional).index(name) for name in names]
    if not floating:
        raise TangentlikeError(f"no argument of {primal.name} holds floats: nothing to check")
    return floating


def _curve(
    scalar: Callable[[list[Any]], float],
    args: list[Any],
    position: int,
    bar: Any,
    name: str,
    rng: np.random.Generator,
    most: int,
) -> Curve:
    (direction,) = unit_direction([args[position]], rng)
    slope = inner(bar, direction)

    def difference(along: Any, step: float) -> float:
        ends = []
        for sign in (1.0, -1.0):
            values = [double(v) for v in args]
            values[position] = moved(args[position], along, sign * step)
            ends.append(scalar(values))
        return (ends[0] - ends[1]) / (2.0 * step)

    with np.errstate(all="ignore"):
        found = [difference(direction, step) for step in STEPS]
    scale = max(abs(slope), float(np.nanmedian(np.abs(found))), 1e-300)
    errors = tuple(abs(d - slope) / scale for d in found)
    curve = Curve(name, STEPS, errors, ())
    if curve.ok:
        return curve
    worst = []
    for path, leaf, index in list(entries(args[position]))[:most]:
        unit = _unit(args[position], leaf, index)
        got = inner(bar, unit)
        worst.append(Entry(f"{name}{path}", difference(unit, 1e-5), got))
    worst.sort(key=lambda entry: -entry.error)
    return Curve(name, STEPS, errors, tuple(worst[:5]))


def _unit(value: Any, leaf: Any, index: tuple[int, ...]) -> Any:
    """One at an entry of a leaf of a value, zero elsewhere."""
    if value is leaf:
        if not leaves.is_array(value):
            return type(value)(1.0)
        made = leaves.zeros(value)
        made[index] = 1.0
        return made
    inside = leaves.children(value)
    if inside is None:
        return leaves.zeros(value) if leaves.is_leaf(value) else None
    return leaves.rebuild(value, [_unit(item, leaf, index) for _, item in inside])
