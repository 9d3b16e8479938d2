"""The programs of the collection, as they stand, under other systems of automatic differentiation.

A program is read anew with `np` bound to the peer's NumPy; nothing else in it is changed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import agreement
from tests.programs import Program

NUMPY_OF = {"autograd": "autograd.numpy", "jax": "jax.numpy"}


def is_installed(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


def twin(program: Program, peer: str) -> Callable[..., Any]:
    """The program and the helpers of its module, on the peer's NumPy."""
    module = inspect.getmodule(program.fn)
    assert module is not None
    text = inspect.getsource(module).replace("import numpy as np", f"import {NUMPY_OF[peer]} as np")
    made = types.ModuleType(f"{module.__name__}_on_{peer}")
    made.__package__ = module.__package__
    exec(compile(text, made.__name__, "exec"), vars(made))
    found: Callable[..., Any] = vars(made)[program.fn.__name__]
    return found


def gradient(program: Program, peer: str) -> tuple[Any, ...]:
    """The peer's gradient of the program, one part for each argument in `wrt`."""
    fn, args = twin(program, peer), program.arguments()
    if peer == "jax":
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        found = jax.grad(fn, argnums=program.wrt)(*args)
    else:
        found = importlib.import_module(peer).grad(fn, program.wrt)(*args)
    return tuple(np.asarray(part) for part in found)


def outcome(program: Program, peer: str) -> str:
    """ "right", "refused" or "wrong": what the peer makes of the program as it stands."""
    args = program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    expected = agreement.slope(program.fn, args, directions)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            parts = gradient(program, peer)
    except Exception:
        return "refused"
    got = sum(
        float(np.sum(np.real(part) * directions[k]))
        for k, part in zip(program.wrt, parts, strict=True)
    )
    return "right" if agreement.close(got, expected, program.tolerance) else "wrong"


if __name__ == "__main__":
    from tests.programs import PROGRAMS

    for each in PROGRAMS:
        if each.part == "inplace":
            print(each.name, *(outcome(each, peer) for peer in sys.argv[1:]))
