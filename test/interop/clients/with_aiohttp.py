"""Fetches all URLs at once with aiohttp; one JSON line per URL."""
import asyncio
import hashlib
import json
import sys

import aiohttp


async def fetch(session, url):
    async with session.get(url) as reply:
        digest = hashlib.sha256(await reply.read()).hexdigest()
        print(json.dumps({"url": url, "status": reply.status, "sha256": digest}))


async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        await asyncio.gather(*(fetch(session, url) for url in sys.argv[1:]))


asyncio.run(main())
