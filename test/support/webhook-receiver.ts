import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A delivery as it came in. `data` of a call event is the call as its GET shows it. */
export interface Delivery {
  event: string;
  data: Record<string, unknown>;
  livemode: boolean;
  attempt: number;
  /** X-Service-Signature is the HMAC-SHA256 of the raw body under the account's secret. */
  signed: boolean;
}

export interface WebhookReceiver {
  /** `host:port`, for ALLOW_PRIVATE_ADDRESSES. */
  readonly hostPort: string;
  readonly url: string;
  readonly deliveries: Delivery[];
  /** Set once the gateway has told it. Deliveries before that count as unsigned. */
  secret: string;
  /** What came for this call, oldest first. */
  of(callId: string): Delivery[];
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** A receiver of webhooks on loopback that checks the signature as a customer's server would. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { event, data, livemode } = JSON.parse(body.toString('utf8')) as Pick<Delivery, 'event' | 'data' | 'livemode'>;
      const attempt = Number(request.headers['x-service-delivery-attempt']);
      deliveries.push({ event, data, livemode, attempt, signed: isSigned(body, receiver.secret, String(request.headers['x-service-signature'] ?? '')) });
      response.writeHead(204).end();
    }, () => response.writeHead(400).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: WebhookReceiver = {
    hostPort,
    url: `http://${hostPort}/webhook`,
    deliveries,
    secret: '',
    of: (callId) => deliveries.filter(({ data }) => data['id'] === callId),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

function isSigned(body: Buffer, secret: string, signature: string): boolean {
  if (secret === '' || !/^[0-9a-f]{64}$/.test(signature)) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(body).digest(), Buffer.from(signature, 'hex'));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('a webhook larger than 1 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
