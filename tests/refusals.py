"""The programs of the collection that are refused today, with what the refusal says.

Each must raise `UnsupportedError`; `python -m tests.survey` shows which entries are stale.
"""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "straight_line.starred_unpacking": "a starred target is not supported",
    "straight_line.augmented_numbers": "`s` is written in place while `x` may share its memory",
    "calls.starred": "`total` takes a variable number of arguments",
    "calls.function_argument": "no derivative rule for this use of `f_x`",
    "recursion.tree_of_numbers": "operator.mul has no derivative by its argument `a`",
    "inplace.view_of_row": "`row` is written in place while `b` may share its memory",
    "inplace.transposed_view": "`flat` is written in place while `b` may share its memory",
    "inplace.helper_writes_and_returns": "`z` is written in place while `y` may share its memory",
    "inplace.element_swap": "`y` is written in place while an element of `y` may share its memory",
    "numbers.fourier_energy": "no derivative rule for np.fft.fft",
    "factorizations.solve_with_pivots": (
        "`b` is written in place while an element of `b` may share its memory"
    ),
    "simulations.predator_prey": "`path` is written in place while `y` may share its memory",
}
REFUSED_REVERSE: dict[str, str] = {
    "while_loops.continued_fraction": (
        "`k` may be a number (rebound here) or an array (written in place)"
    ),
    "inplace.helper_writes": "`v` may be a number (rebound here) or an array (written in place)",
    "containers_readonly.dict_items": "no derivative rule for this use of `params`",
    "containers_readonly.namedtuple_fields": "no derivative rule for this use of `layer`",
    "containers_readonly.dataclass_fields": "no derivative rule for this use of `system`",
    "containers_readonly.object_attributes": "no derivative rule for this use of `model`",
    "simulations.n_body": (
        "`position` may be a number (rebound here) or an array (written in place)"
    ),
    "simulations.spring_chain": "`x` may be a number (rebound here) or an array (written in place)",
}
REFUSED_FORWARD: dict[str, str] = {
    "factorizations.gram_schmidt_rows": "`row` is written in place while `a` may share its memory",
    "solvers.durbin": "`s` is written in place while `r` may share its memory",
    "solvers.jacobi_system": "`s` is written in place while `b` may share its memory",
}
