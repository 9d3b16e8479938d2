"""What the process does with memory that arrays give back."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3)
_MOST = 2**31 - 1  # (its values are C integers)


def keep_memory(limit: int = _MOST) -> bool:
    """Keep memory that arrays gave back for the arrays that are made next.

    The C library of Linux gives freed memory of more than some hundred KiB back to the system, and
    asks for it again at the next call, page by page, each of them cleared: for arrays of 128 KiB
    and more that takes longer than what is computed into them (docs/memory.md has figures). This
    is a setting of the whole process, for the arrays of all of its code; what was freed stays with
    the process until it ends.

    Parameters
    ----------
    limit : int
        So many bytes at the end of what is in use are kept, at most 2 GiB.

    Returns
    -------
    bool
        Whether it was done: False where the C library is not GNU's (macOS, Windows, Alpine).

    Raises
    ------
    ValueError
        if the limit is negative.

    Examples
    --------
    >>> kept = keep_memory()
    """
    if limit < 0:
        raise ValueError(f"limit= is a number of bytes, not {limit}")
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018
    except (OSError, TypeError, AttributeError):  # (TypeError: Windows)
        return False
    settings = ((_TRIM_THRESHOLD, min(limit, _MOST)), (_MMAP_MAX, 0))
    done = [library.mallopt(*setting) for setting in settings]
    return all(done)
