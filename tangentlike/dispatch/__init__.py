"""A derivative as what is called: found once, checked against its arguments, found again."""
