"""Attributes that numbers and arrays lack, asked for in a `try` that catches the AttributeError."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads


def named(x):
    y = np.sin(x) * x
    try:
        y.name = "y"
    except AttributeError:
        y = y + x
    return np.sum(y)


def filled(x):
    y = np.sqrt(x)
    try:
        y.fillna(0.0, inplace=True)
    except AttributeError:
        y = np.where(np.isnan(y), 0.0, y)
    return np.sum(y * x)


def filled_anew(x):
    y = np.sqrt(x)
    try:
        y = y.fillna(0.0) * 2.0
    except AttributeError:
        y = np.where(np.isnan(y), 0.0, y)
    return np.sum(y * x)


def _scaled(y):
    return y.scale(2.0)


def caught_by_the_caller(x):
    y = np.cos(x)
    try:
        z = _scaled(np.cos(x))
    except AttributeError:
        z = 3.0 * y
    return np.sum(z * x)


def _reported(log, y):
    log.write("begins")
    y.label = "begins"


def unread_in_the_callee(x, log=None):
    y = np.cos(x)
    try:
        _reported(log, 2.0)
        z = y
    except AttributeError:
        z = 3.0 * y
    return np.sum(z * x)


def counted(x):
    y = x * x
    try:
        y.uses += 1
    except AttributeError:
        y = 2.0 * y
    return np.sum(y)


PROGRAMS = (named, filled, filled_anew, caught_by_the_caller, unread_in_the_callee, counted)


@pytest.mark.parametrize("value", [0.7, np.array([0.4, 0.9])], ids=["number", "array"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_caught_is_differentiated(program, value):
    check_grads(program, (value,), wrt=0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_forward_mode(program):
    x = np.array([0.4, 0.9])
    _, dot = tl.jvp(program, (x,), (np.ones(2),))
    assert dot == pytest.approx(np.sum(tl.grad(program)(x)))


def test_nothing_catches_it():
    def asked(x):
        try:
            y = np.log(x)
        except ZeroDivisionError:
            y = 0.0 * x
        y.name = "y"
        return np.sum(y)

    with pytest.raises(AttributeError, match="object has no attribute 'name'"):
        tl.grad(asked)(np.ones(2))


class _Named(np.ndarray):
    pass


def test_an_array_that_has_it():
    x = np.array([0.4, 0.9]).view(_Named)

    def own(x):
        try:
            x.name = "x"
        except AttributeError:
            return np.sum(x)
        return 2.0 * np.sum(x)

    with pytest.raises(tl.UnsupportedError, match="written for None, a number or an array"):
        tl.grad(own)(x)


class _Part:
    pass


def test_entries_of_arrays_of_objects():
    parts = np.array([_Part(), _Part()])

    def stored(x, parts):
        part = parts[0]
        try:
            part.weight = 3.0 * x
        except AttributeError:
            return x
        return part.weight * x

    try:
        found = tl.grad(stored)(2.0, parts)
    except tl.UnsupportedError:
        return
    assert found == pytest.approx(12.0)
