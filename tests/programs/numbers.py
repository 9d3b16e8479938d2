"""Numbers: Python floats and the math module, NumPy scalars, 0-d arrays, complex detours."""

import math

import numpy as np

from .registry import Program, numbers, vector


def math_module(x, y):
    return math.sin(x) * math.exp(-y) + math.sqrt(x * x + y * y) - math.log(y) ** 2


def builtins_of_numbers(x, y):
    return abs(x - y) + max(x, y) * min(x, 0.0) + pow(x, 3) + sum([x, y, x * y])


def integer_parts(x, n):
    k = n // 2 + n % 3
    return x ** (n - 1) / k + n * x - (2**n) / x


def zero_dimensional(x):
    y = x * 2.0
    z = np.sin(y) + x**2
    return z * y


def zero_dimensional_mixed(a, x):
    return np.sum(a * x) + a * x[0]


def numpy_scalar(x):
    s = x[0]
    t = np.float64(2.0) * s
    return np.sqrt(t * t + x[1]) * np.float64(0.5)


def reduced_numbers(x):
    m = x.mean()
    v = ((x - m) ** 2).sum() / (x.size - 1)
    return m / np.sqrt(v)


def converted(x):
    s = float(np.sum(x * x))
    t = x.max().item()
    return s * t + float(x[0])


def counted(x):
    count = 0
    s = 0.0
    for v in x:
        if v > 0.0:
            count += 1
            s += v
    return s / max(count, 1)


def signs_and_floors(x):
    return x * np.sign(x) + np.floor(x) * x + x % 1.0 + round(x) * 2.0


def complex_modulus(x, y):
    z = x + 1j * y
    w = np.exp(z) * z
    return np.abs(w) + (w * np.conj(w)).real + w.imag


def fourier_energy(x):
    f = np.fft.fft(x)
    return np.sum(np.abs(f[1:3]) ** 2) + f.real[0]


def quadratic_root(a, b, c):
    d = b * b - 4.0 * a * c
    return (-b + math.sqrt(d)) / (2.0 * a)


def single_element(x):
    return x.sum() * 3.0 + x[0] ** 2


def array_from_numbers(x, y):
    v = np.array([x, x * y, np.sin(y)])
    m = np.array([[x, 1.0], [y, x]])
    return v @ v + np.sum(m @ m)


def unary(x):
    return np.sum(-x + +x * (-(x**2)) + np.negative(x) * 3.0)


def items_updated(x):  # the variable of a loop over an array, where it is a number
    total = 0.0
    for k, e in enumerate(x):
        e += 0.3 * np.cos(total)
        total = total + e * x[k]
    return total


def two_names_of_a_number(x):
    t = x[0] * x[1]
    u = t
    t -= 0.2 * np.cos(t)
    return t * u


PROGRAMS = [
    Program(math_module, numbers((0.5, 1), (0.5, 1)), (0, 1)),
    Program(builtins_of_numbers, lambda rng: (0.7, 0.2), (0, 1)),
    Program(integer_parts, lambda rng: (1.3, 5)),
    Program(zero_dimensional, lambda rng: (np.array(0.6),)),
    Program(zero_dimensional_mixed, lambda rng: (np.array(0.6), rng.normal(size=3)), (0, 1)),
    Program(numpy_scalar, vector(3, 0.2, 1.0)),
    Program(reduced_numbers, vector(5)),
    Program(converted, vector(3)),
    Program(counted, vector(6)),
    Program(signs_and_floors, lambda rng: (1.3,)),
    Program(complex_modulus, lambda rng: (0.4, 0.8), (0, 1)),
    Program(fourier_energy, vector(6)),
    Program(quadratic_root, lambda rng: (1.2, 3.1, 0.4), (0, 1, 2)),
    Program(single_element, vector(1)),
    Program(array_from_numbers, lambda rng: (0.4, 0.8), (0, 1)),
    Program(unary, vector(3)),
    Program(items_updated, vector(3)),
    Program(two_names_of_a_number, vector(3)),
]
