"""What lowering makes of each construct: tables of (before, after), and of what stays as it is."""

from __future__ import annotations

import textwrap

import pytest

from tangentlike.codegen.print import show
from tangentlike.frontend.lower import check, lower_nested, program, split_names
from tangentlike.ir import statements


def lowered(text: str) -> str:
    function = lower_nested(program(text)).function
    check(function)
    return show(function.body)


STAYS = [
    "y = np.zeros(w.shape[0])\nreturn y",  # a size needs no name
    "y = np.zeros((n, 3))\nreturn y",
    "y = x.reshape((n, -1))\nreturn y",
    "y = x.reshape(-1, 2)\nreturn y",
    "y = np.sum(x, axis=(0, 1), keepdims=True)\nreturn y",
    "y = x[1:n + 1, ::2, None]\nreturn y",  # keys stay whole
    "y = x[idx[i], len(x) - 1]\nreturn y",
    "mask = (x > 0) & (x < np.sum(y))\nreturn mask".replace("(x > 0) & (x < np.sum(y))", "x > 0"),
    "y = -1.0\nz = 2 * 3\nreturn y, z",
    "y = 'a' if x > 0 else 'b'\nreturn y",  # carries no derivative
    "while abs(x) > 1 and x < np.sum(y):\n    x = x / 2\nreturn x",  # tests stay whole
    "for i in range(len(xs)):\n    t = t + i\nreturn t",
    "for i, (u, v) in enumerate(zip(xs, ys)):\n    t = u * v\nreturn t",
    "a[i] += b\na[i].real = b\nreturn a".replace("a[i].real", "a.real"),
    "q, r = np.linalg.qr(a)\nreturn q, r",
    "x += 1\nx *= y\nreturn x",  # an update is never another name
    "for _ in range(n):\n    x = x * y\nfor _ in range(n):\n    x = x * y\nreturn x",
    "if c:\n    a = x\nelse:\n    a = y\nreturn a",  # the two definitions meet
    "while True:\n    x = x / 2\n    if x < y:\n        break\nreturn x",
    "assert n > 0, f'bad {n}'\nreturn n",
    "print(x, n)\nreturn None",
    "y = [i * 2 for i in range(n)]\nreturn y",  # integers
    "names = [str(v) for v in x]\nreturn names",
    "ok = any(v > t for v in x)\nreturn ok",
    "return (x, [y, {'a': n}])".replace("(x, [y, {'a': n}])", "x, [y, {'a': n}]"),
]


@pytest.mark.parametrize("text", STAYS)
def test_stays_as_it_is(text: str) -> None:
    assert lowered(text) == text


BECOMES = {
    "names of temporaries": (
        "return np.exp(-z) + (x @ w).T[0] - p['b'] ** np.exp(2 * x)",
        """
        minus_z = -z
        exp_minus_z = np.exp(minus_z)
        xw = x @ w
        xw_T = xw.T
        xw_T_0 = xw_T[0]
        total = exp_minus_z + xw_T_0
        p_b = p['b']
        product = 2 * x
        exp_product = np.exp(product)
        power = p_b**exp_product
        difference = total - power
        return difference
        """,
    ),
    "webs": (
        "a = x\na = a * a\nb = a\na = b + a\nx = a\nreturn x, a",
        """
        a = x
        a2 = a * a
        b = a2
        a3 = b + a2
        x2 = a3
        return x2, a3
        """,
    ),
    "web of a loop": (
        """
        h = x
        for i in range(n):
            t = h * 2
            h = t + 1
            t = h
            s = t
        h = h * s
        return h
        """,
        """
        h = x
        for i in range(n):
            t = h * 2
            h = t + 1
            t2 = h
            s = t2
        h2 = h * s
        return h2
        """,
    ),
    "webs and break": (
        """
        for x in xs:
            y = x
            if y > 1:
                break
            y = y + 1
            z = y
        return y, z
        """,
        """
        for x in xs:
            y = x
            if y > 1:
                break
            else:
                y = y + 1
                z = y
        return y, z
        """,
    ),
    "displays": (
        "return np.stack([a * 2, b]), np.concatenate((a, b))",
        """
        product = a * 2
        parts = [product, b]
        stack_parts = np.stack(parts)
        parts2 = (a, b)
        concatenate_parts2 = np.concatenate(parts2)
        return stack_parts, concatenate_parts2
        """,
    ),
    "swap": ("a, b = b, a\nreturn a, b", "a_old = a\na2 = b\nb2 = a_old\nreturn a2, b2"),
    "swap of rows": (
        "a[i], a[j] = a[j], a[i]\nreturn a",
        "a_j = a[j]\na_i = a[i]\na[i] = a_j\na[j] = a_i\nreturn a",
    ),
    "ternary": (
        "y = x * 2 if c > 0 else z\nreturn y + (x if d else 1.0)",
        """
        if c > 0:
            y = x * 2
        else:
            y = z
        if d:
            choice = x
        else:
            choice = 1.0
        total = y + choice
        return total
        """,
    ),
    "header": (
        "for i in range(1, n - 1):\n    n = n - i\nfor i in range(n):\n    n = n - 1\nreturn n",
        """
        difference = n - 1
        for i in range(1, difference):
            n = n - i
        n_old = n
        for i2 in range(n_old):
            n = n - 1
        return n
        """,
    ),
    "loop variable": (
        "for i in range(n):\n    s = s + i\nreturn i",
        "for i_it in range(n):\n    i = i_it\n    s = s + i\nreturn i",
    ),
    "key with a call": (
        "return x[np.argmax(y), f'{n}']",
        "argmax_y = np.argmax(y)\nx_part = x[argmax_y, f'{n}']\nreturn x_part",
    ),
    "comparison as an operand": (
        "return np.where(x > 0, x, 0.0)",
        "mask = x > 0\nwhere_mask = np.where(mask, x, 0.0)\nreturn where_mask",
    ),
    "attributes": (
        "self.layer.w[i] += self.f(x).y\nreturn self",
        """
        self_layer = self.layer
        self_layer_w = self_layer.w
        f_self = self.f(x)
        f_self_y = f_self.y
        self_layer_w[i] += f_self_y
        return self
        """,
    ),
    "comprehension": (
        "xs = [x * y for x in xs for y in ys if y > x]\nreturn xs, {k: x for k in xs}",
        """
        items = []
        for x2 in xs:
            for y in ys:
                if y > x2:
                    product = x2 * y
                    items.append(product)
        xs2 = items
        items2 = {}
        for k in xs2:
            items2[k] = x
        return xs2, items2
        """,
    ),
    "sum of a generator": (
        "t = sum(w @ x for x in xs)\nreturn t",
        """
        items = []
        for x in xs:
            wx = w @ x
            items.append(wx)
        t = sum(items)
        return t
        """,
    ),
    "early return": (
        "if n > 0:\n    return x\nelif n < -1:\n    raise ValueError(n)\nreturn y",
        """
        if n > 0:
            result = x
        else:
            if n < -1:
                raise ValueError(n)
            result = y
        return result
        """,
    ),
    "continue": (
        "for x in xs:\n    if x < 0:\n        continue\n    t = t + x\nreturn t",
        "for x in xs:\n    if not x < 0:\n        t = t + x\nreturn t",
    ),
    "endless loop": (
        "while True:\n    x = x / 2\n    if x < 1:\n        return x * 3",
        """
        while True:
            x = x / 2
            if x < 1:
                result = x * 3
                break
        return result
        """,
    ),
}


@pytest.mark.parametrize("case", BECOMES, ids=[c.replace(" ", "_") for c in BECOMES])
def test_becomes(case: str) -> None:
    before, after = BECOMES[case]
    assert lowered(before) == textwrap.dedent(after).strip()


def test_temporaries_are_reported() -> None:
    made = lower_nested(program("a = x * y + 1\na = a * 2\nreturn a + 1"))
    assert made.temporaries == {"product", "total"}


def test_renamed_names_are_reported() -> None:
    made = lower_nested(program("a = x\na = a * 2\nx = a\nreturn x"))
    assert made.original == {"a2": "a", "x2": "x"}


def test_splitting_is_idempotent() -> None:
    function = lower_nested(program("a = x\na = a + 1\nfor i in a: a = a + i\nreturn a")).function
    assert split_names(function) is function


def test_new_names_avoid_all_names() -> None:
    text = "def f(product2):\n    product = product2 * 2 + total\n    return product * 3 + 1"
    from tangentlike.frontend.lower import read_function

    function = lower_nested(read_function(text, {"total": 3})).function
    names = [stmt.target for stmt in statements(function.body) if hasattr(stmt, "target")]
    assert len(set(names)) == len(names)
    assert not {"total", "product2"} & set(names)
