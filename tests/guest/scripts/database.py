import sqlite3
for _ in range(2):
    c = sqlite3.connect('study.db')
    c.execute('create table if not exists t (x)')
    c.execute('insert into t values (1)')
    c.commit()
    c.close()
print(sqlite3.connect('study.db').execute('select count(*) from t').fetchone())
