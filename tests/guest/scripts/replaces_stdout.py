import io, sys
sys.stdout = io.StringIO()
print('lost')
sys.stderr = None
