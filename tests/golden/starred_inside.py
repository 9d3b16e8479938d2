from tangentlike.runtime import (
    accumulate, scalar_seed, sum_items_bar, unbroadcast, zeros_like,
)


def f_fwd(ts_0, ts_1, *, scale=None):
    ts = (ts_0, ts_1)
    options = {}
    sum_ts = sum(ts)
    product = sum_ts * scale
    get_options = options.get('extra', 1.0)
    return product * get_options, (scale, ts, sum_ts, product, get_options)


def f_bwd(tape, product2_seed):
    scale, ts, sum_ts, product, get_options = tape
    # return sum(ts) * scale * options.get("extra", 1.0)
    product_bar = unbroadcast(product2_seed * get_options, product)
    ts_bar = sum_items_bar(unbroadcast(product_bar * scale, sum_ts), ts)
    return ts_bar[1], unbroadcast(product_bar * sum_ts, scale)


def f_fwd2(ts_0, *, scale=None, extra):
    ts = (ts_0,)
    options = {'extra': extra}
    sum_ts = sum(ts)
    product = sum_ts * scale
    get_options = options.get('extra', 1.0)
    return product * get_options, (scale, sum_ts, product, get_options)


def f_bwd2(tape, product2_seed):
    scale, sum_ts, product, get_options = tape
    # return sum(ts) * scale * options.get("extra", 1.0)
    product_bar = unbroadcast(product2_seed * get_options, product)
    return unbroadcast(product_bar * sum_ts, scale)


def f_fwd3(ts_0, *, scale=None):
    ts = (ts_0,)
    options = {}
    sum_ts = sum(ts)
    product = sum_ts * scale
    get_options = options.get('extra', 1.0)
    return product * get_options, (scale, ts, sum_ts, product, get_options)


def f_bwd3(tape, product2_seed):
    scale, ts, sum_ts, product, get_options = tape
    # return sum(ts) * scale * options.get("extra", 1.0)
    product_bar = unbroadcast(product2_seed * get_options, product)
    ts_bar = sum_items_bar(unbroadcast(product_bar * scale, sum_ts), ts)
    return ts_bar[0], unbroadcast(product_bar * sum_ts, scale)


def euler_fwd(y, h, steps, *, f_scale):
    saved = []
    for _ in range(steps):
        f_y, f_tape = f_fwd3(y, scale=f_scale)
        product = h * f_y
        saved.append((f_tape, product, y))
        y = y + product
    return y, (h, steps, f_scale, saved)


def euler_bwd(tape, y_seed):
    h, steps, f_scale, saved = tape
    y_bar = y_seed                           # return y
    f_scale_bar = zeros_like(f_scale)
    for f_tape, product, y in reversed(saved):
        product_bar = unbroadcast(y_bar, product)  # y = y + h * f(y, *args, **options)
        y_bar = unbroadcast(y_bar, y)
        y_part, f_scale_part = f_bwd3(f_tape, product_bar * h)
        y_bar = accumulate(y_bar, y_part)
        f_scale_bar = accumulate(f_scale_bar, f_scale_part)
    return f_scale_bar


def starred_inside_grad(a, x):
    # primal
    partial_x, f_tape = f_fwd(x, a, scale=a)
    partial2_x, f_tape2 = f_fwd2(x, scale=a, extra=2.0)
    total = partial_x + partial2_x
    euler_partial, euler_tape = euler_fwd(x, 0.1, 2, f_scale=a)
    # adjoint
    # return f(x, a) + f(x, extra=2.0) + euler(f, x, 0.1, 2)
    total2_bar = scalar_seed(total + euler_partial)
    total_bar = unbroadcast(total2_bar, total)
    f_scale_bar = euler_bwd(euler_tape, unbroadcast(total2_bar, euler_partial))
    partial_x_bar = unbroadcast(total_bar, partial_x)
    f_scale_part = f_bwd2(f_tape2, unbroadcast(total_bar, partial2_x))
    f_scale_bar = accumulate(f_scale_bar, f_scale_part)
    a_bar, f_scale_part2 = f_bwd(f_tape, partial_x_bar)
    return accumulate(a_bar, accumulate(f_scale_bar, f_scale_part2))
