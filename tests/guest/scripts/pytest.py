import pytest, sys
open('test_x.py', 'w').write('def test(): assert 1 + 1 == 2')
sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_x.py']))
