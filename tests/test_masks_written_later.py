"""What finds the entries that a write is undone in is kept, though nothing else reads it again."""

import numpy as np
import pytest

import tangentlike as tl

A, B = np.array([0.7, -0.4, 1.3, 0.2]), np.array([0.1, 0.5, -0.3, 0.9])


def mask(a, b):
    chosen = b > 0.2
    y = a * a
    a[chosen] = 0.3
    chosen[:] = np.roll(chosen, 1)
    return np.sum(b * b) + np.sum(y)


def opposite_mask(a, b):
    chosen = b > 0.2
    y = a * a
    a[chosen] *= 0.7
    chosen = ~chosen
    a[chosen] = b[chosen] * 0.3
    chosen[:] = np.roll(chosen, 1)
    return np.sum(b * b) + np.sum(y)


def index_array(a, b):
    places = np.array([0, 2])
    y = np.sin(a)
    a[places] = b[places]
    places += 1
    return np.sum(y * b)


def list_of_indices(a, b):
    places = [0, 2]
    y = np.sin(a)
    a[places] = 0.5
    places[0] = 3
    return np.sum(y * b)


def in_a_loop(a, b):
    y = 0.0
    for k in range(3):
        places = np.arange(2) + k % 2
        y = y + np.sum(a * a * b)
        a[places] = 0.5 * k
        places[:] = 3
    return y


def in_a_branch(a, b):
    chosen = b > 0.2
    y = a * a
    if b[0] > 0.0:
        a[chosen] = 0.3
    chosen[0] = True
    return np.sum(y)


def in_a_dict(a, b):
    p = {"places": np.array([1, 2])}
    y = np.cos(a)
    a[p["places"]] = 0.1
    p["places"][:] = 0
    return np.sum(y * b)


def of_a_view(a, b):
    places = np.array([1, 2, 3])
    y = np.cos(a)
    a[places[1:]] = 0.1
    places -= 1
    return np.sum(y * b)


PROGRAMS = (mask, opposite_mask, index_array, list_of_indices, in_a_loop, in_a_branch)
PROGRAMS += (in_a_dict, of_a_view)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_entries_are_found_again(f):
    tl.check_grads(f, (A, B), wrt=(0, 1), order=2)
