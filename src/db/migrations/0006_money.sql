-- The ledger, usage, prices, top-ups. Amounts are micro-USD.

-- One row per account: where its ledger stands. Locked by whoever moves its money; at most one of available and owed is not 0.
CREATE TABLE balance (
  account_id char(24) PRIMARY KEY REFERENCES account,
  available_micros bigint NOT NULL DEFAULT 0 CHECK (available_micros >= 0),
  held_micros bigint NOT NULL DEFAULT 0 CHECK (held_micros >= 0),
  -- What a call's last seconds cost beyond what was left, or a refund took back after it was spent; the next credit pays it first.
  owed_micros bigint NOT NULL DEFAULT 0 CHECK (owed_micros >= 0),
  -- The newest transaction: its number, id, time and hash.
  sequence bigint NOT NULL DEFAULT 0,
  head_id char(24),
  head_at timestamptz(3),
  head_hash bytea,
  CHECK (available_micros = 0 OR owed_micros = 0)
);

CREATE TABLE ledger_transaction (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES balance,
  -- 1, 2, 3… in each account; ids and times sort the same way.
  sequence bigint NOT NULL,
  -- `hold` moves money between available and held only, and is not shown.
  type text NOT NULL CHECK (type IN ('top_up', 'usage', 'voice_clone', 'refund', 'adjustment', 'credit', 'hold')),
  -- What the account's balance gained, and what it then was.
  amount_micros bigint NOT NULL,
  balance_after_micros bigint NOT NULL,
  -- What it was done for, so that it is done once.
  source_key text NOT NULL,
  call_id char(24),
  top_up_id char(24),
  note text,
  created_at timestamptz(3) NOT NULL,
  -- SHA-256 over the hash before and everything above, entries too.
  hash bytea NOT NULL
);
CREATE UNIQUE INDEX ledger_source_once ON ledger_transaction (source_key);
CREATE UNIQUE INDEX ledger_sequence ON ledger_transaction (account_id, sequence);
CREATE INDEX ledger_list ON ledger_transaction (account_id, created_at DESC, id DESC) WHERE type <> 'hold';
CREATE INDEX ledger_list_by_type ON ledger_transaction (account_id, type, created_at DESC, id DESC) WHERE type <> 'hold';

-- `customer`, `held` and `owed` make up an account's balance; the others are where its money comes from and goes to.
CREATE TABLE ledger_entry (
  transaction_id char(24) NOT NULL REFERENCES ledger_transaction,
  ledger_account text NOT NULL CHECK (ledger_account IN ('customer', 'held', 'owed', 'payments', 'revenue', 'adjustments')),
  amount_micros bigint NOT NULL CHECK (amount_micros <> 0),
  PRIMARY KEY (transaction_id, ledger_account)
);

CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The ledger is append-only: % on % is refused.', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER ledger_transaction_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transaction FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- All entries of a transaction come in one statement.
CREATE FUNCTION refuse_unbalanced_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added GROUP BY transaction_id HAVING sum(amount_micros) <> 0) THEN
    RAISE EXCEPTION 'The entries of a ledger transaction must add up to 0.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION refuse_unbalanced_entries();

-- What a call has on hold and has been charged. Outlives the call, as its usage does.
CREATE TABLE call_charge (
  call_id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL,
  livemode boolean NOT NULL,
  -- What a minute of it may cost.
  minute_micros bigint NOT NULL,
  held_micros bigint NOT NULL CHECK (held_micros >= 0),
  charged_micros bigint NOT NULL DEFAULT 0,
  -- How often money was held or settled for it: numbers its ledger transactions.
  moves integer NOT NULL DEFAULT 0,
  settled_at timestamptz(3)
);
CREATE INDEX call_charge_held ON call_charge (account_id) WHERE held_micros > 0;

-- What was used: components and quantities, never content. No foreign keys: it outlives the call it names, and is written
-- under the lock of a balance, where it must not wait for somebody who has the account locked and wants that balance.
CREATE TABLE usage_record (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL,
  livemode boolean NOT NULL,
  call_id char(24),
  -- Counts the rows of a call: the same row sent again changes nothing.
  sequence integer,
  -- The same for rows of no call.
  source_key text,
  agent_id char(24),
  campaign_id char(24),
  api_key_id char(24),
  component text NOT NULL,
  model text NOT NULL,
  unit text NOT NULL CHECK (unit IN ('ms', 'token', 'character', 'clone')),
  quantity bigint NOT NULL CHECK (quantity >= 0),
  price_unit text NOT NULL,
  unit_price_micros bigint NOT NULL CHECK (unit_price_micros >= 0),
  amount_micros bigint NOT NULL CHECK (amount_micros >= 0),
  source text NOT NULL CHECK (source IN ('vendor', 'measured', 'estimated')),
  occurred_at timestamptz(3) NOT NULL,
  -- `source_key` of the ledger transaction that charged it.
  charged_by text,
  CHECK ((call_id IS NULL) = (sequence IS NULL) AND (call_id IS NULL) = (source_key IS NOT NULL))
);
CREATE UNIQUE INDEX usage_call_once ON usage_record (call_id, sequence);
CREATE UNIQUE INDEX usage_source_once ON usage_record (source_key) WHERE source_key IS NOT NULL;
CREATE INDEX usage_list ON usage_record (account_id, livemode, occurred_at DESC, id DESC);
CREATE INDEX usage_charged_by ON usage_record (charged_by) WHERE charged_by IS NOT NULL;

-- The price book as it was and is: the newest row that has begun holds. Never changed, only added to.
CREATE TABLE price (
  id char(24) PRIMARY KEY,
  component text NOT NULL,
  -- `vendor/model`, `vendor/*` for every other model of a vendor, or `*`.
  model text NOT NULL,
  unit text NOT NULL,
  price_micros bigint NOT NULL CHECK (price_micros >= 0),
  -- `book`: shipped with the service; `console`: set by the operator.
  source text NOT NULL CHECK (source IN ('book', 'console')),
  valid_from timestamptz(3) NOT NULL
);
CREATE INDEX price_in_force ON price (component, model, unit, valid_from DESC, id DESC);

CREATE TABLE billing_settings (
  account_id char(24) PRIMARY KEY REFERENCES account,
  low_balance_threshold_micros bigint NOT NULL,
  auto_top_up_threshold_micros bigint,
  auto_top_up_amount_micros bigint,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE top_up (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  amount_micros bigint NOT NULL,
  refunded_micros bigint NOT NULL DEFAULT 0,
  status text NOT NULL CHECK (status IN ('pending', 'paid', 'expired', 'failed')),
  -- The provider's checkout, and the payment it led to.
  provider_session_id text,
  provider_payment_id text,
  checkout_url text,
  expires_at timestamptz(3),
  paid_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX top_up_list ON top_up (account_id, livemode, created_at DESC, id DESC);

-- What a payment provider has told us, each event once.
CREATE TABLE payment_event (
  id text PRIMARY KEY,
  type text NOT NULL,
  received_at timestamptz(3) NOT NULL
);
