"""batchdeck: run batches of agents under limits, and see why each one waits."""

__version__ = "0.1.0"
