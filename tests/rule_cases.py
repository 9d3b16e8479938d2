"""Calls with which the rules of NumPy's library functions are tested.

Plain data: each case is (operation, positional arguments, keyword arguments). Which
arguments are active follows from what they hold: float arrays and floats are, unless `check_active`
says which ones (an option of `check_rule`, not an argument of the operation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

Case = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def array(*shape: int, seed: int = 0) -> np.ndarray:
    """Values in general position: no ties, away from kinks, seeded."""
    return np.asarray(np.random.default_rng([seed, *shape]).uniform(0.2, 1.7, shape))


def signed(*shape: int, seed: int = 0) -> np.ndarray:
    """As `array`, of both signs."""
    rng = np.random.default_rng([seed, *shape, 1])
    return np.asarray(rng.uniform(0.2, 1.7, shape) * rng.choice([-1.0, 1.0], shape))


def spd(n: int, *stack: int) -> np.ndarray:
    """Symmetric positive definite matrices."""
    a = signed(*stack, n, n, seed=3)
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def holes(*shape: int) -> np.ndarray:
    """As `array`, some entries NaN."""
    a = array(*shape)
    a.flat[1::5] = np.nan
    return a


def zeros_inside(*shape: int, every: int = 4) -> np.ndarray:
    """As `signed`, some entries zero."""
    a = signed(*shape)
    a.flat[1::every] = 0.0
    return a


def _found(path: str) -> Callable[..., Any] | None:
    """A NumPy function by its path, None where this version lacks it."""
    found: Any = np
    for part in path.split("."):
        found = vars(found).get(part)
        if found is None:
            return None
    return found


def case(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Case:
    return op, args, kwargs


MASK = np.array([[True, False, True], [True, True, False]])

# The ways in which a reduction is called, on arrays of 0 to 4 dimensions.
AXES: list[tuple[np.ndarray, dict[str, Any]]] = [
    (signed(), {}),
    (signed(3), {}),
    (signed(2, 3), {}),
    (signed(2, 3), {"axis": 0}),
    (signed(2, 3), {"axis": 1}),
    (signed(2, 3), {"axis": -1, "keepdims": True}),
    (signed(2, 3), {"keepdims": True}),
    (signed(2, 3, 4), {"axis": 1}),
    (signed(2, 3, 4), {"axis": (0, 2)}),
    (signed(2, 3, 4), {"axis": (-1, 0), "keepdims": True}),
    (signed(2, 3, 2, 2), {"axis": (1, -1)}),
    (signed(2, 3, 2, 2), {"axis": -3}),
]

REDUCTIONS: list[Case] = [
    *[
        (op, (x,), options)
        for op in (np.sum, np.mean, np.prod, np.max, np.min)
        for x, options in AXES
    ],
    *[
        (op, (x,), options)
        for op in (np.var, np.std, np.median, np.ptp)
        for x, options in AXES
        if np.ndim(x) > 0
    ],
    *[case(op, signed(2, 3), axis=1) for op in (np.amax, np.amin)],
    *[case(op, signed(2, 3), axis=()) for op in (np.sum, np.mean, np.prod, np.max)],
    *[case(op, signed(2, 3), where=MASK) for op in (np.sum, np.mean, np.prod)],
    *[case(op, signed(2, 3), axis=1, where=MASK) for op in (np.sum, np.mean, np.var, np.std)],
    case(np.sum, signed(2, 3), dtype=np.float64),
    case(np.sum, signed(2, 3), axis=1, initial=2.0),
    case(np.mean, signed(2, 3), axis=0, dtype=np.float64),
    case(np.prod, signed(3), initial=2.0),
    case(np.max, signed(2, 3), axis=1, initial=-9.0, where=MASK),
    case(np.max, signed(3), initial=9.0),
    *[case(op, array(2, 3), axis=1, ddof=1) for op in (np.var, np.std)],
    *[case(np.prod, zeros_inside(2, 4), axis=axis) for axis in (None, 0, 1)],
    case(np.prod, zeros_inside(3, 3, every=2), axis=1),
    case(np.average, signed(2, 3)),
    case(np.average, signed(2, 3), axis=1),
    case(np.average, signed(2, 3), 0, array(2)),
    case(np.average, signed(2, 3), 1, array(3)),
    case(np.average, signed(2, 3), None, array(2, 3)),
    case(np.average, signed(2, 3), -1, array(2, 3)),
    *[case(op, holes(2, 4)) for op in (np.nansum, np.nanmean, np.nanmax, np.nanmin)],
    *[case(op, 0.3) for op in (np.nansum, np.nanmean)],
    *[case(op, holes(2, 4), axis=1) for op in (np.nansum, np.nanmean, np.nanmax, np.nanprod)],
    *[case(op, holes(3, 4), axis=0) for op in (np.nanvar, np.nanstd, np.nanmedian)],
    *[case(op, holes(3, 4)) for op in (np.nanvar, np.nanstd, np.nanprod, np.nanmedian)],
    case(np.nanmean, holes(3, 4), axis=1, keepdims=True),
    *[case(np.quantile, signed(5), q, check_active=(0,)) for q in (0.3, 0.0, 1.0)],
    case(np.quantile, signed(2, 5), 0.3, 1, check_active=(0,)),
    case(np.quantile, signed(2, 5), 0.3, axis=(0, 1), keepdims=True, check_active=(0,)),
    case(np.quantile, signed(3, 4), [0.2, 0.7], axis=0, check_active=(0,)),
    case(np.quantile, signed(5), 0.3, method="nearest", check_active=(0,)),
    case(np.quantile, signed(5), 0.3, method="median_unbiased", check_active=(0,)),
    case(np.percentile, signed(2, 5), 30.0, axis=1, check_active=(0,)),
    case(np.nanquantile, holes(2, 5), 0.3, axis=1, check_active=(0,)),
    case(np.nanpercentile, holes(2, 5), 40.0, check_active=(0,)),
]

CUMULATIVE: list[Case] = [
    *[
        case(op, x, **options)
        for op in (np.cumsum, np.cumprod)
        for x, options in (
            (signed(4), {}),
            (signed(2, 3), {}),
            (signed(2, 3), {"axis": 0}),
            (signed(2, 3, 2), {"axis": -2}),
        )
    ],
    case(np.cumprod, zeros_inside(5, every=2)),
    case(np.cumprod, zeros_inside(2, 4), axis=1),
    case(np.nancumsum, holes(2, 4), axis=1),
    case(np.nancumprod, holes(2, 4)),
    case(np.diff, signed(5)),
    case(np.diff, signed(3, 4), n=2),
    case(np.diff, signed(3, 4), axis=0),
    case(np.ediff1d, signed(5)),
    case(np.gradient, signed(5)),
    case(np.gradient, signed(5), 0.5),
    case(
        np.gradient,
        signed(7),
        np.array([0.0, 0.3, 1.0, 1.2, 2.0, 2.5, 4.0]),
        edge_order=2,
    ),
    case(np.gradient, signed(3, 4), np.array([0.0, 0.3, 1.0, 1.2]), axis=-1),
    case(np.gradient, signed(3, 4), axis=1),
    case(np.gradient, signed(9, 4), axis=0, edge_order=2),
    case(np.interp, array(4), np.array([0.0, 0.5, 1.0, 2.0]), signed(4)),
    case(np.interp, 0.7, np.array([0.0, 0.5, 1.0, 2.0]), signed(4)),
    case(np.interp, np.array([-1.0, 0.25, 3.0]), np.array([0.0, 0.5, 1.0, 2.0]), signed(4)),
    case(np.histogram, np.array([0, 1, 1, 2, 4]), 3, None, None, signed(5)),
    case(np.bincount, np.array([0, 2, 2, 1]), signed(4), 5),
    *[case(np.corrcoef, x) for x in (signed(2, 5), signed(3, 4))],
    case(np.corrcoef, signed(5, 2), rowvar=False),
    case(np.cov, signed(2, 5)),
    case(np.cov, signed(5)),
    case(np.cov, signed(5, 2), rowvar=False, bias=True),
    case(np.cov, signed(2, 5), ddof=0),
]

SHAPES: list[Case] = [
    case(np.reshape, signed(2, 6), (3, 4)),
    case(np.reshape, signed(2, 6), -1),
    case(np.reshape, signed(2, 6), (3, 4), "F"),
    case(np.reshape, signed(), (1, 1)),
    *[case(np.ravel, x) for x in (signed(), signed(3), signed(2, 3))],
    case(np.ravel, signed(2, 3), "F"),
    *[case(np.transpose, x) for x in (signed(3), signed(2, 3), signed(2, 3, 4))],
    case(np.transpose, signed(2, 3, 4), (2, 0, 1)),
    case(np.transpose, signed(2, 3, 4), (-1, 0, 1)),
    case(np.swapaxes, signed(2, 3, 4), 0, -1),
    case(np.moveaxis, signed(2, 3, 4), 0, -1),
    case(np.moveaxis, signed(2, 3, 4), (0, 1), (-1, 0)),
    case(np.rollaxis, signed(2, 3, 4), 2),
    case(np.rollaxis, signed(2, 3, 4), 0, 3),
    case(np.rollaxis, signed(2, 3, 4), 2, 1),
    case(np.squeeze, signed(1, 3, 1)),
    case(np.squeeze, signed(1, 3, 1), axis=0),
    case(np.expand_dims, signed(2, 3), 1),
    case(np.expand_dims, signed(2, 3), (0, -1)),
    case(np.broadcast_to, signed(3), (2, 3)),
    case(np.broadcast_to, signed(2, 1), (4, 2, 3)),
    *[
        case(op, x)
        for op in (np.atleast_1d, np.atleast_2d, np.atleast_3d)
        for x in (signed(), signed(3), signed(2, 3), signed(2, 2, 2))
    ],
    *[case(np.tile, signed(2, 3), reps) for reps in (2, (2, 2), (2, 1, 2), (2, 1, 1, 1))],
    case(np.tile, signed(3), (2, 2)),
    case(np.repeat, signed(2, 3), 2),
    case(np.repeat, signed(2, 3), 2, axis=1),
    case(np.repeat, signed(3), np.array([1, 0, 2])),
    case(np.repeat, signed(2, 3), np.array([1, 0, 2]), axis=1),
    *[case(np.flip, signed(2, 3), axis) for axis in (None, 0, -1, (0, 1))],
    case(np.fliplr, signed(2, 3)),
    case(np.flipud, signed(2, 3)),
    *[case(np.rot90, signed(2, 3), k) for k in (1, 2, 3, -1)],
    case(np.rot90, signed(2, 3, 2), 1, (1, 2)),
    case(np.roll, signed(5), 2),
    case(np.roll, signed(2, 3), 1, axis=1),
    case(np.roll, signed(2, 3), (1, 2), axis=(0, 1)),
    case(np.pad, signed(3), (1, 2)),
    case(np.pad, signed(2, 3), 1, constant_values=2.0),
    case(np.pad, signed(2, 3), ((1, 0), (2, 3))),
    *[
        case(np.pad, signed(3, 4), ((1, 2), (0, 1)), mode=m)
        for m in ("edge", "reflect", "symmetric", "wrap")
    ],
    case(np.delete, signed(5), 1),
    case(np.delete, signed(2, 3), [0, 2], axis=1),
    case(np.delete, signed(2, 3), 4),
    case(np.append, signed(2, 3), signed(2)),
    case(np.append, signed(2, 3), signed(1, 3), axis=0),
    case(np.insert, signed(4), 1, 0.5),
    case(np.insert, signed(4), [1, 3], signed(2)),
    case(np.insert, signed(2, 3), 1, signed(2), axis=1),
    case(np.insert, signed(2, 3), 1, signed(3), axis=0),
    case(np.insert, signed(3), [0, 2, 1, 1], signed(4)),
    case(np.insert, signed(2, 3), [2, 0], signed(2, 2), axis=-1),
    case(np.insert, signed(4), [1], signed(3)),
    case(np.insert, signed(4), 1, signed(3)),
    case(np.insert, signed(2, 3), slice(0, 2), signed(2, 2), axis=1),
    case(np.resize, signed(2, 2), (2, 3)),
    case(np.trim_zeros, signed(4)),
    case(np.copy, signed(2, 3)),
    case(np.diag, signed(3)),
    case(np.diag, signed(3), 1),
    case(np.diag, signed(3, 4)),
    case(np.diag, signed(3, 4), -1),
    case(np.diagflat, signed(2, 2), 1),
    case(np.diagonal, signed(3, 4)),
    case(np.diagonal, signed(3, 4), 1),
    case(np.diagonal, signed(2, 3, 3), 0, 1, 2),
    case(np.diagonal, signed(2, 3, 4), -1, -1, 0),
    case(np.trace, signed(3, 4)),
    case(np.trace, signed(3, 4), 1),
    case(np.trace, signed(2, 3, 3), 0, 1, 2),
    *[case(op, signed(3, 4), k) for op in (np.tril, np.triu) for k in (0, 1, -1)],
    case(np.tril, signed(2, 3, 3)),
    *[case(op, signed(3)) for op in (np.tril, np.triu)],
    case(np.require, signed(2, 3)),
]

# Functions of a sequence of arrays; the sequence is a list or a tuple.
JOINS: list[Case] = [
    case(np.concatenate, [signed(2), signed(3)]),
    case(np.concatenate, (signed(2, 3), signed(2, 1)), axis=1),
    case(np.concatenate, [signed(2, 3), signed(1, 3)], axis=-2),
    case(np.concatenate, [signed(2, 3), signed(2)], axis=None),
    case(np.stack, [signed(3), signed(3, seed=1)]),
    case(np.stack, [signed(2, 3), signed(2, 3, seed=1)], axis=-1),
    case(np.vstack, [signed(3), signed(2, 3)]),
    case(np.hstack, [signed(3), signed(2)]),
    case(np.hstack, [signed(2, 3), signed(2, 1)]),
    case(np.dstack, [signed(3), signed(3, seed=1)]),
    case(np.dstack, [signed(2, 3, 1), signed(2, 3)]),
    case(np.column_stack, [signed(3), signed(3, 2)]),
    case(np.block, [signed(2), signed(3)]),
    case(np.block, [[signed(2, 2), signed(2, 1)], [signed(1, 2), signed(1, 1)]]),
    case(np.array, [signed(3), signed(3, seed=1)]),
    case(np.array, [0.5, 1.5]),
    case(np.linalg.multi_dot, [signed(2, 3), signed(3, 4), signed(4, 2)]),
    case(np.linalg.multi_dot, [signed(3), signed(3, 4), signed(4)]),
]

PRODUCTS: list[Case] = [
    *[
        case(op, signed(*m), signed(*n, seed=1))
        for op in (np.matmul, np.dot)
        for m, n in (((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((2, 3), (3, 4)))
    ],
    *[
        case(np.matmul, signed(*m), signed(*n, seed=1))
        for m, n in (
            ((5, 2, 3), (3,)),
            ((3,), (5, 3, 2)),
            ((5, 2, 3), (3, 2)),
            ((2, 3), (5, 3, 2)),
            ((4, 1, 2, 3), (5, 3, 2)),
        )
    ],
    *[
        case(op, signed(*m), signed(*n, seed=1))
        for op in (np.dot, np.inner)
        for m, n in (((), ()), ((), (3,)), ((2, 3), ()))
    ],
    case(np.dot, signed(2, 4, 3), signed(3)),
    case(np.dot, signed(2, 3), signed(4, 3, 2)),
    case(np.dot, signed(2, 2, 3), signed(4, 3, 2)),
    case(np.inner, signed(3), signed(3, seed=1)),
    case(np.inner, signed(2, 3), signed(4, 3)),
    case(np.inner, signed(3), signed(4, 3)),
    case(np.inner, signed(2, 2, 3), signed(4, 3)),
    case(np.outer, signed(2), signed(3)),
    case(np.outer, signed(2, 2), signed(3)),
    case(np.vdot, signed(3), signed(3, seed=1)),
    case(np.vdot, signed(2, 3), signed(2, 3, seed=1)),
    case(np.tensordot, signed(2, 3, 4), signed(3, 4, 5)),
    case(np.tensordot, signed(2, 3), signed(3, 4), 1),
    case(np.tensordot, signed(2), signed(3), 0),
    case(np.tensordot, signed(2, 3, 4), signed(4, 5, 3), ((1, 2), (2, 0))),
    case(np.tensordot, signed(2, 3, 4), signed(5, 3), ([1], [1])),
    case(np.tensordot, signed(2, 3), signed(4, 3), (1, 1)),
    case(np.kron, signed(2), signed(3)),
    case(np.kron, signed(2, 3), signed(2, 2)),
    case(np.kron, signed(2), signed(2, 2)),
    case(np.cross, signed(3), signed(3, seed=1)),
    case(np.cross, signed(4, 3), signed(3)),
    case(np.cross, signed(3, 2), signed(3, 2, seed=1), axis=0),
    *[case(np.convolve, signed(5), signed(3), mode=m) for m in ("full", "same", "valid")],
    *[case(np.convolve, signed(2), signed(4), mode=m) for m in ("full", "same", "valid")],
    *[case(np.correlate, signed(5), signed(3), mode=m) for m in ("full", "same", "valid")],
    *[case(np.correlate, signed(5), signed(4), mode=m) for m in ("full", "same", "valid")],
    *[case(np.correlate, signed(2), signed(4), mode=m) for m in ("full", "same", "valid")],
    *[case(np.correlate, signed(3), signed(4), mode=m) for m in ("full", "same", "valid")],
    case(np.polyval, signed(4), signed(3)),
    case(np.polyval, signed(4), 0.7),
    case(np.polyval, signed(4), signed(2, 2)),
    case(np.polyder, signed(4)),
    case(np.polyder, signed(5), 2),
    *[case(np.polyint, signed(4), m) for m in (1, 2)],
    case(np.polyfit, np.array([0.0, 0.4, 1.0, 1.3, 2.0]), signed(5), 2, check_active=(1,)),
    case(np.polyfit, np.arange(5.0), signed(5), 1, w=array(5), check_active=(1,)),
    *[case(op, signed(4), signed(2)) for op in (np.polyadd, np.polysub, np.polymul)],
    *[case(op, signed(2), signed(4)) for op in (np.polyadd, np.polysub, np.polymul)],
    case(np.vander, array(3)),
    case(np.vander, array(3), 4, increasing=True),
]

EINSUMS: list[Case] = [
    case(np.einsum, text, *(signed(*shape, seed=i) for i, shape in enumerate(shapes)))
    for text, shapes in (
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("i,i->", [(3,), (3,)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij,j->i", [(2, 3), (3,)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (4, 2)]),
        ("...i,...i", [(2, 3), (3,)]),
        ("i...,i->...", [(3, 2), (3,)]),
        ("ij, ij -> i", [(2, 3), (2, 3)]),
        ("ij,ij->ij", [(1, 3), (1, 3)]),
        ("i,jj->i", [(2,), (3, 3)]),
    )
]

LINALG: list[Case] = [
    case(np.linalg.solve, spd(3), signed(3)),
    case(np.linalg.solve, spd(3), signed(3, 2)),
    case(np.linalg.solve, spd(3, 2), signed(2, 3, 2)),
    case(np.linalg.solve, spd(3), signed(2, 3, 2)),
    *[case(np.linalg.inv, a) for a in (spd(3), spd(2, 2))],
    *[case(scipy.linalg.inv, spd(3)), case(scipy.linalg.det, signed(3, 3))],
    *[case(np.linalg.det, a) for a in (spd(3), signed(3, 3), signed(2, 3, 3), signed(1, 1))],
    *[case(np.linalg.pinv, a) for a in (signed(3, 3), signed(4, 2), signed(2, 4), signed(2, 3, 2))],
    *[case(np.linalg.matrix_power, spd(3), n) for n in (0, 1, 2, 3, -1, -2)],
    case(np.linalg.matrix_power, spd(2, 2), 2),
    case(np.linalg.tensorsolve, signed(2, 3, 6), signed(2, 3)),
    *[case(np.linalg.norm, x) for x in (signed(3), signed(2, 3), signed(2, 3, 2))],
    *[case(np.linalg.norm, signed(3), ord=p) for p in (1, 2, 3, np.inf, -np.inf, 0.5)],
    *[case(np.linalg.norm, signed(2, 3), ord=p) for p in ("fro", "nuc", 1, -1, 2, -2)],
    *[case(np.linalg.norm, signed(2, 3), ord=p) for p in (np.inf, -np.inf)],
    *[case(np.linalg.norm, signed(2, 3), axis=axis) for axis in (0, 1, -1, (0, 1))],
    case(np.linalg.norm, signed(2, 3), axis=1, keepdims=True),
    case(np.linalg.norm, signed(2, 3), axis=0, ord=1),
    case(np.linalg.norm, signed(2, 3, 4), axis=(0, 2), ord="nuc"),
    case(np.linalg.norm, signed(2, 3, 4), axis=(2, 1), ord=1),
    *[case(np.linalg.cond, a) for a in (signed(3, 3), signed(2, 3, 3))],
]

INDEXING: list[Case] = [
    case(np.take, signed(4), np.array([0, 2, 2, -1])),
    case(np.take, signed(4), 2),
    case(np.take, signed(3, 4), np.array([[0, 5], [5, 11]])),
    case(np.take, signed(3, 4), np.array([0, 2, 2]), axis=1),
    case(np.take, signed(3, 4), 1, axis=0),
    case(np.take, signed(3, 4), np.array([[0, 2], [1, 1]]), axis=-1),
    case(np.take, signed(4), np.array([1, 9]), mode="clip"),
    case(np.take, signed(4), np.array([1, 9]), mode="wrap"),
    case(np.take_along_axis, signed(2, 3), np.array([[0, 2, 2, 1], [1, 1, 0, 0]]), 1),
    case(np.take_along_axis, signed(2, 3), np.array([[0, 1, 1]]), 0),
    case(np.take_along_axis, signed(2, 3), np.array([0, 5, 5]), None),
    case(np.compress, np.array([True, False, True]), signed(2, 3), axis=1),
    case(np.compress, np.array([True, False, True]), signed(2, 3)),
    case(np.extract, MASK, signed(2, 3)),
    case(np.where, MASK, signed(2, 3), signed(2, 3, seed=1)),
    case(np.where, MASK, signed(3), 0.5),
    case(np.where, MASK[0], signed(3), signed(2, 3)),
    case(np.where, MASK, signed(2, 1), 0.0),
    case(np.sort, signed(4)),
    *[case(np.sort, signed(3, 4), axis=axis) for axis in (0, -1, None)],
    case(np.partition, signed(6), 2),
    case(np.partition, signed(3, 6), 2, axis=0),
    case(np.unique, np.array([0.5, 1.5, 0.5, 1.0])[[0, 1, 3]]),
]

UFUNC_METHODS: list[Case] = [
    *[
        case(op, signed(3, 4), **options)
        for op in (np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce)
        for options in ({}, {"axis": 1}, {"axis": None})
    ],
    *[
        case(op, signed(3, 4), **options)
        for op in (np.add.accumulate, np.multiply.accumulate, np.maximum.accumulate)
        for options in ({}, {"axis": 1})
    ],
    case(np.minimum.accumulate, signed(6)),
    case(np.add.reduceat, signed(6), [0, 3, 1, 5]),
    case(np.add.reduceat, signed(3, 4), [0, 2], axis=1),
    *[
        case(op, signed(*m), signed(*n, seed=1))
        for op in (np.multiply.outer, np.add.outer, np.subtract.outer)
        for m, n in (((2,), (3,)), ((2, 3), (4,)), ((3,), (2, 2)))
    ],
]

CREATION: list[Case] = [
    case(np.full, (2, 3), 0.5),
    case(np.full, (2, 3), signed(3)),
    case(np.full_like, signed(2, 3), 0.5),
    case(np.linspace, 0.5, 2.5, 4),
    case(np.linspace, signed(2), signed(2, seed=1), 3),
    case(np.linspace, signed(2), 0.5, 3, endpoint=False, axis=-1),
    case(np.logspace, 0.5, 1.5, 4),
    case(np.geomspace, 0.5, 2.5, 4),
    case(np.arange, 0.5, 3.1, 1.0),
    case(np.asarray, signed(2, 3)),
    case(np.array, signed(2, 3)),
    case(np.ascontiguousarray, signed(2, 3)),
]

NEWER: list[Case] = [
    (op, args, kwargs)
    for path, args, kwargs in (
        ("permute_dims", (signed(2, 3, 4), (2, 0, 1)), {}),
        ("matrix_transpose", (signed(2, 3, 4),), {}),
        ("concat", ([signed(2), signed(3)],), {}),
        ("cumulative_sum", (signed(4),), {}),
        ("cumulative_prod", (signed(2, 3),), {"axis": 1}),
        ("trapezoid", (signed(5),), {}),
        ("trapezoid", (signed(2, 5), np.array([0.0, 0.5, 0.7, 1.5, 2.0])), {}),
        ("trapezoid", (signed(5, 2), signed(5, 2, seed=1)), {"axis": 0}),
        ("trapezoid", (signed(2, 5),), {"dx": 0.5}),
        ("vecdot", (signed(2, 3), signed(3)), {}),
        ("matvec", (signed(2, 3), signed(3)), {}),
        ("matvec", (signed(4, 2, 3), signed(3)), {}),
        ("vecmat", (signed(3), signed(3, 2)), {}),
        ("linalg.vector_norm", (signed(2, 3),), {}),
        ("linalg.vector_norm", (signed(2, 3),), {"axis": 1, "ord": 3}),
        ("linalg.matrix_norm", (signed(2, 3, 4),), {}),
        ("linalg.svdvals", (signed(3, 2),), {}),
        ("linalg.trace", (signed(2, 3, 3),), {}),
        ("linalg.diagonal", (signed(2, 3, 3),), {}),
        ("linalg.cross", (signed(4, 3), signed(4, 3, seed=1)), {}),
        ("linalg.outer", (signed(2), signed(3)), {}),
        ("linalg.tensordot", (signed(2, 3), signed(3, 4)), {"axes": 1}),
        ("linalg.matmul", (signed(2, 3), signed(3, 4)), {}),
        ("linalg.vecdot", (signed(3), signed(3, seed=1)), {}),
        ("linalg.matrix_transpose", (signed(2, 3),), {}),
    )
    if (op := _found(path)) is not None
]

TABLES: dict[str, list[Case]] = {
    "reductions": REDUCTIONS,
    "cumulative": CUMULATIVE,
    "shapes": SHAPES,
    "joins": JOINS,
    "products": PRODUCTS,
    "einsum": EINSUMS,
    "linalg": LINALG,
    "indexing": INDEXING,
    "ufunc methods": UFUNC_METHODS,
    "creation": CREATION,
    "newer": NEWER,
}


def title(entry: Case) -> str:
    """A case as a test's name: `sum(2x3, axis=0)`."""
    op, args, kwargs = entry
    given = [_short(arg) for arg in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()]
    return f"{op.__name__}({', '.join(given)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "x".join(map(str, value.shape)) or "0-d"
    if isinstance(value, list) and value and isinstance(value[0], (list, np.ndarray)):
        return "[" + ", ".join(map(_short, value)) + "]"
    return str(value)
