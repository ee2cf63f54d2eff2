"""Tests of batchdeck: the name of each is its claim."""
