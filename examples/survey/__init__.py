"""What the examples share: measured points, and how they are prepared."""
