"""Pure rules: what may run, and why; no clock, no SQL, no await."""
