"""Subjects of generated programs beyond arrays that alias and the statements of the language.

Each is a feature (`tests.generator.FEATURES`) with short texts as in `generator_phrases`, and with what
must stand before a program in whose text a word occurs. `<M>` is a matrix, `<K>` the matrix that
is assigned.
"""

from __future__ import annotations

from tests.generator_changes import AGAIN, CHANGED, DECLINED
from tests.generator_handed import HANDED
from tests.generator_iterators import ITERATED
from tests.generator_subject import Lines, Subject

MODULES = Subject(
    (
        ("<X> = act(<V>) * <S>",),
        ("<X> = act(<V>, np)",),
        ("<X> = act(<W>, xp=np) + 0.1 * <V>",),
        ("<Y> = total(np, <V>)",),
        ("<X> = defaulted(<V>)",),
        ("<X> = defaulted(<V>, np)",),
        ("<X> = xp.tanh(<V>) * <S>",),
        ("<Y> = 0.2 * xp.sum(xp.sin(<V>) * <W>)",),
        ("<Y> = xp.mean(<E>) * <S>",),
        ("<Y> = 0.2 * xp.sum(<V> * <S>)",),
        ("<Y> = 0.2 * xp.dot(<V>, <W>)",),
        ("<X> = xp.clip(<V>, -0.4, 0.4) * <S>",),
        ("<X> = xp.cumsum(<V>) * 0.2 + xp.max(<W>)",),
        ("<Y> = MODULES['numpy'].mean(<V> * <W>)",),
        ("<Y> = array_module(<V>).sum(<V>) * 0.2",),
        ("<Y> = BACKEND.xp.sum(<V> * <S>) * 0.2",),
        ("<Y> = BOXES['u'].sum() * 0.1 + BOXES['u'].dot(<V>) * <S>",),
        ("q = BOXES['u']", "<X> = q.clip(<V>) * q.mean(<W>)"),
        ("q = xp.zeros_like(<V>)", "q[1:] = xp.cos(<W>[:-1])", "<X> = q * <V>"),
        ("<K> = xp.tanh(xp.matmul(<M>, <M>))",),
        ("<X> = 0.3 * xp.linalg.solve(xp.eye(4) * 3.0 + 0.2 * xp.tanh(<M>), <V>)",),
        ("q = MODULES['numpy']", "<X> = q.tanh(<V>)"),
        ("<X> = MODULES['numpy'].sin(<V>) * MODULES['numpy'].cos(<W>)",),
        ("q = array_module(<V>)", "<Y> = 0.2 * q.sum(<V> * <W>)"),
        ("<X> = BACKEND.xp.sin(<V>)",),
        ("q = BACKEND", "<Y> = q.mean(q.act(<V>))"),
        ("<Y> = by_backend(BACKEND, <V>)",),
        ("q = BACKEND if <C> else OTHER", "<X> = q.act(<V>) * 0.9"),
        ("for q in (BACKEND, OTHER):", "    <Y> = q.mean(q.act(<V>)) * <S>"),
        ("q = by_key(BACKENDS, 'w')", "if q.mean(q.act(<V>)) < 9.0:", "    <X> = q.act(<V>) * 0.9"),
        ("q = by_key(BACKENDS, 'w')", "<Y> = q.mean(q.act(<V>)) / q.mean(q.act(np.ones(2) * 0.7))"),
        ("q = importlib.import_module('numpy')", "<X> = q.sin(<V>)"),
        ("q = np if <C> else MODULES['numpy']", "<X> = q.sin(<V>)"),
        ("for q in (np, MODULES['numpy']):", "    <X> = q.tanh(<V>)"),
        ("q = getattr(np, 'tanh' if <C> else 'sin')", "<X> = q(<V>)"),
        ("q = np.linalg", "<Y> = 0.2 * q.norm(2.0 + np.tanh(<V>))"),
        ("q = {'u': np.sin, 'w': BACKEND.act}", "<X> = q['w'](<V>) + 0.3 * q['u'](<W>)"),
        (
            "q = xp.zeros(4)",
            "q[xp.argmax(<V>)] = <S>",
            "q += xp.where(<V> > 0.1, <V>, 0.2)",
            "<X> = q",
        ),
        ("<K> = xp.stack([<V>, xp.sin(<W>), <V>, <E>])", "<K>[xp.arange(2)] *= 0.5"),
    ),
    (
        ("importlib.", "import importlib"),
        (
            "BOXES",
            "class Box:\n    ndim = 2\n\n    def __init__(self, w):\n        self.w = w\n\n"
            "    def sum(self):\n        return np.sum(self.w)\n\n"
            "    def dot(self, x):\n        return np.sum(self.w * x) * 0.2\n\n"
            "    def mean(self, x):\n        return np.mean(x * x)\n\n"
            "    def clip(self, x):\n        return np.tanh(x) * self.w\n\n\n"
            "BOXES = {'u': Box(np.array([0.2, 0.5, -0.3, 0.4]))}\n",
        ),
        ("act(", "def act(x, xp=np):\n    return xp.tanh(x) * 0.9\n"),
        ("total(", "def total(xp, x):\n    return xp.sum(xp.sin(x)) * 0.2\n"),
        (
            "defaulted(",
            "def defaulted(x, xp=None):\n    if xp is None:\n        xp = np\n"
            "    return xp.cos(x) * xp.mean(x)\n",
        ),
        ("MODULES", "MODULES = {'numpy': np}\n"),
        ("array_module(", "def array_module(x):\n    return np\n"),
        (
            "BACKEND",
            "class Backend:\n    xp = np\n\n    def __init__(self, act):\n        self.act = act\n\n"
            "    def mean(self, x):\n        return self.xp.mean(x) * 0.7\n\n\n"
            "BACKEND = Backend(np.tanh)\nOTHER = Backend(lambda x: np.sin(x) * 0.5)\n",
        ),
        (
            "by_key(",
            "BACKENDS = {'w': BACKEND}\n\ndef by_key(every, k):\n"
            "    for name, one in every.items():\n        if name == k:\n            return one\n",
        ),
        ("by_backend(", "def by_backend(m, x):\n    return m.mean(m.act(x)) + m.xp.sum(x) * 0.1\n"),
    ),
)

UNKNOWN = Subject(
    (
        # functions and methods that only the run knows, asked for what carries no derivative
        ("<X> = <W> * 1.0", "if WRITERS['f'](<V>) > 9.0:", "    <X> = <V> * 0.5"),
        ("q = WRITERS['f']", "k = int(q(<V>))", "<X> = <V> * k"),
        ("q = WRITERS['o'].count(<V>)", "<Y> = 0.1 * np.sum(<V>) * q"),
        ("<X> = <W> * 1.0", "if WRITERS['o'].is_large(<V>):", "    <X> = <V> * 0.5"),
        (
            "p = [<V> * 0.9]",
            "while WRITERS['o'].is_large(p[0]):",
            "    p[0] = p[0] * 0.5",
            "<X> = p[0]",
        ),
        # objects of which only the run knows the class: what they compute after they were changed
        ("p = WRITERS['m'](<V>)", "p.grow(<S>)", "q, r = p.both", "<X> = 0.3 * q * np.tanh(r)"),
        ("p = WRITERS['m'](<V>)", "p.grow(<S>)", "<Y> = 0.1 * np.sum(p.twice * <W>)"),
        # their methods may be named like those of containers and of arrays
        ("p = WRITERS['m'](<V>)", "p.update(<W>)", "<X> = p.v * 0.5"),
        ("p = WRITERS['m'](<V>)", "p.append(<S>)", "p.clear()", "<X> = p.get(<W>)"),
        ("p = WRITERS['m'](<V>)", "p.grow(<S>)", "<X> = <V> * p.size * 0.3"),
        ("p = WRITERS['m'](<V>)", "<Y> = 0.1 * p.size * np.sum(<W>)"),
        ("p = WRITERS['m'](<V>)", "q = p.pop(<S>)", "<X> = q + 0.5 * p.v"),
        ("p = WRITERS['m'](<V>)", "p.grow(<S>)", "<X> = p.v + p.kept", "<Y> = 0.1 * sum(p.kept)"),
    ),
    (
        (
            "WRITERS",
            "def halves_first(x):\n    x[0] *= 0.5\n    return 2.0\n\n\n"
            "class Asked:\n    def count(self, x):\n        x[1] = 0.3\n        return len(x)\n\n"
            "    def is_large(self, x):\n        return np.sum(x) > 1.0\n\n\n"
            "class Grown:\n    def __init__(self, v):\n        self.v = v\n\n"
            "    @property\n    def both(self):\n        return self.v * 2.0, self.v\n\n"
            "    @property\n    def twice(self):\n        return self.v * 2.0\n\n"
            "    def grow(self, c):\n        self.v = self.v * c\n\n"
            "    def update(self, w):\n        self.v = np.tanh(self.v * w)\n\n"
            "    def append(self, c):\n        self.v = self.v + c\n\n"
            "    @property\n    def size(self):\n        return np.sum(self.v)\n\n"
            "    def clear(self):\n        self.v = self.v * 0.5\n\n"
            "    def get(self, w):\n        return self.v * w\n\n"
            "    def pop(self, c):\n        self.v = self.v * c\n        return self.v * 0.3\n\n"
            "    @property\n    def kept(self):\n"
            "        if getattr(self, '_kept', None) is None:\n            self._kept = np.sin(self.v)\n"
            "        return self._kept\n\n\n"
            "WRITERS = {'f': halves_first, 'o': Asked(), 'm': lambda v: Grown(v)}\n",
        ),
    ),
)

TAKEN = Subject(
    (
        # pops into reductions
        ("p = [<S> + <V>]", "<Y> = 0.1 * np.sum(p.pop())"),
        ("p = [<V>, <E>]", "<Y> = 0.1 * p.pop().sum()", "<Z> = np.mean(p.pop(0))"),
        ("p = [<M> * <S>]", "<X> = np.tanh(np.sum(p.pop(), axis=0))"),
        ("p = collections.deque([<V> + <S>])", "p.append(<E>)", "<Y> = np.mean(p.popleft())"),
        ("p = collections.deque([<V>, <W>], maxlen=2)", "p.append(<E>)", "<X> = p.pop() * p[0]"),
        (
            "p = []",
            "for k1 in range(3):",
            "    p.append(np.sin(<V> * k1))",
            "while len(p) > 1:",
            "    p.append(p.pop() + p.pop() * <S>)",
            "<Y> = 0.1 * np.sum(p.pop())",
        ),
        ("<X> = np.tanh(in_polish('ppc*+', <V>, <S>))",),
        ("<Y> = 0.1 * np.sum(in_polish('pc+c*', <V>, <S>))",),
        ("p = [(<S>, <V>), (<T>, <W>)]", "u0, q = p.pop()", "<Y> = 0.2 * np.sum(q) * u0"),
        ("p = {'u': <V> * <S>}", "<Y> = 0.1 * np.sum(p.pop('u'))"),
        ("p = [<V>, <W>]", "q = p.pop(0)", "<X> = np.sin(p[0])"),
        ("p = list(<M>)", "q = p.pop()", "<X> = q * 0.5 + p[0] * <S>"),
        ("p = []", "for x1 in <V>:", "    p.append(x1 - <W>)", "<Y> = 0.05 * np.sum(np.stack(p))"),
        ("<Y> = 0.1 * np.sum(np.vstack([<V> * <S>, <W>]))",),
        ("<Y> = 0.1 * np.sum(np.hstack([<V>, <E>])) + np.mean(np.column_stack([<V>, <W>]))",),
        # items and fields that a branch replaces, which the test of it asks by another name
        (
            "p = [<V> * 0.9, <W>]",
            "for k1 in range(3):",
            "    q = p[0]",
            "    if np.sum(q) > 0.2:",
            "        p[0] = q * <S>",
            "    else:",
            "        p[0] = np.tanh(p[1] - q)",
            "<X> = p[0] * 0.7",
        ),
        (
            "p = {'u': <V> * 0.9, 'v': <W> * <S>}",
            "for k1 in 'uvu':",
            "    q = p[k1]",
            "    if np.sum(q) > 0.2:",
            "        q *= 0.5",
            "        p[k1] = q * np.sin(q)",
            "<X> = p['u'] + 0.3 * p['v']",
        ),
        (
            "p = types.SimpleNamespace(u=<V> * 0.9)",
            "for k1 in range(3):",
            "    q = p.u",
            "    if q[0] < 0.4:",
            "        q *= 0.5",
            "        p.u = q + np.sin(q)",
            "<X> = p.u * 0.5",
        ),
        (
            "p = [<V> * 0.9, <W> * 1.0]",
            "k1 = 0",
            "while k1 < 3:",
            "    u0, q = p[0], p[1]",
            "    if np.sum(u0) < np.sum(q):",
            "        p[0], p[1] = q * <S>, np.sin(u0)",
            "    k1 += 1",
            "<X> = p[0] * 0.5 + p[1]",
        ),
        # lists made by `*` and filled later
        (
            "p = [None] * 3",
            "for k1 in range(3):",
            "    p[k1] = np.sin(<V> * k1)",
            "<Y> = 0.2 * np.sum(p[1])",
            "<X> = 0.5 * p[2]",
        ),
        ("p = [0] * 3", "for k1 in range(3):", "    p[k1] = <V> * k1", "<X> = np.sin(sum(p))"),
        ("p = [0.0] * 3", "p[1] = <V>", "p[2] = <S>", "<X> = 2.0 * p[1] * np.sin(p[2])"),
        (
            "p = [[None]] * 3",
            "for k1 in range(3):",
            "    p[k1] = [np.sin(<V> * k1)]",
            "<X> = p[1][0] * 0.5 + p[2][0]",
        ),
        (
            "p = [[None] * 2 for _ in range(2)]",
            "for k1 in range(2):",
            "    for k2 in range(2):",
            "        p[k1][k2] = <V>[k1] * <W>[k2]",
            "<Y> = p[1][0] + sum(p[0]) * 0.4",
        ),
        ("p = [0.3] * 2", "p.append(<V>)", "<Y> = p[2][1] * p[0]"),
        ("p = [<S>] * 3", "p[1] = p[0] * <T>", "<Y> = p[1] - p[2] * 0.5"),
        ("p = [1, 2]", "p.append(<V>)", "<X> = np.sin(p[-1]) * p[1]"),
        ("p = {}", "for k1 in range(3):", "    p[k1] = np.sin(<V> * k1)", "<X> = p[1] * p[2]"),
        # items of another sort than what was there before
        ("p = {'u': <S>}", "u0 = p['u']", "p['u'] = <V>", "<X> = u0 * p['u']"),
        ("p = [<V> + <S>]", "q = p[0]", "p[0] = 0.5", "<X> = q * p[0]"),
        (
            "p = []",
            "for k1 in range(3):",
            "    p.append(<S> * k1)",
            "p.append(<V> * <S>)",
            "p[1] = <V> + p[0]",
            "<Y> = 0.1 * sum(np.sum(x1) for x1 in p)",
        ),
        # slices of what a call gives, results unpacked directly
        ("u0, u1 = <V>[[2, 0]]", "<Y> = u0 * np.sin(u1)"),
        ("u0, u1 = sorted(<V>)[:2]", "<Y> = u0 * u1 * u1"),
        ("p, q = (<V> * <S>, <W>, <E>)[1:]", "<X> = p * q"),
        ("p, q = [*triple(<V>, <W>), <E>][2:]", "<X> = np.tanh(p * q)"),
        ("<X>, q = triple(<V>, <W>)[:2]", "<Y> = q[1] * 0.5"),
        ("q = triple(<V>, <W>)[1:]", "<X> = q[0] * q[1]"),
        ("p, *q = triple(<V>, <W>)", "<X> = p * 0.5 + q[0] * q[1]"),
        ("p, q = triple(<V>, <W>)[::2]", "<X> = np.tanh(p * q)"),
        ("<X> = triple(<V>, <W>)[1] * <S>",),
        ("(p, q), u0 = in_pairs(<V>, <S>)", "<X> = np.tanh(p * u0 - q)"),
        ("u0, u1, u2, u3 = halved(<V>)", "<Y> = u0 * u3 - np.sin(u1)"),
        ("p, q, _, _ = turned(<M>)", "<X> = p * 0.5 + np.sin(q)"),
        ("u0, *q = halved(<V>)", "<Y> = u0 * q[1]"),
        ("for p, q in zip(triple(<V>, <W>), turned(<M>)):", "    <X> = np.tanh(p * q)"),
        ("p = rows_of(<V>)", "<Y> = 0.3 * p[0][1] + np.sin(p[1][0])"),
        # one array under two names, chosen by a branch, and written
        (
            "q = <V> * 1.0",
            "p, q = (q, q) if <C> else (<V> * 1.0, <W> * 0.5)",
            "q[0] = q[0] * p[1]",
            "<Y> = 0.2 * np.sum(p * p)",
        ),
        (
            "p, q = same_twice(<V> * 0.9) if <C> else triple(<V>, <W>)[1:]",
            "p[1:] *= 0.5",
            "<X> = np.sin(q) * 0.7",
        ),
        ("p = [<V> * 1.0] * 2", "p[1][0] = <F>", "<X> = p[0] * 0.8"),
        (
            "q = <V> * 1.0",
            "p = {'u': q, 'w': q if <C> else <W> * 1.0}",
            "p['w'] *= 0.6",
            "<X> = p['u'] * 0.9",
        ),
        # dicts gone through
        ("p = {'u': <V>, 'w': <E>}", "for k1, x1 in p.items():", "    <X> = np.sin(x1)"),
        ("p = {'u': <S>, 'w': <T>}", "<Y> = sum(p.values()) * 0.4"),
        ("p = {'u': <V>, 'w': <W>}", "<Y> = 0.1 * sum(np.sum(x1 * <S>) for x1 in p.values())"),
        (
            "p = dict(zip('uvwz', <V>))",
            "<Y> = 0.3 * sum(x1 * x2 for x1, x2 in zip(p.values(), <W>))",
        ),
        ("p = {'u': <V>, 'w': <W>}", "q = list(p.items())", "<X> = q[0][1] * np.sin(q[1][1])"),
        ("p = {'u': <V>, 'w': <W>}", "q = iter(p.values())", "<X> = next(q) * np.sin(next(q))"),
        ("p = {'u': <V>, 'w': <W>}", "q, p0 = p.values()", "<X> = q * np.sin(p0)"),
        (
            "p = {k1: np.sin(<V> * k1) for k1 in range(3)}",
            "<Y> = 0.1 * sum([x1.sum() for x1 in p.values()])",
        ),
        (
            "p = {'u': {'z': <V>}}",
            "for q in p.values():",
            "    for x1 in q.values():",
            "        <X> = x1 * 0.7",
        ),
        (
            "p = {'u': <S>, 'w': <T>}",
            "q = {k1: x1 * 0.5 for k1, x1 in p.items()}",
            "<Y> = q['w'] * p['u']",
        ),
        ("p = {'u': <S>}", "for k1 in p:", "    p[k1] = p[k1] * <T>", "<Y> = max(p.values())"),
        ("p = collections.OrderedDict(u=<V>, w=<W>)", "<X> = p.popitem()[1] * 0.5"),
        ("p = collections.defaultdict(list)", "p['u'].append(<V>)", "<X> = p['u'].pop() * <S>"),
        ("p = {'u': <V>}", "p |= {'w': <W> * <S>}", "<X> = p['w'] * p['u']"),
    ),
    (
        ("collections.", "import collections"),
        ("types.", "import types"),
        (
            "in_polish(",
            "def in_polish(code, p, c):\n    stack = []\n    for op in code:\n"
            "        if op == 'p':\n            stack.append(p)\n"
            "        elif op == 'c':\n            stack.append(c)\n"
            "        elif op == '+':\n            stack.append(stack.pop() + stack.pop())\n"
            "        else:\n            stack.append(stack.pop() * stack.pop())\n"
            "    return stack.pop()\n",
        ),
        ("triple(", "def triple(p, q):\n    return np.sin(p), np.cos(q) * p, 0.5 * q\n"),
        ("in_pairs(", "def in_pairs(p, c):\n    return (p * c, np.sin(p)), c * 0.5\n"),
        ("same_twice(", "def same_twice(p):\n    return p, p\n"),
        ("halved(", "def halved(p):\n    return p * 0.5\n"),
        ("turned(", "def turned(h):\n    return np.transpose(h)\n"),
        ("rows_of(", "def rows_of(p):\n    return [p[:2] * 0.5, p[2:]]\n"),
    ),
)

OUTPUTS = Subject(
    (
        # the output by position and by name
        ("<X> = np.zeros(4)", "np.subtract(0.5, <V>, <X>)"),
        ("np.subtract(0.5, <V>, <V>)",),
        ("np.subtract(<S>, <V>, out=<V>)",),
        ("np.multiply(<V>, <S>, out=<W>)", "<W> *= 0.8"),
        ("np.tanh(<V>, <V>)",),
        ("np.sin(<V>, out=<W>)",),
        ("np.maximum(<V>, -0.3, <W>)",),
        ("np.multiply(np.cos(<V>), <W>, <W>)",),
        ("np.divide(<V>, 2.0 + np.cos(<W>), <V>)",),
        ("np.add(<V>[1:], 0.3, <V>[:-1])",),
        ("np.multiply(0.7, <V>[:2], <V>[2:])",),
        ("np.add(<V> * 0.5, <V>[::-1] * 0.4, out=<V>)",),
        ("np.negative(<M>[<I>], <M>[<I>])",),
        ("np.subtract(<V>, 0.3, where=<W> > 0.1, out=<V>)",),
        ("<V>.clip(-0.5, 0.5, <V>)",),
        ("np.clip(<V>, -0.6, 0.6, out=<W>)",),
        ("np.cumsum(<V> * 0.3, 0, None, <W>)",),
        ("q = np.zeros(4)", "np.dot(<M>, <V>, q)", "<X> = np.tanh(q)"),
        ("q = np.zeros(4)", "np.matmul(<M>, <V>, out=q)", "<X> = np.tanh(q) * <S>"),
        ("<X> = np.zeros(4)", "np.add.reduce(<M> * 0.3, 0, None, <X>)"),
        ("<X> = np.zeros(4)", "np.sum(<M> * 0.3, axis=1, out=<X>)"),
        ("q = np.empty(4)", "np.take(<V>, [3, 1, 1, 0], 0, q)", "<X> = q * <S>"),
        ("<X> = flipped(<V>)",),
        ("<X> = scaled_into(<V>, <S>)", "<W> *= 0.9"),
        ("filled(<V>, <W>, <S>)",),
        ("np.copyto(<V>, <W> * <S>)",),
        ("np.add.at(<V>, [0, 0, 2], 0.3 * <W>[:3])",),
        # arrays of rank 0 with a second name
        ("q = np.array(<S>)", "q += 0.3 * <V>[1]", "p = q", "p *= 0.7", "<Y> = float(q)"),
        ("q = np.array(<S>)", "p = q", "q *= <W>[0]", "p[...] = np.sin(p)", "<Y> = q * 0.9"),
        ("q = np.zeros_like(<S>)", "p = np.transpose(q)", "p += <S> * <T>", "<Y> = q * <S>"),
        ("q = np.array(<S>)", "p = q - 0.5", "q *= <T>", "<Y> = p * q"),
        ("q = np.array(<S>)", "p = q * <T>", "q.flat[0] = 0.3", "<Y> = p * q"),
        ("q = np.clip(np.array(<S>), -2.0, 2.0)", "p = q", "q += <T>", "<Y> = p * q"),
        # what gives the argument itself where it fits, and is written
        ("q = np.asarray(<V>)", "q[1] = <F>", "<X> = q * 0.9"),
        ("q = np.ascontiguousarray(<V>)", "q *= 0.8", "<X> = q * <W>"),
        ("q = np.asfortranarray(<M>)", "q[0] = <V>"),
        ("q = np.require(<V>, requirements=['C'])", "q[0] += 0.3 * <S>"),
        ("q = np.asarray(<M>, dtype=float)", "q[1, 1] = <F>"),
        ("q = np.asanyarray(<V>)", "q[<I>] *= <S>"),
        ("q = np.atleast_1d(<V>)", "q[:2] = 0.3 * <W>[2:]"),
        ("q = np.atleast_2d(<V>)", "q[0, 1] = <F>"),
        ("q = np.ravel(<V>)", "q[2] = <F>"),
        ("q = np.squeeze(<V>[:, None])", "q[1] *= <S>"),
        ("q = <V>.astype(float, copy=False)", "q[0] = <F>"),
        ("p = 0", "q = np.diff(<V>, p)", "q[0] = <F>", "<X> = q * <V>"),
        ("q = np.split(<V>, [1])", "<Y> = q[0] @ q[0] + np.sum(np.diag(<V>) @ <W>) * 0.2"),
        ("q = <V>.astype(float)", "q[0] = <F>", "<X> = q * <V>"),
        ("q = np.moveaxis(<M>, 0, 1)", "q[0] = np.sin(<V>)"),
        ("q = np.flip(<V>)", "q[0] = <F>"),
        ("q = np.real(<V>)", "q[3] = <F>"),
        ("q = np.array(<V>)", "q[1] = <F>", "<X> = q * <V>"),
        ("q, p = np.split(<V>, 2)", "q[0] = <F>", "p *= <S>"),
        ("for q in np.split(<M>, 2):", "    q[0] *= np.cos(<V>)"),
        # arrays of rank 0, read-only results of NumPy
        ("q = np.array(<F>)", "q[()] += 0.3 * <S>", "<Y> = q * 0.9"),
        ("q = np.zeros(())", "np.sum(<V> * 0.2, out=q)", "<Y> = q[()]"),
        ("q = np.asarray(<S>)", "q = q * <T>", "<Y> = float(q)"),
        ("q = np.max(<V>)", "<X> = q[..., None] * <W>"),
        ("<X> = np.concatenate([q[..., np.newaxis] for q in np.asarray(<V>)], axis=-1)",),
        ("q = [x1[None] * <S> for x1 in <V>]", "q[0] *= <T>", "<Y> = np.sum(np.concatenate(q))"),
        ("q = np.array(<F>)", "q[...] *= np.cos(<S>)", "<Y> = q[()] * 0.5"),
        (
            "q = np.array(0.0)",
            "for x1 in <V>:",
            "    q += x1 * x1 * 0.3",
            "q[...] = q * <S>",
            "p = q[()]",
            "<Y> = float(p) * 0.3",
        ),
        ("q = np.diag(<M>)", "<X> = q * 0.7"),
        ("<X> = np.broadcast_to(np.sin(<S>), 4) * <V>",),
        ("<Y> = 0.3 * np.sum(np.diagonal(<M>))",),
        ("<M>[[2, 0]] += 0.1 * <V>", "<Y> = 0.2 * np.sum(np.diag(<M>))"),
        ("q = np.broadcast_to(<V>, (3, 4))", "<X> = np.sin(q[1])"),
        ("q = np.diagonal(<M>).copy()", "q[0] = <F>", "<X> = q"),
        # values that overflow after their last use
        ("q = <V>.copy()", "<Y> = 0.2 * np.sum(q)", "q *= np.exp(np.exp(q * 9.0 + 9.0))"),
        ("q = <V> * 3.0", "<X> = np.sin(q)", "q *= np.exp(np.cosh(q * 9.0 + 9.0))"),
        (
            "q = <V> * 1.0",
            "<Y> = q[1]",
            "for k1 in range(4):",
            "    q *= np.exp(q * q * 9.0 + 300.0)",
        ),
        ("p = [<V> * 0.5]", "<X> = p[0]", "p[0] = np.exp(np.exp(p[0] + 9.0))"),
        ("q = <E>", "q[1:] *= np.exp(np.exp(<V>[1:] + 9.0))", "<Y> = q[0]"),
        ("u0 = <F>", "<Y> = np.sin(u0)", "u0 = np.exp(np.exp(u0 + 9.0))"),
    ),
    (
        (
            "flipped(",
            "def flipped(p):\n    q = np.zeros(4)\n    np.subtract(0.5, p, q)\n    return q\n",
        ),
        (
            "scaled_into(",
            "def scaled_into(p, c):\n    np.multiply(c, p, p)\n    return np.add(p, 0.2, out=p)\n",
        ),
        ("filled(", "def filled(p, q, c):\n    np.subtract(c, q, p)\n    np.sin(p[1:], p[1:])\n"),
    ),
)

COMPLEX = Subject(
    (
        ("q = np.exp(1j * <V>)", "<X> = q.real * 0.5 + q.imag * <W>"),
        ("q = <V> + 1j * <W>", "<Y> = 0.1 * np.sum((q * np.conj(q)).real)"),
        ("q = product(<V>, <W> * (0.5 + 0.2j))", "<X> = np.tanh(q.imag)"),
        ("q = np.fft.fft(<V>)", "<X> = 0.1 * np.fft.ifft(q * np.conj(q)).real"),
        (
            "q = np.zeros(4, dtype=complex)",
            "q[1:] = <V>[:-1] * 1j",
            "q += <W>",
            "<X> = np.sin(q.real - q.imag)",
        ),
        ("q = <S> + 1j * <T>", "<Y> = (q * q).imag + np.cos(q.real)"),
        ("q = complex(<S>, <T>)", "<Y> = (q * q).imag * 0.5"),
        ("u0 = <S> + 2j", "<Y> = (1.0 / u0).imag * 0.5"),
        ("q = <V>.astype(complex)", "q *= 1j", "<X> = q.imag * 0.6"),
        ("q = np.where(<V> > 0.1, <V> * 1j, <W>)", "<X> = q.imag - q.real * 0.3"),
        ("q = np.sqrt(<V> + 2j)", "<X> = np.tanh(q.real)"),
        ("q = np.outer(<V>, np.exp(1j * <W>))", "<X> = np.tanh(np.sum(q, axis=0).imag)"),
        ("q = [<V> * 1j, <W>]", "q[1] = q[0] * <S>", "<X> = np.tanh(q[1].imag)"),
        ("q = (<M> * 1j + <M>.T) @ <V>", "<X> = np.tanh(q.imag - q.real)"),
        (
            "q = <V> + 0j",
            "for k1 in range(3):",
            "    q = q * (0.6 + 0.3j) + <S>",
            "<X> = np.tanh(q.real * q.imag)",
        ),
        (
            "q = <V> * (1.0 + 0.5j)",
            "for k1 in range(3):",
            "    q[k1] *= np.cos(q[k1 + 1])",
            "<X> = np.tanh(q.imag)",
        ),
        ("<Y> = 0.5 * np.angle(2.0 + np.tanh(<S>) + 1j * <T>)",),
        ("<X> = np.tanh(spun(<V>).real)",),
        ("<X> = np.tanh(spun(<V>, 0.3j * <S>).imag)",),
        ("<Y> = 0.1 * np.vdot(<V> * (1 + 1j), <W> * 1j).real",),
        ("<Y> = 0.1 * abs(2.0 + spun(<V>)[1])",),
        ("q = <V> * 1j", "q[<W> > 0.1] = <S>", "<Y> = 0.2 * np.sum(q.real + q.imag)"),
        ("q = np.stack([<V>, <W> * 1j])", "<X> = np.tanh(q.sum(axis=0).imag) * <S>"),
        ("q = <V> * 1j", "p = q", "p += <W>", "<X> = q.real * 0.5 + q.imag"),
        (
            "q = np.zeros(4, dtype=complex)",
            "q += <V>",
            "q.imag = <W>",
            "q *= 1j",
            "q.real[1:] += <V>[1:]",
            "<Y> = 0.1 * np.sum(np.abs(q + 3.0) ** 2) * <S>",
        ),
        ("q = <V> + 0j", "q.imag = <W>", "<X> = (q * q).imag * 0.4"),
        ("q = <V> + 0j", "q.real[1:] = <W>[:-1]", "<X> = np.tanh((q * q).real)"),
        # real values beside complex ones
        ("q = <M> @ np.exp(1j * <V>)", "<X> = np.tanh(np.abs(q))"),
        ("q = np.exp(1j * <M>) @ <V>", "<X> = np.tanh(q.imag)"),
        ("q = np.linalg.multi_dot([<M>, np.exp(1j * <M>), <V>])", "<X> = np.tanh(q.real)"),
        ("q = np.vdot(np.exp(1j * <V>), <W>) * <V>", "<X> = np.tanh(q.imag)"),
        ("q = np.einsum('ij,j->i', <M>, np.exp(1j * <V>))", "<X> = np.tanh(q.real)"),
        ("q = np.stack([<V>, np.exp(1j * <W>)])", "<X> = np.tanh(q.prod(axis=0).imag)"),
        ("q = np.asarray(<V>, dtype=complex) * np.exp(1j * <W>)", "<X> = np.tanh(q.imag)"),
        ("q = np.interp(<V>, [-1.0, 0.1, 1.0], np.exp(1j * <W>)[:3])", "<X> = np.abs(q) * <W>"),
        ("q = np.polyval(<V>, np.exp(1j * <W>) * 0.5)", "<X> = np.tanh(q.real)"),
        ("q = np.linalg.det(np.eye(4) * 2.0 + np.exp(1j * <M>) * 0.2)", "<Y> = 0.1 * q.imag"),
    ),
    (
        ("product(", "def product(p, q):\n    return p * q\n"),
        ("spun(", "def spun(p, c=0.5 + 0.2j):\n    return p * c + np.conj(c) * np.sin(p)\n"),
    ),
)

INSIDE = Subject(
    (
        ("<X> = np.tanh(tl.grad(energy)(<V>, <S>))",),
        ("<Y> = 0.3 * tl.grad(energy, wrt=1)(<V>, <S>)",),
        ("_, u0 = tl.jvp(energy, (<V>, <S>), (<W>, 0.5))", "<Y> = np.tanh(u0)"),
        ("q, p = tl.vjp(bent, <V>)", "<X> = np.tanh(p(<W>)[0])"),
        ("u0, q = tl.value_and_grad(energy)(<V>, <S>)", "<X> = np.tanh(q * u0)"),
        ("<X> = 0.3 * tl.grad(lambda x1: np.sum(x1 * x1 * <S>))(<V>)",),
        (
            "def inside(y0):",
            "    return np.sum(np.sin(y0 * <V>))",
            "<X> = np.tanh(tl.grad(inside)(<W>))",
        ),
        (
            "q = <V>",
            "for k1 in range(2):",
            "    q = q - 0.1 * tl.grad(energy)(q, <S>)",
            "<X> = np.tanh(q)",
        ),
        ("<X> = np.tanh(tl.hvp(energy)(<V>, <S>, <W>))",),
        ("q, p = tl.vjp(both_of, <V>, <S>)", "<X> = np.tanh(p((<W>, 0.5))[0])"),
        ("q, p = tl.vjp(both_of, <V>, <S>)", "<Y> = np.tanh(p((<W>, <T>))[1]) + q[1] * 0.2"),
        ("_, (q, u0) = tl.jvp(both_of, (<V>, <S>), (<W>, 1.0))", "<X> = np.tanh(q * u0)"),
        ("_, p = tl.vjp(along, <V>, <W> * (0.5 + 1j))", "<X> = np.tanh(p(<S> * (1 + 2j))[0])"),
        ("_, p = tl.vjp(along, <V>, <W> * 1j)", "<Y> = 0.2 * np.sum(p(1j * <S>)[1].imag)"),
        ("q, p = tl.vjp(written, <V>)", "<X> = np.tanh(p(<W>)[0])"),
        ("if <C>:", "    <X> = np.tanh(tl.grad(energy)(<W>, <S>))"),
        ("p = [tl.grad(energy), tl.grad(energy, wrt=0)]", "<X> = np.tanh(p[<I> % 2](<V>, <S>))"),
        ("<Y> = np.tanh(tl.grad(tl.grad(lambda x1: x1**3 * np.sin(x1)))(<S>))",),
        ("q = tl.grad(layered)(Layer(<V>, <S>), <W>)", "<X> = np.tanh(q.w * q.c)"),
        (
            "q, p = Layer(<V>, <S>), <W>",
            "for k1 in range(2):",
            "    p = p + 0.1 * q.force(p)",
            "<X> = np.tanh(p)",
        ),
        ("<X> = np.tanh(tl.grad(turned)(<V>, <M>))",),
        ("q, p = tl.vjp(bent, <V>)", "<X> = np.tanh(p(q)[0] * p(<W>)[0])"),
    ),
    (
        ("tl.", "import tangentlike as tl"),
        ("energy", "def energy(p, c):\n    return np.sum(np.sin(p) * p) * c * c\n"),
        ("bent", "def bent(p):\n    return np.sin(p) * p\n"),
        (
            "Layer(",
            "class Layer:\n    def __init__(self, w, c):\n        self.w, self.c = w, c\n\n"
            "    def energy(self, p):\n        return np.sum(np.tanh(self.w * p) * self.c)\n\n"
            "    def force(self, p):\n        return -tl.grad(self.energy)(p)\n",
        ),
        ("layered", "def layered(q, p):\n    return q.energy(p)\n"),
        (
            "turned",
            "def turned(p, m):\n    z = m @ np.exp(1j * p) + np.exp(1j * m) @ p\n"
            "    return 0.1 * np.sum(np.abs(z) ** 2)\n",
        ),
        ("both_of", "def both_of(p, c):\n    return np.sin(p) * c, np.sum(p) * c\n"),
        ("along", "def along(p, q):\n    return np.sum(p * q * q)\n"),
        (
            "written",
            "def written(p):\n    q = p * 1.0\n    for k in range(3):\n"
            "        q[k + 1] = np.sin(q[k]) * p[k]\n    return q\n",
        ),
    ),
)

CLASSES = Subject(
    (
        (
            "with Switched():",
            "    <X> = by_mode(<V>, <S>)",
            "<Y> = np.sum(by_mode(<W>, <S>)) * 0.2",
        ),
        (
            "<X> = by_mode(<V>, <S>)",
            "with MODE:",
            "    <X> = by_mode(<W>, <S>) * by_mode(<V>, <S>)",
        ),
        ("p = <W>", "for q in [Scale(<S>), Shift(<V>)]:", "    p = q(p)", "<X> = np.tanh(p)"),
        ("q = Scale(<S>) if <C> else Shift(<V>)", "<X> = np.tanh(q(<W>))"),
        ("q = {'u': Scale(<S>), 'w': Shift(<V>)}", "<X> = q['u'](q['w'](<W>))"),
        ("q = {'u': Scale(<S>), 'w': Shift(<V>)}['u' if <C> else 'w']", "<X> = np.sin(q(<W>))"),
        ("q = Stack([Scale(<S>), Shift(<V>), Scale(0.5)])", "<X> = np.tanh(q(<W>))"),
        ("q = [Scale(<S>), Shift(<V>)]", "<X> = np.tanh(q[<I> % 2](<W>))"),
        ("q = Stack([])", "q.parts.append(Scale(<S>))", "<X> = q(<V>) * 0.9"),
        ("q = Vec(<V>) + Vec(<W>) * <S>", "<X> = np.tanh(q.x)"),
        ("q = Vec(<V>) * 0.5", "q += Vec(<W>)", "<X> = np.tanh(q.x)"),
        ("q = sum([Vec(<V>), Vec(<W>)], Vec(<E>))", "<X> = np.tanh(q.x)"),
        ("q = Momentum(0.5)", "for x1 in <V>:", "    q.step(x1)", "<Y> = q.v * 0.5"),
        ("q = Momentum(<S>)", "q.step(<T>)", "q.v *= 0.5", "<Y> = q.kinetic * 0.5"),
        ("q = Momentum.still()", "q.step(<S>)", "<Y> = q.v + q.kinetic"),
        (
            "q = [Momentum(<S>), Momentum(<T>)]",
            "q[0].step(q[1].v)",
            "<Y> = 0.4 * sum(x1.v for x1 in q)",
        ),
        (
            "q = [Scale(<S>), <V>][int(<C>)]",
            "<X> = np.tanh(q(<W>)) if isinstance(q, Scale) else q * 0.5",
        ),
        ("p = Momentum(<S>)", "q = p", "q.step(<T>)", "<Y> = p.v"),
        ("q = copy.copy(Scale(<S>))", "q.w = q.w * <T>", "<X> = q(<V>)"),
        ("q = Scale(<V>)", "q.w[1] = <F>", "<X> = q(<W>)"),
        (
            "p = [q(<V>) for q in (Scale(<S>), Shift(<W>), Scale(<T>))]",
            "<X> = np.tanh(p[0] * p[2] - p[1])",
        ),
        ("<Y> = functools.reduce(lambda x1, q: q(x1), [Scale(<S>), Scale(<T>)], <F>)",),
        (
            "match Scale(<S>) if <C> else Shift(<V>):",
            "    case Scale(w=u0):",
            "        <Y> = u0 * 0.5",
        ),
        ("q = Grid(<V>)", "<Y> = 0.2 * q.sum() * q.ndim + q.dot(<W>)"),
        ("for q in (Grid(<V>), Grid(<W>)):", "    <Y> = q.mean(<E>) * q.shape[0] * 0.2"),
        ("q = setattr_all(Scale(<S>), w=<T>)", "<X> = q(<V>)"),
    ),
    (
        ("copy.copy", "import copy"),
        ("functools.", "import functools"),
        (
            "by_mode(",
            "class Switched:\n    def __init__(self):\n        self.on = False\n\n"
            "    def __enter__(self):\n        MODE.on = True\n\n"
            "    def __exit__(self, *raised):\n        MODE.on = False\n\n\n"
            "MODE = Switched()\n\n\n"
            "def by_mode(x, s):\n    return x * s if MODE.on else np.sin(x) * 0.9\n",
        ),
        (
            "Scale(",
            "class Scale:\n    def __init__(self, w):\n        self.w = w\n\n"
            "    def __call__(self, p):\n        return np.sin(p) * self.w\n",
        ),
        (
            "Shift(",
            "class Base:\n    factor = 0.5\n\n    def __init__(self, b):\n        self.b = b\n\n"
            "    def __call__(self, p):\n        return self.moved(p) * self.factor\n\n\n"
            "class Shift(Base):\n    def __init__(self, b):\n        super().__init__(np.cos(b))\n\n"
            "    def moved(self, p):\n        return p + self.b\n",
        ),
        (
            "Stack(",
            "class Stack:\n    def __init__(self, parts):\n        self.parts = list(parts)\n\n"
            "    def __call__(self, p):\n        for part in self.parts:\n            p = part(p)\n"
            "        return p\n",
        ),
        (
            "Vec(",
            "class Vec:\n    def __init__(self, x):\n        self.x = x\n\n"
            "    def __add__(self, other):\n        return Vec(self.x + other.x)\n\n"
            "    def __mul__(self, c):\n        return Vec(self.x * c)\n",
        ),
        (
            "Momentum",
            "class Momentum:\n    def __init__(self, v):\n        self.v = v\n\n"
            "    @classmethod\n    def still(cls):\n        return cls(0.0)\n\n"
            "    @property\n    def kinetic(self):\n        return 0.5 * self.v * self.v\n\n"
            "    def step(self, force):\n        self.v = np.tanh(0.9 * self.v + 0.1 * force)\n",
        ),
        (
            "Grid(",
            "class Grid:\n    def __init__(self, x):\n        self.x, self.ndim, self.shape = x, 1, (4,)\n\n"
            "    def sum(self):\n        return np.sum(np.sin(self.x))\n\n"
            "    def dot(self, y):\n        return np.mean(self.x * y * y)\n\n"
            "    def mean(self, y):\n        return np.mean(self.x + y)\n",
        ),
        (
            "setattr_all(",
            "def setattr_all(q, **fields):\n    for name, value in fields.items():\n"
            "        setattr(q, name, value)\n    return q\n",
        ),
    ),
)

COMPREHENSIONS = Subject(
    (
        ("<Y> = 0.05 * sum([sum(<V>[k] for k in range(1, 3)) * k for k in range(3)])",),
        (
            "p = [sum(x1 for k in range(1, 3)) * k for k, x1 in enumerate(<V>)]",
            "<Y> = 0.1 * sum(p)",
        ),
        (
            "p = [[x1 * k for x1 in <V>] for k, x1 in enumerate(<W>)]",
            "<Y> = p[1][2] + p[3][0] * 0.2",
        ),
        (
            "p = {k: [k * x1 for k in range(2)] for k, x1 in enumerate(<V>)}",
            "<Y> = 0.3 * sum(p[3])",
        ),
        ("k = 2", "p = [<V>[k] * <S> for k in range(4)]", "<Y> = p[k] * 0.5"),
        ("x1 = <S>", "p = [x1 * 0.5 for x1 in <V>]", "<Y> = p[1] * x1"),
        ("<Y> = 0.1 * max(sum(x1 * k for k in range(k)) * k for k, x1 in enumerate(<V>, 1))",),
        ("<Y> = 0.1 * sum([sum(x1 * k for k in range(k)) * k for k, x1 in enumerate(<V>)])",),
        ("<Y> = 0.1 * sum([sum([x1 for x1 in [x1, <S>]]) * x1 for x1 in <V>])",),
        ("<Y> = 0.1 * sorted([sum(k * x1 for x1 in <V>) for k, x1 in enumerate(<W>)])[1]",),
        (
            "def inside(k):",
            "    return sum([k * x1 for x1 in [<S>, k]])",
            "<Y> = 0.1 * sum([inside(x1) * x1 for x1 in <V>])",
        ),
        (
            "inside = lambda k: [k * x1 for x1 in <V>]",
            "<Y> = 0.1 * sum([sum(inside(x1)) * k for k, x1 in enumerate(<W>)])",
        ),
        (
            "<Y> = 0.1 * sum(k * x1 for k, (j, x1) in enumerate(enumerate(x1 * k for k, x1 in enumerate(<V>))))",
        ),
        (
            "p = list(zip((x1 * 0.5 for x1 in <V>), zip(<W>, (x1 for x1 in <V> if x1 > -9.0))))",
            "<Y> = p[1][1][0] * p[0][0]",
        ),
        ("p = [k for k in [k * <S> for k in range(4)] if k > 0.1]", "<Y> = 0.1 * sum(p)"),
        ("p = [lambda x1: x1 * k for k in range(3)]", "<Y> = 0.3 * p[0](<S>)"),
        ("p = [lambda x1, k=k: x1 * k for k in range(3)]", "<Y> = 0.3 * p[1](<S>)"),
        ("<Y> = 0.1 * sum(x1 * x2 for x1 in <V> for x2 in [x1 * k for k in range(2)])",),
        ("p = [x1 for k in range(2) for x1 in (<V> * k)]", "<Y> = 0.1 * sum(p) + p[5]"),
        (
            "p = {k: x1 for k, x1 in {k: x1 * <S> for k, x1 in enumerate(<V>)}.items() if k}",
            "<Y> = p[2]",
        ),
        ("p = [k if k else x1 for k in range(2) for x1 in <V>]", "<Y> = 0.3 * p[1]"),
        ("p = [(k := k1) * x1 for k1, x1 in enumerate(<V>)]", "<Y> = 0.1 * p[2] * k"),
        ("<X> = np.array([sum(x1 * x2 for x2 in [x1, <S>]) for x1 in <V>])",),
        ("<X> = np.array([[x1 * k for k in range(4)][k] for k, x1 in enumerate(<V>)]) * 0.3",),
        (
            "p = [<V>[k:k + 2] * <S> for k in range(3)]",
            "<Y> = 0.1 * sum([sum(p[k + 1] * p[-k]) for k in range(2)])",
        ),
        (
            "p = [<V> * k for k in range(4)]",
            "<X> = 0.2 * sum([p[(k + 1) % 4] * k for k in range(4)])",
        ),
    ),
)

# What has no derivative, in functions that a call may or may not reach, behind functions that
# call them; and functions and objects that are handed on and called with starred arguments.
CUT = Subject(
    (
        ("<X> = <V> * 0.5 + reached(<V>, <C>)",),
        ("<Y> = 0.1 * np.sum(reached_through(<V>, <C>)) + <F>",),
        ("<Y> = 0.1 * np.sum(reached_through(<V> * <S>, <T> > 9.0)) + <F>",),
        ("q = named_through(<V>, <C>)", "<Y> = 0.1 * np.sum(q[1]) + <F>"),
        ("q = nothing_through(<V>, <T> > 9.0)", "<X> = <W> if q is None else q"),
        ("q = np.zeros(4)", "put_through(q, <V>, <C>)", "<X> = q + 0.5 * <W>"),
        ("q = np.ones(4)", "<X> = q * <V>", "put_through(q, np.ones(4) * 0.3, True)"),
        ("q = {'u': <V>}", "hold_through(q, <W>, <C>)", "<X> = q['u'] * 0.9"),
        ("q = Kept(<V>)", "q.change_through(<W>, <C>)", "<X> = q.u * 0.9"),
        ("q = Kept(<V>)", "<Y> = 0.2 * q.summed_through(<C>)"),
        ("<Y> = 0.1 * np.sum(given(lambda x1: x1 * <V>, <S>))",),
        ("<Y> = 0.1 * np.sum(given_through(lambda x1: x1 * <V>, <S>, <C>))",),
        ("<Y> = 0.3 * sum([np.mean(reached_through(<V> * k1, <C>)) for k1 in range(2)]) + <F>",),
        ("q = io.StringIO()", "noted_in(q, <S>)", "<Y> = 0.1 * float(q.getvalue()) + <F>"),
        ("q = io.StringIO()", "noted_in(q, <V>)", "q.seek(0)", "<X> = loaded_from(q)[:4] * 0.1"),
        ("q = io.BytesIO()", "np.save(q, <V>)", "q.seek(0)", "<X> = 0.5 * np.load(q)"),
        # nothing is cut out of these
        ("q = io.StringIO()", "noted_in(q, <V>)", "<X> = <V> * float('0.3')"),
        ("np.savetxt(io.StringIO(), <V>)", "<X> = <V> * <S>"),
        ("<X> = starred_through(lambda x1, *x2: np.sin(x1 * <V>), <S>)",),
        ("<X> = starred_through(lambda x1, x2: np.sin(x1 * x2), <S>, (<V>,))",),
        ("<X> = starred_through(Kept(<V>), <S>)",),
        ("q = Kept(<V>)", "<X> = starred_through(q, <S>) * q.u"),
        ("<X> = starred_through({'f': Kept(<V>)}['f'], <S>)",),
        ("<X> = repeated(Kept(<V>), <S>, ())",),
        ("<X> = repeated(lambda x1: np.sin(x1 * <V>), <S>, ())",),
    ),
    (
        ("io.", "import io\n"),
        ("noted_in(", "def noted_in(p, v):\n    print(*np.atleast_1d(v), file=p)\n"),
        ("loaded_from(", "def loaded_from(p):\n    return np.loadtxt(p)\n"),
        (
            "reached",
            "def reached(p, flag):\n    if flag:\n        return p.getfield(float) * 0.9\n    return 0\n\n"
            "def reached_through(p, flag):\n    return reached(p, flag)\n",
        ),
        (
            "named_through(",
            "def named(p, flag):\n    if flag:\n        return 'u', p.getfield(float)\n    return 'w', 0\n\n"
            "def named_through(p, flag):\n    return named(p, flag)\n",
        ),
        (
            "nothing_through(",
            "def nothing(p, flag):\n    if flag:\n        return p.getfield(float)\n    return None\n\n"
            "def nothing_through(p, flag):\n    return nothing(p, flag)\n",
        ),
        (
            "put_through(",
            "def put(q, p, flag):\n    if flag:\n        q[1:] = p.getfield(float)[1:] * 0.7\n\n"
            "def put_through(q, p, flag):\n    put(q, p, flag)\n",
        ),
        (
            "hold_through(",
            "def hold(q, p, flag):\n    if flag:\n        q['u'] = p.getfield(float)\n\n"
            "def hold_through(q, p, flag):\n    hold(q, p, flag)\n",
        ),
        (
            "given",
            "def given(f, c, flag=False):\n    p = f(c)\n    return p.getfield(float) if flag else p * 0.9\n\n"
            "def given_through(f, c, flag):\n    return given(f, c, flag)\n",
        ),
        (
            "starred_through(",
            "def starred(f, c, rest):\n    return f(c, *rest)\n\n"
            "def starred_through(f, c, rest=()):\n    return starred(f, c, rest)\n",
        ),
        (
            "repeated(",
            "def repeated(f, c, rest):\n    p = c\n    for _ in range(2):\n"
            "        p = p - 0.3 * f(c, *rest)\n    return p\n",
        ),
        (
            "Kept(",
            "class Kept:\n    def __init__(self, u):\n        self.u = u\n\n"
            "    def __call__(self, c, *rest):\n        return np.sin(self.u * c)\n\n"
            "    def change(self, p, flag):\n        if flag:\n            self.u = p.getfield(float)\n\n"
            "    def change_through(self, p, flag):\n        self.change(p, flag)\n\n"
            "    def summed(self, flag):\n        p = self.u\n        if flag:\n"
            "            p = p.getfield(float)\n        return np.sum(p)\n\n"
            "    def summed_through(self, flag):\n        return self.summed(flag)\n",
        ),
    ),
)

# Roots found by SciPy (one that is not found is refused), shallow copies of containers, masks and
# index arrays that are read before and after they are written.
KEPT = Subject(
    (
        ("<Y> = brentq(lambda x1: x1 ** 3 + x1 - <S>, -3.0, 3.0)",),
        ("<Y> = brentq(lambda x1, c: x1 + 0.3 * np.sin(x1) - c * 0.5, -4.0, 4.0, args=(<S>,))",),
        ("<Y> = brentq(lambda x1: np.sum(x1 + 0.2 * np.tanh(x1 * <V>)) - <T>, -4.0, 4.0)",),
        ("p = root(lambda x1: x1 + 0.2 * np.sin(x1) - <V>, np.zeros(4))", "<X> = p.x * 0.5"),
        ("p = root(lambda x1: x1 ** 3 + x1 - <V> * <S>, <W> * 0.0)", "<X> = p.x * <V>"),
        ("<X> = fsolve(lambda x1: 2.0 * x1 + np.tanh(x1) - <V>, np.zeros(4))",),
        (
            "try:",
            "    <Y> = brentq(lambda x1: x1 * x1 + 1.0 + <S> ** 2, -1.0, 1.0)",
            "except ValueError:",
            "    <Y> = <S> * 0.5",
        ),
        ("p = [<V> * 0.9, <E>]", "q = copy.copy(p)", "q[0] = <W> * 0.5", "<X> = p[0] * q[0]"),
        ("p = [<V> * 0.9, <E>]", "q = copy.copy(p)", "q[1][0] = <F>", "<X> = p[1] * q[0]"),
        ("p = [<V> * 0.9]", "q = p[:]", "q[0] *= 0.5", "q.append(<E>)", "<X> = p[0] * q[1]"),
        ("p = {'u': [<V> * 0.9]}", "q = p.copy()", "q['u'].append(<E>)", "<X> = p['u'][-1] * 0.7"),
        ("p = {'u': <V> * 0.9}", "q = dict(p)", "q['u'] = q['u'] * <S>", "<X> = p['u'] + q['u']"),
        ("p = [<V> * 0.9]", "q = copy.deepcopy(p)", "q[0][1] = <F>", "<X> = p[0] * q[0]"),
        ("p = Held(<V> * 0.9)", "q = copy.copy(p)", "q.u = q.u * <S>", "<X> = p.u + q.u * 0.3"),
        ("p = Held(<V> * 0.9)", "q = copy.copy(p)", "q.u[2] = <F>", "<X> = p.u * q.u"),
        ("q = <V> > 0.1", "<X> = np.where(q, <W>, <V> * 0.5)", "q[:2] = False", "<X>[q] *= 0.5"),
        ("q = <V> > 0.1", "<W>[q] *= 0.7", "q = ~q", "<W>[q] = <V>[q] * 0.3", "q[:] = True"),
        ("q = <V> > <S>", "p = <V>[q] * 0.5", "<V>[q] = 0.3", "q[0] = not q[0]", "<Y> = np.sum(p)"),
        ("q = np.array([0, 2, 2])", "p = <V>[q] * <S>", "q[1] = 3", "<W>[q] += 0.3 * p"),
        ("q = np.argsort(<V>)", "<X> = <V>[q] * 0.8", "q[:2] = q[2:]", "<X>[q[0]] = <F>"),
        (
            "q = np.arange(4).astype(['int', float][<I> % 2])",
            "q[1] += <F>",
            "<Y> = np.sum(q) * 0.1",
        ),
        (
            "p, q = np.arange(4), <E>",
            "r = p if <C> else q",
            "np.add.at(r, [0, 0], <F>)",
            "r[2] -= <S>",
            "<X> = (p + q) * 0.1",
        ),
        ("p = Memo()", "q = p.of(<S>) * p.of(<S>)", "<Y> = p.of(<T>) * q + p.of(<S> + 0.0) * 0.1"),
        ("<X> = np.vectorize(lambda x1: 0 if x1 < 0.0 else x1 * 0.4)(<V>)",),
        (
            "q = np.arange(4)",
            "for k1 in range(3):",
            "    <V>[q[k1:]] *= 0.9",
            "    q = (q + 1) % 4",
            "<X> = <V>[q] * <W>",
        ),
        (
            "q = np.zeros(4, dtype=bool)",
            "for k1 in range(3):",
            "    q[k1] = <V>[k1] > 0.0",
            "    <W>[q] *= 0.8",
            "<X> = np.where(q, <V>, <W>)",
        ),
    ),
    (
        ("copy.", "import copy\n"),
        ("brentq(", "from scipy.optimize import brentq\n"),
        (" root(", "from scipy.optimize import root\n"),
        ("fsolve(", "from scipy.optimize import fsolve\n"),
        ("Held(", "class Held:\n    def __init__(self, u):\n        self.u = u\n"),
        (
            "Memo(",
            "class Memo:\n    x = v = None\n\n    def of(self, x):\n"
            "        if self.x is None or x != self.x:\n"
            "            self.x, self.v = x, np.sin(x) * 0.8\n        return self.v\n",
        ),
    ),
)

SUBJECTS: dict[str, Subject] = {
    "kept": KEPT,
    "cut": CUT,
    "modules": MODULES,
    "unknown": UNKNOWN,
    "taken": TAKEN,
    "outputs": OUTPUTS,
    "complex": COMPLEX,
    "inside": INSIDE,
    "classes": CLASSES,
    "comprehensions": COMPREHENSIONS,
    "changed": CHANGED,
    "again": AGAIN,
    "declined": DECLINED,
    "handed": HANDED,
    "iterated": ITERATED,
}


def alone(subject: Subject, lines: Lines) -> str:
    """A program of little more than one of the texts."""
    parts = {
        **{"V": "a", "W": "b", "S": "s", "T": "t", "I": "1", "C": "s > 0.1", "M": "m"},
        **{"E": "np.sin(a)", "F": "np.cos(s)", "X": "c", "Y": "u", "Z": "w", "K": "k"},
    }
    body = ["c, k, u, w = a * 0.9, m * 0.8, s * 0.5, t * 0.4", *lines]
    body.append("return np.sum(c * b) + np.sum(k * m) + u * w + np.sum(a * a) + np.sum(b) + w")
    more = ", xp=np" if "xp." in str(lines) else ""
    text = f"def program(a, b, m, s, t{more}):\n" + "".join(f"    {line}\n" for line in body)
    for key, part in parts.items():
        text = text.replace(f"<{key}>", part)
    return "\n".join([*(before for word, before in subject.prelude if word in text), text])
