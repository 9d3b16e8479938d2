"""Mutation testing: does a test fail when the code is wrong?

    python -m tests.mutation tangentlike/analysis/aliases.py --sample 30 --seed 1

One place of a file is changed at a time (a test negated, `and` made `or`, `<` made `<=`, a statement
dropped): in the memory of a forked process, never on disk. The tests that run the changed line are
asked, those that found the most and the fastest first, until one fails. What no test notices is
printed. With `--results FILE` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
import io
import json
import os
import random
import signal
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parent.parent
# Tests of values, not of texts: a longer text is no mistake.
SELECTION = (
    *("test_programs.py::test_reverse", "test_programs.py::test_forward", "test_inplace.py"),
    *("test_entangled.py", "test_callee_writes.py", "test_shared_arguments.py", "test_saved.py"),
    *("test_attempts.py", "test_masked_programs.py", "test_copies_or_views.py", "test_scopes.py"),
    *("test_effects_first.py", "test_short_loops.py", "test_aliasing.py", "test_reverse_twice.py"),
    *("test_operators_inside.py", "test_complex_inside.py", "test_kept_results.py"),
    *("test_repeated_items.py", "test_raised_by_helpers.py", "test_unknown_objects.py"),
    *("test_rank_zero.py", "test_list_lengths.py", "test_reverse_conditions.py"),
    *("test_items_written_by_helpers.py", "test_after_the_last_use.py"),
)
_SECONDS = 30  # for one test; a mutant that makes one run longer is found


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of a file: the node that is replaced, by its number in a walk over the tree."""

    file: str
    line: int
    last: int
    node: int
    kind: str
    old: str
    new: str

    @property
    def key(self) -> str:
        return f"{self.file}|{self.node}|{self.kind}|{self.old}"


# ------------------------------------------------------------------------------ what is changed

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in place of a node, each with a word for it."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "negated", _with(node, test=_negated(test))
        case ast.comprehension(ifs=[test, *others]):
            yield "negated", _with(node, ifs=[_negated(test), *others])
            yield "dropped", _with(node, ifs=others)
        case ast.BoolOp(op=op, values=values):
            yield "swapped", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for k in range(len(values)):
                left = [v for n, v in enumerate(values) if n != k]
                yield f"without {k}", left[0] if len(left) == 1 else _with(node, values=left)
        case ast.Compare(ops=[op], left=left) if type(op) in _COMPARED:
            yield "compared", _with(node, ops=[_COMPARED[type(op)]()])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "affirmed", operand
        case ast.Constant(value=bool(value)):
            yield "flipped", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "one more", ast.Constant(value + 1)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub()):
            yield "left only", left
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield "dropped", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Raise():
            yield "dropped", ast.Pass()
        case ast.match_case(guard=None):
            yield "never", _with(node, guard=ast.Constant(False))
        case ast.match_case():
            yield "always", _with(node, guard=None)


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def mutants(file: str) -> list[Mutant]:
    """All changes of what the functions of a file do."""
    tree = ast.parse((ROOT / file).read_text())
    inside = {
        id(part)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for stmt in function.body
        for part in ast.walk(stmt)
    }
    found = []
    for number, node in enumerate(ast.walk(tree)):
        for kind, new in changes(node) if id(node) in inside else ():
            first, last = _lines(node)
            old = ast.unparse(node).split("\n")[0]
            found.append(Mutant(file, first, last, number, kind, old, _shown(new)))
    return found


def _shown(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split("\n")[0]


def _lines(node: Any) -> tuple[int, int]:
    """The lines of a node itself, without the blocks in it."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, node.pattern.end_lineno or node.pattern.lineno
    if isinstance(node, ast.comprehension):
        return node.ifs[0].lineno, node.ifs[0].end_lineno or node.ifs[0].lineno
    if isinstance(node, ast.If | ast.While):
        return node.test.lineno, node.test.end_lineno or node.test.lineno
    return node.lineno, node.end_lineno or node.lineno


def mutated(mutant: Mutant) -> types.CodeType:
    """The code of the file with the change in it; all lines are where they were."""
    path = ROOT / mutant.file
    tree = ast.parse(path.read_text())
    node = list(ast.walk(tree))[mutant.node]
    new = next(new for kind, new in changes(node) if kind == mutant.kind)
    tree = _Replaced(node, new).visit(tree)
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        if node is not self.old:
            return self.generic_visit(node)
        for part in ast.walk(self.new):
            if "lineno" in part._attributes and not hasattr(part, "lineno"):
                # (A case of a `match` and a part of a comprehension have no line of their own.)
                place = next(n for n in ast.walk(node) if hasattr(n, "lineno"))
                ast.copy_location(part, place)
        return self.new


# ----------------------------------------------------------------------- in the running program


def patch(mutant: Mutant) -> bool:
    """Give the functions of the module, as they are imported everywhere, the changed code; False
    if the function that is changed is not found."""
    codes = {_place(c): c for c in _codes(mutated(mutant))}
    name = mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = importlib.import_module(name)
    found = False
    for function in _functions(vars(module).values(), name):
        code = function.__code__
        new = codes.get(_place(code))
        if new is not None and new.co_freevars == code.co_freevars:
            found |= code.co_firstlineno <= mutant.line <= _end(code)
            function.__code__ = new
    return found


def _place(code: types.CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


def _end(code: types.CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line]
    return max([*lines, *(_end(c) for c in code.co_consts if isinstance(c, types.CodeType))])


def _functions(values: Iterable[Any], module: str) -> Iterator[types.FunctionType]:
    for value in values:
        for name in ("__func__", "fget", "func"):  # (static methods, properties, cached ones)
            value = getattr(value, name, None) or value
        if isinstance(value, type) and value.__module__ == module:
            yield from _functions(vars(value).values(), module)
            continue
        value = inspect.unwrap(value) if hasattr(value, "__wrapped__") else value
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            yield value


# -------------------------------------------------------------------------------------- running


def outcome(item: pytest.Item) -> str:
    """What a test says: "" if it passes, else its error in a line."""
    signal.alarm(_SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            reports = runtestprotocol(item, log=False, nextitem=None)
    finally:
        signal.alarm(0)
    failed = [r for r in reports if r.failed]
    return "" if not failed else _error(str(failed[0].longrepr))


def _error(text: str) -> str:
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (lines or text.splitlines() or ["failed"])[0][:160] or "failed"


def _too_long(*_: Any) -> None:
    raise TimeoutError("too long")


def in_fork(work: Any) -> Any:
    """What a function gives, in a process of its own (as JSON)."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.signal(signal.SIGALRM, _too_long)
        try:
            result = work()
        except BaseException as error:  # (whatever a mutant does)
            result = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "w") as out:
            out.write(json.dumps(result))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as given:
        text = given.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "the process died"


def coverage(items: list[pytest.Item], files: set[str]) -> dict[str, Any]:
    """For each test that passes: its seconds, and the lines of the files that it runs."""
    found: dict[str, Any] = {}
    lines: set[tuple[str, int]] = set()

    def local(frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    for item in items:
        lines.clear()
        start = time.perf_counter()
        sys.settrace(trace)
        try:
            error = outcome(item)
        finally:
            sys.settrace(None)
        if not error:
            shown = sorted((str(Path(f).relative_to(ROOT)), n) for f, n in lines)
            found[item.nodeid] = [time.perf_counter() - start, shown]
    return found


class Session:
    """A pytest plugin that asks the collected tests about mutants instead of running them."""

    def __init__(self, chosen: list[Mutant], options: argparse.Namespace) -> None:
        self.chosen, self.options = chosen, options
        self.found: dict[str, dict[str, Any]] = {}
        if options.results and Path(options.results).exists():
            lines = Path(options.results).read_text().splitlines()
            self.found = {r["key"]: r for r in map(json.loads, lines)}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        importlib.import_module("tangentlike.pipeline.stages")  # (once, for all processes)
        items = {item.nodeid: item for item in session.items}
        covered = self._coverage(list(items.values()))
        by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        for name, (_, lines) in covered.items():
            for file, line in lines:
                by_line[file, line].add(name)
        killers = Counter(str(row["test"]) for row in self.found.values())
        for number, mutant in enumerate(self.chosen):
            if mutant.key in self.found:
                continue
            lines_of = range(mutant.line, mutant.last + 1)
            asked = {n for line in lines_of for n in by_line[mutant.file, line] if n in items}
            order = sorted(asked, key=lambda n: (-killers[n], covered[n][0]))
            start = time.perf_counter()
            result = in_fork(functools.partial(self._judge, mutant, [items[n] for n in order]))
            if isinstance(result, str):
                result = ["killed", "", result]
            killers[result[1]] += 1
            self._note(mutant, result, len(asked))
            took = time.perf_counter() - start
            print(f"{number + 1}/{len(self.chosen)} {result[0]} ({took:.1f} s)", flush=True)
        return True

    def _coverage(self, items: list[pytest.Item]) -> dict[str, Any]:
        files = {str(ROOT / file) for file in self.options.files}
        kept = Path(self.options.coverage) if self.options.coverage else None
        if kept is not None and kept.exists():
            return dict(json.loads(kept.read_text()))
        found = in_fork(lambda: coverage(items, files))
        if isinstance(found, str):
            raise RuntimeError(found)
        if kept is not None:
            kept.write_text(json.dumps(found))
        return dict(found)

    def _judge(self, mutant: Mutant, items: list[pytest.Item]) -> list[str]:
        """What becomes of a mutant, which test says so, and how."""
        if not patch(mutant):
            return ["not reached", "", ""]
        start = time.perf_counter()
        for number, item in enumerate(items):
            if number > 20 and time.perf_counter() - start > self.options.seconds:
                return ["survived", "", f"{number} of {len(items)} tests were asked"]
            error = outcome(item)
            if error:
                return ["killed", item.nodeid, error]
        return ["survived" if items else "not run by any test", "", ""]

    def _note(self, mutant: Mutant, result: list[str], asked: int) -> None:
        row = {**dataclasses.asdict(mutant), "key": mutant.key, "asked": asked}
        row.update(zip(("result", "test", "error"), result, strict=True))
        self.found[mutant.key] = row
        if self.options.results:
            with open(self.options.results, "a") as out:
                out.write(json.dumps(row) + "\n")


def report(chosen: list[Mutant], found: dict[str, dict[str, Any]]) -> str:
    """The score of each file, and what was not noticed."""
    lines = []
    for file in dict.fromkeys(m.file for m in chosen):
        rows = [found[m.key] for m in chosen if m.file == file and m.key in found]
        killed = sum(row["result"] == "killed" for row in rows)
        lines.append(f"{file}: {killed} of {len(rows)} found")
        for row in rows:
            if row["result"] != "killed":
                lines.append(f"  line {row['line']}: {row['result']} ({row['kind']})")
                lines += [f"    - {row['old']}", f"    + {row['new']}"]
    return "\n".join(lines)


def sampled(files: list[str], count: int | None, seed: int) -> list[Mutant]:
    """So many mutants of each file, the same for the same seed; all without a count."""
    found = []
    for file in files:
        every = mutants(file)
        if count is not None and count < len(every):
            every = random.Random(f"{seed} {file}").sample(every, count)
        found += sorted(every, key=lambda m: (m.line, m.node))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("files", nargs="+", help="files of the package")
    parser.add_argument("--tests", nargs="*", help="what pytest collects (files of tests)")
    parser.add_argument("--sample", type=int, help="so many mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="for a mutant that survives")
    parser.add_argument("--results", help="a file that results are added to, and read from")
    parser.add_argument("--coverage", help="a file for which test runs which lines")
    options = parser.parse_args()
    options.files = [str(Path(file).resolve().relative_to(ROOT)) for file in options.files]
    chosen = sampled(options.files, options.sample, options.seed)
    session = Session(chosen, options)
    tests = options.tests or [f"tests/{name}" for name in SELECTION]
    tests = [t for t in tests if (ROOT / t.partition("::")[0]).exists()]
    os.chdir(ROOT)
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--all", *tests], plugins=[session])
    print(report(chosen, session.found))


if __name__ == "__main__":
    main()
