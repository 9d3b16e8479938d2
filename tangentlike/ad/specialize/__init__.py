"""Which functions a derivative calls, and how each is differentiated."""
