"""One solver for all analyses that carry a state from statement to statement.

A problem says what a statement does to the state (`transfer`) and how the states of two paths
become one (`join`); branches, loops, `break` and `try` are known here alone. States are values:
`transfer` gives back another one. Since `join` only grows, in a lattice of finite height, loops
come to an end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .facts import fact
from .index import ProgramIndex
from .nodes import (
    Assign,
    Block,
    Break,
    Call,
    Continue,
    Display,
    Do,
    Expr,
    For,
    Function,
    If,
    Return,
    Stmt,
    Try,
    Var,
    While,
    With,
)
from .visitor import binds, blocks, names_in, reads, statements, tried_and_rest

State = TypeVar("State")
_BRANCHING = (If, For, While, With, Break, Continue, Return)  # a `Try` is an `If`


class Problem(ABC, Generic[State]):
    """What an analysis overrides. `forward` says which way the state goes; "beyond" means after
    in a forward problem and before in a backward one.

    `bottom` is the state where no path comes from, and is neutral to `join`.
    """

    forward = False
    bottom: State

    def boundary(self, function: Function) -> State:
        """The state at the start of a function (backward: at its end)."""
        return self.bottom

    @abstractmethod
    def join(self, a: State, b: State) -> State:
        """The state where two paths meet."""

    @abstractmethod
    def transfer(self, stmt: Stmt, state: State) -> State:
        """The state beyond a statement. Of a compound statement this is what happens when it is
        reached: a test is evaluated (that of a `while` at every iteration), what a `for` iterates
        over is read, a `try` binds that nothing was caught."""

    def enter(self, stmt: For | Try, state: State) -> State:
        """The state beyond what is bound on the way into a block: the targets of a `for` at the
        start of each iteration, the name of a caught exception."""
        return state

    def beyond(self, stmt: Stmt, branch: int, state: State) -> State:
        """The state beyond one of the blocks of a statement."""
        return state


class Solution(Generic[State]):
    """The states before and after each statement, by its number in `index`, and at the start of
    each block, by the number of its statement and which of its blocks it is (after what `enter`
    binds). `result` is the state at the other end of the function."""

    def __init__(self, index: ProgramIndex, bottom: State) -> None:
        self.index = index
        self.before = [bottom] * len(index)
        self.after = [bottom] * len(index)
        self.starts: dict[tuple[int, int], State] = {}
        self.result = bottom


def solve(
    function: Function, problem: Problem[State], index: ProgramIndex | None = None
) -> Solution[State]:
    """The states of a problem at every point of a function.

    >>> from tangentlike.frontend.lower import program
    >>> from .visitor import binds, reads
    >>> class Live(Problem[frozenset]):
    ...     bottom = frozenset()
    ...     join = frozenset.__or__
    ...     def transfer(self, stmt, state):
    ...         return (state - set(binds(stmt))) | reads(stmt)
    >>> found = solve(program("t = a * b; y = t + a; return y"), Live())
    >>> [sorted(state) for state in found.before]
    [['a', 'b'], ['a', 't'], ['y']]
    """
    index = fact(ProgramIndex, function) if index is None else index
    solution = Solution(index, problem.bottom)
    boundary = problem.boundary(function)
    solver = (_Forward if problem.forward else _Backward)(problem, solution, boundary)
    solution.result = solver.block(function.body, boundary, problem.bottom)
    return solution


class _Solver(Generic[State]):
    """What both directions share. An inner loop whose surroundings did not change since it was
    last solved is not solved again: nesting costs no more than the states do change."""

    def __init__(self, problem: Problem[State], solution: Solution[State], boundary: State) -> None:
        self.problem = problem
        self.solution = solution
        self.number = solution.index.number
        self.solved: dict[int, tuple[Any, State]] = {}


class _Backward(_Solver[State]):
    """`leave` is the state where a `break` goes, `head` where a `continue` goes, `caught` where an
    exception goes, if anywhere."""

    caught: State | None = None

    def __init__(self, problem: Problem[State], solution: Solution[State], boundary: State) -> None:
        super().__init__(problem, solution, boundary)
        self.head = self.end = boundary

    def block(self, block: Block, state: State, leave: State) -> State:
        """The state before a block from that after it."""
        for stmt in reversed(block):
            number = self.number(stmt)
            self.solution.after[number] = state
            state = self.statement(stmt, number, state, leave)
            if self.caught is not None:
                state = self.problem.join(state, self.caught)
            self.solution.before[number] = state
        return state

    def statement(self, stmt: Stmt, number: int, state: State, leave: State) -> State:
        problem = self.problem
        if not isinstance(stmt, _BRANCHING):
            return problem.transfer(stmt, state)
        match stmt:
            case Try():
                return self.attempt(stmt, number, state, leave)
            case If():
                first = self.part(stmt, number, 0, state, leave)
                second = self.part(stmt, number, 1, state, leave)
                return problem.transfer(stmt, problem.join(first, second))
            case For() | While():
                given = (state, self.caught)
                known = self.solved.get(number)
                if known is None or known[0] != given:
                    known = self.solved[number] = (given, self.loop(stmt, number, state))
                return known[1]
            case With():
                return problem.transfer(stmt, self.part(stmt, number, 0, state, leave))
            case Return():
                return problem.transfer(stmt, self.end)
        return leave if isinstance(stmt, Break) else self.head

    def part(self, stmt: Stmt, number: int, branch: int, state: State, leave: State) -> State:
        """The state before one of the blocks of a statement."""
        found = self.block(blocks(stmt)[branch], state, leave)
        found = self.solution.starts[number, branch] = self.problem.beyond(stmt, branch, found)
        return found

    def loop(self, stmt: For | While, number: int, after: State) -> State:
        """The state at the head of a loop: what follows it and what an iteration does."""
        problem, head, around = self.problem, after, self.head
        while True:
            test = problem.transfer(stmt, head) if isinstance(stmt, While) else head
            self.head = test
            inside = self.part(stmt, number, 0, test, after)
            self.head = around
            further = problem.enter(stmt, inside) if isinstance(stmt, For) else inside
            further = problem.join(head, further)
            if further == head:
                return problem.transfer(stmt, head)
            head = further

    def attempt(self, stmt: Try, number: int, state: State, leave: State) -> State:
        """A `try` may be left for its other block before and after each statement it protects."""
        problem = self.problem
        tried, rest = tried_and_rest(stmt)
        caught = problem.enter(stmt, self.part(stmt, number, 1, state, leave))
        after = self.block(rest, state, leave)
        around = self.caught
        self.caught = caught if around is None else problem.join(around, caught)
        body = self.block(tried, problem.join(after, caught), leave)
        self.caught = around
        self.solution.starts[number, 0] = body = problem.beyond(stmt, 0, body)
        return problem.transfer(stmt, problem.join(body, caught))


class _Forward(_Solver[State]):
    """`left` is the state that the `break`s of each loop around take out of it, `raised` that
    which the statements of each `try` around may take to its other block."""

    def __init__(self, problem: Problem[State], solution: Solution[State], boundary: State) -> None:
        super().__init__(problem, solution, boundary)
        self.left: list[State] = []
        self.raised: list[State] = []

    def block(self, block: Block, state: State, _: State) -> State:
        """The state after a block from that before it."""
        for stmt in block:
            number = self.number(stmt)
            self.solution.before[number] = state
            self.may_raise(state)
            state = self.statement(stmt, number, state)
            self.solution.after[number] = state
            self.may_raise(state)
        return state

    def may_raise(self, state: State) -> None:
        for place in range(len(self.raised)):
            self.raised[place] = self.problem.join(self.raised[place], state)

    def statement(self, stmt: Stmt, number: int, state: State) -> State:
        problem = self.problem
        if not isinstance(stmt, _BRANCHING):
            return problem.transfer(stmt, state)
        match stmt:
            case Try():
                return self.attempt(stmt, number, problem.transfer(stmt, state))
            case If():
                state = problem.transfer(stmt, state)
                first = self.part(stmt, number, 0, state)
                return problem.join(first, self.part(stmt, number, 1, state))
            case For() | While():
                known = self.solved.get(number)
                if known is None or known[0] != state or self.raised:
                    known = self.solved[number] = (state, self.loop(stmt, number, state))
                return known[1]
            case With():
                return self.part(stmt, number, 0, problem.transfer(stmt, state))
            case Return():
                return problem.transfer(stmt, state)
        self.left[-1] = problem.join(self.left[-1], state)  # (a `break`)
        return problem.bottom

    def part(self, stmt: Stmt, number: int, branch: int, state: State) -> State:
        """The state after one of the blocks of a statement."""
        self.solution.starts[number, branch] = state
        found = self.block(blocks(stmt)[branch], state, state)
        return self.problem.beyond(stmt, branch, found)

    def loop(self, stmt: For | While, number: int, state: State) -> State:
        """The state after a loop; at its head that before it and that after an iteration meet."""
        problem = self.problem
        head = problem.transfer(stmt, state) if isinstance(stmt, For) else state
        self.left.append(problem.bottom)
        while True:
            test = problem.transfer(stmt, head) if isinstance(stmt, While) else head
            inside = problem.enter(stmt, test) if isinstance(stmt, For) else test
            further = problem.join(head, self.part(stmt, number, 0, inside))
            if further == head:
                return problem.join(test, self.left.pop())
            head = further

    def attempt(self, stmt: Try, number: int, state: State) -> State:
        problem = self.problem
        tried, rest = tried_and_rest(stmt)
        self.solution.starts[number, 0] = state
        self.raised.append(state)
        state = self.block(tried, state, state)
        caught = problem.enter(stmt, self.raised.pop())
        state = problem.beyond(stmt, 0, self.block(rest, state, state))
        return problem.join(state, self.part(stmt, number, 1, caught))


class Displays(Problem[frozenset[str]]):
    """Which names stand for a list or a tuple just as it was written out where they were bound:
    what stands in it was not bound again, and nothing that might have changed the list had it.
    Statements that `look` only read the lists that they are given as arguments.

    >>> from tangentlike.frontend.lower import program
    >>> fn = program("p = [a, b]; q = (a, b); y = f(p); p.append(y); b = g(y); z = f(q)")
    >>> found = Displays(fn, lambda stmt: True)
    >>> [sorted(found.at(stmt)) for stmt in fn.body]
    [[], ['p'], ['p', 'q'], ['p', 'q'], ['q'], []]
    """

    forward = True

    def __init__(
        self, function: Function, look: Callable[[Stmt], bool] = lambda stmt: False
    ) -> None:
        self.look = look
        bound = Counter(name for stmt in statements(function.body) for name in binds(stmt))
        self.made: dict[str, Display] = {}
        for stmt in statements(function.body):
            match stmt:
                case Assign(target=str(name), value=Display() as made) if bound[name] == 1:
                    self.made[name] = made
        self.bottom = frozenset(self.made)
        self.found = solve(function, self)

    def at(self, stmt: Stmt) -> dict[str, tuple[Expr, ...]]:
        """What stands in them, before a statement."""
        known = self.found.before[self.found.index.number(stmt)]
        return {name: self.made[name].items for name in known}

    def boundary(self, function: Function) -> frozenset[str]:
        return frozenset()

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a & b

    def transfer(self, stmt: Stmt, state: frozenset[str]) -> frozenset[str]:
        met = reads(stmt)
        if self.look(stmt) and isinstance(stmt, Assign | Do) and isinstance(stmt.value, Call):
            given = {arg.name for arg in stmt.value.args if isinstance(arg, Var)}
            met -= given
        lists = {name for name in state & met if self.made[name].form != "tuple"}
        state = self.enter(stmt, state - lists)
        if isinstance(stmt, Assign) and isinstance(stmt.target, str):
            return state | (self.bottom & {stmt.target})
        return state

    def enter(self, stmt: Stmt, state: frozenset[str]) -> frozenset[str]:
        bound = frozenset(binds(stmt))
        return frozenset(name for name in state if not bound & names_in(self.made[name]))
