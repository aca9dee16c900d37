-- Requests with an Idempotency-Key: who runs one, what it made, what it answered. Kept 24 h.
CREATE TABLE idempotency (
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  -- The id of what the request makes, chosen before it runs.
  resource_id char(24) NOT NULL,
  -- The process that runs it and the one run that may write; until the lease ends nobody else takes over.
  owner text NOT NULL,
  claim char(24) NOT NULL,
  lease_until timestamptz(3) NOT NULL,
  -- Set in the transaction of the effect itself.
  effect_at timestamptz(3),
  status smallint,
  answer text,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (account_id, livemode, route, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX idempotency_resource ON idempotency (resource_id);

-- Work for later: taken with SKIP LOCKED, announced with NOTIFY. A finished job is deleted.
CREATE TABLE job (
  id char(24) PRIMARY KEY,
  kind text NOT NULL,
  payload jsonb NOT NULL,
  -- At most one waiting job has a given name; null: any number.
  name text,
  run_at timestamptz(3) NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  lease_until timestamptz(3),
  last_error text,
  failed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX job_due ON job (run_at) WHERE failed_at IS NULL;
CREATE UNIQUE INDEX job_name ON job (kind, name) WHERE name IS NOT NULL AND failed_at IS NULL;

CREATE INDEX webhook_delivery_age ON webhook_delivery (occurred_at);
