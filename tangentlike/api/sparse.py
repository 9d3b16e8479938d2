"""Sparse Jacobians and Hessians from a few sweeps: columns (or rows) that do not meet share one.

The pattern is given, or found at the first call as the entries that are not zero there. Since
both may miss an entry, each call makes one sweep more along a direction of no special form: what
it gives must be the product with the sparse matrix.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, overload

import numpy as np

from ..dispatch.derivation import Derivation
from ..dispatch.derived import OPERATORS, encode
from ..errors import TangentlikeError
from ..frontend.primal import Wrt, primal_of, wrt_names
from ..pytree.gradients import from_vector, size_of, to_vector
from .calls import _complete, _derivation
from .handback import (
    HandedBack,
    Operator,
    SparseDerivative,
    SparseOf,
    SparseOptions,
    described_as,
    documented,
    hand_back,
)
from .jacobians import (
    OF_REAL,
    Forward,
    Remembered,
    Reverse,
    gradient_tangent,
    handed,
    inputs_for,
    refuse_unsuited,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = Callable[..., Any]
P = ParamSpec("P")
Product = Callable[[Any], Any]  # a vector to the product of the matrix (or its transpose) with it


@overload
def sparse_jacobian(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    sparsity: Any = None,
    mode: str = "auto",
    **options: Unpack[SparseOptions],
) -> SparseDerivative[P, Any]: ...
@overload
def sparse_jacobian(
    fn: None = None,
    wrt: Wrt = 0,
    sparsity: Any = None,
    mode: str = "auto",
    **options: Unpack[SparseOptions],
) -> SparseOf: ...
def sparse_jacobian(
    fn: Function | None = None,
    wrt: Wrt = 0,
    sparsity: Any = None,
    mode: str = "auto",
    *,
    check: bool = True,
    example: Any = None,
) -> Any:
    """The Jacobian as a SciPy sparse array, from one sweep for each colour of its columns or rows.

    Also a decorator.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them; its value may be an array.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives the columns of that, a tuple those of all, in order.
    sparsity : sparse or boolean matrix, optional
        Which entries may be other than zero; without it they are found by all sweeps at the
        first call.
    mode : {"auto", "forward", "reverse"}
        "forward" colours columns, "reverse" rows; "auto" takes what needs fewer sweeps.
    check : bool
        One sweep more at each call, which finds entries that the pattern misses: an error where it
        was given, found anew where it was not.
    example : tuple, optional
        Arguments like those it will be called with: their ranks and shapes make plainer source.

    Returns
    -------
    SparseDerivative
        A function that is called like `fn` and returns a `scipy.sparse` array of shape
        `(size of the value, size of the arguments)`, entries in order. `.plan()` says how many
        sweeps the latest call made.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `mode` is none of the three; when called, if an entry is missing from the
        given `sparsity`, or the value or an argument has no real floating entries.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> print(jacobian(np.array([1.0, 2.0, 3.0])).toarray(), jacobian.plan().sweeps)
    [[2. 1. 0.]
     [0. 3. 2.]] 2
    """
    if fn is None:
        return lambda f: sparse_jacobian(f, wrt, sparsity, mode, check=check, example=example)
    if mode not in ("auto", "forward", "reverse"):
        raise TangentlikeError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)

    def derive(sweep: str = "pair" if mode == "reverse" else "tangent") -> Derivation:
        return _derivation(primal, sweep, names, example=example)

    def point(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Point:
        return _JacobianAt(derive, mode, args, kwargs)

    options = {"wrt": names[0] if single else names, "mode": mode, "example": example}
    about = documented("sparse_jacobian", primal, names, single, example=example)
    operator = Operator("sparse_jacobian", primal, derive, about, exact=False)
    return _sparse(operator, point, sparsity, check, options, example)


@overload
def sparse_hessian(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    sparsity: Any = None,
    **options: Unpack[SparseOptions],
) -> SparseDerivative[P, Any]: ...
@overload
def sparse_hessian(
    fn: None = None,
    wrt: Wrt = 0,
    sparsity: Any = None,
    **options: Unpack[SparseOptions],
) -> SparseOf: ...
@described_as(sparse_jacobian)
def sparse_hessian(
    fn: Function | None = None,
    wrt: Wrt = 0,
    sparsity: Any = None,
    *,
    check: bool = True,
    example: Any = None,
) -> Any:
    """The Hessian as a SciPy sparse array, from one Hessian product for each colour.

    As `sparse_jacobian`, but since the matrix is symmetric fewer colours are enough (a star
    colouring): two for an arrow of any size. Also a decorator.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them that returns a real number.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives the rows and columns of that, a tuple those of all, in order.

    Returns
    -------
    SparseDerivative
        A function that is called like `fn` and returns a symmetric `scipy.sparse` array with a row
        and a column for each entry of the arguments. `.plan()` says how many products the
        latest call made.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        when called, if an entry is missing from the given `sparsity`, or an argument has no
        real floating entries.

    Examples
    --------
    >>> import numpy as np
    >>> hessian = sparse_hessian(lambda x: x[0] * np.sum(x * x))
    >>> print(hessian(np.array([1.0, 2.0, 3.0])).toarray(), hessian.plan().sweeps)
    [[6. 4. 6.]
     [4. 2. 0.]
     [6. 0. 2.]] 2
    """
    if fn is None:
        return lambda f: sparse_hessian(f, wrt, sparsity, check=check, example=example)
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)

    @Remembered
    def derive() -> Derivation:
        return gradient_tangent(primal, names, single, False, names, example=example)

    def point(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Point:
        return _HessianAt(derive(), single, args, kwargs)

    options = {"wrt": names[0] if single else names, "example": example}
    about = documented("sparse_hessian", primal, names, single, example=example)
    operator = Operator("sparse_hessian", primal, derive, about, exact=False)
    return _sparse(operator, point, sparsity, check, options, example)


@dataclass(frozen=True)
class Plan:
    """How a sparse matrix is computed: `sweeps` products in this mode, one for each colour."""

    mode: str
    colors: Any
    rows: Any = field(repr=False)
    columns: Any = field(repr=False)
    shape: tuple[int, int]

    @property
    def sweeps(self) -> int:
        return int(np.max(self.colors, initial=-1)) + 1

    def seeds(self) -> Iterator[Any]:
        for color in range(self.sweeps):
            yield (self.colors == color).astype(float)


def _sparse(
    operator: Operator,
    point: Callable[[tuple[Any, ...], dict[str, Any]], _Point],
    sparsity: Any,
    check: bool,
    options: dict[str, Any],
    example: Any,
) -> Any:
    """The function handed back, which remembers the plan of its latest call."""
    primal = operator.primal
    given = None if sparsity is None else _pattern(sparsity)
    latest: list[Plan] = []

    @HandedBack
    def matrix(*args: Any, **kwargs: Any) -> Any:
        here = point(*_complete(primal, args, kwargs))
        known = latest[0] if latest else None
        if known is None or (given is None and known.shape != here.shape):
            rows, columns, shape = given if given is not None else here.found()
            latest[:] = [here.plan(rows, columns, shape)]
        result = here.matrix(latest[0])
        missed = here.missed(result, latest[0]) if check else None
        if missed is not None and given is None:
            plan = latest[0]
            rows, columns, shape = here.found()
            rows, columns = (
                np.append(a, b) for a, b in ((rows, plan.rows), (columns, plan.columns))
            )
            latest[:] = [here.plan(rows, columns, shape)]
            result = here.matrix(latest[0])
            missed = here.missed(result, latest[0])
        if missed is not None:
            raise TangentlikeError(
                f"the derivative of {primal.name} has an entry in {missed} that the pattern in "
                "`sparsity` lacks",
                hint="Add it to the pattern, or leave out `sparsity`: then the pattern is found.",
            )
        return result

    def plan() -> Plan:
        """How the latest call was made."""
        if not latest:
            raise TangentlikeError("the plan is made at the first call", hint="Call it first.")
        return latest[0]

    matrix.plan = plan  # type: ignore[attr-defined]
    if given is None and check:
        qualname = encode(operator.name, primal.origin, **options)
        return handed(matrix, operator, qualname, primal.signature, example)
    qualname = encode(operator.name, primal.origin, sparsity="<pattern>", **options)
    return hand_back(matrix, operator, qualname, primal.signature)


def _pattern(sparsity: Any) -> tuple[Any, Any, tuple[int, int]]:
    found = _scipy_sparse().coo_array(sparsity)
    found.sum_duplicates()
    keep = found.data != 0
    return found.row[keep], found.col[keep], found.shape


def _scipy_sparse() -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise TangentlikeError(
            "sparse Jacobians need SciPy", hint="Install it: pip install scipy."
        ) from None
    return scipy.sparse


# ---------------------------------------------------------------------------- at a point


class _Point(ABC):
    """What the matrices of both sorts have in common: their shape, and products with vectors."""

    shape: tuple[int, int]

    @abstractmethod
    def product(self, mode: str) -> Product:
        """Multiplication with the matrix ("forward") or with its transpose ("reverse")."""

    @abstractmethod
    def cheaper(self) -> str:
        """The mode that finds all entries with fewer sweeps."""

    @abstractmethod
    def plan(self, rows: Any, columns: Any, shape: tuple[int, int]) -> Plan:
        """The colours for a pattern."""

    def found(self) -> tuple[Any, Any, tuple[int, int]]:
        """The entries that are not zero here, by a sweep for each column or for each row."""
        mode = self.cheaper()
        apply = self.product(mode)
        count = self.shape[1 if mode == "forward" else 0]
        hits = []
        for k in range(count):
            seed = np.zeros(count)
            seed[k] = 1.0
            hits.append(np.flatnonzero(apply(seed)))
        across = np.repeat(np.arange(count), [len(hit) for hit in hits])
        along = np.concatenate([np.zeros(0, int), *hits])
        return (along, across, self.shape) if mode == "forward" else (across, along, self.shape)

    def matrix(self, plan: Plan) -> Any:
        if plan.shape != self.shape:
            raise TangentlikeError(
                f"the pattern has shape {plan.shape}, and the matrix {self.shape}",
                hint="Rows are the entries of the value, columns those of the arguments.",
            )
        apply = self.product(plan.mode)
        products = [apply(seed) for seed in plan.seeds()]
        data = self.read(plan, np.array(products)) if products else np.zeros(0)
        made = _scipy_sparse().coo_array((data, (plan.rows, plan.columns)), plan.shape)
        return made.tocsr()

    def read(self, plan: Plan, products: Any) -> Any:
        """The entries of the matrix, each from the product where it is alone."""
        if plan.mode == "forward":
            return products[plan.colors[plan.columns], plan.rows]
        return products[plan.colors[plan.rows], plan.columns]

    def missed(self, matrix: Any, plan: Plan) -> str | None:
        """A row or column in which the matrix lacks an entry, by one more product."""
        if plan.mode == "reverse":
            matrix = matrix.T
        direction = np.random.default_rng(0).standard_normal(matrix.shape[1])
        found = self.product(plan.mode)(direction)
        size = abs(matrix) @ np.abs(direction) + np.abs(found)
        epsilon = float(np.finfo(found.dtype).eps)
        bound = np.maximum(epsilon**0.5 * size, 1e3 * epsilon * np.max(size, initial=0.0))
        wrong = np.flatnonzero(np.abs(matrix @ direction - found) > bound)
        return (
            None
            if len(wrong) == 0
            else f"{'column' if plan.mode == 'reverse' else 'row'} {wrong[0]}"
        )


class _JacobianAt(_Point):
    def __init__(
        self,
        derive: Callable[[str], Derivation],
        mode: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.mode = mode
        tangent = derive("tangent")
        self._inputs = inputs_for(tangent, args, kwargs)
        self._forward = Forward(tangent, args, kwargs)
        self._reverse: Callable[[], Reverse] = functools.cache(
            lambda: Reverse(derive("pair"), args, kwargs)
        )
        if mode == "forward":
            self._forward([None] * len(self._inputs))
            value = self._forward.value
        else:
            value = self._reverse().value
        refuse_unsuited(tangent.primal, "its value", value)
        self.shape = (size_of(value), size_of(self._inputs))

    def product(self, mode: str) -> Product:
        if mode == "forward":
            return lambda v: to_vector(self._forward(from_vector(self._inputs, v)))
        sweep = self._reverse()
        return lambda v: to_vector(sweep(from_vector(sweep.value, v)))

    def cheaper(self) -> str:
        if self.mode != "auto":
            return self.mode
        return "reverse" if self.shape[0] <= self.shape[1] else "forward"

    def plan(self, rows: Any, columns: Any, shape: tuple[int, int]) -> Plan:
        rows, columns = _sorted(rows, columns, shape)
        of_rows, of_columns = _lists(rows, columns, shape)
        best: Plan | None = None
        ways = {"forward": (of_columns, of_rows), "reverse": (of_rows, of_columns)}
        tried = sorted(ways, key=lambda mode: fewest_possible(ways[mode][1]))
        for mode in tried if self.mode == "auto" else [self.mode]:
            if best is None or best.sweeps > fewest_possible(ways[mode][1]):
                colors = np.array(column_colors(*ways[mode]), int)
                made = Plan(mode, colors, rows, columns, shape)
                best = made if best is None or made.sweeps < best.sweeps else best
        assert best is not None
        return best


class _HessianAt(_Point):
    def __init__(
        self,
        derivation: Derivation,
        single: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        inputs = inputs_for(derivation.specialized_for(args, kwargs), args, kwargs, OF_REAL)
        like = inputs[0] if single else tuple(inputs)
        self._inputs = inputs
        self._forward = Forward(derivation, args, kwargs, like=like)
        self.shape = (size_of(inputs), size_of(inputs))

    def product(self, mode: str) -> Product:
        return lambda v: to_vector(self._forward(from_vector(self._inputs, v)))

    def cheaper(self) -> str:
        return "forward"

    def plan(self, rows: Any, columns: Any, shape: tuple[int, int]) -> Plan:
        rows, columns = np.append(rows, columns), np.append(columns, rows)
        rows, columns = _sorted(rows, columns, shape)
        off = rows != columns
        neighbors, _ = _lists(rows[off], columns[off], shape)
        return Plan("forward", np.array(star_colors(neighbors), int), rows, columns, shape)

    def read(self, plan: Plan, products: Any) -> Any:
        """H[i, j] where j is the only column of its colour in row i, else H[j, i]."""
        own = plan.rows * max(plan.sweeps, 1) + plan.colors[plan.columns]
        _, where, counts = np.unique(own, return_inverse=True, return_counts=True)
        alone = counts[where] == 1
        rows = np.where(alone, plan.rows, plan.columns)
        columns = np.where(alone, plan.columns, plan.rows)
        return products[plan.colors[columns], rows]


def _sorted(rows: Any, columns: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Entries by row and column, each once."""
    flat = np.unique(np.asarray(rows, int) * shape[1] + np.asarray(columns, int))
    return flat // max(shape[1], 1), flat % max(shape[1], 1)


def _lists(rows: Any, columns: Any, shape: tuple[int, int]) -> tuple[list[Any], list[Any]]:
    """The columns of each row, and the rows of each column."""
    of_rows: list[list[int]] = [[] for _ in range(shape[0])]
    of_columns: list[list[int]] = [[] for _ in range(shape[1])]
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        of_rows[i].append(j)
        of_columns[j].append(i)
    return of_rows, of_columns


OPERATORS.update(sparse_jacobian=sparse_jacobian, sparse_hessian=sparse_hessian)


# --------------------------------------------------------------------------------------------------
# Groups of columns that one sweep can tell apart: graph colouring for sparse Jacobians.
#
# Columns that share no row may be summed in one product with the Jacobian (Curtis, Powell and
# Reid 1974); columns of a symmetric matrix that form a star colouring may, too, since one of
# H[i, j] and H[j, i] is then alone in its place (Coleman and More 1984; the colourings are
# surveyed by Gebremedhin, Manne and Pothen 2005). Both are found greedily.

Rows = Sequence[Any]  # for each row (or column) the indices of its entries


def column_colors(of_columns: Rows, of_rows: Rows) -> list[int]:
    """A colour for each column, different for any two with an entry in the same row.

    `of_columns` has the rows of each column, `of_rows` the columns of each row.

    >>> tridiagonal = [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    >>> column_colors(tridiagonal, tridiagonal)
    [0, 1, 2, 0]
    """
    counts = [len(rows) for rows in of_columns]
    orders = [range(len(counts)), sorted(range(len(counts)), key=lambda j: -counts[j])]
    found = [_greedy(of_columns, len(of_rows), order) for order in orders]
    return min(found, key=lambda colors: max(colors, default=-1))


def _greedy(of_columns: Rows, rows: int, order: Iterable[int]) -> list[int]:
    used: list[set[int]] = [set() for _ in range(rows)]
    colors = [0] * len(of_columns)
    for column in order:
        taken = set().union(*(used[row] for row in of_columns[column]))
        color = _first_free(taken)
        colors[column] = color
        for row in of_columns[column]:
            used[row].add(color)
    return colors


def fewest_possible(of_rows: Rows) -> int:
    """The columns of one row all need colours of their own."""
    return max((len(columns) for columns in of_rows), default=0)


def star_colors(neighbors: Rows) -> list[int]:
    """A colour for each column of a symmetric pattern: neighbours differ, and every path of four
    has three colours or more.

    `neighbors` has for each column the other columns in whose row it has an entry.

    >>> star_colors([[1, 2, 3], [0], [0], [0]])
    [0, 1, 1, 1]
    """
    counts = [len(others) for others in neighbors]
    orders = [range(len(counts)), sorted(range(len(counts)), key=lambda j: -counts[j])]
    found = [_greedy_star(neighbors, order) for order in orders]
    return min(found, key=lambda colors: max(colors, default=-1))


def _greedy_star(neighbors: Rows, order: Iterable[int]) -> list[int]:
    """Colour one node after the other with the first colour that closes no path of two colours."""
    colors = [-1] * len(neighbors)
    for v in order:
        near = [colors[w] for w in neighbors[v]]
        taken = {color for color in near if color >= 0}
        for w in neighbors[v]:
            # With v between, or w without a colour as yet, nothing two away may look like v.
            strict = colors[w] < 0 or near.count(colors[w]) > 1
            for x in neighbors[w]:
                if x == v or colors[x] < 0 or colors[x] in taken:
                    continue
                if strict or any(y != w and colors[y] == colors[w] for y in neighbors[x]):
                    taken.add(colors[x])
        colors[v] = _first_free(taken)
    return colors


def _first_free(taken: set[int]) -> int:
    color = 0
    while color in taken:
        color += 1
    return color
