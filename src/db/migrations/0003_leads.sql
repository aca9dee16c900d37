-- Leads: the people campaigns call. A deleted one is gone.

-- Finds any part of a name, number or address. Trusted: the owner of a database may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TABLE lead (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  -- The name as `q` compares it: without case and accents, in ASCII.
  search_name text NOT NULL,
  phone_number text NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  fields jsonb NOT NULL DEFAULT '{}',
  email text,
  timezone text,
  do_not_call boolean NOT NULL DEFAULT false,
  qualified boolean NOT NULL DEFAULT false,
  -- When it was first: kept when the lead is no longer qualified, so that its event fires once.
  qualified_at timestamptz(3),
  qualification_notes text,
  last_call_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX lead_once ON lead (account_id, livemode, phone_number);
CREATE INDEX lead_list ON lead (account_id, livemode, created_at DESC, id DESC);
CREATE INDEX lead_qualified ON lead (account_id, livemode, created_at DESC, id DESC) WHERE qualified;
CREATE INDEX lead_tags ON lead USING gin (tags);
CREATE INDEX lead_search ON lead USING gin ((search_name || ' ' || phone_number || ' ' || lower(coalesce(email, ''))) gin_trgm_ops);

-- What an import answered, for a retry whose first answer was lost.
CREATE TABLE lead_import (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  answer jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX lead_import_age ON lead_import (created_at);
