"""Subjects of generated programs about what is changed: containers and objects that get other
contents, and values that are computed again after a write.

As in `generator_subjects`: each line of text is one statement, `prelude` what must stand before it.
"""

from __future__ import annotations

from tests.generator_subject import Subject

# Entries, items and attributes that methods and helpers put in, take out and replace.
CHANGED = Subject(
    (
        # lists that get more items, or others
        ("p = [<S>]", "p.extend(<V>)", "<Y> = p[2] * p[0]"),
        ("p = [<S>]", "p.extend(<V> * <T>)", "p.extend(range(2))", "<Y> = p[2] * p[0] + p[-1]"),
        ("p = [<S>, 0.1, 0.2]", "p[1:3] = <V>[2:]", "<Y> = p[1] * p[2] - p[0]"),
        ("p = [<S>, <T>]", "p[1:2] = <V> * 0.5", "<Y> = p[1] * p[-1] + p[0]"),
        ("p = list(<V>)", "p[::2] = [<S>, <T>]", "<Y> = p[0] * p[1] + p[2]"),
        ("p = [<S>]", "q = p", "q += [<T>]", "p *= 2", "q[0] = <F>", "<Y> = p[2] * p[1] + p[0]"),
        ("p = [<S>, <T>]", "q = p", "q += tuple(<V>)", "del p[0]", "<Y> = q[0] * q[-1]"),
        ("p = list(<V>)", "<Y> = p.pop(len(p) // 2) * <S> + p.pop(len(p) // 2)"),
        ("p = list(<V>)", "p.insert(len(p) // 2, <S>)", "del p[len(p) // 2]", "<Y> = p[1] * p[2]"),
        ("p = {0: <S>}", "p.setdefault(len(p), <T>)", "q = p.pop(len(p) - 1)", "<Y> = q * p[0]"),
        ("p = list(<V>)", "del p[1:3]", "p.insert(1, <S>)", "<Y> = p[0] * p[1] - p[-1]"),
        ("p = list_of(<V>, <S>)", "p.reverse()", "del p[0]", "<Y> = p.pop(0) * p[-1]"),
        ("p = [<V>, <W>]", "p.sort(key=lambda x1: x1[0])", "<X> = p[0] * 0.5 - p[1]"),
        ("p = [<V> * 0.9, [<S>]]", "q = p[0]", "p[0] = [<T>]", "<X> = q * p[0][0] + p[1][0]"),
        # items updated where they have another name
        ("p = [<V> * 0.9, <W>]", "q = p[0]", "p[0] += <W> * <S>", "<X> = q * p[1]"),
        ("q = <V> * 0.9", "p = [q, <W> * <S>]", "p[0] *= p[1]", "<X> = q - p[1] * 0.5"),
        ("p = {'u': <V> * 0.9}", "q = p['u']", "p['u'] -= <W> * <S>", "<X> = q * <W> - p['u']"),
        # what a function gives back is what it was given
        ("p = [<S>, <T>]", "q = given_back(p)", "q[0] = <F>", "<Y> = p[0] * p[1]"),
        ("p = [<V> * 0.9]", "q = given_back(p)", "q.append(<W> * <S>)", "<X> = p[0] * p[1]"),
        ("p = {'u': <V>}", "q = given_back(p)", "q['u'] = <W> * <S>", "<X> = p['u'] * 0.8"),
        # dicts that get other entries
        ("p = {'u': <S>}", "p.update([('u', <T>), ('w', <F>)])", "<Y> = p['u'] * p['w']"),
        ("p = {'u': [<S>]}", "p['u'] += (<S> * 0.5, 0.3)", "<Y> = p['u'][0] * p['u'][-2]"),
        ("p = {'u': <V> * 1.0}", "p['u'] += tuple(<W> * <S>)", "<X> = p['u'] * 0.5"),
        ("p = {'u': [<S>]}", "p['u'] += (<S> * 0.5, 0.3)", "<Y> = p['u'][0] * p['u'][-2]"),
        ("p = {'u': <V> * 1.0}", "p['u'] += tuple(<W> * <S>)", "<X> = p['u'] * 0.5"),
        ("p = [x1 * <S> for x1 in <V>]", "del p[::2]", "<Y> = p[0] * p[1]"),
        ("p = {'u': <S>, 'w': 0.3}", "p.update(zip('uw', <V>))", "<Y> = p['u'] * p['w']"),
        ("p = {'u': <S>}", "p.update((k1, x1 * <S>) for k1, x1 in zip('uw', <V>))", "<Y> = p['w']"),
        ("p = {'u': <S>}", "q = {'u': <T>}", "p.update(q.items(), w=<F>)", "<Y> = p['u'] * p['w']"),
        ("p = {'u': <S>}", "q = p", "p |= [('u', <T>), ('w', <F>)]", "<Y> = q['u'] * q['w']"),
        ("p = {'u': {'z': <V>}}", "p['u'] |= {'z': <W> * <S>}", "<X> = p['u']['z'] * 0.8"),
        (
            "p = dict(zip('uvwz', <V>))",
            "p.update(u=p['v'] * 2)",
            "q = {**p, 'v': 1.0}",
            "q.setdefault('y', p['u'])",
            "for k1, (k2, x1) in enumerate(sorted(q.items())):",
            "    <Y> = 0.2 * x1 * x1 * (k1 + 1)",
        ),
        (
            "p = {'w': <S>, 'u': <T>}",
            "<Y> = sum(x1 * k1 for k1, (_, x1) in enumerate(sorted(p.items())))",
        ),
        ("p = {}", "for k1, x1 in enumerate(<V>):", "    grouped(p, k1 % 2, x1)", "<Y> = p[1][1]"),
        ("p = {'u': <V>}", "put_in(p, 'u', np.mean(<W>))", "<X> = p['u'] * <V>"),
        ("p = {'u': {'a': <V>}}", "put_in(p['u'], 'a', <S>)", "<X> = p['u']['a'] * <W>"),
        (
            "p = [{'a': <V>}, {'a': <S>}]",
            "for q in p:",
            "    put_in(q, 'a', np.mean(<W>) * <S>)",
            "<X> = p[0]['a'] * p[1]['a'] * <V>",
        ),
        ("p = {'u': <S>}", "for k1 in ('w', 'u'):", "    <Y> = found_in([{}, p], k1, <T>) * 0.9"),
        # what is written like a list, and is none
        (
            "p, q = bytearray(2), 0.0",
            "for k1 in range(3):",
            "    p[0] = k1",
            "    <V>[p[0]] *= <S>",
            "    p[0] = (k1 + 1) % 3",
            "    q = q * 0.5 + <W>[p[0]]",
            "<Y> = q",
        ),
        (
            "def scale1(x1, x2):",
            "    return {k1: x1[k1] * x2 for k1 in x1}",
            "p, q = {'u': <S>, 'w': 0.3}, 0.7",
            "<Y> = 0.2 * (q / 2 + scale1(p, q / 2)['u'] * scale1(p, <T>)['w'])",
        ),
        # what a loop goes by, changed in its body
        (
            "p = [<S>, <T>]",
            "q, <Y> = p, 0.0",
            "for x1 in p:",
            "    <Y> = <Y> * 0.5 + np.sin(x1)",
            "    if len(p) < 5:",
            "        q.append(x1 * 0.7)",
        ),
        (
            "p, q = {'u': [<S>, <T>]}, 0.0",
            "for k1, (x1, x2) in enumerate(zip(p['u'], <V>)):",
            "    q = q + x1 * x2 * (k1 + 1)",
            "    p['u'].insert(1, q * <T>)",
            "    if k1 > 1:",
            "        p['u'].pop()",
            "<Y> = q * p['u'][-1]",
        ),
        (
            "p, q = listed(<V>), 0.0",
            "for k1, x1 in enumerate(reversed(p)):",
            "    q = q * 0.5 + x1 * (k1 + 1)",
            "    p.append(x1 * <S>) if <C> else p.pop()",
            "<Y> = 0.3 * (q + sum(p))",
        ),
        # an item replaced by one of another structure, before anything reads it
        (
            "p = {}",
            "for k1, x1 in enumerate([<S>, <V>, <V>[1:], <T>]):",
            "    p[k1 % 2] = x1",
            "<Y> = 0.1 * np.sum(p[0] * <S>) + 0.2 * np.sum(p[1] * p[1])",
        ),
        (
            "p = [0.0, 0.0]",
            "for k1 in range(3):",
            "    p[k1 % 2] = <V>[:k1] * <S>",
            "<Y> = 0.1 * np.sum(p[0]) + 0.2 * np.sum(p[1])",
        ),
        (
            "p, q = Listed([0, 1]), 0.0",
            "for k1 in p:",
            "    q = q + <V>[k1] * <S>",
            "    if len(p.items) < 4:",
            "        p.items.append((k1 + 1) % 3)",
            "<Y> = 0.5 * q",
        ),
        (
            "p, q = {1: 2, 2: 0}, 0.0",
            "for k1, k2 in p.items():",
            "    q = q + <V>[k1] * <W>[k2]",
            "    p[2] = 3",
            "<Y> = 0.3 * q",
        ),
        (
            "p, q = {0, 1}, <S>",
            "for k1 in range(len(p)):",
            "    p.add(k1 + 2)",
            "    q = q * <V>[k1]",
            "<Y> = 0.5 * q * len(p)",
        ),
        (
            "p, q = [0, 1], <S>",
            "u0 = p",
            "for k1 in range(len(p)):",
            "    u0.append(k1)",
            "    q = q * <V>[k1]",
            "<Y> = 0.5 * q",
        ),
        (
            "p, q = {0: 1}, <S>",
            "for k1 in range(len(p) + 1):",
            "    p.setdefault(k1 + 1, 2)",
            "    q = q * <V>[k1]",
            "<Y> = 0.3 * q",
        ),
        (
            "p, q = [0, 1, 2], <S>",
            "for k1 in range(len(p)):",
            "    p[0:1] = [5, 6]",
            "    q = q * 0.9 + <V>[k1]",
            "<Y> = 0.3 * q",
        ),
        # changes that stand where a value is asked for
        ("p = [<S>]", "[p.append(x1 * <T>) for x1 in <V>]", "<Y> = p[2] * p[0]"),
        ("p = []", "q = [p.append(x1) or x1 * <S> for x1 in <V>]", "<Y> = p[1] * q[2]"),
        ("p = [<S>]", "u0 = pushed(p, <F>) or p[0]", "<Y> = u0 * p[1]"),
        ("p = {'u': <S>}", "u0 = p.update(w=<F>) or p['w']", "<Y> = u0 * p['u']"),
        ("p = [<S>]", "<T> > 0.1 and p.append(<F>)", "<Y> = sum(p) * 0.4"),
        ("p = [<S>, 0.2]", "p.append(<T>) if <C> else p.insert(0, <F>)", "<Y> = p[0] * p[2]"),
        ("q = <V> * 1.0", "p = np.copyto(q[1:], <W>[1:] * <S>)", "<X> = q * 0.9"),
        ("q = <V> * 1.0", "p = [np.add.at(q, [0, 2], x1 * 0.2) for x1 in <W>]", "<X> = np.sin(q)"),
        ("q = <V> * 1.0", "if np.multiply(q, <S>, out=q)[0] < 9.0:", "    <X> = q * 0.9"),
        # tests of what is changed then
        ("p = [<S>]", "if p:", "    <Y> = p.pop() * 0.9", "<Z> = <T> * 0.8 if p else <F>"),
        (
            "p, q = list(<V>), <S>",
            "while p and (u0 := p.pop()) > 0.1:",
            "    q = u0 * q",
            "<Y> = q",
        ),
        (
            "p = [<S>, <T>]",
            "for k1 in range(4):",
            "    if p:",
            "        <Y> = p.pop() * 0.9",
            "    else:",
            "        p.append(<F>)",
        ),
        ("p = [<S>, <T>]", "<Y> = popped(p, <F>) + popped(p, 0.3) * popped(p, <V>[1])"),
        ("q = Part([<S>], <T>)", "while q.w:", "    q.c = q.c * q.w.pop()", "<Y> = q.c"),
        ("p = {'u': <V>}", "if p:", "    <X> = p.pop('u') * 0.9", "if not p:", "    p['w'] = <X>"),
        ("q = np.array(<F>)", "if q:", "    q[...] = 0.0", "    <Y> = <S> * 0.5 + q"),
        ("q = <V>[:1]", "if q:", "    <V>[0] = 0.0", "    <Y> = <V>[1] * <S>"),
        # sets
        ("q = {1, 2}", "q.add(3)", "for k1 in q:", "    <Y> = 0.3 * <V>[k1] * <S>"),
        ("q = {0, 1}", "while q:", "    <Y> = <V>[q.pop()] * 0.7"),
        # objects
        ("q = Part(<V>, <S>)", "p = q.w", "q.w = np.mean(<W>)", "<X> = p * q.w"),
        (
            "q = [Part(<V>, <S>), Part(<W>, <T>)]",
            "for p in q:",
            "    p.w, p.c = p.w * p.c, p.c * 0.5",
            "<X> = q[0].w + q[1].c * q[1].w",
        ),
        ("q = Part([<S>], <T>)", "q.w.append(<F>)", "q.w[0] = q.c", "<Y> = q.w[1] * q.w[0]"),
        # rows with a string beside the number, in two containers of an object
        (
            "p = Rows()",
            "for k1, x1 in enumerate(<V>):",
            "    p.add('uw'[k1 % 2], x1)",
            "p.named['u'][0]['x'] = <S> * <T>",
            "<Y> = p.rows[0]['x']",
        ),
        # slices of lists that are written where nothing says that they are lists
        ("p = Listed([<S>, <T>, <F>])", "merged_last(p)", "<Y> = p.items[-1] * p.items[0]"),
        # fields that are joined and repeated, and those that are lists at first
        ("p = Joined([<S>, <T>], 'm').plus(Joined([<F>], 's'))", "<Y> = p.items[0] * p.items[2]"),
        (
            "p = Joined((<S>, <T>), ('m',)).times(2)",
            "<Y> = p.items[1] * p.items[2] * len(p.unit)",
        ),
        (
            "p = Joined([<S>, <T>], 'm')",
            "q = {'a': p}",
            "q['a'].items = <V> * <S>",
            "<X> = 0.4 * p.plus(p).items",
        ),
        ("q = {'u': <V>}", "p = Joined(q, 'm').held()", "p['u'] = <V> * <S>", "<X> = q['u'] * 0.5"),
        ("q = [<V>]", "p = Joined(q, 'm').held()", "p[0] = <V> * <S>", "<X> = q[0] * 0.5"),
        ("q = [<V>]", "p = Joined(q, 'm')", "p.held().append(<W> * <S>)", "<X> = q[1] * 0.5"),
        (
            "p = Joined([<S>, <T>], 'm')",
            "for x1 in [p]:",
            "    x1.items = <V> * <W>",
            "<X> = 0.4 * p.times(0.5).items",
        ),
        (
            "p = Listed([<S>, <T>, <F>])",
            "q = p.items",
            "merged_last(p)",
            "p.items[:1] = <V> * <S>",
            "<Y> = 0.3 * q[-1] * q[2] * len(q)",
        ),
        # arrays of Python's own
        ("p = array.array('d', <V>)", "q = [p]", "p[1] += q[0][0] * <S>", "<Y> = q[0][1] * p[2]"),
        ("p = array.array('d', [<S>, <T>])", "put_in(p, 0, p[1] * <S>)", "<Y> = p[0] * p[1]"),
        # dicts that get an entry where they are read
        (
            "p = given_back(collections.defaultdict(float))",
            "for k1, x1 in enumerate(<V>):",
            "    <Y> = 0.2 * x1 * len(p)",
            "    p[k1 % 3] += x1 * <S>",
            "<Z> = p[1] * p[7] + p[0] * 0.1 * len(p)",
        ),
        (
            "q = Part(collections.defaultdict(list), <S>)",
            "for k1, x1 in enumerate(<V>):",
            "    q.w[k1 % 2].append(x1 * 0.3 * len(q.w))",
            "<Y> = q.w[1][-1] * q.c + len(q.w[5]) + 0.1 * len(q.w) * <T>",
        ),
        (
            "p = {'u': collections.defaultdict(float)}",
            "put_in(p['u'], 'a', <S>)",
            "<Y> = p['u']['b'] + p['u']['a'] * len(p['u']) * 0.3",
        ),
        # what stands several times in one unpacking
        ("p, q, _, _ = turned(<M>)", "<X> = p * 0.5 + np.sin(q) + _ * 0.1"),
        ("u0, u1, u1, u1 = <V> * 0.9", "<Y> = u0 * u1"),
        ("for u0, u0 in zip(<V>, <W>):", "    <Y> = u0 * <S>"),
    ),
    (
        ("array.", "import array\n"),
        ("collections.", "import collections\n"),
        ("list_of(", "def list_of(p, c):\n    return [c, p[0] * c, np.sum(p) * 0.1]\n"),
        ("pushed(", "def pushed(p, v):\n    return p.append(v)\n"),
        ("popped(", "def popped(p, c):\n    if p:\n        return p.pop() * c\n    return c\n"),
        ("grouped(", "def grouped(d, k, v):\n    d.setdefault(k, []).append(np.sin(v))\n"),
        ("given_back(", "def given_back(p):\n    return p\n"),
        ("put_in(", "def put_in(d, k, v):\n    d[k] = v\n"),
        (
            "found_in(",
            "def found_in(tables, k, other):\n    for table in tables:\n        try:\n"
            "            return table[k]\n        except KeyError:\n            pass\n"
            "    return other\n",
        ),
        (
            "Part(",
            "class Part:\n    def __init__(self, w, c):\n        self.w, self.c = w, c\n",
        ),
        (
            "Listed(",
            "class Listed:\n    def __init__(self, items):\n        self.items = items\n\n"
            "    def __iter__(self):\n        return iter(self.items)\n",
        ),
        (
            "Joined(",
            "class Joined:\n    def __init__(self, items, unit):\n"
            "        self.items, self.unit = items, unit\n\n"
            "    def plus(self, p):\n"
            "        return Joined(self.items + p.items, self.unit + p.unit)\n\n"
            "    def held(self):\n        return self.items\n\n"
            "    def times(self, c):\n"
            "        return Joined(self.items * c, self.unit)\n",
        ),
        (
            "Rows(",
            "class Rows:\n    def __init__(self):\n        self.rows, self.named = [], {}\n\n"
            "    def add(self, k, x):\n        row = {'k': k, 'x': x}\n        self.rows.append(row)\n"
            "        self.named.setdefault(k, []).append(row)\n",
        ),
        (
            "merged_last(",
            "def merged_last(p):\n    p.items[-2:] = [p.items[-2] * p.items[-1]]\n",
        ),
        ("listed(", "def listed(v):\n    return [x * 0.9 for x in v]\n"),
        ("turned(", "def turned(h):\n    return np.transpose(h)\n"),
    ),
)

# The same value asked for before and after a write, helpers that overwrite what they are given,
# generators and functions that are called for each item.
AGAIN = Subject(
    (
        ("<Y> = 0.1 * np.sum(<V> * <V>)", "<V>[1] = <F>", "<Z> = 0.1 * np.sum(<V> * <V>)"),
        ("p = <V>[1:] * <S>", "<V>[2] *= 0.5", "q = <V>[1:] * <S>", "<Y> = 0.2 * np.sum(p * q)"),
        ("u0 = np.sin(<S>)", "<S> = <F>", "<Y> = np.sin(<S>) * u0"),
        (
            "@functools.cache",
            "def f1(k1):",
            "    if k1 < 1:",
            "        return <V>[k1]",
            "    return f1(k1 - 1) * <S> + 0.1 * f1(0)",
            "<Y> = f1(3) * f1(2)",
        ),
        (
            "p1 = [0.5]",
            "@functools.lru_cache(maxsize=2)",
            "def f1(k1, k2=1):",
            "    p1[0] += 0.1 * <V>[k1] * k2",
            "    return <S> * p1[0]",
            "for k3 in (0, 1, 0, 2, 1):",
            "    <Y> = f1(k3) * f1(k1=k3) + 0.1 * f1(k3, 1)",
            "<Z> = p1[0]",
        ),
        ("p = np.tanh(<M> @ <V>)", "<M>[0] *= 0.5", "<X> = p * np.tanh(<M> @ <V>)"),
        (
            "for k1 in range(3):",
            "    p = <V>[k1] * <S>",
            "    <V>[k1] = p * 0.5",
            "    <Y> = p + <V>[k1] * <S>",
        ),
        ("p = <V>[::-1]", "q = np.cos(p)", "overwrite(<V>, <S>)", "<X> = q * np.cos(p)"),
        ("overwrite(<V>, <S>)", "overwrite(<V>, <T>)"),
        ("overwrite(<V>, <S>)", "<Y> = 0.2 * np.sum(<V> ** 2)", "overwrite(<V>, 0.4)"),
        ("overwrite(<V>[1:], <S>)", "overwrite(<V>[:-1], <V>[2])"),
        ("for k1 in range(3):", "    overwrite(<M>[k1], <S>)", "    <Y> = 0.3 * <M>[k1, 1]"),
        ("exchange(<V>, <W>)", "<X> = <V> * 0.8", "exchange(<W>, <X>)"),
        ("q = <V> * 1.0", "for k1 in range(2):", "    exchange(q, q[::-1])", "<X> = q * <W>"),
        ("<Y> = first_of(<V>, <S>) * first_of(<V>, <T>)",),
        ("<Y> = first_of(<M>[1], <S>) + 0.5 * first_of(<M>[1], <S>)",),
        # outputs made one from the other, of which both are factors
        ("p, q = np.zeros(4), np.sin(<W>)", "np.sin(<V>, p)", "np.add(p, q, out=q)", "<X> = p * q"),
        (
            "p = <V> * 0.9",
            "np.sin(p, p)",
            "q = np.empty(4)",
            "np.add(p, <W>, out=q)",
            "<X> = p * q",
        ),
        (
            "p, q = <V> * 0.9, <W> * 0.9",
            "q[...] = p + q",
            "p[...] = q * <S>",
            "<Y> = 0.1 * (p @ q)",
        ),
        # what holds arrays for a helper that writes them and returns nothing
        ("bend([<V>, <W>])", "<Y> = 0.3 * np.sum(<V>)"),
        ("p = [<V>]", "p.append(<W>)", "bend(p)", "<X> = <V> * <S>"),
        ("p = {'u': <V>, 'w': <W>}", "bend(p.values())", "<X> = <W> * <S>"),
        ("bend((<M>[0], <M>[1][:2]))", "<Y> = 0.2 * np.sum(<M>)"),
        ("bend([x1[1:] for x1 in <M>])", "<X> = <M>[1] * <V>"),
        ("p = [<V>, <W>]", "damp_all(zip(p, reversed(<M>)))", "<X> = p[0] * p[1]"),
        ("for k1 in range(2):", "    bend([<M>[k1], <V>[k1:]])", "<X> = <M>[0] + <V>"),
        # functions that write, by which an order or a truth value is found
        ("q = max([<V>, <W>], key=bent)", "<Y> = 0.2 * np.sum(<V>)"),
        ("p = [<V>, <W>]", "p.sort(key=lambda x1: bent(x1) * 2.0)", "<X> = p[0] * <S>"),
        ("q = any(bent(x1) > 2.0 for x1 in (<V>, <W>))", "<X> = <V> * <S>"),
        ("q = not bent(<V>)", "<Y> = 0.2 * np.sum(<V>)"),
        ("q = len([1 for x1 in (<V>, <W>) if bent(x1) > 0.3])", "<X> = <V> * (0.3 * q)"),
        # memory that a helper gives back, or puts somewhere, in two ways
        ("p, q = in_two_ways(<S>)", "p[0][1] += p[1] * <V>[0]", "<Y> = q[0][1] * <T>"),
        ("p = []", "twice_into(p, <V>)", "p[0][1] += <S> * <T>", "<Y> = p[1][0] * 0.5"),
        ("u0 = bent(<V>) and bent(<W>)", "<Y> = 0.2 * np.sum(<W>)"),
        # a helper for each item
        ("for x1 in <V>:", "    <Y> = stepped(<S>, x1)"),
        ("u0 = <S>", "for x1 in <V>:", "    u0 = stepped(u0, x1)", "<Y> = u0"),
        ("u0 = <S>", "for x1 in <M>:", "    u0 = stepped(u0, x1[0] * x1[2])", "<Y> = u0"),
        ("p = <V> * 1.0", "for k1, x1 in enumerate(p):", "    p[k1] = stepped(x1, <S>)", "<X> = p"),
        ("<Y> = functools.reduce(lambda x1, x2: stepped(x1, x2), <V>, <S>)",),
        (
            "<Y> = 0.3 * functools.reduce(lambda x1, x2: x1 * x2 + 0.2, <V>, 1.0)"
            " * list(itertools.accumulate(<W>, operator.mul))[-1]",
        ),
        ("p = list(itertools.accumulate(<V>, lambda x1, x2: x1 * 0.5 + x2))", "<Y> = p[1] * p[-1]"),
        ("<Y> = 0.1 * sum(itertools.starmap(operator.mul, zip(<V>, <W>)))",),
        ("<Y> = 0.1 * sum(itertools.accumulate((x1 * <S> for x1 in <V>), operator.mul))",),
        ("<Y> = 0.1 * sum(x1 * x2 for x1, x2 in itertools.pairwise(x3 * x3 for x3 in <V>))",),
        ("<X> = <W> * sum(itertools.chain((bent(x1) for x1 in (<V>, <W>)), (<S>,)))",),
        (
            "<Y> = 0.2 * sum(x1 * x2 for x1, x2 in zip(map(bent, (<V>, <W>)), [<S>]))",
            "<X> = <W> * 0.9",
        ),
        ("p = dict(zip('u', map(bent, (<V>, <W>))))", "<X> = <W> * p['u'] * 0.1 + <V>"),
        ("p = dict.fromkeys('uw', <V> * 1.0)", "p['u'] *= <S>", "<X> = p['w'] * 0.5"),
        (
            "for k1, q in itertools.groupby(range(4), key=lambda k2: k2 // 2):",
            "    for k2 in q:",
            "        <Y> = <V>[k2] * (k1 + 1) * <S>",
        ),
        (
            "for k1, q in itertools.groupby(list(<V>), key=lambda x1: x1 > 0.2):",
            "    <Y> = 0.3 * sum(x1 * x1 for x1 in q) * (2 if k1 else 1)",
        ),
        # generators
        ("<Y> = 0.2 * sum(grown(<V>, <S>))",),
        ("for x1 in grown(<V>, <S>):", "    <Y> = x1 * 0.5", "    if x1 > 0.3:", "        break"),
        ("p = list(grown(<V>, <S>))", "<Y> = p[0] * p[-1]"),
        ("for k1, x1 in enumerate(grown(<V>, <S>)):", "    <W>[k1] = x1 * 0.5"),
        ("q = <V> * 1.0", "for k1, x1 in enumerate(taken_of(q)):", "    q[k1 + 1] = x1", "<X> = q"),
        ("p, q = pairs_of(<V>)", "<Y> = p * q"),
        ("<Y> = 0.3 * max(grown(<V>, <S>)) + min(grown(<W>, <T>))",),
    ),
    (
        ("functools.", "import functools"),
        ("itertools.", "import itertools"),
        ("operator.", "import operator"),
        ("bend(", "def bend(vs):\n    for v in vs:\n        v *= np.sin(v) + 0.5\n"),
        ("bent", "def bent(v):\n    v *= np.sin(v) + 0.5\n    return v[0]\n"),
        (
            "in_two_ways(",
            "def in_two_ways(c):\n    buf = np.zeros(4)\n    return (buf, c), [buf]\n",
        ),
        (
            "twice_into(",
            "def twice_into(p, v):\n    buf = v * 0.9\n    p.append(buf)\n    p.append(buf[1:])\n",
        ),
        ("damp_all(", "def damp_all(pairs):\n    for v, w in pairs:\n        v *= np.cos(w)\n"),
        (
            "overwrite(",
            "def overwrite(p, c):\n    p[1:] *= np.cos(p[:-1])\n    p[0] = p[0] * c\n",
        ),
        (
            "exchange(",
            "def exchange(p, q):\n    for k in range(2):\n        p[k], q[-1 - k] = q[k] * 0.9, p[k]\n",
        ),
        (
            "first_of(",
            "def first_of(p, c):\n    p *= c\n    z = p[0] * p[1]\n    p[0] = 0.5 * z\n    return z\n",
        ),
        ("stepped(", "def stepped(c, x):\n    return np.tanh(c * x) + 0.3 * c\n"),
        (
            "grown(",
            "def grown(p, c):\n    z = c\n    for x in p:\n        z = 0.5 * z + np.sin(x) * c\n"
            "        yield z\n",
        ),
        ("taken_of(", "def taken_of(p):\n    for k in range(3):\n        yield p[k] * 0.8\n"),
        ("pairs_of(", "def pairs_of(p):\n    yield p[0] * p[1]\n    yield np.sin(p[2])\n"),
    ),
)

# What may be refused, and must never be wrong: attributes by their names, classes that store in ways
# of their own, views of dicts that are asked for their class, generators that see later values.
DECLINED = Subject(
    (
        (
            "q = []",
            "def f1(k1):",
            "    q.append(k1 * <S>)",
            "    return k1 > 0.5",
            "u0 = any(f1(k1) for k1 in <V>) + len([k1 for k1 in <W> if f1(k1)])",
            "<X> = 0.1 * sum(q) * u0 * <E>",
        ),
        (
            "q = [Noted(<S>), Noted(<T>)]",
            "u0 = sum(1 for k1 in q if k1.note(<F>)) + any(map(q[0].note, <V>))",
            "<X> = 0.1 * sum(q[0].items) * u0 * <W>",
        ),
        ("p = {'u': <V>, 'w': <E>}", "<X> = 0.5 * asked(p.values(), p)"),
        ("p = {'u': <V>, 'w': <E>}", "<X> = 0.5 * stored_first(p.values(), p, <S>)"),
        ("p = {'u': <V>}", "q = p.values()", "p['w'] = <W> * <S>", "<X> = 0.5 * sum(q)"),
        ("q = set()", "for k1 in (1, 3, 1):", "    <Y> = once(q, k1, <V>[k1], <S>) * 0.8"),
        ("q = Part(<V>, <S>)", "setattr(q, 'w', <W> * <S>)", "<X> = q.w * q.c"),
        ("q = Part(<V>, <S>)", "p = put_w(q, <W> * <S>) or q.c * <T>", "<X> = q.w * p"),
        ("q = Part(<V>, <S>)", "p = (q.w, setattr(q, 'w', <W>))[0]", "<X> = q.w * p * q.c"),
        (
            "q = Part(<V>, <S>)",
            "p = [setattr(q, 'w', q.w * x1) for x1 in (<S>, <T>)]",
            "<X> = q.w * q.c * len(p)",
        ),
        (
            "q = Part(<V>, <S>)",
            "if setattr(q, 'c', <T> * q.c) is None:",
            "    <X> = q.w * q.c",
        ),
        ("q = Part(<V>, <S>)", "set_by_name(q, 'w', <E>)", "<X> = q.w * q.c"),
        ("q = Part(<V>, <S>)", "vars(q)['w'] = <W> * 0.5", "<X> = q.w * q.c"),
        ("q = Part(<V>, <S>)", "q.__setattr__('c', <F>)", "<X> = q.w * q.c"),
        ("q = Damped(<V>)", "q.w = <W>", "<X> = q.w * <S>"),
        ("q = Damped(<V>)", "q.w = q.w * <S>", "q.w[1:] *= 0.5", "<X> = q.w * 0.9"),
        ("q = Halves(u=<V>)", "q['w'] = <W> * <S>", "<X> = q['w'] - q['u']"),
        # what operators, tests and properties call writes what is read later
        ("q = Probed(<S>)", "if <T> in q:", "    <Y> = q.t * <T>"),
        ("q = Probed(<S>)", "k1 = len(q) + q.level * len(q)", "<Y> = q.t * k1 * <T>"),
        ("q = Probed(<S>)", "k1 = len(q) * 3 + q[2]", "<Y> = q.t * k1 * <T>"),
        ("q = Probed(<S>)", "k1 = 2 if q and q.level > 1 else 3", "<Y> = q.t * k1 * <T>"),
        (
            "q = Probed(<S>)",
            "for k1 in range(2):",
            "    if len(q) > k1:",
            "        <Y> = q.t * <T>",
        ),
        ("q = Probed(<S>)", "k1 = len(f'{q}') + (q == 3)", "<Y> = q.t * k1 * <T>"),
        (
            "q = Probed(<S>)",
            "k1 = [x1 for x1 in range(3) if q.once > x1]",
            "<Y> = q.once * len(k1)",
        ),
        ("q = Probed(<S>)", "<Y> = q.once * (2.0 if q.once > 0.3 else 3.0) * <T>"),
        ("q = Probed(<S>)", "k1 = probed_often(q, <T>)", "<Y> = q.t * k1 * q.once"),
        (
            "u0 = <S>",
            "def made():",
            "    for k1 in range(3):",
            "        yield u0 * <V>[k1]",
            "for x1 in made():",
            "    u0 = u0 * 0.5 + x1",
            "<Y> = u0",
        ),
    ),
    (
        (
            "Part(",
            "class Part:\n    def __init__(self, w, c):\n        self.w, self.c = w, c\n",
        ),
        (
            "Noted(",
            "class Noted:\n    def __init__(self, c):\n        self.items, self.c = [], c\n\n"
            "    def note(self, v):\n        self.items.append(v * self.c)\n        return v > 0.2\n",
        ),
        (
            "asked(",
            "def asked(v, d):\n    if isinstance(v, list):\n        return v[0] * 2.0\n"
            "    return sum(v) + d['u']\n",
        ),
        (
            "stored_first(",
            "def stored_first(v, d, c):\n    if type(v) is list:\n        c = c * 2.0\n"
            "    d['u'] = d['w'] * c\n    z = 0.0\n    for item in v:\n        z = z + item\n"
            "    return z\n",
        ),
        (
            "once(",
            "def once(seen, k, v, c):\n    if k in seen:\n        return c\n    seen |= {k}\n"
            "    return v * c\n",
        ),
        (
            "set_by_name(",
            "def set_by_name(q, name, v):\n    object.__setattr__(q, name, v)\n",
        ),
        ("put_w(", "def put_w(q, v):\n    return setattr(q, 'w', v)\n"),
        (
            "Damped(",
            "class Damped:\n    def __init__(self, w):\n        self.w = w\n\n"
            "    def __setattr__(self, name, value):\n"
            "        object.__setattr__(self, name, value * 0.5)\n",
        ),
        (
            "Probed(",
            "import functools\n\n\nclass Probed:\n    def __init__(self, c):\n        self.c, self.t = c, c * 0.5\n\n"
            "    def __contains__(self, v):\n        self.t = self.t + v * self.c\n"
            "        return v > 0.1\n\n"
            "    def __bool__(self):\n        self.t = self.t * self.c\n        return True\n\n"
            "    def __len__(self):\n        self.t = self.t * self.c\n        return 1\n\n"
            "    def __getitem__(self, k):\n        self.t = self.t + self.c * k\n"
            "        return k\n\n"
            "    def __eq__(self, other):\n        self.t = self.t + self.c\n"
            "        return other == 3\n\n"
            "    def __str__(self):\n        self.t = self.t - self.c\n        return 'asked'\n\n"
            "    @property\n    def level(self):\n        self.t = self.t * 0.9\n        return 2\n\n"
            "    @functools.cached_property\n    def once(self):\n        return self.c * self.t\n",
        ),
        (
            "probed_often(",
            "def probed_often(q, v):\n    n = 1\n    while q and n < 3:\n        n = n + 1\n"
            "    return n + (v in q) if q.once > 0.2 else n\n",
        ),
        (
            "Halves(",
            "class Halves(dict):\n    def __setitem__(self, k, v):\n"
            "        super().__setitem__(k, v * 0.5)\n\n    def __getitem__(self, k):\n"
            "        return super().__getitem__(k) * 0.9\n",
        ),
    ),
)
