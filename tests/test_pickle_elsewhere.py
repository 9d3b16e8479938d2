"""Derivatives in other processes: of a script's own functions, by pickle, cloudpickle, joblib."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

HEAD = """\
import functools, json, sys
import numpy as np
import tangentlike as tl
"""

MODEL = """
@tl.grad
def decorated(x):
    return x**3

@tl.grad
@tl.grad
def twice(x):
    return x**4

@functools.partial(tl.value_and_grad, wrt="y")
def by_name(x, y=2.0):
    return x * y**3

def plain(x, rate=2.0):
    return rate * x**3

def helper(x):
    return np.sin(x)

def calls(x):
    return helper(x) * decorated(x)

rebound = plain
gradient = tl.grad(plain)

def by_itself(x):
    return x**3
by_itself = tl.grad(by_itself)

class Spring:
    def __init__(self, rate):
        self.rate = rate
    def energy(self, x):
        return self.rate * x * x
    @staticmethod
    def cube(x):
        return x**3

class Cube:
    def __call__(self, x):
        return x**3

def adder(k):
    def add(x):
        return k * x**3
    return add
"""

# What goes to other processes, with an argument; the results are compared with those at home.
BY_NAME = """
SENT = {
    "decorated": decorated,
    "twice": twice,
    "by_name": by_name,
    "gradient": gradient,
    "rebound": tl.grad(rebound),
    "by_itself": by_itself,
    "grad of a derivative": tl.grad(decorated),
    "value_and_grad": tl.value_and_grad(plain),
    "of a helper": tl.grad(calls),
    "autodiff": functools.partial(tl.autodiff(plain, mode="forward"), x_dot=1.0),
    "jacobian": tl.jacobian(plain),
    "hessian": tl.hessian(plain),
    "hvp": functools.partial(tl.hvp(plain), v=3.0),
    "static": tl.grad(Spring.cube),
    "of numpy": tl.grad(np.sin),
}
"""
BY_VALUE = """
SENT.update({
    "lambda": tl.grad(lambda x: x**3),
    "closure": tl.value_and_grad(adder(4.0)),
    "method": tl.grad(Spring(3.0).energy),
    "callable": tl.grad(Cube()),
    "partial": tl.grad(functools.partial(plain, rate=5.0)),
    "example": tl.grad(plain, example=(1.0,)),
    "jacobian of a lambda": tl.jacobian(lambda x: x**3),
    "hessian of a closure": tl.hessian(adder(2.0)),
    "hvp of a lambda": functools.partial(tl.hvp(lambda x: x**3), v=1.0),
    "grad of grad of a lambda": tl.grad(tl.grad(lambda x: x**3)),
    "sparse": tl.sparse_jacobian(lambda x: np.full(2, x)**3),
    "pullback": tl.vjp(lambda x: x**3, 2.0)[1],
    "tangent map": tl.linearize(lambda x: x**3, 2.0)[1],
    "checkpoint": tl.grad(tl.checkpoint(plain)),
    "used already": tl.grad(lambda x: x**5),
})
SENT["used already"](1.0)
"""

CALL = """
def call(task):
    f, x = task
    return repr(f(x))
"""


def script(folder: Path, text: str) -> Any:
    (folder / "script.py").write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "PATH": "/usr/bin:/bin",
            "OMP_NUM_THREADS": "1",
        },
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_functions_of_the_main_script(tmp_path: Path, method: str) -> None:
    text = (
        MODEL + BY_NAME + CALL + "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        found = pool.map(call, [(f, 5.0) for f in SENT.values()])\n"
        "    here = {name: call((f, 5.0)) for name, f in SENT.items()}\n"
        "    print(json.dumps([here, dict(zip(SENT, found))]))\n"
    )
    here, there = script(tmp_path, text)
    assert there == here
    assert here["decorated"] == "75.0" and here["twice"] == "300.0"


@pytest.mark.thorough
def test_cloudpickle_takes_everything_to_another_machine(tmp_path: Path) -> None:
    """The other process sees neither the script nor its folder."""
    child = (
        "import pickle, sys, json; sent = pickle.load(open(sys.argv[1], 'rb'));"
        "print(json.dumps({name: repr(f(5.0)) for name, f in sent.items()}))"
    )
    text = (
        MODEL + BY_NAME + BY_VALUE + "import cloudpickle, os, subprocess\n"
        "path = os.path.abspath('sent.pickle')\n"
        "open(path, 'wb').write(cloudpickle.dumps(SENT))\n"
        "here = {name: repr(f(5.0)) for name, f in SENT.items()}\n"
        "os.rename('script.py', 'gone.py')\n"
        f"there = subprocess.run([sys.executable, '-c', {child!r}, path], cwd='/',\n"
        "                       capture_output=True, text=True)\n"
        "assert there.returncode == 0, there.stderr\n"
        "print(json.dumps([here, json.loads(there.stdout)]))\n"
    )
    here, there = script(tmp_path, text)
    assert there == here and len(here) == 30


def test_what_cloudpickle_brings_is_a_derivative(tmp_path: Path) -> None:
    child = (
        "import inspect, pickle, sys, json, tangentlike as tl\n"
        "f, g = pickle.load(open(sys.argv[1], 'rb'))\n"
        "f(2.0)\n"
        "try:\n    g(2.0)\n    note = ''\n"
        "except ZeroDivisionError as error:\n    note = ' '.join(error.__notes__)\n"
        "print(json.dumps([f.source, inspect.getsource(f), tl.grad(f)(2.0),\n"
        "                  str(inspect.signature(f)), f.__name__, note]))\n"
    )
    text = (
        MODEL + "def breaks(x):\n    y = x * x\n    return y / (x - 2.0)\n"
        "import cloudpickle, os, subprocess\n"
        "f = tl.grad(plain)\n"
        "path = os.path.abspath('sent.pickle')\n"
        "open(path, 'wb').write(cloudpickle.dumps((f, tl.grad(breaks))))\n"
        "os.rename('script.py', 'gone.py')\n"
        f"there = subprocess.run([sys.executable, '-c', {child!r}, path], cwd='/',\n"
        "                       capture_output=True, text=True)\n"
        "assert there.returncode == 0, there.stderr\n"
        "print(there.stdout.strip())\n"
    )
    source, shown, second, signature, name, note = script(tmp_path, text)
    assert "def plain_grad(x, rate=2.0):" in source and shown in source
    assert second == 24.0
    assert (signature, name) == ("(x, rate=2.0)", "plain_grad")
    assert "script.py" in note or sys.version_info < (3, 11)


@pytest.mark.thorough
def test_joblib_runs_derivatives_of_the_main_script(tmp_path: Path) -> None:
    text = (
        MODEL + BY_NAME + BY_VALUE + "import joblib\n"
        "if __name__ == '__main__':\n"
        "    jobs = [joblib.delayed(f)(5.0) for f in SENT.values()]\n"
        "    found = joblib.Parallel(n_jobs=2, backend='loky')(jobs)\n"
        "    here = {name: repr(f(5.0)) for name, f in SENT.items()}\n"
        "    print(json.dumps([here, dict(zip(SENT, map(repr, found)))]))\n"
    )
    here, there = script(tmp_path, text)
    assert there == here
