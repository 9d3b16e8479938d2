from tangentlike.runtime import scalar_seed, unbroadcast, zeros_like


def search_then_try_grad(x, y):
    # primal
    s = 0.0
    count = 0
    taken_saved, s_saved, product_saved, product2_saved, s_saved2 = [], [], [], [], []
    failed_saved = []
    for k in range(4):
        count = count + 1
        taken = s > y
        taken_saved.append(taken)
        if taken:
            break
        else:
            try:
                if k == 1:
                    raise ValueError(k)
                product = x * k
                s_before = s
                s = s + product
            except ValueError:
                failed = True
                product2 = x * x
                product2_saved.append(product2)
                s_saved2.append(s)
                s = s + product2
            else:
                failed = False
                s_saved.append(s_before)
                product_saved.append(product)
            failed_saved.append(failed)
    # adjoint
    s_bar = scalar_seed(s)                   # return s
    x_bar = zeros_like(x)
    for k in reversed(range(4)[:count]):
        if not taken_saved.pop():
            if not failed_saved.pop():
                s = s_saved.pop()
                product_bar = unbroadcast(s_bar, product_saved.pop())  # s = s + x * k
                s_bar = unbroadcast(s_bar, s)
                x_bar += product_bar * k
            else:
                s = s_saved2.pop()
                product2_bar = unbroadcast(s_bar, product2_saved.pop())  # s = s + x * x
                s_bar = unbroadcast(s_bar, s)
                x_bar += 2.0 * product2_bar * x
    return x_bar
