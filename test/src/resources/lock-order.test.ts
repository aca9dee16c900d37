import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { lockAccount } from '../../../src/resources/accounts/actions.ts';
import { requireAgent } from '../../../src/resources/agents/actions.ts';
import { insertCall } from '../../../src/resources/calls/store.ts';
import { requireLead } from '../../../src/resources/leads/actions.ts';
import { requirePhoneNumber } from '../../../src/resources/phone-numbers/lookup.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { until } from '../../support/until.ts';

// What one request has locked must not hold up those that only name it: they would lock in a ring.
t.test('locks', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db } = api.context;
  const owner = { accountId: api.account.id, livemode: true };
  const make = async (path: string, body: object): Promise<string> => {
    const made = await api.call('POST', path, { body });
    t.equal(made.status, 201, `${path} ${JSON.stringify(made.body)}`);
    return String(made.body.id);
  };
  const trunk = await make('/v1/sip-trunks', { name: 'T', host: '203.0.113.9' });
  const number = await make('/v1/phone-numbers', { phone_number: '+14155550000', sip_trunk_id: trunk });
  const agent = await make('/v1/agents', { name: 'A', system_prompt: 'P', opening_message: 'O', outbound_phone_number_id: number });
  const lead = await make('/v1/leads', { name: 'L', phone_number: '+14155550001' });
  const appointment = (more: object) => ({ client_name: 'C', phone_number: '+14155550001', date_time: '2026-12-01T10:00:00Z', ...more });
  const waiting = async (): Promise<boolean> => (await db.query('SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1')).length > 0;

  t.test('an account that is about to get a call gets keys, leads and settings meanwhile', async (t) => {
    await db.transaction(async (transaction) => {
      await lockAccount(transaction, owner.accountId);
      await make('/v1/api-keys', { name: 'K', scopes: ['calls:read'] });
      await make('/v1/leads', { name: 'M', phone_number: '+14155550002' });
      t.equal((await api.call('PATCH', '/v1/billing', { body: { low_balance_threshold_micros: 1 } })).status, 200);
    });
  });

  t.test('an agent that is about to have a call can be booked and changed, not deleted', async (t) => {
    let deletion: ReturnType<typeof api.call> | undefined;
    await db.transaction(async (transaction) => {
      const { version } = await requireAgent(transaction, owner, agent, 'agent_id', 'keep');
      await make('/v1/appointments', appointment({ agent_id: agent, lead_id: lead }));
      t.equal((await api.call('PATCH', `/v1/agents/${agent}`, { body: { name: 'B' } })).status, 200);
      deletion = api.call('DELETE', `/v1/agents/${agent}`);
      await until('it waits for the lock', 5000, waiting);
      await insertCall(transaction, {
        id: newId(), ...owner, nodeId: 'n', direction: 'outbound', transport: 'sip', status: 'queued', agentId: agent, agentVersion: version, metadata: {}, variables: {}, createdAt: new Date(api.clock.now()),
      });
    });
    t.match(await deletion, { status: 409, body: { error: { code: 'agent_in_use' } } }, 'it waited, and saw the call');
  });

  t.test('calls are placed from a number that is just being changed', async (t) => {
    await db.transaction(async (transaction) => {
      await requirePhoneNumber(transaction, owner, number, 'id', 'change');
      t.equal((await api.call('POST', '/v1/calls', { body: { to: '+14155550003', agent_id: agent, lead_id: lead } })).status, 201);
    });
  });

  t.test('an appointment that waits for its lead holds nothing that the lead\'s deletion needs', async (t) => {
    const id = await make('/v1/appointments', appointment({ lead_id: lead }));
    let change: ReturnType<typeof api.call> | undefined;
    await db.transaction(async (transaction) => {
      await requireLead(transaction, owner, lead, 'id', 'delete');
      change = api.call('PATCH', `/v1/appointments/${id}`, { body: { lead_id: lead, notes: 'N' } });
      await until('it waits for the lock', 5000, waiting);
      await transaction.query('DELETE FROM lead WHERE id = $1', [lead]);
    });
    t.match(await change, { status: 404, body: { error: { code: 'lead_not_found' } } });
    t.match((await api.call('GET', `/v1/appointments/${id}`)).body, { lead_id: null, notes: null });
  });
});
