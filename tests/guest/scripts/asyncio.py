import asyncio, sys
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, '-c', 'print(7)')
    await p.wait()
asyncio.run(main())
