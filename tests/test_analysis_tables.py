"""Analyses at their own boundary: a program in, facts out, one table for each."""

from __future__ import annotations

import collections
import dataclasses
import types
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tangentlike import ir
from tangentlike.analysis.activity import refuse_local_inputs
from tangentlike.analysis.constructors import (
    record_class,
    record_fields,
    record_values,
    sets_when_made,
)
from tangentlike.analysis.declared import kind_from_annotation, kinds_from_example, stated_classes
from tangentlike.analysis.operations import out_position, outputs
from tangentlike.analysis.refusals import matrix_names
from tangentlike.analysis.regions import Affine, Bounds, Inequalities
from tangentlike.errors import WrtError
from tangentlike.frontend.lower import program

NAMES = {"np": np, "csr": scipy.sparse.csr_matrix, "csr_array": scipy.sparse.csr_array}

# ------------------------------------------------------------------ what annotations promise

ANNOTATIONS = {
    "float": ("number", "float", ()),
    "int": ("number", "int", ()),
    "complex": ("number", "complex", ()),
    "np.ndarray": ("array", "?", None),
    "NDArray[np.float64]": ("array", "float", None),
    "list[float]": ("list", "?", None),
    "dict[str, float]": ("dict", "?", None),
    "str": ("other", "?", None),
    "float | None": ("unknown", "?", None),
    "Optional[float]": ("unknown", "?", None),
    "Callable": ("unknown", "?", None),
    "Any": ("unknown", "?", None),
}


@pytest.mark.parametrize("text", ANNOTATIONS)
def test_annotations(text: str) -> None:
    kind = kind_from_annotation(text)
    assert (kind.form, kind.dtype, kind.shape) == ANNOTATIONS[text]


def test_items_of_annotated_containers() -> None:
    assert kind_from_annotation("list[float]").item == kind_from_annotation("float")
    pair = kind_from_annotation("tuple[float, int]").items
    assert pair == (kind_from_annotation("float"), kind_from_annotation("int"))


def test_equal_sizes_of_examples_are_one_symbol_and_1_stays() -> None:
    example = {"w": np.ones((3, 2)), "x": np.ones((5, 3)), "row": np.ones((1, 2)), "s": 2.0}
    kinds = kinds_from_example(example)
    assert {name: kind.shape for name, kind in kinds.items()} == {
        "w": ("w.0!", "w.1!"),
        "x": ("x.0!", "w.0!"),
        "row": (1, "w.1!"),
        "s": (),
    }


class Model:
    def energy(self, x):
        return x


class WithoutMethods:
    pass


def annotated(
    model: Model, others: list[Model], x: float, y: np.ndarray, z, plain: WithoutMethods
) -> None: ...


def test_classes_that_annotations_name() -> None:
    """Those whose methods a call may ask for."""
    found = stated_classes(annotated)
    assert set(found) == {"model", "others"}
    assert found["model"].cls is Model
    assert found["others"].form == "list" and found["others"].item.cls is Model


# ------------------------------------------------------------------------ what a call writes

POSITIONS = {
    np.add: 2,
    np.matmul: 2,
    np.dot: 2,
    np.sum: 3,
    np.clip: 3,
    np.cumsum: 3,
    np.where: None,
    np.linalg.norm: None,
}


@pytest.mark.parametrize("function", POSITIONS, ids=lambda f: f.__name__)
def test_position_of_out(function: Any) -> None:
    """The table is NumPy's: what is given there is written, and returned."""
    assert out_position(function) == POSITIONS[function]


OUTPUTS = {
    "np.add(a, b, c)": ["c"],
    "np.add(a, b)": [],
    "np.add(a, b, out=None)": [],
    "np.sum(a, out=d)": ["d"],
    "np.sum(a, 0, None, d)": ["d"],
    "np.divmod(a, b, out=(c, d))": ["c", "d"],
    "np.divmod(a, b, None, d)": ["d"],
    "np.where(a, b, c)": [],
}


@pytest.mark.parametrize("text", OUTPUTS)
def test_outputs(text: str) -> None:
    (stmt, _) = program(f"y = {text}\nreturn y", NAMES).body
    assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
    found = outputs(stmt.value, {})
    assert [part.name for part in found if isinstance(part, ir.Var)] == OUTPUTS[text]


# ---------------------------------------------------------------------------------- matrices

MATRICES = {
    "m = np.matrix(x)\nt = m.T\nreturn t": {"m", "t"},
    "m = np.matrix(x)\na = np.asarray(m)\nreturn a": {"m"},
    "s = csr(x)\nu = s @ s\nreturn u": {"s", "u"},
    "s = csr_array(x)\nu = s @ x\nreturn u": set(),
    "a = np.ones(3)\nb = a * x\nreturn b": set(),
    "m = x\nif c:\n    m = np.matrix(x)\nk = m\nreturn k": {"m", "k"},
}


@pytest.mark.parametrize("text", MATRICES)
def test_names_of_matrices(text: str) -> None:
    assert matrix_names(program(text, NAMES)) == MATRICES[text]


# ----------------------------------------------------------------------------------- records

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Plain:
    a: float
    b: float = 2.0


@dataclasses.dataclass
class Changed:
    a: float

    def __post_init__(self):
        self.a *= 2.0


class ByHand:
    def __init__(self, a, b):
        self.a = a
        self.b = b


class Computes:
    def __init__(self, a):
        self.a = a * 2.0


@pytest.mark.parametrize(
    "cls, fields",
    [
        (Pair, ("a", "b")),
        (Plain, ("a", "b")),
        (ByHand, ("a", "b")),
        (Changed, None),
        (Computes, None),
        (int, None),
        (types, None),
    ],
)
def test_fields_of_classes_whose_constructor_only_sets_them(cls: Any, fields: Any) -> None:
    assert record_fields(cls) == fields


RECORDS = {
    "Pair(x, y)": {"a": "x", "b": "y"},
    "Pair(b=y, a=x)": {"a": "x", "b": "y"},
    "ByHand(x, b=y)": {"a": "x", "b": "y"},
    "Plain(x)": {"a": "x", "b": None},
}


@pytest.mark.parametrize("text", RECORDS)
def test_values_of_fields(text: str) -> None:
    classes = {"Pair": Pair, "ByHand": ByHand, "Plain": Plain}
    (stmt, _) = program(f"p = {text}\nreturn p", classes).body
    assert isinstance(stmt, ir.Assign)
    assert record_class(stmt.value) is classes[text.partition("(")[0]]
    values = record_values(stmt.value) or {}
    found = {name: getattr(value, "name", None) for name, value in values.items()}
    assert {**dict.fromkeys(RECORDS[text]), **found} == RECORDS[text]


def test_attributes_that_are_there_from_the_start() -> None:
    assert sets_when_made(ByHand, "a") and sets_when_made(Plain, "b")
    assert not sets_when_made(ByHand, "later")


# --------------------------------------------------- local variables that `wrt` may name

LOCALS = {
    "h = np.sin(x)\nreturn np.sum(h)": None,
    "h = np.sin(x)\nh = h * h\nreturn h": "assigned more than once",
    "for i in range(3):\n    h = np.sin(x)\nreturn h": "inside a loop or a branch",
    "k = 2.0\nif c:\n    h = x\nelse:\n    h = k\nreturn h": "assigned more than once",
    "return np.sum(x)": "has no variable `h`",
}


@pytest.mark.parametrize("text", LOCALS)
def test_local_variables_that_have_one_value(text: str) -> None:
    function, expected = program(text, NAMES), LOCALS[text]
    if expected is None:
        refuse_local_inputs(function, ("h",), {}, {})
        return
    with pytest.raises(WrtError, match=expected):
        refuse_local_inputs(function, ("h",), {}, {})


# ------------------------------------------------------------------------- affine inequalities

I_, J, N = map(Affine.of, "ijn")
IN_A_LOOP = Inequalities(
    {
        "i": Bounds((Affine(),), (N.shifted(-1),)),  # i in range(n)
        "j": Bounds((Affine(),), (I_.shifted(-1),)),  # j in range(i)
    },
    frozenset("n"),
)


@pytest.mark.parametrize(
    "value, proved",
    [
        (I_, True),
        (J, True),
        (N - I_.shifted(1), True),
        (I_ - J.shifted(1), True),
        (N - J.shifted(2), True),
        (J.shifted(-1), False),
        (J - I_, False),
        (N.shifted(-1), False),
        (I_.times(2) - J, True),
    ],
)
def test_what_bounds_of_loops_prove(value: Affine, proved: bool) -> None:
    """Against every n up to 6: what is proved holds, and what does not hold is not."""
    assert IN_A_LOOP.proves(value) == proved
    holds = all(
        value.constant
        + value.coefficient("i") * i
        + value.coefficient("j") * j
        + value.coefficient("n") * n
        >= 0
        for n in range(7)
        for i in range(n)
        for j in range(i)
    )
    assert holds or not proved
