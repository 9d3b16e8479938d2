"""The intermediate representation: a small Python as frozen dataclasses, and the framework
of analyses and passes: `visitor`, `rewrite`, `dataflow`, `index`, `facts`."""

from .nodes import *  # noqa: F403
from .operations import *  # noqa: F403
from .rewrite import *  # noqa: F403
from .visitor import *  # noqa: F403
