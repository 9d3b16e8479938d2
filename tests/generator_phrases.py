"""Short texts about one construct of the language each, which the generator puts together.

`<V>`, `<W>` are vectors, `<S>`, `<T>` numbers, `<I>` an index, `<C>` a test, `<E>` and `<F>` a fresh vector and
number, `<X>` the vector, `<Y>` and `<Z>` the numbers that are assigned.
"""

from __future__ import annotations

PRELUDE = (
    ("SCALE", "SCALE = [0.7]\n"),
    ("WEIGHTS", "import numpy as np\n\nWEIGHTS = np.array([0.3, 0.7, -1.1, 0.5])\n"),
    ("STATE", 'STATE = {"rate": 0.4}\n'),
    ("contextlib", "import contextlib"),
    ("functools", "import functools"),
    ("collections.", "import collections"),
    ("itertools.", "import itertools"),
    ("math.", "import math"),
    ("waves(", "import numpy as np\n\ndef waves(x):\n    for v in x:\n        yield np.sin(v)\n"),
    (
        "Pair(",
        "from typing import Any, NamedTuple\n\nclass Pair(NamedTuple):\n"
        "    left: Any\n    right: Any = 0.5\n",
    ),
    (
        "Cell(",
        "import dataclasses\n\n@dataclasses.dataclass\nclass Cell:\n"
        "    w: object\n    b: object = 0.25\n",
    ),
    (
        "Unit(",
        "import dataclasses\nimport numpy as np\n\n@dataclasses.dataclass\nclass Unit:\n"
        "    w: object\n    act: object = np.tanh\n    out: object = lambda p, c=0.5: p * c\n\n"
        "    def __call__(self, x):\n        return self.out(self.act(x * self.w))\n",
    ),
    (
        "Wide(",
        "class Part:\n    def __init__(self, w):\n        self.held = w\n\n"
        "    @property\n    def w(self):\n        return self.held * 0.5\n\n"
        "    def of(self, x):\n        return x + self.w\n\n\n"
        "class Long(Part):\n    def of(self, x):\n        return x * self.w\n\n\n"
        "class Wide(Long):\n    @property\n    def w(self):\n        return super().w - 0.1\n\n"
        "    def of(self, x):\n        return super().of(x) + super(Long, self).of(x)\n",
    ),
    (
        "TABLE",
        "import numpy as np\n\ndef wave(p, c):\n    return np.sin(p) * c\n\n"
        "def drift(p, c):\n    return 0.5 * p + c\n\nTABLE = {0: wave, 1: drift}\n",
    ),
)

PHRASES: tuple[tuple[str, ...], ...] = (
    # lists outside beside arrays and integers
    ("<X> = 2 * <V> * SCALE", "<Y> = np.sum(SCALE * (3 * <W>)) * 0.1"),
    # numbers outside that are set and read again
    (
        'STATE["rate"] = 0.3 + 0.2 * <I>',
        '<X> = <V> * STATE["rate"]',
        'STATE["rate"] = 0.9',
        '<Y> = <S> * STATE["rate"]',
    ),
    # names bound by tests of many
    ("p = any((q := x1 * <S>) > 0.1 for x1 in <V>)", "<Y> = q * (0.5 if p else 0.2)"),
    ("<Y> = q if all((q := x1) < <S> for x1 in <V> if x1 > -2.0) else q * <T>",),
    # windows
    (
        "p = len(<V>) - 1",
        "q = np.zeros(p)",
        "for k1 in range(2):",
        "    q += <V>[k1 : k1 + p] * <S>",
        "<Y> = np.sum(np.sin(q)) * 0.3",
    ),
    (
        "p, q = len(<V>), <V>[2:].copy()",
        "for k1 in range(2):",
        "    q -= <S> * <V>[1 - k1 : p - 1 - k1]",
        "<Y> = np.sum(q * q) * 0.2",
    ),
    (
        "p = collections.deque(maxlen=2)",
        "for x1 in <V>:",
        "    p.append(x1 * <S>)",
        "    <Y> = np.mean(p) + 0.1 * np.sum(p)",
    ),
    # classes inside
    (
        "class Inner:",
        "    def __init__(self, w):",
        "        self.w = w * 0.7",
        "    def of(self, x):",
        "        return np.sin(x * self.w)",
        "<X> = Inner(<S>).of(<V>)",
    ),
    # what NumPy writes while it reads
    ("p = <V> * 1.0", "p.flat[1:] = p[:-1] * <S>", "<X> = p"),
    # slices of generator expressions
    ("<Y> = sum(v1 * k1 for k1, v1 in zip(range(1, 3), waves(<V>))) * 0.3",),
    ("<Y> = sum(itertools.islice((x1 * <S> for x1 in <V>), 1, None)) * 0.3",),
    ("p = list(itertools.islice(map(np.sin, <V>), 3))", "<Y> = p[1] * <T>"),
    # classes that come next
    ("p = Wide(<V>)", "<X> = np.sin(p.of(<W>))"),
    # attributes by names that only the run knows
    (
        "p = Cell(<V>, <S>)",
        "for q in sorted(vars(p)):",
        "    setattr(p, q, getattr(p, q) * <T>)",
        "<X> = np.sin(p.w * p.b)",
    ),
    (
        "p = Cell(<V>)",
        "for q in list(p.__dict__):",
        "    p.__dict__[q + '2'] = p.__dict__[q] * <S>",
        "<Y> = np.sum(p.w2 * p.b2) * 0.1",
    ),
    # tuples that are updated in place
    ("p = (<S>, <T>, 0.3, <F>)", "p *= WEIGHTS", "<X> = np.sin(p)"),
    ("p = (<S>, <T>, 0.3, <F>)", "p *= <V>", "q = p", "p -= WEIGHTS", "<X> = p * q"),
    ("p = (<S>, 0.3)", "p *= 2", "p += (<T>,)", "<Y> = p[2] * p[4]"),
    # comprehensions, generator expressions, what Python does with iterables
    ("<X> = np.array([np.sin(x1) * <S> for x1 in <V>])",),
    ("<Y> = sum(x1 * <S> for x1 in <V> if x1 > 0.0)",),
    ("<Y> = 0.1 * sum([x1 * x2 for x1 in <V> for x2 in <W> if x1 < x2])",),
    ("<Y> = 0.3 * sum(x1 * x2 for x1, x2 in zip(<V>, <W>))",),
    ("p = {k1: x1 * <S> for k1, x1 in enumerate(<V>)}", "<Y> = sum(p.values()) * 0.2 + p[1]"),
    ("p = [[x1 * x2 for x2 in <V>] for x1 in <W>]", "<Y> = sum(p[1]) * 0.2 + p[-1][0]"),
    ("<X> = np.array(list(map(lambda x1: x1 * <S>, <V>)))",),
    ("<Y> = sum(filter(lambda x1: x1 > 0.0, <V>)) * 0.3",),
    ("<Y> = functools.reduce(lambda x1, x2: x1 * 0.5 + x2, <V>, <S>)",),
    ("<Y> = max(x1 * 0.9 for x1 in <V>) + min([<S>, <T>, 0.05])",),
    ("<Y> = sorted([<S>, <T>, 0.11])[1]",),
    ("<Y> = max([<S>, <T>], key=lambda x1: x1 * x1)",),
    ("<Y> = sorted(<V>, key=abs)[1] * 0.7",),
    ("<Y> = 0.4 * any([<C>, <S> > 0.2]) * <F>",),
    # walrus, unpacking, chained assignments
    ("if (u0 := <F>) > 0.1:", "    <Y> = u0 * 0.9", "else:", "    <Y> = u0 - 0.1"),
    ("<Y> = (u0 := np.cos(<S>)) * u0 + u0",),
    ("<Y> = u0 = <F>", "u0 = u0 * 0.5"),
    ("p, *q = <S>, <T>, 0.3", "<Y> = p * q[0] - q[1]"),
    ("*p, q = <V>, <W>, <E>", "<X> = p[0] * 0.5 + q * p[1]"),
    ("(p, (q, u0)) = (<V>, (<S>, <T>))", "<X> = p * q + u0"),
    ("p, q = q0 = (<V>, <S>)", "<X> = p * q + q0[0] * 0.1"),
    ("u0, u1, u2, u3 = <V>", "<Y> = u0 * u2 - u1 * u3"),
    ("<Y>, <Z> = <F>, <S> * 0.9",),
    # lists
    ("p = [<V>] * 2 + [<E>]", "<X> = p[1] * 0.5 - p[-1]"),
    (
        "p = Cell(<V>, None)",
        "if <C>:",
        "    p.b = <W>",
        "q = 2 if p.b is None else p.b",
        "q0 = [<S>, 0.2, <T>, 0.3] * q",
        "<Y> = q0[1] * len(q0) * 0.1 + q0[2]",
    ),
    ("p = []", "for x1 in <V>:", "    p.append(x1 * <S>)", "    p += [x1]", "<Y> = p[0] + p[3]"),
    ("p = [<S>, <T>]", "p.insert(0, <F>)", "p.extend([0.2, <S>])", "p.reverse()", "<Y> = p[1]"),
    ("p = [<S>, <F>, <T>]", "del p[0]", "p[0:1] = [<S>, 0.3]", "<Y> = p[-1] * p[1]"),
    ("p = [<V>, <S>]", "p[1] = p[1] * 0.5", "p[0] = p[0] * p[1]", "<X> = p[0]"),
    ("p = [0.0] * 3", "for k1 in range(3):", "    p[k1] = <V>[k1] * <S>", "<Y> = sum(p) * 0.4"),
    ("p = [(<S>, <V>), (<T>, <W>)]", "for p0, p1 in p:", "    <X> = np.sin(p1) * p0"),
    ("p = [x1 for x1 in <V>]", "while len(p) > 2:", "    <Y> = p.pop() * 0.6 + p.pop(0)"),
    ("p = [[<S>], [<T>]]", "p[0].append(<F>)", "q = p[0] + p[1]", "<Y> = q[1] * q[-1]"),
    ("p = [<V>, <W>][::-1]", "p.extend(x1 * 0.5 for x1 in [<V>])", "<X> = p[0] * p[2]"),
    # views that are read by a store of them alone
    ("p = <V>.copy()", "q = p[:2]", "p[0] = <S>", "p[2:] = q", "<X> = p * <W>"),
    ("p = np.stack([<V>, <W>])", "p[0], p[1] = p[1], p[0]", "<X> = p[1]"),
    (
        "p = np.outer(<V>, <W>)",
        "q = p.T[1:]",
        "p[0] *= p[1]",
        "q0 = np.zeros((3, 4))",
        "q0[:] = q",
        "<X> = q0[<I> % 3]",
    ),
    # dicts
    ("p = dict(u=<S>, w=<V>)", "p['u'] *= 0.7", "<X> = p['w'] * p['u']"),
    ("p = {'u': <S>}", "q = {**p, 'w': <T>}", "q.update(u=<F>)", "<Y> = q['u'] * p['u'] + q['w']"),
    ("p = {'u': <V>}", "<X> = p.get('w', <W>) * 0.5 + p.get('u')"),
    (
        "p = {'u': <S>, 'w': <T>}",
        "for k1, x1 in p.items():",
        "    p[k1] = x1 * 0.5",
        "<Y> = p['w']",
    ),
    ("p = {}", "p.setdefault('u', []).append(<S>)", "p['u'].append(<T>)", "<Y> = p['u'][1] * 0.5"),
    ("p = {'u': <S>, 'w': <T>}", "u0 = p.pop('u')", "<Y> = u0 * sum(p.values())"),
    ("p = {'u': {'w': <V>}}", "p['u']['z'] = <E>", "<X> = p['u']['w'] - p['u']['z']"),
    ("p = {'u': 2.0, 'w': <S>}", "<X> = (<V> - 1.5) ** p['u'] * p['w']"),
    # namedtuples and dataclasses
    ("p = Pair(<V>, <S>)", "<X> = p.left * p.right", "<Y> = p[1] * 0.5"),
    ("p = Pair(left=<V>)._replace(right=<T>)", "q, u0 = p", "<X> = q * u0"),
    ("p = Pair(Pair(<V>), <S>)", "<X> = p.left.left * p.left.right + p.right"),
    ("p = Cell(<V>)", "p.b = <S>", "p.w = p.w * p.b", "<X> = p.w + p.b"),
    ("p = Cell(3.0, <S>)", "<X> = 0.1 * (<V> - 1.5) ** p.w * p.b", "p.w = <T>"),
    ("p = Cell(<V>, b=<T>)", "q = dataclasses.replace(p, b=p.b * 0.5)", "<X> = q.w * q.b"),
    ("p = dataclasses.replace(Cell(<V> * 0.5, b=<T>), w=<W>)", "p.w[1] *= <S>", "<Y> = 0.1 * p.b"),
    ("p = Pair(<W> * 0.5, <T>)._replace(left=<V>)", "<V>[0] *= 0.7", "<X> = 0.8 * p.left"),
    ("p = [Cell(<V>, <S>), Cell(<W>, <T>)]", "for q in p:", "    <X> = q.w * q.b"),
    ("p = Unit(<S>)", "q = Unit(<T>, out=np.sin)", "<X> = p(<V>) + q(<W>)"),
    ("p = [Unit(<S>), Unit(<T>, np.cos)]", "for q in p:", "    <X> = q(<V>)"),
    ("p = Unit(<S>)", "<X> = getattr(p, 'act' if <C> else 'out')(<V>)"),
    # functions as values
    ("p = lambda x1, x2=<S>: np.sin(x1) * x2", "<X> = p(<V>)", "<Y> = p(<T>, x2=<F>)"),
    ("p = [np.sin, np.cos, lambda x1: x1 * 0.5]", "<X> = p[<I> % 3](<V>)"),
    ("<X> = TABLE[<I> % 2](<V>, <S>)",),
    ("p = {'u': np.tanh, 'w': np.sin}", "<X> = p['u' if <C> else 'w'](<V>)"),
    ("for p in (np.sin, np.tanh):", "    <X> = p(<V>) * 0.9"),
    ("p = functools.partial(np.multiply, <S>)", "<X> = p(<V>)"),
    (
        "q = [<S>, <T>]",
        "p = functools.partial(lambda x1, x2, x3: x1 * x2 * x3, *q)",
        "q[0] = 0.5",
        "<X> = p(<V>)",
    ),
    (
        "q = {'x2': <S>}",
        "p = functools.partial(lambda x1, x2: np.sin(x1) * x2, **q)",
        "q['x2'] = 0.5",
        "<X> = p(<V>)",
    ),
    ("p = np.sin if <C> else np.cos", "<X> = p(<V>)"),
    ("p = [lambda x1: x1 * <S>, lambda x1: x1 - <T>]", "for q in p:", "    <Y> = q(<F>)"),
    # what carries no derivative
    ("assert len(<V>) == 4, 'vectors have four entries'",),
    ("print(f'{<S>:.2f}', <V>.shape)",),
    ("p = <V>", "<X> = p * 0.5", "del p"),
    ("pass",),
    ("<Y> = math.sin(<S>) * math.exp(-abs(<T>))",),
)

# What is done with an inner function `<N>(y0, z0=...)`, by the sort of its result.
USES: dict[str, tuple[str, ...]] = {
    "vectors": (
        "<N>(<V>, <S>)",
        "<N>(<V>)",
        "<N>(y0=<V>, z0=<S>)",
        "<N>(<N>(<V>, <S>), 0.5) * <S>",
        "apply_twice(<N>, <V>)",
        "apply_twice(lambda x1: <N>(x1, <S>), <V>)",
        "sum([<N>(x1 * <V>, <S>) for x1 in (0.2, 0.7)])",
        "[<N>, np.sin][0](<V>)",
        "(lambda *x1: <N>(*x1))(<V>, <S>)",
    ),
    "numbers": (
        "<N>(<V>, <S>)",
        "<N>(<V>)",
        "<N>(*(<V>, <S>))",
        "<N>(**{'y0': <V>, 'z0': <S>})",
        "<N>(<V>, z0=<N>(<V>, <S>))",
        "0.4 * sum(<N>(<V>, x1) for x1 in <V>)",
    ),
}

# helper, sort of its result, calls of it
CALLS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "options",
        "vectors",
        (
            "options(<V>, <S>)",
            "options(<V>, <S>, scale=<S>)",
            "options(<V>, <S>, <S>, <S>)",
            "options(*[<V>, <S>], **{'scale': 0.4, 'shift': <S>})",
            "options(<V>, c=<S>, shift=<S>)",
        ),
    ),
    ("descend", "numbers", ("descend(<V>, <S>, 3)", "descend(<V>, depth=2, c=<S>)")),
    ("even", "numbers", ("even(<S>, 3)", "even(<S>, 4)")),
    (
        "apply_twice",
        "vectors",
        ("apply_twice(np.sin, <V>)", "apply_twice(lambda x1: x1 * <S>, <V>)"),
    ),
    ("scaled", "vectors", ("scaled(<S>)(<V>)", "apply_twice(scaled(<S>), <V>)")),
    ("guarded", "numbers", ("guarded(<S>, <S>)", "guarded(<S>, 0.0)")),
    ("labelled", "vectors", ("labelled(<V>)", "labelled(<V> * <S>)")),
)

# as in `generator_text.HELPERS`
HELPERS: dict[str, tuple[str, str]] = {
    "options": (
        "v <- v n",
        """def options(p, c=0.5, *more, scale=1.0, **rest):
    z = np.sin(p) * c
    for extra in more:
        z = z * extra
    if "shift" in rest:
        z = z + rest["shift"]
    return z * scale
""",
    ),
    "descend": (
        "n <- v n",
        """def descend(p, c, depth=2):
    if depth == 0:
        return p[0] * c
    if c > 0.3:
        return descend(p[::-1], c * 0.5, depth - 1) * 0.9
    return np.sin(descend(p, c + 0.1, depth - 1))
""",
    ),
    "even": (
        "n <- n",
        """def even(c, n=3):
    return c if n == 0 else odd(np.sin(c), n - 1) * 0.9


def odd(c, n):
    if n == 0:
        return 0.5 * c
    return even(np.cos(c), n - 1)
""",
    ),
    "apply_twice": (
        "v <- v",
        """def apply_twice(f, p):
    return f(f(p) * 0.5)
""",
    ),
    "scaled": (
        "v <- v",
        """def scaled(c):
    def by(p):
        return np.tanh(p) * c

    return by
""",
    ),
    "guarded": (
        "n <- n n",
        """def guarded(c, d):
    for k in range(3):
        try:
            z = float(c) / (d if k else 0.0)
        except ZeroDivisionError:
            continue
        else:
            if k == 1:
                return np.tanh(z)
    return c
""",
    ),
    "labelled": (
        "v <- v",
        """def labelled(p):
    z = np.tanh(p)
    try:
        z.label = "z"
        z = z.fillna(0.5) * 3.0
    except AttributeError:
        z = z * p
    try:
        w = z.relabelled("w")
    except AttributeError as error:
        w = np.cos(z) if "relabelled" in str(error) else z
    return w * z
""",
    ),
}
