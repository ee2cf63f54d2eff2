"""Tests of batchdeck.core.rules."""
