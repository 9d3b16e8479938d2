"""Checkpoints: what the reverse sweep computes again instead of keeping it."""
