"""The analyses under the reverse sweep: who shares memory, what is saved, what is recomputed."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from tangentlike import ir
from tangentlike.ad.context import Context
from tangentlike.ad.contributions import chain_of
from tangentlike.ad.loops import backwards, leaves, length
from tangentlike.ad.specialize.callees import Callees
from tangentlike.analysis.aliases import analyse_aliases
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.analysis.sharing import Sharing
from tangentlike.analysis.structure import ROOT, definitely_assigned, structure
from tangentlike.codegen.print import show
from tangentlike.errors import InternalError, Place
from tangentlike.frontend.lower import lower
from tangentlike.ir.kind import FLOAT, Kind
from tangentlike.ir.names import Names
from tangentlike.pipeline.stages import Request, derive
from tangentlike.rules.book import default_book


def _aliases(fn):
    function = lower(fn).function
    kinds = infer_kinds(function, {}, default_book())
    context = Context(dict(kinds), default_book(), Callees(), Names())
    return analyse_aliases(Sharing(structure(function), context.sources()))


def _text(fn, wrt):
    return derive(fn, Request("grad", wrt)).source


# ------------------------------------------------------------------------------- aliases


def swap_buffers(a: np.ndarray, b: np.ndarray, n):
    for _ in range(n):
        a[1:] = b[:-1] * 2.0
        a, b = b, a
    return np.sum(a * b)


def view_written(m: np.ndarray):
    row = m[0]
    row[1:] = 2.0 * row[:-1]
    return np.sum(m)


def view_read_before_the_write(m: np.ndarray):
    row = m[0]
    t = row * row
    m[1] = t
    return np.sum(m)


def view_read_after_the_write(m: np.ndarray):
    row = m[0, :]
    m[0] = 2.0 * m[1]
    return np.sum(row * row)


def test_a_swap_of_buffers_shares_nothing():
    assert _aliases(swap_buffers).paths == {}


def test_a_view_that_is_written_is_a_path_of_its_base():
    aliases = _aliases(view_written)
    assert {k: show(v) for k, v in aliases.paths.items()} == {"row": "m[0]"}
    assert aliases.root("row") == "m"


def test_a_view_that_nobody_reads_after_a_write_is_a_value():
    assert _aliases(view_read_before_the_write).paths == {}


def test_a_view_that_outlives_a_write_to_its_base_is_a_path():
    assert "row" in _aliases(view_read_after_the_write).paths


# ------------------------------------------------------------------------- what is saved


def linear_stencil(a: np.ndarray, steps):
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] + a[2:])
    return np.sum(a)


def nonlinear_stencil(a: np.ndarray, steps):
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def carried(x: float, n):
    s = 1.0
    for _ in range(n):
        t = np.sin(s)
        s = s + x * t * t
    return s


def product_of_many(xs: np.ndarray):
    y = 1.0
    for i in range(xs.shape[0]):
        y = y * xs[i]
    return y


def test_a_linear_stencil_saves_nothing():
    assert "saved" not in _text(linear_stencil, ("a",))


def test_a_nonlinear_stencil_saves_the_slice():
    assert "a_saved.append(a[1:-1].copy())" in _text(nonlinear_stencil, ("a",))
    assert "a[1:-1] = a_saved.pop()" in _text(nonlinear_stencil, ("a",))


def test_what_a_round_saves_is_saved_together():
    text = _text(carried, ("x",))
    assert "saved.append((t, s))" in text and "for t, s in reversed(saved):" in text
    assert text.count(".append(") == 1 and ".pop()" not in text


def test_items_are_read_again_rather_than_saved():
    text = _text(product_of_many, ("xs",))
    assert text.count("append") == 1 and "y_saved" in text


# ------------------------------------------------------------- structure and assignment


def branches(x, flag):
    if flag:
        y = x * 2.0
    else:
        z = x * 3.0
        y = z
    return y


def test_names_live_in_the_innermost_block_that_needs_them():
    function = lower(branches).function
    facts = structure(function)
    assert facts.home["y"] == ROOT and facts.home["z"] != ROOT
    assert facts.is_local("z", facts.home["z"])


def test_assigned_on_both_branches_is_assigned():
    function = lower(branches).function
    assigned = definitely_assigned(structure(function))
    assert assigned.is_bound_after(ROOT, "y") and not assigned.is_bound_after(ROOT, "z")


# --------------------------------------------------------------------------------- loops


def headers(xs, ys, n):
    for i in range(2, n, 3):
        pass
    for x in xs:
        pass
    for i, (x, y) in enumerate(zip(xs, ys)):
        pass
    for x in reversed(xs):
        pass


def _loops():
    return [s for s in lower(headers).function.body if isinstance(s, ir.For)]


def test_headers_run_backwards():
    shown = [show(backwards(s.iter, None)) for s in _loops()]
    assert shown == [
        "reversed(range(2, n, 3))",
        "reversed(xs)",
        "reversed(list(enumerate(zip(xs, ys))))",
        "xs",
    ]


def test_headers_give_their_items_by_index():
    found = [(leaf.target, show(leaf.item)) for leaf in _leaves(_loops()[2])]
    assert found == [("i", "k"), ("x", "xs[k]"), ("y", "ys[k]")]
    assert show(length(_loops()[2].iter)) == "min(len(xs), len(ys))"


def _leaves(loop):
    return list(leaves(loop.target, loop.iter, ir.Var("k")))


# ----------------------------------------------------------------------- what a rule is given


def _chain_of_product(operand):
    """The chain rule for `z = x * operand`, all of which varies."""
    kinds = {"x": FLOAT, "row": Kind("array", "float")}
    context = Context(kinds, default_book(), Callees(), Names())
    value = ir.Call(ir.Ref("*", operator.mul), (ir.Var("x"), operand))
    stmt = ir.Assign("z", value, ir.Origin(Place("f.py", 1)))
    return chain_of(stmt, frozenset((*kinds, "z")), ir.Var("z_bar"), context)


def test_an_operand_that_was_given_no_name_is_no_operand_without_an_adjoint():
    """The chain rule reads names: an expression in place of one would have an adjoint of zero."""
    square = ir.Call(ir.Ref("*", operator.mul), (ir.Var("x"), ir.Var("x")))
    for operand in (square, ir.Index(ir.Var("row"), ir.Const(0))):
        with pytest.raises(InternalError, match="an operand of operator.mul has no name"):
            _chain_of_product(operand)


def test_sizes_and_types_need_no_name():
    """They carry no derivative, whatever they are asked of."""
    row = ir.Var("row")
    size = ir.Call(ir.Ref("len", len), (row,))
    shape = ir.Index(ir.Attribute(row, "shape"), ir.Const(0))
    for operand in (size, shape, ir.Attribute(row, "size"), ir.Attribute(row, "ndim")):
        (found,) = _chain_of_product(operand).contributions
        assert found.name == "x"
