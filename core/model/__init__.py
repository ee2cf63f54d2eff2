"""Frozen values and the words for them."""
