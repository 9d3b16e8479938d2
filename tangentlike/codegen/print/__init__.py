"""IR to text: the only way out of the house.

`show` is for reading and for doctests; `emit` makes the text of a file that runs, `load` its
live functions, `standalone` a file that needs NumPy only.
"""

from .load import load
from .module import Emitted, emit
from .standalone import standalone
from .text import Stages, show

__all__ = ["Emitted", "Stages", "emit", "load", "show", "standalone"]
