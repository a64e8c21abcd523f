import shutil, zipfile
shutil.make_archive('pack', 'zip', 'data')
print(zipfile.ZipFile('pack.zip').namelist())
shutil.unpack_archive('pack.zip', 'un')
print(open('un/numbers.csv').read())
shutil.copytree('data', 'copy')
shutil.move('copy', 'moved')
print(open('moved/numbers.csv').read())
