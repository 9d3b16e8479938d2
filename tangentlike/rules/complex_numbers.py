"""Rules that tell complex from real values.

The adjoint of a complex z = u + i v, for a real loss L, is `z_bar = dL/du + i dL/dv`; hence a
holomorphic f adds `conj(f'(z)) * y_bar`, and a real argument takes the real part of what
it gets.

The adjoint of a real value may come with an imaginary part that means nothing (its part of
`np.concatenate([r, z])`). Real operations keep it apart; an operation that is real of complex
arguments drops it: `np.real(y_bar)`, which is `y_bar` where no argument can be complex.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.kind import Kind
from .book import KindOf, rule
from .kinds_of import elementwise, float_elementwise


@rule(abs, np.absolute, kind=float_elementwise)
def absolute(y, x):
    if is_real(x):
        dy_dx = np.sign(x)
    else:
        unit = ratio_or_zero(x, y)
        y_dot = np.real(np.conj(unit) * x_dot)
        x_bar = np.real(y_bar) * unit


@rule(np.sign)
def sign(y, x):
    if is_real(x):
        dy_dx = 0.0
    else:
        # z / |z| changes only across the direction of z.
        size = np.abs(x)
        y_dot = ratio_or_zero(x_dot - y * np.real(np.conj(y) * x_dot), size)
        x_bar = ratio_or_zero(y_bar - y * np.real(np.conj(y) * y_bar), size)


@rule(np.real, np.ndarray.real, view="maybe", kind=float_elementwise)
def real(y, x):
    y_dot = np.real(x_dot)
    if is_complex(x):
        x_bar = np.real(y_bar) + 0j
    else:
        x_bar = adjoint_of_real(y_bar, x)


@rule(np.imag, np.ndarray.imag, view="maybe", kind=float_elementwise)
def imag(y, x):
    y_dot = np.imag(x_dot)
    if is_complex(x):
        x_bar = 1j * np.real(y_bar)
    else:
        x_bar = adjoint_of_imag(y_bar, x)


@rule(np.conjugate, kind=elementwise)
def conjugate(y, x):
    y_dot = np.conj(x_dot)
    x_bar = np.conj(y_bar)


@rule(np.ndarray.conj, np.ndarray.conjugate, view="maybe", kind=elementwise)
def conjugate_method(y, x):
    # The method returns a real array itself, not a copy.
    y_dot = np.conj(x_dot)
    x_bar = np.conj(y_bar)


@rule(np.angle, kind=float_elementwise)
def angle(y, z, deg=False):
    if deg:
        slope = (180.0 / math.pi) * ratio_or_zero(z, np.abs(z) ** 2)
    else:
        slope = ratio_or_zero(z, np.abs(z) ** 2)
    y_dot = np.imag(np.conj(slope) * z_dot)
    z_bar = cast_like(1j * np.real(y_bar) * slope, z)


def _complex(call: object, kind_of: KindOf) -> Kind:
    return Kind("number", "complex", ())


@rule(complex, kind=_complex)
def complex_(y, re, im=0.0):
    dy_dre = 1.0
    dy_dim = 1j
