import locale, os
os.umask(0o777)
locale.setlocale(locale.LC_ALL, 'C')
print(oct(os.umask(0)))
