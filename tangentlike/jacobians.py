"""Whole Jacobians and Hessians, one seed at a time, and products with the Hessian."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import leaves
from .api import _bound, _complete, _derivation, finished, seed_names
from .derivation import Derivation, functions_of
from .derived import OPERATORS, encode
from .errors import TangentlikeError, UnknownClassError, UnsupportedError
from .handback import Operator, finish, hand_back
from .primal import Primal, Wrt, primal_of, wrt_names
from .runtime.tape import fresh_tape
from .seeds import seed_like

__all__ = ["hessian", "hvp", "jacobian"]

Function = Callable[..., Any]


def jacobian(fn: Function | None = None, wrt: Wrt = 0, mode: str = "auto") -> Any:
    """The Jacobian of a function of arrays: an array of shape `value.shape + x.shape`.

    A function with several results (tuple, list, dict) gives one array for each, in the same
    structure; a tuple `wrt` gives a tuple. "reverse" makes one sweep for each entry of the
    value, "forward" one for each entry of x; "auto" takes the smaller number.

    >>> import numpy as np
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if fn is None:
        return lambda f: jacobian(f, wrt, mode)
    if mode not in ("auto", "forward", "reverse"):
        raise TangentlikeError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)

    @functools.cache
    def derive() -> Derivation:
        return _derivation(primal, "tangent" if mode == "forward" else "pair", names)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _complete(primal, args, kwargs)
        values = derive().values(args, kwargs)
        for name, value in zip(names, values, strict=True):
            _refuse_unsuited(primal, f"`{name}`", value)
        if mode == "forward":
            found = _forward(primal, names, values, args, kwargs)
        else:
            found = _reverse(primal, names, values, args, kwargs, mode == "auto")
        finish(matrix)
        return found[0] if single else tuple(found)

    qualname = encode("jacobian", primal.origin, wrt=names[0] if single else names, mode=mode)
    return _handed(matrix, "jacobian", primal, derive, qualname, primal.signature)


def hessian(fn: Function | None = None, wrt: Wrt = 0) -> Any:
    """The Hessian of a real scalar function: an array of shape `x.shape + x.shape`.

    A tuple `wrt` gives a tuple of tuples: block i, j is the derivative by i, then by j.
    Computed forward over reverse.

    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    if fn is None:
        return lambda f: hessian(f, wrt)
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)

    @functools.cache
    def derive() -> Derivation:
        gradient = _derivation(primal, "grad", names, single)
        return _derivation(_emitted_primal(primal, gradient), "tangent", names)

    def matrix(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _complete(primal, args, kwargs)
        outer = derive().suited(args, kwargs)
        values = outer.values(args, kwargs)
        for name, value in zip(names, values, strict=True):
            _refuse_unsuited(primal, f"`{name}`", value)
        columns = _forward(outer.primal, names, values, args, kwargs)
        finish(matrix)
        if single:
            return columns[0]
        return tuple(tuple(column[i] for column in columns) for i in range(len(names)))

    qualname = encode("hessian", primal.origin, wrt=names[0] if single else names)
    return _handed(matrix, "hessian", primal, derive, qualname, primal.signature)


def hvp(fn: Function | None = None, wrt: Wrt = 0) -> Any:
    """The product of the Hessian with a vector, without the Hessian: `hvp(f)(x, v)`.

    The result takes the arguments of `fn` and then `v`, which has the structure of the gradient
    (a tuple for a tuple `wrt`). Computed forward over reverse, at the cost of a few gradients.

    >>> hvp(lambda x: x**3)(2.0, 10.0)
    120.0
    """
    if fn is None:
        return lambda f: hvp(f, wrt)
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)

    @functools.cache
    def derive() -> Derivation:
        gradient = _derivation(primal, "grad", names, single)
        return _derivation(_emitted_primal(primal, gradient), "tangent", names)

    def product(*args: Any, **kwargs: Any) -> Any:
        args, kwargs, v = _vector(args, kwargs)
        args, kwargs = _complete(primal, args, kwargs)
        try:
            outer = derive().suited(args, kwargs)
        except UnknownClassError:  # what the arguments are tells it
            gradient = _derivation(primal, "grad", names, single).suited(args, kwargs)
            inner = _emitted_primal(primal, gradient)
            outer = _derivation(inner, "tangent", names).suited(args, kwargs)
        values = outer.values(args, kwargs)
        vectors = (v,) if single else tuple(v)
        if len(vectors) != len(names):
            raise TangentlikeError(f"v must have {len(names)} parts, one for each of {names}")
        dots = {
            dot: seed_like(value, part, f"v for `{name}`")
            for dot, name, value, part in zip(
                seed_names(outer), names, values, vectors, strict=True
            )
        }
        _, change = outer.call(args, {**kwargs, **dots})
        finish(product, outer)
        found = finished(values, [change] if single else change, (*args, *dots.values()))
        return found[0] if single else tuple(found)

    qualname = encode("hvp", primal.origin, wrt=names[0] if single else names)
    return _handed(product, "hvp", primal, derive, qualname, _with_vector(primal.signature))


def _vector(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    if "v" in kwargs:
        return args, {k: value for k, value in kwargs.items() if k != "v"}, kwargs["v"]
    if not args:
        raise TypeError("the vector v, the last argument, is missing")
    return args[:-1], kwargs, args[-1]


def _with_vector(signature: inspect.Signature) -> inspect.Signature:
    """The signature with `v` as the last positional parameter."""
    Parameter = inspect.Parameter
    own = [p.replace(default=p.empty) for p in signature.parameters.values()]
    before = [p for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    after = [p for p in own if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kind = Parameter.POSITIONAL_ONLY if "v" in signature.parameters else None
    if kind is not None:  # f has a v of its own: ours is by position only, so all before are
        before = [p.replace(kind=kind) for p in before]
    v = Parameter("v_" if kind is not None else "v", kind or Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([*before, v, *after])


def _emitted_primal(primal: Primal, derivation: Derivation) -> Primal:
    return Primal(derivation.emitted, primal.name, None, inner=derivation)


def _handed(
    function: Any,
    name: str,
    primal: Primal,
    derive: Callable[[], Derivation],
    qualname: str,
    signature: inspect.Signature,
) -> types.FunctionType:
    """The function dressed, the same one each time where it can be told by its name."""
    handed = _derivation(primal, "tangent", primal.free_names[:1]).handed
    if qualname in handed and not _bound(primal):
        return handed[qualname]
    operator = Operator(name, primal, derive, exact=False)
    dressed = hand_back(function, operator, qualname, signature)
    if not _bound(primal):
        handed[qualname] = dressed
    return dressed


# -------------------------------------------------------------------------- seed by seed


def _refuse_unsuited(primal: Primal, what: str, value: Any) -> None:
    if not leaves.is_leaf(value):
        raise UnsupportedError(
            f"the Jacobian of {primal.name}: {what} is a {type(value).__name__}",
            hint="Jacobians are by floats and arrays; use tl.jvp or tl.vjp for containers.",
        )
    if isinstance(value, complex) or leaves.dtype_class(value) == "c":
        raise UnsupportedError(
            f"the Jacobian of {primal.name}: {what} is complex",
            hint="Split it into real and imaginary part, or use tl.jvp and tl.vjp.",
        )


def _size(value: Any) -> int:
    return sum(int(np.prod(getattr(leaf, "shape", ()))) for _, leaf in leaves.leaves(value))


def _indices(leaf: Any) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*getattr(leaf, "shape", ()))


def _unit(leaf: Any, index: tuple[int, ...]) -> Any:
    """The seed that is one at an entry and zero elsewhere."""
    if not leaves.is_array(leaf):
        return type(leaf)(1.0)
    seed = leaves.zeros(leaf)
    seed[index] = 1.0
    return seed


def _empty(row: Any, column: Any) -> Any:
    """Room for the derivative of `row` by `column`."""
    shape = (*getattr(row, "shape", ()), *getattr(column, "shape", ()))
    arrays = [a for a in (row, column) if leaves.is_array(a)]
    if not arrays:
        return 0.0
    return np.zeros_like(arrays[0], shape=shape, dtype=np.result_type(*arrays), order="C")


def _map_leaves(value: Any, fn: Callable[[Any], Any]) -> Any:
    if leaves.is_leaf(value):
        return fn(value)
    inside = leaves.children(value)
    if inside is None:
        return None
    return leaves.rebuild(value, [_map_leaves(item, fn) for _, item in inside])


def _forward(
    primal: Primal,
    names: tuple[str, ...],
    values: list[Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> list[Any]:
    """One forward sweep for each entry of each value of `wrt`."""
    found = []
    for name, x in zip(names, values, strict=True):
        derivation = _derivation(primal, "tangent", (name,)).suited(args, kwargs)
        (dot,) = seed_names(derivation)
        blocks: Any = None
        for index in _indices(x):
            seeded = {**kwargs, dot: _unit(x, index)}
            value, tangent = derivation.call(args, seeded)
            if blocks is None:
                blocks = _map_leaves(value, lambda leaf: [_empty(leaf, x)])  # noqa: B023
            _put(blocks, leaves.like(value, tangent), index, from_left=False)
        if blocks is None:  # x has no entries
            value = derivation.call(args, {**kwargs, dot: leaves.zeros(x)})[0]
            blocks = _map_leaves(value, lambda leaf: [_empty(leaf, x)])  # noqa: B023
        found.append(_opened(blocks))
    return found


def _put(blocks: Any, part: Any, index: tuple[int, ...], from_left: bool) -> None:
    """Write one row (from the left) or column of the blocks (each in a list of one)."""
    if isinstance(blocks, list) and len(blocks) == 1 and (part is None or leaves.is_leaf(part)):
        if not leaves.is_array(blocks[0]):
            blocks[0] = float(part)
        else:
            blocks[0][index if from_left else (..., *index)] = part
        return
    pairs = zip(leaves.children(blocks) or (), leaves.children(part) or (), strict=True)
    for (_, block), (_, item) in pairs:
        _put(block, item, index, from_left)


def _opened(blocks: Any) -> Any:
    """Blocks without the lists of one that made numbers writable."""
    if isinstance(blocks, list) and len(blocks) == 1 and leaves.is_leaf(blocks[0]):
        return blocks[0]
    inside = leaves.children(blocks)
    return blocks if not inside else leaves.rebuild(blocks, [_opened(b) for _, b in inside])


def _reverse(
    primal: Primal,
    names: tuple[str, ...],
    values: list[Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    auto: bool,
) -> list[Any]:
    """One reverse sweep for each entry of the value; forward instead if that is less work."""
    derivation = _derivation(primal, "pair", names).suited(args, kwargs)
    run, back = functions_of(derivation.derived)
    value, tape = derivation.run(run, args, kwargs)
    if auto and _size(value) > _size(values):
        return _forward(primal, names, values, args, kwargs)
    for _, leaf in leaves.leaves(value):
        _refuse_unsuited(primal, "its value", leaf)
    rows = list(leaves.leaves(value))
    blocks = [[[_empty(leaf, x)] for _, leaf in rows] for x in values]
    for number, (_, leaf) in enumerate(rows):
        for index in _indices(leaf):
            seed = _nth_seed(value, number, index)
            again = fresh_tape(tape, derivation.writes_tape)
            bars = derivation.guarded(back, (again, seed), {})
            for block, bar in zip(blocks, finished(values, bars, ()), strict=True):
                _put(block[number], bar, index, from_left=True)
    return [_structured(value, [b[0] for b in block]) for block in blocks]


def _nth_seed(value: Any, number: int, index: tuple[int, ...]) -> Any:
    """Zeros like the value, but one at an entry of its n-th leaf."""
    counted = iter(range(_count(value)))
    zero = _map_leaves(
        value,
        lambda leaf: _unit(leaf, index) if next(counted) == number else seed_like(leaf, None),
    )
    return seed_like(value, zero)


def _count(value: Any) -> int:
    return sum(1 for _ in leaves.leaves(value))


def _structured(value: Any, blocks: list[Any]) -> Any:
    """One block for each leaf, in the structure of the value."""
    taken = iter(blocks)
    return _map_leaves(value, lambda leaf: next(taken))


OPERATORS.update(jacobian=jacobian, hessian=hessian, hvp=hvp)
