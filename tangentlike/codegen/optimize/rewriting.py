"""For trying a pass by hand."""

from __future__ import annotations

import dataclasses

from ... import ir


def derived(function: ir.Function, role: str = "adjoint") -> ir.Function:
    """The program as if a transform had written it: for trying a pass by hand."""

    def one(stmt: ir.Stmt) -> ir.Stmt:
        return dataclasses.replace(stmt, origin=dataclasses.replace(stmt.origin, role=role))

    return ir.with_body(function, ir.rewrite(function.body, after=one))
