"""Deliberate faults: patches of the package that the harnesses must catch, or they are no proof."""
