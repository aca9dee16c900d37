-- Cloned voices, with the consent they rest on: who said so (account and key) and when. A row is there before its clone is made,
-- so that a clone whose maker died is found again. `slot` is one of the account's places: as many as it may have, each once.
CREATE TABLE voice (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('cloning', 'abandoned', 'cleaning', 'ready')),
  slot integer,
  name text NOT NULL,
  description text,
  provider text NOT NULL,
  provider_voice_id text,
  language text,
  consent_at timestamptz(3) NOT NULL,
  consent_key_id char(24) REFERENCES api_key,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  CHECK (status <> 'ready' OR provider_voice_id IS NOT NULL)
);
CREATE UNIQUE INDEX voice_slot ON voice (account_id, livemode, slot);
CREATE INDEX voice_list ON voice (account_id, livemode, created_at DESC, id DESC) WHERE status = 'ready' AND deleted_at IS NULL;
