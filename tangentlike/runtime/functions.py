"""Functions that only the running program knows: their derivatives are made when it calls them.

Emitted code says `f_fwd, f_bwd = pair_of(f, 1, (0,))` or `f_jvp = tangent_of(f, 1, (0,))` and calls
what it gets. Deriving needs the whole of tangentlike, which says here how it is done. What an
object of a class that only the run knows has under a name is `method_of(xp, "tanh")`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
import linecache
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .buffers import require_field
from .calculus import evaluated, is_interpolant
from .recent import Recent
from .statements import written_for

_MOST = 512  # derivatives kept; a program that makes a function in each round forgets old ones

# What is made, and whether it still holds: helpers may be defined anew.
Made = tuple[Any, Callable[[], bool]]
Derive = Callable[[Any, int, tuple[Any, ...], tuple[str, ...], str, bool, tuple[Any, ...]], Made]

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))

_derive: list[tuple[Derive, Callable[[Any], Any]]] = []
_made: Recent[Any, tuple[Any, Made]] = Recent(_MOST)
_taking: Recent[Any, tuple[Any, Any]] = Recent(_MOST)  # of `with_items`
_count = itertools.count(1)


def derived_by(derive: Derive, described: Callable[[Any], Any]) -> None:
    """Say how functions are differentiated, and what a derivative depends on of the object whose
    method it is of."""
    _derive[:] = [(derive, described)]


class Method:
    """The method of an object that carries no derivatives; called like the method."""

    __slots__ = ("__name__", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.__name__ = owner, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.__name__)(*args, **kwargs)


def method_of(x: Any, name: str) -> Any:
    """The function that an object has under a name: what a module or an instance holds is that
    itself; methods, and objects that are called, are a `Method` of the object.

    >>> method_of(np, "tanh"), type(method_of(np.ones(2), "dot")).__name__
    (<ufunc 'tanh'>, 'Method')
    """
    found = getattr(x, name)
    if isinstance(x, types.ModuleType) and not isinstance(found, types.MethodType):
        return found
    owner = getattr(found, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return found if isinstance(found, _FUNCTIONS) else Method(found, "__call__")
    return Method(owner, getattr(found, "__name__", name))


class Unbound(Method):
    """The method of an object that may carry derivatives; it is called with the object first."""

    __slots__ = ()

    def __call__(self, owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, self.__name__)(*args, **kwargs)


class Reader(Unbound):
    """An attribute of an object that may carry derivatives, as a function of the object."""

    __slots__ = ()

    def __call__(self, owner: Any) -> Any:
        return getattr(owner, self.__name__)


def reader(x: Any, name: str) -> Reader:
    """What reads the attribute of this name, which the class of `x` may compute.

    >>> reader(1.5, "real")(1.5)
    1.5
    """
    return Reader(x, name)


def unbound(x: Any, name: str = "__call__") -> Unbound:
    """What an object has under a name, as a function of the object and the arguments.

    An object without that attribute raises AttributeError, as Python does.

    >>> unbound([3, 1], "index")([3, 1], 1)
    1
    """
    if name != "__call__":
        getattr(x, name)
    if isinstance(x, types.BuiltinFunctionType):  # (what it is of carries derivatives as well)
        require_field(x.__self__, x.__name__)
    return Unbound(x, name)


def argument_places(
    signature: inspect.Signature, count: int, words: tuple[str, ...], *, partial: bool = False
) -> list[tuple[str, Any]]:
    """Which of so many arguments by position, and of those by name, each parameter takes: a
    position, a name, a tuple of positions (`*args`) or a dict of names (`**options`).

    Raises TypeError where they do not fit, as `signature.bind` does.

    >>> import inspect
    >>> argument_places(inspect.signature(lambda x, *rest, **o: x), 2, ("k",))
    [('x', 0), ('rest', (1,)), ('o', {'k': 'k'})]
    """
    bind = signature.bind_partial if partial else signature.bind
    return list(bind(*range(count), **{word: word for word in words}).arguments.items())


def defaults_after(
    signature: inspect.Signature, given: tuple[str, ...]
) -> list[tuple[str, bool, Any]]:
    """Each parameter that has an argument or a default, whether it was given one, and the default.

    >>> defaults_after(inspect.signature(lambda x, y=2, *rest: x), ("x",))
    [('x', True, None), ('y', False, 2), ('rest', False, ())]
    """
    bound = inspect.BoundArguments(signature, dict.fromkeys(given))
    bound.apply_defaults()
    return [(name, name in given, value) for name, value in bound.arguments.items()]


def pair_of(
    f: Any,
    count: int,
    wrt: tuple[Any, ...],
    words: tuple[str, ...] = (),
    *,
    writes: bool = False,
    outer: tuple[Any, ...] = (),
    looked_up: tuple[str, ...] = (),
) -> Any:
    """The forward and backward functions of `f`, called with `count` arguments by position and
    `words` by name, with respect to some of them (positions, or names). Where it `writes`, or may,
    the backward function is given the shadow, and restores what the forward function wrote.
    Arguments in `outer` may be held outside of the caller, and must not be written. Methods and
    attributes that are `looked_up` are asked of the objects that `f` meets."""
    return _remembered(f, count, wrt, words, "callee", writes, outer, looked_up)


def tangent_of(
    f: Any,
    count: int,
    wrt: tuple[Any, ...],
    words: tuple[str, ...] = (),
    *,
    writes: bool = False,
    outer: tuple[Any, ...] = (),
    looked_up: tuple[str, ...] = (),
) -> Any:
    """The tangent function of `f`; it takes the tangents as `x0_dot`, `rate_dot`. Where `f`
    `writes` an argument, it writes the tangent of that, too; none of those in `outer`. `looked_up`
    as for `pair_of`."""
    return _remembered(f, count, wrt, words, "tangent", writes, outer, looked_up)


# What asks an object that only the running program knows for what it has, or a derivative for it.
LOOKUPS = (method_of, unbound, pair_of, tangent_of)


def absent_attribute(x: Any, name: str) -> Any:
    """What Python does where None, a number or an array of NumPy is asked for an attribute that
    they lack: what a derivative would say of its value was left out.

    Raises `AttributeError`, or `TypeError` where `x` is something else.
    """
    known = x is None or type(x) is np.ndarray or isinstance(x, (int, float, complex, np.generic))
    if known and not hasattr(x, name):
        _raise_as_python_does(x, name)
    raise written_for("None, a number or an array", x)


def _raise_as_python_does(x: Any, name: str) -> None:
    # (An error of the program, and no refusal: `refusing.REFUSING` goes by the function.)
    raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")


def with_items(
    f: Any,
    given: tuple[Any, ...],
    named: Any = None,
    words: tuple[str, ...] = (),
    *,
    outer: bool = False,
) -> Any:
    """The function that takes, for each starred argument of a call of `f`, its container.

    `given` has None for each plain argument, and the container for `*xs`; `named` is that for
    `**options`, and `words` are the arguments that are given by name. `outer`: `f` is known where
    it is called to give back what is defined outside it.

    >>> with_items(max, (None, [2.0, 5.0]))(3.0, [2.0, 5.0])
    5.0
    """
    layout = tuple(None if xs is None else _length(xs) for xs in given)
    keys = None if named is None else tuple(named)
    # (What is unbound is called by what it is given first, whichever that is.)
    key = (f.__name__ if isinstance(f, Unbound) else id(f), layout, keys, words, outer)
    _, made = _taking.get(key, (None, None))
    if made is None:
        made = _taking_items(f, layout, keys, words)
        made.__dict__["gives_outer"] = outer
        _taking.put(key, (f, made))
    return made


def _length(items: Any) -> int:
    if isinstance(items, (list, tuple, np.ndarray)):
        return len(items)
    raise TypeError(
        f"what is unpacked in a call is a {type(items).__name__}: "
        "unpack a list, a tuple or an array"
    )


def is_word(text: str) -> bool:
    """Whether `text=` may stand before an argument.

    >>> is_word("rate"), is_word("lambda")
    (True, False)
    """
    return text.isidentifier() and not keyword.iskeyword(text)


def _require_words(names: Iterable[str]) -> None:
    """Check that `name=` may stand before an argument, for what is unpacked from a dict."""
    for name in names:
        if not is_word(name):
            raise TypeError(
                f"an argument has the name {name!r}, which no parameter can have: give the "
                "function the dict itself, as `f(x, options)`"
            )


def position_name(place: int, words: Sequence[str]) -> str:
    """What an argument by position is called where others have these names.

    >>> position_name(0, ["tol"]), position_name(0, ["x0"])
    ('x0', '_x0')
    """
    name = f"x{place}"
    while name in words:
        name = f"_{name}"
    return name


def _taking_items(
    f: Any, layout: tuple[int | None, ...], keys: tuple[str, ...] | None, words: tuple[str, ...]
) -> types.FunctionType:
    """`def f_of(x0, x1): return f(x0, x1[0], x1[1])`, with its source."""
    _require_words(keys or ())
    params = [position_name(i, words) for i in range(len(layout) + (keys is not None))]
    parts = []
    for param, length in zip(params, layout, strict=False):
        parts += [param] if length is None else [f"{param}[{i}]" for i in range(length)]
    parts += [f"{word}={params[-1]}[{word!r}]" for word in keys or ()]
    parts += [f"{word}={word}" for word in words]
    name = getattr(f, "__name__", "function")
    for word in {*words}.intersection(keys or ()):
        raise TypeError(f"{name}() got multiple values for keyword argument {word!r}")
    name = name if name.isidentifier() else "function"
    own = f"_{name}" if name in (*params, *words) else name
    header = ", ".join([*params, *(["*"] if words else []), *words])
    if isinstance(f, Unbound):
        method = parts[0] if name == "__call__" else f"{parts[0]}.{name}"
        return _with_source(own.strip("_"), header, parts[1:], {}, method)
    return _with_source(own, header, parts, {own: f})


def derivative_of(operator: Any, f: Any, *options: Any, **named: Any) -> Any:
    """What an operator (`tl.grad`) gives of a function that only the running program knows."""
    return operator(f, *options, **named)


def jvp_of(operator: Any, f: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """`tl.jvp(f, primals, tangents)` as a function of these two tuples."""
    moved = tuple(dot is not None for dot in tangents)
    key = (id(operator), id(f), len(primals), moved)
    _, made = _taking.get(key, (None, None))
    if made is None:
        plain = (None,) * len(primals)
        named = f if isinstance(f, types.FunctionType) else _taking_items(f, plain, None, ())
        given = "".join(f"x0[{i}], " for i in range(len(primals)))
        dots = "".join(f"x1[{i}], " if moves else "None, " for i, moves in enumerate(moved))
        passed = ["_f", f"({given})", f"({dots})"]
        made = _with_source("jvp", "x0, x1", passed, {"jvp": operator, "_f": named})
        _taking[key] = ((operator, f), made)
    return made


def plain_function(f: Any) -> Any:
    """`f` itself, a function among objects of known classes; raises TypeError for others."""
    if not isinstance(f, _FUNCTIONS):
        raise written_for("a function", f)
    return f


def _remembered(
    f: Any,
    count: int,
    wrt: tuple[Any, ...],
    words: tuple[str, ...],
    *how: Any,
) -> Any:
    derive, described = _derive[0]
    f = _with_its_object(f)
    method = isinstance(f, Method)
    bound = method and not isinstance(f, Unbound)
    what = (f.__name__, type(f), described(f.owner)) if method else (id(f),)
    key = (what, count, wrt, words, *how)
    _, (found, holds) = _made.get(key, (None, (None, _never)))
    if holds():
        return _given_owner(found, f.owner) if bound else found
    found, holds = derive(f, count, wrt, words, *how)
    by_id = isinstance(what[-1], int)
    _made.put(key, (f if by_id else None, (found, holds)))  # (so that its id stays its own)
    return _given_owner(found, f.owner) if bound else found


def _with_its_object(f: Any) -> Any:
    """A bound method as the method of its object, and that of a distribution of SciPy's with its
    parameters as a function that is given these.

    (What an object carries derivatives of, its methods do too, which is refused before.)
    """
    if isinstance(f, Unbound):
        return f
    owner = getattr(f, "owner" if isinstance(f, Method) else "__self__", None)
    called = owner if getattr(f, "__name__", None) == "__call__" else f
    if is_interpolant(called):
        return _of_interpolant(called)
    if owner is None or isinstance(owner, (type, types.ModuleType)):
        return f
    distribution = getattr(owner, "dist", None)
    if distribution is not None and type(owner).__module__.startswith("scipy.stats"):
        return _of_distribution(owner, f.__name__)
    if not isinstance(f, types.MethodType):
        return f
    found = getattr(type(owner), f.__name__, None)
    return Method(owner, f.__name__) if found is f.__func__ else f


def _of_interpolant(f: Any) -> Any:
    """A `CubicSpline` as `lambda x: evaluated(spline, x)`."""
    key = (id(f), "interpolant")
    _, made = _taking.get(key, (None, None))
    if made is None:
        named = {"evaluated": evaluated, "interpolant": f}
        made = _with_source("evaluated", "x0", ["interpolant", "x0"], named)
        _taking[key] = (f, made)
    return made


def _of_distribution(owner: Any, name: str) -> Any:
    """`stats.norm(0.0, scale=2.0).logpdf` as `lambda x: stats.norm.logpdf(x, 0.0, scale=2.0)`."""
    held = (owner, owner.args, owner.kwds)
    key = (*map(id, held), name)
    _, made = _taking.get(key, (None, None))
    if made is None:
        stats = sys.modules["scipy.stats"]
        method = getattr(getattr(stats, owner.dist.name), name)
        given = {f"a{i}": value for i, value in enumerate(owner.args)}
        words = {f"k_{word}": value for word, value in owner.kwds.items()}
        passed = ["x0", *given, *(f"{word}=k_{word}" for word in owner.kwds)]
        made = _with_source(name, "x0", passed, {name: method, **given, **words})
        _taking[key] = (held, made)
    return made


def _with_source(
    name: str, header: str, passed: list[str], namespace: dict[str, Any], called: str = ""
) -> types.FunctionType:
    """`def NAME_of(HEADER): return NAME(PASSED)`, with its source; or what is `called` instead."""
    text = f"def {name}_of({header}):\n    return {called or name}({', '.join(passed)})\n"
    file = f"<call {next(_count)} of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {**namespace, "__name__": "called"}
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[f"{name}_of"]
    return made


def _given_owner(made: Any, owner: Any) -> Any:
    """The derivative of a method, which has the object as its first argument, for one object (that
    of a class or of a ufunc is called by its name)."""
    if isinstance(owner, (type, np.ufunc)):
        return made
    if not isinstance(made, tuple):
        return functools.partial(made, owner)
    forward, backward = made
    return functools.partial(forward, owner), backward


def _never() -> bool:
    return False
