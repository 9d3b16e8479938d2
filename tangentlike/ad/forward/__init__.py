"""Forward mode: beneath each statement, the statement that computes its tangent."""
