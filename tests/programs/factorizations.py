"""Matrix factorizations in place: Cholesky, LU with and without row swaps, Gram-Schmidt, QR."""

import numpy as np

from .registry import Program


def positive_definite(rng, n=4):
    b = rng.normal(size=(n, n))
    return (b @ b.T + n * np.eye(n),)


def cholesky_logdet(a):
    n = a.shape[0]
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
    s = 0.0
    for k in range(n):
        s += 2.0 * np.log(a[k, k])
    return s


def cholesky_by_columns(a):
    n = len(a)
    low = np.zeros_like(a)
    for j in range(n):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return np.sum(np.log(np.diag(low))) + low[n - 1, 0]


def lu_logdet(a):
    n = a.shape[0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def lu_outer(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diag(a)))) + a[-1, 0]


def solve_with_pivots(a, b):
    n = a.shape[0]
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x @ x


def lu_row_swaps(a):
    n = len(a)
    sign = 1.0
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
            sign = -sign
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    det = sign
    for k in range(n):
        det *= a[k, k]
    return det


def gauss_jordan_inverse(a):
    n = len(a)
    work = np.zeros((n, 2 * n))
    work[:, :n] = a
    for i in range(n):
        work[i, n + i] = 1.0
    for k in range(n):
        work[k] /= work[k, k]
        for i in range(n):
            if i != k:
                work[i] -= work[i, k] * work[k]
    inverse = work[:, n:]
    return np.sum(inverse * inverse)


def gram_schmidt(a):
    q = a.copy()
    for j in range(q.shape[1]):
        for i in range(j):
            q[:, j] -= (q[:, i] @ q[:, j]) * q[:, i]
        q[:, j] /= np.sqrt(np.sum(q[:, j] ** 2))
    return np.sum(q * np.arange(q.size).reshape(q.shape))


def gram_schmidt_rows(a):
    r = np.zeros((len(a), len(a)))
    for j in range(len(a)):
        row = a[j]
        for i in range(j):
            r[i, j] = a[i] @ row
            row -= r[i, j] * a[i]
        r[j, j] = np.sqrt(row @ row)
        row /= r[j, j]
    return np.sum(r[0] * r[:, -1]) + np.sum(np.log(np.diag(r)))


def householder(a):
    m, n = a.shape
    for k in range(n):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.sqrt(v @ v)
        v /= np.sqrt(v @ v)
        a[k:, k:] -= 2.0 * np.outer(v, v @ a[k:, k:])
    s = 0.0
    for k in range(n):
        s += np.log(abs(a[k, k]))
    return s


def half_logdet(a):
    return 0.5 * np.linalg.slogdet(a)[1] + np.linalg.cholesky(a)[-1, 0]


def log_abs_det(a):
    return np.linalg.slogdet(a)[1]


PROGRAMS = [
    Program(cholesky_logdet, positive_definite, oracle=lambda a: np.linalg.slogdet(a)[1]),
    Program(cholesky_by_columns, positive_definite, oracle=half_logdet),
    Program(lu_logdet, positive_definite, oracle=log_abs_det),
    Program(lu_outer, positive_definite),
    Program(
        solve_with_pivots,
        lambda rng: (rng.normal(size=(4, 4)), rng.normal(size=4)),
        (0, 1),
        oracle=lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
    ),
    Program(lu_row_swaps, lambda rng: (rng.normal(size=(4, 4)),), oracle=np.linalg.det),
    Program(
        gauss_jordan_inverse, positive_definite, oracle=lambda a: np.sum(np.linalg.inv(a) ** 2)
    ),
    Program(gram_schmidt, lambda rng: (rng.normal(size=(4, 3)),)),
    Program(gram_schmidt_rows, lambda rng: (rng.normal(size=(3, 4)),)),
    Program(
        householder,
        lambda rng: (rng.normal(size=(5, 3)),),
        oracle=lambda a: np.sum(np.log(np.abs(np.diag(np.linalg.qr(a)[1])))),
    ),
]
