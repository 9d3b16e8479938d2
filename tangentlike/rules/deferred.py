"""Modules that a rule may name without importing them."""

from __future__ import annotations

import importlib
from types import ModuleType


class Deferred:
    """A module imported when a template that names it is first read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def module(self) -> ModuleType:
        """The module itself."""
        return importlib.import_module(self.name)
