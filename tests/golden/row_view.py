from __future__ import annotations


def row_view_grad(m: np.ndarray, n: int):
    # primal
    m = m.copy()
    for i in range(n):
        row = m[i]
        row[1:] = row[:-1] * 0.5
    # adjoint
    m_bar = 2.0 * m                          # return np.sum(m * m)
    for i in reversed(range(n)):
        row_part_bar = 0.5 * m_bar[i][1:]    # row[1:] = row[:-1] * 0.5
        m_bar[i][1:] = 0.0
        m_bar[i][:-1] += row_part_bar
    return m_bar
