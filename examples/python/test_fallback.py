"""A regression test for a recording. mcptap serves it and says where, in MCPTAP_URL:

    mcptap replay testdata/legacy.mcptap --expect legacy -- python -m pytest test_fallback.py

It fails if the client asks for anything else than was recorded, leaves something out, or does not connect.
"""

import asyncio
import os

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def ask(url):
    async with streamablehttp_client(url) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            answer = await session.call_tool(tools[0].name, {"message": "ping"})
            return answer.content[0].text


def test_legacy_server():
    assert asyncio.run(ask(os.environ["MCPTAP_URL"])) == "pong"
