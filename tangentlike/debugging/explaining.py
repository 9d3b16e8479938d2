"""A derivative explained on one page: your source on the left, the derivative on the right.

The page is one file without any reference to another; it works from a disk and prints. Everything
that comes from a program is escaped, in markup and in the data of the script.
"""

from __future__ import annotations

import html
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from .. import ir
from ..api.calls import grad, value_and_grad
from ..codegen.print.text import Stages, line_by_line, themed
from ..dispatch.blame import watching
from ..dispatch.derivation import Derivation
from ..errors import Place, TangentlikeError
from ..pytree import leaves
from .linemap import LineMap, Statement, UserFunction, derivation_behind, program_of, user_place
from .tables import Summary, format_number
from .tracing import Row, Trace, Tracer

_MOST_POINTS = 200
_STAGES = {
    "lowered": "your function as it is read: one operation a statement",
    "derived": "its derivative as the rules give it",
    "simplified": "after simplification",
    "emitted": "the text that runs",
}
_ROLES = (
    ("primal", "computes what your line computes"),
    ("adjoint", "takes the derivative of your line backwards"),
    ("tangent", "takes the derivative of your line forwards"),
    ("save", "saves a value for the reverse sweep"),
    ("restore", "takes a saved value back"),
)


@dataclass(frozen=True)
class Report:
    """One page of HTML about a derivative: `save(path)` writes it; a notebook shows it.

    `result` is what the derivative returned and `trace` its trace where arguments were given.
    """

    html: str = field(repr=False)
    title: str
    result: Any = field(default=None, repr=False)
    trace: Trace | None = field(default=None, repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and give its path."""
        written = Path(path)
        written.write_text(self.html, encoding="utf-8")
        return written

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        look = "width:100%;height:44em;border:1px solid #8886;border-radius:6px"
        title = html.escape(self.title)
        return f'<iframe srcdoc="{page}" style="{look}" title="{title}"></iframe>'


def explain(f: Callable[..., Any], *args: Any, wrt: Any = None, **kwargs: Any) -> Report:
    """Explain a derivative on one page that needs no network.

    Parameters
    ----------
    f : a function (its gradient is explained; with arguments, value and gradient), or a
        derivative of one.
    *args, **kwargs : with arguments the derivative is run, and the page shows for every statement
        shape, dtype, norm, smallest and largest entry, NaN, bytes, milliseconds.
    wrt : of a function: what to differentiate by (default: every argument that holds floats; the
        first parameter where none are given).

    Returns
    -------
    Report
        `report.save("report.html")` writes the page; in a notebook it shows itself. Pointing at
        a line, or clicking it, lights up its partners on the other side, through helpers; the
        stages of the transformation are tabs.

    Raises
    ------
    TangentlikeError
        if `f` cannot be differentiated, or jinja2 is not installed.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def f(x):
    ...     return x * x
    >>> page = tl.explain(f, 3.0)
    >>> page.result
    (9.0, (6.0,))
    """
    df = f
    run = bool(args or kwargs)
    if getattr(f, "__tangentlike__", None) is None:
        if wrt is None:
            wrt = tuple(n for n, value in enumerate(args) if leaves.has_leaf(value)) or 0
        df = value_and_grad(f, wrt) if run else grad(f, wrt)
    derivation = derivation_behind(df)
    trace, result = None, None
    if run:
        tracer = Tracer()
        with watching(tracer):
            result = df(*args, **kwargs)
        trace = tracer.trace()
        trace.result = result
        derivation = next((d for d, _, _ in tracer.programs.values()), derivation)
    page = _Page(derivation, trace)
    return Report(page.render(), page.title, result, trace)


def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise TangentlikeError(
            "explain needs jinja2, which is not installed",
            hint='pip install "tangentlike[explain]", or pip install jinja2.',
        ) from None
    text = _file("explain.html")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(text)


def _file(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


class _Safe(str):
    """HTML that is escaped already."""

    def __html__(self) -> str:
        return str(self)


class _Page:
    """What the template is given."""

    def __init__(self, derivation: Derivation, trace: Trace | None) -> None:
        self.derivation, self.trace = derivation, trace
        self.lines: LineMap = program_of(derivation).lines
        self.derived = derivation.derived
        self.title = self.derived.function.__name__
        self.functions = self.lines.functions
        self.keys: dict[tuple[str, int], int] = {}
        self.rows: dict[int, list[Row]] = {}
        for row in trace.rows() if trace is not None else ():
            if row.program == 0:
                self.rows.setdefault(row.statement.index, []).append(row)
        for statement in self.lines.statements:
            self.key(statement.place)

    def key(self, place: Place) -> int:
        """The number that partners share: that of the line of the user's."""
        place = user_place(place)
        return self.keys.setdefault((place.file, place.line), len(self.keys))

    def render(self) -> str:
        found = [self._function(f) for f in self.functions]
        tabs = [{"name": n, "words": w, "lines": self._stage(n)} for n, w in _STAGES.items()]
        roles = {s.role for s in self.lines.statements}
        wrt = ", ".join(self.derivation.request.wrt)
        return str(
            _template().render(
                title=self.title,
                subtitle=f"{self.derivation.primal.name} with respect to {wrt}",
                version=_version(),
                css=_Safe(_file("explain.css")),
                js=_Safe(_file("explain.js")),
                colours=_Safe(themed(".code")),
                roles=[pair for pair in _ROLES if pair[0] in roles],
                traced=self.trace is not None,
                functions=found,
                tabs=tabs,
                data=_Safe(_script_data(self._data())),
            )
        )

    # --------------------------------------------------------------------- your source

    def _function(self, function: UserFunction) -> dict[str, Any]:
        shown = line_by_line("\n".join(function.lines))
        lines = []
        for number, text in enumerate(shown, function.first):
            related = self.lines.of(number, function.file)
            key = self.key(related[0].place) if related else None
            first = bool(related) and related[0].place.line == number
            note = self._spent(related) if first else ""
            lines.append({"number": number, "html": _Safe(text), "key": key, "note": note})
        file = os.path.basename(function.file) or function.file
        return {"name": function.name, "file": file, "path": function.file, "lines": lines}

    def _spent(self, statements: Sequence[Statement]) -> str:
        if self.trace is None:
            return ""
        primal = other = 0.0
        for s in statements:
            seconds = 0.0 if s.is_loop else sum(row.seconds for row in self.rows.get(s.index, ()))
            if s.role in ("primal", "save"):
                primal += seconds
            else:
                other += seconds
        return f"{1e3 * primal:.3f}   {1e3 * other:.3f}"

    # ------------------------------------------------------------------ the derivative

    def _stage(self, name: str) -> list[dict[str, Any]]:
        stages = self.derived.stages
        assert isinstance(stages, Stages)
        if name == "emitted":
            origins: Mapping[int, ir.Origin | None] = self.derived.origins
            text = self.derived.source.rstrip("\n")
        else:
            lines = stages.lines(name)
            origins = {n: line.origin for n, line in enumerate(lines, 1)}
            text = "\n".join(line.text for line in lines)
        found = []
        for number, shown in enumerate(line_by_line(text), 1):
            origin = origins.get(number)
            statement = self.lines.at(number) if name == "emitted" else None
            begins = statement is not None and statement.line == number
            note, odd = self._note(statement) if begins and statement is not None else ("", False)
            found.append(
                {
                    "number": number,
                    "html": _Safe(shown),
                    "role": "" if origin is None else origin.role,
                    "key": None if origin is None else self.key(origin.place),
                    "note": note,
                    "odd": odd,
                    "main": name == "emitted" and number == self._main_line,
                }
            )
        return found

    @cached_property
    def _main_line(self) -> int:
        """The line of the derivative where the function that is called begins."""
        wanted = f"def {self.title}("
        lines = enumerate(self.derived.source.splitlines(), 1)
        return next((number for number, line in lines if line.startswith(wanted)), 1)

    def _note(self, statement: Statement) -> tuple[str, bool]:
        """The value beside a line, and whether it is not finite."""
        rows = self.rows.get(statement.index, ())
        if not rows:
            return ("not run" if self.trace is not None else ""), False
        count = sum(row.count for row in rows)
        times = f"{count:,} x" if count > 1 or statement.is_loop else ""
        if statement.is_loop:
            return times, False
        value = next(iter(rows[-1].values.values()), None)
        parts = [times] if times else []
        if value is not None:
            parts.append(_in_short(value))
        parts.append(f"{1e3 * sum(row.seconds for row in rows):.3f} ms")
        odd = any(not v.is_finite for row in rows for v in row.values.values())
        return "  ".join(parts), odd

    # -------------------------------------------------------------------------- details

    def _data(self) -> dict[str, Any]:
        series = self._series()
        lines: dict[str, Any] = {}
        for (file, line), key in self.keys.items():
            related = self.lines.of(line, file)
            text = related[0].place.text if related else ""
            statements = [made for s in related for made in self._statement(s, series)]
            name = os.path.basename(file) or file
            lines[str(key)] = {"file": name, "line": line, "text": text, "statements": statements}
        return {"traced": self.trace is not None, "lines": lines}

    def _statement(self, s: Statement, series: Mapping[Any, list[Any]]) -> Iterator[dict[str, Any]]:
        rows = self.rows.get(s.index, ())
        code = " ".join(s.text.split())
        shared = {"line": s.line, "role": s.role, "text": code, "depth": 0}
        if not rows:
            yield {**shared, "count": "" if self.trace is None else "0", "ms": "", "values": []}
        for row in rows:
            values = [
                _cells(name, value, series.get((row.path, s.index, name), []))
                for name, value in row.values.items()
            ]
            ms = "" if s.is_loop else f"{1e3 * row.seconds:.3f}"
            depth = {"depth": row.depth}
            yield {**shared, **depth, "count": f"{row.count:,}", "ms": ms, "values": values}

    def _series(self) -> dict[Any, list[Any]]:
        """The norms of each name at each statement, thinned out to what can be drawn."""
        found: dict[Any, list[Any]] = {}
        for step in self.trace.steps if self.trace is not None else ():
            if step.program == 0:
                for name, value in step.values.items():
                    if value.kind in ("array", "float") and value.norm is not None:
                        norm = value.norm if math.isfinite(value.norm) else None
                        found.setdefault((step.path, step.index, name), []).append(norm)
        return {key: norms[:: 1 + len(norms) // _MOST_POINTS] for key, norms in found.items()}


def _in_short(value: Summary) -> str:
    if value.shape == () and value.text:
        return value.text
    parts = [value.form]
    if value.norm is not None:
        parts.append(f"norm {format_number(value.norm)}")
    if value.nans:
        parts.append(f"{value.nans} NaN")
    if value.infs:
        parts.append(f"{value.infs} inf")
    return "  ".join(parts)


def _cells(name: str, value: Summary, series: list[Any]) -> dict[str, Any]:
    numbers = {"norm": value.norm, "low": value.low, "high": value.high}
    if value.shape == ():
        numbers = dict.fromkeys(numbers)
    shown = {key: "" if n is None else format_number(n) for key, n in numbers.items()}
    odd = " ".join(
        text for count, text in ((value.nans, f"{value.nans}"), (value.infs, f"{value.infs} inf"))
        if count
    )  # fmt: skip
    form = value.form if value.kind == "array" or not value.text else f"{value.form}  {value.text}"
    size = f"{value.bytes:,}" if value.bytes else ""
    return {"name": name, "form": form, **shown, "odd": odd, "bytes": size, "series": series}


def _script_data(data: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element or opens markup."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _version() -> str:
    package = sys.modules[__name__.partition(".")[0]]
    return str(package.__dict__["__version__"])
