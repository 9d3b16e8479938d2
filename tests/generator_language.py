"""The writer of programs that use all of the language: statements, functions as values, containers.

It adds to `Writer` what arrays do not need. The texts of blocks without statements of their own
stand in `generator_phrases`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tests import generator_phrases as phrases
from tests.generator_text import HELPERS, Scope, condition, index, number, vector
from tests.generator_writer import Writer


class LanguageWriter(Writer):
    """Writes one program; names that an inner function assigns are its own."""

    library: ClassVar[dict[str, tuple[str, str]]] = HELPERS | phrases.HELPERS

    def __init__(self, seed: int, features: frozenset[str]) -> None:
        super().__init__(seed, features)
        self.own: Scope | None = None  # what the inner function being written has bound
        self.returns = "numbers"
        self.inner_count = 0

    def program(self) -> str:
        text = super().program()
        missing = [n for n in phrases.HELPERS if f"{n}(" in text and n not in self.helpers]
        if missing:
            text = "\n\n".join([*(self.library[n][1] for n in missing), text])
        used = [p for name, p in phrases.PRELUDE if name in text]
        return "\n".join([*used, text])

    def sorts(self, depth: int) -> list[tuple[int, Callable[[int], None]]]:
        found = [*super().sorts(depth), (4, self.phrase), (4, self.value), (2, self.update)]
        if depth < 4:
            found += [(2, self.attempt), (1, self.context), (2, self.matching), (2, self.searching)]
            if self.own is None:
                found.append((3, self.inner))
        return found

    def target(self, sort: str) -> str:
        if self.own is None:
            return super().target(sort)
        spare = {"vectors": ["y1", "y2"], "numbers": ["z1", "z2"], "matrices": ["k1"]}[sort]
        name = self.random.choice([*getattr(self.own, sort), *spare])
        for scope in (self.own, self.scope):
            names = getattr(scope, sort)
            if name not in names:
                names.append(name)
        return name

    def jump(self, depth: int) -> None:
        if self.own is None or self.random.random() < 0.7:
            super().jump(depth)
            text = self.lines[-1]
            if self.own is None or "return" not in text:
                return
            self.lines[-1] = " " * (len(text) - len(text.lstrip())) + self.returned()
        else:
            self.line(depth, f"if {condition(self.random, self.scope)}:")
            self.line(depth + 1, self.returned())

    def returned(self) -> str:
        value = vector if self.returns == "vectors" else number
        return f"return {value(self.random, self.scope)}"

    def swap(self, depth: int) -> None:
        if self.own is None:
            super().swap(depth)
        else:
            self.rebind(depth)

    # ------------------------------------------------------------- blocks of fixed text

    def phrase(self, depth: int) -> None:
        """Some lines about one construct, with random operands."""
        self.phrased(depth, self.random.choice(phrases.PHRASES))

    def value(self, depth: int) -> None:
        """A number by an expression that is control flow: ternaries, `and`, walrus, comparisons."""
        r, scope = self.random, self.scope
        a, b, c = (number(r, scope) for _ in range(3))
        s, test, other = r.choice(scope.numbers), condition(r, scope), condition(r, scope)
        text = r.choice(
            [
                f"{a} if {test} else {b} if {other} else {c}",
                f"{test} and {a} or {b}",
                f"({a}) or {b}",
                f"({test}) * {a}",
                f"({a} if -0.5 < {s} <= 0.4 else {b}) * 0.7",
                f"({a} if not ({test}) else {s}) + ({b} if {other} else 0.1)",
                f"(lambda u1, u2=0.5: u1 * u2)({a})",
                f"max({a}, {s}) - min({b}, 0.3)",
                f"abs({a}) + float({b})",
            ]
        )
        self.line(depth, f"{self.target('numbers')} = {text}")

    def update(self, depth: int) -> None:
        r, scope = self.random, self.scope
        value = number(r, scope)
        if self.own is None:
            name = r.choice(scope.numbers)
        else:
            name = self.target("numbers")
            self.line(depth, f"{name} = {value}")
        operator = r.choice(["+= 0.3 *", "-= 0.2 *", "*= 0.8 *"])
        self.line(depth, f"{name} {operator} np.cos({r.choice(scope.numbers)})")

    # -------------------------------------------------------- statements with statements inside

    def indented(self, depth: int, head: str, scope: Scope, most: int = 2) -> Scope:
        """A head and a block under it; what is in scope at its end."""
        self.line(depth, head)
        self.scope = scope.copy()
        self.block(self.random.randint(1, most), depth + 1)
        return self.scope

    def attempt(self, depth: int) -> None:
        r, before = self.random, self.scope
        error = r.choice(["ValueError", "ZeroDivisionError", "IndexError"])
        fails = {
            "ValueError": [f"if {condition(r, before)}:", "    raise ValueError(0)"],
            "ZeroDivisionError": [f"h{depth} = 1.0 / int({condition(r, before)})"],
            "IndexError": [f"h{depth} = [1.0, 2.0][int({condition(r, before)}) * 2]"],
        }[error]
        self.line(depth, "try:")
        early = r.random() < 0.3
        if early:
            for text in fails:
                self.line(depth + 1, text)
        self.block(r.randint(1, 2), depth + 1)
        if not early and r.random() < 0.7:
            for text in fails:
                self.line(depth + 1, text)
        tried = self.scope
        names = r.choice([error, f"{error} as err", f"(KeyError, {error})"])
        if names.endswith(" as err"):
            self.line(depth, "except KeyError as other:")
            self.line(depth + 1, "raise other")
        handled = self.indented(depth, f"except {names}:", before)
        if r.random() < 0.4:
            tried = self.indented(depth, "else:", tried)
        if r.random() < 0.3:
            done = self.indented(depth, "finally:", before, 1)
            tried, handled = tried.union(done), handled.union(done)
        self.scope = tried.common(handled)

    def context(self, depth: int) -> None:
        heads = [
            "with np.errstate(all='ignore'):",
            "with contextlib.nullcontext(0.5) as h0, np.errstate(over='ignore'):",
        ]
        self.indented(depth, self.random.choice(heads), self.scope)

    def matching(self, depth: int) -> None:
        r, before = self.random, self.scope
        i, test = index(r, before), condition(r, before)
        v, s = r.choice(before.vectors), r.choice(before.numbers)
        subject, cases = r.choice(
            [
                (f"{i} % 3", ["case 0:", f"case 1 if {test}:", "case _:"]),
                (f"({i} % 2, {test})", ["case (0, True):", "case (k, _) if k:", "case _:"]),
                (f"[{s}, {v}]", [f"case [n0, v0] if {test}:", "case [n0, *v0]:", "case _:"]),
                (f"{{'u': {s}}}", ["case {'w': n0}:", f"case {{'u': n0}} if {test}:", "case _:"]),
                (f"Pair({v}, {s})", [f"case Pair(v0, n0) if {test}:", "case Pair(left=v0):"]),
            ]
        )
        self.line(depth, f"match {subject}:")
        ends = [before] * (cases[-1] == "case Pair(left=v0):")
        for case in cases:
            scope = before.copy()
            scope.numbers += ["n0"] * ("n0" in case)
            scope.vectors += ["v0"] * ("v0" in case and "*v0" not in case)
            ends.append(self.indented(depth + 1, case, scope).without("n0", "v0"))
        self.scope = ends[0]
        for end in ends[1:]:
            self.scope = self.scope.common(end)

    def searching(self, depth: int) -> None:
        """A loop that ends by `break`, and what follows when it does not."""
        r, before = self.random, self.scope
        v, i = r.choice(before.vectors), f"i{depth}"
        endless = r.random() < 0.4
        if endless:
            self.line(depth, f"{i} = 0")
        self.line(depth, "while True:" if endless else f"for {i}, e{depth} in enumerate({v}):")
        self.scope = before.copy()
        self.scope.numbers += [f"e{depth}"] * (not endless)
        if endless:
            self.line(depth + 1, f"{i} += 1")
            self.line(depth + 1, f"if {i} > 3:")
            self.line(depth + 2, "break")
        else:
            self.scope.indices.append(i)
        self.loops += 1
        self.block(r.randint(1, 2), depth + 1)
        test = condition(r, self.scope)
        self.line(depth + 1, f"if {test}:")
        if r.random() < 0.5:
            self.block(1, depth + 2)
        self.line(depth + 2, "break")
        if r.random() < 0.4:
            self.block(1, depth + 1)
        self.loops -= 1
        self.scope = before.copy()
        if r.random() < 0.6 and not endless:
            self.indented(depth, "else:", before)
            self.scope = before.copy()

    def inner(self, depth: int) -> None:
        """A function that captures what is in scope, and a use of it."""
        r, before, loops = self.random, self.scope, self.loops
        self.inner_count += 1
        name = f"inner{self.inner_count}"
        self.returns = r.choice(["vectors", "numbers"])
        default = r.choice(["", f"={r.choice(before.numbers)}", "=0.5"])
        self.line(depth, f"def {name}(y0, z0{default}):")
        self.own, self.scope, self.loops = Scope(["y0"], [], ["z0"], []), before.copy(), 0
        self.scope.vectors.append("y0")
        self.scope.numbers.append("z0")
        self.scope.indices = []
        self.block(r.randint(1, 3), depth + 1)
        self.line(depth + 1, self.returned())
        sort, self.own, self.scope, self.loops = self.returns, None, before, loops
        if r.random() < 0.3:
            self.rebind(depth)  # perhaps of what the function captures
        v, s = r.choice(self.scope.vectors), r.choice(self.scope.numbers)
        use = r.choice(phrases.USES["numbers" if sort == "numbers" else "vectors"])
        needs = not default and "<S>" not in use
        text = use.replace("<V>", v).replace("<S>", s).replace("<N>", name)
        if needs:
            text = f"{name}({v}, {s})"
        self.line(depth, f"{self.target(sort)} = {text}")

    def helper_call(self, depth: int) -> None:
        if self.own is not None or self.random.random() < 0.4:
            super().helper_call(depth)
            return
        r, scope = self.random, self.scope
        name, sort, calls = r.choice(phrases.CALLS)
        self.helpers.add(name)
        text = r.choice(calls)
        for key, names in (("V", scope.vectors), ("S", scope.numbers)):
            while f"<{key}>" in text:
                text = text.replace(f"<{key}>", r.choice(names), 1)
        self.line(depth, f"{self.target(sort)} = {text}")
