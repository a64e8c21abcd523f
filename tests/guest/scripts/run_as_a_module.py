import runpy
runpy.run_module('json.tool', run_name='elsewhere')
print('on')
