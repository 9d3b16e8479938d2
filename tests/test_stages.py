"""The table of stages, and what is recorded of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
import tangentlike.cli
from tangentlike.pipeline.table import PROPERTIES, STAGE_NAMES, STAGES, Record, collecting, costs


def scaled(v: Any, k: float) -> Any:
    return v * k


def loss(x: Any) -> Any:
    y = scaled(np.sin(x), 2.0)
    y[0] += 1.0
    return np.sum(scaled(y, 3.0))


def test_each_stage_finds_what_it_requires() -> None:
    holds: set[str] = set()
    for stage in STAGES:
        missing = set(stage.requires) - holds
        assert not missing, f"{stage.name} requires {missing}"
        assert set(stage.preserves) <= holds
        holds = (holds & set(stage.preserves)) | set(stage.makes)
        assert holds <= PROPERTIES.keys()
    assert holds >= {"derivative", "text"}
    assert set(PROPERTIES) == {name for stage in STAGES for name in stage.makes}


def test_the_table_is_short_and_the_command_line_knows_it() -> None:
    assert len(STAGES) <= 12
    assert sys.modules["tangentlike.cli.main"].STAGES == STAGE_NAMES  # (`cli.main` is the command)
    assert all(stage.passes and stage.does for stage in STAGES)


@pytest.mark.usefixtures("helpers_are_pairs")  # (`scaled` stays a call)
def test_every_stage_is_a_program_with_its_callees() -> None:
    df = tl.grad(loss)
    for stage in STAGE_NAMES[:6]:
        assert "def scaled(v" in df.stages[stage], stage
        assert df.stages[stage].rstrip().splitlines()[-1].startswith("    return")
    assert "scaled(" in df.stages["prepared"] and "scaled_fwd(" in df.stages["called"]


def either_is_written(a, b):
    q = a if b[0] > 0 else b
    q[0] = b[1] * a[2]
    return np.sum(a * b)


def test_the_stages_of_a_gradient_by_identity() -> None:
    df = tl.grad(either_is_written, wrt=(0, 1))
    assert "bars" in df.source and tuple(df.stages) == STAGE_NAMES
    for stage in STAGE_NAMES[:6]:
        assert "def either_is_written(a, b)" in df.stages[stage], stage


def test_what_forward_mode_leaves_out() -> None:
    df = tl.autodiff(loss, mode="forward")
    left_out = {"prepared", "called"}
    assert tuple(df.stages) == tuple(name for name in STAGE_NAMES if name not in left_out)


def test_costs_add_up() -> None:
    with collecting() as records:
        tl.autodiff(tl.grad(lambda x: loss(x) * x[0]), mode="forward").source  # noqa: B018
    assert len(records) == 2
    rows = {row.stage: row for row in costs(records)}
    parts = sum(row.milliseconds for name, row in rows.items() if name != "total")
    assert parts == pytest.approx(rows["total"].milliseconds)
    assert all(row.milliseconds >= 0.0 for row in rows.values())
    assert rows["lowered"].runs >= 2 * 3  # of the lambda, loss and scaled, at either order
    assert rows["simplified"].analyses > 0


def test_time_inside_a_stage_counts_for_the_inner_one() -> None:
    record = Record()
    with record.stage("called"), record.stage("lowered"):
        sum(range(200_000))
    assert record.costs["called"].seconds < 0.2 * record.costs["lowered"].seconds
