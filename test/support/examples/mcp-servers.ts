import { made, type Example } from './example.ts';

export const MCP_SERVER = { name: 'Tools', url: 'https://203.0.112.1/mcp' };

export const examples: Example[] = [
  { path: '/v1/mcp-servers', notFound: 'mcp_server_not_found', make: (api, key) => made(api, key, '/v1/mcp-servers', MCP_SERVER), bodies: { 'POST /v1/mcp-servers': MCP_SERVER } },
];
