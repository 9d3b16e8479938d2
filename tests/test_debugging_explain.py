"""`tl.explain`: the page as text, and as a browser shows it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main

pytest.importorskip("jinja2")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--virtual-time-budget=2000"),
]
W, H = np.array([[0.5, -1.0], [1.0, 0.25]]), np.array([1.0, 2.0])


pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def cell(h: Any, w: Any) -> Any:
    return np.tanh(w @ h)


def loss(w: Any, h: Any, steps: int) -> Any:
    for _ in range(steps):
        h = cell(h, w)
    return np.sum(h * h)


def hostile(x: Any) -> Any:
    """</script><script>document.title = "taken over"</script><b>bold</b>"""
    note = "</script><script>document.title = 1</script><!-- {{ 7 * 7 }}"
    y = x * len(note)
    return y * y


FIRST = loss.__code__.co_firstlineno


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_needs_nothing_else() -> None:
    page = tl.explain(loss, W, H, 3).html
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', page)
    assert "url(" not in page and "@import" not in page and "<link" not in page
    assert "default-src 'none'" in page


def test_both_sides_and_every_stage_are_there() -> None:
    report = tl.explain(loss, W, H, 3)
    plain = html.unescape(re.sub(r"<[^>]*>", "", report.html))
    for line in (*loss.__code__.co_varnames, "h = cell(h, w)", "def cell(h, w):"):
        assert line in plain.replace(": Any", "").replace(" -> Any", "")
    for line in tl.value_and_grad(loss, (0, 1)).source.splitlines():
        assert line.strip() in plain or "for_types" in line  # (checked in files only)
    for tab in ("lowered", "derived", "simplified", "emitted"):
        assert f'data-tab="{tab}"' in report.html
    assert np.array_equal(report.result[1][0], tl.grad(loss)(W, H, 3))
    assert report.trace is not None and report.trace.steps


def test_partners_share_a_key() -> None:
    data = data_of(tl.explain(loss).html)
    inside = cell.__code__.co_firstlineno + 1
    entry = next(line for line in data["lines"].values() if line["line"] == inside)
    assert {s["role"] for s in entry["statements"]} == {"primal", "adjoint"}
    assert not data["traced"]


def test_values() -> None:
    data = data_of(tl.explain(loss, W, H, 3).html)
    call = next(line for line in data["lines"].values() if line["line"] == FIRST + 2)
    new = next(v for s in call["statements"] for v in s["values"] if v["name"] == "new")
    assert new["form"] == "(2,) float64" and len(new["series"]) == 3 and new["bytes"] == "16"


def test_values_that_are_not_finite() -> None:
    with np.errstate(all="ignore"):
        page = tl.explain(lambda x: np.sum(np.log(x)), np.array([0.0, 1.0])).html
    assert "1 inf" in page and " odd" in page
    json.dumps(data_of(page), allow_nan=False)


def test_the_users_text_is_escaped() -> None:
    for page in (tl.explain(hostile).html, tl.explain(hostile, 2.0).html):
        assert page.count("<script") == page.count("</script>") == 2
        assert "<b>bold" not in page and "{{ 7 * 7 }}" in html.unescape(page)


def test_a_derivative_of_any_kind() -> None:
    assert "jvp" in tl.explain(tl.hvp(loss)).title
    assert "grad" in tl.explain(tl.grad(lambda x: np.sum(x**2))).title
    with pytest.raises(tl.TangentlikeError):
        tl.explain(3)


def test_without_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(tl.TangentlikeError, match="explain needs jinja2") as caught:
        tl.explain(loss)
    assert "tangentlike[explain]" in caught.value.hint


def test_in_a_notebook_the_page_is_a_frame() -> None:
    shown = tl.explain(hostile, 2.0)._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and shown.count("<") == 2


def test_command(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(
        "import numpy as np\ndef loss(x):\n    y = np.sin(x)\n    return np.sum(y * y)\n"
    )
    target, page = f"{tmp_path}/shown.py:loss", tmp_path / "report.html"
    done = CliRunner().invoke(main, ["explain", target, "-o", str(page), "--shape", "x=3"])
    assert done.exit_code == 0, done.output
    assert data_of(page.read_text())["traced"]
    done = CliRunner().invoke(main, ["explain", target, "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert not data_of(page.read_text())["traced"]
    done = CliRunner().invoke(main, ["explain", target, "-o", f"{tmp_path}/shown.py", "--force"])
    assert done.exit_code == 1 and "def loss" in (tmp_path / "shown.py").read_text()
    page.write_text("my notes")
    assert CliRunner().invoke(main, ["explain", target, "-o", str(page)]).exit_code == 1
    assert page.read_text() == "my notes"


# ------------------------------------------------------------------------- in a browser

needs_browser = pytest.mark.skipif(not BROWSER, reason="there is no Chromium")


def browse(page: str, script: str, folder: Path, *flags: str) -> Any:
    """What a script that runs on the page after it is loaded gives, as JSON."""
    wrapped = (
        "<script>addEventListener('load', () => { const out = document.createElement('pre');"
        f"out.id = 'out'; out.textContent = JSON.stringify((() => {{{script}}})());"
        "document.body.append(out); });</script></body>"
    )
    file = folder / "page.html"
    file.write_text(page.replace("</body>", wrapped), encoding="utf-8")
    profile = f"--user-data-dir={folder}/profile"
    ran = subprocess.run(
        [BROWSER, *FLAGS, *flags, profile, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r'<pre id="out">(.*?)</pre>', ran.stdout, re.S)
    assert found is not None, ran.stderr[-2000:]
    return json.loads(html.unescape(found.group(1)))


@needs_browser
def test_pointing_and_clicking(tmp_path: Path) -> None:
    inside = cell.__code__.co_firstlineno + 1
    found = browse(
        tl.explain(loss, W, H, 3).html,
        f"""
        const texts = q => [...document.querySelectorAll(q)].map(r => r.querySelector(".text").textContent.trim());
        const row = [...document.querySelectorAll("#yours .row")].find(r => r.querySelector(".no").textContent === "{inside}");
        row.dispatchEvent(new MouseEvent("mouseover", {{bubbles: true}}));
        const lit = texts("#ours .tab.shown .row.lit");
        row.dispatchEvent(new MouseEvent("mouseout", {{bubbles: true}}));
        const after = texts(".row.lit").length;
        row.click();
        const pinned = texts("#ours .tab.shown .row.pin"), cells = [...document.querySelectorAll("#details td")].map(c => c.textContent);
        const back = document.querySelector("#ours .tab.shown .row.primal[data-k]");
        back.dispatchEvent(new MouseEvent("mouseover", {{bubbles: true}}));
        return {{lit, after, pinned, cells, back: texts("#yours .row.lit"), sparks: document.querySelectorAll("#details svg path").length}};
        """,
        tmp_path,
    )
    assert any("np.tanh(w @ h)" in text for text in found["lit"])
    assert any("_bar" in text for text in found["lit"])
    assert found["after"] == 0 and found["pinned"] == found["lit"]
    assert "(2,) float64" in found["cells"] and found["sparks"]
    assert len(found["back"]) == 1


@needs_browser
def test_keyboard_tabs_search_and_theme(tmp_path: Path) -> None:
    found = browse(
        tl.explain(loss, W, H, 3).html,
        """
        const key = k => document.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
        const now = () => (document.querySelector(".row.now .no") || {}).textContent;
        const made = {};
        key("j"); made.first = now(); key("j"); made.second = now();
        key("l"); made.other = document.querySelector(".row.now").closest(".scroll").id; key("h");
        made.back = now();
        key("1"); made.tab = document.querySelector(".tab.shown").dataset.tab;
        key("4");
        const box = document.getElementById("search"); box.value = "TANH"; box.dispatchEvent(new Event("input"));
        made.hits = document.getElementById("hits").textContent;
        made.theme = document.documentElement.dataset.theme; key("t"); made.flipped = document.documentElement.dataset.theme;
        key("v"); made.plain = document.body.classList.contains("plain");
        key("Escape"); made.free = document.querySelectorAll(".pin").length;
        return made;
        """,
        tmp_path,
    )
    assert int(found["second"]) > int(found["first"])
    assert found["other"] == "ours" and found["back"] == found["second"]
    assert found["tab"] == "lowered" and int(found["hits"].split()[0]) >= 2
    assert found["theme"] == "light" and found["flipped"] == "dark"
    assert found["plain"] and found["free"] == 0


@needs_browser
def test_dark_where_the_system_is_dark_and_nothing_of_the_program_runs(tmp_path: Path) -> None:
    found = browse(
        tl.explain(hostile, 2.0).html,
        "document.querySelector('#yours .row[data-k]').click();"
        "return [document.documentElement.dataset.theme, document.title,"
        " document.querySelectorAll('b').length]",
        tmp_path,
        "--blink-settings=preferredColorScheme=0",
    )
    assert found == ["dark", "hostile_value_and_grad: derivative, line by line", 1]
