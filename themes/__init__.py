"""Colour themes as data, one TOML file each."""
