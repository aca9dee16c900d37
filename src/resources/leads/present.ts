import { iso } from '../../api/schemas.ts';
import type { Lead } from './schema.ts';
import type { LeadRow } from './store.ts';

/** A lead as its GET shows it, and as events carry it. */
export function presentLead(row: LeadRow): Lead {
  return {
    id: row.id, object: 'lead', livemode: row.livemode, name: row.name, phone_number: row.phone_number, tags: row.tags, fields: row.fields,
    email: row.email, timezone: row.timezone, do_not_call: row.do_not_call,
    qualified: row.qualified, qualified_at: iso(row.qualified_at), qualification_notes: row.qualification_notes,
    last_call_at: iso(row.last_call_at), created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
