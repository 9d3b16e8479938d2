from tangentlike.runtime import add_at, dict_bar, merged_bar, zeros_like


def update_by_keywords_grad(x, y):
    # primal
    d = {'a': 1.0}
    parts = {'b': x * y}
    entries = {'a': x * x}
    d = d | parts
    d3 = d | entries
    entries2 = {'c': y}
    d4 = d3 | entries2
    d_a = d4['a']
    d_b = d4['b']
    # adjoint
    d4_bar = zeros_like(d4)                  # return d["a"] * d["b"] + d["c"]
    add_at(d4_bar, 'c', 1.0)
    add_at(d4_bar, 'b', d_a)
    add_at(d4_bar, 'a', d_b)
    d3_bar = merged_bar(d4_bar, d3, entries2)  # d.update(c=y)
    y_bar = dict_bar(d4_bar, entries2)['c']
    x_bar = 2.0 * dict_bar(d3_bar, entries)['a'] * x  # d.update({"b": x * y}, a=x * x)
    product_bar = dict_bar(merged_bar(d3_bar, d, entries), parts)['b']
    x_bar += product_bar * y
    y_bar += product_bar * x
    return x_bar, y_bar
