"""Sets, deques and dicts that a program changes: the caller's stay as they are, loops run through
them as the program's did, and tangents go where the method puts the values."""

import copy
from array import array
from collections import defaultdict, deque

import numpy as np
import pytest

import tangentlike as tl

X, V = np.array([0.3, 0.7, -0.2, 0.5]), np.array([0.2, -0.5, 0.7, 0.3])


def slope(f, *rest, at=X, along=V, h=1e-6):
    values = (f(at + t * along, *copy.deepcopy(rest)) for t in (h, -h))
    return (next(values) - next(values)) / (2 * h)


def check(f, *rest):
    """Both modes, and reverse mode of known types, against differences; arguments unchanged."""
    expected, before = slope(f, *rest), copy.deepcopy(rest)
    nothing = [None] * len(rest)
    assert tl.jvp(f, (X, *rest), (V, *nothing))[1] == pytest.approx(expected, rel=1e-6)
    assert rest == before
    assert tl.grad(f)(X, *rest) @ V == pytest.approx(expected, rel=1e-6)
    assert rest == before
    assert tl.grad(f, example=(X, *rest))(X, *rest) @ V == pytest.approx(expected, rel=1e-6)
    assert rest == before


# ------------------------------------------------------------- arguments that are left alone


def adds(x, s):
    s.add(9)
    return np.sum(x * x) * len(s)


def adds_inside(x, s):
    s["q"][0].add(9)
    return np.sum(x * x) * len(s["q"][0])


def turns(x, s):
    s.append(7)
    s.popleft()
    return np.sum(x * x) * s[0]


def sets_a_byte(x, s):
    s[0] = 9
    return np.sum(x * x) * s[0]


class Seen:
    def __init__(self):
        self.q, self.d = {1}, deque([1, 2], maxlen=2)

    def __eq__(self, other):
        return vars(self) == vars(other)


def in_an_object(x, s):
    s.q.add(9)
    s.d.append(5)
    return np.sum(x * x) * len(s.q) * s.d[1]


@pytest.mark.parametrize(
    ("f", "s"),
    [
        *((adds, {1, 2}), (adds_inside, {"q": [{1}]}), (turns, deque([1, 2]))),
        *((sets_a_byte, bytearray(b"ab")), (sets_a_byte, array("i", [1, 2]))),
        (in_an_object, Seen()),
    ],
)
def test_the_callers_own_is_left_alone(f, s):
    check(f, s)


# ----------------------------------------------- what is written like a list, and is none: at order two


def picks_by_bytes(x, b):
    t = 1.0
    for i in range(2):
        b[0] = i
        t = t * x[b[0]] ** 2
        b[0] = i + 1
        t = t * x[b[0]]
    return t


def picks_by_own_bytes(x):
    return picks_by_bytes(x, bytearray(3))


def picks_in_rows(x):
    rows, b = [x * 1.0, x * 2.0], bytearray(3)
    q = rows[int(x[1] > 100.0)]
    for i in range(3):
        b[0] = i
        q *= np.sin(x)
        rows[0][0] = x[b[0]] ** 2 * q[b[0]]
        b[0] = (i + 1) % 3
        q[b[0]] *= x[b[0]]
    return np.sum(rows[0])


def scales_by_an_array(x):
    rows, b = [x * 1.0, x * 2.0], array("d", [1.0, 2.0])
    other, q = b, rows[int(x[1] > 100.0)]
    for i in range(3):
        b[0] = i + 2.0
        q *= np.sin(x)
        other[0] = (i + 1) % 3
        q[i] *= x[i] * b[0]
        b.append(other[0] * i)
        q[1] *= b[-1] + len(b)
    return np.sum(rows[0])


def grows_words(x):
    words, s = "b a".split(), 0.0
    for word in words:
        s = s + x[len(word)] ** 2 * len(words)
        if len(words) < 4:
            words.append(word * 2)
        words[0] = words[-1]
        s = s * x[len(words[0])]
    return s


@pytest.mark.parametrize(
    ("f", "rest"),
    [
        *((picks_by_bytes, (bytearray(3),)), (picks_by_bytes, (array("i", [0, 0]),))),
        *(
            (picks_by_own_bytes, ()),
            (picks_in_rows, ()),
            (scales_by_an_array, ()),
            (grows_words, ()),
        ),
    ],
)
def test_bytes_arrays_and_words_that_are_changed(f, rest):
    check(f, *rest)
    x = np.array([0.5, 0.7, 0.9, 1.2, 0.4])
    v = np.array([0.3, -0.6, 0.9, 0.2, 0.5])
    df = tl.grad(f)
    expected = (df(x + 1e-5 * v, *rest) - df(x - 1e-5 * v, *rest)) / 2e-5
    np.testing.assert_allclose(tl.hvp(f)(x, *rest, v), expected, rtol=1e-6, atol=1e-8)
    twice = tl.vjp(df, x, *rest)[1](v)[0]
    np.testing.assert_allclose(twice, expected, rtol=1e-6, atol=1e-8)


# ------------------------------------------------------------------- loops through changed sets


def through_a_grown_set(x, seen):
    t = 1.0
    for i in range(3):
        seen.add(i)
        for k in seen:
            t = t * x[i] + x[0] * k * x[1]
    return t


def left_early(x, seen):
    t = 1.0
    seen |= {0, 3}
    for i, k in enumerate(seen):
        if i == 3:
            break
        t = t * x[i] + x[0] * k * x[1]
    return t


def used_up(x, seen):
    t = 1.0
    for k in list(seen):
        seen.add(k + 5)
        t = t * x[0] + k
    while seen:
        t = t * x[1] + seen.pop()
    return t


@pytest.mark.parametrize("f", [through_a_grown_set, left_early, used_up])
def test_loops_through_changed_sets(f):
    check(f, {1, 2})


# --------------------------------------------------------------- pairs that are put into a dict


def pairs_of_products(x):
    d = {"a": x[0], "b": 1.0}
    d.update([("a", x[1] * x[2])])
    return d["a"] * d["b"] * x[3]


def zipped(x):
    d = {"a": x[0], "b": 1.0}
    d.update(zip("ab", x * x))
    return d["a"] * d["b"] * x[3]


def pairs_and_words(x):
    d = {"a": x[0], "b": 1.0}
    d.update([("a", x[1] * 2)], b=x[2])
    return d["a"] * d["b"] * x[3]


def put_in(d, pairs, x):
    d.update(pairs)
    return d["a"] * d["b"] * x[3]


def by_a_helper(x):
    found = put_in({"a": x[0], "b": 1.0}, [("a", x[1] * 2)], x)
    return found + put_in({"a": x[0], "b": 1.0}, {"a": x[2] * 2}, x)


def items_of_another(x):
    d, e = {"a": x[0], "b": 1.0}, {"a": x[3] * x[2]}
    d.update(e.items())
    return d["a"] * d["b"] * x[3]


def merged_with_pairs(x):
    d = {"a": x[0], "b": 1.0}
    other = [d]
    d |= [("a", x[1] * 2)]
    d |= {"b": x[1] * 2}
    return other[0]["a"] * d["b"] * x[3]


PAIRS = [pairs_of_products, zipped, pairs_and_words, by_a_helper, items_of_another]


def words_that_are_made(x):
    d = {"u": x[0]}
    d.update(w=x[1] * x[2], **{f"k{i}": v for i, v in enumerate(x)})
    return d["k2"] * d["w"] + d["u"] ** 2


def a_dict_and_words(x):
    d, words = {}, {f"k{i}": v * v for i, v in enumerate(x)}
    d.update({"u": x[0], "k1": 3.0}, **words, w=x[3])
    return d["k1"] * d["u"] * d["w"] + sum(d.values())


def words_of_a_function(x):
    d = {"u": x * 2.0}
    d.update({"v": d["u"]}, **named(x, d["u"]))
    d["w"][0] = x[1]
    return np.sum(d["v"] * d["u"]) + d["k"]


def named(x, w):
    return {"w": w, "k": np.sum(x**3)}


def words_made_for_a_function(x):
    def powers(a, **words):
        return sum(v * a**n for n, v in enumerate(words.values()))

    return powers(x[0], **{f"k{i}": v for i, v in enumerate(x)}) + powers(x[1], u=x[2])


WORDS = [words_that_are_made, a_dict_and_words, words_of_a_function, words_made_for_a_function]


@pytest.mark.parametrize("f", [*PAIRS, merged_with_pairs, *WORDS])
def test_pairs_that_are_put_into_a_dict(f):
    check(f)


def test_pairs_of_an_argument():
    def f(x, pairs):
        d = {"a": x[0], "b": 1.0}
        d.update(pairs)
        return d["a"] * d["b"] * x[3]

    check(f, [("b", 2.0), ("b", 3.0)])


def nested_dict(x):
    p = {"u": {"z": x[0]}}
    p |= {"w": x[1] * x[2]}
    return p["w"] * p["u"]["z"]


def test_derivative_of_the_tangent_of_a_merged_dict():
    u = np.array([-0.4, 0.3, 0.6, 0.9])
    tangent = tl.autodiff(nested_dict, mode="forward")
    expected = slope(lambda x: tl.grad(nested_dict)(x) @ V, along=u)
    assert tl.vjp(tangent, X, V)[1]((0.0, 1.0))[0] @ u == pytest.approx(expected, rel=1e-5)


# -------------------------------------------------------------------- ranges in lists of values


def extended_by_ranges(x):
    xs = [x[0]]
    xs += range(3)
    r = range(2)
    xs.extend(r)
    xs.extend(v * x[1] for v in x)
    xs.extend("ab")
    return xs[2] * xs[0] * xs[7] * len(xs)


def test_lists_that_ranges_extend():
    check(extended_by_ranges)


# ---------------------------------------------------------------------- pullbacks, more than once


def turned_and_joined(x, q, s):
    q.rotate(1)
    q.append(0)
    s.add(q[0])
    s |= {0}
    i = q.popleft() % 4
    return np.sum(x[list(s)]) * x[i] * len(q)


def test_a_pullback_puts_nothing_back_for_the_next():
    rest = (deque([1, 2, 3], maxlen=3), {1})
    expected = slope(turned_and_joined, *rest)
    _, pullback = tl.vjp(turned_and_joined, X, *rest)
    for _ in range(3):
        assert pullback(1.0)[0] @ V == pytest.approx(expected, rel=1e-6)
    assert rest == (deque([1, 2, 3]), {1})


# ------------------------------------------------------- numbers in the place of arrays without axes


def number_for_an_array(p, r):
    y = 0.0
    r["u"] = p * 0.5
    y = y + sum(np.sum(e * e) for e in r.values())
    r["u"] = p * 0.7
    return y + sum(np.sum(e * e) for e in r.values())


def test_a_number_that_replaces_an_array_without_axes_in_a_dict():
    tl.check_grads(number_for_an_array, (0.3, {"u": np.array(0.7), "z": -0.7}), wrt=(0, 1))


# ------------------------------------------------------------ slices of what may be a list or array


class Stack:
    def __init__(self, *items):
        self.items = list(items)


def multiply(stack):
    stack.items[-2:] = [stack.items[-2] * stack.items[-1]]
    return stack.items[-1]


def shorter_each_time(x):
    s = Stack(*x)
    y = multiply(s) + multiply(s) * len(s.items)
    s.items[:1] = x * y
    return y * s.items[0] + s.items[3] * len(s.items)


@pytest.mark.thorough
def test_slices_of_lists_in_attributes_whose_length_changes():
    check(shorter_each_time)
    gradient = tl.grad(shorter_each_time)
    expected = slope(lambda x: gradient(x) @ V)
    assert tl.vjp(gradient, X)[1](V)[0] @ V == pytest.approx(expected, rel=1e-6)


def put_into(xs, v):
    xs[1:3] = v * v
    return np.sum(xs[0] * xs[1] * xs[-1])


def test_a_slice_that_a_helper_writes_may_be_one_of_a_list():
    text = tl.grad(put_into, wrt="v").source  # (right for any types)
    namespace = {}
    exec(text, namespace)
    xs, v, w = [1.0, 2.0, 3.0], np.array([5.0]), np.array([5.0, 2.0])
    with pytest.raises(TypeError, match="another number of items"):
        namespace["put_into_grad"](xs, v)
    for entries in (xs, np.array(xs)):
        assert namespace["put_into_grad"](entries, w) == pytest.approx(np.array([40.0, 100.0]))
    assert tl.grad(put_into, wrt=1)(xs, v) == pytest.approx(np.array([500.0]))


# ----------------------------------------------------------- rows that are in several containers


class Ledger:
    def __init__(self):
        self.rows, self.named = [], {}

    def add(self, name, v):
        row = {"name": name, "v": v}
        self.rows.append(row)
        self.named.setdefault(name, []).append(row)


def a_row_of_a_computed_name(x):
    ledger = Ledger()
    for i, v in enumerate(x):
        ledger.add("eo"[i % 2], v)
    ledger.rows[0], ledger.rows[1] = ledger.rows[1], ledger.rows[0]
    ledger.named["e"][0]["v"] = x[0] * x[1]
    return ledger.rows[0]["v"] + 2.0 * ledger.rows[1]["v"]


def test_what_is_written_beside_a_string():
    check(a_row_of_a_computed_name)


class Nodes:
    def __init__(self, values):
        self.near, self.h = defaultdict(list), {}
        for name, h in zip("abcd", values):
            self.h[name] = h

    def link(self, a, b, w):
        self.near[a].append((b, w))

    def step(self):
        new = {}
        for name, near in self.near.items():
            new[name] = self.h[name] * 0.5
            for other, w in near:
                new[name] = new[name] + w * self.h[other]
        self.h = new


def messages(x):
    nodes = Nodes(np.stack([x, x * x], axis=1))
    for (a, b), w in zip([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], x):
        nodes.link(a, b, w)
    for _ in range(2):
        nodes.step()
    return np.sum(nodes.h["a"] * nodes.h["c"])


@pytest.mark.thorough
def test_messages_of_nodes_with_names_in_forward_mode_twice():
    check(messages)
    tangent = tl.autodiff(messages, mode="forward")
    expected = slope(lambda x: tl.grad(messages)(x) @ V)
    assert tl.autodiff(tangent, mode="forward")(X, V, V)[1][1] == pytest.approx(expected, rel=1e-6)


# --------------------------------------------------------------------- lists that helpers lengthen


def lengthen(v, s):
    v.append(s * s)


def lengthened_by_a_helper(x):
    rows = [list(x)]
    lengthen(rows[0], x[1])
    y = rows[0][-1] * rows[0][0]
    lengthen(rows[0], y)
    return y * rows[0][-1] * len(rows[0])


def test_gradients_of_gradients_of_lists_that_helpers_lengthen():
    check(lengthened_by_a_helper)
    gradient = tl.grad(lengthened_by_a_helper)
    expected = slope(lambda x: gradient(x) @ V)
    assert tl.vjp(gradient, X)[1](V)[0] @ V == pytest.approx(expected, rel=1e-6)


# ------------------------------------------------------------------ objects that refer to each other


class Node:
    def __init__(self, v, parent=None):
        self.v, self.parent, self.children = v, parent, []
        if parent is not None:
            parent.children.append(self)


def below(node):
    scale = node.parent.v if node.parent else 1.0
    return node.v * scale + sum(below(child) for child in node.children)


def tree_with_parents(x):
    root = Node(x[0])
    inner = Node(x[1], root)
    Node(x[2], inner)
    Node(x[3], root)
    inner.v *= x[3]
    return below(root)


@pytest.mark.thorough
def test_objects_that_refer_to_those_around_them():
    check(tree_with_parents)
    gradient = tl.grad(tree_with_parents)
    expected = slope(lambda x: gradient(x) @ V)
    assert tl.vjp(gradient, X)[1](V)[0] @ V == pytest.approx(expected, rel=1e-6)
    assert tl.jvp(gradient, (X,), (V,))[1] @ V == pytest.approx(expected, rel=1e-6)


# --------------------------------------------------------- entries that may not be there, of anything


def put_first(maps, name, v):
    maps[0][name] = v
    return maps[0][name] * v


def new_entries_of_nested_dicts(x, maps):
    y = put_first(maps, "n", x[0] * x[1])
    return y * put_first(maps, "n", x[2]) * put_first([x * x], 1, x[3]) + len(maps[0])


def test_a_dict_in_a_list_gets_a_new_entry_in_a_helper():
    check(new_entries_of_nested_dicts, [{}])
    check(new_entries_of_nested_dicts, [{"n": 2.0}])


def registered(x):
    found = []

    @lambda fn: found.append(fn) or fn
    def _(v):
        return v * x[1]

    return found[0](x[0]) * _(x[2])


def test_a_decorated_function_without_a_name():
    check(registered)


# ------------------------------------------------------------------- sets of what was seen already


class Product:
    def __init__(self, v, factors=()):
        self.v, self.factors, self.bar = v, factors, 0.0

    def __mul__(self, other):
        return Product(self.v * other.v, ((self, other.v), (other, self.v)))


def ordered(node, seen, order):
    if node in seen:
        return
    seen.add(node)
    for factor, _ in node.factors:
        ordered(factor, seen, order)
    order.append(node)


def backwards(x):
    order, seen = [], set()
    a, b = Product(x[0]), Product(x[1])
    c = a * b
    y = c * c * a
    ordered(y, seen, order)

    def count(node, found):
        if id(node) not in found:
            found.add(id(node))
            for factor, _ in node.factors:
                count(factor, found)

    y.bar = x[2]
    for node in reversed(order):
        for factor, slope_of in node.factors:
            factor.bar = factor.bar + slope_of * node.bar
    count(y, found := set())
    return a.bar * b.bar * len(found) * len(seen)


@pytest.mark.thorough
def test_a_set_of_nodes_that_recursion_has_seen():
    check(backwards)
