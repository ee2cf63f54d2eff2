"""What each command does: checked first, then changed, in the writer's task."""
