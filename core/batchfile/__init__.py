"""Batch files and configuration: read, checked, with a position for every fault."""
