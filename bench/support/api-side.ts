/** The API on the main thread of a measured gateway, on an embedded database of its own, beside a bare Fastify route: what a request costs here. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { encodeCursor } from '../../src/api/cursor.ts';
import { cursorScope } from '../../src/api/pagination.ts';
import { openDatabase } from '../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import { migrate } from '../../src/db/migrate.ts';
import { startApiHarness, type ApiHarness } from '../../test/support/api-harness.ts';
import { AGENT } from '../../test/support/examples/agents.ts';
import { quietLog } from '../../test/support/test-database.ts';

export interface FurnishedApi {
  url: string;
  /** A route of the same library that answers a constant. */
  floorUrl: string;
  key: string;
  agentId: string;
  /** Where pages of leads begin that start at row 20 and at the very end. */
  cursors: { near: string; far: string };
}

/** A statement has fifteen seconds. */
const LEADS_AT_ONCE = 20_000;

export interface ApiSide { furnished: FurnishedApi; close(): Promise<void> }

/** Starts the API with so many agents and leads in one account. */
export async function startApiSide(agents: number, leads: number): Promise<ApiSide> {
  const masterKey = randomBytes(32);
  // As a service has it: a test's own does not wait for the disk.
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-bench-'));
  const server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  const db = openDatabase({ connection: { socketDir: server.host }, log: quietLog });
  await migrate(db);
  const api = await startApiHarness({ store: { db, masterKey }, realTime: true, logLevel: 'warn' });
  api.context.keys.start();
  const floor = Fastify();
  floor.get('/floor', () => Promise.resolve({ object: 'constant' }));
  const [url, floorUrl] = [await listen(api.app), await listen(floor)];
  return {
    furnished: { url, floorUrl: `${floorUrl}/floor`, key: api.account.live, ...(await furnish(api, agents, leads)) },
    close: async () => {
      await floor.close();
      await api.close();
      await db.close();
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function listen(app: { listen(options: object): Promise<unknown>; server: { address(): unknown } }): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

async function furnish(api: ApiHarness, agents: number, leads: number): Promise<Pick<FurnishedApi, 'agentId' | 'cursors'>> {
  const ids: string[] = [];
  for (let n = 0; n < agents; n++) ids.push(String((await api.call('POST', '/v1/agents', { body: { ...AGENT, system_prompt: 'You are a friendly receptionist. '.repeat(20) } })).body.id));
  // A second apart, so that the time of row n from the top is known.
  for (let from = 1; from <= leads; from += LEADS_AT_ONCE) {
    await api.context.db.query(
      `INSERT INTO lead (id, account_id, livemode, name, phone_number, tags, fields, do_not_call, qualified, search_name, created_at, updated_at)
       SELECT lpad(to_hex(n), 24, '0'), $1, true, 'Lead ' || n, '+1' || (2000000000 + n), '{bench}', '{"city":"Berlin"}', false, false, 'lead ' || n, to_timestamp(n), to_timestamp(n)
       FROM generate_series($2::integer, $3::integer) AS n`, [api.account.id, from, Math.min(leads, from + LEADS_AT_ONCE - 1)]);
  }
  await api.context.db.query('ANALYZE lead');
  const scope = cursorScope('leads', { accountId: api.account.id, livemode: true });
  const at = (row: number): string => {
    const n = leads - row;
    return encodeCursor(api.context.keyring, scope, { atMs: n * 1000, id: n.toString(16).padStart(24, '0') });
  };
  return { agentId: ids[0] ?? '', cursors: { near: at(20), far: at(leads - 40) } };
}
