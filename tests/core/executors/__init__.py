"""Tests of batchdeck.core.executors."""
