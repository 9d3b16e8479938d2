"""Subjects of generated programs about what is handed on: methods and functions as values, arrays
by keyword, and what lies beside arrays in containers and objects.

As in `generator_subjects`: each line of text is one statement, `prelude` what must stand before it.
"""

from __future__ import annotations

from tests.generator_subject import Subject

HANDED = Subject(
    (
        # methods of arrays and containers as values
        ("p = <V>.copy()", "run(p.fill, <S>)", "<X> = p * <W>"),
        ("p = <V> * <S>", "q = p.sort", "q()", "<X> = p * 0.9"),
        ("p = <M>[1]", "run(p[1:].fill, <F>)", "<X> = p * <W>"),
        ("p = (<V> * <S>).sum", "<V>[0] = 0.2", "<Y> = 0.2 * p()"),
        ("p = <M>.sum", "<X> = np.tanh(p(axis=0))"),
        ("p = []", "q = p.append", "for x1 in <V>:", "    q(x1 * <S>)", "<Y> = p[0] * p[2]"),
        ("p = [<S>]", "run(p.extend, [<T>, <F>])", "<Y> = p[1] * p[2] + p[0]"),
        ("p = [<S>, <T>, <F>]", "q = p.pop", "<Y> = q() * run(q, 0)"),
        ("p = {'u': <V>}", "run(p.update, {'w': <W> * <S>})", "<X> = p['w'] * p['u']"),
        ("p = {'u': <V> * <S>}", "q = p.get", "<X> = q('u') * 0.9"),
        ("p = {0: <S>, 1: <T>}", "<Y> = p[max(p, key=p.get)] * 0.9"),
        ("p = []", "list(map(p.append, <V> * <S>))", "<Y> = p[0] * p[1]"),
        ("p = (<V> * <S>).sum if <C> else (<V> * <S>).max", "<Y> = 0.3 * p()"),
        (
            "q = <V> * <S>",
            "for k1, *p in [('clip', 0.1, 0.8), ('dot', <W>)]:",
            "    q = getattr(q, k1)(*p)",
            "<Y> = q * 0.5",
        ),
        (
            "p = [(<S>, 1), (<T>, 3)]",
            "<Y> = sum(x1 * np.sum(<V>[slice(k1)]) for x1, k1 in p) * 0.3",
        ),
        # functions out of containers, attributes and helpers that write what they capture
        (
            "q = np.array([0.3, 0.1, 0.4, 0.2])",
            "<Y> = 0.3 * np.sum(q * <V> * <V>)",
            "p = {'u': lambda x1: q.fill(x1), 'w': q.sort}",
            "p['u' if <C> else 'w'](*([0.6] if <C> else []))",
            "<X> = q * <W>",
        ),
        (
            "q = np.array([0.3, 0.1, 0.4, 0.2])",
            "<X> = q * <V>",
            "for p in [q.fill, lambda x1: q.put(0, x1)]:",
            "    p(0.7)",
            "<Y> = 0.3 * np.sum(q * <W>)",
        ),
        (
            "q = np.array([0.3, 0.1, 0.4, 0.2])",
            "<X> = q * <V>",
            "p = filler(q)",
            "p(0.7)",
            "<Y> = 0.3 * np.sum(q * <X>)",
        ),
        (
            "q = Hooked(<V> * <S>)",
            "q.hook = lambda x1: q.w.fill(x1)",
            "<Y> = 0.2 * np.sum(q.w * <W>)",
            "q.hook(<T>)",
            "<X> = q.w * 0.9",
        ),
        ("q = Hooked(<V> * <S>)", "q.fs.append(np.sin)", "<X> = q.run(<W>)"),
        ("q = Hooked(<V> * 1.0)", "q.hook = damped", "<X> = q.run(<W>) * q.w"),
        ("<X> = TABLE['sin'](<V>) * <S>",),
        ("q = <V> * 1.0", "for k1 in ('sin', 'bend'):", "    q = TABLE[k1](q)", "<X> = q"),
        # methods of objects with the names of those of lists
        ("q = np.zeros(4)", "COUNTED['o'].count(q)", "<X> = <V> * q"),
        ("q = np.zeros(4)", "k1 = COUNTED['o'].index(q)", "<X> = <V> * q * k1"),
        ("for k1 in range(2):", "    COUNTED['o'].count(<V>)", "    <Y> = <V>[1] * 0.9"),
        # arrays by keyword, in any order
        ("<X> = np.roll(shift=1, a=<V>) * <W>",),
        ("<X> = np.where(<V> > 0.1, <W>, np.flip(m=<V>))",),
        ("<Y> = 0.2 * np.sum(a=<V> * <S>)", "<X> = np.cumsum(axis=0, a=<V>) * 0.3"),
        ("<X> = 0.3 * np.transpose(a=<M>)[1] + np.diag(v=<M>)",),
        ("<Y> = np.dot(b=<V>, a=<W>) * 0.3",),
        ("<K> = 0.5 * np.outer(b=<V>, a=<W>)", "<X> = np.sum(axis=1, a=<M>) * 0.2"),
        ("<X> = np.take(indices=[0, 2, 2, 1], a=<V>) * <S>",),
        ("q = <V> * 1.0", "np.copyto(src=<W> * <S>, dst=q)", "<X> = q"),
        ("q = <V> * 1.0", "np.put(v=[<S>, <T>], ind=[1, 3], a=q)", "<X> = q"),
        ("q = <V> * 1.0", "np.add(<W>, <S>, out=q, where=<V> > 0.0)", "<X> = q * 0.7"),
        ("<X> = np.tensordot(axes=1, b=<V>, a=<M>) * 0.3",),
        ("<X> = scipy.ndimage.gaussian_filter(<V>, 0.7, mode='wrap') * <S>",),
        ("<X> = scipy.ndimage.uniform_filter1d(size=3, input=<V> * <S>, mode='mirror')",),
        ("q = np.zeros(4)", "scipy.ndimage.gaussian_filter(<V>, 0.7, output=q)", "<X> = q * <W>"),
        ("q = np.zeros(4)", "smoothed(scipy.ndimage.uniform_filter, <V>, q)", "<X> = q * <W>"),
        ("q = smoothed(scipy.ndimage.maximum_filter, <V>, <W> * 1.0)", "<X> = q * <V>"),
        ("<X> = scipy.fft.idct(x=scipy.fft.dct(<V> * <S>, norm='ortho'), norm='ortho')",),
        ("<X> = scipy.fft.irfft(scipy.fft.rfft(<V>) * 0.5, n=4)",),
        # constants beside arrays
        (
            "p = {'w': <V> * <S>, 'dtype': np.float64, 'axis': 0, 'part': slice(1, 3), 'on': True}",
            "q = np.outer(p['w'], <W>).astype(p['dtype'])",
            "<Y> = 0.3 * np.sum(q.sum(axis=p['axis'])[p['part']]) if p['on'] else 0.0",
        ),
        (
            "p = [{'w': <V>, 'n': 2, 'kind': 'u'}, {'w': <W>, 'n': 1, 'kind': 'v'}]",
            "for q in p:",
            "    if q['kind'] == 'v':",
            "        q['w'] = q['w'] * q['n'] * <S>",
            "<X> = p[0]['w'] * p[1]['w']",
        ),
        ("p = {'axis': 0, 'keepdims': True}", "<X> = np.sum(<M>, **p)[0] * 0.3"),
        ("p = {'at': [0, 2], 'w': <V> * 1.0}", "p['w'][p['at']] *= 0.5", "<X> = p['w'] * <S>"),
        # heaps, and sets of what was visited
        (
            "p = []",
            "for k1, x1 in enumerate(<V>):",
            "    heapq.heappush(p, (float(<W>[k1]), k1, x1 * <S>))",
            "<Y> = heapq.heappop(p)[2] * heapq.heappop(p)[2]",
        ),
        ("p = list(<V> * <S>)", "heapq.heapify(p)", "<Y> = heapq.heappop(p) * p[0]"),
        (
            "p, q = set(), [0]",
            "while q:",
            "    k1 = q.pop()",
            "    if k1 not in p:",
            "        p.add(k1)",
            "        <Y> = <V>[k1] * 0.9 * len(p)",
            "        q += [(k1 + 1) % 4, (k1 + 2) % 4]",
        ),
        (
            "p = set()",
            "for k1, k2 in ((0, 'u'), (2, 'v'), (0, 'u'), (1, 'u')):",
            "    if (k1, k2) not in p:",
            "        p.add((k1, k2))",
            "        <Y> = <V>[k1] * <S> * len(p)",
        ),
        (
            "p = Places((2, 0, 2))",
            "for k1 in range(4):",
            "    if k1 in p.places and k1 not in set((3, k1 - 1)):",
            "        p.out = p.out + <V>[k1] ** 2 * <S>",
            "<Y> = p.out * 0.5",
        ),
        # lists that change between where they are made and where an operation gets them
        (
            "p, q = [<V> > 0.1], [<W> * <S>]",
            "p.append(<V> < -0.1)",
            "q.append(<V>)",
            "<X> = np.select(p, q, 0.3)",
        ),
        (
            "p, q = [<V> > 0.1, <V> < -0.1], [<W> * <S>, <V>]",
            "q[1] = <V> * <T>",
            "p.reverse()",
            "<X> = np.select(p, q, 0.3)",
        ),
        (
            "p, q = [<V>, <S>], <S>",
            "for k1 in range(2):",
            "    <X> = np.select([<V> > 0.1, <W> < 0.2], p, 0.3)",
            "    q = q * 0.5",
            "    p = [<V>, q]",
        ),
        ("p = [<V> * <S>, <W>]", "p.reverse()", "<X> = np.choose([0, 1, 1, 0], p) * 0.9"),
        ("p = [0, 1]", "p.reverse()", "<X> = 0.3 * np.einsum(<M>, p, <V>, [0], [1])"),
        ("k1 = 1", "<X> = 0.3 * np.einsum(<M>, [0, k1], <V>, [k1])"),
        ("<X> = 0.3 * contracted(<M>, [0, 1], <V>, [1])",),
        (
            "q, p = <V> * 1.0, [lambda x1: x1 * <S>, lambda x1: 0.5 - x1 * x1]",
            "for k1 in range(2):",
            "    q = np.piecewise(q, [q > 0.1, q <= 0.1], p)",
            "<X> = q",
        ),
        (
            "q = np.zeros(4)",
            "p = (q,)",
            "np.multiply(<V>, <S>, out=p)",
            "q = q * 0.5",
            "<X> = q + p[0]",
        ),
        ("p = [<V>, <W>]", "p[0] = p[0] * <S>", "p, q = np.meshgrid(*p)", "<K> = p * q"),
        ("p, q = np.meshgrid(<V>, <W>, sparse=True)", "<K> = p * q * <S>"),
        # objects with keys, methods that are handed on, attributes that are named
        ("q = Grid(<M>)", "q[1:3, 1] = <S>", "q[::2] += <V>", "<X> = q[:, 1] * q[..., 2]"),
        (
            "q = Moved(<V>)",
            "for p in (q.add, q.scale, q.add):",
            "    <Y> = p(<S>) * 0.3",
            "<X> = q.w",
        ),
        (
            "q = Moved(<V>)",
            "for k1, p in (('w', <W>), ('c', <S>)):",
            "    setattr(q, k1, p * 0.5)",
            "<X> = q.w * q.c",
        ),
        ("p = Part(<M>)._replace(a=<V>)", "<X> = p._replace(c=<S>).scaled()"),
        ("p = Part(<V>)", "p = p._replace(a=np.sum(p.scaled()))", "<Y> = p.a * 0.2"),
        ("p = zip(<V>, <W>)", "for k1, (x1, x2) in enumerate(p):", "    <Y> = x1 * x2 * 0.9"),
        ("p = enumerate(<V> * <S>)", "for k1, x1 in p:", "    <Y> = x1 * 0.9 + k1 * 0.1"),
        (
            "q = <V> * <S>",
            "p = np.lib.stride_tricks.as_strided(q, (3, 2), q.strides * 2)",
            "<Y> = 0.3 * np.sum(p[0] * p[1] * p[2])",
        ),
        # integers beside what varies
        ("p = np.arange(4)", "<Y> = 0.3 * np.average(p, weights=<V> * <V> + 0.5)"),
        ("p = np.arange(4)", "<X> = np.interp(p, 2 * p, <V>) * <S>"),
        ("p = np.array([1, 2, 0, 3])", "q = p * 1", "q = q * <S>", "<X> = q * <V> * 0.2"),
        ("p = np.array([2, 1])", "<Y> = 0.2 * np.sum(np.hypot(p, <S>))"),
        ("p = np.arange(6).reshape(2, 3)", "<Y> = 0.1 * np.sum(p @ <V>[1:] * np.mean(p))"),
        ("p, q = [0, 2, 2], <V> * 1.0", "q[p] += <S>", "<X> = q"),
        ("q = <M> * 0.5", "q[np.ix_([0, 2], [1, 3])] += <S>", "<X> = q[0] + q[2]"),
        ("p = np.tile([1, 2], 2)", "p[1] = 3", "<X> = <V> * p * 0.4"),
        ("p = np.argsort(<V>)", "q = p[::-1]", "q[0] = 2", "<X> = <W>[p] * <S>"),
        ("<Y> = np.sum(np.arange(4), dtype=float) * <S> * 0.1",),
        # lists where NumPy has arrays, and what may be the array itself
        ("p = np.zeros_like([1.0, 2.0, 3.0, 4.0])", "p[:] = <V> * <S>", "<X> = p * 0.9"),
        ("p = [<S>, <T>, <S>, <T>]", "q = np.copy(p)", "q[1] = <F>", "<X> = q * <V>"),
        ("p = <V> * 1.0", "q = np.float64(p)", "q[0] = <S>", "<X> = p * <W>"),
        ("p = <V> * 1.0", "q = np.array(p, ndmin=2)", "q[0, 1] = <S>", "<X> = p + q[0]"),
        ("p = [<V>] if <C> else <M>[:1]", "<X> = np.concatenate(p) * 0.9"),
        ("<X> = np.interp([0.5, 1.5, 2, 0], [0, 1, 2, 3], <V>, left=<S>)",),
        ("p = sum([[<S>, <T>], [<F>]], [])", "<Y> = p[0] * p[2]"),
        # the logistic function, and names that mean something to others
        ("p = 1 / (1 + np.exp(-3.0 * <V>))", "<X> = p * <S>"),
        ("q = <V> * 1.0", "p = 1.0 / (np.exp(-q) + 1.0)", "q *= p", "<X> = q * p"),
        ("memory = [<V> * 1.0]", "p = memory[0]", "memory[0][1:] = <S>", "<X> = p * 0.5"),
        # iterators with words, by hand, and with names
        ("p = dict(zip(['u', 'w'], [<V>, <W> * <S>], strict=True))", "<X> = p['u'] * p['w']"),
        ("p = list(enumerate(<V> * <S>, start=1))", "<Y> = p[0][0] * p[1][1]"),
        ("p = iter(<V> * <S>)", "q = next(p)", "for x1 in p:", "    <Y> = x1 * q * 0.9"),
        ("p = iter([<V>, <W>])", "<X> = next(p) * next(p)"),
        ("p = (x1 * <S> for x1 in <V>)", "<Y> = 0.2 * sum(p)"),
        ("p = map(np.tanh, [<V>, <W>])", "<X> = sum(p) * 0.3"),
        ("p = {f'w{k1}': x1 for k1, x1 in enumerate([<V>, <W>])}", "<X> = p['w0'] * p['w1']"),
        # keys that a helper puts into a dict
        (
            "p, q = {}, [(0, <S>), (1, <T>), (0, <F>)]",
            "while q:",
            "    k1, x1 = q.pop()",
            "    keyed(p, k1, x1)",
            "<Y> = sum((k1 + 1) * x1 for k1, x1 in p.items()) * 0.3",
        ),
        # properties that count how often they are asked
        ("q = Asked(<V>)", "q.w += <W>", "q.w *= <S>", "<X> = q.w * 0.2"),
        # registries: functions that a decorator stored, with options, looked up by their names
        ("<X> = REGISTRY['bent'][0](<V>)",),
        ("p, q = REGISTRY['leaky' if <C> else 'bent']", "<X> = p(<V> * <S>, **q)"),
        ("for p in ('leaky', 'bent', 'leaky'):", "    <X> = looked_up(REGISTRY, p, <V>)"),
        ("<Y> = 0.1 * sum([np.sum(p(<V>, **q)) for p, q in REGISTRY.values()])",),
        ("p = <V> * 1.0", "REGISTRY['written'][0](p, k=<S>)", "<X> = p * <W>"),
        # what is a method of one class, and computed by another
        ("p = KINDS['u' if <C> else 'w'](<V>)", "q = p.dot", "<X> = q(q(<W>, <S>), <T>)"),
        # signatures that functions and classes state, which are not those that they are called with
        ("<X> = 0.3 * stated(<V>, <S>)",),
        ("<X> = 0.3 * stated(k=<S>, x=<V>) * <W>",),
        ("q = Stated(<V>, <S>)", "<X> = q.run(<W>, <T>)"),
        ("<Y> = 0.3 * restated(<S>, <T>)",),
        ("p = [restated, stated]", "for q in p:", "    <Y> = 0.3 * q(<S>, <Y>)"),
        # starred parameters, and what is handed on through them
        ("<X> = 0.3 * starred(<V>, <S>, <W>, u=<T>, w=<F>)",),
        ("p, q = [<V>, <W>], {'u': <S>}", "<X> = 0.3 * passed(starred, *p, <T>, **q)"),
        ("p = <V> * 1.0", "starred_write(p, <S>, <T>)", "<X> = p * <W>"),
        ("p = {'u': <S>}", "q = worded(**p, w=<V>)", "p['u'] = <F>", "<X> = q['w'] * q['u']"),
        (
            "p, q = {'u': <S>}, {f'k{k1}': x1 * <T> for k1, x1 in enumerate(<V>)}",
            "p.update({'w': <F>}, **q, u=<T>)",
            "<Y> = p['k1'] * p['w'] * p['u']",
        ),
        (
            "p = {'u': <S>}",
            "p.update(w=<F>, **{f'k{k1}': x1 for k1, x1 in enumerate(<V>)})",
            "<Y> = p['k1'] * p['w'] * p['u']",
        ),
        ("<X> = 0.3 * starred(<V>, **{k1: <W> for k1 in ('k', 'm')}, w=<S>)",),
        ("q, *p = passed(lambda *x1: x1[::-1], <V>, <S>, <T>)", "<X> = p[1] * p[0] * q"),
        # variables that functions inside of functions bind again, one and two functions out
        ("q = twice_inside(<S>, <V>[0])", "for p in q[:2]:", "    p()", "<Y> = 0.3 * q[2]()"),
        ("p = [q(<T>) for q in [rebinding(<S>)] * 2]", "<Y> = 0.3 * p[0]() * p[1]()"),
    ),
    (
        ("heapq.", "import heapq"),
        ("scipy.ndimage", "import scipy.ndimage"),
        ("scipy.fft", "import scipy.fft"),
        ("keyed(", "def keyed(d, k, v):\n    d[k] = d.get(k, 0.0) + v * v\n"),
        (
            "smoothed(",
            "def smoothed(g, x, out):\n    g(x, 3, output=out)\n    return out\n",
        ),
        ("run(", "def run(g, *values):\n    return g(*values)\n"),
        ("filler(", "def filler(w):\n    return w.fill\n"),
        (
            "contracted(",
            "def contracted(a, axes, b, others):\n    return np.einsum(a, axes, b, others)\n",
        ),
        (
            "Grid(",
            "class Grid:\n    def __init__(self, d):\n        self.d = d * 0.5\n\n"
            "    def __getitem__(self, k):\n        return self.d[k] * 2.0\n\n"
            "    def __setitem__(self, k, v):\n        self.d[k] = v * 0.5\n",
        ),
        (
            "Moved(",
            "class Moved:\n    def __init__(self, w):\n        self.w, self.c = w, 0.5\n\n"
            "    def add(self, c):\n        self.w = self.w * 0.5 + c\n"
            "        return np.sum(self.w) * 0.2\n\n"
            "    def scale(self, c):\n        self.w = self.w * c\n        return self.w[0]\n",
        ),
        (
            "Part(",
            "from typing import Any, NamedTuple\n\n\nclass Part(NamedTuple):\n"
            "    a: Any\n    c: Any = 0.5\n\n"
            "    def scaled(self):\n        return self.a * self.c\n",
        ),
        (
            "REGISTRY",
            "REGISTRY = {}\n\n\ndef registered(name, **options):\n    def keep(g):\n"
            "        REGISTRY[name] = (g, options)\n        return g\n\n    return keep\n\n\n"
            "@registered('leaky', k=0.1)\ndef leaky(x, k):\n    return np.where(x > 0, x, k * x)\n\n\n"
            "@registered('bent')\ndef bent(x, k=0.5):\n    return np.tanh(x) * k\n\n\n"
            "@registered('written', k=2.0)\ndef written(x, k):\n    x *= k\n    return x\n",
        ),
        ("looked_up(", "def looked_up(table, k, x):\n    g, q = table[k]\n    return g(x, **q)\n"),
        (
            "starred",
            "def starred(x, *more, k=0.5, **words):\n    y = x * k\n    for v in more:\n"
            "        y = y + v * x\n    for v in words.values():\n        y = y * v\n    return y\n",
        ),
        (
            "KINDS",
            "class Plain:\n    def __init__(self, w):\n        self.w = w\n\n"
            "    def dot(self, x, c):\n        return self.w * x * c\n\n\n"
            "class Computed(Plain):\n    @property\n    def dot(self):\n"
            "        return lambda x, c: self.w * x + c\n\n\n"
            "KINDS = {'u': Plain, 'w': Computed}\n",
        ),
        (
            "tated",
            "import inspect\n\n\ndef shows(g):\n    def keep(f):\n"
            "        f.__signature__ = inspect.signature(g)\n        return f\n\n    return keep\n\n\n"
            "@shows(lambda k, x: 0)\ndef stated(x, k):\n    return x * k * k\n\n\n"
            "@shows(lambda b, a: 0)\nclass Stated:\n    def __init__(self, a, b):\n"
            "        self.a, self.b = a, b\n\n    @shows(lambda self, k, x: 0)\n"
            "    def run(self, x, k):\n        return self.a * x * k * self.b * self.b\n\n\n"
            "@shows(lambda x, k: 0)\ndef restated(*args, **words):\n"
            "    return stated(*args, **words)\n",
        ),
        ("passed(", "def passed(g, *a, **words):\n    return g(*a, **words)\n"),
        (
            "starred_write(",
            "def starred_write(*a):\n    x, *more = a\n    for k, v in enumerate(more):\n"
            "        x[k] *= v\n",
        ),
        ("worded(", "def worded(**q):\n    q['w'] = q['w'] * q['u']\n    return q\n"),
        (
            "twice_inside(",
            "def twice_inside(c, v):\n    n = c\n\n    def outer():\n        nonlocal n\n"
            "        n = n * v\n        own = v\n\n        def inner():\n"
            "            nonlocal n, own\n            n = n + own\n            own = own * c\n\n"
            "        return inner\n\n    g = outer()\n    return g, g, lambda: n * v\n",
        ),
        (
            "rebinding(",
            "def rebinding(c):\n    n = c\n\n    def outer(v):\n        nonlocal n\n        n = v * n\n\n"
            "        def inner():\n            nonlocal n\n            n = n * c + v\n"
            "            return n\n\n        return inner\n\n    return outer\n",
        ),
        ("damped", "def damped(q):\n    q.w = q.w * 0.5\n"),
        (
            "Hooked(",
            "class Hooked:\n    def __init__(self, w):\n        self.w = w\n"
            "        self.fs, self.hook = [], None\n\n"
            "    def run(self, x):\n        for g in self.fs:\n            x = g(x)\n"
            "        if self.hook:\n            self.hook(self)\n        return x\n",
        ),
        (
            "TABLE",
            "def bend(x):\n    x *= np.cos(x)\n    return x\n\n\n"
            "TABLE = {'sin': np.sin, 'bend': bend}\n",
        ),
        (
            "COUNTED",
            "class Counted:\n    def count(self, x):\n        x[1] = 0.3\n\n"
            "    def index(self, x):\n        x += 0.5\n        return 1\n\n\n"
            "COUNTED = {'o': Counted()}\n",
        ),
        (
            "Places(",
            "class Places:\n    def __init__(self, places):\n"
            "        self.places, self.out = set(places), 0.0\n",
        ),
        (
            "Asked(",
            "class Asked:\n    def __init__(self, w):\n        self.held, self.n = w, 0\n\n"
            "    @property\n    def w(self):\n        self.n += 1\n        return self.held * 2.0\n\n"
            "    @w.setter\n    def w(self, v):\n        self.held = v * 0.5 + self.n * 0.1\n",
        ),
    ),
)
