"""The writer of generated programs: statements of random sort, names kept in scope by sort."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import ClassVar

from tests.generator_subject import Lines
from tests.generator_subjects import SUBJECTS
from tests.generator_text import HELPERS, N, Scope, condition, index, matrix, number, vector


class Writer:
    """Writes one program; every choice comes from the seed."""

    library: ClassVar[dict[str, tuple[str, str]]] = HELPERS  # what `helpers` are names of

    def __init__(self, seed: int, features: frozenset[str]) -> None:
        self.random = Random(seed)
        self.features = features
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.scope = Scope()
        self.loops = 0
        self.subjects = [SUBJECTS[name] for name in sorted(SUBJECTS) if name in features]

    def program(self) -> str:
        """The whole source: what subjects need, the helpers used, then `program`."""
        more = ""
        if "modules" in self.features:
            more = self.random.choice([", xp=None", ", xp=np"])
            if more == ", xp=None":
                self.line(1, "if xp is None:")
                self.line(2, "xp = np")
        self.block(self.random.randint(4, 9), 1)
        self.line(1, f"return {self.result()}")
        body = "\n".join(self.lines)
        helpers = "\n\n".join(self.library[name][1] for name in sorted(self.helpers))
        text = f"{helpers}\n\ndef program(a, b, m, s, t{more}):\n{body}\n".lstrip()
        prelude = [entry for subject in self.subjects for entry in subject.prelude]
        return "\n".join([*(before for word, before in prelude if word in text), text])

    def result(self) -> str:
        r, scope = self.random, self.scope
        parts = [f"np.sum({r.choice(scope.vectors)} * {r.choice(scope.vectors)})"]
        parts += [f"np.sum(np.sin({r.choice(scope.matrices)}))"] * (r.random() < 0.6)
        parts += [f"{v}[{r.randrange(N)}]" for v in scope.vectors if r.random() < 0.4]
        parts += [r.choice(scope.numbers)]
        return " + ".join(parts)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, size: int, depth: int) -> None:
        for _ in range(size):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        """One statement of a random sort that the features allow."""
        sorts = self.sorts(depth)
        weights = [weight for weight, _ in sorts]
        self.random.choices(sorts, weights)[0][1](depth)

    def sorts(self, depth: int) -> list[tuple[int, Callable[[int], None]]]:
        """The sorts of statements that are allowed here, with their weights."""
        sorts: list[tuple[int, Callable[[int], None]]] = [(6, self.rebind), (1, self.swap)]
        if "calls" in self.features:
            sorts.append((2, self.helper_call))
        if "writes" in self.features:
            sorts += [(7, self.write), (2, self.fresh_copy)]
        if "views" in self.features:
            sorts.append((4, self.view))
        if "containers" in self.features:
            sorts.append((3, self.container))
        if self.subjects:
            sorts.append((9, self.about_subject))
        if depth < 4:
            sorts += [(2, self.branch)] * ("branches" in self.features)
            sorts += [(3, self.loop)] * ("loops" in self.features)
        if "jumps" in self.features and self.loops and depth > 1:
            sorts.append((1, self.jump))
        return sorts

    # ---------------------------------------------------------------- statements

    def rebind(self, depth: int) -> None:
        sort = self.random.choice(["vectors", "vectors", "numbers", "matrices"])
        value = {"vectors": vector, "numbers": number, "matrices": matrix}[sort]
        text = value(self.random, self.scope)
        self.line(depth, f"{self.target(sort)} = {text}")

    def target(self, sort: str) -> str:
        """An old name, or sometimes a new one, of the given sort."""
        names = getattr(self.scope, sort)
        spare = [n for n in Scope.spare[sort] if n not in names]
        if spare and self.random.random() < 0.4:
            names.append(spare[0])
            return spare[0]
        return self.random.choice(names)

    def swap(self, depth: int) -> None:
        sort = self.random.choice(["vectors", "numbers"])
        names = getattr(self.scope, sort)
        x, y = self.random.sample(names, 2)
        extra = " * 0.9" if sort == "numbers" else ""
        self.line(depth, f"{x}, {y} = {y}, {x}{extra}")

    def helper_call(self, depth: int) -> None:
        writing = "calls that write" in self.features
        names = [n for n in sorted(HELPERS) if writing or not HELPERS[n][0].startswith("!")]
        name = self.random.choice(names)
        self.helpers.add(name)
        signature = HELPERS[name][0].lstrip("!")
        results, _, parameters = signature.partition(" <- ")
        sorts = {"v": "vectors", "m": "matrices", "n": "numbers"}
        args = [self.random.choice(getattr(self.scope, sorts[p])) for p in parameters.split()]
        call = f"{name}({', '.join(args)})"
        targets = [self.target(sorts[p]) for p in results.split()]
        self.line(depth, f"{', '.join(targets)} = {call}" if targets else call)

    def write(self, depth: int) -> None:
        """A store or an update of an element, a slice, a mask, a gather, or the whole."""
        r, scope = self.random, self.scope
        v, w = r.choice(scope.vectors), r.choice(scope.vectors)
        m, i, j = r.choice(scope.matrices), index(r, scope), index(r, scope)
        c = number(r, scope)
        choices = [
            f"{v}[{i}] = {c}",
            f"{v}[{i}] += 0.3 * {w}[{j}]",
            f"{v}[{i}] *= np.cos({c})",
            f"{v}[1:] = 0.5 * {w}[:-1]",
            f"{v}[:2] = np.sin({w}[2:])",
            f"{v}[1:] += 0.3 * {w}[:-1] * {v}[1:]",
            f"{v}[::2] = {c}",
            f"{v}[1:3] *= np.cos({w}[:2])",
            f"{v} += 0.3 * {vector(r, scope)}",
            f"{v} *= np.cos({w})",
            f"{v}[:] = {vector(r, scope)}",
            f"{v}[{w} > 0.2] = {c}",
            f"{v}[{w} > 0.2] *= 0.7",
            f"{v}[[0, 2]] = {w}[[1, 1]] * 0.8",
            f"{m}[{i}] = {vector(r, scope)}",
            f"{m}[{i}, {j}] = {c}",
            f"{m}[:, {i}] += 0.2 * {v}",
            f"{m}[1:, 1:] *= np.cos({m}[:-1, :-1])",
            f"{m} *= np.cos({v})",
            f"{m} -= 0.2 * {m}.T",
            f"{v}[{i}], {v}[{j}] = {v}[{j}], {v}[{i}]",
        ]
        self.line(depth, r.choice(choices))

    def fresh_copy(self, depth: int) -> None:
        source, m = self.random.choice(self.scope.vectors), self.random.choice(self.scope.matrices)
        if self.random.random() < 0.2:
            text = self.random.choice([f"{m}[np.ix_([2, 0, 3, 1], [1, 1, 0, 2])]", f"{m}.copy()"])
            self.line(depth, f"{self.target('matrices')} = {text}")
            return
        text = self.random.choice(
            [
                f"{source}.copy()",
                "np.zeros(4)",
                f"np.zeros_like({source})",
                f"{source}[[3, 1, 1, 0]]",
                f"{m}[[2, 0, 3, 1], {index(self.random, self.scope)}]",
            ]
        )
        self.line(depth, f"{self.target('vectors')} = {text}")

    def view(self, depth: int) -> None:
        """A second name for the memory of the first."""
        r = self.random
        v, m, i = r.choice(self.scope.vectors), r.choice(self.scope.matrices), r.randrange(N)
        vectors = [v, v, f"{v}[::-1]", f"{v}[:]", f"{m}[{index(r, self.scope)}]", f"{m}[:, {i}]"]
        vectors += [f"{m}.T[{i}]", f"{m}.reshape(-1)[{2 * i}:{2 * i + 4}]"]
        if r.random() < 0.75:
            self.line(depth, f"{self.target('vectors')} = {r.choice(vectors)}")
        else:
            text = r.choice([m, f"{m}.T", f"{m}[::-1]"])
            self.line(depth, f"{self.target('matrices')} = {text}")

    def container(self, depth: int) -> None:
        """A list or a dict is made, filled, and read again."""
        r, scope = self.random, self.scope
        v, w, x = (r.choice(scope.vectors) for _ in range(3))
        blocks = [
            [f"p = [{v}, {w}]", f"p[0] = {vector(r, scope)}", f"{x} = p[0] * np.cos(p[1])"],
            ["p = []", f"p.append({v})", f"p.append(np.sin({w}))", f"{x} = p.pop() + p[0] * 0.3"],
            [f'p = {{"u": {v}, "w": {w}}}', f'p["u"] = {w} * 0.5', f'{x} = p["u"] - p["w"]'],
            [f"p = ({v}, {number(r, scope)})", f"{x} = p[0] * np.sin(p[1])"],
        ]
        for text in r.choice(blocks):
            self.line(depth, text)

    def about_subject(self, depth: int) -> None:
        """Some lines about one of the subjects, with random operands."""
        self.phrased(depth, self.random.choice(self.random.choice(self.subjects).phrases))

    def phrased(self, depth: int, lines: Lines) -> None:
        """Lines of fixed text, with random operands."""
        r, scope = self.random, self.scope
        v, w = r.choice(scope.vectors), r.choice(scope.vectors)
        s, t, i = r.choice(scope.numbers), r.choice(scope.numbers), index(r, scope)
        parts = {
            "V": v,
            "W": w,
            "S": s,
            "T": t,
            "I": i,
            "C": condition(r, scope),
            "E": vector(r, scope),
            "F": number(r, scope),
        }
        if "<M>" in str(lines):
            parts["M"] = r.choice(scope.matrices)
        results = {"X": "vectors", "Y": "numbers", "Z": "numbers", "K": "matrices"}
        parts |= {k: self.target(sort) for k, sort in results.items() if f"<{k}>" in str(lines)}
        for text in lines:
            for key, part in parts.items():
                text = text.replace(f"<{key}>", part)
            self.line(depth, text)

    def branch(self, depth: int) -> None:
        before = self.scope.copy()
        self.line(depth, f"if {condition(self.random, self.scope)}:")
        self.block(self.random.randint(1, 3), depth + 1)
        after_first = self.scope
        self.scope = before.copy()
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(self.random.randint(1, 3), depth + 1)
        self.scope = after_first.common(self.scope)

    def loop(self, depth: int) -> None:
        r, scope = self.random, self.scope
        before = scope.copy()
        trips = r.choice([0, 1, 2, 2, 3, 3])
        i, v, m = f"i{depth}", r.choice(scope.vectors), r.choice(scope.matrices)
        heads = [
            (4, f"for {i} in range({trips}):", i, trips),
            (1, f"for {i} in range(3, 0, -1):", i, 3),
            (1, f"for {i} in reversed(range({trips})):", i, trips),
            (1, f"for e{depth} in {v}:", "", N),
            (1, f"for {i}, e{depth} in enumerate({v}):", i, N),
            (1, f"for e{depth}, f{depth} in zip({v}, {r.choice(scope.vectors)}):", "", N),
            (1, f"while {i} < {trips}:", i, trips),
        ]
        if "views" in self.features:
            heads.append((2, f"for r{depth} in {m}:", "", N))
        _, head, name, trips = r.choices(heads, [h[0] for h in heads])[0]
        if head.startswith("while"):
            self.line(depth, f"{i} = 0")
        self.line(depth, head)
        self.enter(head, depth)
        if head.startswith("while"):
            self.line(depth + 1, f"{i} += 1")
        elif name:
            self.scope.indices.append(name)
        start = len(self.lines)
        self.loops += 1
        self.block(r.randint(1, 3), depth + 1)
        self.loops -= 1
        body = "".join(self.lines[start:])
        # names of the body are read after the loop where it surely ran to their definition
        surely = trips > 0 and "break" not in body and "continue" not in body
        self.scope = self.scope.copy() if surely and r.random() < 0.5 else before.copy()
        self.scope.indices = list(before.indices)
        self.scope.drop_suffix(str(depth))

    def enter(self, head: str, depth: int) -> None:
        """The names that the head of a loop binds come into scope."""
        for letter, sort in (("e", "numbers"), ("f", "numbers"), ("r", "vectors")):
            if f"{letter}{depth}" in head:
                getattr(self.scope, sort).append(f"{letter}{depth}")

    def jump(self, depth: int) -> None:
        self.line(depth, f"if {condition(self.random, self.scope)}:")
        jumps = [
            "break",
            "break",
            "continue",
            "continue",
            f"return {number(self.random, self.scope)}",
        ]
        self.line(depth + 1, self.random.choice(jumps))
