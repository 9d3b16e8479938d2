"""The types of a call decide tests: the branches that it does not take are not in its version."""

import dataclasses
import typing

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(7)
VECTOR, MATRIX = RNG.normal(size=3), RNG.normal(size=(2, 3))


def shifted(x, shift=None, mode="same", flag=False):
    x = np.asarray(x)
    if shift is None:
        shift = np.full(3, 0.5)
    if mode == "same":
        y = x - shift
    elif mode in ("times", "product"):
        y = x * shift
    else:
        raise ValueError(mode)
    if flag:
        y = y**2
    if x.ndim == 1:
        return np.sum(np.sin(y))
    return np.sum(np.cos(y), axis=0)[0]


def without_a_number(x, tol=None):
    if tol == -1:
        return np.sum(x) / tol
    elif tol == 0 or tol in (1.5, "none"):
        return np.sum(np.sqrt(x))
    if tol is not True and tol != 2.0:
        tol = 0.5
    return np.sum(x**2) * tol


def test_none_is_no_number():
    gradient = tl.grad(without_a_number)
    assert np.allclose(gradient(VECTOR), VECTOR)
    assert "if " not in code(gradient) and "sqrt" not in code(gradient)
    assert np.allclose(gradient(VECTOR, -1), -1.0)
    assert np.allclose(gradient(VECTOR**2, 0), 0.5 / np.abs(VECTOR))


CALLS = [
    (VECTOR,),
    (MATRIX,),
    (VECTOR, 2.0),
    (VECTOR, VECTOR, "times"),
    (MATRIX, VECTOR, "product", True),
    (VECTOR, None, "same", True),
    (list(VECTOR), None, "times", False),
]


def code(gradient):
    """The text of the last call's version, without its comments."""
    return "\n".join(line.partition("#")[0] for line in gradient.source.splitlines())


def differences(f, args, wrt=0):
    """The gradient by central differences, of an array or a list of numbers."""
    x = np.asarray(args[wrt], dtype=float)
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = x.copy()
            moved[at] += step
            value = moved.tolist() if isinstance(args[wrt], list) else moved[()]
            ends.append(f(*args[:wrt], value, *args[wrt + 1 :]))
        found[at] = (ends[0] - ends[1]) / 2e-6
    return found


def test_one_derivative_serves_calls_that_decide_otherwise():
    """A version made for one value of a flag must never serve another."""
    gradient = tl.grad(shifted)
    for args in (*CALLS, *reversed(CALLS), *CALLS[::2]):
        np.testing.assert_allclose(gradient(*args), differences(shifted, args), atol=1e-6)
        for _ in range(2):  # (the version of the last call serves the next)
            np.testing.assert_allclose(gradient(*args), differences(shifted, args), atol=1e-6)
    by_name = gradient(VECTOR, flag=True, mode="times")
    np.testing.assert_allclose(by_name, gradient(VECTOR, None, "times", True))
    assert "if " not in code(gradient)


@pytest.mark.parametrize("args", CALLS[:6], ids=lambda args: str(args[1:])[:20])
def test_both_modes_and_two_orders(args):
    tl.check_grads(shifted, args, wrt=0, order=2)


def test_what_no_branch_is_left_of():
    gradient = tl.grad(shifted)
    gradient(VECTOR, None, "same", False)
    assert "if " not in code(gradient)
    types = "x: float[:], shift: None, mode: 'same', flag: False"
    assert types in gradient.source
    with pytest.raises(ValueError, match="other"):
        gradient(VECTOR, None, "other")
    np.testing.assert_allclose(gradient(VECTOR), np.cos(VECTOR - 0.5))


def labelled(x, label, scale=1.0):
    name = "run " + label
    assert name
    return np.sum(x**2) * scale


def test_values_that_decide_nothing_stay_general():
    gradient = tl.grad(labelled)
    for n in range(5):
        gradient(VECTOR, str(n))
    assert len(gradient.versions) == 1


def helper(x, w=None, mode="a", out=None):
    if w is None:
        w = 1.5
    if isinstance(w, (list, tuple)):
        w = np.array(w)
    return inner(x * w, mode)


def inner(x, mode):
    return np.sin(x) if mode == "a" else x**2


def calling(x, mode):
    return np.sum(helper(x) + helper(x, x, mode=mode) + helper(x, [1.0, 2.0, 3.0], "b"))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["a", "b"])
def test_in_what_is_called(mode):
    tl.check_grads(calling, (VECTOR, mode), wrt=0, order=2)
    gradient = tl.grad(calling)
    for m in (mode, "a", "b", mode):
        np.testing.assert_allclose(
            gradient(VECTOR, m), differences(calling, (VECTOR, m)), atol=1e-6
        )
    assert "if " not in code(gradient)


def of_any_class(x):
    if isinstance(x, float):
        return 2.0 * x
    if hasattr(x, "shape") and x.ndim > 0:
        return np.sum(x**2)
    if isinstance(x, list):
        return x[0] ** 3
    if x is None:
        return 0.0
    return 5.0 * x


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        *[(1.5, 2.0), (np.float64(1.5), 2.0), (np.float32(1.5), 5.0), (np.array(1.5), 5.0)],
        *[(VECTOR, 2 * VECTOR), ([2.0, 1.0], [12.0, 0.0])],
    ],
    ids=lambda x: type(x).__name__,
)
def test_classes(x, wanted):
    gradient = tl.grad(of_any_class)
    gradient([3.0])
    for other in (1.5, x, VECTOR, x):
        got = gradient(other)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def rebound(x, start=None, twice=False):
    """The tested names are bound again, in branches and in loops."""
    total = 0.0
    for k in range(3):
        if start is None:
            start = x[0]
        if twice:
            total = total + start * x[k]
        twice = not twice
        start = start * 1.1 if k else None
    if start is None:
        return total
    return total + start


@pytest.mark.parametrize(
    "args", [(VECTOR,), (VECTOR, 2.0), (VECTOR, 2.0, True), (VECTOR, None, True)]
)
def test_names_that_are_bound_again(args):
    gradient = tl.grad(rebound)
    np.testing.assert_allclose(gradient(*args), differences(rebound, args), atol=1e-6)
    tl.check_grads(rebound, args, wrt=0)


def updated(x, flag=True, other=None):
    flag &= x[0] > 0.0
    y = x * 2.0
    if flag:
        y = y * x
    if other is not None and other.ndim == 1:
        other = None
    if other is None:
        y = y * 3.0
    return np.sum(y)


@pytest.mark.parametrize("x", [VECTOR, -VECTOR, np.abs(VECTOR), -np.abs(VECTOR)])
def test_values_that_are_updated(x):
    for args in ((x,), (x, False), (x, True, VECTOR), (x, True, MATRIX)):
        np.testing.assert_allclose(tl.grad(updated)(*args), differences(updated, args), atol=1e-6)


def not_differentiated(x, smooth=False):
    if smooth:
        return np.sum(np.partition(x, 1).view(np.int64) * x)
    return np.sum(x**2)


def test_nothing_is_refused_of_what_is_not_taken():
    gradient = tl.grad(not_differentiated)
    np.testing.assert_allclose(gradient(VECTOR), 2 * VECTOR)
    assert "raise" not in gradient.source
    with pytest.raises(tl.UnsupportedError):
        gradient(VECTOR, True)
    np.testing.assert_allclose(gradient(VECTOR), 2 * VECTOR)


def connected(x, y, n, flag=None):
    if flag is not None and n > 2:
        return np.sum(x * y)
    if n > 1 and flag is not None:
        return np.sum(x)
    if flag is None or n > 4:
        y = y * 2.0
    if flag is not None or isinstance(y, str):
        y = y + x
    if typing.TYPE_CHECKING:
        y = 0.0
    kind = "big" if n > 3 else "small"
    if kind == "big":
        y = y * x
    return np.sum(y * x)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_parts_of_tests(n):
    gradient = tl.grad(connected)
    for flag in (None, True, False, None):
        args = (VECTOR, VECTOR + 1.0, n, flag)
        np.testing.assert_allclose(gradient(*args), differences(connected, args), atol=1e-6)


@dataclasses.dataclass
class Layer:
    w: np.ndarray

    def __call__(self, x, activation="tanh", bias=None):
        y = x * self.w
        if bias is not None:
            y = y + bias
        if activation == "tanh":
            return np.tanh(y)
        return y


def layered(w, x, activation):
    layer = Layer(w)
    return np.sum(layer(x) + layer(x, activation, x) + layer(x, bias=1.0))


@pytest.mark.parametrize("activation", ["tanh", "none"])
def test_methods(activation):
    tl.check_grads(layered, (VECTOR, VECTOR + 1.0, activation), wrt=(0, 1))
    gradient = tl.grad(layered)
    for a in ("tanh", "none", activation):
        args = (VECTOR, VECTOR + 1.0, a)
        np.testing.assert_allclose(gradient(*args), differences(layered, args), atol=1e-6)
    assert "if " not in code(gradient)


def recursive(x, depth, flag=True):
    if depth == 0:
        return np.sum(x) if flag else np.sum(x**2)
    return recursive(np.sin(x), depth - 1, flag) + recursive(x, depth - 1, not flag)


@pytest.mark.parametrize("flag", [True, False])
def test_recursion(flag):
    tl.check_grads(recursive, (VECTOR, 2, flag), wrt=0)


def derived(x, mode="a"):
    return np.sum(tl.grad(lambda z: np.sum(inner(z, mode)))(x) * x)


def test_derivatives_of_derivatives():
    outer = tl.grad(derived)
    twice = tl.grad(lambda x, mode: np.sum(tl.grad(calling)(x, mode) ** 2))
    for mode in ("a", "b", "a"):
        want = differences(lambda x, m: np.sum(tl.grad(calling)(x, m) ** 2), (VECTOR, mode))
        np.testing.assert_allclose(twice(VECTOR, mode), want, atol=1e-4)
        np.testing.assert_allclose(
            outer(VECTOR, mode), differences(derived, (VECTOR, mode)), atol=1e-5
        )
    hessian = tl.jacobian(tl.grad(calling))
    for mode in ("a", "b", "a"):
        want = tl.jacobian(tl.grad(calling))(VECTOR, mode)
        np.testing.assert_allclose(hessian(VECTOR, mode), want)


def wave(z, conjugated=False, kind="real"):
    y = np.conj(z) * z if conjugated else z * z
    return np.sum(y.real if kind == "real" else y.imag)


def test_complex_arguments():
    z = VECTOR + 0.5j
    gradient, other = tl.grad(wave), tl.grad(lambda z, c, k: wave(z, c, k))
    for conjugated in (False, True, False):
        for kind in ("real", "imag", "real"):
            np.testing.assert_allclose(gradient(z, conjugated, kind), other(z, conjugated, kind))
            np.testing.assert_allclose(
                gradient(VECTOR, conjugated, kind), other(VECTOR, conjugated, kind)
            )
    np.testing.assert_allclose(gradient(z, False), 2 * np.conj(z))
    np.testing.assert_allclose(np.abs(gradient(z, True)), np.abs(2 * z))
    np.testing.assert_allclose(gradient(z, True, "imag"), 0 * z)


def turning(x, p, doubled=False):
    y = x**p
    if doubled:
        y = y * 2.0
    return np.real(y * y)


def test_numbers_that_turn_complex():
    gradient = tl.grad(turning)
    for doubled in (False, True, False):
        np.testing.assert_allclose(gradient(-2.0, 1.0, doubled), -16.0 if doubled else -4.0)
        turned = gradient(-2.0, 0.5, doubled)
        np.testing.assert_allclose(turned, 4.0 if doubled else 1.0)


def sharing(x, y, twice=False, label=""):
    x[0] += y[1]
    if twice:
        x *= 2.0
    return np.sum(x * y) if label != "square" else np.sum(x**2 * y)


def test_arguments_that_share_memory():
    gradient = tl.grad(sharing)
    for label in ("", "square", "b"):
        for twice in (False, True):
            wanted = tl.grad(lambda x, y, t, k: sharing(x.copy(), y.copy(), t, k))
            for _ in range(2):
                y = VECTOR.copy()
                want = wanted(VECTOR, y, twice, label)
                np.testing.assert_allclose(gradient(VECTOR.copy(), y, twice, label), want)
