"""IR to text: the only way out of the house.

`show` is for reading and for doctests; `emit` makes the text of a module that runs.
"""

from .text import show

__all__ = ["show"]
