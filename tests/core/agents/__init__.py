"""Tests of batchdeck.core.agents."""
