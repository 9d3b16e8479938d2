"""The intermediate representation: a small Python as frozen dataclasses, kinds of values, names."""

from .nodes import *  # noqa: F403
