"""Reverse mode: the primal with what it keeps, then its statements backwards, as adjoints."""
