"""Numbers that are given axes, `q[..., None]`, where adjoints of memory are found by identity."""

import pytest

from tests.generator import arguments, check_program

PROGRAM = """
def program(a, b, m, s, t):
    a = b
    for i in range(2):
        if t < s:
            b = np.zeros_like(b)
        else:
            a[i + 1] *= np.cos(a[3])
    {body}
    return np.sum(a * c)
"""
BODIES = {
    "a new axis": "q = np.max(b); c = q[..., None]",
    "two axes": "q = np.sum(b); c = q[None, None]; c = c[0]; c[0] *= s",
    "none": "q = np.mean(b); c = q[()]",
    "an ellipsis": "q = np.dot(a, b); c = q[...]",
    "both": "q = np.max(b); c = q[..., None] * q[None] * q; c[0] = q",
    "in a loop": "c = a\n    for k in range(2):\n        q = np.sum(c)\n        c = q[None] * c[:1]",
    "held": "q = np.max(b); d = [q[..., None]]; d[0][0] *= s; c = d[0] + q",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_number_that_is_given_axes(body):
    assert check_program(PROGRAM.format(body=body), arguments(2)) == "agree"


def test_the_same_at_order_two():
    source = PROGRAM.format(body=BODIES["a new axis"])
    assert check_program(source, arguments(2), order=2) in ("agree", "refused")
