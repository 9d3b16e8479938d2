"""Loops through what may be gone through once: iterators that only the run knows."""

from __future__ import annotations

from tests.generator_subject import Subject

ITERATED = Subject(
    (
        (
            "t1 = <S> * 0.5",
            "for k1 in np.ndindex(*<V>.shape):",
            "    t1 = t1 * <V>[k1] + 0.1",
            "<Y> = t1",
        ),
        ("for k1 in MADE['places']():", "    <S> = <S> * 0.5 + <V>[k1] * <S>"),
        ("for k1, k2 in enumerate(MADE['places']()):", "    <V>[k2] = <V>[k2] * 0.5 + <S> * k1"),
        (
            "t1 = <S> * 0.5",
            "p = MADE['places']()",
            "for k1, k2 in zip(p, p):",
            "    t1 = t1 * <V>[k1] + <W>[k2]",
            "<Y> = t1",
        ),
        (
            "t1 = <S> * 0.5",
            "p = MADE['places']()",
            "for k1 in p:",
            "    <S> = <S> * <V>[k1]",
            "    if <C>:",
            "        break",
            "for k1 in p:",
            "    t1 = t1 * <V>[k1] + 0.2",
            "<Y> = t1",
        ),
        (
            "t1 = <S> * 0.5",
            "p = [MADE['places'](), MADE['listed']()]",
            "for q in p:",
            "    for k1 in q:",
            "        t1 = t1 * 0.5 + <V>[k1] * t1",
            "<Y> = t1",
        ),
        ("p = numbered(<V>, MADE['places']())", "<X> = <V> * p"),
        # what two operands ask of one iterator
        ("p = iter([0, 2, 1])", "<X> = <V> * <W>[max(p)] * 0.5 + sum(p) * 0.2"),
        ("p = zip([0, 2, 1], [1, 3, 0])", "q, r = next(p)", "<Y> = <V>[q] * <W>[r] * len(list(p))"),
        (
            "p = map(abs, [1, -2, 1])",
            "<S> = <S> * next(p) * 0.5",
            "<Y> = <S> * len(list(p)) + sum(p)",
        ),
        ("p = (k1 for k1 in range(4))", "<X> = <V> * (1 in p) * 0.5 + <W> * sum(p) * 0.1"),
        ("<X> = <V> * numbered(<V>, iter([0, 2, 3])) + numbered(<W>, [1, 2])",),
        ("t1 = <S> * 0.5", "for k1 in {0, 2, 3}:", "    t1 = t1 * <V>[k1] + 0.3", "<Y> = t1"),
        (
            "p = MADE['places']()",
            "q = list(itertools.islice(p, 2))",
            "<X> = <V>[q[0]] * <W> + <V>[next(p)]",
        ),
        (
            "t1 = <S> * 0.5",
            "with io.StringIO('0\\n2\\n') as p:",
            "    for k1 in p:",
            "        t1 = t1 * <V>[int(k1)] + 0.1",
            "<Y> = t1",
        ),
        (
            "t1 = <S> * 0.5",
            "for v1, k1 in zip(<V> * 1.0, MADE['places']()):",
            "    t1 = t1 * v1 + <W>[k1]",
            "<Y> = t1",
        ),
        ("for k1 in MADE['shuffled']:", "    <S> = <S> * <V>[k1] + 0.2 * <S>"),
        ("<Y> = np.prod([<V>[k1] + 1.0 for k1 in MADE['places']()])",),
        ("p = iter(<V> * <S>)", "q = list(zip(p, p))", "<Y> = q[0][1] * q[1][0]"),
        ("p = iter(<V>)", "q = zip(p, p)", "for x1, x2 in q:", "    <S> = <S> * x1 + 0.2 * x2"),
        # objects whose class says what they yield, and in which order
        *(
            (
                f"p = ORDERED['{key}'](<V>, <S>)",
                "t1 = <S> * 0.5",
                "for q in reversed(p):",
                "    t1 = t1 * 0.5 + q * <S>",
                "<Y> = t1 + list(reversed(p))[0] * 0.3",
            )
            for key in "uw"
        ),
        ("<Y> = functools.reduce(lambda q, x1: q * 0.5 + x1, ORDERED['w'](<V>, <S>)) * 0.3",),
        ("p = [<S>]", "p.extend(ORDERED['u'](<V>, <S>))", "<Y> = p[0] * p[1] + 0.3 * sum(p)"),
        ("p = [<S>]", "p.extend(ORDERED['w'](<V>, <S>))", "<Y> = p[0] * p[1] + 0.3 * sum(p)"),
        ("p = Keyed(<V>, <S>)", "q = dict(p)", "q.update(Keyed(<W>, <S>))", "<Y> = q['u'] * <S>"),
        ("p = {'w': <S>}", "p.update(Keyed(<V>, <S>))", "<Y> = p['u'] * p['w'] + {**p}['x']"),
    ),
    (
        ("functools.", "import functools\n"),
        ("itertools.", "import itertools\n"),
        ("io.", "import io\n"),
        (
            "numbered(",
            "def numbered(x, places):\n    t = 1.0\n    for k, i in enumerate(places):\n"
            "        t = t * x[i] + 0.1 * k\n    return t\n",
        ),
        (
            "ORDERED",
            "class Counted:\n    def __init__(self, v, c):\n        self.v, self.c = v, c\n\n"
            "    def __len__(self):\n        return 3\n\n"
            "    def __getitem__(self, k):\n        return self.v[k] * self.c\n\n\n"
            "class Turned(Counted):\n    def __iter__(self):\n"
            "        for k in range(2):\n            yield self.v[k] + self.c\n\n"
            "    def __reversed__(self):\n        return iter([self.c, self.v[1] * self.c])\n\n\n"
            "ORDERED = {'u': Counted, 'w': Turned}\n",
        ),
        (
            "Keyed(",
            "class Keyed:\n    def __init__(self, v, c):\n        self.v, self.c = v, c\n\n"
            "    def keys(self):\n        return ['u', 'x']\n\n"
            "    def __getitem__(self, k):\n"
            "        return self.v[0] * self.c if k == 'u' else self.v[1]\n",
        ),
        (
            "MADE",
            "def places():\n    yield 0\n    yield 2\n    yield 1\n\n\n"
            "class Shuffled:\n    def __init__(self):\n        self.first = 0\n\n"
            "    def __iter__(self):\n        return iter([0, 2, 1])\n\n\n"
            "MADE = {'places': places, 'listed': lambda: [3, 0], 'shuffled': Shuffled()}\n",
        ),
    ),
)
