import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const CONNECT_MS = 5000;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

export interface Listening {
  /** Ends the connection; nothing is heard afterwards. */
  close(): Promise<void>;
}

/**
 * LISTEN on a connection of its own. `heard` gets each payload, and `undefined` after every (re)connection: what was said
 * meanwhile is not known. `lost` is told when the connection is gone.
 */
export function listen(config: pg.ClientConfig, channel: string, heard: (payload: string | undefined) => void, lost: () => void = () => undefined): Listening {
  const ended = new AbortController();
  let client: pg.Client | undefined;
  const connectOnce = async (): Promise<void> => {
    const gone = Promise.withResolvers<void>();
    client = new pg.Client({ ...config, keepAlive: true, connectionTimeoutMillis: CONNECT_MS, application_name: 'wirevoice-listen' });
    client.on('error', () => gone.resolve());
    client.on('end', () => gone.resolve());
    client.on('notification', ({ payload }) => heard(payload ?? ''));
    await client.connect();
    await client.query(`LISTEN ${channel}`);
    heard(undefined);
    await gone.promise;
  };
  const work = (async () => {
    for (let delayMs = FIRST_RETRY_MS; !ended.signal.aborted; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      const before = performance.now();
      await connectOnce().catch(() => undefined);
      lost();
      await client?.end().catch(() => undefined);
      if (performance.now() - before > MAX_RETRY_MS) delayMs = FIRST_RETRY_MS;
      await sleep(delayMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  return {
    close: async () => {
      ended.abort();
      await client?.end().catch(() => undefined);
      await work;
    },
  };
}
