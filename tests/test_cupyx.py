"""Functions of `cupyx.scipy` have the rules of SciPy's: on the stand-in, and on a device."""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tests.devices import from_device, held_by_device, to_device
from tests.rule_cases import signed, spd
from tests.sampled import one_in
from tests.strict_array import from_strict, strict_scipy, to_strict, xp
from tests.test_strict_array import holds_only_strict, leaves
from tests.test_strict_rules import assert_same, same_in_both_modes

scipy = pytest.importorskip("scipy")
for _space in ("special", "linalg", "signal", "fft"):
    importlib.import_module(f"scipy.{_space}")
register_array_module(xp)
register_array_module(strict_scipy, of="scipy")

X = np.linspace(0.2, 0.8, 4)
LOWER = np.tril(spd(3))
CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    **{
        name: (f"special.{name}", (X,))
        for name in (
            *(
                "expit",
                "logit",
                "log_expit",
                "erf",
                "erfc",
                "erfinv",
                "erfcinv",
                "ndtr",
                "log_ndtr",
            ),
            *("gammaln", "loggamma", "gamma", "rgamma", "digamma", "psi", "j0", "j1", "y0", "y1"),
            *("i0", "i0e", "i1", "i1e", "entr", "exp2", "exp10", "cbrt", "sinc", "expm1", "log1p"),
            *("logsumexp", "softmax", "log_softmax", "spence", "ellipk", "ellipe"),
        )
    },
    **{
        name: (f"special.{name}", (X, X[::-1] + 0.1))
        for name in ("beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "huber")
    },
    "polygamma": ("special.polygamma", (2, X)),
    "gammainc": ("special.gammainc", (2.0, X)),
    "solve": ("linalg.solve", (spd(3), signed(3, 2))),
    "solve_triangular": ("linalg.solve_triangular", (LOWER, signed(3), 0, True)),
    "inv": ("linalg.inv", (spd(3),)),
    "toeplitz": ("linalg.toeplitz", (signed(3), signed(4, seed=1))),
    "kron": ("linalg.kron", (signed(2, 2), signed(2, 3))),
    "expm": ("linalg.expm", (0.3 * signed(3, 3),)),
    "convolve": ("signal.convolve", (signed(5), signed(3))),
    "fftconvolve": ("signal.fftconvolve", (signed(5), signed(3))),
    "rfft": ("fft.rfft", (signed(6),)),
    "ifft": ("fft.ifft", (signed(6),)),
    "fftn": ("fft.fftn", (signed(2, 4),)),
}


def program(module: Any, path: str, count: int) -> Callable[..., Any] | None:
    """A function that makes one call of a module like SciPy."""
    found = module
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is None:
        return None
    names = ", ".join(f"a{k}" for k in range(count))
    text = f"def call({names}):\n    return sp.{path}({names})\n"
    filename = f"<{module.__name__}.{path}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"sp": module}
    exec(compile(text, filename, "exec"), namespace)
    made: Callable[..., Any] = namespace["call"]
    return made


def agrees(
    module: Any, name: str, to: Callable[..., Any], same: Callable[[Any, Any], None]
) -> None:
    """Whether both modes give on such arrays what they give on NumPy's, or refuse both."""
    path, args = CASES[name]
    plain, moved = program(scipy, path, len(args)), program(module, path, len(args))
    if plain is None or moved is None:
        pytest.skip(f"there is no {path}")
    try:
        tl.vjp(plain, *args)
    except tl.UnsupportedError:
        with pytest.raises(tl.UnsupportedError):
            tl.vjp(moved, *to(args))
        return
    try:
        moved(*to(args))
    except (TypeError, NotImplementedError, ValueError) as error:
        pytest.skip(f"the module says: {error}")
    assert same_in_both_modes(plain, moved, args, to, same)


def assert_same_on_device(got: Any, want: Any) -> None:
    for mine, theirs in zip(leaves(from_device(got)), leaves(want), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", one_in(3, list(CASES)))
def test_stand_in(name: str) -> None:
    agrees(strict_scipy, name, to_strict, assert_same)


@pytest.mark.parametrize("name", CASES)
def test_on_a_device(name: str) -> None:
    if held_by_device() is None:
        pytest.skip("there is no device that CuPy finds")
    for space in ("special", "linalg", "signal", "fft"):
        importlib.import_module(f"cupyx.scipy.{space}")
    agrees(importlib.import_module("cupyx.scipy"), name, to_device, assert_same_on_device)


erf, special = strict_scipy.special.erf, strict_scipy.special


def log_likelihood(shape: Any, x: Any) -> Any:
    return xp.sum((shape - 1.0) * xp.log(x) - x - special.gammaln(shape)) + xp.sum(erf(x))


def test_text_and_second_order() -> None:
    shape, x = to_strict(X + 1.0), to_strict(X)
    gradient = tl.grad(log_likelihood, wrt=(0, 1))
    bars = gradient(shape, x)
    assert "from strict_scipy.special import digamma, erf" in gradient.source
    h, entry = 1e-6, np.array([0.0, 1.0, 0.0, 0.0])
    there, back = (log_likelihood(to_strict(X + 1.0 + s * entry), x) for s in (h, -h))
    slope = (float(there) - float(back)) / (2.0 * h)
    assert from_strict(bars[0])[1] == pytest.approx(slope, rel=1e-6)
    product = tl.hvp(log_likelihood)(shape, x, v=to_strict(entry))
    ahead = tl.grad(log_likelihood)(to_strict(X + 1.0 + h * entry), x)
    behind = tl.grad(log_likelihood)(to_strict(X + 1.0 - h * entry), x)
    curvature = (from_strict(ahead) - from_strict(behind)) / (2.0 * h)
    assert holds_only_strict(product)
    np.testing.assert_allclose(from_strict(product), curvature, rtol=1e-6, atol=1e-8)


def test_what_the_mirror_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(special, "digamma")

    def loss(x: Any) -> Any:
        return xp.sum(special.gammaln(x))

    with pytest.raises(tl.UnsupportedError, match=r"has no `special.digamma`"):
        tl.grad(loss)(to_strict(X))
