from __future__ import annotations


def factorial_like_fwd(x: float, n: int):
    factorial_like_x = None
    factorial_like_tape = None
    if n == 0:
        result = 1.0
    else:
        factorial_like_x, factorial_like_tape = factorial_like_fwd(x, n - 1)
        result = x * factorial_like_x
    return result, (x, n, factorial_like_x, factorial_like_tape)


def factorial_like_bwd(tape, result_seed):
    x, n, factorial_like_x, factorial_like_tape = tape
    x_bar = 0.0                              # if n == 0:
    if not n == 0:
        x_bar += result_seed * factorial_like_x  # return x * factorial_like(x, n - 1)
        x_bar += factorial_like_bwd(factorial_like_tape, result_seed * x)
    return x_bar


def factorial_like_grad(x: float, n: int):
    # primal
    if not n == 0:
        factorial_like_x, factorial_like_tape = factorial_like_fwd(x, n - 1)
    # adjoint
    x_bar = 0.0                              # if n == 0:
    if not n == 0:
        x_bar += factorial_like_x            # return x * factorial_like(x, n - 1)
        x_bar += factorial_like_bwd(factorial_like_tape, x)
    return x_bar
