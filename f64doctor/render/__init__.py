"""Shows a report as text or JSON: pure functions from a report to a string."""
