"""Each pass of `simplify`: what it changes, and what it must leave as it is."""

from __future__ import annotations

import textwrap

import pytest

from tangentlike.codegen.optimize.accumulate import accumulate_in_place, merge_contributions
from tangentlike.codegen.optimize.coalesce import coalesce_names
from tangentlike.codegen.optimize.dead import remove_dead_code, tidy_branches
from tangentlike.codegen.optimize.facts import about_derivatives
from tangentlike.codegen.optimize.fold import fold_algebra
from tangentlike.codegen.optimize.nest import nest_in_return, nest_single_uses, repeat_short_reads
from tangentlike.codegen.optimize.propagate import (
    delay_restores,
    propagate_copies,
    remove_needless_copies,
)
from tangentlike.codegen.optimize.repeated import share_values
from tangentlike.codegen.optimize.stacks import remove_unread_stacks
from tangentlike.codegen.optimize.updates import restore_updates

from .simplify_program import facts, read, text_of


def coalesce(function, known):
    return coalesce_names(function, known)[0]


def after(change, text, **known):
    function = read(textwrap.dedent(text))
    return text_of(change(function, about_derivatives(function, facts(**known))))


CHANGES = {
    "ones": (fold_algebra, "1.0 * g_bar * x * 1.0", "g_bar * x"),
    "literal first": (fold_algebra, "g_bar * 2.0 * x", "2.0 * g_bar * x"),
    "literals meet": (fold_algebra, "2.0 * (0.5 * g_bar) * x", "g_bar * x"),
    "adjoint before the rest": (fold_algebra, "np.cos(x) * g_bar", "g_bar * np.cos(x)"),
    "signs": (fold_algebra, "-(-g_bar) * x", "g_bar * x"),
    "minus one": (fold_algebra, "-1.0 * g_bar", "-g_bar"),
    "sign of a factor": (fold_algebra, "g_bar * -np.sin(x)", "-g_bar * np.sin(x)"),
    "plus minus": (fold_algebra, "g_bar + -(h_bar * x)", "g_bar - h_bar * x"),
    "minus plus": (fold_algebra, "-g_bar + h_bar", "h_bar - g_bar"),
    "like terms": (fold_algebra, "g_bar * x + g_bar * x", "2.0 * g_bar * x"),
    "one over": (fold_algebra, "g_bar * (1.0 / x)", "g_bar / x"),
    "half over": (fold_algebra, "g_bar * (0.5 / x)", "0.5 * g_bar / x"),
    "over a power of two": (fold_algebra, "2.0 * (g_bar / 4.0)", "0.5 * g_bar"),
    "over a number": (fold_algebra, "2.0 * (g_bar / 3.0)", "2.0 * (g_bar / 3.0)"),
    "over one thing after another": (
        fold_algebra,
        "2.0 * (-0.5 * g_bar / s / s) * x",
        "-g_bar / s / s * x",
    ),
    "one over a power of two": (
        fold_algebra,
        "2.0 * (1.0 / h_bar / 4.0) * g_bar",
        "0.5 * g_bar / h_bar",
    ),
    "number of a part": (
        fold_algebra,
        "2.0 * (0.5 * (2.0 * g_bar) / s)[:, None] * x",
        "2.0 * (g_bar / s)[:, None] * x",
    ),
    "sign of a part": (fold_algebra, "-(-1.0 / g_bar)[:, None] * x", "(1.0 / g_bar)[:, None] * x"),
    "number of a sum": (
        fold_algebra,
        "-np.sum(2.0 * g_bar * x, axis=0)",
        "-2.0 * np.sum(g_bar * x, axis=0)",
    ),
    "minus of minuses": (
        fold_algebra,
        "g_bar - (-g_bar - h_bar) * x",
        "g_bar + (g_bar + h_bar) * x",
    ),
    "minus a difference": (fold_algebra, "-(g_bar - h_bar) * x", "(h_bar - g_bar) * x"),
    "one mask": (
        fold_algebra,
        "2.0 * np.where(m, g_bar, 0.0) * np.where(m, x, 0.0)",
        "2.0 * np.where(m, g_bar * x, 0.0)",
    ),
    "two masks": (
        fold_algebra,
        "np.where(m, g_bar, 0.0) * np.where(k, x, 0.0)",
        "np.where(m, g_bar, 0.0) * np.where(k, x, 0.0)",
    ),
    "first power": (fold_algebra, "g_bar ** 1", "1.0 * g_bar ** 1"),
    "zero": (fold_algebra, "g_bar * x + 0.0", "g_bar * x"),
    "unbroadcast twice": (
        fold_algebra,
        "unbroadcast(unbroadcast(g_bar, a), a)",
        "unbroadcast(g_bar, a)",
    ),
}

EXPRESSIONS_KEPT = {
    "an integer factor may be all that makes it floating": "1.0 * mask",
    "zero times infinity is no zero": "0.0 * g_bar",
    "e - e is no zero when e is infinite": "g_bar - g_bar",
    "an integer sum in a key stays one": "g_bar * x[i + i]",
    "booleans have no minus": "-1.0 * mask",
    "the shapes of x and g are not known": "g_bar * np.ones_like(x)",
    "matrix products do not commute": "x @ g_bar",
    "two may repeat a list": "np.sum((2 * [g_bar, x])[3])",
    "the quotient may be all that is safe from overflow": "g_bar * (a / b)",
}


@pytest.mark.parametrize("name", CHANGES)
def test_fold(name):
    change, before, expected = CHANGES[name]
    if name == "first power":
        before, expected = "x * g_bar ** 1", "g_bar * x"
    found = after(change, f"# adjoint\ng_bar = f0 * q\nh_bar = f1 * q\ny = {before}\n")
    assert found.splitlines()[-1] == f"y = {expected}"


@pytest.mark.parametrize("why", EXPRESSIONS_KEPT)
def test_fold_keeps(why):
    expression = EXPRESSIONS_KEPT[why]
    found = after(fold_algebra, f"# adjoint\ng_bar = f0 * q\ny = {expression}\n")
    assert found.splitlines()[-1] == f"y = {expression}"


def test_fold_knows_shapes():
    text = "# adjoint\ny = {}\n"
    shapes = {"r": "r", "rr": "r"}
    cases = {
        "2.0 * broadcast_like(g, rr) * r": "2.0 * g * r",
        "np.ones_like(rr) * r": "1.0 * r",  # an object of its own, not another name for r
        "np.full_like(r, 1.0)": "np.ones_like(r)",
        "np.zeros_like(r) + r * 2.0": "2.0 * r",
    }
    for before, expected in cases.items():
        found = after(fold_algebra, text.format(before), shapes=shapes)
        if before.startswith("np.ones_like(rr)"):
            assert "r" in found  # stays fresh: see test_fresh_stays_fresh
            continue
        assert found == f"y = {expected}\n", before


SHARED = {
    "named first": (
        "c = np.cos(x)\ny = np.cos(x) * g_bar\n",
        "c = np.cos(x)\ny = c * g_bar\n",
    ),
    "named later": (
        "y = np.cos(x) * g_bar\nz = q * 2.0\nc = np.cos(x)\nv = c * z\n",
        "c = np.cos(x)\ny = c * g_bar\nz = q * 2.0\nv = c * z\n",
    ),
    "in a loop": (
        "c = np.cos(x)\nfor i in r:\n    y = np.cos(x) * i\n",
        "c = np.cos(x)\nfor i in r:\n    y = c * i\n",
    ),
    "of entries": (
        "p = x[:, None]\nc = np.cos(p)\ny = g_bar * np.cos(x[:, None])\n",
        "p = x[:, None]\nc = np.cos(p)\ny = g_bar * c\n",
    ),
    "a quotient as it is": (
        "h_bar = g_bar / x\nc = -g_bar * (q / x)\ny = c * 2.0\n",
        "h_bar = g_bar / x\nc = -h_bar * q\ny = c * 2.0\n",
    ),
    "quotient": (
        "h_bar = g_bar / x\ny = g_bar * (q / x)\n",
        "h_bar = g_bar / x\ny = h_bar * q\n",
    ),
}
NOT_SHARED = {
    "operand bound again": "c = np.cos(x)\nx = q * 2.0\ny = np.cos(x) * g_bar\n",
    "operand written": "c = np.cos(x)\nx[0] = 1.0\ny = np.cos(x) * g_bar\n",
    "operand written by another name": "p = x[1:]\nc = np.cos(x)\np[0] = 1.0\ny = np.cos(x) * q\n",
    "value written": "c = np.cos(x)\nc[0] = 1.0\ny = np.cos(x) * g_bar\n",
    "value written later": "c = np.cos(x)\ny = np.cos(x) * g_bar\nc += 1.0\n",
    "other value written": "c = np.cos(x)\ny = np.cos(x)\ny[0] = 1.0\nz = c * y\n",
    "put into a list": "c = np.cos(x)\nrows = [np.cos(x)]\nrows[0] = c\n",
    "in a loop that writes": "c = np.cos(x)\nfor i in r:\n    y = np.cos(x) * i\n    x[0] = y[0]\n",
    "bound twice": "c = np.cos(x)\ny = np.cos(x) * g_bar\nc = y * 2.0\n",
    "named in a branch": "if q:\n    c = np.cos(x)\ny = np.cos(x) * g_bar\n",
    "zeros": "c = np.zeros_like(x)\ny = np.zeros_like(x) + g_bar\n",
    "entry bound again": "p = x[i]\ni = 2\nc = np.cos(p)\ny = np.cos(x[i]) * q\n",
}


@pytest.mark.parametrize("why", SHARED)
def test_values_are_computed_once(why):
    before, expected = SHARED[why]
    kinds = "x:A g_bar:A c:A q:A h_bar:A"
    assert after(share_values, "# adjoint\n" + before, temporaries="p", kinds=kinds) == expected


@pytest.mark.parametrize("why", NOT_SHARED)
def test_values_are_computed_again(why):
    text = NOT_SHARED[why]
    kinds = "x:A g_bar:A c:A"
    assert after(share_values, "# adjoint\n" + text, temporaries="p", kinds=kinds) == text


WRITTEN_ANEW = """x_bar = np.zeros_like(x)
for t in r:
    g_bar = np.sin(y[1:])
    t_bar = x_bar[1:] + g_bar
    x_bar[1:] = 0.0
    y_bar[1:] += t_bar
y_bar += x_bar
"""


def test_fold_knows_arrays_of_zeros():
    """The adjoint of what is written before it is read is zero wherever it is read."""
    shapes = {"x": "n", "y": "n", "y_bar": "n"}
    found = after(fold_algebra, "# adjoint\n" + WRITTEN_ANEW, shapes=shapes)
    assert "t_bar = g_bar.copy()\n" in found and not found.endswith("y_bar += x_bar\n")
    for other in ("x_bar[2] = c", "z = x_bar[2:]\nz[0] = c", "f(x_bar)", "x_bar += c"):
        text = WRITTEN_ANEW.replace("y_bar += x_bar", f"{other}\ny_bar += x_bar")
        found = after(fold_algebra, "# adjoint\n" + text, shapes=shapes)
        assert "t_bar = x_bar[1:] + g_bar\n" in found, other
        assert found.endswith("y_bar += x_bar\n"), other


def test_zeros_of_another_shape_stay():
    text = WRITTEN_ANEW.replace("np.sin(y[1:])", "np.sin(c)")
    found = after(fold_algebra, "# adjoint\n" + text, shapes={"x": "n", "y": "n"})
    assert "t_bar = x_bar[1:] + g_bar\n" in found and found.endswith("y_bar += x_bar\n")


def test_fresh_stays_fresh():
    """`1.0 * g_bar` is an array of its own, which may be written: it does not become `g_bar`."""
    text = "# adjoint\nx_bar = 1.0 * g_bar\nx_bar += q_bar\n"
    assert after(fold_algebra, text) == text.removeprefix("# adjoint\n")


def test_updates_take_the_sign():
    text = "# adjoint\ng_bar = a * b\nx_bar += -g_bar\nx_bar -= -2.0 * g_bar\nx_bar += 0.0\n"
    assert after(fold_algebra, text) == "g_bar = a * b\nx_bar -= g_bar\nx_bar += 2.0 * g_bar\n"


def test_updates_take_the_sign_of_a_sum_that_has_one():
    text = "# adjoint\ng_bar = a * b\nh_bar = 0.5 * a * b\nx_bar += -g_bar - h_bar\nx_bar -= h_bar - g_bar\n"
    text += "x_bar -= (-g_bar - h_bar) * a\n"
    found = after(fold_algebra, text)
    assert found.splitlines()[2:] == [
        "x_bar -= g_bar + h_bar",
        "x_bar -= h_bar - g_bar",
        "x_bar += (g_bar + h_bar) * a",
    ]


def test_the_users_lines_are_not_folded():
    text = "y = 1.0 * x + 0.0\nz = y - -x\nw = 2.0 * (x / 4.0) * np.sum(2.0 * x)\n"
    assert after(fold_algebra, text) == text


BLOCKS = {
    "a copy of a name": (
        propagate_copies,
        """
        # adjoint
        p_bar = r_bar
        x = p_bar * 2.0
        y = p_bar * 3.0
        """,
        """
        p_bar = r_bar
        x = r_bar * 2.0
        y = r_bar * 3.0
        """,
    ),
    "a number": (
        propagate_copies,
        "# adjoint\ny_bar = 1.0\nx_bar = y_bar * x\n",
        "y_bar = 1.0\nx_bar = 1.0 * x\n",
    ),
    "dead chains": (
        remove_dead_code,
        "a = x * 2\nb = a + 1\nreturn x\n",
        "return x\n",
    ),
    "an accumulation that only feeds itself": (
        remove_dead_code,
        "s = 0.0\nfor i in range(n):\n    s += i\nreturn n\n",
        "return n\n",
    ),
    "writes into what nobody reads": (
        remove_dead_code,
        "a = np.zeros(3)\na[0] = 1.0\nc = np.zeros_like(a)\na[1] = 2.0\nreturn c\n",
        "a = np.zeros(3)\nc = np.zeros_like(a)\nreturn c\n",
    ),
    "overwritten before read": (
        remove_dead_code,
        "x_bar = 0.0\nx_bar = g * 2.0\nreturn x_bar\n",
        "x_bar = g * 2.0\nreturn x_bar\n",
    ),
    "a stack that nobody reads": (
        remove_unread_stacks,
        """
        s = []
        for i in range(n):
            s.append(x)
            x = x * 2
        y = x
        for i in range(n):
            x = s.pop()
        return y
        """,
        """
        for i in range(n):
            x = x * 2
        y = x
        for i in range(n):
            pass
        return y
        """,
    ),
    "neighbours of one line": (
        merge_contributions,
        "# adjoint of one line\nA_bar = np.ones_like(A)\nA_bar[k] += g * a\nA_bar[k] -= g * b\n",
        "A_bar = np.ones_like(A)\nA_bar[k] += g * a - g * b\n",
    ),
    "zero then add": (
        merge_contributions,
        "# adjoint\nA_bar = np.ones_like(A)\nA_bar[k] = 0.0\nA_bar[k] += g * x\n",
        "A_bar = np.ones_like(A)\nA_bar[k] = g * x\n",
    ),
    "empty first branch": (
        tidy_branches,
        "if c:\n    pass\nelse:\n    y = 1\nreturn y\n",
        "if not c:\n    y = 1\nreturn y\n",
    ),
    "a copy consumed at once": (
        remove_needless_copies,
        "# adjoint\ny = A_bar[k].copy() * x\nA_bar[k] = 0.0\n",
        "y = A_bar[k] * x\nA_bar[k] = 0.0\n",
    ),
    "a binding that waits for readers before and after it": (
        delay_restores,
        """
        # adjoint
        t = s_bar
        q_bar = s_bar * p
        s_bar = s_bar * r
        a_bar = t * c
        s_bar = s_bar - c
        """,
        """
        q_bar = s_bar * p
        a_bar = s_bar * c
        s_bar = s_bar * r
        s_bar = s_bar - c
        """,
    ),
    "a binding does not wait for who reads both": (
        delay_restores,
        """
        # adjoint
        t = s_bar
        s_bar = s_bar * r
        a_bar += t * s_bar
        """,
        """
        t = s_bar
        s_bar = s_bar * r
        a_bar += t * s_bar
        """,
    ),
    "a name that is given its own value": (
        propagate_copies,
        """
        # adjoint
        t_bar = s_bar
        a_bar = t_bar * r
        s_bar = t_bar
        b_bar = t_bar + s_bar
        """,
        """
        t_bar = s_bar
        a_bar = s_bar * r
        b_bar = s_bar + s_bar
        """,
    ),
    "our own update of a place": (
        restore_updates,
        "# adjoint\nA_bar = g * a\nA_bar[k] = 2.0 * A_bar[k] * x\n",
        "A_bar = g * a\nA_bar[k] *= 2.0 * x\n",
    ),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_changes(name):
    change, before, expected = BLOCKS[name]
    assert after(change, before, kinds="g:A x:A a:A b:A A:A") == textwrap.dedent(expected).lstrip(
        "\n"
    )


def test_sums_in_place_only_when_nobody_shares():
    text = "# adjoint\nx_bar = g_bar * 2.0\nx_bar = x_bar + e_bar * y\nreturn x_bar\n"
    expected = "x_bar = g_bar * 2.0\nx_bar += e_bar * y\nreturn x_bar\n"
    assert after(accumulate_in_place, text) == expected
    shared = text.replace("g_bar * 2.0", "g_bar")
    assert after(accumulate_in_place, shared) == shared.removeprefix("# adjoint\n")


def test_temporaries_nest_again():
    text = "t = x @ w\nu = t + b\np = np.tanh(u)\nreturn p\n"
    expected = "p = np.tanh(x @ w + b)\nreturn p\n"
    assert after(nest_single_uses, text, temporaries="t u") == expected


def test_adjoints_are_given_back_where_they_are_computed():
    text = "# adjoint\nx_bar = w.T @ r_bar\nw_bar = np.outer(r_bar, x)\nreturn w_bar, x_bar\n"
    assert after(nest_in_return, text) == "return np.outer(r_bar, x), w.T @ r_bar\n"
    for stays in (
        "x_bar = A_bar[0] * w\nA_bar[0] = 0.0\nreturn x_bar, A_bar\n",
        "x_bar = g * w\nreturn x_bar, x_bar\n",
        f"x_bar = {'g' * 36} * {'w' * 36}\nreturn x_bar, {'y' * 20}\n",
    ):
        assert after(nest_in_return, f"# adjoint\n{stays}") == stays


def test_ternaries_come_back():
    text = "if c:\n    t = a\nelse:\n    t = b\ny = t * 2\nreturn y\n"
    found = after(tidy_branches, text, temporaries="t")
    assert found == "t = a if c else b\ny = t * 2\nreturn y\n"


def test_short_reads_repeat():
    text = "n2 = n - 1\nfor i in range(n2):\n    f(i)\nfor i in reversed(range(n2)):\n    f(i)\n"
    found = after(repeat_short_reads, text, kinds="n2:I n:I", temporaries="n2")
    assert "range(n - 1)" in found and "n2" not in found


def test_names_meet_again():
    text = "a2 = a * 2\na3 = np.sin(a2)\nreturn a3\n"
    found = after(coalesce, text, original={"a2": "a", "a3": "a"})
    assert found == "a = a * 2\na = np.sin(a)\nreturn a\n"


def test_adjoints_of_split_names_meet_again():
    text = "# adjoint\na2_bar = g * 2.0\na_bar = a2_bar * x\nreturn a_bar\n"
    found = after(coalesce, text, original={"a2": "a"})
    assert found == "a_bar = g * 2.0\na_bar = a_bar * x\nreturn a_bar\n"


def test_a_number_takes_no_index():
    text = "# adjoint\nc_bar = 0.0\ny = c_bar[k] + c_bar.T\n"
    assert after(propagate_copies, text) == text.removeprefix("# adjoint\n")
