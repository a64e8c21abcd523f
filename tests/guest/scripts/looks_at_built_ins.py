import inspect, os
print(inspect.signature(open), repr(open), os.stat in os.supports_dir_fd, callable(os.mkdir))
