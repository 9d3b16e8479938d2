"""Adjoints of taking complex numbers apart."""

from __future__ import annotations

from typing import Any

from .broadcasting import _is_complex


def adjoint_of_real(g: Any, like: Any) -> Any:
    """The adjoint of `like` where `g` is that of its real part, in the type of `like`."""
    real = _real(g)
    return real + 0j if _is_complex(like) else real


def adjoint_of_imag(g: Any, like: Any) -> Any:
    """The adjoint of `like` where `g` is that of its imaginary part: zero for a real `like`."""
    real = _real(g)
    return 1j * real if _is_complex(like) else 0.0 * real


def _real(x: Any) -> Any:
    return x.real if _is_complex(x) else x
