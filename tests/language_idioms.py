"""The rows of the table about idioms: functions, containers, objects, scopes, `wrt`, hooks, draws.

Written as those of `language_rows`, from which the page takes both.
"""

from __future__ import annotations

from tests.language_row import DONE, PASSED, REFUSED, Row, body

_TABLE = "def wave(v):\n    return np.sin(v)\n\ndef double(v):\n    return 2.0 * v\n\n"
_POINT = (
    "from typing import Any, NamedTuple\n\nclass Point(NamedTuple):\n    left: Any\n"
    "    right: Any = 2.0\n\n"
)
_CELL = (
    "import dataclasses\n\n@dataclasses.dataclass\nclass Cell:\n    w: float\n"
    "    b: float = 2.0\n\n"
)
_DENSE = (
    "class Dense:\n    scale = 2.0\n\n    def __init__(self, w):\n        self.w = w\n\n"
    "    def __call__(self, v):\n        return np.tanh(self.w * v) * self.scale\n\n"
    "    @property\n    def square(self):\n        return self.w * self.w\n\n"
    "    @staticmethod\n    def half(v):\n        return 0.5 * v\n\n"
)
_VEC = (
    "class Vec:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
    "    def __add__(self, o):\n        return Vec(self.a + o.a, self.b + o.b)\n\n"
    "    def __mul__(self, k):\n        return Vec(self.a * k, self.b * k)\n\n"
    "    @property\n    def size2(self):\n        return self.a**2 + self.b**2\n\n"
    "    @size2.setter\n    def size2(self, v):\n        self.a = self.a * v\n\n"
)


def program(idiom: str, what: str, text: str, order: int = 2) -> Row:
    """A row about no syntax of its own, with the whole text of its program."""
    return Row("", idiom, what, text, order=order)


def lines(idiom: str, what: str, text: str) -> Row:
    """A row about no syntax of its own, with the body of its program."""
    return body("", idiom, what, text)


FUNCTIONS = (
    lines(
        "inner functions and closures",
        DONE,
        "k = x * x\ndef g(v, c=2.0):\n    return v * k * c\nreturn g(x) + g(k, c=x)",
    ),
    lines(
        "a captured variable bound again before the call",
        DONE,
        "k = x\ndef g(v):\n    return v * k\nk = x * x\nreturn g(x)",
    ),
    program(
        "functions as arguments",
        DONE,
        "def twice(g, v):\n    return g(g(v))\n\ndef f(x):\n"
        "    return twice(lambda v: v * x, x) + twice(np.sin, x)",
    ),
    program(
        "functions that return functions; decorators",
        DONE,
        "import functools\n\ndef doubled(g):\n    @functools.wraps(g)\n    def wrapper(*args, **options):\n"
        "        return 2.0 * g(*args, **options)\n    return wrapper\n\n@doubled\ndef square(v):\n"
        "    return v * v\n\ndef f(x):\n    return square(x) * x",
    ),
    program(
        "`functools.lru_cache`",
        DONE,
        "import functools\n\n@functools.lru_cache\ndef square(v):\n    return v * v\n\n"
        "def f(x):\n    return square(x) * x",
    ),
    program(
        "`functools.partial`, `functools.reduce`",
        DONE,
        "import functools\n\ndef scale(c, v):\n    return c * v\n\ndef f(x):\n"
        "    g = functools.partial(scale, x)\n"
        "    return functools.reduce(lambda p, q: p * 0.5 + q, [g(x), x, 1.0])",
    ),
    program(
        "`functools.singledispatch`",
        DONE,
        "import functools\n\n@functools.singledispatch\ndef size(v):\n    return v * v\n\n"
        "@size.register(list)\ndef of_list(v):\n    return v[0] * v[1]\n\n"
        "def f(x):\n    return size([x, x * x])",
    ),
    program(
        "functions in a dict or list, chosen when it runs",
        DONE,
        _TABLE + "TABLE = {'wave': wave, 'double': double}\n\ndef f(x):\n"
        "    return TABLE['wave' if x > 0 else 'double'](x) * [wave, double][int(x)](x)",
    ),
    lines(
        "a list of functions that capture what carries derivatives, gone through",
        DONE,
        "table = [lambda v: v * x, lambda v: v - x]\ny = x\nfor g in table:\n    y = g(y)\nreturn y",
    ),
    program(
        "defaults, keyword-only, positional-only",
        DONE,
        "def g(a, b=2.0, /, c=3.0, *, d=4.0):\n    return a * b + c * d\n\ndef f(x):\n"
        "    return g(x) + g(x, x, d=x) + g(x, c=x * x)",
    ),
    program(
        "`*args`, `**options` at `def` and call",
        DONE,
        "def g(*args, **options):\n    return args[0] * options['c'] + len(args)\n\ndef f(x):\n"
        "    pair = (x, 2.0)\n    return g(*pair, c=x) + g(*[x, x], **{'c': 2.0})",
    ),
    program(
        "an array module as a parameter, a local name",
        DONE,
        "def g(v, xp):\n    return xp.sum(xp.sin(v))\n\ndef f(x):\n    xp = np\n"
        "    return g(x, xp) * xp.exp(x)",
    ),
    program(
        "an array module that is chosen: `xp=None`, out of a dict, `get_array_module(x)`",
        DONE,
        "MODULES = {'np': np}\n\ndef module_of(v):\n    return np\n\n"
        "def g(v, xp=None):\n    if xp is None:\n        xp = np\n    return xp.sum(xp.sin(v))\n\n"
        "def f(x):\n    xp = MODULES['np']\n    return g(x) * xp.exp(x) + module_of(x).cos(x)",
    ),
    program(
        "recursion, also mutual",
        DONE,
        "def even(v, n):\n    return v if n == 0 else odd(v * v, n - 1)\n\ndef odd(v, n):\n"
        "    return even(np.sin(v), n - 1)\n\ndef f(x):\n    return even(x, 2) * x",
    ),
    lines(
        "`map`, `filter`, `sum`, `min`, `max`, `abs`, `zip`, `sorted`",
        DONE,
        "v = [x, 2.0 * x, 0.3]\ns = sum(map(lambda a: a * a, v)) + sum(filter(lambda a: a > 0, v))\n"
        "for a, b in zip(v, sorted(v)):\n    s = s + a * b\nreturn s + min(v) * max(x, 0.1) + abs(-x)",
    ),
    lines(
        "`itertools` gone through: `chain`, `accumulate`, `product`, `combinations`, `pairwise`, ...",
        DONE,
        "import itertools\ns = 0.0\nfor a, b in itertools.pairwise([x, 2.0 * x, 0.3]):\n"
        "    s = s + a * b\nreturn s",
    ),
    lines(
        "`heapq`: `heappush`, `heappop`, `heapify`, `nlargest`, ...",
        DONE,
        "import heapq\nh = [(x * x, 1), (0.5 * x, 2)]\nheapq.heapify(h)\n"
        "heapq.heappush(h, (np.sin(x), 0))\na, i = heapq.heappop(h)\n"
        "return a * (i + 1) + sum(heapq.nsmallest(1, [x, 3.0]))",
    ),
    lines(
        "`operator.itemgetter`, `attrgetter`, `methodcaller`",
        DONE,
        "import operator\nv = [(1.0, x), (2.0, x * x)]\n"
        "return sum(map(operator.itemgetter(1), v)) + operator.methodcaller('sum')(np.array([x, x * x]))",
    ),
    lines(
        "`max`, `min`, `sorted` with a `key=`, also one that captures",
        DONE,
        "v = sorted([x, 2.0 * x, -x], key=lambda a: (a - x) ** 2)\n"
        "return max(v, key=lambda a: a * a) * v[0] + min(x, 3.0, key=lambda a: -a)",
    ),
    program(
        "a generator function that is called, and gone through at once",
        DONE,
        "def g(v):\n    while v > 0.1:\n        yield v\n        v = v * v / 2\n\n"
        "def f(x):\n    return sum(g(x)) + [y * x for y in g(x / 2)][0]",
    ),
    program("a result that is an iterator", REFUSED, "def f(x):\n    return map(np.sin, [x, x])"),
)

CONTAINERS = (
    lines(
        "lists: `append`, `extend`, `insert`, `pop`, `reverse`, `clear`",
        DONE,
        "a = []\na.append(x)\na.extend([x * x, 3.0])\na.insert(1, 2.0 * x)\nb = a.pop()\n"
        "a.reverse()\ns = b * a[0] * a[2]\na.clear()\nreturn s + len(a)",
    ),
    lines(
        "lists: items, slices, `del`, `sort`",
        DONE,
        "a = [3.0 * x, x, 2.0 * x]\na[0] = a[0] * x\na[1:2] = [x, x * x]\ndel a[0]\na.sort()\n"
        "return a[0] * a[-1]",
    ),
    lines(
        "lists and tuples: `+`", DONE, "a = [x] + [x * x]\nb = (x,) + (2.0,)\nreturn a[1] * b[0]"
    ),
    lines("lists: `[v] * n`", DONE, "a = [x * x] * 3\nreturn a[0] * a[2]"),
    lines(
        "dicts: items, `get`, `update`, `pop`, `|`",
        DONE,
        "d = {'a': x}\nd['b'] = x * x\nd.update({'c': 2.0 * x}, a=x**3)\n"
        "g = d.pop('c') * d.get('z', x)\ne = d | {'h': g}\nreturn e['a'] + e['b'] * e['h']",
    ),
    lines(
        "dicts: `setdefault`, `popitem`",
        DONE,
        "d = {'a': x}\nd.setdefault('a', 5.0)\nd.setdefault('e', x * x)\nk, v = d.popitem()\n"
        "return d['a'] * v * len(k)",
    ),
    lines(
        "dicts: `.items()`, `.keys()`, `.values()`, `in`, `len`",
        DONE,
        "d = {'a': x, 'b': x * x}\ns = 0.0\nfor k, v in d.items():\n    s = s + v * len(k)\n"
        "for k in d.keys():\n    s = s * d[k]\nreturn s + sum(d.values()) * ('a' in d) * len(d)",
    ),
    lines(
        "`{**d}`, `[*v]`, `dict(...)`, `list(...)`, `tuple(...)`",
        DONE,
        "d = dict(a=x, b=2.0)\ne = {**d, 'b': x * x}\nv = [*e.values(), x]\n"
        "return list(v)[1] * tuple(v)[0] * e['b']",
    ),
    lines(
        "unpacking: nested, `*rest`, in `for`",
        DONE,
        "(a, (b, *c)), d = (x, (x * x, 2.0, x)), 3.0\ns = a * b * c[1] * d\n"
        "for i, (p, q) in enumerate([(x, 2.0), (x * x, x)]):\n    s = s + p * q * i\nreturn s",
    ),
    program(
        "`zip(*rows)` (first derivatives)",
        DONE,
        "def f(x):\n    a, b = zip(*[(x, 2.0), (x * x, x)])\n    return a[1] * b[1]",
        order=1,
    ),
    program(
        "namedtuples: made, fields, items, unpacking",
        DONE,
        _POINT + "def f(x):\n    p = Point(x, x * x)\n    q = Point(*(x, 2.0))\n    a, b = p\n"
        "    return a * p.right * p[0] * b + Point(**{'left': x}).left * q.left",
    ),
    program(
        "`_replace` of namedtuples, `dataclasses.replace`, `getattr` of a literal name with or "
        "without a default",
        DONE,
        _POINT
        + _CELL
        + "    def __call__(self, v):\n        return np.tanh(self.w * v + self.b)\n\n"
        "def f(x):\n    p = Point(x)\n    p = p._replace(right=p.left * x)\n"
        "    c = dataclasses.replace(Cell(x), b=p.right)\n"
        "    return c(x) * getattr(c, 'b') + getattr(p, 'right') * getattr(c, 'k', x)",
    ),
    lines(
        "dicts of dicts, made by comprehensions",
        DONE,
        "d = {'a': {'w': x, 'b': 2.0}, 'c': {'w': x * x, 'b': x}}\n"
        "e = {k: {n: v * 0.9 for n, v in g.items()} for k, g in d.items()}\n"
        "return e['a']['w'] * e['c']['w'] + e['c']['b']",
    ),
    program(
        "namedtuples with methods; `_asdict`, `_make`, `Point(*values)`",
        DONE,
        "from typing import NamedTuple\n\n"
        "class Point(NamedTuple):\n    left: float\n    right: float\n\n"
        "    def area(self):\n        return self.left * self.right\n\n"
        "def f(x):\n    p, q = Point._make([x, x * x]), Point(*(v for v in [2.0 * x, x]))\n"
        "    return p.area() * q._replace(left=x).area() * q._asdict()['right']",
    ),
    program(
        "`copy.copy`, `copy.deepcopy`, `dataclasses.asdict`, `astuple`, `vars`",
        DONE,
        "import copy\n"
        + _CELL
        + "def f(x):\n    c = Cell(x)\n    d = copy.deepcopy(c)\n    d.w = d.w * x\n"
        "    xs = copy.copy([x, d.w])\n"
        "    return dataclasses.asdict(c)['w'] * dataclasses.astuple(d)[0] * vars(c)['w'] * xs[1]",
    ),
    program(
        "dataclasses with `__post_init__`, `default_factory`",
        DONE,
        "import dataclasses\n\n@dataclasses.dataclass\nclass Track:\n    w: float\n"
        "    seen: list = dataclasses.field(default_factory=list)\n\n"
        "    def __post_init__(self):\n        self.area = self.w**2\n"
        "        self.seen.append(self.area)\n\n"
        "def f(x):\n    t = Track(x * x)\n    return t.area * t.w * t.seen[0]",
    ),
    program(
        "dataclasses: made, fields read and assigned",
        DONE,
        _CELL + "def f(x):\n    c = Cell(x)\n    c.b = x * x\n    c.w = c.w * c.b\n"
        "    return c.w * c.b",
    ),
    lines(
        "containers in containers",
        DONE,
        "d = {'layers': [(x, x * x), (2.0, x)]}\ns = x\nfor w, b in d['layers']:\n"
        "    s = np.tanh(w * s + b)\nreturn d['layers'][0][1] * s",
    ),
    lines("a set of what is differentiated", REFUSED, "v = {x, 2.0 * x}\nreturn v.pop()"),
    program(
        "`collections.deque`",
        DONE,
        "import collections\n\ndef f(x):\n    q = collections.deque([x, x * x])\n"
        "    return q.popleft()",
    ),
    program(
        "`collections.defaultdict`",
        DONE,
        "import collections\n\ndef f(x):\n    d = collections.defaultdict(list)\n"
        "    d['a'].append(x)\n    return d['a'][0]",
    ),
)

OBJECTS = (
    program(
        "an object made inside: `__init__`, defaults, what the class has",
        DONE,
        _DENSE + "def f(x):\n    layer = Dense(x)\n    return layer(x) * layer.square",
    ),
    program(
        "`__init__` that computes; `super().__init__`, `super().method`",
        DONE,
        _DENSE + "class Deep(Dense):\n    def __init__(self, w, n=2):\n"
        "        super().__init__(w * w)\n        self.powers = [w**k for k in range(n)]\n\n"
        "    def __call__(self, v):\n        return super().__call__(v) * sum(self.powers)\n\n"
        "def f(x):\n    return Deep(x, n=3)(x)",
    ),
    program(
        "operators of a class, properties",
        DONE,
        _VEC
        + "def f(x):\n    v = Vec(x, x * x) * 0.5 + Vec(1.0, x)\n    return v.a * v.b * v.size2",
    ),
    program(
        "`+=` of an object of a user's class, and of its items",
        DONE,
        _VEC + "def f(x):\n    v = Vec(x, x * x)\n    v += Vec(1.0, x)\n    return v.a * v.b",
    ),
    program(
        "`next` of a generator expression with a condition",
        DONE,
        "def f(x):\n    xs = [0.1 * x, x, x * x]\n    first = next(v * x for v in xs if v > 0.2)\n"
        "    return first * next((v for v in xs if v > 9.0), x)",
    ),
    program(
        "classes in a dict or list, or chosen by a condition, called",
        DONE,
        "class Dense:\n    def __init__(self, w):\n        self.w = 0.5 * w\n\n"
        "    def __call__(self, x):\n        return np.tanh(self.w * x)\n\n"
        "class Scale:\n    def __init__(self, w):\n        self.w = w\n\n"
        "    def __call__(self, x):\n        return self.w * x\n\n"
        "LAYERS = {'dense': Dense, 'scale': Scale}\n\n"
        "def f(x):\n    cls = Dense if x > 0.5 else Scale\n    h = cls(x)(x)\n"
        "    for name in ('scale', 'dense'):\n        h = LAYERS[name](x)(h)\n    return h",
    ),
    program(
        "`sum` of objects with `__add__`",
        DONE,
        _VEC
        + "def f(x):\n    v = sum([Vec(x, 1.0), Vec(x * x, x)], Vec(0.0, x))\n    return v.a * v.b",
    ),
    program(
        "trees of objects: methods of what attributes hold, None in the leaves",
        DONE,
        "class Node:\n    def __init__(self, w, left=None):\n        self.w, self.left = w, left\n\n"
        "    def at(self, x):\n        if self.left is None:\n            return self.w * x\n"
        "        return self.left.at(x) * self.w\n\n"
        "def f(x):\n    return Node(x, Node(x * x)).at(x)",
    ),
    program(
        "objects and functions in one list",
        DONE,
        "class Dense:\n    def __init__(self, w):\n        self.w = w\n\n"
        "    def __call__(self, x):\n        return self.w * x\n\n"
        "def f(x):\n    y = x\n    for layer in [Dense(x), np.tanh, Dense(2.0)]:\n"
        "        y = layer(y)\n    return y",
    ),
    program(
        "a property that is set (first derivatives)",
        DONE,
        _VEC + "def f(x):\n    v = Vec(x, x * x)\n    v.size2 = v.size2 * x\n    return v.a * v.b",
        order=1,
    ),
    program(
        "class methods, static methods, `type(self)(...)`",
        DONE,
        _DENSE + "class Flat(Dense):\n    @classmethod\n    def of(cls, v):\n"
        "        return cls(v * v)\n\n    def again(self):\n        return type(self)(self.w + 1.0)\n\n"
        "def f(x):\n    return Flat.of(x).again()(x) * Dense.half(x)",
    ),
    program(
        "methods that are handed to functions, or stored",
        DONE,
        "class State:\n    def __init__(self, h):\n        self.h = h\n\n"
        "    def step(self, v):\n        self.h = self.h * v\n        return self.h\n\n"
        "    def rate(self, v):\n        return self.h * np.sin(v)\n\n"
        "def twice(g, v):\n    return g(g(v))\n\n"
        "def f(x):\n    s = State(x)\n    y = twice(s.step, x)\n"
        "    return y * s.h + [s.rate, np.cos][0](x) + twice(lambda v: s.rate(v) * s.h, x)",
    ),
    program(
        "attributes that methods assign (first derivatives)",
        DONE,
        "class State:\n    def __init__(self, h):\n        self.h, self.seen = h, 0\n\n"
        "    def step(self, v):\n        self.h = np.tanh(self.h * v)\n        self.seen = self.seen + 1\n\n"
        "def f(x):\n    s = State(x)\n    for _ in range(3):\n        s.step(2.0 * x)\n"
        "    return s.h * s.seen",
        order=1,
    ),
    program(
        "objects in attributes and lists, of the module, in closures",
        DONE,
        _DENSE + "FIXED = Dense(0.7)\nLAYERS = [Dense(0.5), Dense(1.5)]\n\ndef f(x):\n"
        "    y = FIXED(x)\n    for layer in [*LAYERS, Dense(x)]:\n        y = layer(y)\n    return y",
    ),
    program(
        "objects with `__iter__`, `__getitem__`, `__len__`; `functools.partialmethod`",
        DONE,
        "import functools\n\nclass Row:\n    def __init__(self, items):\n        self.held = items\n\n"
        "    def __iter__(self):\n        return iter(self.held)\n\n"
        "    def __len__(self):\n        return len(self.held)\n\n"
        "    def __getitem__(self, k):\n        return self.held[k]\n\n"
        "    def scaled(self, k, n):\n        return n * self.held[k]\n\n"
        "    double = functools.partialmethod(scaled, n=2.0)\n\n"
        "def f(x):\n    row = Row([x, x * x])\n    s = 1.0\n    for v in row:\n        s = s * v + sum(row)\n"
        "    return s * len(row) * row[1] * row.double(0)",
    ),
    program(
        "`functools.cached_property`",
        DONE,
        "import functools\n\nclass Box:\n    def __init__(self, w):\n        self.w = w\n\n"
        "    @functools.cached_property\n    def volume(self):\n        return self.w**3\n\n"
        "def f(x):\n    return Box(x).volume",
    ),
    program(
        "objects of several classes: in lists, dicts, attributes, branches",
        DONE,
        "import abc\n\nclass Layer(abc.ABC):\n    def __init__(self, w):\n        self.w = w\n\n"
        "    @abc.abstractmethod\n    def __call__(self, v): ...\n\n"
        "class Scale(Layer):\n    def __call__(self, v):\n        return self.w * v\n\n"
        "class Bend:\n    __slots__ = ()\n\n    def __call__(self, v):\n        return np.tanh(v)\n\n"
        "class Chain:\n    def __init__(self, *layers):\n        self.layers = layers\n\n"
        "    def __call__(self, v):\n        for layer in self.layers:\n            v = layer(v)\n"
        "        return v\n\n"
        "def f(x):\n    last = Scale(x) if x > 0.0 else Bend()\n"
        "    return Chain(Scale(x), Bend(), last)(x)",
    ),
    program(
        "a class with `__new__`, `__setattr__` or a metaclass of its own, made inside",
        REFUSED,
        "class Slotted:\n    def __new__(cls, w):\n        return super().__new__(cls)\n\n"
        "    def __init__(self, w):\n        self.w = w\n\n"
        "def f(x):\n    return Slotted(x).w",
    ),
    program(
        "`nonlocal` in an inner function that is kept",
        DONE,
        "def keep(g):\n    return [g, g]\n\ndef f(x):\n    s = x\n    def add(v):\n"
        "        nonlocal s\n        s = s + v * v\n    for g in keep(add):\n        g(x)\n    return s",
    ),
    program(
        "a global of the module, read", PASSED, "RATE = 0.5\n\ndef f(x):\n    return RATE * x * x"
    ),
)

HOOKS = (
    program(
        "`tl.stop_gradient`",
        PASSED,
        "import tangentlike as tl\n\ndef f(x):\n    return x * x + 0.0 * tl.stop_gradient(x)",
    ),
    program(
        "`tl.on_adjoint`: code of yours on an adjoint",
        PASSED,
        "import tangentlike as tl\n\ndef f(x):\n"
        "    y = tl.on_adjoint(x * x, lambda y_bar: y_bar)\n    return y * x",
    ),
    program(
        "`tl.checkpoint`",
        DONE,
        "import tangentlike as tl\n\n@tl.checkpoint\ndef g(v):\n    return np.sin(v) * v\n\n"
        "def f(x):\n    return g(x) * x",
    ),
    program(
        "a draw of a `np.random.Generator`: once, in order",
        DONE,
        "def f(x):\n    rng = np.random.default_rng(3)\n    return rng.normal(x, x * x) * x",
    ),
)

IDIOMS = (*FUNCTIONS, *CONTAINERS, *OBJECTS, *HOOKS)
