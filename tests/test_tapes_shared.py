"""A forward function that two backward functions have in common: neither may change its tape."""

import pytest

from tests.generator import arguments, check_program

PROGRAM = """
def size(p):
    z = 0.0
    for e in p:
        z = z * 0.5 + np.sin(e)
    return z

def program(a, b, m, s, t):
    {body}
    return s * t + np.sum(a * b)
"""
BODIES = (
    "a = np.tanh(a); a = a[:, None] @ a[None]; a = a[0]; s = size(a); t = size(b)",
    "c = 0.5 * (a[:, None] - b); s = size(a * np.sum(c)); t = size(b); s = s + size(c[0])",
    "for k in range(2):\n        a = np.sin(a)\n        m = 0.5 * (a[:, None] - b)\n    s, t = size(a), size(b)",
)


@pytest.mark.parametrize("body", BODIES)
def test_a_tape_that_two_backward_functions_read(body):
    assert check_program(PROGRAM.format(body=body), arguments(1)) == "agree"
