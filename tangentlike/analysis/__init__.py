"""Facts about a program, returned as values and attached to nothing."""
