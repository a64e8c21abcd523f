import click
@click.command()
@click.option('--n', default=1)
def main(n): print('n', n)
main()
