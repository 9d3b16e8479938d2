"""Independent gradients: one for each member of a batch or an ensemble, many in a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..api.calls import grad as plain_grad
from ..api.calls import value_and_grad as plain_value_and_grad
from ..frontend.primal import Primal, Wrt, primal_of, wrt_names
from . import plans
from .chunked import compiled_plan, over_names
from .pullbacks import Shipped
from .texts import call_of, header, identifier, member, own_name, sent

_OPERATORS = {"grad": plain_grad, "value_and_grad": plain_value_and_grad}


def map_grad(
    fn: Callable[..., Any] | None = None,
    wrt: Wrt = 0,
    *,
    over: str | Sequence[str],
    members: int | None = None,
    has_aux: bool = False,
    example: Any = None,
    scheduler: Any = None,
    progress: bool = False,
) -> Any:
    """The gradient of `fn` for each member of a batch, as a function with its signature.

    `over` names the parameters of which each member has its own: the function takes for these a
    Dask array or an array, of which each row is a member, or a list. Results are stacked: arrays
    have one more axis, the first. `members` says how many are computed in a task (a Dask array: a
    block). `wrt` may name parameters that all members share, too. `scheduler` and `progress` are
    those of `tl.dask.grad`.

    >>> import numpy as np, tangentlike as tl
    >>> def energy(x, k):
    ...     return k * np.sum(x * x)
    >>> tl.dask.map_grad(energy, over="x", scheduler="threads")(np.eye(2), 0.5)
    array([[1., 0.],
           [0., 1.]])
    """
    return _handed_back("grad", **dict(locals()))


def map_value_and_grad(
    fn: Callable[..., Any] | None = None,
    wrt: Wrt = 0,
    *,
    over: str | Sequence[str],
    members: int | None = None,
    has_aux: bool = False,
    example: Any = None,
    scheduler: Any = None,
    progress: bool = False,
) -> Any:
    """Like `tl.dask.map_grad`, giving the stacked `(values, gradients)`.

    >>> import numpy as np, tangentlike as tl
    >>> cubes = tl.dask.map_value_and_grad(lambda x: x**3, over="x", scheduler="threads")
    >>> cubes(np.array([1.0, 2.0]))
    (array([1., 8.]), array([ 3., 12.]))
    """
    return _handed_back("value_and_grad", **dict(locals()))


def each(
    fn: Any, operator: str, names: tuple[str, ...], over: tuple[str, ...], **options: Any
) -> Any:
    """`(arguments of a group) -> the stacked results of its members`."""
    derivative = _OPERATORS[operator](fn, **options)

    def of_group(*args: Any) -> Any:
        given = dict(zip(names, args, strict=True))
        groups = [given[name] for name in over]
        return plans.stacked(
            [
                derivative(**{**given, **dict(zip(over, items, strict=True))})
                for items in zip(*groups, strict=True)
            ]
        )

    of_group.__dict__["source"] = derivative.source
    return of_group


def _handed_back(operator: str, fn: Any, **options: Any) -> Any:
    if fn is None:
        return lambda function: _handed_back(operator, function, **options)
    scheduler, progress = options.pop("scheduler"), options.pop("progress")
    over, size = options.pop("over"), options.pop("members")
    primal = primal_of(fn)
    gone_over = over_names(primal, over)
    names, single = wrt_names(primal, options.pop("wrt"))
    options["wrt"] = names[0] if single else names
    shipped = Shipped(
        each, fn, operator=operator, names=primal.free_names, over=gone_over, **options
    )
    _ = shipped.made  # (a refusal comes where the request is made)
    text = _plan_text(primal, operator, gone_over, size)
    name = identifier(fn)
    parts = {f"{name}_{operator}_each": shipped}
    plan = compiled_plan(text, f"{name}_{operator}_of_members", {}, parts)

    def lazy(*args: Any, **kwargs: Any) -> Any:
        """The plan as a Delayed."""
        bound = primal.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return plan(*(bound.arguments[name] for name in primal.free_names))

    def of_members(*args: Any, **kwargs: Any) -> Any:
        return plans.computed(lazy(*args, **kwargs), scheduler, progress)

    made: Any = of_members
    made.__name__ = made.__qualname__ = plan.__name__
    made.__doc__, made.__signature__ = primal.function.__doc__, primal.signature
    made.delayed = lazy
    derivative = _OPERATORS[operator](fn, **options)
    shown = _each_text(primal, derivative.__name__, operator, gone_over)
    made.source = header([str(derivative.source), shown, text], shown + text)
    return made


def _plan_text(primal: Primal, operator: str, over: tuple[str, ...], size: int | None) -> str:
    names = primal.free_names
    taken = ", ".join(f"{name}={own_name(name)}" for name in over)
    members = ", ".join(member(name, names) for name in over)
    sends = [
        f"    {sent(name, names)} = constant({own_name(name)})\n"
        for name in names
        if name not in over
    ]
    given = call_of(primal, over, names).replace("=", " = ").split(", ")
    call = ", ".join(part.rpartition(" = ")[2] for part in given)  # (all by position)
    parameters, name = ", ".join(map(own_name, names)), identifier(primal.origin)
    return (
        f"def {name}_{operator}_of_members({parameters}):\n"
        f"{''.join(sends)}"
        "    parts = [\n"
        f"        delayed({identifier(primal.origin)}_{operator}_each)({call})\n"
        f"        for {members if len(over) > 1 else f'({members},)'} in groups({size}, {taken})\n"
        "    ]\n"
        "    return delayed(joined)(parts)\n"
    )


def _each_text(primal: Primal, emitted: str, operator: str, over: tuple[str, ...]) -> str:
    names = primal.free_names
    items = ", ".join(f"{name}_m" for name in over)
    data = over[0] if len(over) == 1 else f"zip({', '.join(over)}, strict=True)"
    given = [
        (f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n).removesuffix(n)
        + (f"{n}_m" if n in over else n)
        for n, p in primal.signature.parameters.items()
    ]
    return (
        f"def {identifier(primal.origin)}_{operator}_each({', '.join(names)}):\n"
        f"    results = [{emitted}({', '.join(given)}) for {items} in {data}]\n"
        "    return stacked(results)\n"
    )
