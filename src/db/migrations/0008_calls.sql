-- What a placed call was asked for, and what became of it. Leads and campaigns may be deleted; their calls keep the ids.
ALTER TABLE call
  ADD COLUMN lead_id char(24),
  ADD COLUMN campaign_id char(24),
  -- The key that placed it, for its usage.
  ADD COLUMN api_key_id char(24),
  ADD COLUMN overrides jsonb,
  ADD COLUMN ring_timeout_ms integer,
  ADD COLUMN max_duration_seconds integer,
  ADD COLUMN max_cost_micros bigint,
  ADD COLUMN answered_by text,
  ADD COLUMN transfer jsonb,
  ADD COLUMN analysis jsonb;

-- One for each filter of the list that can leave few rows of many.
CREATE INDEX call_by_lead ON call (lead_id, created_at DESC, id DESC) WHERE lead_id IS NOT NULL;
CREATE INDEX call_by_campaign ON call (campaign_id, created_at DESC, id DESC) WHERE campaign_id IS NOT NULL;
CREATE INDEX call_by_status ON call (account_id, livemode, status, created_at DESC, id DESC);
CREATE INDEX call_by_from ON call (account_id, livemode, from_address, created_at DESC, id DESC);
CREATE INDEX call_by_to ON call (account_id, livemode, to_address, created_at DESC, id DESC);
-- An account's calls at once.
CREATE INDEX call_live_of_account ON call (account_id) WHERE ended_at IS NULL;
CREATE INDEX realtime_session_call ON realtime_session (call_id);
