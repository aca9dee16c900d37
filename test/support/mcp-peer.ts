import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, Server, WebStandardStreamableHTTPServerTransport, type JSONRPCMessage, type Tool, type Transport } from '@modelcontextprotocol/server';

export interface HttpPeer {
  /** `127.0.0.1:port`, as it stands in a list of allowed addresses. */
  readonly authority: string;
  readonly requests: IncomingMessage[];
  close(): Promise<void>;
}

/** An HTTP server on loopback. */
export async function startHttpPeer(listener: RequestListener): Promise<HttpPeer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    authority: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

export function tool(name: string, description = `Does ${name}`): Tool {
  return { name, description, inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } };
}

/** What a server of the SDK's offers, `pageSize` tools at a time. */
export interface Offer { tools: Tool[]; pageSize?: number }

function serverOf(offer: Offer): Server {
  const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', async ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const to = from + (offer.pageSize ?? Infinity);
    return { tools: offer.tools.slice(from, to), ...(to < offer.tools.length ? { nextCursor: String(to) } : {}) };
  });
  return server;
}

/** Streamable HTTP in the protocol's newest revision, and in those before it. */
export function modernMcp(offer: Offer): RequestListener {
  const handler = createMcpHandler(() => serverOf(offer));
  return (request, response) => void answerWith(request, response, (asked) => handler.fetch(asked));
}

/** Streamable HTTP as servers spoke it before that revision: one that knows no other. */
export function olderMcp(offer: Offer): RequestListener {
  return (request, response) => void answerWith(request, response, async (asked) => {
    const transport = new WebStandardStreamableHTTPServerTransport();
    await serverOf(offer).connect(transport);
    return transport.handleRequest(asked);
  });
}

/** HTTP with server-sent events, as the protocol began. */
export function sseMcp(offer: Offer): RequestListener {
  let transport: SseServerTransport | undefined;
  return (request, response) => {
    if (request.method === 'GET') {
      transport = new SseServerTransport(response);
      void serverOf(offer).connect(transport);
    } else {
      void bodyOf(request).then((body) => {
        response.writeHead(202).end();
        transport?.onmessage?.(JSON.parse(body.toString()) as JSONRPCMessage);
      });
    }
  };
}

class SseServerTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  async start(): Promise<void> {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n');
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  async close(): Promise<void> {
    this.#response.end();
  }
}

async function answerWith(request: IncomingMessage, response: ServerResponse, answer: (asked: Request) => Promise<Response>): Promise<void> {
  const body = await bodyOf(request);
  const asked = new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? 'GET', headers: request.headers as Record<string, string>, ...(body.length > 0 ? { body } : {}),
  });
  const made = await answer(asked);
  response.writeHead(made.status, Object.fromEntries(made.headers));
  for await (const chunk of made.body ?? []) response.write(chunk);
  response.end();
}

async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
