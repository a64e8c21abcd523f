import io
io.FileIO('precious.txt', 'a')
