"""The command line: `tangentlike grad FILE.py:FUNC`, `check`, `rules`.

Nothing here is imported by `import tangentlike`; click, rich and pygments load on first use.
"""

from .main import main

__all__ = ["main"]
