from tangentlike.runtime import accumulate, add_at, scalar_seed, unbroadcast, zeros_like


def euler_fwd(y, h, steps, *, k):
    saved = []
    for _ in range(steps):
        product = h * (k * y)
        saved.append((product, y))
        y = y + product
    return y, (h, steps, k, saved)


def euler_bwd(tape, y_seed):
    h, steps, k, saved = tape
    y_bar = y_seed                           # return y
    k_bar = zeros_like(k)
    for product, y in reversed(saved):
        f_y_bar = unbroadcast(y_bar, product) * h  # y = y + h * f(y, *args, **options)
        k_bar += unbroadcast(f_y_bar * y, k)
        y_bar = unbroadcast(y_bar, y) + unbroadcast(f_y_bar * k, y)
    return k_bar


def seen_at_the_call_grad(a, x):
    # primal
    total = 0.0
    parts = (1.0, 2.0, a)
    saved = []
    for k in parts:
        euler_partial, euler_tape = euler_fwd(x, 0.1, 2, k=k)
        saved.append((euler_partial, euler_tape, total))
        total = total + euler_partial
    k = a * a
    partial2_x = k * x
    total2 = total + partial2_x
    euler_partial2, euler_tape2 = euler_fwd(x, 0.1, 1, k=k)
    # adjoint
    # return total + f(x) + euler(f, x, 0.1, 1)
    total3_bar = scalar_seed(total2 + euler_partial2)
    total2_bar = unbroadcast(total3_bar, total2)
    k_bar = euler_bwd(euler_tape2, unbroadcast(total3_bar, euler_partial2))
    total_bar = unbroadcast(total2_bar, total)
    k_bar = k_bar + unbroadcast(unbroadcast(total2_bar, partial2_x) * x, k)
    a_bar = 2.0 * k_bar * a                  # k = a * a
    parts_bar = zeros_like(parts)
    for i in reversed(range(len(parts))):
        euler_partial, euler_tape, total = saved.pop()
        # total = total + euler(f, x, 0.1, 2)
        euler_partial_bar = unbroadcast(total_bar, euler_partial)
        total_bar = unbroadcast(total_bar, total)
        k_bar = euler_bwd(euler_tape, euler_partial_bar)
        add_at(parts_bar, i, k_bar)
    return accumulate(a_bar, parts_bar[2])
