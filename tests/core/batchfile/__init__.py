"""Tests of batchdeck.core.batchfile."""
