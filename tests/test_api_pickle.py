"""Derivatives pickle by how they were made."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import tangentlike as tl

MODULE = """
import numpy as np
import tangentlike as tl

class Model:
    @staticmethod
    def loss(x):
        return x * x * x

def cube(x, y=1.0):
    return x * x * x * y

@tl.grad
def decorated(x):
    return x * x

gradient = tl.grad(cube)
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "pickled_model.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    module = importlib.import_module("pickled_model")
    yield module
    del sys.modules["pickled_model"]


def again(fn: Any) -> Any:
    return pickle.loads(pickle.dumps(fn))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_same_object_comes_back(model: Any, protocol: int) -> None:
    df = tl.grad(model.cube)
    assert pickle.loads(pickle.dumps(df, protocol)) is df


def test_every_operator(model: Any) -> None:
    made = [
        tl.grad(model.cube, wrt=("x", "y")),
        tl.value_and_grad(model.cube),
        tl.autodiff(model.cube),
        tl.autodiff(model.cube, mode="forward"),
        tl.jacobian(model.cube),
        tl.hessian(model.cube),
        tl.hvp(model.cube),
        tl.grad(tl.grad(model.cube)),
        tl.grad(model.Model.loss),
        model.decorated,
        model.gradient,
    ]
    for fn in made:
        assert again(fn) is fn, fn.__qualname__


def test_what_cannot_be_found_is_an_error_of_pickle() -> None:
    def local(x: float) -> float:
        return x * x

    for fn in (local, lambda x: x * x):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(tl.grad(fn))


@pytest.mark.thorough
def test_another_process_makes_it_again(model: Any, tmp_path: Path) -> None:
    data = pickle.dumps(tl.grad(tl.grad(model.cube)))
    script = f"import pickle; print(pickle.loads({data!r})(2.0))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{Path(tl.__file__).parent.parent}"},
    )
    assert done.stdout.strip() == "12.0", done.stderr


def test_a_pool_of_processes_takes_it(model: Any) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        assert list(pool.map(tl.grad(model.cube), [1.0, 2.0])) == [3.0, 12.0]


def test_copies_are_the_function_itself(model: Any) -> None:
    df = tl.grad(model.cube)
    assert copy.copy(df) is df and copy.deepcopy(df) is df
