// A regression test for a recording. mcptap serves it and says where, in MCPTAP_URL:
//
//   mcptap replay testdata/legacy.mcptap --expect legacy-fallback -- node --test fallback.test.mjs
//
// It fails if the client asks for anything else than was recorded, leaves something out, or does not fall back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

test('a server that does not know server/discover', async () => {
  const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCPTAP_URL)));
  try {
    assert.equal(client.getProtocolEra(), 'legacy');
    const { tools } = await client.listTools();
    assert.ok(tools.length > 0);
    const { content } = await client.callTool({ name: tools[0].name, arguments: { message: 'ping' } });
    assert.equal(content[0].text, 'pong');
  } finally {
    await client.close();
  }
});
