"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (q, at = document) => at.querySelector(q), all = (q, at = document) => [...at.querySelectorAll(q)];
const root = document.documentElement, details = $("#details");
const byKey = new Map();
for (const row of all(".row[data-k]")) {
  const k = row.dataset.k;
  if (!byKey.has(k)) byKey.set(k, []);
  byKey.get(k).push(row);
}
let pinned = null, current = null;

// ---- theme: what the system says, until the reader chooses
const store = {get: k => { try { return localStorage.getItem(k); } catch { return null; } },
               set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* a file may have no storage */ } }};
const system = matchMedia("(prefers-color-scheme: dark)");
const theme = t => { root.dataset.theme = t; $("#theme").textContent = t === "dark" ? "Light" : "Dark"; };
theme(store.get("tangentlike-theme") || (system.matches ? "dark" : "light"));
system.addEventListener("change", e => { if (!store.get("tangentlike-theme")) theme(e.matches ? "dark" : "light"); });
const flip = () => { const t = root.dataset.theme === "dark" ? "light" : "dark"; theme(t); store.set("tangentlike-theme", t); };
$("#theme").addEventListener("click", flip);

// ---- values
const values = $("#values");
const showValues = on => { document.body.classList.toggle("plain", !on); values.setAttribute("aria-pressed", on); };
if (values) values.addEventListener("click", () => showValues(document.body.classList.contains("plain")));

// ---- tabs
const tabs = all("[role=tab]");
function open(name) {
  for (const t of tabs) t.setAttribute("aria-selected", t.dataset.tab === name);
  for (const p of all(".tab")) p.classList.toggle("shown", p.dataset.tab === name);
  if (pinned !== null) reveal(pinned, null);
  search();
}
for (const t of tabs) t.addEventListener("click", () => open(t.dataset.tab));

// ---- partners
const shownRows = k => (byKey.get(k) || []).filter(r => !r.closest(".tab") || r.closest(".tab").classList.contains("shown"));
const light = (k, on) => { for (const r of byKey.get(k) || []) r.classList.toggle("lit", on); };
function reveal(k, from) {
  const panes = new Set();
  for (const r of shownRows(k)) {
    const pane = r.closest(".scroll");
    if (panes.has(pane) || (from && pane === from.closest(".scroll"))) continue;
    panes.add(pane);
    const a = r.getBoundingClientRect(), b = pane.getBoundingClientRect();
    if (a.top < b.top || a.bottom > b.bottom) pane.scrollTop += a.top - b.top - b.height / 3;
  }
}
function pin(k, from) {
  if (pinned !== null) for (const r of byKey.get(pinned) || []) r.classList.remove("pin");
  pinned = pinned === k && from && from.classList.contains("now") ? null : k;
  if (pinned !== null) for (const r of byKey.get(k) || []) r.classList.add("pin");
  if (current) current.classList.remove("now");
  current = from;
  if (current) current.classList.add("now");
  if (pinned !== null) reveal(k, from);
  describe(pinned);
}
document.addEventListener("mouseover", e => { const r = e.target.closest(".row[data-k]"); if (r) light(r.dataset.k, true); });
document.addEventListener("mouseout", e => { const r = e.target.closest(".row[data-k]"); if (r) light(r.dataset.k, false); });
document.addEventListener("click", e => { const r = e.target.closest(".row[data-k]"); if (r && !String(getSelection())) pin(r.dataset.k, r); });

// ---- details: made of text nodes, so that nothing in them is markup
const make = (tag, cls, text) => { const n = document.createElement(tag); if (cls) n.className = cls; if (text !== undefined) n.textContent = text; return n; };
function spark(series) {
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), path = document.createElementNS(ns, "path");
  const logs = series.map(v => v === null ? null : Math.log10(Math.max(v, 1e-300)));
  const fine = logs.filter(v => v !== null), low = Math.min(...fine), high = Math.max(...fine);
  let d = "";
  logs.forEach((v, i) => { if (v !== null) d += (d ? "L" : "M") + (1 + 94 * i / Math.max(1, logs.length - 1)).toFixed(1) + " " + (18 - 16 * (high > low ? (v - low) / (high - low) : 0.5)).toFixed(1); });
  svg.setAttribute("class", "spark"); svg.setAttribute("viewBox", "0 0 96 20"); path.setAttribute("d", d); svg.append(path);
  svg.setAttribute("role", "img"); svg.setAttribute("aria-label", "norm by iteration, logarithmic");
  return svg;
}
const startText = details.innerHTML;
function describe(k) {
  const found = k === null ? null : data.lines[k];
  if (!found) { details.innerHTML = startText; return; }
  details.replaceChildren();
  const head = make("h3", "", `${found.file}:${found.line}  `);
  head.append(make("code", "", found.text));
  details.append(head);
  if (!found.statements.length) { details.append(make("p", "", "No statement of the derivative comes from this line.")); return; }
  const table = make("table"), top = make("tr"), heads = data.traced ?
    ["line", "statement", "count", "ms", "name", "value", "norm", "min", "max", "NaN", "bytes", "norm by iteration"] : ["line", "statement", "part"];
  const left = new Set(["statement", "name", "value", "part"]);
  for (const h of heads) top.append(make("th", left.has(h) ? "l" : "", h));
  table.append(top);
  for (const s of found.statements) {
    const rows = s.values.length ? s.values : [null];
    rows.forEach((v, i) => {
      const tr = make("tr"), first = i === 0;
      const line = make("td"), mark = make("span", "mark");
      mark.style.background = `var(--${s.role})`; mark.title = s.role;
      if (first) line.append(mark, String(s.line));
      tr.append(line, make("td", "l", first ? "  ".repeat(s.depth) + s.text : ""));
      if (!data.traced) { tr.append(make("td", "l", s.role)); table.append(tr); return; }
      tr.append(make("td", "", first ? s.count : ""), make("td", "", first ? s.ms : ""));
      for (const c of ["name", "form"]) tr.append(make("td", "l", v ? v[c] : ""));
      for (const c of ["norm", "low", "high", "odd", "bytes"]) tr.append(make("td", c === "odd" && v && v.odd ? "bad" : "", v ? v[c] : ""));
      const last = make("td"); if (v && v.series.length > 1) last.append(spark(v.series)); tr.append(last);
      table.append(tr);
    });
  }
  details.append(table);
}

// ---- search
const box = $("#search"), hits = $("#hits");
let found = [], at = -1;
function search() {
  for (const r of all(".row.found")) r.classList.remove("found");
  const wanted = box.value.trim().toLowerCase();
  found = !wanted ? [] : all(".row").filter(r => (!r.closest(".tab") || r.closest(".tab").classList.contains("shown")) && $(".text", r).textContent.toLowerCase().includes(wanted));
  for (const r of found) r.classList.add("found");
  at = -1;
  hits.textContent = wanted ? `${found.length} line${found.length === 1 ? "" : "s"}` : "";
}
function next(step) {
  if (!found.length) return;
  at = (at + step + found.length) % found.length;
  const row = found[at];
  row.scrollIntoView({block: "center"});
  if (row.dataset.k) { pinned = null; pin(row.dataset.k, row); }
  hits.textContent = `${at + 1} of ${found.length}`;
}
box.addEventListener("input", search);
box.addEventListener("keydown", e => {
  if (e.key === "Enter") { e.preventDefault(); next(e.shiftKey ? -1 : 1); }
  if (e.key === "Escape") { box.value = ""; search(); box.blur(); }
});

// ---- where to begin: at the function itself, or at the line that the address names (#L18)
const main = $("#main");
if (main) { const pane = $("#ours"); pane.scrollTop = main.getBoundingClientRect().top - pane.getBoundingClientRect().top - 12; }
const wanted = /^#L(\d+)$/.exec(location.hash);
if (wanted) {
  const row = all(".row[data-k]", $("#yours")).find(r => $(".no", r).textContent === wanted[1]);
  if (row) pin(row.dataset.k, row);
}

// ---- keyboard
function step(by) {
  const pane = current ? current.closest(".scroll") : $("#yours");
  const rows = all(".row[data-k]", pane).filter(r => !r.closest(".tab") || r.closest(".tab").classList.contains("shown"));
  const i = rows.indexOf(current), row = rows[Math.max(0, Math.min(rows.length - 1, i < 0 ? 0 : i + by))];
  if (row) { pinned = null; for (const r of all(".pin")) r.classList.remove("pin"); pin(row.dataset.k, row); row.scrollIntoView({block: "nearest"}); }
}
function cross() {
  if (!current) { step(0); return; }
  const pane = current.closest(".scroll"), k = current.dataset.k;
  const other = shownRows(k).find(r => r.closest(".scroll") !== pane);
  if (other) { for (const r of all(".pin")) r.classList.remove("pin"); pinned = null; pin(k, other); other.scrollIntoView({block: "nearest"}); }
}
document.addEventListener("keydown", e => {
  if (e.target === box || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = {"/": () => box.focus(), j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
    h: cross, l: cross, ArrowLeft: cross, ArrowRight: cross, n: () => next(1), N: () => next(-1), t: flip,
    v: () => values && values.click(), Escape: () => { if (pinned !== null) { for (const r of all(".pin,.now")) r.classList.remove("pin", "now"); pinned = null; current = null; describe(null); } }};
  const tab = tabs[Number(e.key) - 1];
  const act = keys[e.key] || (tab && (() => open(tab.dataset.tab)));
  if (act) { e.preventDefault(); act(); }
});
})();
