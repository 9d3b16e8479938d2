"""Running a rule without the rest of the house: an interpreter of its bound lines.

`check` compares a rule with central differences along one seeded direction, for every set
of active arguments, and its two modes with each other by `<y_bar, y_dot> == <x_bar, x_dot>`.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from tangentlike import ir
from tangentlike.ir.kind import Kind
from tangentlike.rules import default_book
from tangentlike.rules.bind import Instance, bind


def run(expr: Any, env: dict[str, Any]) -> Any:
    """The value of an expression of the IR."""
    match expr:
        case ir.Var(name):
            return env[name]
        case ir.Const(value):
            return value
        case ir.Ref():
            return expr.obj
        case ir.Call():
            args = [run(arg, env) for arg in expr.args]
            return run(expr.fn, env)(*args, **{k: run(v, env) for k, v in expr.kwargs})
        case ir.Index():
            return operator.getitem(run(expr.base, env), run(expr.key, env))
        case ir.Slice():
            parts = (expr.lower, expr.upper, expr.step)
            return slice(*(None if part is None else run(part, env) for part in parts))
        case ir.Attribute():
            return getattr(run(expr.base, env), expr.name)
        case ir.Display():
            items = [run(item, env) for item in expr.items]
            return tuple(items) if expr.form == "tuple" else items
    raise AssertionError(f"no value for {expr}")


def kind_of_value(value: Any) -> Kind:
    """What is known of an example: as much as can be."""
    if isinstance(value, (list, tuple)):
        return Kind("tuple" if isinstance(value, tuple) else "list")
    dtype = {"f": "float", "c": "complex", "i": "int", "b": "bool"}[np.asarray(value).dtype.kind]
    if isinstance(value, np.ndarray):
        shape = tuple(1 if n == 1 else f"n{n}" for n in value.shape)
        return Kind("array", dtype, shape)
    return Kind("number", dtype, ())


def flat(value: Any) -> np.ndarray:
    """All numbers of a value, complex ones as two."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([flat(v) for v in value]) if value else np.zeros(0)
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return np.concatenate([value.real.ravel(), value.imag.ravel()])
    return value.astype(float).ravel()


def move(value: Any, direction: Any, step: float) -> Any:
    if isinstance(value, (list, tuple)):
        return [move(v, d, step) for v, d in zip(value, direction, strict=True)]
    return value + step * direction


def random_like(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, (list, tuple)):
        return [random_like(v, rng) for v in value]
    shape = np.shape(value)
    found = rng.standard_normal(shape)
    if np.asarray(value).dtype.kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    if isinstance(value, np.ndarray):
        return np.asarray(found, dtype=value.dtype)
    return found.item() if np.ndim(found) == 0 else found


def shapes(value: Any) -> Any:
    return [shapes(v) for v in value] if isinstance(value, (list, tuple)) else np.shape(value)


def shaped(y_dot: Any, y: Any) -> Any:
    """A tangent in the shape of its result, as forward mode completes it."""
    if isinstance(y, (list, tuple)):
        return [shaped(None if y_dot is None else d, p) for d, p in zip(y_dot, y, strict=True)]
    full = np.broadcast_to(0.0 if y_dot is None else y_dot, np.shape(y))
    return full.astype(np.result_type(full.dtype, np.asarray(y).dtype))


def instance_of(obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: bool) -> Any:
    """The bound rule of a call, its environment and the parameters that carry derivatives."""
    env: dict[str, Any] = {}
    actuals = []
    for place, arg in enumerate(args):
        name = f"v{place}"
        if carries(arg):
            env[name] = arg
            actuals.append(ir.Var(name))
        else:
            actuals.append(ir.Const(arg))
    pairs = tuple((k, ir.Const(v)) for k, v in kwargs.items())
    call = ir.Call(ir.Ref(getattr(obj, "__name__", "op"), obj), tuple(actuals), pairs)
    rule = default_book().find(obj)
    assert rule is not None, f"no rule for {obj}"
    kinds = {name: kind_of_value(v) for name, v in env.items()} if known else {}
    return bind(rule, call, kinds, real=known), env


def carries(arg: Any) -> bool:
    if isinstance(arg, (list, tuple)):
        return bool(arg) and all(map(carries, arg))
    return isinstance(arg, (float, complex)) or np.asarray(arg).dtype.kind in "fc"


def check(obj: Any, *args: Any, rtol: float = 2e-6, **kwargs: Any) -> None:
    """Check the rule of `obj` at `args`, with kinds known and unknown."""
    for known in (True, False):
        instance, env = instance_of(obj, args, kwargs, known)
        params = [p for p, a in instance.arguments.items() if isinstance(a, ir.Var)]
        for count in range(1, len(params) + 1):
            for active in itertools.combinations(params, count):
                _check(obj, args, kwargs, instance, env, active, rtol)


def _check(
    obj: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    instance: Instance,
    env: dict[str, Any],
    active: tuple[str, ...],
    rtol: float,
) -> None:
    rng = np.random.default_rng(0)
    names = {p: instance.arguments[p].name for p in active}
    dots = {p: random_like(env[n], rng) for p, n in names.items()}
    y = obj(*args, **kwargs)
    y_dot = tangent(instance, env, y, dots)

    def at(step: float) -> np.ndarray:
        moved = dict(env)
        for p, n in names.items():
            moved[n] = move(env[n], dots[p], step)
        values = [moved.get(f"v{i}", arg) for i, arg in enumerate(args)]
        return flat(obj(*values, **kwargs))

    eps = 1e-6
    expected = (at(eps) - at(-eps)) / (2 * eps)
    got = flat(shaped(y_dot, y))
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)

    y_bar = random_like(y, rng)
    total = 0.0
    for p, n in names.items():
        x_bar = adjoint(instance, env, y, y_bar, p)
        if x_bar is not None:
            assert shapes(x_bar) == shapes(env[n]), (shapes(x_bar), shapes(env[n]))
            if not isinstance(env[n], (list, tuple)):
                want = np.asarray(env[n]).dtype
                assert np.asarray(x_bar).dtype in (want, np.dtype(float)), np.asarray(x_bar).dtype
            total += flat(x_bar) @ flat(dots[p])
    np.testing.assert_allclose(total, flat(y_bar) @ got, rtol=1e-9, atol=1e-9)


def tangent(instance: Instance, env: dict[str, Any], y: Any, dots: dict[str, Any]) -> Any:
    expr = instance.tangent_with({p: ir.Var(f"dot {p}") for p in dots})
    env = {**env, "$y": y, **{f"dot {p}": dot for p, dot in dots.items()}}
    for name, value in instance.temporaries_for(expr):
        env[name] = run(value, env)
    return None if expr is None else run(expr, env)


def adjoint(instance: Instance, env: dict[str, Any], y: Any, y_bar: Any, param: str) -> Any:
    expr = instance.adjoint(param)
    env = {**env, "$y": y, "$y_bar": y_bar}
    for name, value in instance.temporaries_for(expr):
        env[name] = run(value, env)
    return None if expr is None else run(expr, env)
