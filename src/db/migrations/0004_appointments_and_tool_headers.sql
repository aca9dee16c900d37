-- Ships with PostgreSQL, and whoever may create tables here may create it too.
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE appointment (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  client_name text NOT NULL,
  phone_number text NOT NULL,
  date_time timestamptz(3) NOT NULL,
  ends_at timestamptz(3) NOT NULL,
  status text NOT NULL,
  notes text,
  agent_id char(24) REFERENCES agent,
  lead_id char(24) REFERENCES lead ON DELETE SET NULL,
  -- Grows with each change: SEQUENCE in calendar feeds.
  revision integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Nobody sits in two appointments at once. Null equals nothing: without an agent there is no calendar to be full.
  CONSTRAINT appointment_slot_once EXCLUDE USING gist (agent_id WITH =, tstzrange(date_time, ends_at) WITH &&) WHERE (status IN ('scheduled', 'confirmed'))
);
CREATE INDEX appointment_list ON appointment (account_id, livemode, created_at DESC, id DESC);
CREATE INDEX appointment_by_agent ON appointment (agent_id, created_at DESC, id DESC) WHERE agent_id IS NOT NULL;
CREATE INDEX appointment_by_lead ON appointment (lead_id, created_at DESC, id DESC) WHERE lead_id IS NOT NULL;
CREATE INDEX appointment_by_time ON appointment (account_id, livemode, date_time);

-- The secret address of an account's calendar feed, one per mode.
CREATE TABLE calendar_feed (
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  id char(24) NOT NULL,
  digest bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (account_id, livemode)
);
CREATE UNIQUE INDEX calendar_feed_digest ON calendar_feed (digest);

-- What an agent's HTTP tools send as headers, JSON by tool name, sealed with the master key. Of the current version only.
CREATE TABLE agent_tool_headers (
  agent_id char(24) PRIMARY KEY REFERENCES agent,
  sealed bytea NOT NULL
);
