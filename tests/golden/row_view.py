from __future__ import annotations

from tangentlike.runtime import unbroadcast


def row_view_grad(m: np.ndarray, n: int):
    # primal
    m = m.copy()
    product_saved = []
    for i in range(n):
        row = m[i]
        product = row[:-1] * 0.5
        product_saved.append(product)
        row[1:] = product
    # adjoint
    m_bar = 2.0 * m                          # return np.sum(m * m)
    for i in reversed(range(n)):
        product = product_saved.pop()        # row[1:] = row[:-1] * 0.5
        product_bar = unbroadcast(m_bar[i][1:].copy(), product)
        m_bar[i][1:] = 0.0
        m_bar[i][:-1] += 0.5 * product_bar
    return m_bar
