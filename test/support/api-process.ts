/** The API in a process of its own, on a database that several share: to be killed. Arguments: socket directory, database, master key (hex). */
import type { AddressInfo } from 'node:net';
import { endLeasesOf } from '../../src/api/idempotency-store.ts';
import { openDatabase } from '../../src/db/database.ts';
import { startApiHarness } from './api-harness.ts';
import { quietLog } from './test-database.ts';

const [socketDir = '', database = '', masterKey = ''] = process.argv.slice(2);
const db = openDatabase({ connection: { socketDir, database }, log: quietLog, maxConnections: 4 });
const api = await startApiHarness({ store: { db, masterKey: Buffer.from(masterKey, 'hex') }, realTime: true, logLevel: 'warn' });
// As the gateway does at its start: runs of this node's last process cannot still be running.
await endLeasesOf(db, api.context.nodeId, new Date());
await api.app.listen({ host: '127.0.0.1', port: 0 });
process.send?.((api.app.server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit(0));
