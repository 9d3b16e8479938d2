# for x: float, y: float
from tangentlike.runtime import Shadow, own, scalar_seed, unbroadcast


def update_by_keywords_grad(x, y):
    # primal
    x = own(x)
    y = own(y)
    d = {'a': 1.0}
    product, product2 = x * y, x * x
    d.update({'b': product}, a=product2)
    d.update(c=y)
    d_a, d_b = d['a'], d['b']
    product3 = d_a * d_b
    d_c = d['c']
    # adjoint
    bars = Shadow()                          # return d["a"] * d["b"] + d["c"]
    total_bar = scalar_seed(product3 + d_c)
    product3_bar = unbroadcast(total_bar, product3)
    bars.add(d_c, total_bar)
    bars.add(d_a, product3_bar * d_b)
    bars.add(d_b, product3_bar * d_a)
    y_bar = bars.take(y)                     # d.update(c=y)
    x_bar = 2.0 * bars.take(product2) * x    # d.update({"b": x * y}, a=x * x)
    product_bar = bars.take(product)
    x_bar += product_bar * y
    y_bar += product_bar * x
    return x_bar, y_bar
