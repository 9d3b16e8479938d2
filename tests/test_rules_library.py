"""Rules of NumPy's library functions: every call in `rule_cases` by `check_rule`."""

from __future__ import annotations

import array

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import default_book
from tangentlike.testing import check_rule
from tests.rule_cases import TABLES, Case, title
from tests.sampled import one_in


def _params() -> list[object]:
    found = []
    for table, cases in TABLES.items():
        for entry in cases:
            found.append(pytest.param(entry, id=f"{table}-{title(entry)}"))
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("entry", one_in(2, _params()))
def test_rule(entry: Case) -> None:
    op, args, options = entry
    check_rule(op, *args, **{"check_order": 1, **options})


# One case of each operation also to second order, reverse and forward over both.
SECOND = {entry[0]: entry for cases in TABLES.values() for entry in reversed(cases)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "entry", one_in(4, [pytest.param(e, id=title(e)) for e in SECOND.values()])
)
def test_second_order(entry: Case) -> None:
    op, args, options = entry
    check_rule(op, *args, check_order=2, **options)


# Operations whose result is a tuple or list, or whose argument must be symmetric, are tested
# inside small functions (test_rules_factors.py, test_rules_methods.py).
ELSEWHERE = {
    *(np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals),
    *(np.linalg.svd, np.linalg.qr, np.linalg.slogdet, np.linalg.lstsq, np.split, np.array_split),
    *(np.hsplit, np.vsplit, np.dsplit, np.meshgrid, np.broadcast_arrays, np.select, np.choose),
    *(getattr(np, "unstack", None), getattr(np, "astype", None), np.asarray_chkfinite),
    *(np.asanyarray, np.asfortranarray, np.sort_complex, getattr(np, "unique_values", None)),
    *(getattr(np, f"unique_{what}", None) for what in ("all", "counts", "inverse")),
    *(np.lib.stride_tricks.sliding_window_view, np.lib.stride_tricks.as_strided),
    array.array,
    vars(np).get("row_stack"),
    vars(np).get("trapz"),  # what NumPy 2.2 still calls trapezoid
}
OUR_FILES = ("reductions", "shape", "products", "linalg", "indexing", "creation")


def test_every_rule_of_the_library_has_a_case() -> None:
    covered = {entry[0] for cases in TABLES.values() for entry in cases} | ELSEWHERE
    missing = []
    for op, entry in default_book().rules():
        ours = entry.fn.__module__.rpartition(".")[2] in OUR_FILES
        helper = (getattr(op, "__module__", None) or "").startswith("tangentlike.runtime")
        method = hasattr(op, "__objclass__") or getattr(op, "__module__", "") == "_operator"
        if ours and not helper and not method and op not in covered:
            missing.append(entry.name)
    assert missing == []


def test_a_pseudoinverse_that_leaves_out_singular_values_is_refused():
    def smooth(a):
        return np.sum(np.linalg.pinv(a, rcond=0.5))

    a = np.diag([3.0, 2.0]) + 0.1
    np.testing.assert_allclose(tl.grad(smooth)(a), tl.grad(lambda a: np.sum(np.linalg.pinv(a)))(a))
    for transform in (tl.grad(smooth), lambda a: tl.jvp(smooth, (a,), (a,))):
        with pytest.raises(NotImplementedError, match="leaves out singular values"):
            transform(np.diag([3.0, 1.0]) + 0.1)
