"""Classes as people write them: state kept in attributes, arrays written where they are held."""

from dataclasses import dataclass

import numpy as np

from .registry import Program


class Filter:
    """A linear state-space filter: what it predicts and corrects is in its attributes."""

    def __init__(self, a, c, gain):
        self.a = a
        self.c = c
        self.gain = gain
        self.state = np.zeros(a.shape[0])
        self.error = 0.0
        self.count = 0

    def predict(self):
        self.state = self.a @ self.state

    def correct(self, y):
        r = y - self.c @ self.state
        self.state = self.state + self.gain * r
        self.error += r * r
        self.count += 1
        return r

    def run(self, ys):
        for y in ys:
            self.predict()
            self.correct(y)
        return self.error / self.count


class Pendulum:
    """An integrator whose time, angle and speed are numbers that it changes."""

    def __init__(self, length, damping):
        self.length = length
        self.damping = damping
        self.angle = 0.5
        self.speed = 0.0
        self.time = 0.0

    @property
    def energy(self):
        return 0.5 * self.speed**2 + 9.81 / self.length * (1.0 - np.cos(self.angle))

    def step(self, dt):
        force = -9.81 / self.length * np.sin(self.angle) - self.damping * self.speed
        self.speed += dt * force
        self.angle += dt * self.speed
        self.time += dt

    def lift(self):
        return self.length * (1.0 - np.cos(self.angle))

    def scaled(self, x):
        return self.damping * x**2


class Rod:
    """Heat in a rod: the array in the attribute is written in place."""

    def __init__(self, u, k):
        self.u = u
        self.k = k
        self.lost = 0.0

    def step(self, dt):
        self.u[1:-1] += dt * self.k * self.u[1:-1] * (self.u[2:] - 2.0 * self.u[1:-1] + self.u[:-2])
        self.u[0] = 0.9 * self.u[1]
        self.lost += self.u[-1] ** 2


class Moments:
    """Running moments in buffers that keep their arrays."""

    def __init__(self, n):
        self.m = np.zeros(n)
        self.v = np.zeros(n)
        self.rate = 0.1

    def update(self, g):
        self.m *= 0.9
        self.m += 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g**2
        return self.rate * self.m / (np.sqrt(self.v) + 1e-3)


class Cell:
    """A recurrent cell that remembers its state."""

    def __init__(self, w, u):
        self.w = w
        self.u = u
        self.h = np.zeros(w.shape[0])

    def reset(self):
        self.h = np.zeros(self.w.shape[0])

    def step(self, x):
        self.h = np.tanh(self.w @ self.h + self.u @ x)
        return self.h


class Stack:
    """Two linked cells: the second reads the state of the first."""

    def __init__(self, lower, upper):
        self.lower = lower
        self.upper = upper

    def step(self, x):
        return self.upper.step(self.lower.step(x))


@dataclass
class Account:
    balance: float
    rate: float
    fees: np.ndarray

    def accrue(self, deposit):
        self.balance = self.balance * (1.0 + self.rate) + deposit
        self.balance -= np.sum(self.fees * self.balance**2)


class Node:
    """A linked list that is summed and written along its links."""

    def __init__(self, value, following=None):
        self.value = value
        self.following = following


class Recorder:
    """Appends to a list that it holds."""

    def __init__(self, scale):
        self.scale = scale
        self.seen = []

    def record(self, x):
        self.seen.append(self.scale * x * x)


def filtered(model, ys):
    return model.run(ys)


def swings(pendulum, dt):
    for _ in range(5):
        pendulum.step(dt)
    return pendulum.energy * pendulum.time


def cooled(rod, dt):
    for _ in range(3):
        rod.step(dt)
    return np.sum(rod.u**2) + rod.lost


def moment_steps(moments, x):
    for _ in range(3):
        x = x - moments.update(np.sin(x))
    return np.sum(x * x) + np.sum(moments.v)


def remembered(cell, xs):
    total = 0.0
    for x in xs:
        total = total + np.sum(cell.step(x) ** 2)
    cell.reset()
    return total + np.sum(cell.step(xs[0]))


def stacked(stack, xs):
    total = 0.0
    for x in xs:
        y = stack.step(x)
        total += np.sum(y * y)
    return total + np.sum(stack.lower.h)


def account(account, deposits):
    for deposit in deposits:
        if deposit > 0.0:
            account.accrue(deposit)
        else:
            account.balance += deposit
    return account.balance


def attributes_outside(model, x):
    model.error = np.sum(x * x)
    model.state = model.state + x
    model.state[0] = model.error * x[1]
    model.error *= 2.0
    return np.sum(model.state**2) + model.error


def overwritten_attribute(model, x):
    model.state = x * x
    kept = model.state
    model.state = 3.0 * x
    return np.sum(kept * model.state)


def items_of_attribute(rod, x):
    for i in range(1, len(x)):
        rod.u[i] = rod.u[i - 1] * x[i] + rod.k
    return rod.u[-1] * rod.u[1]


def recorded(recorder, xs):
    for x in xs:
        recorder.record(x)
    total = 0.0
    for value in recorder.seen:
        total = total + value * value
    return total


def along_links(node, x):
    total = 0.0
    while node is not None:
        node.value = node.value * x
        total = total + node.value**2
        node = node.following
    return total


def halves(pendulum, x):
    if pendulum.angle > 0.0:
        pendulum.angle = x * pendulum.angle
    else:
        pendulum.angle = -pendulum.angle
    return pendulum.angle**2


def methods_by_name(pendulum, x):
    lift = pendulum.lift
    before = lift()
    pendulum.angle = pendulum.angle * x
    return before * lift() + sum(map(pendulum.scaled, [x, x * x]))


def _filter(rng):
    return (
        Filter(rng.normal(size=(2, 2)) * 0.5, rng.normal(size=2), rng.normal(size=2)),
        rng.normal(size=4),
    )


def _rod(rng):
    return Rod(rng.uniform(0.5, 1.5, 6), 0.3), float(rng.uniform(0.05, 0.1))


def _cell(rng, n=3, m=2):
    return Cell(rng.normal(size=(n, n)), rng.normal(size=(n, m)))


PROGRAMS = (
    Program(filtered, _filter, (0, 1)),
    Program(methods_by_name, lambda rng: (Pendulum(1.2, 0.1), 0.7), (0, 1)),
    Program(swings, lambda rng: (Pendulum(1.2, 0.1), 0.05), (0, 1)),
    Program(cooled, _rod, (0, 1)),
    Program(moment_steps, lambda rng: (Moments(3), rng.uniform(0.5, 1.0, 3)), (0, 1)),
    Program(remembered, lambda rng: (_cell(rng), rng.normal(size=(3, 2))), (0, 1)),
    Program(
        stacked,
        lambda rng: (Stack(_cell(rng), _cell(rng, 2, 3)), rng.normal(size=(3, 2))),
        (0, 1),
    ),
    Program(
        account,
        lambda rng: (Account(1.5, 0.05, rng.uniform(0.0, 0.01, 2)), np.array([0.5, -0.3, 0.7])),
        (0, 1),
    ),
    Program(attributes_outside, lambda rng: (_filter(rng)[0], rng.normal(size=2)), (0, 1)),
    Program(overwritten_attribute, lambda rng: (_filter(rng)[0], rng.normal(size=2)), (0, 1)),
    Program(items_of_attribute, lambda rng: (_rod(rng)[0], rng.normal(size=4)), (0, 1)),
    Program(recorded, lambda rng: (Recorder(0.7), rng.normal(size=3)), (0, 1)),
    Program(along_links, lambda rng: (Node(1.5, Node(0.5, Node(-0.3))), 0.8), (0, 1)),
    Program(halves, lambda rng: (Pendulum(1.2, 0.1), 0.7), (0, 1)),
)
