"""Second derivatives of a generated program, by each mode over each mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tests import agreement


def expected_curvature(f: Callable[..., Any], args: tuple[Any, ...], u: Any, v: Any) -> Any:
    """The second derivative along u and v, by differences of the gradient along u.

    None where the two steps disagree: a kink near the arguments.
    """
    import tangentlike as tl

    gradient = tl.grad(f, wrt=tuple(range(len(args))))

    def along_u(*args: Any) -> float:
        return agreement.inner(u, list(gradient(*args)))

    slopes = [agreement.slope(along_u, args, v, h) for h in (1e-4, 2e-5)]
    return slopes[0] if agreement.close(slopes[0], slopes[1], 2e-6) else None


def forward_over_reverse(f: Any, args: Any, wrt: Any, u: Any, v: Any, emitted: list[Any]) -> float:
    import tangentlike as tl

    gradient = tl.grad(f, wrt=wrt)
    emitted.append(tl.autodiff(gradient, wrt=wrt, mode="forward"))
    _, change = tl.jvp(gradient, tuple(args), tuple(v))
    return agreement.inner(u, list(change))


def reverse_over_reverse(f: Any, args: Any, wrt: Any, u: Any, v: Any, emitted: list[Any]) -> float:
    import tangentlike as tl

    gradient = tl.grad(f, wrt=wrt)
    emitted.append(tl.autodiff(gradient, wrt=wrt))
    _, pullback = tl.vjp(gradient, *args)
    return agreement.inner(v, list(pullback(tuple(u))))


def reverse_over_forward(f: Any, args: Any, wrt: Any, u: Any, v: Any, emitted: list[Any]) -> float:
    import tangentlike as tl

    tangent = tl.autodiff(f, wrt=wrt, mode="forward")
    emitted.append(tl.autodiff(tangent, wrt=wrt))
    by_place, by_name = _seeds(tangent, u)
    _, pullback = tl.vjp(tangent, *args, *by_place, **by_name)
    return agreement.inner(v, list(pullback((0.0, 1.0)))[: len(args)])


def forward_over_forward(f: Any, args: Any, wrt: Any, u: Any, v: Any, emitted: list[Any]) -> float:
    import tangentlike as tl

    tangent = tl.autodiff(f, wrt=wrt, mode="forward")
    emitted.append(tl.autodiff(tangent, wrt=wrt, mode="forward"))
    by_place, by_name = _seeds(tangent, u)
    still = (None for _ in by_place)
    _, (_, change) = tl.jvp(tangent, (*args, *by_place), (*v, *still), **by_name)
    return float(change)


def _seeds(tangent: Any, u: Any) -> tuple[Any, dict[str, Any]]:
    """The seeds by position, or by name where a parameter before them has a default."""
    last = list(inspect.signature(tangent).parameters.values())[-len(u) :]
    if any(p.kind is not p.KEYWORD_ONLY for p in last):
        return u, {}
    return (), {p.name: seed for p, seed in zip(last, u, strict=True)}


SECOND_ORDER = (
    forward_over_reverse,
    reverse_over_reverse,
    reverse_over_forward,
    forward_over_forward,
)
