# for x: float[:], n: int
import numpy as np


def nested_grad(x, n):
    # primal
    s, saved = 0.0, []
    for i in range(n):
        for j in range(i + 1):
            t = x[i] * x[j]
            if t > 0.1:
                sin_t = np.sin(t)
                saved.append((sin_t, s))
                s = s + sin_t * s
            else:
                s = s - t
    # adjoint
    s_bar = 1.0                              # return s
    x_bar = np.zeros_like(x)
    for i in reversed(range(n)):
        for j in reversed(range(i + 1)):
            t = x[i] * x[j]
            if t > 0.1:
                sin_t, s = saved.pop()
                sin_t_bar = s_bar * s        # s = s + np.sin(t) * s
                s_bar += s_bar * sin_t
                t_bar = sin_t_bar * np.cos(t)
            else:
                t_bar = -s_bar               # s = s - t
            x_bar[j] += t_bar * x[i]         # t = x[i] * x[j]
            x_bar[i] += t_bar * x[j]
    return x_bar
