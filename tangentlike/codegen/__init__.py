"""A derived program to text: `optimize/` shortens it, `print/` writes and loads it."""
