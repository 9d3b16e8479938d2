"""Forces from the energies of objects: derivatives inside functions, by or at objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.sampled import one_in


class Spring:
    """A particle on a spring that stiffens, over a wavy ground."""

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def energy(self, q):
        return 0.5 * self.stiffness * np.sum(q * q) + self.ground(q)

    def ground(self, q):
        return np.sum(np.cos(q) * q)

    def force(self, q):
        return -tl.grad(lambda p: self.energy(p))(q)


class Chain:
    """A sum of such."""

    def __init__(self, springs):
        self.springs = springs

    def energy(self, q):
        total = 0.0
        for spring in self.springs:
            total = total + spring.energy(q)
        return total


def energy_of(system, q):
    return system.energy(q)


def force_of(system, q):
    return -tl.grad(energy_of, wrt=1)(system, q)


def pushed(q, v, system):
    """Pulls `q` by the force, in place, and says how far."""
    q += 0.1 * v
    return system.energy(q)


def leapfrog(stiffness, q, v):
    spring = Spring(stiffness)
    for _ in range(3):
        v = v - 0.1 * tl.grad(energy_of, wrt=1)(spring, q)
        q = q + 0.1 * v
    return np.sum(q * q)


def by_method(stiffness, q):
    spring = Spring(stiffness)
    return np.sum(spring.force(q) ** 2) * spring.stiffness


def of_a_chain(chain, q):
    f = force_of(chain, q)
    return np.sum(f * f * q)


def by_the_object(stiffness, q):
    spring = Spring(stiffness)
    value, slope = tl.value_and_grad(energy_of)(spring, q)
    return value * slope.stiffness


def by_stiffness_and_place(stiffness, q):
    spring = Spring(stiffness)
    inner = tl.grad(lambda p: np.sum(tl.grad(lambda r: spring.energy(r))(p) ** 2))
    return np.sum(inner(q) * q)


def along_itself(stiffness, q):
    return np.sum(tl.hvp(energy_of, wrt=1)(Spring(stiffness), q, q))


def along_itself_in_containers(stiffness, q):
    table = {"a": Spring(stiffness), "b": Spring(stiffness * stiffness)}
    total = np.sum(tl.hvp(energy_of, wrt=1)(table["a"], q, q))
    for spring in [table["b"], Spring(q[0])]:
        total = total + np.sum(tl.hvp(spring.energy)(q, q))
    return total + np.sum(tl.jacobian(tl.grad(energy_of, wrt=1), wrt=1)(table["b"], q) @ q)


def of_what_is_written(stiffness, q, v):
    spring = Spring(stiffness)
    g = tl.grad(pushed)(q, v, spring)
    return np.sum(g * q)


def of_objects_given(springs, q):
    total = 0.0
    for spring in springs:
        total = total + np.sum(tl.grad(energy_of, wrt=1)(spring, q) * q)
    return total


K, Q, V = 0.9, np.array([0.3, 0.7, -0.4]), np.array([0.2, -0.5, 0.6])
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "leapfrog": (leapfrog, (K, Q, V)),
    "in a method": (by_method, (K, Q)),
    "objects in objects": (of_a_chain, (Chain([Spring(K), Spring(0.7)]), Q)),
    "by the object": (by_the_object, (K, Q)),
    "of a derivative": (by_stiffness_and_place, (K, Q)),
    "product with a Hessian": (along_itself, (K, Q)),
    "products in containers": (along_itself_in_containers, (K, Q)),
    "of what is written": (of_what_is_written, (K, Q, V)),
    "objects given": (of_objects_given, ([Spring(K), Spring(1.4)], Q)),
}


@pytest.mark.parametrize("name", one_in(4, CASES))
def test_both_modes(name: str) -> None:
    f, args = CASES[name]
    rng = np.random.default_rng(0)
    direction = [agreement.random_direction(a, rng) for a in args]
    expected = agreement.slope(f, args, direction)
    gradient = tl.grad(f, wrt=tuple(range(len(args))))
    assert agreement.close(agreement.inner(list(gradient(*args)), direction), expected, 1e-6)
    _, change = tl.jvp(f, args, tuple(direction))
    assert agreement.close(float(change), expected, 1e-6)


@pytest.mark.parametrize("name", ["leapfrog", "in a method", "by the object"])
def test_second_order(name: str) -> None:
    f, args = CASES[name]
    got = tl.hvp(f, wrt=1)(*args, V)
    df, step = tl.grad(f, wrt=1), 1e-5
    up, down = (df(args[0], Q + t * V, *args[2:]) for t in (step, -step))
    np.testing.assert_allclose(got, (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


class Ground:
    def __init__(self, slope):
        self.slope = slope

    def energy(self, q):
        return self.slope * np.sum(q)


def test_objects_of_other_classes_are_derived_for_what_they_are() -> None:
    df = tl.grad(force_energy, wrt=1)
    np.testing.assert_allclose(df(Ground(2.0), Q), np.zeros(3), atol=1e-15)
    np.testing.assert_allclose(
        df(Spring(K), Q), tl.grad(lambda q: force_energy(Spring(K), q))(Q), rtol=1e-12
    )
    df(Ground(2.0), Q)
    with pytest.raises(TypeError, match="written for a Ground and got a Spring"):
        df.__wrapped__(Spring(K), Q)


def force_energy(system, q):
    f = force_of(system, q)
    return np.sum(f * f)


def test_classes_that_only_the_entry_tells() -> None:
    def of_an_entry(table, q):
        return np.sum(tl.grad(energy_of, wrt=1)(table["a" if q[0] > 0.0 else "b"], q) ** 2)

    table = {"a": Spring(K), "b": Ground(1.5)}
    for q in (np.abs(Q), -np.abs(Q)):
        expected = tl.grad(force_energy, wrt=1)(table["a" if q[0] > 0.0 else "b"], q)
        np.testing.assert_allclose(tl.grad(of_an_entry, wrt=1)(table, q), expected, rtol=1e-12)


# ------------------------------------------------------- methods themselves, and called objects


class Potential:
    """Forces by the energy of whatever class comes below."""

    def force(self, q):
        return -tl.grad(self.energy)(q)

    def pushed(self, q, t):
        q_bar, t_bar = tl.grad(self.driven, wrt=(0, 1))(q, t)
        _, along = tl.jvp(self.driven, (q, t), (q * q, None))
        return np.sum(q_bar * q_bar) + t_bar * along

    def driven(self, q, t):
        return self.energy(q) * np.cos(t)


class Well(Potential):
    def __init__(self, depth):
        self.depth = depth

    def energy(self, q):
        return self.depth * np.sum((1.0 - np.exp(-q)) ** 2)


class Net:
    def __init__(self, w):
        self.w = w

    def __call__(self, t):
        return np.sum(self.w * np.tanh(self.w * t))

    def loss(self, t):
        return (tl.grad(self)(t) + self(t)) ** 2 + tl.grad(lambda s: self(s) * s)(t)


def methods_of_classes(depth, q):
    well = Well(depth)
    for _ in range(2):
        q = q + 0.1 * well.force(q)
    return np.sum(q * q) + well.pushed(q, depth)


def methods_of_locals(depth, q):
    well = Well(depth)
    value, back = tl.vjp(well.energy, q)
    curvature = np.trace(tl.hessian(well.energy)(q)) + np.sum(tl.hvp(well.energy)(q, q))
    slope = tl.jvp(lambda p: well.energy(p * p), (q,), (q,))[1]
    return np.sum(back(value)[0]) * curvature + slope


def called_objects(depth, q):
    net = Net(q * depth)
    return net.loss(0.3) + tl.grad(net)(depth)


OUTSIDE = Well(1.3)
outside_force = tl.grad(OUTSIDE.energy)


def methods_of_outer_objects(depth, q):
    return depth * np.sum(tl.grad(OUTSIDE.energy)(q) ** 2) + np.sum(OUTSIDE.force(q))


@pytest.mark.parametrize(
    "f",
    one_in(4, [methods_of_classes, methods_of_locals, methods_of_outer_objects, called_objects], 2),
)
def test_methods_and_called_objects(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (K, Q))
    gradient = tl.grad(f, wrt=1)
    expected = agreement.slope(lambda q: gradient(K, q) @ V, (Q,), [Q])
    found = tl.grad(lambda q: gradient(K, q) @ V)(Q) @ Q  # reverse over reverse
    assert agreement.close(float(found), expected, 1e-6)
    assert agreement.close(float(tl.hvp(f, wrt=1)(K, Q, Q) @ V), expected, 1e-6)


def test_parameters_of_methods_by_name() -> None:
    def by_name(system, q):
        return np.sum(tl.grad(system.energy, wrt="q")(q) ** 2)

    tl.check_grads(by_name, (Spring(K), Q), wrt=1)


def test_what_is_not_known_is_refused_with_advice() -> None:
    with pytest.raises(tl.UnsupportedError, match="a derivative of a method or a partial"):
        tl.grad(lambda q: np.sum(outside_force(q)))(Q)
