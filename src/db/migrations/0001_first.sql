-- Ids are 24 lowercase hex digits; times have milliseconds; `livemode` splits an account's objects in two worlds.

CREATE TABLE account (
  id char(24) PRIMARY KEY,
  name text NOT NULL,
  allowed_origins text[] NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL
);

CREATE TABLE api_key (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  digest bytea NOT NULL,
  scopes text[] NOT NULL,
  service_version text NOT NULL,
  rotated_from char(24) REFERENCES api_key,
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE UNIQUE INDEX api_key_digest ON api_key (digest);
CREATE UNIQUE INDEX api_key_rotated_once ON api_key (rotated_from) WHERE rotated_from IS NOT NULL;
CREATE INDEX api_key_list ON api_key (account_id, livemode, created_at DESC, id DESC);

-- Single-use tokens that open a session on the console, and the sessions they opened.
CREATE TABLE sign_in_token (
  digest bytea PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  expires_at timestamptz(3) NOT NULL
);
CREATE TABLE console_session (
  digest bytea PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

-- `definition` is the agent's body as the API shows it, defaults filled in.
CREATE TABLE agent (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  version integer NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);
CREATE INDEX agent_list ON agent (account_id, livemode, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE TABLE agent_version (
  agent_id char(24) NOT NULL REFERENCES agent,
  version integer NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (agent_id, version)
);

CREATE TABLE sip_trunk (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  direction text NOT NULL,
  allowed_addresses cidr[] NOT NULL,
  codecs text[] NOT NULL,
  dtmf_mode text NOT NULL,
  max_concurrent_calls integer,
  enabled boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);
CREATE INDEX sip_trunk_list ON sip_trunk (account_id, livemode, created_at DESC, id DESC) WHERE deleted_at IS NULL;

-- A number is one of the telephone network's, so it belongs to one account of the installation.
CREATE TABLE phone_number (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  phone_number text NOT NULL,
  label text,
  sip_trunk_id char(24) REFERENCES sip_trunk,
  agent_id char(24) REFERENCES agent,
  outbound_enabled boolean NOT NULL,
  fallback_number text,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX phone_number_once ON phone_number (phone_number, livemode) WHERE deleted_at IS NULL;
CREATE INDEX phone_number_list ON phone_number (account_id, livemode, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX phone_number_trunk ON phone_number (sip_trunk_id) WHERE deleted_at IS NULL;
CREATE INDEX phone_number_agent ON phone_number (agent_id) WHERE deleted_at IS NULL;

CREATE TABLE call (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  node_id text NOT NULL,
  direction text NOT NULL,
  transport text NOT NULL,
  status text NOT NULL,
  end_reason text,
  end_detail text,
  outcome text,
  agent_id char(24) NOT NULL REFERENCES agent,
  agent_version integer NOT NULL,
  phone_number_id char(24) REFERENCES phone_number,
  sip_trunk_id char(24) REFERENCES sip_trunk,
  realtime_session_id char(24),
  from_address text,
  to_address text,
  metadata jsonb NOT NULL,
  variables jsonb NOT NULL,
  test boolean NOT NULL DEFAULT false,
  sip jsonb,
  recording_channels text,
  recording_duration_ms integer,
  latency jsonb,
  quality jsonb,
  interruptions jsonb,
  duration_ms bigint,
  billable_seconds integer,
  cost_micros bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  ringing_at timestamptz(3),
  answered_at timestamptz(3),
  ended_at timestamptz(3)
);
CREATE INDEX call_list ON call (account_id, livemode, created_at DESC, id DESC);
CREATE INDEX call_by_agent ON call (agent_id, created_at DESC, id DESC);
CREATE INDEX call_live ON call (node_id) WHERE ended_at IS NULL;

CREATE TABLE call_transcript_item (
  call_id char(24) NOT NULL REFERENCES call ON DELETE CASCADE,
  position integer NOT NULL,
  item jsonb NOT NULL,
  PRIMARY KEY (call_id, position)
);
CREATE TABLE call_log_entry (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  call_id char(24) NOT NULL REFERENCES call ON DELETE CASCADE,
  at timestamptz(3) NOT NULL,
  source text NOT NULL,
  event text NOT NULL,
  detail jsonb
);
CREATE INDEX call_log_order ON call_log_entry (call_id, sequence);

CREATE TABLE realtime_session (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  call_id char(24) NOT NULL REFERENCES call ON DELETE CASCADE,
  agent_id char(24) NOT NULL,
  audio jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

CREATE TABLE webhook (
  account_id char(24) PRIMARY KEY REFERENCES account,
  url text,
  enabled boolean NOT NULL,
  events text[] NOT NULL,
  -- Sealed with the master key.
  secret bytea,
  updated_at timestamptz(3) NOT NULL
);
CREATE TABLE webhook_delivery (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  event text NOT NULL,
  url text NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL,
  response_status integer,
  error text,
  duration_ms integer NOT NULL,
  will_retry boolean NOT NULL,
  occurred_at timestamptz(3) NOT NULL
);
CREATE INDEX webhook_delivery_list ON webhook_delivery (account_id, occurred_at DESC, id DESC);
