"""Tests of the examination."""
