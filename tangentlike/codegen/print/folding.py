"""Statements that are longer than a line, broken where a reader would break them.

The outermost brackets are opened first and hold their items on one line if these fit, else one
a line (plain ones are packed); an operation is broken before its operators, with as many
operands on a line as there is room for. Continuation lines are indented by four. What is
assigned to folds where the value cannot.

    total = np.concatenate(
        [first_layer_weights, second_layer_weights, first_layer_bias], axis=-1
    )
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import gast

from .printer import Printer, operator_text

WIDTH = 88
STEP = "    "


class Parts(NamedTuple):
    """A statement (or the header of one) as what is fixed around the one expression that folds."""

    head: str
    value: Any
    tail: str


def parts(node: Any, printer: Printer) -> Parts | None:
    """Head, folding expression and tail of a statement; None where nothing folds."""
    match node:
        case gast.Assign():
            return Parts("".join(f"{printer.text(t)} = " for t in node.targets), node.value, "")
        case gast.AugAssign():
            op = operator_text(node.op)
            return Parts(f"{printer.text(node.target)} {op}= ", node.value, "")
        case gast.Return() if node.value is not None:
            return Parts("return ", node.value, "")
        case gast.Expr():
            return Parts("", node.value, "")
        case gast.Raise() if node.exc is not None and node.cause is None:
            return Parts("raise ", node.exc, "")
        case gast.If():
            return Parts("if ", node.test, ":")
        case gast.While():
            return Parts("while ", node.test, ":")
        case gast.Try():
            return Parts("try", gast.Name("", gast.Load(), None, None), ":")
        case gast.ExceptHandler():
            name = f" as {node.name.id}" if node.name is not None else ""
            return Parts("except ", node.type, f"{name}:")
        case gast.With():
            item = node.items[0]
            name = f" as {printer.text(item.optional_vars)}" if item.optional_vars else ""
            return Parts("with ", item.context_expr, f"{name}:")
        case gast.For():
            return Parts(f"for {printer.text(node.target)} in ", node.iter, ":")
    return None


def statement(node: Any, printer: Printer, pad: str, keyword: str = "") -> list[str]:
    """The lines of a simple statement, or of a compound one's header, within `WIDTH`.

    `keyword` replaces what a header begins with (`elif `).
    """
    found = parts(node, printer)
    if found is None:
        return [pad + line for line in printer.text(node).splitlines()]
    head = keyword or found.head
    bare = isinstance(node, (gast.Return, gast.Expr)) or isinstance(_target(node), gast.Tuple)
    text = printer.text(found.value) if bare else printer.item(found.value)
    if len(pad) + len(head) + len(text) + len(found.tail) <= WIDTH:
        return [pad + head + text + found.tail]
    folder = _Folder(printer)
    lines = folder.fold(found.value, head, found.tail, pad)
    lines = min([lines, *folder.last_opened(found.value, head, found.tail, pad)], key=len)
    target = _target(node)
    if target is None or _width(lines) <= WIDTH:
        return lines
    start, joint = ("for ", " in ") if isinstance(node, gast.For) else ("", " = ")
    if isinstance(node, gast.AugAssign):
        joint = f" {operator_text(node.op)}= "
    return min(lines, folder.fold(target, start, joint + text + found.tail, pad), key=_width)


def _target(node: Any) -> Any:
    """What a statement binds or writes, where it is one thing."""
    if isinstance(node, gast.Assign):
        return node.targets[0] if len(node.targets) == 1 else None
    return getattr(node, "target", None)


def _width(lines: list[str]) -> int:
    return max(map(len, lines))


def signature(name: str, parameters: list[str], pad: str = "") -> list[str]:
    """The lines of a `def` header."""
    flat = f"{pad}def {name}({', '.join(parameters)}):"
    if len(flat) <= WIDTH:
        return [flat]
    inner = pad + STEP + ", ".join(parameters)
    if len(inner) <= WIDTH:
        return [f"{pad}def {name}(", inner, f"{pad}):"]
    return [f"{pad}def {name}(", *(f"{pad}{STEP}{p}," for p in parameters), f"{pad}):"]


class _Folder:
    """Breaks one expression over lines; `head` and `tail` are the text that touches it."""

    def __init__(self, printer: Printer) -> None:
        self.printer = printer

    def fold(self, node: Any, head: str, tail: str, pad: str) -> list[str]:
        text = self.printer.again(node)
        if len(pad) + len(head) + len(text) + len(tail) <= WIDTH:
            return [pad + head + text + tail]
        match node:
            case gast.Call():
                return self._call(node, head, tail, pad)
            case gast.Subscript():
                return self._subscript(node, head, tail, pad)
            case gast.Attribute():
                return self.fold(node.value, head, f".{node.attr}{tail}", pad)
            case gast.UnaryOp():
                sign = operator_text(node.op)
                return self.fold(node.operand, f"{head}{sign}{' ' * sign.isalpha()}", tail, pad)
            case gast.ListComp() | gast.SetComp() | gast.DictComp() | gast.GeneratorExp():
                return self._comprehension(node, head, tail, pad)
        if isinstance(node, _OPERATIONS):
            return self._operation(node, head, tail, pad)
        items = _display_items(node)
        if not items:
            return [pad + head + text + tail]  # a long name or string stays as long as it is
        opening, closing = _BRACKETS[type(node)]
        return self._bracket(head + opening, items, closing + tail, pad, comma=True)

    def _call(self, node: Any, head: str, tail: str, pad: str) -> list[str]:
        fn = self.printer.again(node.func)
        items = [("", arg) for arg in node.args]
        items += [(f"{k.arg}=" if k.arg else "**", k.value) for k in node.keywords]
        arguments = ", ".join(p + self.printer.again(a) for p, a in items)
        if isinstance(node.func, gast.Attribute) and len(fn) > len(arguments):
            # a method of something long: `(a + b).sum(axis=0)` opens its left side
            end = f".{node.func.attr}({arguments}){tail}"
            return self.fold(node.func.value, head, end, pad)
        if not items:
            return [f"{pad}{head}{fn}(){tail}"]
        only = items[0][1] if len(items) == 1 else None
        if type(only) in _BRACKETS and len(pad + head + fn) + 2 <= WIDTH:
            return self.fold(only, f"{head}{fn}({items[0][0]}", f"){tail}", pad)
        if isinstance(only, gast.GeneratorExp):
            return self._comprehension(only, f"{head}{fn}(", f"){tail}", pad)
        if isinstance(only, _OPERATIONS) and not items[0][0]:
            return self._operation(only, f"{head}{fn}", tail, pad)
        return self._bracket(f"{head}{fn}(", items, f"){tail}", pad, comma=True)

    def _subscript(self, node: Any, head: str, tail: str, pad: str) -> list[str]:
        base, key = self.printer.again(node.value), self.printer.again(node.slice)
        if len(base) > len(key):
            return self.fold(node.value, head, f"[{key}]{tail}", pad)
        many = isinstance(node.slice, gast.Tuple) and len(node.slice.elts) > 1
        items = [("", e) for e in node.slice.elts] if many else [("", node.slice)]
        return self._bracket(f"{head}{base}[", items, f"]{tail}", pad, comma=many)

    def _bracket(
        self, opening: str, items: list[tuple[str, Any]], closing: str, pad: str, comma: bool
    ) -> list[str]:
        inner = pad + STEP
        flat = ", ".join(prefix + self.printer.again(item) for prefix, item in items)
        if len(inner) + len(flat) <= WIDTH and not _needs_comma(opening, items):
            return [pad + opening, inner + flat, pad + closing]
        several = len(items) > 1 or isinstance(getattr(items[0][1], "value", None), str)
        if several and all(_is_plain(item) for _, item in items):
            texts = [prefix + self.printer.again(item) for prefix, item in items]
            return [pad + opening, *_packed(texts, comma, inner), pad + closing]
        lines = [pad + opening]
        for number, (prefix, item) in enumerate(items):
            last = number == len(items) - 1
            lines += self.fold(item, prefix, "," if comma or not last else "", inner)
        return [*lines, pad + closing]

    def _operation(self, node: Any, head: str, tail: str, pad: str) -> list[str]:
        lines, operands, inner = [f"{pad}{head}("], _operands(node), pad + STEP
        first = operands[0][1]
        if isinstance(node, gast.BinOp) and isinstance(first, gast.BinOp):
            long = len(inner) + len(self.printer.again(first)) > WIDTH
            if long and _level(node) < _level(first) <= 2:  # (`a * b` of `a * b + c`)
                operands[:1] = _operands(first)
        plain = False  # whether the line before holds whole operands, which more may follow
        for prefix, operand in operands:
            text = prefix + self.printer.again(operand)
            fits = len(inner) + len(text) <= WIDTH
            if plain and fits and len(lines[-1]) + 1 + len(text) <= WIDTH:
                lines[-1] += " " + text
            else:
                lines += [inner + text] if fits else self.fold(operand, prefix, "", inner)
            plain = fits
        return [*lines, f"{pad}){tail}"]

    def last_opened(self, node: Any, head: str, tail: str, pad: str) -> Iterator[list[str]]:
        """The lines of an operation that needs no brackets of its own, with those of its last
        operand opened: `a = 0.2 * (`."""
        if not isinstance(node, _OPERATIONS):
            return
        *others, (prefix, last) = _operands(node)
        if isinstance(last, _OPERATIONS) and self.printer.again(last).startswith("("):
            before = " ".join(p + self.printer.again(operand) for p, operand in others)
            lines = self._operation(last, f"{head}{before} {prefix}", tail, pad)
            if _width(lines) <= WIDTH:
                yield lines

    def _comprehension(self, node: Any, head: str, tail: str, pad: str) -> list[str]:
        opening, closing = _COMPREHENSION_BRACKETS[type(node)]
        if isinstance(node, gast.GeneratorExp) and head.endswith("("):
            opening, closing = "", ""
        inner = pad + STEP
        if isinstance(node, gast.DictComp):
            key = self.printer.again(node.key)
            lines = self.fold(node.value, f"{key}: ", "", inner)
        else:
            lines = self.fold(node.elt, "", "", inner)
        for clause in node.generators:
            lines.append(inner + self.printer.again(clause).strip())
        return [f"{pad}{head}{opening}", *lines, f"{pad}{closing}{tail}"]


def _is_plain(node: Any) -> bool:
    """Whether an item is a name, a literal, or an entry or attribute of these."""
    if isinstance(node, gast.Subscript):
        return _is_plain(node.value) and _is_plain(node.slice)
    if isinstance(node, (gast.Attribute, gast.Starred, gast.UnaryOp)):
        return _is_plain(node.operand if isinstance(node, gast.UnaryOp) else node.value)
    return isinstance(node, (gast.Name, gast.Constant))


def _packed(texts: list[str], comma: bool, pad: str) -> list[str]:
    """Items between commas, as many on a line as there is room for."""
    pieces = [text + "," for text in texts]
    if not comma:
        pieces[-1] = texts[-1]
    pieces = [part for piece in pieces for part in _joined_strings(piece, WIDTH - len(pad))]
    lines = [pad + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + 1 + len(piece) <= WIDTH:
            lines[-1] += " " + piece
        else:
            lines.append(pad + piece)
    return lines


def _joined_strings(text: str, room: int) -> Iterator[str]:
    """A string that no line has room for as several, which Python joins, cut behind commas."""
    cut = text.rfind(", ", 1, room - 1) if len(text) > room and text[0] in "'\"" else -1
    if cut > 0:
        yield text[: cut + 2] + text[0]
        yield from _joined_strings(text[0] + text[cut + 2 :], room)
    else:
        yield text


_OPERATIONS = (gast.BinOp, gast.BoolOp, gast.Compare, gast.IfExp)
_BRACKETS = {
    gast.Tuple: ("(", ")"),
    gast.List: ("[", "]"),
    gast.Set: ("{", "}"),
    gast.Dict: ("{", "}"),
}
_COMPREHENSION_BRACKETS = {
    gast.ListComp: ("[", "]"),
    gast.SetComp: ("{", "}"),
    gast.DictComp: ("{", "}"),
    gast.GeneratorExp: ("(", ")"),
}


def _needs_comma(opening: str, items: list[tuple[str, Any]]) -> bool:
    """A tuple of one item in parentheses of its own is one only by its comma."""
    before = opening[-2:-1]
    bare = opening.endswith("(") and not (before.isalnum() or before in ("_", "]", ")"))
    return bare and len(items) == 1


def _display_items(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, gast.Dict):
        return [(_key(k), v) for k, v in zip(node.keys, node.values, strict=True)]
    if isinstance(node, (gast.Tuple, gast.List, gast.Set)):
        return [("", e) for e in node.elts]
    return []


def _key(node: Any) -> str:
    return "**" if node is None else Printer().item(node) + ": "


def _operands(node: Any) -> list[tuple[str, Any]]:
    """What an operation joins, each operand after the first with its operator in front."""
    if isinstance(node, gast.BoolOp):
        joint = operator_text(node.op) + " "
        return [("", node.values[0]), *((joint, v) for v in node.values[1:])]
    if isinstance(node, gast.Compare):
        joints = [operator_text(op) + " " for op in node.ops]
        return [("", node.left), *zip(joints, node.comparators, strict=True)]
    if isinstance(node, gast.IfExp):
        return [("", node.body), ("if ", node.test), ("else ", node.orelse)]
    chain: list[tuple[str, Any]] = []
    level, left = _level(node), node
    while isinstance(left, gast.BinOp) and _level(left) == level:
        chain.append((operator_text(left.op) + " ", left.right))
        left = left.left
        if isinstance(node.op, gast.Pow):
            break
    return [("", left), *reversed(chain)]


def _level(node: Any) -> int:
    if isinstance(node.op, (gast.Add, gast.Sub)):
        return 1
    if isinstance(node.op, (gast.Mult, gast.Div, gast.FloorDiv, gast.Mod, gast.MatMult)):
        return 2
    return 10 + len(operator_text(node.op)) * 100 + ord(operator_text(node.op)[0])
