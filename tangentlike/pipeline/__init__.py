"""From a live function to its compiled derivative: the ordered stages, and what they build."""
