"""Source as HTML, for notebooks and reports: highlighted, in colours for light and dark."""

from __future__ import annotations

import ast
import html
from functools import lru_cache

# Readable on white and on black alike: chosen by contrast, not by a theme of an editor.
_LIGHT = {"k": "#8a1f9c", "s": "#1b6e2e", "c": "#6a6f76", "n": "#9a4a00", "f": "#0b57b0", "o": ""}
_DARK = {"k": "#d8a0ff", "s": "#8fd694", "c": "#9aa0a8", "n": "#ffbf7f", "f": "#86b9ff", "o": ""}
_CLASSES = {
    "k": ".k,.kc,.kn,.ow,.kd",
    "s": ".s1,.s2,.sd,.sa,.se,.si,.s",
    "c": ".c1,.c,.ch,.cm",
    "n": ".mi,.mf,.m,.mo,.mh",
    "f": ".nf,.fm,.nb,.nc",
}


def _rules(scope: str, palette: dict[str, str]) -> str:
    made = []
    for kind, classes in _CLASSES.items():
        selectors = ",".join(f"{scope} {name}" for name in classes.split(","))
        italic = ";font-style:italic" if kind == "c" else ""
        made.append(f"{selectors}{{color:{palette[kind]}{italic}}}")
    return "".join(made)


def colours(scope: str) -> str:
    """The style sheet of highlighted source within a selector, for light and dark pages."""
    dark = _rules(scope, _DARK)
    return _rules(scope, _LIGHT) + "@media (prefers-color-scheme:dark){" + dark + "}"


def themed(scope: str) -> str:
    """The same where the page says its theme itself, as `data-theme` of its root."""
    dark = _rules(f':root[data-theme="dark"] {scope}', _DARK)
    return _rules(scope, _LIGHT) + dark


def escaped(text: object) -> str:
    """Text as it stands, in HTML."""
    return html.escape(str(text), quote=True)


@lru_cache(maxsize=512)
def highlighted(code: str) -> str:
    """Python source as HTML without a frame around it; every character of it is escaped."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def line_by_line(code: str) -> list[str]:
    """Highlighted source, one piece of HTML a line: elements that go over lines are closed at
    the end of each and opened again."""
    from pygments.formatters.html import _get_ttype_class
    from pygments.lexers import PythonLexer

    lines = [""]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        name = _get_ttype_class(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append("")
            if part:
                text = escaped(part)
                lines[-1] += f'<span class="{name}">{text}</span>' if name else text
    return lines


def report_of_text(text: str) -> str:
    """A message as a notebook shows it: its first line stands out."""
    first, _, rest = escaped(text).partition("\n")
    return f"<pre style='white-space:pre-wrap'><b>{first}</b>\n{rest}</pre>"


_STYLE = """
.tl-source pre{margin:0;padding:6px 0;background:none;white-space:pre;overflow:auto;color:inherit;
font-size:13px;line-height:1.5}
.tl-source summary{cursor:pointer;font-family:system-ui,sans-serif;font-size:13px}
.tl-source summary span{opacity:.7}
"""


def derivative_page(what: str, source: str) -> str:
    """A derivative in a notebook: its function in full, imports and helpers folded away."""
    lines = source.rstrip("\n").splitlines()
    tree = ast.parse(source)
    first = tree.body[-1].lineno if tree.body else 1
    helpers = [n.name for n in tree.body[:-1] if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    above, own = "\n".join(lines[: first - 1]).strip("\n"), "\n".join(lines[first - 1 :])
    named = f"helpers {', '.join(helpers)}" if helpers else "imports"
    folded = f"<details><summary><span>{escaped(named)}</span></summary>{_pre(above)}</details>"
    return (
        f"<style>{_STYLE}{colours('.tl-source')}</style><div class=tl-source>"
        f"<details open><summary>{escaped(what)} <span>({len(lines)} lines)</span></summary>"
        f"{folded if above else ''}{_pre(own)}</details></div>"
    )


def _pre(code: str) -> str:
    return f"<pre>{highlighted(code)}</pre>"
