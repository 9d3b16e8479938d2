"""The filters of `scipy.ndimage` that are linear in the image: every mode, sizes, origins."""

import numpy as np
import pytest

import tangentlike as tl

ndimage = pytest.importorskip("scipy.ndimage")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
IMAGE = np.random.default_rng(0).normal(size=(4, 3))
WEIGHTS = np.array([[1.0, 2.0, -0.5, 0.3], [0.2, -1.0, 0.4, 0.1]])

FILTERS = {
    "gaussian": lambda x, mode: ndimage.gaussian_filter(x, (0.6, 0.9), (0, 1), mode=mode, cval=2.0),
    "radius": lambda x, mode: ndimage.gaussian_filter(x, 1.0, mode=mode, radius=6),
    "gaussian1d": lambda x, mode: ndimage.gaussian_filter1d(x, 1.2, 0, mode=mode),
    "laplacian": lambda x, mode: ndimage.gaussian_laplace(x, 0.7, mode=mode),
    "uniform": lambda x, mode: ndimage.uniform_filter(x, (2, 5), mode=mode, origin=(0, 1)),
    "uniform1d": lambda x, mode: ndimage.uniform_filter1d(x, 4, 0, mode=mode, origin=-1),
    "correlate": lambda x, mode: ndimage.correlate(x, WEIGHTS, mode=mode, origin=(0, 1)),
    "convolve": lambda x, mode: ndimage.convolve(x, WEIGHTS, mode=mode, cval=1.0, origin=(-1, 0)),
    "correlate1d": lambda x, mode: ndimage.correlate1d(x, WEIGHTS[0], 0, mode=mode),
    "convolve1d": lambda x, mode: ndimage.convolve1d(x, WEIGHTS[0], mode=mode, origin=1),
    "sobel": lambda x, mode: ndimage.sobel(x, 0, mode=mode),
    "prewitt": lambda x, mode: ndimage.prewitt(x, mode=mode),
    "laplace": lambda x, mode: ndimage.laplace(x, mode=mode),
}


def cubes(name, mode):
    f = FILTERS[name]

    def g(x):
        return np.sum(f(x * x, mode) ** 3)

    return g


@pytest.mark.parametrize("name", FILTERS)
def test_every_mode(name):
    f = FILTERS[name]
    for mode in MODES:
        pull = tl.vjp(f, IMAGE, mode)[1]
        zero = f(np.zeros_like(IMAGE), mode)
        units = np.eye(IMAGE.size).reshape(-1, *IMAGE.shape)
        matrix = np.array([(f(unit, mode) - zero).ravel() for unit in units])  # the linear map
        bar = np.cos(np.arange(IMAGE.size)).reshape(IMAGE.shape)
        found = pull(bar)
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(np.ravel(found), matrix @ bar.ravel(), atol=1e-12)


@pytest.mark.parametrize(("name", "mode"), (("gaussian", "mirror"), ("convolve", "nearest")))
def test_both_modes_and_order_two(name, mode):
    tl.check_grads(cubes(name, mode), IMAGE, order=2)


def blurred_in_a_loop(x):
    for _ in range(3):
        x = np.tanh(ndimage.gaussian_filter(x, sigma=1.0))
    return np.sum(x**2)


def into(x, out):
    ndimage.sobel(x, output=out)
    return np.sum(out**2)


def largest_into(x, out):
    return np.sum(ndimage.maximum_filter(x, 3, output=out))


def into_by_place(x, out):
    return np.sum(ndimage.gaussian_filter1d(x, 1.0, 0, 0, out) ** 2)


BY_WEIGHTS = {
    "correlate": lambda x, w, mode: ndimage.correlate(x, w, mode=mode, cval=1.5, origin=(0, -1)),
    "convolve": lambda x, w, mode: ndimage.convolve(x, w, mode=mode, cval=1.5, origin=(0, 1)),
    "correlate1d": lambda x, w, mode: ndimage.correlate1d(x, w[0], 0, mode=mode, origin=1),
    "convolve1d": lambda x, w, mode: ndimage.convolve1d(x, w[0], mode=mode, cval=0.5, origin=-1),
}


def test_in_a_loop():
    tl.check_grads(blurred_in_a_loop, IMAGE)


@pytest.mark.thorough
@pytest.mark.parametrize("name", BY_WEIGHTS)
def test_weights_that_carry_derivatives(name):
    f = BY_WEIGHTS[name]
    for mode in MODES:
        for weights in (WEIGHTS, np.vstack((WEIGHTS, WEIGHTS[:1]))[:, :3]):  # even and odd sizes
            tl.check_grads(lambda w, m=mode: np.sum(f(IMAGE, w * w, m) ** 2), weights)
    tl.check_grads(lambda w: np.sum(f(IMAGE * w[0, 0], w, "constant") ** 3), WEIGHTS, order=2)


def blur(x, weights):
    return ndimage.convolve(x, weights)


def blurred_by_a_helper(x):
    return np.sum(blur(x, np.ones((3, 3))) ** 3)


def test_weights_on_the_tape_of_a_helper():
    tl.check_grads(blurred_by_a_helper, IMAGE, order=2)


def test_an_unknown_mode_and_an_output_are_not_passed_over():
    with pytest.raises((ValueError, RuntimeError)):
        tl.grad(cubes("sobel", "round"))(IMAGE)

    for f in (into, into_by_place, largest_into):
        with pytest.raises((tl.UnsupportedError, TypeError)):
            tl.grad(f)(IMAGE, np.float64)


def into_a_new_array(x):
    y = np.empty_like(x)
    ndimage.gaussian_filter(x, 1.0, output=y)
    return np.sum(y**2)


def over_itself(x):
    y = x * 2.0
    z = ndimage.uniform_filter(y, 3, output=y)
    return np.sum(y * z)


def into_rows(x, rows=None):
    if rows is None:
        rows = np.zeros((3, *x.shape))
    for k in range(3):
        ndimage.gaussian_filter(x, 1.0 + k, output=rows[k])
    return np.sum(rows**2)


def put_into(smooth, x, out):
    smooth(x, 3, output=out)
    return out


def by_a_helper_that_is_given_it(x):
    y, z = np.zeros_like(x), np.zeros_like(x)
    put_into(ndimage.gaussian_filter, x, y)
    put_into(ndimage.grey_erosion, x, z)
    return np.sum(y * x) + np.sum(z**2)


def of_the_largest(x):
    y, z = np.zeros_like(x), np.zeros_like(x)
    ndimage.maximum_filter(x, 3, output=y)
    ndimage.median_filter(x, 3, None, z)
    return np.sum(y * z)


@pytest.mark.parametrize(
    "f", [into_a_new_array, over_itself, into_rows, by_a_helper_that_is_given_it, of_the_largest]
)
def test_the_array_that_a_filter_writes(f):
    written_out = f in (by_a_helper_that_is_given_it, of_the_largest)  # (many entries one by one)
    tl.check_grads(f, (IMAGE,), order=1 if written_out else 2)
