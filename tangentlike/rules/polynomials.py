"""Series of orthogonal polynomials, by Clenshaw's recurrence: programs (see `programs.py`).

With `p[k + 1](x) = slope(k, x) * p[k](x) + last(k) * p[k - 1](x)` and `p[0] = 1` the sum over
`c[k] * p[k](x)` is the `b[0]` of `b[k] = c[k] + slope(k, x) * b[k + 1] + last(k + 1) * b[k + 2]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _series(
    x: Any, c: Any, tensor: Any, slope: Callable[..., Any], last: Callable[..., Any]
) -> Any:
    terms = np.reshape(c, np.shape(c) + (1,) * (np.ndim(x) if tensor else 0))
    first = terms[-1] + np.zeros_like(x)
    second = np.zeros_like(first)
    for k in range(len(terms) - 2, -1, -1):
        next_first = terms[k] + slope(k, x) * first + last(k + 1) * second
        second = first
        first = next_first
    return first


def polyval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _monomial, _nothing)


def chebval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _chebyshev, _minus_one)


def legval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _legendre, _minus_share)


def hermval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _hermite, _minus_two_k)


def hermeval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _monomial, _minus_k)


def lagval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _series(x, c, tensor, _laguerre, _minus_share)


def _monomial(k: int, x: Any) -> Any:
    return x


def _chebyshev(k: int, x: Any) -> Any:
    return x if k == 0 else 2.0 * x


def _legendre(k: int, x: Any) -> Any:
    return (2.0 * k + 1.0) / (k + 1.0) * x


def _hermite(k: int, x: Any) -> Any:
    return 2.0 * x


def _laguerre(k: int, x: Any) -> Any:
    return (2.0 * k + 1.0 - x) / (k + 1.0)


def _nothing(k: int) -> float:
    return 0.0


def _minus_one(k: int) -> float:
    return -1.0


def _minus_share(k: int) -> float:
    return -k / (k + 1.0)


def _minus_two_k(k: int) -> float:
    return -2.0 * k


def _minus_k(k: int) -> float:
    return -float(k)
