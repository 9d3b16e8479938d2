"""The subscripts of einsum, at transform time."""

from __future__ import annotations


def swapped(subscripts: str, place: int) -> str | None:
    """The subscripts for the adjoint of the operand at `place`, or None if einsum cannot say it.

    >>> swapped("ij,jk->ik", 0), swapped("ij,jk", 1)
    ('ik,jk->ij', 'ik,ij->jk')
    >>> swapped("ij->i", 0) is None  # `j` is nowhere else: the adjoint repeats along it
    True
    """
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    if "." in subscripts:
        return None
    terms = left.split(",")
    if not arrow:
        result = "".join(i for i in sorted(set(left) - {","}) if left.count(i) == 1)
    own = terms[place]
    others = terms[:place] + terms[place + 1 :]
    reachable = set(result).union(*others)
    if len(set(own)) != len(own) or not set(own) <= reachable:
        return None
    return ",".join([result, *others]) + "->" + own
