"""A regression test for a recording. mcptap serves it and says where, in MCPTAP_URL:

    mcptap replay testdata/legacy.mcptap --expect legacy-fallback -- python -m pytest test_fallback.py

It fails if the client asks for anything else than was recorded, leaves something out, or does not fall back.
"""

import asyncio
import os

from mcp import Client


async def ask(url):
    async with Client(url) as client:
        tools = (await client.list_tools()).tools
        answer = await client.call_tool(tools[0].name, {"message": "ping"})
        return answer.content[0].text


def test_legacy_server():
    assert asyncio.run(ask(os.environ["MCPTAP_URL"])) == "pong"
