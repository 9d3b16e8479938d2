"""`np.r_[a, b]` and `np.c_[a, b]`: joins of arrays that are spelled as if they were indexed."""

from __future__ import annotations

import numpy as np

from .. import runtime
from ..ir import Call, Const, Display, Expr, Index, Ref, Slice

__all__ = ["join_of"]


def join_of(index: Index) -> Expr:
    """The call that an indexing of `np.r_` or `np.c_` stands for; other indexings as they are.

    before::                    after::
        np.r_[0.0, a, b[1:]]        row_join([0.0, a, b[1:]])
        np.c_[a, b]                 column_join([a, b])

    Parts written as slices (`np.r_[0:3, a]`) or strings stay as they are.
    """
    match index.base:
        case Ref(obj=obj) if obj is np.r_ or obj is np.c_:
            pass
        case _:
            return index
    parts = index.key.items if isinstance(index.key, Display) else (index.key,)
    if any(isinstance(part, Slice) or _is_text(part) for part in parts):
        return index
    join = runtime.row_join if obj is np.r_ else runtime.column_join
    return Call(Ref(join.__name__, join), (Display("list", parts),), at=index.at)


def _is_text(part: Expr) -> bool:
    return isinstance(part, Const) and isinstance(part.value, str)
