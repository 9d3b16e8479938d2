"""Calls that write files, or what is like a file, and those that read them.

A value that was written to a file, a stream, the environment or the arguments of another program
may come back from there as a number, without its derivative (`cut_paths`).
"""

from __future__ import annotations

import os
from typing import Any, TypeGuard

from .. import ir
from ..runtime.records import attribute_of

FILES = "<files>"  # stands for the text in all of them, as a name does that no program has

_BOTH: tuple[str, ...] = (
    "os.popen",
    "subprocess.Popen",
    "subprocess.run",
    "subprocess.check_output",
)
_WRITE = frozenset(
    (
        *("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt"),
        *("json.dump", "_pickle.dump", "os.putenv", "posix.putenv", "posix.system", "nt.system"),
        *("subprocess.call", "subprocess.check_call", *_BOTH),
    )
)
_READ_NUMBERS = frozenset(
    (
        *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile"),
        *("json.load", "_pickle.load", "tomllib.load"),
    )
)
_READ = _READ_NUMBERS.union(
    ("_io.open", "io.open", "_io.StringIO", "_io.BytesIO", "os.getenv", "subprocess.getoutput"),
    _BOTH,
)
_WRITE_METHODS: tuple[str, ...] = (
    "write",
    "writelines",
    "writerow",
    "writerows",
    "write_text",
    "write_bytes",
)
_WRITE_METHODS += ("tofile", "to_csv", "to_json", "communicate")
_READ_METHODS = ("read", "readline", "readlines", "getvalue", "read_text", "read_bytes")


def writes_file(part: ir.Expr) -> TypeGuard[ir.Call]:
    """Whether an expression is a call that writes its arguments to a file."""
    match part:
        case ir.Call(fn=ir.Attribute(_, name)):
            return name in _WRITE_METHODS
        case ir.Call(fn=ir.Ref(obj=obj), kwargs=words):
            return (obj is print and "file" in dict(words)) or full_name(obj) in _WRITE
    return False


def reads_file(part: ir.Expr) -> bool:
    """Whether an expression opens a file to read it, or is what was read from one."""
    match part:
        case ir.Call(fn=ir.Attribute(_, name)):
            return name in _READ_METHODS
        case ir.Call(fn=ir.Ref(obj=obj)):
            return full_name(obj) in _READ
        case ir.Ref(obj=obj):
            return obj is os.environ
    return False


def gives_numbers(obj: Any) -> bool:
    """Whether a function reads numbers from a file."""
    return full_name(obj) in _READ_NUMBERS


def of_files(function: ir.Function) -> tuple[bool, bool]:
    """Whether a function writes files, and whether it reads some, by what it calls that is none of
    the user's."""
    exprs = (expr for stmt in ir.statements(function.body) for expr in ir.expressions(stmt))
    parts = [part for expr in exprs for part in ir.walk(expr)]
    return any(map(writes_file, parts)), any(map(reads_file, parts))


def full_name(obj: Any) -> str:
    """The name of a function or class with that of its module; "" of anything else."""
    name = attribute_of(obj, "__qualname__")
    return f"{attribute_of(obj, '__module__')}.{name}" if isinstance(name, str) else ""
