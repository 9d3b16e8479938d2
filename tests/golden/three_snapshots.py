import numpy as np
from tangentlike.runtime import matmul_bar_a, matmul_bar_b, unbroadcast, zeros_like
from tangentlike.runtime.schedules import moves_back, stretches


def three_snapshots_steps_fwd(w, h, xs, s, start, stop):
    saved = []
    for i2 in range(start, stop):
        i = i2
        x = xs[i2]
        z = np.tanh(w @ h + x)
        sin_h = np.sin(h)
        saved.append((z, sin_h, h))
        h = z * sin_h
        s = s + np.sum(h) * (i + 1.0)
    return (h, s), (w, start, stop, saved)


def three_snapshots_steps_bwd(tape, y_bar, w_bar):
    w, start, stop, saved = tape
    h_bar, s_bar = y_bar[0], y_bar[1]
    for i2 in reversed(range(start, stop)):
        z, sin_h, h = saved.pop()
        h_bar = h_bar + s_bar * (i2 + 1.0)   # s += np.sum(h) * (i + 1.0)
        z_bar = unbroadcast(h_bar * sin_h, z)  # h = z * np.sin(h)
        h_bar = unbroadcast(h_bar * z, sin_h) * np.cos(h)
        wh_bar = z_bar * (1.0 - z * z)       # z = np.tanh(w @ h + x)
        w_bar += matmul_bar_a(wh_bar, w, h)
        h_bar += matmul_bar_b(wh_bar, w, h)
    return h_bar, s_bar


def three_snapshots_steps(w, h, xs, s, start, stop):
    for i2 in range(start, stop):
        i = i2
        x = xs[i2]
        z = np.tanh(w @ h + x)
        h = z * np.sin(h)
        s = s + np.sum(h) * (i + 1.0)
    return h, s


def three_snapshots_loop_fwd(w, h, xs, s):
    rounds = len(xs)
    h_saved, s_saved = [], []
    for start, stop in stretches(rounds, snapshots=3):
        h_saved.append(h)
        s_saved.append(s)
        h, s = three_snapshots_steps(w, h, xs, s, start, stop)
    return (h, s), (w, xs, rounds, h_saved, s_saved)


def three_snapshots_loop_bwd(tape, state_bar):
    w, xs, rounds, h_saved, s_saved = tape
    h_bar, s_bar = state_bar
    w_bar = zeros_like(w)
    for keep, start, stop in moves_back(rounds, snapshots=3):
        if keep:
            h = h_saved[-1]
            s = s_saved[-1]
            h, s = three_snapshots_steps(w, h, xs, s, start, stop)
            h_saved.append(h)
            s_saved.append(s)
        else:
            h = h_saved.pop()
            s = s_saved.pop()
            (h, s), three_snapshots_steps_tape = three_snapshots_steps_fwd(
                w, h, xs, s, start, stop
            )
            h_bar, s_bar = three_snapshots_steps_bwd(
                three_snapshots_steps_tape, (h_bar, s_bar), w_bar
            )
    return w_bar


def three_snapshots_grad(w, h, xs):
    s = 0.0
    (h2, s2), three_snapshots_loop_tape = three_snapshots_loop_fwd(w, h, xs, s)
    return three_snapshots_loop_bwd(three_snapshots_loop_tape, (zeros_like(h2), 1.0))
