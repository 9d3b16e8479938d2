"""What `simplify` must not touch, each with the reason why."""

from __future__ import annotations

import pytest

from tangentlike.codegen.optimize import simplify

from .simplify_program import facts, read, text_of

KEPT = {
    "the array is written between": """
t = A[1:] * 2.0
A[1] = 0.0
y = t + A
return y
""",
    "the write goes through a view": """
row = A[0]
t = A + 1.0
row[0] = 5.0
y = t * A
return y
""",
    "the name is bound again between": """
t = x * 2
x = 3.0
y = t + x
return y
""",
    "an unknown call may write what it is given": """
t = x + 1.0
g(x)
y = t * x
return y
""",
    "an unknown call may write a global array": """
t = x + 1.0
g()
y = t * 2.0
return y
""",
    "prints stay, in order": """
print(x)
y = x * 2
print(y)
return y
""",
    "the argument is written for its caller": """
A[0] = 1.0
return None
""",
    "what a lambda reads stays what it is": """
t = x * 2
f = lambda: t
y = g(f)
return y
""",
    "a loop reads it again each round": """
t = x * 2
while c(t):
    x = x + 1
return x
""",
    "the value of the first round is read in the second": """
s = 0.0
for x in xs:
    y = s * 2
    s = x
return y
""",
    "a break skips the rest": """
y = 0.0
for x in xs:
    if x > 1.0:
        y = x
        break
    y = 2.0
return y
""",
    "an assertion may be what the statement before it is for": """
n = len(x)
assert n > 3
return x
""",
    "the list keeps the array that is written later": """
xs = []
a = np.zeros(3)
xs.append(a)
a[0] = 1.0
return xs
""",
    "iteration reads what the body writes": """
B = np.zeros(3)
s = 0.0
for b in B:
    s = s + b
    B[2] = 1.0
return s
""",
    "a random mask is drawn once": """
t = np.random.rand(3)
y = t * x + t
return y
""",
}


@pytest.mark.parametrize("why", KEPT)
def test_keeps(why):
    text = KEPT[why].lstrip("\n")
    function = read(text)
    assert text_of(simplify(function, facts(temporaries="t u n"))) == text


ADJOINTS_KEPT = {
    "the copy is taken before the write": """
s_bar = A_bar[k].copy()
A_bar[k] = 0.0
b_bar = s_bar * c
d_bar = s_bar * b
return b_bar, d_bar, A_bar
""",
    "the zero is seen through a view": """
row_bar = A_bar[0]
A_bar[0] = 0.0
s_bar = row_bar * x
A_bar[0] += s_bar * y + s_bar
return A_bar, s_bar
""",
    "a returned array is not the user's own": """
x_bar = 1.0 * y
return x_bar
""",
    "rebinding ends the copy": """
p_bar = h_bar
h_bar = w @ h_bar
q_bar = p_bar + h_bar * p_bar
return q_bar, h_bar
""",
    "the stack is popped as often as pushed": """
h = s.pop()
y_bar = h * x
return y_bar
""",
}


@pytest.mark.parametrize("why", ADJOINTS_KEPT)
def test_keeps_adjoints(why):
    text = ADJOINTS_KEPT[why].lstrip("\n")
    function = read("# adjoint\n" + text)
    found = text_of(simplify(function, facts()))
    if why == "the zero is seen through a view":
        assert found.index("A_bar[0] = 0.0") < found.index("row_bar * x")
        return
    assert found == text


def test_draws_stay_in_order():
    text = "t = np.random.normal()\nu = np.random.normal()\ny = u - t\nreturn y\n"
    found = text_of(simplify(read(text), facts(temporaries="t u")))
    assert found == "t = np.random.normal()\ny = np.random.normal() - t\nreturn y\n"
    text = text.replace("u - t", "t - u")
    found = text_of(simplify(read(text), facts(temporaries="t u")))
    assert found == "y = np.random.normal() - np.random.normal()\nreturn y\n"


def test_a_borrowed_adjoint_is_not_added_to_in_place():
    text = "x_bar = y_bar\nx_bar = x_bar + x * y_bar\nreturn x_bar, y_bar\n"
    found = text_of(simplify(read("# adjoint\n" + text), facts()))
    assert found == "x_bar = y_bar + y_bar * x\nreturn x_bar, y_bar\n"
