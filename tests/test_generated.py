"""A fixed sample of generated programs, and free ones from Hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import agreement
from tests.generator import FEATURES, arguments, check_program, generate, load
from tests.generator_subjects import SUBJECTS
from tests.reduction import reduce_program
from tests.sampled import one_in

SAMPLE = [
    *(("straight", seed) for seed in range(8)),
    *(("functional", seed) for seed in range(8)),
    *(("writes", seed) for seed in range(8)),
    *(("inplace", seed) for seed in range(12)),
    *(("containers", seed) for seed in range(8)),
    *(("language", seed) for seed in range(9)),
    *(("everything", seed) for seed in range(6)),
    *((subject, seed) for subject in sorted(SUBJECTS) for seed in range(2) if subject != "complex"),
]


def programs(features: str) -> st.SearchStrategy[tuple[int, str]]:
    """A seed and the program made from it."""
    return st.integers(0, 2**32 - 1).map(lambda seed: (seed, generate(seed, features)))


@pytest.mark.parametrize(
    ("features", "seed"),
    one_in(7, [pytest.param(*case) for case in SAMPLE]),
    ids=lambda value: str(value),
)
def test_sample(features: str, seed: int) -> None:
    outcome = check_program(generate(seed, features), arguments(seed), f"{features} {seed}")
    if outcome != "agree":
        pytest.skip(outcome)


@pytest.mark.parametrize("features", ["again", "changed", "containers", "inplace", "writes"])
def test_sample_by_identity(features: str) -> None:
    """What the text by names does not need is right as well."""
    for seed in range(2):
        name = f"{features} {seed} by identity"
        outcome = check_program(generate(seed, features), arguments(seed), name, by_identity=True)
        assert outcome in ("agree", "skipped")


@pytest.mark.parametrize("features", ["containers", "everything", "taken"])
def test_sample_of_tangent_maps(features: str) -> None:
    for seed in range(2):
        name = f"{features} {seed} linearized"
        outcome = check_program(generate(seed, features), arguments(seed), name, linearized=True)
        assert outcome in ("agree", "skipped")


@pytest.mark.thorough
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs("inplace"))
def test_free(drawn: tuple[int, str]) -> None:
    seed, source = drawn
    check_program(source, arguments(seed % 1000), f"inplace {seed}")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("features", "least"),
    [("inplace", 8), ("functional", 9), ("writes", 8), ("containers", 8)],
)
def test_most_are_not_refused(features: str, least: int) -> None:
    """Refusals are honest but must stay few: of 9 programs, those that every way of asking
    (ranks known or not, both modes) accepts."""
    outcomes = [
        check_program(generate(seed, features), arguments(seed), f"few {features} {seed}")
        for seed in range(9)
    ]
    assert outcomes.count("agree") >= least, outcomes


# (Those with `try` may find a loop variable unbound; such programs are skipped.)
@pytest.mark.parametrize("features", sorted(set(FEATURES) - {"language", "everything", "inside"}))
def test_programs_run_and_stay_bounded(features: str) -> None:
    for seed in range(40):
        value = agreement.call(load(generate(seed, features)), arguments(seed))
        assert np.isfinite(value) and abs(value) < 1e4


def test_same_seed_same_program() -> None:
    assert generate(7) == generate(7) != generate(8)


def test_reduction_keeps_the_failure() -> None:
    source = generate(3)
    small = reduce_program(source, lambda text: "return" in text and "def program" in text)
    assert len(small) < len(source) / 2
