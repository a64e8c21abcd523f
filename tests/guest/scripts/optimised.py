"""Words."""
print(__debug__, __doc__)
assert False
