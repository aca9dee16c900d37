-- Campaigns and their queues. The counters on a campaign's row are kept in the transactions that change its leads.
CREATE TABLE campaign (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  agent_id char(24) NOT NULL REFERENCES agent,
  status text NOT NULL,
  paused_reason text,
  -- What the list was made from; null: it was given lead by lead.
  lead_filter jsonb,
  scheduled_at timestamptz(3),
  from_phone_number_ids text[],
  max_concurrent_calls integer NOT NULL,
  calls_per_minute integer,
  calling_hours jsonb,
  retry jsonb NOT NULL,
  failure_breaker jsonb,
  max_cost_micros bigint,
  cost_micros bigint NOT NULL,
  -- A character for each of the latest calls: 1 failed, 0 did not.
  recent_calls text NOT NULL,
  lead_count integer NOT NULL,
  pending integer NOT NULL,
  in_flight integer NOT NULL,
  completed integer NOT NULL,
  failed integer NOT NULL,
  skipped integer NOT NULL,
  started_at timestamptz(3),
  completed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);
CREATE INDEX campaign_list ON campaign (account_id, livemode, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX campaign_running ON campaign (agent_id) WHERE status = 'running' AND deleted_at IS NULL;

-- The queue: whoever holds a row's lease calls that lead. A lead that was deleted leaves its row, to be skipped. No foreign
-- key and few indexes, for a list of 100 000 is made in one request.
CREATE TABLE campaign_lead (
  campaign_id char(24) NOT NULL,
  position integer NOT NULL,
  lead_id char(24) NOT NULL,
  status text NOT NULL DEFAULT 'pending',
  -- Those that count: one that a pause cut short does not.
  attempts integer NOT NULL DEFAULT 0,
  -- Null: its first turn, in the order of the list.
  next_attempt_at timestamptz(3),
  outcome text,
  last_call_id char(24),
  -- The lease: which node, by which claim, until when, and the call it placed.
  node_id text,
  claim char(24),
  lease_until timestamptz(3),
  call_id char(24),
  hang_up boolean NOT NULL DEFAULT false,
  claimed_at timestamptz(3),
  PRIMARY KEY (campaign_id, position)
);
CREATE UNIQUE INDEX campaign_lead_once ON campaign_lead (campaign_id, lead_id);
CREATE INDEX campaign_lead_status ON campaign_lead (campaign_id, status, position) WHERE status <> 'pending';
CREATE INDEX campaign_lead_due ON campaign_lead (campaign_id, next_attempt_at, position) WHERE status = 'pending';
CREATE INDEX campaign_lead_pace ON campaign_lead (campaign_id, claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX campaign_lead_lease ON campaign_lead (lease_until) WHERE status = 'in_flight';
